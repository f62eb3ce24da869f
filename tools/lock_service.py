"""Write requirements/web.lock: what the service installs, each version with the hashes of its
wheels, so that nothing else can be installed in its place.

    python tools/lock_service.py            # resolve anew, and write the file
    python tools/lock_service.py --check    # the file can be installed, and fits pyproject.toml

For Linux, on which the service runs: x86-64 and ARM, the versions of Python below.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "web.lock"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    machine: [f"manylinux_2_{minor}_{machine}" for minor in (28, 27, 26, 24, 17)]
    + [f"manylinux2014_{machine}"]
    for machine in ("x86_64", "aarch64")
}
ABOUT = """\
# What the service installs, with the hashes of its wheels: for Linux and Python {pythons}.
#     pip install --require-hashes -r requirements/web.lock
#     pip install --no-deps postri
# Written by tools/lock_service.py; make check installs it for a trial.
"""


def wanted() -> list[str]:
    """What pyproject.toml asks for: the core, the service with OpenID Connect, and PostgreSQL."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *extras["web"], *extras["oidc"], *extras["postgres"]]


def resolved(words: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The version and the hash of each package that pip would install."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--quiet", "--disable-pip-version-check", "--report", str(report)]
        subprocess.run([*command, *words], check=True, stderr=subprocess.DEVNULL)
        packages = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        canonicalize_name(each["metadata"]["name"]): (
            each["metadata"]["version"],
            each["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for each in packages
    }


def write() -> None:
    """Resolve for this machine; then the same versions for the others, for their hashes."""
    versions = {name: version for name, (version, _) in resolved(wanted()).items()}
    pins = [f"{name}=={version}" for name, version in sorted(versions.items())]
    hashes: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for machine, names in PLATFORMS.items():
            words = ["--only-binary=:all:", "--no-deps", f"--python-version={python}"]
            words += [f"--platform={name}" for name in names]
            words += ["--target=nowhere", *pins]
            for name, (_, found) in resolved(words).items():
                hashes[name].add(found)
            print(f"Python {python} on {machine}: {len(pins)} packages", flush=True)
    lines = [ABOUT.format(pythons=", ".join(PYTHONS))]
    for pin, name in zip(pins, sorted(versions), strict=True):
        known = "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(hashes[name]))
        lines.append(f"{pin}{known}\n")
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text("".join(lines), encoding="utf-8")


def check() -> None:
    """What is locked can be installed, by its hashes alone, and is what pyproject.toml allows."""
    found = resolved(["--require-hashes", "--only-binary=:all:", "-r", str(LOCK)])
    for text in wanted():
        requirement = Requirement(text)
        version, _ = found[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, f"{text} is locked at {version}"
    print(f"{LOCK.name}: {len(found)} packages can be installed by their hashes")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    else:
        write()
