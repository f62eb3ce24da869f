"""The scans of a database, once: a sample for a bracket, one scan for n and what lies below it, one for the counts inside.

The counts are cut to the window inside the database, so that no more returns than the window needs. Rows are never sorted: only the few
distinct keys of a bracket are. What databases write differently is in their `Dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.columns import ColumnType
from postri.engines.base import SLACKS, Bracket, Places, Target, Wanted, find_windows, tally
from postri.engines.reading import FLOAT_INDEX, NEAR_HALF, Raw, Reading
from postri.errors import SourceChanged
from postri.grid import Grid
from postri.window import Indexes, RankWindow, rank_range

# Sorted in the database, so a good deal smaller than one in memory.
SAMPLE = 1 << 16
FITS = 2**62
SMALLEST, LARGEST, LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True)
class Cells:
    """How a column is read: its declared type, and the expression of its raw cells, which no cell makes fail. A null is dropped."""

    type: ColumnType
    raw: str


class Dialect(Protocol):
    """What a database writes in its own way."""

    def name(self, identifier: str) -> str:
        """A name, quoted."""

    def cells(self, column: str, declared: str) -> Cells:
        """How a column of this declared type is read."""

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above a number of double precision, in double precision."""

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""

    def is_number(self, expression: str) -> str:
        """Whether a number of double precision is one: neither null nor NaN. No statistics of the database may decide it."""

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""


