"""The program as people run it: words in; an exit code and two streams out.

Most tests run it in this process, for a start of Python takes longer than the work. That it ends
as it should is tested once for each command, in `test_processes.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

import typer.main
from typer.testing import CliRunner

from postri.cli import main
from warm_start import COLD_START, started

POSTRI = Path(sys.executable).with_name("postri")
# What the surroundings of the tests must not decide.
FORGOTTEN = ("POSTRI_ANALYST", "POSTRI_DATA", "POSTRI_POLICY", "POSTRI_TOKEN", "COLUMNS")
# The program's commands are read from their signatures once, not at every run.
commands_of = cache(typer.main.get_command)


def run(
    *words: object, code: int = 0, folder: Path | None = None, typed: str = "", **variables: str
) -> tuple[str, str]:
    """Run it here; what it says on both streams."""
    surroundings = {**dict.fromkeys([*FORGOTTEN, "FORCE_COLOR"]), **variables}
    arguments = ["postri", *map(str, words)]
    with (
        chdir(folder or Path.cwd()),
        patch.object(sys, "argv", arguments),
        patch.object(typer.main, "get_command", commands_of),
        CliRunner().isolation(typed, surroundings) as (out, err, _),
    ):
        try:
            main()
            ended = 0
        except SystemExit as stop:
            ended = stop.code or 0
        # The streams are closed with the block.
        sys.stdout.flush()
        sys.stderr.flush()
        said = out.getvalue().decode()
        complained = err.getvalue().decode()
    assert ended == code, complained
    assert "Traceback" not in complained
    return said, complained


def start(
    *words: object,
    code: int = 0,
    folder: Path | None = None,
    is_cold: bool = False,
    **variables: str,
) -> tuple[str, str]:
    """Run it in a process of its own; if that must start from nothing, a cold one."""
    kept = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    begin = COLD_START if is_cold else started
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        process = begin(
            [str(POSTRI), *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env={**kept, **variables},
        )
        try:
            ended = process.wait(120)
        finally:
            process.kill()
        said, complained = (_text(stream) for stream in (out, err))
    assert ended == code, complained
    assert "Traceback" not in complained
    return said, complained


def _text(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()
