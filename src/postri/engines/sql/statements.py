"""A scan as one statement: n, what lies below each bracket, and the counts inside, cut to the
windows.

All forms return the same columns: the group, the target (-1: any of them), whether a row is held
(the others only tell that the group has rows), the key, its doubt, how many rows have it, how many
rows there are up to it, and n. Ranks are compared in double precision with a few rows to spare; the
exact cut is made afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from postri.engines.engine import Bracket
from postri.engines.reading import Raw, Reading
from postri.engines.sql.brackets import BUCKET_LIMITS, BracketEnds, GroupLimits
from postri.engines.sql.dialect import Dialect, filled
from postri.engines.sql.index_keys import IndexKeys
from postri.engines.sql.row_source import RowSource
from postri.engines.sql.sampling import (
    SampledBracket,
    shares_below,
    window_distances,
    window_ranks,
)
from postri.window import Target

# The target of rows that belong to any of them.
ANY = -1
# By how many buckets a window is widened: an index never lies in more than two of them.
PADDING = 2

# The counts of each key, with the rows up to it, for one target.
RANKED_WINDOW = """
    SELECT grp, 1 AS held, place, doubt, number, {upto} AS upto, n
    FROM {counted}
"""
ROWS_UPTO_KEY = """
    under + sum(number) OVER (PARTITION BY grp ORDER BY place, doubt ROWS UNBOUNDED PRECEDING)
"""
# The rows of a ranked relation that belong to a window: keys are one index each.
CUT = """
    SELECT grp, {target} AS target, held, place, doubt, number, upto, n
    FROM ({ranked}) AS ranked
    WHERE held = 0 OR {near}
"""
# The same where an index has several keys: those at most a margin beyond the window stay too.
CUT_WITH_MARGIN = """
    SELECT grp, {target} AS target, held, place, doubt, number, upto, n
    FROM (
        SELECT *, {bounds}
        FROM ({ranked}) AS ranked
    ) AS bounded
    WHERE held = 0 OR {near}
"""
LOWEST_NEAR = """
    min(CASE WHEN held = 1 AND {reached} THEN {place} END) OVER (PARTITION BY grp) AS lowest{i}
"""
HIGHEST_NEAR = """
    max(CASE WHEN held = 1 AND {begins} THEN {place} END) OVER (PARTITION BY grp) AS highest{i}
"""

# n, the rows below a point of each target, and whatever else one pass over all cells gathers.
SCANNED = """
    SELECT {columns}
    FROM {cells}{by_group}
"""
UNNESTED = """
    (
        SELECT grp, {cell} AS cell
        FROM scanned
    ) AS unnested
"""
# From which cell to which one the window of a target should lie, by how many rows a point near it
# misses it.
STRETCHES = """
    SELECT {first} AS first, {last} AS last
    FROM (
        SELECT {down} AS down, {up} AS up
        FROM (
            SELECT n, below{i} AS below
            FROM scanned
        ) AS counts
    ) AS aims
"""
CELLS_OF_STRETCH = """
    {cells}
    WHERE cell >= (SELECT first FROM stretches{i}) AND cell <= (SELECT last FROM stretches{i})
"""
# Cells that are alike become one row where they are read.
COUNTED_CELLS = """
    (
        SELECT cell, count(*) AS number
        FROM {cells}
        GROUP BY cell
    ) AS counted_cells
"""
BELOW_STRETCH = """
    below{i} - (SELECT coalesce(sum(CASE WHEN raw < {point} THEN number END), 0) FROM cells{i})
"""
# The cells of a bracket, each in one of some dozens of buckets: nothing is sorted.
BUCKETED_CELLS = """
    SELECT grp, raw, {numbered}{bucket} AS bucket
    FROM (
        SELECT {group}, {numbered}{raw} AS raw{ends}
        FROM {cells}
    ) AS raws
"""
BUCKET = "floor((least(greatest({raw}, {first}), {last}) - {start}) / {width})"
# How many cells a bucket has, and how many rows there are up to its end.
BUCKETS = """
    SELECT grp, bucket, number, {under} + {upto} AS upto, n
    FROM (
        SELECT grp, bucket, {number} AS number
        FROM cells{i}
        GROUP BY grp, bucket
    ) AS counts
        JOIN scanned USING (grp)
"""
ROWS_UPTO_BUCKET = """
    sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING)
