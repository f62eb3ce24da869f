"""The map shows the import contract as it is, and the files that the page names are there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# What looks like a path: with a folder or an ending, and without the name of a file to be made.
PATHS = sorted(
    path for path in set(re.findall(r"`([\w/]+(?:\.py|\.md|\.toml|/))`", PAGE)) if "NEW" not in path
)


def test_the_map_is_current():
    script = ROOT / "tools" / "draw_architecture.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_the_page_names_is_there(path):
    assert (ROOT / path).exists() or (ROOT / "src" / "postri" / path).exists()


def test_the_page_names_files():
    assert len(PATHS) > 30
