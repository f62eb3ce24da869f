"""Numbers, dates and timestamps: whole numbers of a unit, which are computed with exactly, and
floats of double precision.

What is computed with is a whole number of 64 bits with a sign, or a float from 1e-150 to 1e150 (or
0); all else becomes null. So no engine can overflow, and floats have the same bits everywhere: one
operation of IEEE 754 is the same on all machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from postri.expressions.plan import Input, Node, Vector, Vectors, Writer, both, without_nan
from postri.expressions.tree import Extremum, Operator, Rounding

# Whole numbers of 64 bits with a sign.
LARGEST_UNSIGNED = 2**64 - 1
SMALLEST = -(2**63)
LARGEST = 2**63 - 1
# Floats of these sizes can be added, multiplied and divided: the result neither overflows nor
# vanishes.
FAINTEST = 1e-150
STRONGEST = 1e150
HALF = 0.5
COMPUTED = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


@dataclass(frozen=True)
class NumberCell(Node):
    """A column of numbers, dates or timestamps. Of floats, NaN is null."""

    input: Input
    of: Fraction | None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    @property
    def unsigned(self) -> bool:
        """Whether a cell can lie beyond 64 bits with a sign."""
        return (self.input.type.high or 0) > LARGEST

    def vector(self, cells: Vectors) -> Vector:
        found = cells[self.input]
        return without_nan(found) if self.unit is None else found

    def sql(self, writer: Writer) -> str:
        raw = writer.raw(self.input)
        if self.unit is not None:
            return raw
        return f"(CASE WHEN {writer.dialect.is_number(raw)} THEN {raw} END)"


@dataclass(frozen=True)
class Clamped(Node):
    """A column of dates or timestamps, of which those before the year 1 or after 9999 count as the
    first or last one inside.
    """

    cell: NumberCell
    low: int
    high: int

    @property
    def unit(self) -> Fraction | None:
        return self.cell.unit

    def vector(self, cells: Vectors) -> Vector:
        found = self.cell.vector(cells)
        low = max(self.low, SMALLEST)
        high = min(self.high, LARGEST)
        return Vector(np.clip(found.values.astype(np.int64), low, high), found.valid)

    def sql(self, writer: Writer) -> str:
        moments = writer.moments(self.cell.input)
        if moments is not None:
            return moments.clamped(self.low, self.high)
        raw = self.cell.sql(writer)
        return (
            f"(CASE WHEN {raw} > {self.high} THEN {self.high} WHEN {raw} < {self.low} THEN "
            f"{self.low} ELSE {raw} END)"
        )

    def in_days(self, writer: Writer, first: int, last: int) -> str | None:
        moments = writer.moments(self.cell.input)
        if moments is None:
            return None
        return moments.days(self.low, self.high, first=first, last=last)

    def inside(self, writer: Writer, low: int, high: int) -> str:
        moments = writer.moments(self.cell.input)
        # At its ends stand all cells beyond them.
        if moments is None or low <= self.low or high >= self.high:
            return super().inside(writer, low, high)
        return moments.inside(low, high)


@dataclass(frozen=True)
class Limit(Node):
    """A whole number that cells are compared with.

    It is of their width: some databases forget nulls when it is not.
    """

    raw: int

    def vector(self, cells: Vectors) -> Vector:
        return Vector(self.raw)

    def sql(self, writer: Writer) -> str:
        return f"({self.raw})"


@dataclass(frozen=True)
class Whole(Node):
    """A whole number that is computed with."""

    raw: int
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        return Vector(np.array([self.raw], np.int64))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.integer(str(self.raw), unsigned=False)


@dataclass(frozen=True)
class Real(Node):
    """A float."""

    value: float

    def vector(self, cells: Vectors) -> Vector:
        return Vector(np.array([self.value]))

    def sql(self, writer: Writer) -> str:
        return f"({writer.dialect.double(self.value)})"


@dataclass(frozen=True)
class AsReal(Node):
    """A whole number of a unit as a float: the nearest to it, divided or multiplied by what the
    unit is.
    """

    operand: Node
    of: Fraction

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        values = np.asarray(found.values).astype(np.float64)
        # Each step that changes nothing is left out, here and in SQL.
        if self.of.numerator != 1:
            values = values * float(self.of.numerator)
        if self.of.denominator != 1:
            values = values / float(self.of.denominator)
        return Vector(values, found.valid)

    def sql(self, writer: Writer) -> str:
        text = writer.dialect.as_double(self.operand.sql(writer))
        if self.of.numerator != 1:
            factor = writer.dialect.double(float(self.of.numerator))
            text = f"({text} * {factor})"
        if self.of.denominator != 1:
            divisor = writer.dialect.double(float(self.of.denominator))
            text = f"({text} / {divisor})"
        return text


@dataclass(frozen=True)
class Widened(Node):
    """A whole number in finer units, with room for what it becomes: two such ones can be compared,
    added or multiplied.
    """

    operand: Node
    factor: int

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        values = np.asarray(found.values)
        # Python's own numbers have room for all, and are slow. The factor alone needs room, too.
        fits = max(_largest(values), 1) * self.factor <= LARGEST
        kind = np.int64 if fits else object
        return Vector(values.astype(kind) * self.factor, found.valid)

    def sql(self, writer: Writer) -> str:
        return writer.times(self.operand.sql(writer), self.factor)


@dataclass(frozen=True)
class Fitted(Node):
    """A whole number as one of 64 bits with a sign; null where it does not fit."""

    operand: Node
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        return _fitted(Widened(self.operand, 1).vector(cells))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.narrow(self.operand.sql(writer))


@dataclass(frozen=True)
class WholeArithmetic(Node):
    """The sum, difference or product of two whole numbers, each in finer units; null where it does
    not fit.
    """

    operator: Operator
    left: Widened
    right: Widened
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        left = self.left.vector(cells)
        right = self.right.vector(cells)
        one = _largest(left.values)
        other = _largest(right.values)
        reach = one * other if self.operator == "*" else one + other
        kind = np.int64 if reach <= LARGEST else object
        values = COMPUTED[self.operator](left.values.astype(kind), right.values.astype(kind))
        return _fitted(Vector(values, both(left.valid, right.valid)))

    def sql(self, writer: Writer) -> str:
        wide = f"({self.left.sql(writer)} {self.operator} {self.right.sql(writer)})"
        return writer.dialect.narrow(wide)


@dataclass(frozen=True)
class RealArithmetic(Node):
    """The same of two floats, and their quotient."""

    operator: Operator
    left: Node
    right: Node

    def vector(self, cells: Vectors) -> Vector:
        left = _moderate(self.left.vector(cells))
        right = _moderate(self.right.vector(cells), zero=self.operator != "/")
        with np.errstate(all="ignore"):
            values = COMPUTED[self.operator](left.values, right.values)
        return Vector(values, both(left.valid, right.valid))

    def sql(self, writer: Writer) -> str:
        left = _moderate_sql(self.left, writer)
        right = _moderate_sql(self.right, writer, zero=self.operator != "/")
        return f"({left} {self.operator} {right})"


# The least and the greatest, sizes, and rounding.


@dataclass(frozen=True)
class ExtremeOf(Node):
    """The least or greatest of several numbers of one unit, or of several floats; null where one
    is, whatever a database's own function makes of nulls.
    """

    function: Extremum
    items: tuple[Node, ...]
    of: Fraction | None = None

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = [item.vector(cells) for item in self.items]
        pick = np.minimum if self.function == "LEAST" else np.maximum
        values = reduce(pick, (each.values for each in found))
        return Vector(values, reduce(both, (each.valid for each in found)))

    def sql(self, writer: Writer) -> str:
        constant = [_is_constant(item) for item in self.items]

        def strict(names: Sequence[str]) -> str:
            unsure = [name for name, known in zip(names, constant, strict=True) if not known]
            there = " AND ".join(f"{name} IS NOT NULL" for name in unsure) or "TRUE"
            return f"(CASE WHEN {there} THEN {self.function.lower()}({', '.join(names)}) END)"

        return writer.once_each([item.sql(writer) for item in self.items], strict)


@dataclass(frozen=True)
class WholeSize(Node):
    """The size of a whole number; null where it does not fit: that of the smallest one."""

    operand: Widened
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        kind = np.int64 if _largest(found.values) <= LARGEST else object
        return _fitted(Vector(np.abs(found.values.astype(kind)), found.valid))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.narrow(f"abs({self.operand.sql(writer)})")


@dataclass(frozen=True)
class RealSize(Node):
    """The size of a float."""

    operand: Node

    def vector(self, cells: Vectors) -> Vector:
        found = _moderate(self.operand.vector(cells))
        return Vector(np.abs(found.values), found.valid)

    def sql(self, writer: Writer) -> str:
        return f"abs({_moderate_sql(self.operand, writer)})"


@dataclass(frozen=True)
class WholeRounded(Node):
    """A whole number in a coarser unit, of which `divisor` times its own is one: the nearest (of
    two the one further from zero), the next below, or the next above.
    """

    function: Rounding
    operand: Widened
    divisor: int
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        values = found.values
        if self.divisor > LARGEST:
            values = values.astype(object)
        below = values // self.divisor
        rest = values - below * self.divisor
        if self.function == "FLOOR":
            up = False
        elif self.function == "CEIL":
            up = rest > 0
        else:
            # Written so that nothing is doubled, which may not fit.
            other = self.divisor - rest
            up = (rest > other) | ((rest == other) & (values >= 0))
        return _fitted(Vector(below + up, found.valid))

    def sql(self, writer: Writer) -> str:
        def quotient(dividend: str, divisor: int) -> str:
            return writer.dialect.wide_quotient(dividend, divisor)

        def rounded(wide: str) -> str:
            # Databases do not agree on quotients below zero.
            above = quotient(f"({wide}{more})", divisor)
            below = quotient(f"({less} - {wide})", divisor)
            return f"(CASE WHEN {wide} >= 0 THEN {above} ELSE -{below} END)"

        divisor = self.divisor
        largest = writer.dialect.wide(str(divisor - 1))
        more, less = "", largest
        if self.function == "CEIL":
            more, less = f" + {largest}", writer.dialect.wide("0")
        elif self.function == "ROUND":
            half = writer.dialect.wide(str(divisor // 2))
            more, less = f" + {half}", half
        return writer.dialect.narrow(writer.once(self.operand.sql(writer), rounded))


@dataclass(frozen=True)
class RealRounded(Node):
    """How many steps of a power of ten a float is, as a float without digits behind the point."""

    function: Rounding
    operand: Node
    places: int = 0

    def vector(self, cells: Vectors) -> Vector:
        found = _moderate(self.operand.vector(cells))
        with np.errstate(all="ignore"):
            steps = _scaled(found.values, self.places)
            if self.function == "FLOOR":
                values = np.floor(steps)
            elif self.function == "CEIL":
                values = np.ceil(steps)
            else:
                size = np.abs(steps)
                below = np.floor(size)
                # A half added to the size could round up by itself.
                values = np.copysign(below + (size - below >= HALF), steps)
        return Vector(values, found.valid)

    def sql(self, writer: Writer) -> str:
        dialect = writer.dialect

        def floor(value: str) -> str:
            return writer.once(value, dialect.floored)

        def nearest(size: str) -> str:
            below = dialect.floored(size)
            up = f"{size} - {below} >= {dialect.double(HALF)}"
            return f"({below} + CASE WHEN {up} THEN {one} ELSE {nothing} END)"

        def half_away(steps: str) -> str:
            size = writer.once(f"abs({steps})", nearest)
            return f"(CASE WHEN {steps} < {nothing} THEN -{size} ELSE {size} END)"

        one = dialect.double(1.0)
        nothing = dialect.double(0.0)
        steps = _scaled_sql(_moderate_sql(self.operand, writer), self.places, writer)
        if self.function == "FLOOR":
            return floor(steps)
        if self.function == "CEIL":
            return f"(-{floor(f'(-{steps})')})"
        return writer.once(steps, half_away)


@dataclass(frozen=True)
class RealSteps(Node):
    """What a number of steps of a power of ten is, as a float."""

    steps: Node
    places: int

    def vector(self, cells: Vectors) -> Vector:
        found = self.steps.vector(cells)
        with np.errstate(all="ignore"):
            return Vector(_scaled(found.values, -self.places), found.valid)

    def sql(self, writer: Writer) -> str:
        return _scaled_sql(self.steps.sql(writer), -self.places, writer)


@dataclass(frozen=True)
class AsWhole(Node):
    """A float without digits behind the point as a whole number; null where it does not fit."""

    operand: Node
    of: Fraction

    @property
    def unit(self) -> Fraction | None:
        return self.of

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        # The largest whole number is no float, the next one is.
        with np.errstate(invalid="ignore"):
            fits = (found.values >= float(SMALLEST)) & (found.values < float(LARGEST))
        values = np.where(fits, found.values, 0).astype(np.int64)
        return Vector(values, both(found.valid, fits))

    def sql(self, writer: Writer) -> str:
        return writer.dialect.whole(self.operand.sql(writer))


@dataclass(frozen=True)
class Limited(Node):
    """A whole number; null where its size is above a limit."""

    operand: Node
    most: int

    @property
    def unit(self) -> Fraction | None:
        return self.operand.unit

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        inside = (found.values >= -self.most) & (found.values <= self.most)
        return Vector(found.values, both(found.valid, inside))

    def sql(self, writer: Writer) -> str:
        def limited(value: str) -> str:
            inside = f"{value} >= (-{self.most}) AND {value} <= ({self.most})"
            return f"(CASE WHEN {inside} THEN {value} END)"

        return writer.once(self.operand.sql(writer), limited)


def _is_constant(node: Node) -> bool:
    if isinstance(node, Widened):
        return _is_constant(node.operand)
    return isinstance(node, Whole | Real)


def _scaled(values: Any, places: int) -> Any:
    """Floats times a power of ten, which is a divisor where the power is below one: so both are
    whole numbers, and exact.
    """
    if places > 0:
        return values * float(10**places)
    if places < 0:
        return values / float(10**-places)
    return values


def _scaled_sql(text: str, places: int, writer: Writer) -> str:
    if not places:
        return text
    factor = writer.dialect.double(float(10 ** abs(places)))
    return f"({text} {'*' if places > 0 else '/'} {factor})"


@dataclass(frozen=True)
class Place(Node):
    """Between which cuts a number lies. `numbers` has one for what is below all cuts, one for what
    is at or above each: None is null.

    Cuts ascend; of two that are equal, nothing lies between them.
    """

    operand: Node
    cuts: tuple[int, ...] | tuple[float, ...]
    numbers: tuple[int | None, ...]

    @property
    def unit(self) -> Fraction | None:
        return Fraction(1)

    def vector(self, cells: Vectors) -> Vector:
        found = self.operand.vector(cells)
        values = np.asarray(found.values)
        cuts = np.array(self.cuts, np.float64 if values.dtype.kind == "f" else object)
        if values.dtype.kind != "f" and values.dtype != object:
            # No cell lies beyond what its type can hold, and neither do cuts that matter.
            limits = np.iinfo(values.dtype)
            known = [min(max(cut, limits.min), limits.max) for cut in self.cuts]
            beyond = sum(cut > limits.max for cut in self.cuts)
            cuts = np.array(known[: len(known) - beyond], values.dtype)
        places = np.searchsorted(cuts, values, side="right")
        numbers = np.array([number or 0 for number in self.numbers], np.int64)
        known_numbers = np.array([number is not None for number in self.numbers])
        return Vector(numbers[places], both(found.valid, known_numbers[places]))

    def sql(self, writer: Writer) -> str:
        def placed(value: str) -> str:
            inside = self._between(value, 0, len(self.cuts), writer)
            return f"(CASE WHEN {value} IS NOT NULL THEN {inside} END)"

        return writer.once(self.operand.sql(writer), placed)

    def _between(self, value: str, first: int, last: int, writer: Writer) -> str:
        """The number of a value that lies in one of some places, by halving: a row is compared as
        often as the number of cuts has bits.
        """
        if first == last:
            number = self.numbers[first]
            return writer.dialect.integer("NULL" if number is None else str(number), unsigned=False)
        middle = (first + last + 1) // 2
        cut = self.cuts[middle - 1]
        below = self._between(value, first, middle - 1, writer)
        above = self._between(value, middle, last, writer)
        if isinstance(cut, int) and not SMALLEST <= cut <= LARGEST_UNSIGNED:
            # No whole number of 64 bits reaches it, and databases read such digits as they like.
            return below if cut > 0 else above
        limit = writer.dialect.double(cut) if isinstance(cut, float) else f"({cut})"
        return f"CASE WHEN {value} < {limit} THEN {below} ELSE {above} END"


def _largest(values: Any) -> int:
    """The largest size of some whole numbers."""
    if not np.size(values):
        return 0
    return max(abs(int(np.min(values))), abs(int(np.max(values))))


def _fitted(vector: Vector) -> Vector:
    """Whole numbers of 64 bits with a sign."""
    if vector.values.dtype != object:
        return vector
    inside = np.asarray((vector.values >= SMALLEST) & (vector.values <= LARGEST), np.bool_)
    return Vector(np.where(inside, vector.values, 0).astype(np.int64), both(vector.valid, inside))


def _moderate(vector: Vector, *, zero: bool = True) -> Vector:
    """Floats that can be computed with; a divisor must not be 0."""
    size = np.abs(vector.values)
    allowed = (size >= FAINTEST) & (size <= STRONGEST)
    if zero:
        allowed = allowed | (size == 0)
    return Vector(vector.values, both(vector.valid, allowed))


def _moderate_sql(node: Node, writer: Writer, *, zero: bool = True) -> str:
    text = node.sql(writer)
    if isinstance(node, Real) or (isinstance(node, AsReal) and zero):
        # A constant was looked at before, and what a whole number of 64 bits means is never that
        # large or small.
        return text
    low = writer.dialect.double(FAINTEST)
    high = writer.dialect.double(STRONGEST)
    nothing = writer.dialect.double(0.0)

    def moderate(value: str, condition: str = "") -> str:
        allowed = f"abs({value}) >= {low} AND abs({value}) <= {high}"
        if zero:
            allowed += f" OR {value} = {nothing}"
        return f"(CASE WHEN {condition}({allowed}) THEN {value} END)"

    if isinstance(node, NumberCell):
        raw = writer.raw(node.input)
        return moderate(raw, f"{writer.dialect.is_number(raw)} AND ")
    return writer.once(text, moderate)
