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

from postri.engines.aims import outward, shares_below, sides
from postri.engines.base import Bracket
from postri.engines.dialects.protocol import Dialect
from postri.engines.keys import Keys
from postri.engines.limits import BUCKET_LIMITS, Ends, Limits
from postri.engines.reading import Raw, Reading
from postri.engines.sampled import Marked
from postri.engines.selected import Selected
from postri.window import Target

ANY = -1
# How a row is held whose rank is left to be summed: the rows up to it are those under its group and
# target, which a row that is not held tells, and all numbers of keys up to its own.
LEFT_TO_SUM = 2
# By how many buckets a window is widened: an index never lies in more than two of them.
PADDING = 2
COLUMNS = "grp, target, held, place, doubt, number, upto, n"


@dataclass(frozen=True)
class Scan:
    """What a statement counts: the cells of a relation by group, in a bracket for each target and
    each group that is wanted.
    """

    selected: Selected
    reading: Reading
    relation: str
    targets: Sequence[Target]
    brackets: Sequence[Mapping[int, Bracket]]
    keys: Keys

    @property
    def dialect(self) -> Dialect:
        """How the database writes."""
        return self.selected.dialect

    @property
    def grouped(self) -> bool:
        """Whether there are several groups."""
        return self.selected.rows.number > 1

    @cached_property
    def groups(self) -> list[int]:
        """The groups that are wanted."""
        return sorted(set().union(*self.brackets))

    @property
    def sampled(self) -> bool:
        """Whether a sample told where the windows should lie."""
        return all(
            isinstance(bracket, Marked) for each in self.brackets for bracket in each.values()
        )

    @cached_property
    def ends_of(self) -> Ends:
        """How the ends of a bracket are written."""
        return Ends(self.selected, self.reading)

    @cached_property
    def limits(self) -> Limits:
        """The ends of the brackets."""
        return self.ends_of.limits(self.brackets, self.groups)

    @property
    def kept(self) -> str:
        """The cells that count, with the limits of their group."""
        return self.limits.joined(self.selected.kept(self.relation))

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
        low, high = sides(self.targets[i], self.dialect)
        return f"upto >= {low}", f"upto - number <= {high}"

    def window(self, i: int, counted: str) -> str:
        """The i-th window of each group: of keys with their numbers, n and the rows under the first
        one, ranked and cut.
        """
        sums = (
            "under + sum(number) OVER (PARTITION BY grp ORDER BY place, doubt ROWS UNBOUNDED "
            "PRECEDING)"
        )
        upto = self.dialect.integer(sums, unsigned=False)
        ranked = f"SELECT grp, 1 AS held, place, doubt, number, {upto} AS upto, n FROM {counted}"
        return self.cut(ranked, [i], COLUMNS.replace("target", f"{i} AS target"))

    def cut(self, ranked: str, numbers: Sequence[int], select: str) -> str:
        """The rows of `ranked` that belong to the windows of some targets; keys at most a margin
        beyond them stay too.
        """
        if not self.keys.margin:
            whole = [" AND ".join(self.near(i)) for i in numbers]
            return (
                f"SELECT {select} FROM ({ranked}) AS ranked WHERE held = 0 OR "
                f"{' OR '.join(f'({each})' for each in whole)}"
            )
        bounds, conditions = [], []
        place, margin = self.dialect.as_double("place"), self.dialect.double(self.keys.margin)
        for i in numbers:
            start, end = (
                f"CASE WHEN held = 1 AND {side} THEN {place} END" for side in self.near(i)
            )
            bounds += [
                f"min({start}) OVER (PARTITION BY grp) AS lowest{i}",
                f"max({end}) OVER (PARTITION BY grp) AS highest{i}",
            ]
            conditions.append(
                f"({place} >= lowest{i} - {margin} AND {place} <= highest{i} + {margin})"
            )
        bounded = f"SELECT *, {', '.join(bounds)} FROM ({ranked}) AS ranked"
        return (
            f"SELECT {select} FROM ({bounded}) AS bounded WHERE held = 0 OR "
            f"{' OR '.join(conditions)}"
        )


