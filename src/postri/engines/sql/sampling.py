"""Where windows should lie, by a sample: brackets by its order statistics, which the database picks
out, and how far a window can lie from a point at which all rows are counted.

For speed alone: see `postri.engines.engine.guessed_brackets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.engine import SLACK, UNUSUAL, Bracket, UsualRange
from postri.engines.reading import Reading
from postri.engines.sql.dialect import Dialect, filled
from postri.engines.sql.row_source import RowSource, named
from postri.grid import Grid
from postri.window import Indexes, Target

Floats = NDArray[np.float64]

# How many standard errors beyond the expected window's end the marks of a sample lie that are
# nearer than the bracket's ends.
MARKS = (-1.0, -0.4, 0.2, 0.8, 1.4, 2.0, 2.8)
# By how much a bracket may have to be wider than expected: filters and small groups leave fewer
# cells in a sample.
LADDER = (1.1, 1.5, 2.5, 5.0, 12.0)
# A sample tells how close the cells of a group lie if it has so many of them in its bracket, and if
# the third of them in the middle takes no more than so many times its part of the bracket.
FEWEST_EVEN = 100
MOST_UNEVEN = 2
EVEN_SLACK = 5.5
# Where cells are often alike in more than this share of the groups, they lie in no group evenly.
MOST_ALIKE = 1 / 4
# The few rows that are left to spare where ranks are compared in double precision.
SPARE = 4

# For each group the number of its cells in a sample, and those cells below which such shares of
# them lie.
ORDER_STATISTICS = """
    SELECT grp, size, {raws}
    FROM (
        SELECT grp, {aggregates}
        FROM {cells}
        GROUP BY grp
    ) AS tallied
"""


@dataclass(frozen=True)
class Sample:
    """The relation of some rows, and about which share of all rows they are."""

    relation: str
    share: float


@dataclass(frozen=True)
class SampleRanks:
    """Which order statistics of a sample are asked for around a target: for each spare share of the
    rows one below and one above.
    """

    target: Target
    share: float
    spares: Sequence[float]

    @classmethod
    def of(cls, target: Target, share: float, size: float) -> SampleRanks:
        """For groups of which the sample, this share of all rows, should hold `size` cells, or a
        good deal fewer.
        """
        bare = cls(target, share, ())
        size = max(size, 1.0)
        outer = [step * bare.spare(size) for step in LADDER]
        inner = {abs(bare.reach + mark * bare.error(size)) / size for mark in MARKS}
        nearer = sorted(spare for spare in inner if spare < outer[0])
        return replace(bare, spares=[*nearer, *outer])

    @property
    def reach(self) -> float:
        """How many cells of the sample half a window holds."""
        return self.target.half * self.share

    def error(self, size: float) -> float:
        """The standard error of the target's rank, by a sample of `size` cells."""
        p = float(self.target.p)
        return sqrt(size * p * (1 - p))

    def spare(self, size: float) -> float:
        """The share of the rows that a bracket must leave to spare on each side, by a sample of
        `size` cells.
        """
        return float(self._spares(np.array([size]))[0])

    def _spares(self, sizes: Floats) -> Floats:
        """The same for samples of some sizes."""
        p = float(self.target.p)
        spares: Floats = (SLACK * np.sqrt(sizes * p * (1 - p)) + self.reach + 4) / sizes
        return spares

    @property
    def shares(self) -> list[float]:
        """Below which shares of the sample the wanted cells lie: first the lower ones, then the
        upper ones, both from the target on.
        """
        p = float(self.target.p)
        return [min(max(p + side * spare, 0.0), 1.0) for side in (-1, 1) for spare in self.spares]

    def narrowest(self, sizes: Indexes) -> Indexes:
        """For groups of which the sample holds `sizes` cells, which of the spare shares is the
        first that leaves enough; one more than there are, if none does.
        """
        needed = np.where(sizes > 0, self._spares(np.maximum(sizes, 1)), inf)
        first = len(self.spares) - len(LADDER)
        return np.maximum(np.searchsorted(self.spares, needed), first)

    def brackets(self, sizes: Indexes, marks: Indexes, grid: Grid) -> list[Bracket]:
        """The narrowest brackets that leave enough to spare, for groups of which the sample holds
        `sizes` cells, and these `marks` at the shares.
        """
        p = float(self.target.p)
        spares = np.array(self.spares)
        number = len(self.spares)
        narrowest = self.narrowest(sizes)
        known = narrowest < number
        narrowest = np.where(known, narrowest, 0)
        lows = np.where((p > spares) & known[:, None], marks[:, :number], grid.first)
        highs = np.where((p + spares < 1) & known[:, None], marks[:, number:], grid.last)
        groups = np.arange(len(sizes))
        lowest = lows[groups, narrowest]
        highest = np.maximum(highs[groups, narrowest], lowest)
        lows = np.maximum(lows, lowest[:, None])
        highs = np.minimum(highs, highest[:, None])
        known_sizes = np.where(known, sizes, 0)
        return [
            SampledBracket(low[-1], high[-1], self, size, tuple(low), tuple(high))
            for size, low, high in zip(
                known_sizes.tolist(), lows.tolist(), highs.tolist(), strict=True
            )
        ]


