"""The two sizes of the proofs: small by default, full under `make prove` (POSTRI_PROVE=1).

A file that imports from here is run by `make prove` without further ado. So are the files that
start programs, which start there from nothing: see `warm_start.py`.
"""

from __future__ import annotations

import os
from typing import TypeVar

import pytest
from hypothesis import settings

PROVE = os.environ.get("POSTRI_PROVE") == "1"
# One example of so many is looked at outside `make prove`, and at least the fewest.
ONE_IN, FEWEST = 4, 10

# The marks of a file of statistical tests: with the system's own coins under `make prove`. Each
# test tells how seldom it fails by luck, which is at most once in a million.
WITH_SYSTEM_COINS = [pytest.mark.system_coins] if PROVE else []

T = TypeVar("T")


def sized(small: T, full: T) -> T:
    """The one or the other."""
    return full if PROVE else small


def examples(full: int, small: int | None = None) -> settings:
    """How many examples Hypothesis looks at under `make prove`, and else: a part of them."""
    return settings(max_examples=sized(small or max(FEWEST, full // ONE_IN), full))
