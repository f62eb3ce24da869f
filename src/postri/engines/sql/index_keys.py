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

from postri.engines.engine import Bracket
from postri.engines.reading import FLOAT_INDEX, Raw, Reading
from postri.engines.sql.dialect import Dialect, filled
from postri.window import Indexes

# Below this, a sum of two products of whole numbers fits 64 bits.
FITS = 2**62
SMALLEST = -(2**63)
LARGEST = 2**63 - 1
LARGEST_UNSIGNED = 2**64 - 1

# The index by whole-number arithmetic, rounded half to even as everywhere.
DIVIDED_KEY = """
    CASE {below}WHEN {raw} >= {end} THEN {highest}
        ELSE {quotient} + CASE
            WHEN 2 * {rest} > {divisor} OR (2 * {rest} = {divisor} AND {odd}) THEN 1
            ELSE 0
        END
    END
"""
# The nearest index by double precision where that is beyond doubt; else the middle between two.
FLOAT_KEY = """
    CASE
        WHEN {raw} < {low} THEN {first}
        WHEN {raw} >= {end} THEN {last}
        WHEN {sure} THEN {nearest}
        ELSE {between}
    END
"""
# The cell itself where its index is in doubt.
FLOAT_DOUBT = """
    CASE
        WHEN {raw} < {low} THEN {zero}
        WHEN {raw} >= {end} THEN {zero}
        WHEN {sure} THEN {zero}
        ELSE {raw}
    END
"""
IS_DOUBTFUL = """
    CASE
        WHEN {raw} < {low} THEN FALSE
        WHEN {raw} >= {end} THEN FALSE
        ELSE NOT {sure}
    END
"""


@dataclass(frozen=True)
class IndexKeys:
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
    reading: Reading,
    bracket: Bracket,
    dialect: Dialect,
    *,
    unsigned: bool = False,
    raw: str = "raw",
) -> IndexKeys:
    """The narrowest keys that are exact: the cell itself where cells and indexes correspond, else
    the index computed in the database, of the `raw` cell under this name.
    """
    slope = Fraction(0)
    if reading.unit is not None:
        slope = reading.unit / reading.grid.step
    start = reading.grid.base / reading.grid.step
    if reading.unit is None:
        keys = _float_keys(reading, bracket, dialect, raw)
    elif slope == 1 and start.denominator == 1:
        keys = _own_keys(reading, bracket, int(start), dialect, raw)
    else:
        keys = _divided_keys(reading, bracket, slope, -start, dialect, raw)
    return keys or _raw_keys(reading, dialect, raw, unsigned=unsigned)


def _raw_keys(reading: Reading, dialect: Dialect, raw: str, *, unsigned: bool) -> IndexKeys:
    """The cells as they are; those beyond the domain are clamped."""
    low = reading.cut(reading.grid.first + 1)
    high = reading.cut(reading.grid.last)
    literal: Callable[[Raw], str]
    if reading.unit is None:
        unit = Fraction(1)
        low = nextafter(low, -inf)
        literal = dialect.double
    else:
        unit = reading.unit
        least, most = SMALLEST, LARGEST
        if unsigned:
            least, most = 0, LARGEST_UNSIGNED
        low = min(max(low - 1, least), most)
        high = min(max(high, least), most)

        def literal(number: Raw) -> str:
            return dialect.integer(str(int(number)), unsigned=unsigned)

    margin = 2 * float(reading.grid.step / unit) + 4 * ulp(max(abs(low), abs(high)))
    return IndexKeys(
        key=f"least(greatest({raw}, {literal(low)}), {literal(high)})",
        doubt="0",
        zero=literal(0.0),
        no_doubt="0",
        margin=margin,
        indexes=lambda places, _: reading.indexes(places),
    )


def _own_keys(
    reading: Reading, bracket: Bracket, start: int, dialect: Dialect, raw: str
) -> IndexKeys | None:
    """Each index is one cell; those beyond the domain are clamped."""
    grid = reading.grid
    low = grid.first + start
    high = grid.last + start
    unsigned = high > LARGEST
    if low < SMALLEST or (unsigned and low < 0):
        return None
    key = raw
    if bracket.low == grid.first:
        key = f"CASE WHEN {raw} < {low} THEN {low} ELSE {key} END"
    if bracket.high == grid.last:
        key = f"CASE WHEN {raw} > {high} THEN {high} ELSE {key} END"
    # The same distances in both: wrapping arithmetic is exact, whatever the two origins are.
    wrapped = np.uint64(start % 2**64)
    return IndexKeys(
        key=dialect.integer(key, unsigned=unsigned),
        doubt="0",
        zero=dialect.integer("0", unsigned=unsigned),
        no_doubt="0",
        margin=0,
        indexes=lambda places, _: (places.astype(np.uint64) - wrapped).view(np.int64),
        shift=-start,
    )


