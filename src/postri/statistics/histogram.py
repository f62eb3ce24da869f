"""A histogram: how many cells of a column lie in each of some bins.

Bins are disjoint, as groups are, so all bins of all groups share epsilon (Theorem 26).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil, floor
from typing import Any, ClassVar, Literal, cast

import numpy as np

from postri.answer import Answer
from postri.answer.bins import Bin
from postri.answer.drawn import Noisy
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.answer.words import shown as spoken
from postri.columns import Kind
from postri.cost import Cost
from postri.domain import Domain, Point, check_domain, kind_of, position, read_point
from postri.errors import InputError
from postri.exact import shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import Noise
from postri.privacy import moved_rows, moved_rows_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    drawn_noise,
    noise_of,
    released,
)
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Batch, Countable, Fits, Statistic, Terms
from postri.window import Indexes, PointCounts

MOST_EDGES = 10_000
EXAMPLES = {"number": "10", "date": "'2024-01-31'", "timestamp": "'2024-01-31T12:00'"}
EACH = "count in each bin"
EXPLANATION = (
    "It is one bar of a histogram: bins are disjoint, so all of them together cost what one does."
)


class HistogramBatch(Batch):
    """Histograms of one column on one domain: one scan counts the cells below all their edges."""

    def count(self, table: Countable, rows: Any) -> list[PointCounts]:
        """How many cells lie below each edge."""
        assert self.grid is not None
        histograms = [cast("Histogram", each.statistic) for each in self.asked]
        points = [histogram.points(self.grid) for histogram in histograms]
        together = np.unique(np.concatenate(points))
        return table.counts_below(self.column, self.grid, together, rows)


@dataclass(frozen=True)
class Histogram(Statistic):
    """The number of cells from each edge to below the next; the last bin holds its upper edge too,
    if that is the domain's upper end.
    """

    edges: tuple[Point, ...] = ()

    title: ClassVar = "histogram"
    fits: ClassVar[Fits] = "ordered"
    batch = HistogramBatch
    counts_rows: ClassVar = True

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The two edges of each bin.

        >>> histogram("fare", [0, 10, 100]).suffixes
        ('_0_10', '_10_100')
        """
        return tuple(f"_{low}_{high}" for low, high in pairwise(map(_text, self.edges)))

    @property
    def about_grid(self) -> bool:
        """A cell beyond the domain is counted at its end, and one between two steps at one of
        them.
        """
        return True

    @property
    def left_out(self) -> str | None:
        """Cells before the first edge and from the last one on."""
        beyond = []
        if not self._is_at(self.edges[0], "lower"):
            beyond.append(f"below {spoken(self.edges[0])}")
        if not self._is_closed:
            beyond.append(f"from {spoken(self.edges[-1])} on")
        if not beyond:
            return None
        return f"cells {' or '.join(beyond)} in no bin"

    @property
    def _is_closed(self) -> bool:
        """Whether the last bin holds the domain's upper end."""
        return self._is_at(self.edges[-1], "upper")

    def _is_at(self, edge: Point, end: Literal["lower", "upper"]) -> bool:
        """Whether an edge is an end of the domain."""
        if self.domain is None:
            return False
        return _position(edge, self.domain.kind) == position(getattr(self.domain, end))

    def written(self) -> str:
        """As text.

        >>> histogram("fare", [0, "0.50", 2]).written()
        'histogram("fare", 0, 0.5, 2)'
        """
        return written("histogram", self.column, *map(_text, self.edges))

    def fields(self) -> dict[str, Any]:
        """The column, the edges, and the domain."""
        edges = ", ".join(map(_text, self.edges))
        return {"histogram": self.column, "edges": edges, "domain": self.domain}

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def check_domain(self) -> None:
        """Edges lie on the domain."""
        if self.domain is None:
            return
        lower, _, step = self.domain.bounds
        last = self.domain.points - 1
        grid = Grid(0, last, lower, step, self.domain.kind, self.domain.zoned)
        _indexes(self.edges, grid, self.column)

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Edges are of the column's kind, and lie on its grid."""
        _indexes(self.edges, grid, self.column)

    def points(self, grid: Grid) -> Indexes:
        """The grid indexes below which cells are counted: nothing lies beyond a closed bin."""
        indexes = _indexes(self.edges, grid, self.column)
        if self._is_closed:
            indexes = indexes[:-1]
        return np.array(indexes, dtype=np.int64)

    def draw_all(
        self, counted: PointCounts, grid: Grid | None, terms: Terms, coins: Coins
    ) -> list[Answer]:
        """One draw of noise a bin; there is no negative number of cells."""
        assert grid is not None
        below = counted.below(self.points(grid)).tolist()
        if self._is_closed:
            below.append(counted.n)
        noise = self._noise(terms)
        bars = []
        for number, (before, after) in enumerate(pairwise(below)):
            cells = after - before + drawn_noise(noise, coins)
            drawn = Noisy(cells, Fraction(1), noise, negative=False)
            answer = released(self.title, drawn, terms, coins)
            bars.append(replace(answer, bin=self._bin(number)))
        return bars

    def _bin(self, number: int) -> Bin:
        is_last = number == len(self.edges) - 2
        low, high = self.edges[number : number + 2]
        return Bin(low, high, number, closed=is_last and self._is_closed)

    def cost(self, terms: Terms) -> Cost:
        """That of one draw: bins share it."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """It reaches as far as the noise, in each bin, whatever the number of rows."""
        reach = self._noise(terms).reach(terms.beta)
        return Reach(EACH, Fraction(reach), float(terms.confidence))

    def _noise(self, terms: Terms) -> Noise:
        """That of numbers of rows of so many groups: the bins of each are groups themselves."""
        disjoint = terms.groups * (len(self.edges) - 1)
        moved = moved_rows(terms.protect, disjoint)
        return noise_of(terms, moved, moved_rows_squared(terms.protect, disjoint))


def _text(edge: Point) -> str:
    """An edge as texts and names have it."""
    if isinstance(edge, date):
        return edge.isoformat()
    if isinstance(edge, Decimal):
        return format(edge, "f")
    return str(edge)


def _position(edge: Point, kind: Kind) -> Fraction:
    """An edge as a number on a grid of this kind: a day among timestamps is its midnight."""
    if kind == "timestamp" and not isinstance(edge, datetime) and isinstance(edge, date):
        return position(datetime.combine(edge, time()))
    return position(edge)


@lru_cache(maxsize=64)
def _indexes(edges: tuple[Point, ...], grid: Grid, column: str | None) -> tuple[int, ...]:
    """The grid index of each edge, which all groups share; InputError if one has none."""
    return tuple(_index(edge, grid, column) for edge in edges)


def _index(edge: Point, grid: Grid, column: str | None) -> int:
    """The grid index of an edge, or InputError that says which edge would have one."""
    of = "a histogram" if column is None else f"a histogram of {column!r}"
    _check_kind(edge, grid, of)
    place = (_position(edge, grid.kind) - grid.base) / grid.step
    if not grid.first <= place <= grid.last:
        ends = f"{spoken(grid.value(grid.first))} to {spoken(grid.value(grid.last))}"
        raise InputError(
            f"the edges of {of} must lie on its domain, {ends}, got {spoken(edge)}; cells beyond "
            "the domain are counted at its ends"
        )
    if place.denominator != 1:
        nearest = " or ".join(spoken(grid.value(end(place))) for end in (floor, ceil))
        raise InputError(
            f"the edges of {of} must lie on the steps of its domain, got {spoken(edge)}; take "
            f"{nearest}"
        )
    return int(place)


def _check_kind(edge: Point, grid: Grid, of: str) -> None:
    """InputError if the edge is not of the grid's kind. A day is the midnight that it begins with,
    where no time zone says which.
    """
    kind = kind_of(edge)
    is_midnight = kind == "date" and grid.kind == "timestamp" and not grid.zoned
    if kind != grid.kind and not is_midnight:
        example = EXAMPLES[grid.kind]
        raise InputError(
            f"the edges of {of} must be {grid.kind}s, such as {example}, got {spoken(edge)}"
        )
    if isinstance(edge, datetime) and (edge.tzinfo is not None) != grid.zoned:
        has, hint = ("no", "leave it out of the edges")
        if grid.zoned:
            has, hint = ("a", "write it, such as 2024-01-31T12:00+00:00")
        raise InputError(f"the timestamps of {of} have {has} time zone, so {hint}")


def check_edges(edges: object) -> tuple[Point, ...]:
    """The edges of bins: at least two, ascending, of one kind."""
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise InputError(f"edges must be a list, such as [0, 10, 100], got {shown(edges)}")
    found = [_edge(edge) for edge in islice(edges, MOST_EDGES + 1)]
    if len(found) > MOST_EDGES:
        raise InputError(f"a histogram has at most {MOST_EDGES:,} edges, got more; take fewer bins")
    if len(found) < 2:
        raise InputError(
            "a histogram needs at least two edges, such as [0, 10, 100], got "
            f"{', '.join(map(spoken, found)) or 'none'}"
        )
    _check_ascending(found)
    return tuple(found)


def _edge(edge: Any) -> Point:
    try:
        return read_point(edge, "an edge")
    except InputError:
        raise InputError(
            "an edge of a histogram must be a decimal number, or a date such as '2024-01-31', got "
            f"{shown(edge)}"
        ) from None


def _check_ascending(edges: Sequence[Point]) -> None:
    for one, other in pairwise(edges):
        if kind_of(one) != kind_of(other):
            raise InputError(
                f"the edges of a histogram must be of one kind, got {spoken(one)} and "
                f"{spoken(other)}"
            )
        if position(one) == position(other):
            raise InputError(
                f"the edges of a histogram must differ, got {spoken(one)} twice; leave one out"
            )
        if position(one) > position(other):
            raise InputError(
                f"the edges of a histogram must ascend, got {spoken(other)} after {spoken(one)}; "
                "put them in order"
            )


def histogram(column: str, edges: Sequence[Any], *, domain: Domain | None = None) -> Histogram:
    """How many cells of a column lie from each edge to below the next.

    >>> histogram("fare", [0, 10, 100]).edges
    (0, 10, 100)
    """
    return Histogram(check_column(column), check_domain(domain), check_edges(edges))


register_words("histogram", explanation=EXPLANATION)
register(
    Form(
        name="histogram",
        make=histogram,
        meaning="How many values lie between each two of some edges: a bar for each bin.",
        parameters=(
            Parameter("column", "column", fits="ordered"),
            Parameter("edges", "edges", meaning="Edges of the bins, such as 0, 10, 100"),
        ),
        sql=("HISTOGRAM",),
        sql_usage="HISTOGRAM(x, 0, 10, 100): a column and two edges or more",
        examples=("histogram(x, 0, 10, 100)",),
        family="everyday",
        place=6,
    )
)
