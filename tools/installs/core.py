"""Without extras: a median of numbers and of a CSV file, and the program, with nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import postri

answer = postri.median(range(1_000), epsilon=1)
assert answer.private
assert answer.interval.low <= answer.value <= answer.interval.high

file = Path("cells.csv")
file.write_text("x\n" + "".join(f"{i}\n" for i in range(1_000)), encoding="utf-8")
program = Path(sys.executable).with_name("postri")
for words in (
    ("median", file, "x", "--epsilon", "1"),
    ("distribution", file, "x", "--type", "integer", "--epsilon", "1"),
    ("plan", "--rows", "1000", "--epsilon", "1"),
):
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
heavy = {"pandas", "polars", "pyarrow", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
