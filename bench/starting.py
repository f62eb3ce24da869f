"""How long the first answer takes: of a fresh process, and of the command line.

Both are set beside the bare import of what they cannot do without. Python compiles a module once
and keeps the result, as an installer does: the runs that count find it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from timing import least_side_by_side

ROWS = 5_000
FIRST_ANSWER = "import numpy, postri; postri.median(numpy.arange(1_000), epsilon=1)"


def first_answers() -> dict[str, float]:
    """The least of several runs in turns: what else the machine does only adds to them."""
    postri = str(Path(sys.executable).with_name("postri"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cells.csv"
        cells = np.random.default_rng(1).integers(0, 10**6, ROWS)
        path.write_text("x\n" + "\n".join(map(str, cells)) + "\n")
        asked = [postri, "median", str(path), "x", "--type", "integer", "--epsilon", "1"]
        times = least_side_by_side(
            {
                "numpy": _run([sys.executable, "-c", "import numpy"]),
                "answer": _run([sys.executable, "-c", FIRST_ANSWER]),
                "duckdb": _run([sys.executable, "-c", "import duckdb, numpy"]),
                "command": _run(asked),
            },
            15,
        )
    return {
        "first_answer_vs_import": times["answer"] / times["numpy"],
        "cli_vs_import": times["command"] / times["duckdb"],
    }


def _run(words: Sequence[str]) -> Callable[[], object]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(words, capture_output=True, check=True, env=kept)
