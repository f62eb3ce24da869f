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

from postri.engines.duckdb.dialect import DuckDialect, ListText
from postri.engines.reading import Raw
from postri.engines.sql.dialect import filled
from postri.engines.sql.row_source import named
from postri.engines.sql.sampling import (
    SPARE,
    SampledBracket,
    SampleRanks,
    shares_below,
    window_distances,
    window_ranks,
)
from postri.engines.sql.statements import LEFT_TO_SUM, PADDING, Scan, with_steps
from postri.window import Indexes

# A group misleads if it has this many times more rows than its cells in the sample tell, and a few.
MISLED = 4
FEW = 64
# A stretch is divided into so many buckets that what is left beyond the window should be a quarter
# of the window.
FEWEST_PARTS = 8
MOST_PARTS = 256
# Groups and buckets are told apart by one number, the fastest to count and to join by: the group
# times more than there are buckets.
CODES = 1024
# Fewer cells than any sample has: the size of one in which a target is not wanted.
NOT_WANTED = -(2**60)
DIALECT = DuckDialect()
CLAMPS = ("least", "most", "width")
# What a row needs to know of the stretch of its group.
OF_STRETCH = ("point", "first", "last", "start", "bucket_width", "least", "most")

LIMITS = """
    SELECT *
    FROM {lists}
"""
# For each group n, and how many cells lie below the point of each target: by keys that are dense,
# or by a join of all rows.
SCANNED_BY_KEY = """
    SELECT *
    FROM ({tallied}) AS tallied
        SEMI JOIN limits USING (grp)
"""
SCANNED_BY_JOIN = """
    SELECT grp, {counts}
    FROM {cells}
    GROUP BY grp
"""
# From which cell to which one the window of each group should lie; the point is always between
# them. Groups that mislead are left out.
STRETCHES = """
    SELECT *, {start} AS start, greatest(({end} - {start}) / {parts}, width) AS bucket_width
    FROM (
        SELECT grp, n, below, {point} AS point, {first} AS first, {last} AS last{clamps}
        FROM (
            SELECT *, {down} AS down, {up} AS up
            FROM (
                SELECT *, below{i} AS below, greatest(size{i}, 1) AS size
                FROM scanned
                    JOIN limits USING (grp)
            ) AS sampled
            WHERE n * {share} <= {misled} * size{i} + {few}
        ) AS aimed
    ) AS stretches
"""
# Where the window lies on one side of the point, so do all its cells.
FIRST_CELL = "CASE WHEN below < {low} THEN {point} ELSE least({point}, {mark}) END"
LAST_CELL = "CASE WHEN below > {high} THEN {before} ELSE greatest({before}, {mark}) END"
MARK = """
    {marks}[least(
        len(list_filter({spares}, lambda spare: spare < {distance})) + 1,
        len({marks})
    )]
"""
# The cells of each stretch, in some dozens of buckets, whose numbers are even below the point and
# odd from it on. The ends of all stretches, as literals, keep most rows from the join.
GATHERED = """
    SELECT grp * {codes} + {bucket} AS code, raw
    FROM (
        SELECT *, {raw} AS raw
        FROM {cells}
        WHERE cell >= first AND cell <= last AND cell >= {least} AND cell <= {most}
    ) AS raws
"""
BUCKET = """
    2 * CAST(floor(({spot} - start) / bucket_width) AS INTEGER)
    + CASE WHEN cell < point THEN 0 ELSE 1 END
"""
BUCKETS = """
    SELECT grp, n, code, bucket, number, below + {upto} - {left_of_point} AS upto
    FROM (
        SELECT code // {codes} AS grp, code % {codes} AS bucket, code, number
        FROM (
            SELECT code, count(*) AS number
            FROM gathered{i}
            GROUP BY code
        ) AS numbers
    ) AS counts
        JOIN stretches{i} USING (grp)
"""
ROWS_UPTO_BUCKET = """
    sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING)
"""
ROWS_LEFT_OF_POINT = """
    sum(CASE WHEN bucket % 2 = 0 THEN number ELSE 0 END) OVER (PARTITION BY grp)
"""
CHOSEN_BUCKETS = """
    SELECT
        grp,
        min(CASE WHEN upto >= {low} THEN bucket END) - {padding} AS first_bucket,
        max(CASE WHEN upto - number <= {high} THEN bucket END) + {padding} AS last_bucket
    FROM buckets{i}
    GROUP BY grp
"""
ROWS_UNDER = """
    SELECT
        grp,
        any_value(n) AS n,
        {under} AS under,
        sum(CASE WHEN bucket <= last_bucket THEN number END) AS near
    FROM buckets{i}
        JOIN chosen{i} USING (grp)
    WHERE bucket >= first_bucket
    GROUP BY grp
"""
# The keys of the cells near the target, and how many cells have each.
COUNTED = """
    SELECT grp, place, {doubt_counted}, count(*) AS number
    FROM (
        SELECT grp, {key} AS place, {doubt} AS doubt
        FROM (
            SELECT grp, raw
            FROM gathered{i}
                JOIN (
                    SELECT grp, code
                    FROM buckets{i}
                        JOIN chosen{i} USING (grp)
                    WHERE bucket >= first_bucket AND bucket <= last_bucket
                ) AS codes USING (code)
        ) AS near
    ) AS keyed
    GROUP BY grp, place{by_doubt}
"""
# Of groups with few rows near the target all keys return, and are ranked afterwards.
ALL_KEYS_OF_FEW = """
    SELECT
        grp, {i} AS target, {left_to_sum} AS held, place, doubt, number, 0 AS upto, 0 AS n
    FROM counted{i}
        SEMI JOIN (FROM unders{i} WHERE near <= {few}) AS few USING (grp)
"""
KEYS_OF_MANY = """
    counted{i} JOIN (FROM unders{i} WHERE near > {few}) AS many USING (grp)
"""
GROUP_TOTALS = """
    SELECT grp, {i}, 0, {zero}, {no_doubt}, 0, coalesce(under, 0), scanned.n
    FROM scanned
        LEFT JOIN unders{i} USING (grp)
"""


