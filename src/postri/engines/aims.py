"""Where a window lies, by how many rows lie below a point near it, and by a sample: over a small
distance its error is small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from postri.engines.base import SLACK
from postri.engines.dialects.protocol import Dialect
from postri.engines.sampled import Pick
from postri.window import Indexes, Target

# The few rows that are left to spare where ranks are compared in double precision.
SPARE = 4


def sides(target: Target, dialect: Dialect) -> tuple[str, str]:
    """The first and the last rank of a window of `n` rows, with a few to spare."""
    rank, reach = f"{dialect.double(float(target.p))} * n", target.half + SPARE
    return f"({rank} - {reach})", f"({rank} + {reach})"


def outward(
    target: Target, dialect: Dialect, shares: tuple[str, str], size: str
) -> tuple[str, str]:
    """How far beyond the target, as shares of a sample of so many cells, the window of a group
    reaches down and up.

    Of `n` rows `below` ones lie below the point, and of the sample's cells shares between these
    two. Between two cells of a table, the number of cells in a sample has the variance of a Poisson
    law, about the number itself.
    """
    origin, reached = shares
    p, rows, (low, high) = dialect.double(float(target.p)), "greatest(n, 1)", sides(target, dialect)

    def spare(side: str) -> str:
        return f"({SLACK} * sqrt(abs({side} - below) / {rows} * {size} + 4) + 1) / {size}"

    return (
        f"({p} - {origin} - ({low} - below) / {rows} + {spare(low)})",
        f"({reached} + ({high} - below) / {rows} - {p} + {spare(high)})",
    )


def shares_below(
    pick: Pick, lows: Indexes, highs: Indexes, points: Indexes
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between which shares of each group's sample the cells below its point end, by its marks."""
    p, spares = float(pick.target.p), np.array(pick.spares)
    shares, marks = (
        np.concatenate((p - spares[::-1], p + spares)),
        np.hstack((lows[:, ::-1], highs)),
    )
    after = np.minimum((marks < points[:, None]).sum(axis=1), len(shares) - 1)
    before, rows = np.maximum(after - 1, 0), np.arange(len(marks))
    low, high = marks[rows, before].astype(np.float64), marks[rows, after].astype(np.float64)
    part = np.clip((points - low) / np.maximum(high - low, 1.0), 0.0, 1.0)
    between = shares[before] + part * (shares[after] - shares[before])
    # Where cells are often alike, all that is known of those below one is which mark they pass.
    inside = (marks > marks[:, :1]) & (marks < marks[:, -1:])
    alike = (inside[:, 1:] & (np.diff(marks, axis=1) == 0)).any(axis=1)
    return np.where(alike, shares[before], between), np.where(alike, shares[after], between)