@dataclass(frozen=True)
class SampledBracket(Bracket):
    """A bracket with the cells of the sample inside it: at each spare share one below the target,
    and one above.

    Where the sample has too few cells of the group, their number counts as 0, and all marks are the
    ends of the grid.
    """

    ranks: SampleRanks
    size: int
    lows: tuple[int, ...]
    highs: tuple[int, ...]


def sampled_guesses(
    sample: Sample,
    columns: Callable[[str], list[NDArray[Any]]],
    row_source: RowSource,
    reading: Reading,
    targets: Sequence[Target],
    rows: int,
) -> list[Bracket]:
    """For each group and target the bracket that a sample tells.

    Nothing of the sample returns but a few order statistics of each group.
    """
    number = row_source.rows.number
    expected = sample.share * rows / number
    ranks = [SampleRanks.of(target, sample.share, expected) for target in targets]
    shares = [share for each in ranks for share in each.shares]
    groups, found_sizes, *found = columns(_order_statistics(sample.relation, row_source, shares))
    # A group that the sample does not have keeps these.
    sizes = np.zeros(number, np.int64)
    marks = np.full((number, len(found)), reading.grid.first)
    sizes[groups] = found_sizes
    marks[groups] = np.column_stack([reading.indexes(column) for column in found])
    starts = np.cumsum([len(each.shares) for each in ranks])[:-1]
    brackets = [
        each.brackets(sizes, part, reading.grid)
        for each, part in zip(ranks, np.split(marks, starts, axis=1), strict=True)
    ]
    return [bracket for group in zip(*brackets, strict=True) for bracket in group]


def usual_range(
    sample: Sample,
    columns: Callable[[str], list[NDArray[Any]]],
    row_source: RowSource,
    reading: Reading,
    rows: int,
) -> UsualRange | None:
    """Between which indexes nearly all cells of a sample lie, in every group that it has; of a
    table of about so many rows.
    """
    shares = [UNUSUAL, 1 - UNUSUAL]
    _, _, low, high = columns(_order_statistics(sample.relation, row_source, shares))
    if not len(low):
        return None
    return UsualRange(int(reading.indexes(low).min()), int(reading.indexes(high).max()), rows)


def _order_statistics(relation: str, row_source: RowSource, shares: Sequence[float]) -> str:
    aggregates, cells = row_source.dialect.order_statistics("cell", shares)
    return filled(
        ORDER_STATISTICS,
        raws=", ".join(f"{row_source.raw(cell)} AS raw{i}" for i, cell in enumerate(cells)),
        aggregates=named({"size": "count(*)", **aggregates}),
        cells=row_source.cells_that_count(relation),
    )


def window_ranks(target: Target, dialect: Dialect) -> tuple[str, str]:
    """The first and the last rank of a window of `n` rows, with a few to spare."""
    rank = f"{dialect.double(float(target.p))} * n"
    reach = target.half + SPARE
    return f"({rank} - {reach})", f"({rank} + {reach})"