def _divided_keys(
    reading: Reading,
    bracket: Bracket,
    slope: Fraction,
    start: Fraction,
    dialect: Dialect,
    raw: str,
) -> IndexKeys | None:
    """The index by whole-number arithmetic from the bracket's first cell on."""
    grid = reading.grid
    low = reading.cut(max(bracket.low, grid.first + 1))
    end = reading.cut(min(bracket.high, grid.last))
    if isinf(low) or isinf(end) or not SMALLEST <= low <= end <= LARGEST:
        return None
    divisor = slope.denominator * start.denominator
    factor = int(slope * divisor)
    offset = int(start * divisor)
    if (end - low) * factor + 2 * divisor >= FITS:
        return None
    base, remainder = divmod(int(low) * factor + offset, divisor)
    from_low = f"{raw} - {low}" if low >= 0 else f"{raw} + {-low}"
    distance = f"(({from_low}) * {factor} + {remainder})"
    quotient = dialect.divided(distance, divisor)
    below = ""
    if bracket.low == grid.first:
        below = f"WHEN {raw} < {low} THEN {grid.first - base} "
    key = filled(
        DIVIDED_KEY,
        raw=raw,
        below=below,
        end=end,
        highest=min(bracket.high, grid.last) - base,
        quotient=quotient,
        rest=f"({distance} % {divisor})",
        divisor=divisor,
        odd=f"({quotient} + {base % 2}) % 2 = 1",
    )
    return IndexKeys(
        key=dialect.integer(key, unsigned=False),
        doubt="0",
        zero=dialect.integer("0", unsigned=False),
        no_doubt="0",
        margin=0,
        indexes=lambda places, _: places.astype(np.int64) + base,
        shift=base,
    )


def _float_keys(reading: Reading, bracket: Bracket, dialect: Dialect, raw: str) -> IndexKeys | None:
    """The nearest index by double precision where that is beyond doubt; a doubtful cell comes back
    as it is, between two indexes.
    """
    grid = reading.grid
    low = float(reading.cut(max(bracket.low, grid.first + 1)))
    end = float(reading.cut(min(bracket.high, grid.last)))
    start = float(grid.base)
    step = float(grid.step)
    furthest = max(abs(low), abs(end), abs(start)) + step
    if furthest >= FLOAT_INDEX * step or max(abs(grid.first), abs(grid.last)) >= FLOAT_INDEX:
        return None
    double = dialect.double
    zero = double(0.0)
    place = f"(({raw} - {double(start)}) / {double(step)})"
    nearest = dialect.floored(f"{place} + {double(0.5)}")
    parts = {
        "raw": raw,
        "low": double(low),
        "end": double(end),
        "sure": f"(abs({place} - {nearest}) < {double(0.5 - reading.doubt)})",
    }
    return IndexKeys(
        key=filled(
            FLOAT_KEY,
            first=double(grid.first),
            last=double(min(bracket.high, grid.last)),
            nearest=nearest,
            between=f"{dialect.floored(place)} + {double(0.5)}",
            **parts,
        ),
        doubt=filled(FLOAT_DOUBT, zero=zero, **parts),
        zero=zero,
        no_doubt=zero,
        margin=1,
        indexes=lambda places, doubts: _mixed_indexes(places, doubts, reading),
        shift=0,
        doubtful=filled(IS_DOUBTFUL, **parts),
    )


def _mixed_indexes(places: NDArray[Any], doubts: NDArray[Any], reading: Reading) -> Indexes:
    """A place that is no whole number is in doubt: its cell tells the index."""
    indexes: Indexes = np.floor(places).astype(np.int64)
    doubtful = np.flatnonzero(places != np.floor(places))
    indexes[doubtful] = reading.indexes(doubts[doubtful])
    return indexes
