"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tables() -> Path:
    """The folder with the experiments' tables, which are not part of the repository."""
    folder = Path(os.environ.get("POSTRI_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "bank.csv").is_file():
        reason = "the tables of the experiments are not here: set POSTRI_DATA to the folder that has bank.csv, adult.csv and airplane.csv"
        if os.environ.get("POSTRI_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
