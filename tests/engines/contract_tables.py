"""The tables that every engine must see alike: as Arrow columns, with the domain to ask on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from postri import Domain

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
    return _random(300_000, 10**6)


FAR = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1, None]
ODD = [0.1, 0.15, 0.25, 0.35, -0.0, 1e300, -1e300, 5e-324, float("nan"), float("inf"), float("-inf"), None, 12.345, 12.355, 99.995]
MOMENTS = [datetime(2020, 2, 29, 23, 59, 59, 999_999) + timedelta(hours=7 * i, microseconds=i) for i in range(50)]

CASES: dict[str, Case] = {
    "empty": Case(pa.array([], pa.int64())),
    "one row": Case(pa.array([42], pa.int64())),
    "one null": Case(pa.array([None], pa.int64()), WHOLE),
    "all null": Case(pa.array([None] * 9, pa.int64()), WHOLE),
    "small integers": Case(pa.array([3, 1, 2, None, 2, 2, -5], pa.int16())),
    "middle integers": Case(pa.array([3, 1, 2**31 - 1, None, -(2**31), 2], pa.int32())),
    "large integers": Case(pa.array(FAR, pa.int64())),
    "large integers on a domain": Case(pa.array(FAR, pa.int64()), WHOLE),
    "integers beyond the domain": Case(pa.array([-5_000, -1_001, -1_000, 0, 999, 1_000, 1_001, 70_000], pa.int64()), WHOLE),
    "integers on coarse steps": Case(pa.array([*_random(500), 125, -125, 375, -375, 9_875], pa.int64()), COARSE),
    "booleans": Case(pa.array([True, False, None, True, True], pa.bool_())),
    "ties": Case(pa.array([5] * 40 + [6] * 3 + [7] * 41, pa.int64())),
    "constant": Case(pa.array([7] * 500, pa.int64())),
    "two far clusters": Case(pa.array([-900] * 250 + [900] * 250, pa.int64()), WHOLE),
    "floats": Case(pa.array(ODD, pa.float64()), FINE),
    "short floats": Case(pa.array(np.array([0.1, 0.15, 0.25, 2.5, 3.5, -1e30, 1e30, np.nan, np.inf], np.float32)), FINE),
    "floats on whole steps": Case(pa.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e18, None, float("nan")], pa.float64()), WHOLE),
    "floats near halves": Case(pa.array([i + 0.5 + d for i in range(-5, 6) for d in (-1e-12, 0.0, 1e-12)], pa.float64()), WHOLE),
    "decimals": Case(pa.array([Decimal("12.34"), Decimal("-0.01"), None, Decimal("99.99"), Decimal("12.35")], pa.decimal128(9, 2))),
    "long decimals": Case(pa.array([Decimal(10**18 - 1).scaleb(-6), Decimal(-(10**18) + 1).scaleb(-6), None], pa.decimal128(18, 6))),
    "decimals on coarse steps": Case(
        pa.array([Decimal(i).scaleb(-2) for i in range(-999, 999, 7)], pa.decimal128(9, 2)), Domain(-9, 9, "0.5")
    ),
    "dates": Case(pa.array([date(2020, 1, i) for i in range(1, 31)] + [None, date.min, date.max], pa.date32())),
    "dates on a domain": Case(pa.array([date(1999, 12, 31), date(2000, 1, 1), date(2020, 6, 1), date(2040, 1, 1)], pa.date32()), DAYS),
    "timestamps": Case(pa.array([*MOMENTS, None, datetime.min, datetime.max], pa.timestamp("us"))),
    "timestamps with zones": Case(pa.array([m.replace(tzinfo=UTC) for m in MOMENTS] + [None], pa.timestamp("us", tz="UTC"))),
    "many shuffled": Case(pa.array(_many())),
    "many sorted": Case(pa.array(np.sort(_many()))),
    "many clustered": Case(pa.array(np.repeat(_many()[:3_000], 100))),
    "many constant": Case(pa.array(np.full(300_000, 7, np.int64))),
    "many floats": Case(pa.array(np.random.default_rng(3).standard_normal(200_000) * 40), FINE),
    "many on coarse steps": Case(pa.array(_random(200_000, 4_000)), COARSE),
}