def listed(scan: Scan) -> str:
    """One pass: the cells inside a bracket become a list while all are counted.

    For one machine the fastest, if lists are.
    """
    lists = [
        f"{scan.dialect.list_of('cell', scan.inside(i))} AS inside{i}"
        for i in range(len(scan.targets))
    ]

    def cells(i: int) -> str:
        return (
            f"(SELECT grp, {scan.dialect.unnested(f'inside{i}')} AS cell FROM scanned) AS unnested"
        )

    return _statement(
        scan,
        [
            Way(low, {}, scan.limits.joined(cells(i)), f"below{i}")
            for i, (low, _) in enumerate(scan.ends)
        ],
        lists,
    )


def filtered(scan: Scan) -> str:
    """Two passes, of one snapshot: all cells are counted, and those inside a bracket are picked
    out.

    Both run on all cores.
    """
    if scan.sampled and not scan.grouped:
        return _statement(scan, [_aimed(scan, i) for i in range(len(scan.targets))])
    return _statement(
        scan,
        [
            Way(low, {}, f"{scan.kept} WHERE {scan.inside(i)}", f"below{i}")
            for i, (low, _) in enumerate(scan.ends)
        ],
    )


@dataclass(frozen=True)
class Way:
    """How a statement comes to the cells near one target: below which one it counts, steps after
    that, and the rows below the first.
    """

    point: str
    steps: Mapping[str, str]
    cells: str
    under: str


def _aimed(scan: Scan, i: int) -> Way:
    """Cells are counted at a point near the target: by how many rows that misses it, far fewer than
    a bracket's have to be picked out.
    """
    bracket, ends, double = scan.brackets[i][0], scan.ends_of, scan.dialect.double
    assert isinstance(bracket, Marked)
    pick, point = bracket.pick, ends.first(bracket.lows[0])
    (least,), (most,) = shares_below(
        pick, np.array([bracket.lows]), np.array([bracket.highs]), np.array([bracket.lows[0]])
    )
    down, up = outward(
        scan.targets[i],
        scan.dialect,
        (double(float(least)), double(float(most))),
        double(max(bracket.size, 1)),
    )

    def mark(side: str, raws: Sequence[Raw]) -> str:
        nearer = [
            f"WHEN {side} <= {double(spare)} THEN {ends.literal(raw)}"
            for spare, raw in zip(pick.spares, raws, strict=True)
        ]
        return f"CASE {' '.join(nearer)} ELSE {ends.literal(raws[-1])} END"

    first, last = (
        mark("down", [ends.first(low) for low in bracket.lows]),
        mark("up", [ends.last(high) for high in bracket.highs]),
    )
    aims = (
        f"SELECT {down} AS down, {up} AS up FROM (SELECT n, below{i} AS below FROM scanned) AS "
        "counts"
    )
    return Way(
        ends.literal(point),
        {f"stretches{i}": f"SELECT {first} AS first, {last} AS last FROM ({aims}) AS aims"},
        (
            f"{scan.kept} WHERE cell >= (SELECT first FROM stretches{i}) AND cell <= (SELECT last "
            f"FROM stretches{i})"
        ),
        f"below{i} - (SELECT {scan.dialect.count_of(f'raw < {ends.number(point)}')} FROM cells{i})",
    )


def _statement(scan: Scan, ways: Sequence[Way], lists: Sequence[str] = ()) -> str:
    below = [
        f"{scan.dialect.count_of(f'cell < {way.point}')} AS below{i}" for i, way in enumerate(ways)
    ]
    scanned = (
        f"SELECT {', '.join([scan.group, 'count(*) AS n', *below, *lists])} FROM "
        f"{scan.kept}{' GROUP BY grp' if scan.grouped else ''}"
    )
    steps, parts = {"scanned": scanned}, []
    for i, way in enumerate(ways):
        steps |= {**way.steps, **_near(scan, i, way)}
        keyed = f"SELECT grp, {scan.keys.key} AS place, {scan.keys.doubt} AS doubt FROM near{i}"
        counted = (
            f"SELECT grp, place, doubt, count(*) AS number FROM ({keyed}) AS keyed GROUP BY grp, "
            "place, doubt"
        )
        parts.append(scan.window(i, f"({counted}) AS counted JOIN unders{i} USING (grp)"))
        parts.append(
            f"SELECT grp, {i} AS target, 0 AS held, {scan.keys.zero}, {scan.keys.no_doubt}, "
            f"0, below{i}, n FROM scanned"
        )
    return (
        f"WITH {', '.join(f'{name} AS MATERIALIZED ({step})' for name, step in steps.items())} "
        f"{' UNION ALL '.join(parts)}"
    )


