"""A scan of many groups as two statements, guided by a sample: the first counts all cells at one
point of each group, the second looks at few.

How many rows lie between that point and the window is known after the first, and the sample's cells
tell how far that reaches. The second takes the cells from the point to there, some hundreds of each
group: the ends of all these stretches, as literals, keep most rows from its join. For a database
whose statements read one snapshot: DuckDB, with its own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import Any

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
    even_cells,
    rows_to_spare,
    shares_below,
    window_ranks,
)
from postri.engines.sql.scan_result import ScanResult
from postri.engines.sql.statements import PADDING, Scan, with_steps
from postri.window import Indexes

Columns = Callable[[str], list[NDArray[Any]]]
Floats = NDArray[np.float64]

# A group misleads if it has this many times more rows than its cells in the sample tell, and a few.
MISLED = 4
FEW = 64
# A stretch is divided into so many buckets that what is left beyond the window should be a half of
# it.
FEWEST_PARTS = 8
MOST_PARTS = 256
# Groups and buckets are told apart by one number, the fastest to count and to join by: the group
# times more than there are buckets. Of fewer than this many, rows are counted in an array.
SHORT = 1 << 16
# An INTEGER is less than this.
SHORT_INTEGER = 1 << 31
# Cells return one by one, and are counted afterwards, where no more than so many of them should
# have one index: to count cells that are mostly distinct takes a database longer than to send them.
MOST_ALIKE = 1.5
DIALECT = DuckDialect()

LIMITS = """
    SELECT *
    FROM {lists}
"""
# For each group n, and how many cells lie below the point of each target: by keys that are dense,
# or by a join of all rows.
SCANNED_BY_JOIN = """
    SELECT grp, {counts}
    FROM {cells}
    GROUP BY grp
"""
# The cells of each stretch, in some dozens of buckets, whose numbers are even below the point and
# odd from it on.
# Truth values are compared for the reason that `DuckDialect.list_between` has: false is
# less than true.
GATHERED = """
    SELECT {code} AS code, raw
    FROM (
        SELECT *, {raw} AS raw
        FROM {cells}
        WHERE (cell < first) < (cell <= last) AND cell >= {least} AND cell <= {most}
    ) AS raws
"""
# No cell makes it fail, wherever a database computes it: what lies outside of the stretch, and is
# dropped, may be null.
CODE = """
    grp * {codes}
    + 2 * TRY_CAST(floor(({spot} - {start}) / {width}) AS SMALLINT)
    + CASE WHEN cell < {point} THEN 0 ELSE 1 END
