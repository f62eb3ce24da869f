"""Install the wheel as people do, and ask each installation a small question.

    python tools/check_installs.py                      # all of the table; takes minutes
    python tools/check_installs.py --only plot zstd     # these extras alone; `none` has none
    python tools/check_installs.py --python python3.11 --python python3.14

The wheel is built from this tree, and once more from the source distribution: both must hold the
same files. Then, in a fresh environment each, without extras and with each of them: the oldest
Python with the lowest versions that pyproject.toml allows of what it names, and the newest Python
with the newest versions. What is asked stands in tools/installs. Last, `pipx run` shows the demo.

PostgreSQL's programs and Java come from the system; without them their lines say so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = ROOT / "tools" / "installs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
NONE = "none"
PIPX = "pipx"
LOWEST = "lowest"
NEWEST = "newest"
# Programs of the system that an extra cannot be tried without.
NEEDED = {"postgres": ("initdb", "pg_ctl"), "spark": ("java",), "spark-connect": ("java",)}
# A guard against waiting for ever, in seconds: PySpark alone is several hundred megabytes.
PATIENCE = 1_200
LINES_OF_FAILURE = 15


@dataclass(frozen=True)
class Python:
    """An interpreter."""

    path: str
    version: Version

    @classmethod
    def at(cls, path: str) -> Python:
        code = "import platform; print(platform.python_version())"
        return cls(path, Version(run(path, "-c", code).strip()))


@dataclass(frozen=True)
class Installation:
    """One line of the table."""

    python: Python
    versions: str
    extra: str

    def __str__(self) -> str:
        return f"| {self.python.version} | {self.versions} | {self.extra} |"


def run(*words: str | Path, folder: Path | None = None, **variables: str) -> str:
    """What a program prints; what it complains of is in the error if it fails."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        check=True,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, **variables},
    ).stdout


def found_pythons() -> list[Python]:
    """The interpreters on this machine that the package supports, one of each minor version."""
    supported = SpecifierSet(PROJECT["requires-python"])
    found: dict[tuple[int, ...], Python] = {}
    for path in _candidates():
        try:
            python = Python.at(path)
        except (OSError, subprocess.CalledProcessError):
            # Such as a shim of pyenv for a version that is not chosen.
            continue
        if python.version in supported:
            found.setdefault(python.version.release[:2], python)
    return [found[minor] for minor in sorted(found)]


def _candidates() -> Iterator[str]:
    yield sys.executable
    first = min(Version(each.version).minor for each in SpecifierSet(PROJECT["requires-python"]))
    for minor in range(first, first + 20):
        if path := shutil.which(f"python3.{minor}"):
            yield path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob("versions/3.*/bin/python")))


def lowest_versions() -> list[str]:
    """Constraints: each requirement of pyproject.toml at the lowest version that it allows."""
    constraints = []
    for text in [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]:
        requirement = Requirement(text)
        (lowest,) = (each.version for each in requirement.specifier if each.operator == ">=")
        constraints.append(f"{requirement.name}=={lowest}")
    return sorted(set(constraints))


def built(folder: Path) -> Path:
    """The wheel, after a look at whether the source distribution gives the same one."""
    for name, words in (("tree", ["--wheel"]), ("sdist", [])):
        # Without words: the source distribution, and the wheel from that.
        run(sys.executable, "-m", "build", *words, "--outdir", folder / name, ROOT)
    (wheel,) = (folder / "tree").glob("*.whl")
    (again,) = (folder / "sdist").glob("*.whl")
    here, there = _files(wheel), _files(again)
    differing = sorted(
        name for name in here.keys() | there.keys() if here.get(name) != there.get(name)
    )
    assert not differing, f"the wheel from the source distribution differs in {differing}"
    print(f"{wheel.name}: {len(here)} files, the same from the source distribution", flush=True)
    return wheel


def _files(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def install(which: Installation, wheel: Path, folder: Path) -> Path:
    """The interpreter of a fresh environment with the wheel and its extra."""
    run(which.python.path, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    words = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if which.versions == LOWEST:
        constraints = folder / "constraints.txt"
        constraints.write_text("\n".join(lowest_versions()) + "\n", encoding="utf-8")
        words += ["--constraint", constraints]
    extra = "" if which.extra == NONE else f"[{which.extra}]"
    run(*words, f"{wheel}{extra}")
    return python


def ask(which: Installation, wheel: Path, folder: Path) -> None:
    """Install, and ask what the extra is for; the core is asked in any case."""
    python = install(which, wheel, folder)
    names = ["core"]
    if which.extra != NONE:
        names.append(which.extra)
    for name in names:
        # Nothing of this tree is importable there.
        run(python, "-P", QUESTIONS / f"{name}.py", folder=folder, PYTHONPATH="")


def show_demo(which: Installation, wheel: Path, folder: Path) -> None:
    """The program without an installation, as `pipx run` has it."""
    run(which.python.path, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pipx")
    words = ["run", "--spec", wheel, "postri", "demo", "--out", folder / "demo"]
    variables = {"PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    run(python, "-m", "pipx", *words, folder=folder, **variables)


def outcome(which: Installation, wheel: Path) -> tuple[bool, str]:
    """Whether it went well, and what the table says."""
    missing = [name for name in NEEDED.get(which.extra, ()) if shutil.which(name) is None]
    if missing:
        return True, f"not tried: {', '.join(missing)} is not here"
    work = show_demo if which.extra == PIPX else ask
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="postri-installs-") as folder:
            work(which, wheel, Path(folder))
    except subprocess.CalledProcessError as error:
        said = f"{error.stdout}{error.stderr}".splitlines()[-LINES_OF_FAILURE:]
        print("\n".join(["", *said, ""]), flush=True)
        return False, "**fails**"
    return True, f"answers, {time.monotonic() - begun:.0f} s"


@contextmanager
def postgres(wanted: Sequence[Installation]) -> Iterator[None]:
    """A server for the installations that ask one, as the tests start it."""
    if not any(which.extra == "postgres" for which in wanted) or shutil.which("initdb") is None:
        yield
        return
    sys.path.append(str(ROOT / "tests"))
    from services.postgres_server import postgres_server

    with postgres_server() as server:
        os.environ["POSTRI_CHECK_POSTGRES"] = server.url()
        yield


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [NONE, *EXTRAS, PIPX]
    arguments.add_argument("--only", nargs="+", choices=names, default=names)
    arguments.add_argument("--python", action="append", help="the oldest, then the newest")
    chosen = arguments.parse_args()
    pythons = found_pythons()
    if chosen.python:
        pythons = [Python.at(path) for path in chosen.python]
    wanted = [
        Installation(python, versions, extra)
        for python, versions in ((pythons[0], LOWEST), (pythons[-1], NEWEST))
        for extra in chosen.only
        # Nobody chooses what `pipx run` installs.
        if (extra, versions) != (PIPX, LOWEST)
    ]
    went_well = True
    with tempfile.TemporaryDirectory(prefix="postri-wheel-") as folder, postgres(wanted):
        wheel = built(Path(folder))
        print("\n| Python | versions | extra | |\n|---|---|---|---|", flush=True)
        for which in wanted:
            good, words = outcome(which, wheel)
            print(f"{which} {words} |", flush=True)
            went_well = went_well and good
    sys.exit(0 if went_well else 1)


if __name__ == "__main__":
    main()