def _near(scan: Scan, i: int, way: Way) -> dict[str, str]:
    """The cells near a target, and the rows under them: by counting cells in some dozens of
    buckets, nothing is sorted.
    """
    reached, begins = scan.near(i)
    start, first, last, width = (scan.limits[f"{name}{i}"] for name in BUCKET_LIMITS)
    bucket = (
        f"floor((least(greatest({scan.dialect.as_double('raw')}, {first}), {last}) - {start}) / "
        f"{width})"
    )
    ends = "".join(f", {name}{i}" for name in BUCKET_LIMITS) if scan.grouped else ""
    raws = f"SELECT {scan.group}, {scan.selected.raw('cell')} AS raw{ends} FROM {way.cells}"
    counts = f"SELECT grp, bucket, count(*) AS number FROM cells{i} GROUP BY grp, bucket"
    upto = "sum(number) OVER (PARTITION BY grp ORDER BY bucket ROWS UNBOUNDED PRECEDING)"
    return {
        f"cells{i}": f"SELECT grp, raw, {bucket} AS bucket FROM ({raws}) AS raws",
        f"buckets{i}": (
            f"SELECT grp, bucket, number, {way.under} + {upto} AS upto, n FROM ({counts}) AS "
            "counts JOIN scanned USING (grp)"
        ),
        f"chosen{i}": (
            f"SELECT grp, min(CASE WHEN {reached} THEN bucket END) - {PADDING} AS first_bucket, "
            f"max(CASE WHEN {begins} THEN bucket END) + {PADDING} AS last_bucket FROM "
            f"buckets{i} GROUP BY grp"
        ),
        f"near{i}": (
            f"SELECT grp, raw FROM cells{i} JOIN chosen{i} USING (grp) WHERE bucket >= "
            "first_bucket AND bucket <= last_bucket"
        ),
        f"unders{i}": (
            f"SELECT grp, n, min(upto - number) AS under FROM buckets{i} JOIN chosen{i} USING "
            "(grp) "
            f"WHERE bucket >= first_bucket GROUP BY grp, n"
        ),
    }


def grouped(scan: Scan) -> str:
    """Cells inside any bracket are counted by key, those between brackets together: nothing is
    gathered in one place.
    """
    ends = [limit for low, last in scan.ends for limit in (f"cell >= {low}", f"cell > {last}")]
    level = " + ".join(f"CASE WHEN {limit} THEN 1 ELSE 0 END" for limit in ends)
    held = (
        f"CASE WHEN {' OR '.join(scan.inside(i) for i in range(len(scan.ends)))} THEN 1 ELSE 0 END"
    )
    leveled = (
        f"SELECT {scan.group}, {scan.selected.raw('cell')} AS raw, {level} AS level, {held} AS "
        f"held FROM {scan.kept}"
    )
    place = f"CASE WHEN held = 1 THEN {scan.keys.key} ELSE {scan.keys.zero} END"
    doubt = f"CASE WHEN held = 1 THEN {scan.keys.doubt} ELSE {scan.keys.no_doubt} END"
    keyed = (
        f"SELECT grp, level, held, {place} AS place, {doubt} AS doubt FROM ({leveled}) AS leveled"
    )
    counted = (
        f"SELECT grp, level, held, place, doubt, count(*) AS number FROM ({keyed}) AS keyed GROUP "
        "BY grp, level, held, place, doubt"
    )
    integer = scan.dialect.integer
    upto = integer(
        "sum(number) OVER (PARTITION BY grp ORDER BY level, place, doubt ROWS UNBOUNDED PRECEDING)",
        unsigned=False,
    )
    n = integer("sum(number) OVER (PARTITION BY grp)", unsigned=False)
    ranked = (
        f"SELECT grp, held, place, doubt, number, {upto} AS upto, {n} AS n FROM ({counted}) AS "
        "counted"
    )
    return scan.cut(ranked, range(len(scan.targets)), COLUMNS.replace("target", f"{ANY} AS target"))