def guided(scan: Scan) -> str:
    """Two passes, of one snapshot: the second takes the few cells of each group between which its
    window lies.
    """
    targets = [GuidedTarget(scan, i) for i in range(len(scan.targets))]
    columns = {"grp": DIALECT.list_of_integers(scan.groups)}
    for target in targets:
        columns |= target.columns
    steps = {
        "limits": filled(LIMITS, lists=DIALECT.listed_columns(columns, "limits")),
        "scanned": _scanned(scan, targets),
    }
    parts = []
    for target in targets:
        steps |= target.steps
        parts += target.parts
    return with_steps(steps, parts)


def _scanned(scan: Scan, targets: list[GuidedTarget]) -> str:
    counts = {"n": "count(*)"}
    for target in targets:
        counts[f"below{target.i}"] = scan.dialect.count_of(f"cell < {target.point}")
    points = [target.point for target in targets if target.common_point is None]
    if not points:
        return filled(SCANNED_BY_KEY, tallied=scan.row_source.tallied(scan.relation, counts))
    beside = scan.row_source.groups_beside("limits", points)
    cells = scan.row_source.cells_beside(scan.relation, f"({beside})", points)
    return filled(SCANNED_BY_JOIN, counts=named(counts), cells=cells)


@dataclass(frozen=True)
class GuidedTarget:
    """One target of a scan: where its windows should lie, and the steps by which they are found."""

    scan: Scan
    i: int

    @cached_property
    def _brackets(self) -> list[SampledBracket | None]:
        """The bracket of each group; None where this target is not wanted."""
        found = [self.scan.brackets[self.i].get(group) for group in self.scan.groups]
        return [bracket if isinstance(bracket, SampledBracket) else None for bracket in found]

    @cached_property
    def _wanted_brackets(self) -> list[SampledBracket]:
        return [bracket for bracket in self._brackets if bracket is not None]

    @cached_property
    def _ranks(self) -> SampleRanks:
        return self._wanted_brackets[0].ranks

    @cached_property
    def _lows(self) -> Indexes:
        end = (self.scan.reading.grid.first,) * len(self._ranks.spares)
        return np.array([each.lows if each else end for each in self._brackets], np.int64)

    @cached_property
    def _highs(self) -> Indexes:
        end = (self.scan.reading.grid.last,) * len(self._ranks.spares)
        return np.array([each.highs if each else end for each in self._brackets], np.int64)

    @cached_property
    def common_point(self) -> int | None:
        """An index between the marks of all groups, where there is one and it saves the join of all
        rows; each has its own otherwise.
        """
        row_source = self.scan.row_source
        low, high = self._between_all_marks
        if low > high or not row_source.dense:
            return None
        if 2 * len(self._wanted_brackets) < row_source.rows.number:
            return None
        lows = [bracket.lows[0] for bracket in self._wanted_brackets if bracket.size]
        return min(max(int(np.median(lows or [low])), low), high)

    @property
    def _between_all_marks(self) -> tuple[int, int]:
        """The indexes between the marks of all groups."""
        grid = self.scan.reading.grid
        least, most = self._outer_marks
        known = least <= most
        return int(least[known].max(initial=grid.first)), int(most[known].min(initial=grid.last))

    @cached_property
    def _outer_marks(self) -> tuple[Indexes, Indexes]:
        """The least and the largest mark of each group.

        An end of the grid is no mark: from there nobody knows how far the window is.
        """
        grid = self.scan.reading.grid
        marks = np.hstack((self._lows, self._highs))
        least = np.where(marks > grid.first, marks, grid.last).min(axis=1)
        most = np.where(marks < grid.last, marks, grid.first).max(axis=1)
        return least, most

    @property
    def _points(self) -> Indexes:
        """The index at which each group is counted."""
        if self.common_point is None:
            return self._lows[:, 0]
        return np.full(len(self._lows), self.common_point)

    @property
    def point(self) -> str:
        """The least cell of the index at which a group is counted."""
        if self.common_point is None:
            return f"at{self.i}"
        ends = self.scan.bracket_ends
        return ends.literal(ends.first(self.common_point))

    @property
    def _before_point(self) -> str:
        """The largest cell below it."""
        if self.common_point is None:
            return f"before{self.i}"
        ends = self.scan.bracket_ends
        return ends.literal(ends.before(self.common_point))

    @property
    def columns(self) -> dict[str, ListText]:
        """What differs by group: its cells in the sample, which shares of them may lie below the
        point, the marks, and the point.
        """
        i = self.i
        ends = self.scan.bracket_ends
        least, most = shares_below(self._ranks, self._lows, self._highs, self._points)
        sizes = [bracket.size if bracket else NOT_WANTED for bracket in self._brackets]
        columns = {
            f"size{i}": DIALECT.list_of_integers(sizes),
            f"origin{i}": _shares(least),
            f"reached{i}": _shares(most),
            f"lows{i}": self._list(_differing(self._lows), ends.first),
            f"highs{i}": self._list(_differing(self._highs), ends.last),
        }
        if self.common_point is None:
            columns[f"at{i}"] = self._list(self._points, ends.first)
            columns[f"before{i}"] = self._list(self._points, ends.before)
        clamps = [self._clamps(low, high) for low, high in self._outermost]
        for name, each in zip(CLAMPS, zip(*clamps, strict=True), strict=True):
            columns[f"{name}{i}"] = DIALECT.list_of_doubles(each)
        return columns

    def _clamps(self, low: int, high: int) -> tuple[float, float, float]:
        ends = self.scan.bracket_ends
        first = ends.first(low)
        last = ends.last(high)
        if ends.single:
            return float(first), float(last), 1.0
        return ends.clamps(first, last)

    @property
    def _outermost(self) -> list[tuple[int, int]]:
        """The outermost cells of each group's sample between which buckets are divided; an end of
        the grid is none of them.
        """
        grid = self.scan.reading.grid
        least, most = self._outer_marks
        none = least > most
        least = np.where(none, grid.first, least)
        most = np.where(none, grid.last, most)
        return list(zip(least.tolist(), most.tolist(), strict=True))

    def _list(self, indexes: Indexes, cell: Callable[[int], Raw]) -> ListText:
        """For each group the cell of its index, or the list of those of its indexes."""
        ends = self.scan.bracket_ends
        shift = self.scan.reading.shift
        each = indexes.ravel().tolist()
        if indexes.ndim == 1:
            return DIALECT.list_of_literals([ends.literal(cell(index)) for index in each])
        length = indexes.shape[1]
        has_own_literals = self.scan.row_source.cells.literal is not None
        if shift is None or not ends.single or has_own_literals:
            return DIALECT.list_of_literals([ends.literal(cell(index)) for index in each], length)
        cells = [index + shift for index in each]
        return DIALECT.list_of_integers(cells, length, unsigned=ends.unsigned)

    @property
    def steps(self) -> dict[str, str]:
        """From the counts at the points to the cells near the target, and the rows under them:
        nothing is sorted.
        """
        i = self.i
        dialect = self.scan.dialect
        low, high = window_ranks(self._ranks.target, dialect)
        return {
            f"stretches{i}": self._stretches,
            # A step of its own, so that rows are joined with it once, and not with keys before.
            f"beside{i}": self.scan.row_source.groups_beside(f"stretches{i}", OF_STRETCH),
            f"gathered{i}": self._gathered,
            f"buckets{i}": filled(
                BUCKETS,
                upto=filled(ROWS_UPTO_BUCKET),
                left_of_point=filled(ROWS_LEFT_OF_POINT),
                codes=CODES,
                i=i,
            ),
            f"chosen{i}": filled(CHOSEN_BUCKETS, low=low, high=high, padding=self._padding, i=i),
            f"unders{i}": filled(
                ROWS_UNDER, under=dialect.integer("min(upto - number)", unsigned=False), i=i
            ),
            f"counted{i}": self._counted,
        }

    @property
    def _padding(self) -> int:
        """By how many buckets a window is widened: an index lies in one where it is one cell, else
        in two of a side at most.
        """
        return 0 if self.scan.bracket_ends.single else 2 * PADDING

    @property
    def parts(self) -> list[str]:
        """The rows that return: the counts by key, and for each group n and the rows under its
        first key.

        Ranking takes time. Where the buckets leave few rows beyond the window, all their keys
        return, and are ranked afterwards.
        """
        i = self.i
        keys = self.scan.keys
        few = 5 * self._reach
        return [
            filled(ALL_KEYS_OF_FEW, i=i, left_to_sum=LEFT_TO_SUM, few=few),
            self.scan.window(i, filled(KEYS_OF_MANY, i=i, few=few)),
            filled(GROUP_TOTALS, i=i, zero=keys.zero, no_doubt=keys.no_doubt),
        ]

    @property
    def _stretches(self) -> str:
        i = self.i
        dialect = self.scan.dialect
        target = self._ranks.target
        low, high = window_ranks(target, dialect)
        down, up = window_distances(target, dialect, (f"origin{i}", f"reached{i}"), "size")
        raw = self.scan.row_source.raw
        first_mark = self._mark("lows", "down")
        last_mark = self._mark("highs", "up")
        return filled(
            STRETCHES,
            start=self._spot(raw("first")),
            end=self._spot(raw("last")),
            parts=self._parts,
            point=self.point,
            first=filled(FIRST_CELL, low=low, point=self.point, mark=first_mark),
            last=filled(LAST_CELL, high=high, before=self._before_point, mark=last_mark),
            clamps="".join(f", {name}{i} AS {name}" for name in CLAMPS),
            down=down,
            up=up,
            share=dialect.double(self._ranks.share),
            misled=MISLED,
            few=FEW,
            i=i,
        )

    def _mark(self, marks: str, distance: str) -> str:
        """The first mark of a group that lies as far from the target as its window may reach."""
        spares = DIALECT.list_of_doubles(self._ranks.spares)
        return filled(
            MARK,
            marks=f"{marks}{self.i}",
            spares=f"{spares.text}::{spares.type}",
            distance=distance,
        )

    @property
    def _gathered(self) -> str:
        scan = self.scan
        ends = scan.bracket_ends
        return filled(
            GATHERED,
            codes=CODES,
            bucket=filled(BUCKET, spot=self._spot("raw")),
            raw=scan.row_source.raw("cell"),
            cells=scan.row_source.cells_beside(scan.relation, f"beside{self.i}", OF_STRETCH),
            least=ends.literal(ends.first(int(self._lows.min()))),
            most=ends.literal(ends.last(int(self._highs.max()))),
        )

    @property
    def _counted(self) -> str:
        keys = self.scan.keys
        doubt_counted = "doubt"
        by_doubt = ", doubt"
        if keys.doubt == keys.no_doubt:
            doubt_counted = f"{keys.no_doubt} AS doubt"
            by_doubt = ""
        return filled(
            COUNTED,
            doubt_counted=doubt_counted,
            by_doubt=by_doubt,
            key=keys.key,
            doubt=keys.doubt,
            i=self.i,
        )

    @property
    def _reach(self) -> int:
        return self._ranks.target.half + SPARE

    @property
    def _parts(self) -> int:
        """Into how many buckets a stretch is divided."""
        sizes = [bracket.size for bracket in self._wanted_brackets]
        share = self._ranks.share
        rows = sum(sizes) / len(sizes) / share
        stretch = 2 * self._reach + 2.5 * self._ranks.error(rows) / sqrt(share)
        return min(max(ceil(4 * stretch / self._reach), FEWEST_PARTS), MOST_PARTS)

    def _spot(self, raw: str) -> str:
        """Where among the buckets a cell lies: beyond the sample's outer cells all are alike."""
        return f"least(greatest({self.scan.dialect.as_double(raw)}, least), most)"


def _differing(marks: Indexes) -> Indexes:
    """The marks up to the last that differs from the one before, in any group."""
    differing = np.flatnonzero(np.diff(marks, axis=1).any(axis=0))
    return marks[:, : 2 + int(differing.max(initial=-1))]


def _shares(shares: NDArray[np.float64]) -> ListText:
    """Shares of a sample, as precise as any sample is."""
    return DIALECT.list_of_doubles(shares.round(6).tolist())