"""
# The buckets in which a window lies.
CHOSEN_BUCKETS = """
    SELECT
        grp,
        min(CASE WHEN {reached} THEN bucket END) - {padding} AS first_bucket,
        max(CASE WHEN {begins} THEN bucket END) + {padding} AS last_bucket
    FROM buckets{i}
    GROUP BY grp
"""
CELLS_NEAR = """
    SELECT grp, {numbered}raw
    FROM cells{i}
        JOIN chosen{i} USING (grp)
    WHERE bucket >= first_bucket AND bucket <= last_bucket
"""
ROWS_UNDER = """
    SELECT grp, n, min(upto - number) AS under
    FROM buckets{i}
        JOIN chosen{i} USING (grp)
    WHERE bucket >= first_bucket
    GROUP BY grp, n
"""
# The keys of the cells near a target, and how many cells have each.
COUNTED_NEAR = """
    (
        SELECT grp, place, doubt, {number} AS number
        FROM (
            SELECT grp, {numbered}{key} AS place, {doubt} AS doubt
            FROM near{i}
        ) AS keyed
        GROUP BY grp, place, doubt
    ) AS counted
        JOIN unders{i} USING (grp)
"""
# A row for each group that has rows, whether any lies near the target or not.
GROUP_TOTALS = """
    SELECT grp, {i} AS target, 0 AS held, {zero}, {no_doubt}, 0, below{i}, n
    FROM scanned
"""

# Cells inside any bracket are counted by key, those between brackets together: a level rises at
# each end of a bracket.
RANKED_LEVELS = """
    SELECT grp, held, place, doubt, number, {upto} AS upto, {n} AS n
    FROM (
        SELECT grp, level, held, place, doubt, count(*) AS number
        FROM (
            SELECT
                grp,
                level,
                held,
                CASE WHEN held = 1 THEN {key} ELSE {zero} END AS place,
                CASE WHEN held = 1 THEN {doubt} ELSE {no_doubt} END AS doubt
            FROM (
                SELECT
                    {group},
                    {raw} AS raw,
                    {level} AS level,
                    CASE WHEN {inside} THEN 1 ELSE 0 END AS held
                FROM {cells}
            ) AS leveled
        ) AS keyed
        GROUP BY grp, level, held, place, doubt
    ) AS counted
"""
ROWS_UPTO_LEVEL = """
    sum(number) OVER (
        PARTITION BY grp ORDER BY level, place, doubt ROWS UNBOUNDED PRECEDING
    )
"""
ROWS_OF_GROUP = "sum(number) OVER (PARTITION BY grp)"


@dataclass(frozen=True)
class Scan:
    """What a statement counts: the cells of a relation by group, in a bracket for each target and
    each group that is wanted.
    """

    row_source: RowSource
    reading: Reading
    relation: str
    targets: Sequence[Target]
    brackets: Sequence[Mapping[int, Bracket]]
    keys: IndexKeys

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""
        return self.row_source.dialect

    @property
    def grouped(self) -> bool:
        """Whether there are several groups."""
        return self.row_source.rows.number > 1

    @cached_property
    def groups(self) -> list[int]:
        """The groups that are wanted."""
        return sorted(set().union(*self.brackets))

    @property
    def sampled(self) -> bool:
        """Whether a sample told where the windows should lie."""
        every = [bracket for each in self.brackets for bracket in each.values()]
        return all(isinstance(bracket, SampledBracket) for bracket in every)

    @cached_property
    def bracket_ends(self) -> BracketEnds:
        """How the ends of a bracket are written."""
        return BracketEnds(self.row_source, self.reading)

    @cached_property
    def limits(self) -> GroupLimits:
        """The ends of the brackets."""
        return self.bracket_ends.limits(self.brackets, self.groups)

    @property
    def cells(self) -> str:
        """The cells that count, with the limits of their group."""
        return self.limits.joined(self.row_source.cells_that_count(self.relation))

    @property
    def compared_cells(self) -> str:
        """The same where cells are compared before they count: nulls need no test of their own."""
        if self.row_source.counts_unless_null:
            return self.row_source.cells_or_nulls(self.relation)
        return self.cells

    @property
    def number_of_cells(self) -> str:
        """How many of those there are."""
        return "count(cell)" if self.row_source.counts_unless_null else "count(*)"

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The first and last cell of each bracket."""
        return [(self.limits[f"low{i}"], self.limits[f"last{i}"]) for i in range(len(self.targets))]

    def inside(self, i: int) -> str:
        """Whether a cell lies in the i-th bracket."""
        low, last = self.ends[i]
        return f"(cell >= {low} AND cell <= {last})"

    @property
    def group(self) -> str:
        """The group of a row."""
        return "grp" if self.grouped else "0 AS grp"

    def near(self, i: int) -> tuple[str, str]:
        """Whether a key reaches up to the i-th window, and whether it begins before its end."""
        low, high = window_ranks(self.targets[i], self.dialect)
        return f"upto >= {low}", f"upto - number <= {high}"

    def window(self, i: int, counted: str) -> str:
        """The i-th window of each group: of keys with their numbers, n and the rows under the first
        one, ranked and cut.
        """
        upto = self.dialect.integer(filled(ROWS_UPTO_KEY), unsigned=False)
        return self.cut(filled(RANKED_WINDOW, upto=upto, counted=counted), [i], target=i)

    def cut(self, ranked: str, numbers: Sequence[int], *, target: int) -> str:
        """The rows of `ranked` that belong to the windows of the targets of these numbers."""
        if not self.keys.margin:
            near = [f"({' AND '.join(self.near(i))})" for i in numbers]
            return filled(CUT, target=target, ranked=ranked, near=" OR ".join(near))
        place = self.dialect.as_double("place")
        margin = self.dialect.double(self.keys.margin)
        bounds = []
        near = []
        for i in numbers:
            reached, begins = self.near(i)
            bounds += [
                filled(LOWEST_NEAR, reached=reached, place=place, i=i),
                filled(HIGHEST_NEAR, begins=begins, place=place, i=i),
            ]
            near.append(f"({place} >= lowest{i} - {margin} AND {place} <= highest{i} + {margin})")
        return filled(
            CUT_WITH_MARGIN,
            target=target,
            bounds=", ".join(bounds),
            ranked=ranked,
            near=" OR ".join(near),
        )


