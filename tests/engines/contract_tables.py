"""The tables that every engine must see alike: as Arrow columns, with the domain to ask on, and
with the rows that are asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise, product
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from postri import Domain, by
from postri.by import Grouping
from proving import sized

# So many rows that engines sample them.
MANY = sized(135_000, 300_000)
WHOLE = Domain(-1_000, 1_000)
FINE = Domain(-100, 100, step="0.01")
COARSE = Domain(-10_000, 10_000, step=250)
DAYS = Domain(date(2000, 1, 1), date(2030, 12, 31))


@dataclass(frozen=True)
class Case:
    """A column and the domain to ask on; None is the default of its type."""

    cells: pa.Array
    domain: Domain | None = None

    @property
    def rows(self) -> list[Any]:
        """The cells as Python's own."""
        return self.cells.to_pylist()


def _random(rows: int, scale: int = 10_000, seed: int = 7) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(rows) * scale).astype(np.int64)


def _many() -> np.ndarray:
    return _random(MANY, 10**6)


FAR = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1, None]
ODD = [
    0.1,
    0.15,
    0.25,
    0.35,
    -0.0,
    1e300,
    -1e300,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    None,
    12.345,
    12.355,
    99.995,
]
MOMENTS = [
    datetime(2020, 2, 29, 23, 59, 59, 999_999) + timedelta(hours=7 * i, microseconds=i)
    for i in range(50)
]

