"""How far a run of many rows is, and about how long the rest of it takes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import fmean
from threading import Lock

from compare.rows import Row

# About what a row of each kind took on two cores with the usual settings, in seconds, until one of
# its kind was run: docs/decisions/0033 tells where the time goes.
USUAL = {"error": 45.0, "odd": 60.0, "time": 200.0, "unknown-keys": 5.0}


class Progress:
    """Tells of every row that ends, with an estimate of what is left."""

    def __init__(self, rows: Sequence[Row], side_by_side: int) -> None:
        self._left = list(rows)
        self._all = len(rows)
        self._side_by_side = side_by_side
        self._took: dict[Row, float] = {}
        self._one_at_a_time = Lock()

    def opening(self) -> str:
        """What is about to be run."""
        return f"{self._all:,} rows to run, about {minutes(self.seconds_left())}"

    def ended(self, row: Row, took: float) -> str:
        """One row is done."""
        with self._one_at_a_time:
            self._took[row] = took
            self._left.remove(row)
            done = self._all - len(self._left)
            left = minutes(self.seconds_left())
        return f"{done:,} of {self._all:,}  {row.name}: {took:.0f} s; about {left} left"

    def seconds_left(self) -> float:
        """By what rows like those that are left took: the same statistic, else the same kind."""
        one_by_one = sum(self._expected(row) for row in self._left if row.kind == "time")
        others = sum(self._expected(row) for row in self._left if row.kind != "time")
        return one_by_one + others / self._side_by_side

    def _expected(self, row: Row) -> float:
        for alike in (
            [took for done, took in self._took.items() if done.label == row.label],
            [took for done, took in self._took.items() if done.kind == row.kind],
        ):
            if alike:
                return fmean(alike)
        return USUAL[row.kind]


def minutes(seconds: float) -> str:
    """A time to wait, as one would say it.

    >>> minutes(20), minutes(100), minutes(3_000), minutes(9_000)
    ('a minute', '2 minutes', '50 minutes', '2.5 hours')
    """
    whole = max(1, round(seconds / 60))
    if whole == 1:
        return "a minute"
    if whole < 90:
        return f"{whole} minutes"
    return f"{whole / 60:.1f} hours"


def say(words: str) -> None:
    """Progress, on standard error."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
