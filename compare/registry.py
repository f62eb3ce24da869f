"""The libraries that are compared, and the environment of each, built from the registry."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from postri.errors import PostriError

ROOT = Path(__file__).resolve().parent.parent
PEERS_FOLDER = Path(__file__).resolve().parent / "peers"
ADD_OR_REMOVE = "add-or-remove"
REPLACE = "replace"
BOTH = (ADD_OR_REMOVE, REPLACE)


class EnvironmentMissing(PostriError):  # noqa: N818  the others of this tree have no suffix either
    """The environment of a peer could not be built; the words are the installer's own."""


@dataclass(frozen=True)
class Peer:
    """A library, the program that uses it, and the ways in which it can be asked.

    `neighbours` are those that the program is asked for; a library that knows one kind answers for
    that kind whatever it is asked.
    """

    key: str
    name: str
    program: Path
    requirement: str | None = None
    ways: tuple[str, ...] = ("default",)
    neighbours: tuple[str, ...] = (ADD_OR_REMOVE,)
    # What it does about neighbours, for the report.
    about: str = ""
    needs: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Whether this is the library that the others are compared with."""
        return self.requirement is None and self.key == "postri"

    def python(self, environments: Path) -> Path:
        """The interpreter that runs the program; its environment is built on first use."""
        if self.requirement is None:
            return Path(sys.executable)
        return built(self.key, (self.requirement, *self.needs), environments)


def built(key: str, requirements: tuple[str, ...], environments: Path) -> Path:
    """The Python of an environment with these requirements.

    A marker says that it was built whole, and with which: an interrupted one is built again.
    """
    folder = environments / key
    python = folder / "bin" / "python"
    marker = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if marker.is_file() and marker.read_text(encoding="utf-8") == wanted:
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*map(str, install), *requirements], capture_output=True, text=True, check=False
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
        raise EnvironmentMissing(" ".join(errors[-2:])[:400] or "pip failed without a word")
    marker.write_text(wanted, encoding="utf-8")
    return python


PEERS = (
    Peer(
        "postri",
        "postri",
        PEERS_FOLDER / "with_postri.py",
        ways=("default", "9:1"),
        neighbours=BOTH,
        about=(
            "either kind, as asked: it is run under the neighbours of the peer that it stands "
            "beside, at the same epsilon"
        ),
    ),
    Peer(
        "opendp",
        "OpenDP",
        PEERS_FOLDER / "with_opendp.py",
        "opendp==0.16.0",
        needs=("numpy",),
        about="one row added or removed (symmetric distance 1)",
    ),
    Peer(
        "diffprivlib",
        "diffprivlib",
        PEERS_FOLDER / "with_diffprivlib.py",
        "diffprivlib==0.6.6",
        # Its import of a name of newer releases fails.
        needs=("scikit-learn<1.7",),
        neighbours=(REPLACE,),
        about="one row replaced; the number of rows is taken as public",
    ),
    Peer(
        "python-dp",
        "Google (python-dp)",
        PEERS_FOLDER / "with_python_dp.py",
        "python-dp==1.1.5",
        ways=("tree", "algorithm"),
        needs=("numpy",),
        about="one user with one row added or removed (one partition, one contribution)",
    ),
    Peer(
        "smartnoise",
        "SmartNoise SQL",
        PEERS_FOLDER / "with_smartnoise.py",
        "smartnoise-sql==1.0.10",
        about="one row added or removed (`row_privacy`)",
    ),
    Peer(
        "pipelinedp",
        "PipelineDP",
        PEERS_FOLDER / "with_pipelinedp.py",
        "pipeline-dp==0.3.1",
        about="one privacy id with one row added or removed",
    ),
    Peer(
        "tumult",
        "Tumult Analytics",
        PEERS_FOLDER / "with_tumult.py",
        "tmlt.analytics==0.21.0",
        about="one row added or removed (`AddOneRow`); needs Java",
    ),
)
