"""A scan of many groups as one statement, guided by a sample: all cells are counted at one point of
each group, and few are looked at.

How many rows lie between that point and the window is then known, and the sample's cells tell how
far that reaches. The second pass takes the cells from the point to there, some hundreds of each
group. For a database that reads one snapshot in a statement: DuckDB, with its own tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from postri.engines.aims import SPARE, outward, shares_below, sides
from postri.engines.dialects.duckdb import DuckDialect, ListText
from postri.engines.reading import Raw
from postri.engines.sampled import Marked, Pick
from postri.engines.selected import named
from postri.engines.statements import COLUMNS, LEFT_TO_SUM, PADDING, Scan
from postri.window import Indexes

# A group misleads if it has so many times more rows than its cells in the sample tell, and a few.
MISLED, FEW = 4, 64
# A stretch is divided into so many buckets that what is left beyond the window should be a quarter
# of the window.
FEWEST_PARTS, MOST_PARTS = 8, 256
# Groups and buckets are told apart by one number, the fastest to count and to join by: the group
# times more than there are buckets.
CODES = 1024
DIALECT = DuckDialect()
CLAMPS = ("least", "most", "width")


def narrowed(scan: Scan) -> str:
    """Two passes, of one snapshot: the second takes the few cells of each group between which its
    window lies.
    """
    aims = [Aim(scan, i) for i in range(len(scan.targets))]
    columns = {"grp": DIALECT.list_of_integers(scan.groups)}
    for aim in aims:
        columns |= aim.columns
    steps = {
        "limits": f"SELECT * FROM {DIALECT.listed_columns(columns, 'limits')}",
        "scanned": _scanned(scan, aims),
    }
    parts = []
    for aim in aims:
        steps |= aim.steps
        parts += aim.parts
    return (
        f"WITH {', '.join(f'{name} AS MATERIALIZED ({step})' for name, step in steps.items())} "
        f"{' UNION ALL '.join(parts)}"
    )


def _scanned(scan: Scan, aims: list[Aim]) -> str:
    """For each group n, and how many cells lie below the point of each target."""
    counts = {
        "n": "count(*)",
        **{f"below{aim.i}": scan.dialect.count_of(f"cell < {aim.at}") for aim in aims},
    }
    if all(aim.common is not None for aim in aims):
        return (
            f"SELECT * FROM ({scan.selected.tallied(scan.relation, counts)}) AS tallied SEMI JOIN "
            "limits USING (grp)"
        )
    points = [aim.at for aim in aims if aim.common is None]
    return (
        f"SELECT grp, {named(counts)} FROM "
        f"{scan.selected.beside(scan.relation, 'limits', points)} GROUP BY grp"
    )


@dataclass(frozen=True)
class Aim:
    """One target of a scan: where its windows should lie, and the steps by which they are found."""

    scan: Scan
    i: int

    @cached_property
    def _brackets(self) -> list[Marked | None]:
        """The bracket of each group; None where this target is not wanted."""
        found = [self.scan.brackets[self.i].get(group) for group in self.scan.groups]
        return [bracket if isinstance(bracket, Marked) else None for bracket in found]

    @cached_property
    def _pick(self) -> Pick:
        return next(bracket.pick for bracket in self._brackets if bracket)

    @cached_property
    def _lows(self) -> Indexes:
        return self._marks(
            [bracket.lows if bracket else None for bracket in self._brackets],
            self.scan.reading.grid.first,
        )

    @cached_property
    def _highs(self) -> Indexes:
        return self._marks(
            [bracket.highs if bracket else None for bracket in self._brackets],
            self.scan.reading.grid.last,
        )

    def _marks(self, found: list[tuple[int, ...] | None], end: int) -> Indexes:
        return np.array([marks or (end,) * len(self._pick.spares) for marks in found], np.int64)

    @cached_property
    def common(self) -> int | None:
        """An index between the marks of all groups, where there is one and it saves the join of all
        rows; each has its own otherwise.
        """
        brackets, (low, high) = [bracket for bracket in self._brackets if bracket], self._between
        if (
            low > high
            or not self.scan.selected.dense
            or 2 * len(brackets) < self.scan.selected.rows.number
        ):
            return None
        return min(
            max(
                int(np.median([bracket.lows[0] for bracket in brackets if bracket.size] or [low])),
                low,
            ),
            high,
        )

    @property
    def _between(self) -> tuple[int, int]:
        """The indexes between the marks of all groups."""
        grid, (least, most) = self.scan.reading.grid, self._known
        known = least <= most
        return int(least[known].max(initial=grid.first)), int(most[known].min(initial=grid.last))

    @cached_property
    def _known(self) -> tuple[Indexes, Indexes]:
        """The least and the largest mark of each group.

        An end of the grid is no mark: from there nobody knows how far the window is.
        """
        grid, marks = self.scan.reading.grid, np.hstack((self._lows, self._highs))
        least = np.where(marks > grid.first, marks, grid.last).min(axis=1)
        return least, np.where(marks < grid.last, marks, grid.first).max(axis=1)

    @property
    def _points(self) -> Indexes:
        """The index at which each group is counted."""
        return self._lows[:, 0] if self.common is None else np.full(len(self._lows), self.common)

    @property
    def at(self) -> str:
        """The least cell of the index at which a group is counted."""
        return (
            f"at{self.i}"
            if self.common is None
            else self.scan.ends_of.literal(self.scan.ends_of.first(self.common))
        )

    @property
    def _before(self) -> str:
        """The largest cell below it."""
        return (
            f"before{self.i}"
            if self.common is None
            else self.scan.ends_of.literal(self.scan.ends_of.before(self.common))
        )

    @property
    def columns(self) -> dict[str, ListText]:
        """What differs by group: its cells in the sample, which shares of them may lie below the
        point, the marks, and the point.
        """
        i, ends, doubles = self.i, self.scan.ends_of, DIALECT.list_of_doubles
        least, most = shares_below(self._pick, self._lows, self._highs, self._points)
        # A target that is not wanted in a group has fewer cells than any sample.
        sizes = [bracket.size if bracket else -(2**60) for bracket in self._brackets]
        columns = {
            **{
                f"size{i}": DIALECT.list_of_integers(sizes),
                f"origin{i}": _shares(least),
                f"reached{i}": _shares(most),
            },
            **{
                f"lows{i}": self._list(_differing(self._lows), ends.first),
                f"highs{i}": self._list(_differing(self._highs), ends.last),
            },
        }
        if self.common is None:
            columns |= {
                f"at{i}": self._list(self._points, ends.first),
                f"before{i}": self._list(self._points, ends.before),
            }
        raws = [(ends.first(low), ends.last(high)) for low, high in self._outermost]
        clamps = [
            (float(low), float(high), 1.0) if ends.single else ends.clamps(low, high)
            for low, high in raws
        ]
        return columns | {
            f"{name}{i}": doubles(each)
            for name, each in zip(CLAMPS, zip(*clamps, strict=True), strict=True)
        }

    @property
    def _outermost(self) -> list[tuple[int, int]]:
        """The outermost cells of each group's sample between which buckets are divided; an end of
        the grid is none of them.
        """
        least, most = self._known
        none = least > most
        least, most = (
            np.where(none, self.scan.reading.grid.first, least),
            np.where(none, self.scan.reading.grid.last, most),
        )
        return list(zip(least.tolist(), most.tolist(), strict=True))

    def _list(self, indexes: Indexes, cell: Callable[[int], Raw]) -> ListText:
        """For each group the cell of its index, or the list of those of its indexes."""
        ends, shift, each = self.scan.ends_of, self.scan.reading.shift, indexes.ravel().tolist()
        length = indexes.shape[1] if indexes.ndim > 1 else 0
        if (
            shift is None
            or not ends.single
            or self.scan.selected.cells.literal is not None
            or indexes.ndim == 1
        ):
            return DIALECT.list_of_literals([ends.literal(cell(index)) for index in each], length)
        return DIALECT.list_of_integers(
            [index + shift for index in each], length, unsigned=ends.unsigned
        )

    @property
    def steps(self) -> dict[str, str]:
        """From the counts at the points to the cells near the target, and the rows under them:
        nothing is sorted.
        """
        i, dialect, (low, high) = (
            self.i,
            self.scan.dialect,
            sides(self._pick.target, self.scan.dialect),
        )
        numbers = f"SELECT code, count(*) AS number FROM gathered{i} GROUP BY code"
        counts = (
            f"SELECT code // {CODES} AS grp, code % {CODES} AS bucket, code, number FROM "
            f"({numbers}) AS numbers"
        )
        upto = "sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING)"
        left = "sum(CASE WHEN bucket % 2 = 0 THEN number ELSE 0 END) OVER (PARTITION BY grp)"
        return {
            f"stretches{i}": self._stretches,
            f"gathered{i}": self._gathered,
            f"buckets{i}": (
                f"SELECT grp, n, code, bucket, number, below + {upto} - {left} AS upto "
                f"FROM ({counts}) AS counts JOIN stretches{i} USING (grp)"
            ),
            f"chosen{i}": (
                f"SELECT grp, min(CASE WHEN upto >= {low} THEN bucket END) - {self._padding} "
                "AS first_bucket, "
                f"max(CASE WHEN upto - number <= {high} THEN bucket END) + {self._padding} AS "
                "last_bucket "
                f"FROM buckets{i} GROUP BY grp"
            ),
            f"unders{i}": (
                "SELECT grp, any_value(n) AS n, "
                f"{dialect.integer('min(upto - number)', unsigned=False)} AS under, "
                f"sum(CASE WHEN bucket <= last_bucket THEN number END) AS near "
                f"FROM buckets{i} JOIN chosen{i} USING (grp) WHERE bucket >= first_bucket "
                "GROUP BY grp"
            ),
            f"counted{i}": self._counted,
        }

    @property
    def _padding(self) -> int:
        """By how many buckets a window is widened: an index lies in one where it is one cell, else
        in two of a side at most.
        """
        return 0 if self.scan.ends_of.single else 2 * PADDING

    @property
    def parts(self) -> list[str]:
        """The rows that return: the counts by key, and for each group n and the rows under its
        first key.

        Ranking takes time. Where the buckets leave few rows beyond the window, all their keys
        return, and are ranked afterwards.
        """
        i, keys, few = self.i, self.scan.keys, 5 * self._reach
        values = {
            "target": f"{i} AS target",
            "held": f"{LEFT_TO_SUM} AS held",
            "upto": "0 AS upto",
            "n": "0 AS n",
        }
        select = ", ".join(values.get(name, name) for name in COLUMNS.split(", "))
        return [
            (
                f"SELECT {select} FROM counted{i} SEMI JOIN (FROM unders{i} WHERE near <= {few}) "
                "AS few USING (grp)"
            ),
            self.scan.window(
                i, f"counted{i} JOIN (FROM unders{i} WHERE near > {few}) AS many USING (grp)"
            ),
            f"SELECT grp, {i}, 0, {keys.zero}, {keys.no_doubt}, 0, coalesce(under, 0), scanned.n "
            f"FROM scanned LEFT JOIN unders{i} USING (grp)",
        ]

    @property
    def _stretches(self) -> str:
        """From which cell to which one the window of each group should lie; the point is always
        between them.
        """
        i, double = self.i, self.scan.dialect.double
        spares = DIALECT.list_of_doubles(self._pick.spares)

        def mark(marks: str, side: str) -> str:
            passed = f"len(list_filter({spares.text}::{spares.type}, lambda spare: spare < {side}))"
            return f"{marks}{i}[least({passed} + 1, len({marks}{i}))]"

        down, up = outward(
            self._pick.target, self.scan.dialect, (f"origin{i}", f"reached{i}"), "size"
        )
        sampled = (
            f"SELECT *, below{i} AS below, greatest(size{i}, 1) AS size FROM scanned JOIN limits "
            "USING (grp)"
        )
        honest = f"n * {double(self._pick.share)} <= {MISLED} * size{i} + {FEW}"
        aimed = f"SELECT *, {down} AS down, {up} AS up FROM ({sampled}) AS sampled WHERE {honest}"
        clamps = "".join(f", {name}{i} AS {name}" for name in CLAMPS)
        # Where the window lies on one side of the point, so do all its cells.
        low, high = sides(self._pick.target, self.scan.dialect)
        first = (
            f"CASE WHEN below < {low} THEN {self.at} ELSE least({self.at}, "
            f"{mark('lows', 'down')}) END"
        )
        last = (
            f"CASE WHEN below > {high} THEN {self._before} ELSE greatest({self._before}, "
            f"{mark('highs', 'up')}) END"
        )
        stretches = (
            f"SELECT grp, n, below, {self.at} AS point, {first} AS first, {last} AS last{clamps} "
            f"FROM ({aimed}) AS aimed"
        )
        start, end = (self._spot(self.scan.selected.raw(cell)) for cell in ("first", "last"))
        width = f"greatest(({end} - {start}) / {self._parts}, width)"
        return (
            f"SELECT *, {start} AS start, {width} AS bucket_width FROM ({stretches}) AS stretches"
        )

    @property
    def _gathered(self) -> str:
        """The cells of each stretch, in some dozens of buckets, whose numbers are even below the
        point and odd from it on.
        """
        scan, ends, raw = self.scan, self.scan.ends_of, self.scan.selected.raw("cell")
        columns = ["point", "first", "last", "start", "bucket_width", "least", "most"]
        cells = scan.selected.beside(scan.relation, f"stretches{self.i}", columns)
        part = f"CAST(floor(({self._spot('raw')} - start) / bucket_width) AS INTEGER)"
        bucket = f"2 * {part} + CASE WHEN cell < point THEN 0 ELSE 1 END"
        # The ends of all stretches, as literals, keep most rows from the join.
        least, most = (
            ends.literal(end)
            for end in (ends.first(int(self._lows.min())), ends.last(int(self._highs.max())))
        )
        raws = (
            f"SELECT *, {raw} AS raw FROM {cells} WHERE cell >= first AND cell <= last AND cell "
            f">= {least} AND cell <= {most}"
        )
        return f"SELECT grp * {CODES} + {bucket} AS code, raw FROM ({raws}) AS raws"

    @property
    def _counted(self) -> str:
        """The keys of the cells near the target, and how many cells have each."""
        i, keys = self.i, self.scan.keys
        codes = (
            f"SELECT grp, code FROM buckets{i} JOIN chosen{i} USING (grp) WHERE bucket >= "
            "first_bucket AND bucket <= last_bucket"
        )
        near = f"SELECT grp, raw FROM gathered{i} JOIN ({codes}) AS codes USING (code)"
        keyed = f"SELECT grp, {keys.key} AS place, {keys.doubt} AS doubt FROM ({near}) AS near"
        doubt, by = (
            ("doubt", ", doubt")
            if keys.doubt != keys.no_doubt
            else (f"{keys.no_doubt} AS doubt", "")
        )
        return (
            f"SELECT grp, place, {doubt}, count(*) AS number FROM ({keyed}) AS keyed GROUP BY "
            f"grp, place{by}"
        )

    @property
    def _reach(self) -> int:
        return self._pick.target.half + SPARE

    @property
    def _parts(self) -> int:
        """Into how many buckets a stretch is divided."""
        pick, sizes = self._pick, [bracket.size for bracket in self._brackets if bracket]
        rows = sum(sizes) / len(sizes) / pick.share
        stretch = 2 * self._reach + 2.5 * pick.error(rows) / sqrt(pick.share)
        return min(max(ceil(4 * stretch / self._reach), FEWEST_PARTS), MOST_PARTS)

    def _spot(self, raw: str) -> str:
        """Where among the buckets a cell lies: beyond the sample's outermost cells all are alike."""
        return f"least(greatest({self.scan.dialect.as_double(raw)}, least), most)"


def _differing(marks: Indexes) -> Indexes:
    """The marks up to the last that differs from the one before, in any group."""
    return marks[:, : 2 + int(np.flatnonzero(np.diff(marks, axis=1).any(axis=0)).max(initial=-1))]


def _shares(shares: NDArray[np.float64]) -> ListText:
    """Shares of a sample, as precise as any sample is."""
    return DIALECT.list_of_doubles(shares.round(6).tolist())
