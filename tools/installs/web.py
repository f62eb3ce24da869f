"""With `web`: the service starts, and answers who has a token."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import postri

POLICY = """
[datasets.cells]
source = "cells.csv"
version = "1"
budget = "5"
rows = 1000
protect = { change = "add-or-remove-rows", rows = 1 }
[datasets.cells.columns.x]
type = "integer"
lower = 0
upper = 1000
"""
SAYS = "postri: listening on "

Path("cells.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(1_000)), encoding="utf-8")
Path("postri.toml").write_text(POLICY, encoding="utf-8")
program = str(Path(sys.executable).with_name("postri"))
added = subprocess.run(
    [program, "token", "add", "ann", "--role", "analyst"],
    check=True,
    stdout=subprocess.PIPE,
    text=True,
)
token = added.stdout.splitlines()[-1]
service = subprocess.Popen([program, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    assert service.stdout is not None
    line = service.stdout.readline()
    assert line.startswith(SAYS), line
    with postri.connect(line.removeprefix(SAYS).strip(), token=token) as session:
        assert session.median("cells", "x", epsilon=1).private
finally:
    service.terminate()
    service.wait()