class Source(Protocol):
    """A table inside a database. It reads one snapshot, or its scans show that it did not."""

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns, a column at a time, without nulls."""

    def estimate(self) -> int:
        """About how many rows there are, if that is cheap to know; 0 if not. Only speed depends on it."""

    def sampled(self, size: int, rows: int) -> str | None:
        """The relation of about `size` of the `rows`, if that is cheap to have; which ones matters for speed alone."""


class SqlEngine:
    """The columns of one table inside a database."""

    def __init__(self, source: Source, types: dict[str, str]) -> None:
        self._source, self._types = source, types

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._types)

    def _cells(self, column: str | None) -> Cells:
        return self._source.dialect.cells(str(column), self._types[str(column)])

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._cells(column).type

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[RankWindow]:
        """The window of each target."""
        cells = self._cells(column)
        with self.snapshot() as source:
            return find_windows(SqlCounter(source, cells, Reading(grid, cells.type.unit)), grid, targets)

    def snapshot(self) -> AbstractContextManager[Source]:
        """The source while one question is counted; all its queries see the same rows where the database can say so."""
        return nullcontext(self._source)


class SqlCounter:
    """One column on one grid, counted by queries."""

    def __init__(self, source: Source, cells: Cells, reading: Reading) -> None:
        self._source, self._cells, self._reading = source, cells, reading
        self.rows, self._n = source.estimate(), -1

    def _from(self, relation: str) -> str:
        keep = "raw IS NOT NULL" if self._cells.type.unit is not None else self._source.dialect.is_number("raw")
        return f"(SELECT raw FROM (SELECT {self._cells.raw} AS raw FROM {relation}) AS cells WHERE {keep}) AS kept"

    def guesses(self, targets: Sequence[Target], grid: Grid) -> Iterator[list[Bracket]]:
        """By the order statistics of a sample, which the database picks out: nothing of the sample but these returns."""
        relation = self._source.sampled(SAMPLE, self.rows)
        if relation is None:
            return
        asked = [Places.of(target, self.rows, slack) for slack in SLACKS for target in targets]
        picked = [pick for i, places in enumerate(asked) for pick in self._picks(i, places)]
        ranked = f"SELECT raw, row_number() OVER (ORDER BY raw) AS place, count(*) OVER () AS size FROM {self._from(relation)}"
        found = self._source.columns(f"SELECT {', '.join(picked)} FROM ({ranked}) AS ranked")
        ends = [
            self._end(raw, number, edge) for (raw, number), edge in zip(_pairs(found), (grid.first, grid.last) * len(asked), strict=True)
        ]
        brackets = [Bracket(low, max(low, high)) for low, high in _pairs(ends)]
        yield from (brackets[i : i + len(targets)] for i in range(0, len(brackets), len(targets)))

    def _picks(self, i: int, places: Places) -> list[str]:
        """The cells at both ends (0 where there are none), and whether there are."""
        dialect = self._source.dialect
        spare = f"({places.slack} * sqrt(size * {places.p * (1 - places.p)!r}) + {places.side!r} * size + 4)"
        picks = []
        for side, sign in (("low", "-"), ("high", "+")):
            here = f"place = {dialect.integer(f'floor({places.p!r} * size {sign} {spare})', unsigned=False)}"
            picks += [f"coalesce(max(CASE WHEN {here} THEN raw END), 0) AS {side}{i}", f"{dialect.count_of(here)} AS has_{side}{i}"]
        return picks

    def _end(self, raw: NDArray[Any], number: NDArray[Any], edge: int) -> int:
        return int(self._reading.indexes(raw)[0]) if int(number[0]) else edge

    def count(self, wanted: Sequence[Wanted]) -> list[RankWindow]:
        """One scan for what lies below all brackets, and one for each to count inside."""
        limits = [(_within(self._reading.cut(each.bracket.low)), _within(self._reading.cut(each.bracket.high + 1))) for each in wanted]
        n, *below = self._below([low for low, _ in limits])
        return [self._inside(each, *limit, under, n) for each, limit, under in zip(wanted, limits, below, strict=True)]

    def _below(self, lows: Sequence[Raw]) -> list[int]:
        """n, and how many rows lie below each threshold."""
        counts = [f"{self._source.dialect.count_of(self._less(low))} AS below{i}" for i, low in enumerate(lows)]
        query = f"SELECT {', '.join(['count(*) AS n', *counts])} FROM {self._from(self._source.relation)}"
        n, *below = (int(column[0]) for column in self._source.columns(query))
        if self._n not in (-1, n):
            raise SourceChanged("the rows of the table changed while they were counted; ask again when it is at rest")
        self._n = n
        return [n, *below]

    def _inside(self, wanted: Wanted, low: Raw, end: Raw, below: int, n: int) -> RankWindow:
        """The counts of the bracket, cut to the window."""
        keys, target = keys_of(self._reading, wanted.bracket, self._source.dialect), wanted.target
        chosen = f"SELECT {keys.key} AS place, {keys.doubt} AS doubt FROM {self._from(self._source.relation)}"
        limits = [f"NOT {self._less(low)}"] * (low != -inf) + [self._less(end)] * (end != inf)
        if limits:
            chosen += f" WHERE {' AND '.join(limits)}"
        counted = f"SELECT place, doubt, count(*) AS number FROM ({chosen}) AS chosen GROUP BY place, doubt"
        query = _cut(counted, below, rank_range(n, target.p, target.half), keys.margin, self._source.dialect)
        places, doubts, numbers, upto = self._source.columns(query)
        before = int((upto - numbers).min()) if len(upto) else below
        return RankWindow(*tally(keys.indexes(places, doubts), numbers.astype(np.int64)), before, n)

    def _less(self, cut: Raw) -> str:
        if isinf(cut):
            return "TRUE" if cut > 0 else "FALSE"
        return f"(raw < {cut if isinstance(cut, int) else self._source.dialect.double(cut)})"


def _cut(counted: str, below: int, ranks: tuple[int, int], margin: int | None, dialect: Dialect) -> str:
    """The counts with the rows up to each, cut to these ranks: keys at most `margin` beyond them stay. None cuts nothing."""
    total = dialect.integer(f"{below} + sum(number) OVER (ORDER BY place, doubt ROWS UNBOUNDED PRECEDING)", unsigned=False)
    ranked = f"SELECT place, doubt, number, {total} AS upto FROM ({counted}) AS counted"
    if margin is None:
        return ranked
    lowest = f"min(CASE WHEN upto >= {ranks[0]} THEN place END) OVER () AS lowest"
    highest = f"max(CASE WHEN upto - number < {ranks[1]} THEN place END) OVER () AS highest"
    bounded = f"SELECT place, doubt, number, upto, {lowest}, {highest} FROM ({ranked}) AS ranked"
    less, more = (f" - {margin}", f" + {margin}") if margin else ("", "")
    return f"SELECT place, doubt, number, upto FROM ({bounded}) AS bounded WHERE place >= lowest{less} AND place <= highest{more}"


@dataclass(frozen=True)
class Keys:
    """What is counted inside a bracket: a key in the order of the indexes, and the raw cell where the key leaves doubt (else 0).

    An index is made up of keys that lie within `margin` of one another; None means that nobody knows.
    """

    key: str
    doubt: str
    margin: int | None
    indexes: Callable[[NDArray[Any], NDArray[Any]], Indexes]


def keys_of(reading: Reading, bracket: Bracket, dialect: Dialect) -> Keys:
    """The narrowest keys that are exact: the cell itself where cells and indexes correspond, else the index computed in the database."""
    if reading.unit is None:
        return _float_keys(reading, bracket, dialect) or _raw_keys(reading)
    slope, start = reading.unit / reading.grid.step, reading.grid.base / reading.grid.step
    if slope == 1 and start.denominator == 1:
        return _own_keys(reading, bracket, int(start), dialect)
    return _divided_keys(reading, bracket, slope, -start, dialect) or _raw_keys(reading)


def _raw_keys(reading: Reading) -> Keys:
    return Keys("raw", "0", None, lambda places, _: reading.indexes(places))


def _own_keys(reading: Reading, bracket: Bracket, start: int, dialect: Dialect) -> Keys:
    """Each index is one cell; those beyond the domain are clamped."""
    grid, key = reading.grid, "raw"
    low, high = grid.first + start, grid.last + start
    if bracket.low == grid.first:
        key = f"CASE WHEN raw < {low} THEN {low} ELSE {key} END"
    if bracket.high == grid.last:
        key = f"CASE WHEN raw > {high} THEN {high} ELSE {key} END"
    unsigned = high > LARGEST
    if (low < SMALLEST) or (unsigned and low < 0):
        return _raw_keys(reading)
    return Keys(
        dialect.integer(key, unsigned=unsigned),
        "0",
        0,
        lambda places, _: (places.astype(np.uint64) - np.uint64(start % 2**64)).view(np.int64),
    )


def _divided_keys(reading: Reading, bracket: Bracket, slope: Fraction, start: Fraction, dialect: Dialect) -> Keys | None:
    """The index by whole-number arithmetic from the bracket's first cell on: rounded half to even, as everywhere."""
    grid = reading.grid
    low, end = reading.cut(max(bracket.low, grid.first + 1)), reading.cut(min(bracket.high, grid.last))
    divisor = slope.denominator * start.denominator
    factor, offset = int(slope * divisor), int(start * divisor)
    if isinf(low) or isinf(end) or (end - low) * factor + 2 * divisor >= FITS or not SMALLEST <= low <= end <= LARGEST:
        return None
    base, rest = divmod(int(low) * factor + offset, divisor)
    distance = f"((raw - {low}) * {factor} + {rest})" if low >= 0 else f"((raw + {-low}) * {factor} + {rest})"
    quotient, left = dialect.divided(distance, divisor), f"({distance} % {divisor})"
    odd = f"({quotient} + {base % 2}) % 2 = 1"
    rounded = f"{quotient} + CASE WHEN 2 * {left} > {divisor} OR (2 * {left} = {divisor} AND {odd}) THEN 1 ELSE 0 END"
    highest = min(bracket.high, grid.last) - base
    below = f"WHEN raw < {low} THEN {grid.first - base} " if bracket.low == grid.first else ""
    key = f"CASE {below}WHEN raw >= {end} THEN {highest} ELSE {rounded} END"
    return Keys(dialect.integer(key, unsigned=False), "0", 0, lambda places, _: places.astype(np.int64) + base)