CASES: dict[str, Case] = {
    "empty": Case(pa.array([], pa.int64())),
    "one row": Case(pa.array([42], pa.int64())),
    "one null": Case(pa.array([None], pa.int64()), WHOLE),
    "all null": Case(pa.array([None] * 9, pa.int64()), WHOLE),
    "small integers": Case(pa.array([3, 1, 2, None, 2, 2, -5], pa.int16())),
    "middle integers": Case(pa.array([3, 1, 2**31 - 1, None, -(2**31), 2], pa.int32())),
    "large integers": Case(pa.array(FAR, pa.int64())),
    "large integers on a domain": Case(pa.array(FAR, pa.int64()), WHOLE),
    "integers beyond the domain": Case(
        pa.array([-5_000, -1_001, -1_000, 0, 999, 1_000, 1_001, 70_000], pa.int64()), WHOLE
    ),
    "integers on coarse steps": Case(
        pa.array([*_random(500), 125, -125, 375, -375, 9_875], pa.int64()), COARSE
    ),
    "booleans": Case(pa.array([True, False, None, True, True], pa.bool_())),
    "ties": Case(pa.array([5] * 40 + [6] * 3 + [7] * 41, pa.int64())),
    "constant": Case(pa.array([7] * 500, pa.int64())),
    "two far clusters": Case(pa.array([-900] * 250 + [900] * 250, pa.int64()), WHOLE),
    "floats": Case(pa.array(ODD, pa.float64()), FINE),
    "short floats": Case(
        pa.array(np.array([0.1, 0.15, 0.25, 2.5, 3.5, -1e30, 1e30, np.nan, np.inf], np.float32)),
        FINE,
    ),
    "floats on whole steps": Case(
        pa.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e18, None, float("nan")], pa.float64()), WHOLE
    ),
    "floats near halves": Case(
        pa.array([i + 0.5 + d for i in range(-5, 6) for d in (-1e-12, 0.0, 1e-12)], pa.float64()),
        WHOLE,
    ),
    "decimals": Case(
        pa.array(
            [Decimal("12.34"), Decimal("-0.01"), None, Decimal("99.99"), Decimal("12.35")],
            pa.decimal128(9, 2),
        )
    ),
    "long decimals": Case(
        pa.array(
            [Decimal(10**18 - 1).scaleb(-6), Decimal(-(10**18) + 1).scaleb(-6), None],
            pa.decimal128(18, 6),
        )
    ),
    "decimals on coarse steps": Case(
        pa.array([Decimal(i).scaleb(-2) for i in range(-999, 999, 7)], pa.decimal128(9, 2)),
        Domain(-9, 9, "0.5"),
    ),
    "dates": Case(
        pa.array([date(2020, 1, i) for i in range(1, 31)] + [None, date.min, date.max], pa.date32())
    ),
    "dates on a domain": Case(
        pa.array(
            [date(1999, 12, 31), date(2000, 1, 1), date(2020, 6, 1), date(2040, 1, 1)], pa.date32()
        ),
        DAYS,
    ),
    "timestamps": Case(pa.array([*MOMENTS, None, datetime.min, datetime.max], pa.timestamp("us"))),
    "timestamps with zones": Case(
        pa.array([m.replace(tzinfo=UTC) for m in MOMENTS] + [None], pa.timestamp("us", tz="UTC"))
    ),
    "many shuffled": Case(pa.array(_many())),
    "many sorted": Case(pa.array(np.sort(_many()))),
    "many clustered": Case(pa.array(np.repeat(_many()[: MANY // 100], 100))),
    "many constant": Case(pa.array(np.full(MANY, 7, np.int64))),
    "many floats": Case(pa.array(np.random.default_rng(3).standard_normal(MANY) * 40), FINE),
    "many on coarse steps": Case(pa.array(_random(MANY, 4_000)), COARSE),
}


# ---- tables with rows to select

Row = Mapping[str, Any]


def every(row: Row) -> bool:
    return True


@dataclass(frozen=True)
class Asked:
    """A column on a domain, with a predicate in SQL and in Python, public keys, and a column of
    units with the rows that count of each. `computed` says in Python which key of a grouping a row
    has, and which columns it `reads`.
    """

    value: str
    domain: Domain | None = None
    where: str | None = None
    holds: Callable[[Row], bool] = every
    by: Mapping[str, Sequence[Any] | Grouping] = field(default_factory=dict)
    units: tuple[str, int] | None = None
    computed: Mapping[str, Callable[[Row], Any]] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()

    @property
    def columns(self) -> set[str]:
        """The columns that it names."""
        named = {name for name in ODD_KINDS if self.where and name in self.where}
        keys = {name for name in self.by if name not in self.computed}
        units = {self.units[0]} if self.units else set()
        return {self.value, *keys, *units, *named, *self.reads}

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        """The keys of each group."""
        lists = [
            each.keyed().keys if isinstance(each, Grouping) else each for each in self.by.values()
        ]
        return list(product(*lists))

    def keys_of(self, row: Row) -> tuple[Any, ...]:
        """The keys of the group of a row; those of no group, if it is in none."""
        return tuple(
            self.computed[name](row) if name in self.computed else row[name] for name in self.by
        )


TEXTS = [
    *(
        "Oslo",
        "oslo",
        "OSLO",
        "Oslo ",
        " Oslo",
        "",
        " ",
        "Bergen",
        "it's",
        'say "hi"',
        "a,b",
        "a;b",
        "back\\slash",
        "tab\t",
        "a:1",
        "a",
    ),
    *(
        "\u00e9",
        "e\u0301",
        "\u00c9",
        "\u00df",
        "ss",
        "\U0001f600",
        "{source}",
        "{}",
        "${x}",
        "%s",
        "$1",
        "NULL",
        "-- x",
        "'; --",
    ),
]
NUMBERS = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
NATURALS = [0, 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
PRICES = [
    Decimal("0.00"),
    Decimal("1.50"),
    Decimal("-1.50"),
    Decimal("9999999.99"),
    Decimal("-9999999.99"),
]
DAYS_ODD = [date.min, date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date.max]
NOON = datetime(2024, 2, 29, 12)
TIMES = [
    datetime.min,
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    NOON,
    NOON + timedelta(microseconds=1),
    datetime.max,
]
ZONED = [moment.replace(tzinfo=UTC) for moment in TIMES]
# Multiples of a twentieth, half of which lie half-way between tenths: as floats just above or
# below, as decimals exactly there.
TWENTIETHS = [i / 20 for i in range(-45, 46)]
FAR_FLOATS = [
    float("nan"),
    float("inf"),
    float("-inf"),
    1e300,
    -1e300,
    -0.0,
    5e-324,
    0.25 - 2**-54,
    0.25 + 2**-54,
    1e308,
]
IDS = [-(2**63), -7, 0, *range(1, 40), 2**63 - 1]
UIDS = [str(UUID(int=i * 0x1234_5678_9ABC_DEF0_1234_5678)) for i in range(1, 12)]

# The cells of each column, and its type.
ODD_KINDS: dict[str, tuple[Sequence[Any], pa.DataType]] = {
    "whole": ([*range(-30, 31), *NUMBERS], pa.int64()),
    "half": ([*TWENTIETHS, *FAR_FLOATS], pa.float64()),
    "short": ([*TWENTIETHS, float("nan"), float("inf"), 1e30], pa.float32()),
    "exact": ([Decimal(5 * i).scaleb(-2) for i in range(-45, 46)], pa.decimal128(9, 2)),
    "large": (NATURALS, pa.uint64()),
    "number": (NUMBERS, pa.int64()),
    "natural": (NATURALS, pa.uint64()),
    "small": ([-1, 0, 1, 2], pa.int16()),
    "price": (PRICES, pa.decimal128(9, 2)),
    "flag": ([True, False], pa.bool_()),
    "city": (TEXTS, pa.string()),
    "day": (DAYS_ODD, pa.date32()),
    "moment": (TIMES, pa.timestamp("us")),
    "zoned": (ZONED, pa.timestamp("us", tz="UTC")),
    "id": (IDS, pa.int64()),
    "name": (TEXTS, pa.string()),
    "uid": (UIDS, pa.string()),
}


@cache
def odd_table(rows: int = 700) -> pa.Table:
    """Extreme cells of every type, and nulls, each column in an order of its own; some rows more
    than once.
    """
    source, columns = random.Random(12), {}
    for name, (cells, kind) in ODD_KINDS.items():
        columns[name] = pa.array(
            [None if source.random() < 0.08 else source.choice(cells) for _ in range(rows)], kind
        )
    table = pa.table(columns)
    return pa.concat_tables([table, table[: rows // 10]]).combine_chunks()


TENTHS = Domain(-2, 2, step="0.1")
TWO_KEYS = {"city": ["Oslo", "oslo", "nowhere"], "flag": [False, True]}


def _less(**limits: Any) -> Callable[[Row], bool]:
    """Whether the cells lie below their limits."""
    return lambda row: all(
        row[name] is not None and row[name] < limit for name, limit in limits.items()
    )


def _early(row: Row) -> bool:
    return (
        row["moment"] is not None
        and row["moment"] <= NOON
        and row["flag"] is not False
        and row["city"] != "Oslo"
    )


def _odd_text(row: Row) -> bool:
    return row["city"] in ("it's", 'say "hi"', "{source}", "${x}", "Oslo") or (
        row["day"] is not None and row["day"] < date(1970, 1, 1)
    )


def _month(row: Row) -> Any:
    return row["moment"] and row["moment"].date().replace(day=1)


def _hour(name: str) -> Callable[[Row], Any]:
    def hour(row: Row) -> Any:
        moment = row[name]
        return moment and moment.replace(minute=0, second=0, microsecond=0, tzinfo=None)

    return hour


def _bin(row: Row) -> Any:
    if row["half"] is None:
        return None
    half = float(row["half"])
    for low, high in pairwise([-0.25, 0.1, 1.0]):
        if low <= half < high:
            return f"[{low}, {high:g})"
    return "[1, 2.25]" if 1 <= half <= 2.25 else None


def _bucket(row: Row) -> Any:
    number = row["number"]
    return number and 1 + 3 * (number + 2**63) // 2**64 if number != 0 else 2


def _label(row: Row) -> Any:
    if row["whole"] is not None and row["whole"] < 0:
        return "below"
    return "dear" if row["price"] is not None and row["price"] > 0 else None


LABELS = "CASE WHEN whole < 0 THEN 'below' WHEN price > 0 THEN 'dear' END"
MONTHS = "('9999-12', '2024-02', '1969-12', '0001-01', '2024-03')"
HOURS = "('0001-01-01 00:00', '1969-12-31 23:00', '2024-02-29 12:00')"
COMPUTED: dict[str, Asked] = {
    "keys of months": Asked(
        "whole",
        WHOLE,
        by={"month": by.expression(f"DATE_TRUNC('month', moment) IN {MONTHS}")},
        computed={"month": _month},
        reads=frozenset({"moment"}),
    ),
    "keys of hours in UTC": Asked(
        "half",
        TENTHS,
        by={"hour": by.expression(f"DATE_TRUNC('hour', zoned) IN {HOURS}")},
        computed={"hour": _hour("zoned")},
        reads=frozenset({"zoned"}),
    ),
    "keys of a range of days": Asked(
        "exact",
        TENTHS,
        by={"day": by.day("moment", "2024-02", "2024-03-07"), "small": [0, 1]},
        computed={"day": lambda row: row["moment"] and row["moment"].date()},
        reads=frozenset({"moment"}),
    ),
    "keys of fields": Asked(
        "half",
        TENTHS,
        by={"weekday": by.weekday("day"), "hour": by.hour_of_day("moment")},
        computed={
            "weekday": lambda row: row["day"] and row["day"].isoweekday(),
            "hour": lambda row: row["moment"] and row["moment"].hour,
        },
        reads=frozenset({"day", "moment"}),
    ),
    "keys of bins": Asked(
        "whole",
        WHOLE,
        by={"bin": by.bins("half", ["-0.25", "0.1", 1, "2.25"])},
        computed={"bin": _bin},
        reads=frozenset({"half"}),
    ),
    "keys of buckets": Asked(
        "half",
        TENTHS,
        by={"bucket": by.buckets("number", -(2**63), 2**63, 3)},
        computed={"bucket": _bucket},
        reads=frozenset({"number"}),
    ),
    "keys of labels by units": Asked(
        "half",
        TENTHS,
        "day < DATE '2024-03-01'",
        _less(day=date(2024, 3, 1)),
        by={"label": by.expression(LABELS), "flag": [True, False]},
        units=("name", 2),
        computed={"label": _label},
        reads=frozenset({"whole", "price"}),
    ),
}

ASKED: dict[str, Asked] = {
    **COMPUTED,
    "a filter on numbers": Asked(
        "whole", WHOLE, "whole < 5 AND exact < 1.5", _less(whole=5, exact=1.5)
    ),
    "a filter on texts or dates": Asked(
        "half",
        TENTHS,
        """city IN ('it''s', 'say "hi"', '{source}', '${x}', 'Oslo') OR day < DATE '1970-01-01'""",
        _odd_text,
    ),
    "a filter that nothing passes": Asked(
        "half", TENTHS, "whole < 5 AND whole > 5", lambda row: False
    ),
    "keys of odd texts": Asked("whole", WHOLE, by={"city": [*TEXTS, "nowhere", "OSLo"]}),
    "keys of whole numbers": Asked("exact", TENTHS, by={"number": [*NUMBERS, 7, 2**63, -(2**70)]}),
    "keys without a sign": Asked("half", TENTHS, by={"natural": [*reversed(NATURALS), -1, 2**64]}),
    "keys of short numbers": Asked("short", TENTHS, by={"small": [2, 40_000, 0]}),
    "keys that no cell can be": Asked("whole", WHOLE, by={"small": [40_000, -40_000]}),
    "keys of decimals": Asked(
        "whole", WHOLE, by={"price": [*PRICES, Decimal("1.5001"), Decimal("1e9"), 7]}
    ),
    "keys of truth": Asked("half", TENTHS, by={"flag": [True, False]}),
    "keys of days": Asked("half", TENTHS, by={"day": [*DAYS_ODD, date(2024, 3, 1)]}),
    "keys of moments": Asked("whole", WHOLE, by={"moment": [*TIMES, datetime(2024, 1, 1)]}),
    "keys of moments in zones": Asked(
        "whole", WHOLE, by={"zoned": [*ZONED, datetime(2024, 1, 1, tzinfo=UTC)]}
    ),
    "keys of two columns": Asked("half", TENTHS, by=TWO_KEYS),
    "keys of the column itself": Asked("whole", WHOLE, by={"whole": [3, 2**63 - 1, 1]}),
    "days by keys": Asked("day", DAYS, by={"flag": [True, False]}),
    "moments by keys": Asked(
        "moment", Domain("2024-02-29T11:00", "2024-02-29T13:00", step=8), by={"small": [0, 1, 2]}
    ),
    "units of whole numbers": Asked("whole", WHOLE, units=("id", 3)),
    "units of odd texts": Asked("exact", TENTHS, units=("name", 2)),
    "units of UUIDs": Asked("exact", TENTHS, units=("uid", 5)),
    "floats by units": Asked("half", TENTHS, units=("id", 2)),
    "short floats by units": Asked("short", TENTHS, units=("uid", 9)),
    "large numbers by units": Asked("number", None, units=("name", 4)),
    "large numbers without a sign by units": Asked(
        "large", Domain(0, 2**64 - 1), by={"flag": [True, False]}, units=("id", 3)
    ),
    "a domain above all cells by units": Asked(
        "number", Domain(2**63, 2**63 + 5), by={"flag": [True, False]}, units=("id", 2)
    ),
    "coarse steps by units": Asked(
        "whole", Domain(-35, 35, step=7), by={"small": [1, 0]}, units=("name", 3)
    ),
    "days by units": Asked("day", DAYS, units=("id", 1)),
    "moments by units": Asked(
        "moment", Domain("2024-02-29T11:00", "2024-02-29T13:00", step=8), units=("name", 3)
    ),
    "moments in zones by units": Asked(
        "zoned", Domain("2024-02-29T11:00+00:00", "2024-02-29T13:00+00:00"), units=("id", 1)
    ),
    "units of the column itself": Asked("whole", WHOLE, units=("whole", 2)),
    "a filter and keys": Asked(
        "half", TENTHS, "half < 0.5", _less(half=0.5), by={"city": ["", " ", "Oslo"]}
    ),
    "a filter and units": Asked("half", TENTHS, "half < 0.5", _less(half=0.5), units=("name", 2)),
    "all together": Asked(
        "half",
        TENTHS,
        (
            "moment <= TIMESTAMP '2024-02-29 12:00:00' AND flag IS NOT FALSE AND city IS "
            "DISTINCT FROM 'Oslo'"
        ),
        _early,
        by={"small": [2, 1, -1], "day": [*DAYS_ODD, date(2024, 3, 1)]},
        units=("id", 2),
    ),
}


# ---- tables so large that they are sampled

WIDE = Domain(-10_000, 10_000)


@cache
def large_table() -> pa.Table:
    """In the order of 300 groups, and inside them of x: what a sample of blocks sees is far from
    the whole.

    Some rows lack something.
    """
    random = np.random.default_rng(8)
    block = np.sort(random.integers(0, 300, MANY))
    x = np.sort(random.standard_normal(MANY) * 1_000 + block).astype(np.int64)
    kind = np.where(
        random.random(MANY) < 0.97,
        "huge",
        np.char.add("tiny", (random.integers(0, 40, MANY)).astype(str)),
    )
    return pa.table(
        {
            "x": pa.array(x, mask=random.random(MANY) < 0.01),
            "constant": pa.array(block % 7 * 100),
            "real": pa.array(
                np.round(random.standard_normal(MANY) * 30, 3), mask=random.random(MANY) < 0.01
            ),
            "block": pa.array(block),
            "kind": pa.array(kind, mask=random.random(MANY) < 0.01),
            "id": pa.array(
                (random.pareto(1, MANY) * 300).astype(np.int64), mask=random.random(MANY) < 0.01
            ),
        }
    )


TINY = [f"tiny{i}" for i in range(45)]
MANY_ASKED: dict[str, Asked] = {
    "three hundred groups in order": Asked("x", WIDE, by={"block": range(305)}),
    "one huge group and many tiny ones": Asked("x", WIDE, by={"kind": [*TINY, "huge"]}),
    "constant groups": Asked("constant", WIDE, by={"block": range(0, 300, 11)}),
    "floats of two columns' groups": Asked(
        "real", FINE, by={"kind": ["huge", "tiny3"], "block": [7, 150, 299]}
    ),
    "a filter that few rows pass": Asked(
        "x", WIDE, "block < 3 AND real < 0", _less(block=3, real=0)
    ),
    "a filter that most rows pass": Asked("real", FINE, "x < 1500", _less(x=1_500)),
    "buckets of a number": Asked(
        "real",
        FINE,
        by={"bucket": by.buckets("block", 0, 300, 30)},
        computed={"bucket": lambda row: row["block"] // 10 + 1},
        reads=frozenset({"block"}),
    ),
    "units of one row and of thousands": Asked(
        "real", FINE, "block < 250", _less(block=250), {"kind": ["huge", *TINY[:5]]}, ("id", 20)
    ),
}
