"""Numbers, dates and timestamps: whole numbers of a unit, which are computed with exactly, and
floats of double precision.

What is computed with is a whole number of 64 bits with a sign, or a float from 1e-150 to 1e150 (or
0); all else becomes null. So no engine can overflow, and floats have the same bits everywhere: one
operation of IEEE 754 is the same on all machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from postri.expressions.plan import Input, Node, Vector, Vectors, Writer, both, without_nan
from postri.expressions.tree import Operator

# Whole numbers of 64 bits with a sign.
SMALLEST = -(2**63)
LARGEST = 2**63 - 1
# Floats of these sizes can be added, multiplied and divided: the result neither overflows nor
# vanishes.
FAINTEST = 1e-150
STRONGEST = 1e150
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
        raw = self.cell.sql(writer)
        return (
            f"(CASE WHEN {raw} > {self.high} THEN {self.high} WHEN {raw} < {self.low} THEN "
            f"{self.low} ELSE {raw} END)"
        )


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
        # Python's own numbers have room for all, and are slow.
        fits = _largest(values) * self.factor <= LARGEST
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
        limit = writer.dialect.double(cut) if isinstance(cut, float) else f"({cut})"
        below = self._between(value, first, middle - 1, writer)
        above = self._between(value, middle, last, writer)
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
