"""Build the wheel, install it without extras into an empty environment, and ask it a question."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent
QUESTION = """
import sys
import postri
answer = postri.median(range(1_000), epsilon=1)
assert answer.private and answer.interval.low <= answer.value <= answer.interval.high, answer
missing = {"pandas", "polars", "pyarrow", "matplotlib"} & set(sys.modules)
assert not missing, missing
print(answer)
"""


def run(*words: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in words], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE
    ).stdout


def page_files() -> set[str]:
    """The files of the service's page, as the wheel names them."""
    return {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "postri" / "web" / "page").iterdir()
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder)
        (wheel,) = Path(folder).glob("postri-*.whl")
        missing = page_files() - set(ZipFile(wheel).namelist())
        assert not missing, f"the wheel lacks {sorted(missing)}"
        # Without a pip of its own, and nothing is compiled ahead: it lives for two questions.
        venv.create(Path(folder) / "empty")
        python = Path(folder) / "empty" / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
        run(*pip, "install", "--quiet", "--no-compile", wheel)
        print(run(python, "-c", QUESTION).strip())
        run(python.with_name("postri"), "plan", "--rows", "1000", "--epsilon", "1")
        print(f"{wheel.name} installs without extras and answers")


if __name__ == "__main__":
    main()