def listed(scan: Scan) -> str:
    """One pass: the cells inside a bracket become a list while all are counted.

    For one machine the fastest, if lists are.
    """
    lists = []
    routes = []
    for i, (low, last) in enumerate(scan.ends):
        lists.append(f"{scan.dialect.list_between('cell', low, last)} AS inside{i}")
        unnested = filled(UNNESTED, cell=scan.dialect.unnested(f"inside{i}"))
        routes.append(Route(low, {}, scan.limits.joined(unnested), f"below{i}"))
    return _statement(scan, routes, lists)


def filtered(scan: Scan) -> str:
    """Two passes, of one snapshot: all cells are counted, and those inside a bracket are picked
    out.

    Both run on all cores.
    """
    if scan.sampled and not scan.grouped:
        return _statement(scan, [_route_by_point(scan, i) for i in range(len(scan.targets))])
    routes = [
        Route(low, {}, f"{scan.compared_cells} WHERE {scan.inside(i)}", f"below{i}")
        for i, (low, _) in enumerate(scan.ends)
    ]
    return _statement(scan, routes)


@dataclass(frozen=True)
class Route:
    """How a statement comes to the cells near one target: below which point it counts, the steps
    after that, the cells, and how many rows lie under the first of them.

    Cells that are `counted` differ, and have the `number` of rows beside them.
    """

    point: str
    steps: Mapping[str, str]
    cells: str
    under: str
    counted: bool = False

    @property
    def numbered(self) -> str:
        """The column with the number of rows of a cell, if there is one."""
        return "number, " if self.counted else ""

    def number(self, dialect: Dialect) -> str:
        """The number of rows of several cells."""
        if self.counted:
            return dialect.integer("sum(number)", unsigned=False)
        return "count(*)"


def _route_by_point(scan: Scan, i: int) -> Route:
    """Cells are counted at a point near the target: by how many rows that misses it, far fewer than
    a bracket's have to be picked out.
    """
    bracket = scan.brackets[i][0]
    assert isinstance(bracket, SampledBracket)
    ends = scan.bracket_ends
    double = scan.dialect.double
    point = ends.first(bracket.lows[0])
    (least,), (most,) = shares_below(
        bracket.ranks,
        np.array([bracket.lows]),
        np.array([bracket.highs]),
        np.array([bracket.lows[0]]),
    )
    down, up = window_distances(
        scan.targets[i],
        scan.dialect,
        (double(float(least)), double(float(most))),
        double(max(bracket.size, 1)),
    )

    def mark(side: str, raws: Sequence[Raw]) -> str:
        nearer = [
            f"WHEN {side} <= {double(spare)} THEN {ends.literal(raw)}"
            for spare, raw in zip(bracket.ranks.spares, raws, strict=True)
        ]
        return f"CASE {' '.join(nearer)} ELSE {ends.literal(raws[-1])} END"

    stretches = filled(
        STRETCHES,
        first=mark("down", [ends.first(low) for low in bracket.lows]),
        last=mark("up", [ends.last(high) for high in bracket.highs]),
        down=down,
        up=up,
        i=i,
    )
    cells = filled(CELLS_OF_STRETCH, cells=scan.compared_cells, i=i)
    return Route(
        ends.literal(point),
        {f"stretches{i}": stretches},
        filled(COUNTED_CELLS, cells=cells),
        filled(BELOW_STRETCH, i=i, point=ends.number(point)),
        counted=True,
    )