"""
BUCKETS = """
    SELECT
        grp, n, {width} AS width, code, bucket, number, below + {upto} - {left_of_point} AS upto
    FROM (
        SELECT
            CAST(code // {codes} AS BIGINT) AS grp,
            CAST(code % {codes} AS INTEGER) AS bucket,
            code,
            number
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
# How many rows lie under the chosen buckets of a group, and whether those in them are few, and
# mostly distinct.
ROWS_UNDER = """
    SELECT
        grp,
        any_value(n) AS n,
        {under} AS under,
        sum(number) <= least(
            {few},
            {alike} * any_value(width) * ((max(bucket) - min(bucket)) // 2 + 1)
        ) AS is_few
    FROM buckets{i}
        JOIN chosen{i} USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
    GROUP BY grp
"""
# The codes of the chosen buckets.
NEAR = """
    SELECT grp, code, unders{i}.n, under, is_few
    FROM buckets{i}
        JOIN chosen{i} USING (grp)
        JOIN unders{i} USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
"""
# What returns has as few columns as can be: one of equal numbers takes as long as one of cells.
# Of groups with few rows near the target the cells return, uncounted.
CELLS_OF_FEW = """
    SELECT {run} AS run, {key} AS place{doubt}, -1 - under AS upto
    FROM gathered{i}
        JOIN (FROM near{i} WHERE is_few) AS few USING (code)
"""
# The keys of the others, and how many cells have each.
KEYS_OF_MANY = """
    (
        SELECT
            grp,
            any_value(n) AS n,
            any_value(under) AS under,
            place,
            {doubt_counted},
            count(*) AS number
        FROM (
            SELECT grp, n, under, {key} AS place, {doubt} AS doubt
            FROM gathered{i}
                JOIN (FROM near{i} WHERE NOT is_few) AS many USING (code)
        ) AS keyed
        GROUP BY grp, place{by_doubt}
    ) AS counted
"""
KEYS_IN_WINDOW = """
    SELECT {run} AS run, place{doubt}, upto
    FROM window{i}
"""
# How many rows lie under the first of these keys. Each has as many as there are more rows up to it
# than up to the one before.
UNDER_WINDOW = """
    SELECT {run} AS run, min(place) AS place{doubt}, min(upto - number) AS upto
    FROM window{i}
    GROUP BY grp
"""


def guided(scan: Scan, columns: Columns) -> ScanResult:
    """Two passes, of one snapshot: the second takes the few cells of each group between which its
    window lies.
    """
    targets = [GuidedTarget(scan, i) for i in range(len(scan.targets))]
    found, n, *below = columns(_at_points(scan, targets))
    places = np.searchsorted(scan.groups, found)
    wanted = np.array(scan.groups)[np.minimum(places, len(scan.groups) - 1)] == found
    totals = dict(zip(found[wanted].tolist(), n[wanted].tolist(), strict=True))
    steps: dict[str, str] = {}
    parts = []
    for target, of_target in zip(targets, below, strict=True):
        stretches = target.stretches(places[wanted], n[wanted], of_target[wanted])
        if len(stretches.groups):
            steps |= target.steps(stretches)
            parts += target.parts(stretches)
    if not parts:
        return ScanResult.nothing(totals)
    rows = columns(with_steps(steps, parts))
    return ScanResult.of_cells(rows, scan.keys, totals, len(targets))


def _at_points(scan: Scan, targets: list[GuidedTarget]) -> str:
    counts = {"n": "count(*)"}
    for target in targets:
        counts[f"below{target.i}"] = scan.dialect.count_of(f"cell < {target.point}")
    own = [target for target in targets if target.common_point is None]
    if not own:
        return scan.row_source.tallied(scan.relation, counts)
    columns = {"grp": DIALECT.list_of_integers(scan.groups)}
    for target in own:
        columns[target.point] = target.point_list
    points = [target.point for target in own]
    beside = scan.row_source.groups_beside("limits", points)
    cells = scan.row_source.cells_beside(scan.relation, f"({beside})", points)
    steps = {"limits": filled(LIMITS, lists=DIALECT.listed_columns(columns, "limits"))}
    return with_steps(steps, [filled(SCANNED_BY_JOIN, counts=named(counts), cells=cells)])


@dataclass(frozen=True)
class GroupStretches:
    """From which index to which one the window of each of these groups should lie; the point, below
    which `below` of its `n` rows lie, is always between them.
    """

    groups: Indexes
    n: Indexes
    below: Indexes
    points: Indexes
    firsts: Indexes
    lasts: Indexes


@dataclass(frozen=True)
class Buckets:
    """How the cells of each stretch are divided: from which one on, how wide each bucket is, and to
    which ends cells are clamped before, if any lies beyond them. There are `number` at most.
    """

    starts: Floats
    widths: Floats
    least: Floats
    most: Floats
    clamps: bool
    number: int

    @property
    def are_common(self) -> bool:
        """Whether all groups have the same."""
        return not self.clamps and all(
            each.min() == each.max() for each in (self.starts, self.widths)
        )


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

    @cached_property
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
    def point_list(self) -> ListText:
        """That of each group, where they differ."""
        return self._list(self.scan.bracket_ends.firsts(self._points))

    def stretches(self, places: Indexes, n: Indexes, below: Indexes) -> GroupStretches:
        """The stretches of groups at these places among those that are wanted, which have so many
        rows, and so many of them below their points. Groups that mislead are left out.
        """
        ranks = self._ranks
        found = [self._brackets[place] for place in places.tolist()]
        sizes = np.array([each.size if each else -1 for each in found], np.int64)
        led = (sizes >= 0) & (n * ranks.share <= MISLED * sizes + FEW)
        places, n, below, sizes = places[led], n[led], below[led], sizes[led]
        points = self._points[places]
        lows, highs = self._lows[places], self._highs[places]
        least, most = shares_below(ranks, lows, highs, points)

        p = float(ranks.target.p)
        # How far beyond the target, as shares of the sample, each window reaches down and up.
        first_ranks, last_ranks = p * n - self._reach, p * n + self._reach
        to_first, to_last = first_ranks - below, last_ranks - below
        down = p - least - to_first / n + rows_to_spare(to_first / n, sizes)
        up = most + to_last / n - p + rows_to_spare(to_last / n, sizes)
        # A few cells of a sample leave much open, unless all those of the bracket lie evenly.
        even = even_cells(ranks, sizes, lows, highs, self.scan.reading.grid)
        low_marks = _nearer(self._marks(lows, down), points, -1, even.reach(-to_first, n))
        high_marks = _nearer(self._marks(highs, up), points, 1, even.reach(to_last, n))
        # Where the window lies on one side of the point, so do all its cells.
        firsts = np.where(to_first > 0, points, np.minimum(points, low_marks))
        before = np.where(points > self.scan.reading.grid.first, points - 1, points)
        lasts = np.where(to_last < 0, before, np.maximum(before, high_marks))
        some = firsts <= lasts
        groups = np.array(self.scan.groups)[places]
        return GroupStretches(*(each[some] for each in (groups, n, below, points, firsts, lasts)))

    def _marks(self, marks: Indexes, distances: NDArray[np.float64]) -> Indexes:
        """The first mark of each group that lies as far from the target as its window may reach."""
        places = np.searchsorted(self._ranks.spares, distances)
        found: Indexes = marks[np.arange(len(marks)), np.minimum(places, marks.shape[1] - 1)]
        return found

    def buckets(self, stretches: GroupStretches) -> Buckets:
        """The same for all groups, where these are so much alike that few more are needed."""
        ends = self.scan.bracket_ends
        places = np.searchsorted(self.scan.groups, stretches.groups)
        outer_lows, outer_highs = (each[places] for each in self._outermost)
        grid = self.scan.reading.grid
        # The ends of the grid hold whatever lies beyond them.
        beyond = (stretches.firsts == grid.first) | (stretches.lasts == grid.last)
        beyond |= (stretches.firsts < outer_lows) | (stretches.lasts > outer_highs)
        firsts = np.array(ends.firsts(stretches.firsts), np.float64)
        lasts = np.array(ends.lasts(stretches.lasts), np.float64)
        least, most, narrowest = firsts, lasts, np.ones(len(places))
        if beyond.any() or not ends.single:
            clamps = [
                ends.clamps(ends.first(low), ends.last(high))
                for low, high in zip(outer_lows.tolist(), outer_highs.tolist(), strict=True)
            ]
            least, most, narrowest = np.array(clamps).T
        firsts = np.clip(firsts, least, most)
        lasts = np.clip(lasts, least, most)
        widths = np.maximum((lasts - firsts) / self._parts, narrowest)
        start = firsts.min()
        width = max(widths.min(), narrowest.max())
        number = int((lasts.max() - start) / width) + 2
        if number <= MOST_PARTS and not beyond.any():
            firsts, widths = np.full_like(firsts, start), np.full_like(widths, width)
        else:
            number = int(((lasts - firsts) / widths).max()) + 2
        return Buckets(firsts, widths, least, most, bool(beyond.any()), number)

    @cached_property
    def _outermost(self) -> tuple[Indexes, Indexes]:
        """The outermost cells of each group's sample between which buckets are divided; an end of
        the grid is none of them.
        """
        grid = self.scan.reading.grid
        least, most = self._outer_marks
        none = least > most
        return np.where(none, grid.first, least), np.where(none, grid.last, most)

    def _list(self, raws: Sequence[Raw]) -> ListText:
        """For each group a raw cell, as cells are compared with it."""
        ends = self.scan.bracket_ends
        if ends.are_wholes:
            return DIALECT.list_of_integers(ends.wholes(raws), unsigned=ends.unsigned)
        return DIALECT.list_of_literals([ends.literal(raw) for raw in raws])

    def steps(self, stretches: GroupStretches) -> dict[str, str]:
        """From the stretches to the cells near the target, and the rows under them: nothing is
        sorted.
        """
        i = self.i
        dialect = self.scan.dialect
        low, high = window_ranks(self._ranks.target, dialect)
        buckets = self.buckets(stretches)
        columns = self._of_rows(stretches, buckets)
        lists = DIALECT.listed_columns(
            {
                "grp": DIALECT.list_of_integers(stretches.groups.tolist()),
                "n": DIALECT.list_of_integers(stretches.n.tolist()),
                "below": DIALECT.list_of_integers(stretches.below.tolist()),
                **columns,
            },
            "lists",
        )
        codes = 2 * buckets.number
        return {
            f"stretches{i}": filled(LIMITS, lists=lists),
            # A step of its own, so that rows are joined with it once, and not with keys before.
            f"beside{i}": self.scan.row_source.groups_beside(f"stretches{i}", list(columns)),
            f"gathered{i}": self._gathered(stretches, buckets, list(columns), codes),
            f"buckets{i}": filled(
                BUCKETS,
                upto=filled(ROWS_UPTO_BUCKET),
                left_of_point=filled(ROWS_LEFT_OF_POINT),
                width=self._common(buckets, "bucket_width"),
                codes=codes,
                i=i,
            ),
            f"chosen{i}": filled(CHOSEN_BUCKETS, low=low, high=high, padding=self._padding, i=i),
            f"unders{i}": filled(
                ROWS_UNDER,
                under=dialect.integer("min(upto - number)", unsigned=False),
                few=5 * self._reach,
                alike=dialect.double(MOST_ALIKE / self._cells_of_index),
                i=i,
            ),
            f"near{i}": filled(NEAR, i=i),
            f"window{i}": self.scan.window(i, self._keys_of_many(stretches)),
        }

    def _of_rows(self, stretches: GroupStretches, buckets: Buckets) -> dict[str, ListText]:
        """What a row needs to know of the stretch of its group."""
        ends = self.scan.bracket_ends
        columns = {
            "first": self._list(ends.firsts(stretches.firsts)),
            "last": self._list(ends.lasts(stretches.lasts)),
        }
        if self.common_point is None:
            columns["point"] = self._list(ends.firsts(stretches.points))
        if not buckets.are_common:
            columns["start"] = DIALECT.list_of_doubles(buckets.starts.tolist())
            columns["bucket_width"] = DIALECT.list_of_doubles(buckets.widths.tolist())
        if buckets.clamps:
            columns["least"] = DIALECT.list_of_doubles(buckets.least.tolist())
            columns["most"] = DIALECT.list_of_doubles(buckets.most.tolist())
        return columns

    def _common(self, buckets: Buckets, name: str) -> str:
        """The start or the width of buckets: a literal where all groups have the same."""
        if not buckets.are_common:
            return name
        common = buckets.starts if name == "start" else buckets.widths
        return self.scan.dialect.double(float(common[0]))

    @property
    def _padding(self) -> int:
        """By how many buckets a window is widened: an index lies in one where it is one cell, else
        in two of a side at most.
        """
        return 0 if self.scan.bracket_ends.single else 2 * PADDING

    @property
    def _cells_of_index(self) -> float:
        """How far apart the first cells of two indexes lie."""
        reading = self.scan.reading
        step = reading.grid.step
        if reading.unit is not None:
            step = step / reading.unit
        return float(step)

    def _keys_of_many(self, stretches: GroupStretches) -> str:
        keys = self.scan.keys
        doubt_counted, by_doubt = f"{keys.no_doubt} AS doubt", ""
        if self._has_doubts:
            doubt_counted, by_doubt = "doubt", ", doubt"
        return filled(
            KEYS_OF_MANY,
            doubt_counted=doubt_counted,
            by_doubt=by_doubt,
            key=self._key(stretches),
            doubt=keys.doubt,
            i=self.i,
        )

    def _key(self, stretches: GroupStretches) -> str:
        key = self.scan.keys.key
        return f"CAST({key} AS INTEGER)" if self._are_short(stretches) else key

    def parts(self, stretches: GroupStretches) -> list[str]:
        """The rows that return. Ranking takes time, and so does counting. Where the buckets leave
        few rows beyond the window, and these are mostly distinct, both is left to be done
        afterwards.
        """
        i = self.i
        number = "grp"
        if len(self.scan.targets) > 1:
            number = f"grp * {len(self.scan.targets)} + {i}"
        run = f"CAST({number} AS INTEGER)"
        of_cell, of_key, of_any_key = "", "", ""
        if self._has_doubts:
            of_cell = f", {self.scan.keys.doubt} AS doubt"
            of_key, of_any_key = ", doubt", ", min(doubt)"
        return [
            filled(CELLS_OF_FEW, run=run, key=self._key(stretches), doubt=of_cell, i=i),
            filled(KEYS_IN_WINDOW, run=run, doubt=of_key, i=i),
            filled(UNDER_WINDOW, run=run, doubt=of_any_key, i=i),
        ]

    def _are_short(self, stretches: GroupStretches) -> bool:
        """Whether the raw cells of these stretches are whole numbers that 32 bits hold, and their
        keys, too: there are many of both, which takes time by their bytes.
        """
        shift = self.scan.keys.shift
        if self.scan.reading.unit is None or shift is None:
            return False
        ends = self.scan.bracket_ends
        first, last = int(stretches.firsts.min()), int(stretches.lasts.max())
        numbers = (ends.first(first), ends.last(last), first - shift, last - shift)
        return all(-SHORT_INTEGER <= number < SHORT_INTEGER for number in numbers)

    @property
    def _has_doubts(self) -> bool:
        return self.scan.keys.doubt != self.scan.keys.no_doubt

    def _gathered(
        self, stretches: GroupStretches, buckets: Buckets, columns: Sequence[str], codes: int
    ) -> str:
        scan = self.scan
        ends = scan.bracket_ends
        spot = scan.dialect.as_double("raw")
        if buckets.clamps:
            # Beyond the sample's outer cells all are alike.
            spot = f"least(greatest({spot}, least), most)"
        code = filled(
            CODE,
            codes=codes,
            spot=spot,
            start=self._common(buckets, "start"),
            width=self._common(buckets, "bucket_width"),
            point="point" if self.common_point is None else self.point,
        )
        if codes * scan.row_source.rows.number < SHORT:
            code = f"TRY_CAST({code} AS USMALLINT)"
        raw = scan.row_source.raw("cell")
        if self._are_short(stretches):
            raw = f"TRY_CAST({raw} AS INTEGER)"
        return filled(
            GATHERED,
            code=code,
            raw=raw,
            cells=scan.row_source.cells_beside(scan.relation, f"beside{self.i}", columns),
            least=ends.literal(ends.first(int(stretches.firsts.min()))),
            most=ends.literal(ends.last(int(stretches.lasts.max()))),
        )

    @property
    def _reach(self) -> int:
        return self._ranks.target.half + SPARE

    @cached_property
    def _parts(self) -> int:
        """Into how many buckets a stretch is divided."""
        sizes = [bracket.size for bracket in self._wanted_brackets]
        share = self._ranks.share
        rows = sum(sizes) / len(sizes) / share
        stretch = 2 * self._reach + 2.5 * self._ranks.error(rows) / sqrt(share)
        return min(max(ceil(2 * stretch / self._reach), FEWEST_PARTS), MOST_PARTS - 2)


def _nearer(marks: Indexes, points: Indexes, side: int, distances: Floats) -> Indexes:
    """The marks, which lie on one side of the points, or what lies so far from the points, if that
    is nearer. Marks may lie further from a point than a whole number of 64 bits tells.
    """
    reach = np.ceil(distances) + 1
    is_nearer = reach < np.abs(marks.astype(np.float64) - points)
    near: Indexes = points + side * np.where(is_nearer, reach, 0).astype(np.int64)
    return np.where(is_nearer, near, marks)