def window_distances(
    target: Target, dialect: Dialect, shares: tuple[str, str], size: str
) -> tuple[str, str]:
    """How far beyond the target, as shares of a sample of `size` cells, the window of a group
    reaches down and up.

    Of `n` rows `below` ones lie below the point, and of the sample's cells shares between these
    two. Between two cells of a table, the number of cells in a sample has the variance of a Poisson
    law, about the number itself.
    """
    least, most = shares
    low, high = window_ranks(target, dialect)
    p = dialect.double(float(target.p))
    rows = "greatest(n, 1)"

    def spare(side: str) -> str:
        return f"({SLACK} * sqrt(abs({side} - below) / {rows} * {size} + 4) + 1) / {size}"

    down = f"({p} - {least} - ({low} - below) / {rows} + {spare(low)})"
    up = f"({most} + ({high} - below) / {rows} - {p} + {spare(high)})"
    return down, up


def rows_to_spare(distances: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Which share of each sample a stretch must leave to spare that should hold this share of the
    rows: see `window_distances`.
    """
    known = np.maximum(sizes, 1)
    spare: Floats = (SLACK * np.sqrt(np.abs(distances) * known + 4) + 1) / known
    return spare


def shares_below(
    ranks: SampleRanks, lows: Indexes, highs: Indexes, points: Indexes
) -> tuple[Floats, Floats]:
    """Between which shares of each group's sample the cells below its point end, by its marks."""
    p = float(ranks.target.p)
    spares = np.array(ranks.spares)
    shares = np.concatenate((p - spares[::-1], p + spares))
    marks = np.hstack((lows[:, ::-1], highs))
    after = np.minimum((marks < points[:, None]).sum(axis=1), len(shares) - 1)
    before = np.maximum(after - 1, 0)
    groups = np.arange(len(marks))
    low = marks[groups, before].astype(np.float64)
    high = marks[groups, after].astype(np.float64)
    part = np.clip((points - low) / np.maximum(high - low, 1.0), 0.0, 1.0)
    between = shares[before] + part * (shares[after] - shares[before])
    # Where cells are often alike, all that is known of those below one is which mark they pass.
    inside = (marks > marks[:, :1]) & (marks < marks[:, -1:])
    alike = (inside[:, 1:] & (np.diff(marks, axis=1) == 0)).any(axis=1)
    return np.where(alike, shares[before], between), np.where(alike, shares[after], between)


@dataclass(frozen=True)
class EvenCells:
    """How the cells of groups lie near their targets, if they lie evenly: how many indexes would
    hold all rows of a group if these were as close everywhere, and by how many cells of a sample
    that is told. Where they do not lie evenly it is infinitely many.
    """

    steps: Floats
    cells: Floats

    def reach(self, rows: NDArray[np.floating[Any]], n: Indexes) -> Floats:
        """Within how many indexes so many of the `n` rows of each group should lie.

        Both numbers, of the sample's cells and of these rows, have the error of a Poisson law.
        """
        known = np.maximum(rows, 1.0)
        error = np.sqrt(1 / known + 1 / self.cells)
        within: Floats = self.steps * known / n * (1 + EVEN_SLACK * error)
        return within


def even_cells(
    ranks: SampleRanks, sizes: Indexes, lows: Indexes, highs: Indexes, grid: Grid
) -> EvenCells:
    """How the cells of each group lie in its bracket, by the marks in it.

    A gap shows in the middle of a bracket, and cells that many rows have by marks that are alike.
    """
    spares = np.array(ranks.spares)
    groups = np.arange(len(sizes))
    outer = np.minimum(ranks.narrowest(sizes), len(spares) - 1)
    inner = np.searchsorted(spares, spares[outer] / 3)
    first, last = lows[groups, outer], highs[groups, outer]
    wide = last.astype(np.float64) - first
    narrow = highs[groups, inner].astype(np.float64) - lows[groups, inner]
    cells = np.maximum(2 * spares[outer] * sizes, 1.0)
    even = (first > grid.first) & (last < grid.last) & (cells >= FEWEST_EVEN)
    even &= narrow * spares[outer] <= MOST_UNEVEN * wide * spares[inner]
    nearest = len(spares) - len(LADDER) + 1
    marks = np.hstack((lows[:, nearest - 1 :: -1], highs[:, :nearest]))
    alike = (np.diff(marks, axis=1) == 0).any(axis=1)
    even &= bool(np.mean(alike) <= MOST_ALIKE) if len(alike) else False
    return EvenCells(np.where(even, wide / (2 * spares[outer]), inf), cells)