def _statement(scan: Scan, routes: Sequence[Route], lists: Sequence[str] = ()) -> str:
    below = [
        f"{scan.dialect.count_of(f'cell < {route.point}')} AS below{i}"
        for i, route in enumerate(routes)
    ]
    steps = {
        "scanned": filled(
            SCANNED,
            columns=", ".join([scan.group, f"{scan.number_of_cells} AS n", *below, *lists]),
            cells=scan.compared_cells,
            by_group=" GROUP BY grp" if scan.grouped else "",
        )
    }
    parts = []
    keys = scan.keys
    for i, route in enumerate(routes):
        steps |= {**route.steps, **_steps_near(scan, i, route)}
        counted = filled(
            COUNTED_NEAR,
            number=route.number(scan.dialect),
            numbered=route.numbered,
            key=keys.key,
            doubt=keys.doubt,
            i=i,
        )
        parts.append(scan.window(i, counted))
        parts.append(filled(GROUP_TOTALS, i=i, zero=keys.zero, no_doubt=keys.no_doubt))
    return with_steps(steps, parts)


def with_steps(steps: Mapping[str, str], parts: Sequence[str]) -> str:
    """A statement whose named steps run once each, and whose parts return together."""
    listed_steps = [f"{name} AS MATERIALIZED ({step})" for name, step in steps.items()]
    return f"WITH {', '.join(listed_steps)} {' UNION ALL '.join(parts)}"


def _steps_near(scan: Scan, i: int, route: Route) -> dict[str, str]:
    """The cells near a target, and the rows under them."""
    reached, begins = scan.near(i)
    limits = {name: scan.limits[f"{name}{i}"] for name in BUCKET_LIMITS}
    bucket = filled(
        BUCKET,
        raw=scan.dialect.as_double("raw"),
        first=limits["first"],
        last=limits["final"],
        start=limits["start"],
        width=limits["width"],
    )
    ends = ""
    if scan.grouped:
        ends = "".join(f", {name}{i}" for name in BUCKET_LIMITS)
    return {
        f"cells{i}": filled(
            BUCKETED_CELLS,
            bucket=bucket,
            group=scan.group,
            numbered=route.numbered,
            raw=scan.row_source.raw("cell"),
            ends=ends,
            cells=route.cells,
        ),
        f"buckets{i}": filled(
            BUCKETS,
            number=route.number(scan.dialect),
            under=route.under,
            upto=filled(ROWS_UPTO_BUCKET),
            i=i,
        ),
        f"chosen{i}": filled(CHOSEN_BUCKETS, reached=reached, begins=begins, padding=PADDING, i=i),
        f"near{i}": filled(CELLS_NEAR, numbered=route.numbered, i=i),
        f"unders{i}": filled(ROWS_UNDER, i=i),
    }


def grouped(scan: Scan) -> str:
    """Cells inside any bracket are counted by key: nothing is gathered in one place."""
    targets = range(len(scan.targets))
    ends = [limit for low, last in scan.ends for limit in (f"cell >= {low}", f"cell > {last}")]
    integer = scan.dialect.integer
    ranked = filled(
        RANKED_LEVELS,
        upto=integer(filled(ROWS_UPTO_LEVEL), unsigned=False),
        n=integer(ROWS_OF_GROUP, unsigned=False),
        key=scan.keys.key,
        zero=scan.keys.zero,
        doubt=scan.keys.doubt,
        no_doubt=scan.keys.no_doubt,
        group=scan.group,
        raw=scan.row_source.raw("cell"),
        level=" + ".join(f"CASE WHEN {limit} THEN 1 ELSE 0 END" for limit in ends),
        inside=" OR ".join(scan.inside(i) for i in targets),
        cells=scan.cells,
    )
    return scan.cut(ranked, targets, target=ANY)