def _float_keys(reading: Reading, bracket: Bracket, dialect: Dialect) -> Keys | None:
    """The nearest index by double precision where that is beyond doubt; a doubtful cell comes back as it is, between two indexes."""
    grid = reading.grid
    low, end = float(reading.cut(max(bracket.low, grid.first + 1))), float(reading.cut(min(bracket.high, grid.last)))
    start, step = float(grid.base), float(grid.step)
    if max(abs(low), abs(end), abs(start)) + step >= FLOAT_INDEX * step or max(abs(grid.first), abs(grid.last)) >= FLOAT_INDEX:
        return None
    place = f"((raw - {dialect.double(start)}) / {dialect.double(step)})"
    nearest = dialect.floored(f"{place} + {dialect.double(0.5)}")
    sure = f"abs({place} - {nearest}) < {dialect.double(0.5 - NEAR_HALF)}"
    beyond = f"WHEN raw < {dialect.double(low)} THEN {{}} WHEN raw >= {dialect.double(end)} THEN {{}}"
    first, last = dialect.double(grid.first), dialect.double(min(bracket.high, grid.last))
    between = f"{dialect.floored(place)} + {dialect.double(0.5)}"
    zero = dialect.double(0.0)
    return Keys(
        f"CASE {beyond.format(first, last)} WHEN {sure} THEN {nearest} ELSE {between} END",
        f"CASE {beyond.format(zero, zero)} WHEN {sure} THEN {zero} ELSE raw END",
        1,
        lambda places, doubts: _mixed(places, doubts, reading),
    )


def _mixed(places: NDArray[Any], doubts: NDArray[Any], reading: Reading) -> Indexes:
    indexes: Indexes = np.floor(places).astype(np.int64)
    doubtful = np.flatnonzero(places != np.floor(places))
    indexes[doubtful] = reading.indexes(doubts[doubtful])
    return indexes


def _pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(items[::2], items[1::2], strict=True))


def _within(cut: Raw) -> Raw:
    """The threshold; one beyond every 64-bit number is as good as infinite."""
    return inf * (1 if cut > 0 else -1) if isinstance(cut, int) and not SMALLEST < cut <= LARGEST_UNSIGNED else cut
