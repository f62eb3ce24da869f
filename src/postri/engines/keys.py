"""What is counted inside a bracket: keys in the order of the grid's indexes, computed in the
database where that is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isinf, nextafter, ulp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.base import Bracket
from postri.engines.dialects.protocol import Dialect
from postri.engines.reading import FLOAT_INDEX, Reading
from postri.window import Indexes

FITS = 2**62
SMALLEST, LARGEST, LARGEST_UNSIGNED = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(frozen=True)
class Keys:
    """What is counted inside a bracket: a key in the order of the indexes, and the raw cell where
    the key leaves doubt.

    Where it leaves none, `no_doubt` stands; `zero` is some number of the key's type.

    An index is made up of keys that lie within `margin` of one another, in double precision. It is
    the key plus `shift` where the key is not `doubtful`; None means that only `indexes` knows.
    """

    key: str
    doubt: str
    zero: str
    no_doubt: str
    margin: float
    indexes: Callable[[NDArray[Any], NDArray[Any]], Indexes]
    shift: int | None = None
    doubtful: str | None = None


def keys_of(
    reading: Reading, bracket: Bracket, dialect: Dialect, *, unsigned: bool = False
) -> Keys:
    """The narrowest keys that are exact: the cell itself where cells and indexes correspond, else
    the index computed in the database.
    """
    if reading.unit is None:
        return _float_keys(reading, bracket, dialect) or _raw_keys(reading, dialect, unsigned)
    slope, start = reading.unit / reading.grid.step, reading.grid.base / reading.grid.step
    if slope == 1 and start.denominator == 1:
        return _own_keys(reading, bracket, int(start), dialect) or _raw_keys(
            reading, dialect, unsigned
        )
    return _divided_keys(reading, bracket, slope, -start, dialect) or _raw_keys(
        reading, dialect, unsigned
    )


def _raw_keys(reading: Reading, dialect: Dialect, unsigned: bool) -> Keys:
    """The cells as they are; those beyond the domain are clamped."""
    low, high = reading.cut(reading.grid.first + 1), reading.cut(reading.grid.last)
    if reading.unit is None:
        low, unit = nextafter(low, -inf), Fraction(1)
        zero, least, most = (dialect.double(number) for number in (0.0, low, high))
    else:
        ends = (0, LARGEST_UNSIGNED) if unsigned else (SMALLEST, LARGEST)
        low, high, unit = (
            min(max(low - 1, ends[0]), ends[1]),
            min(max(high, ends[0]), ends[1]),
            reading.unit,
        )
        zero, least, most = (
            dialect.integer(str(int(number)), unsigned=unsigned) for number in (0, low, high)
        )
    margin = 2 * float(reading.grid.step / unit) + 4 * ulp(max(abs(low), abs(high)))
    return Keys(
        f"least(greatest(raw, {least}), {most})",
        "0",
        zero,
        "0",
        margin,
        lambda places, _: reading.indexes(places),
    )


def _own_keys(reading: Reading, bracket: Bracket, start: int, dialect: Dialect) -> Keys | None:
    """Each index is one cell; those beyond the domain are clamped."""
    grid, key = reading.grid, "raw"
    low, high = grid.first + start, grid.last + start
    if bracket.low == grid.first:
        key = f"CASE WHEN raw < {low} THEN {low} ELSE {key} END"
    if bracket.high == grid.last:
        key = f"CASE WHEN raw > {high} THEN {high} ELSE {key} END"
    unsigned = high > LARGEST
    if (low < SMALLEST) or (unsigned and low < 0):
        return None
    return Keys(
        dialect.integer(key, unsigned=unsigned),
        "0",
        dialect.integer("0", unsigned=unsigned),
        "0",
        0,
        lambda places, _: (places.astype(np.uint64) - np.uint64(start % 2**64)).view(np.int64),
        -start,
    )


def _divided_keys(
    reading: Reading, bracket: Bracket, slope: Fraction, start: Fraction, dialect: Dialect
) -> Keys | None:
    """The index by whole-number arithmetic from the bracket's first cell on: rounded half to even,
    as everywhere.
    """
    grid = reading.grid
    low, end = (
        reading.cut(max(bracket.low, grid.first + 1)),
        reading.cut(min(bracket.high, grid.last)),
    )
    divisor = slope.denominator * start.denominator
    factor, offset = int(slope * divisor), int(start * divisor)
    if (
        isinf(low)
        or isinf(end)
        or (end - low) * factor + 2 * divisor >= FITS
        or not SMALLEST <= low <= end <= LARGEST
    ):
        return None
    base, rest = divmod(int(low) * factor + offset, divisor)
    distance = (
        f"((raw - {low}) * {factor} + {rest})"
        if low >= 0
        else f"((raw + {-low}) * {factor} + {rest})"
    )
    quotient, left = dialect.divided(distance, divisor), f"({distance} % {divisor})"
    odd = f"({quotient} + {base % 2}) % 2 = 1"
    rounded = (
        f"{quotient} + CASE WHEN 2 * {left} > {divisor} OR (2 * {left} = {divisor} AND {odd}) "
        "THEN 1 ELSE 0 END"
    )
    highest = min(bracket.high, grid.last) - base
    below = f"WHEN raw < {low} THEN {grid.first - base} " if bracket.low == grid.first else ""
    key = f"CASE {below}WHEN raw >= {end} THEN {highest} ELSE {rounded} END"
    zero = dialect.integer("0", unsigned=False)
    return Keys(
        dialect.integer(key, unsigned=False),
        "0",
        zero,
        "0",
        0,
        lambda places, _: places.astype(np.int64) + base,
        base,
    )


def _float_keys(reading: Reading, bracket: Bracket, dialect: Dialect) -> Keys | None:
    """The nearest index by double precision where that is beyond doubt; a doubtful cell comes back
    as it is, between two indexes.
    """
    grid = reading.grid
    low, end = (
        float(reading.cut(max(bracket.low, grid.first + 1))),
        float(reading.cut(min(bracket.high, grid.last))),
    )
    start, step = float(grid.base), float(grid.step)
    if (
        max(abs(low), abs(end), abs(start)) + step >= FLOAT_INDEX * step
        or max(abs(grid.first), abs(grid.last)) >= FLOAT_INDEX
    ):
        return None
    place = f"((raw - {dialect.double(start)}) / {dialect.double(step)})"
    nearest = dialect.floored(f"{place} + {dialect.double(0.5)}")
    sure = f"(abs({place} - {nearest}) < {dialect.double(0.5 - reading.doubt)})"
    beyond = (
        f"WHEN raw < {dialect.double(low)} THEN {{}} WHEN raw >= {dialect.double(end)} THEN {{}}"
    )
    first, last = dialect.double(grid.first), dialect.double(min(bracket.high, grid.last))
    between = f"{dialect.floored(place)} + {dialect.double(0.5)}"
    zero = dialect.double(0.0)
    return Keys(
        f"CASE {beyond.format(first, last)} WHEN {sure} THEN {nearest} ELSE {between} END",
        f"CASE {beyond.format(zero, zero)} WHEN {sure} THEN {zero} ELSE raw END",
        zero,
        zero,
        1,
        lambda places, doubts: _mixed(places, doubts, reading),
        0,
        f"CASE {beyond.format('FALSE', 'FALSE')} ELSE NOT {sure} END",
    )


def _mixed(places: NDArray[Any], doubts: NDArray[Any], reading: Reading) -> Indexes:
    indexes: Indexes = np.floor(places).astype(np.int64)
    doubtful = np.flatnonzero(places != np.floor(places))
    indexes[doubtful] = reading.indexes(doubts[doubtful])
    return indexes
