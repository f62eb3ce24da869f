"""The bank that the tests of questions ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from bank import write_policy


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy with the bank, and nothing spent yet."""
    return write_policy(tmp_path)
