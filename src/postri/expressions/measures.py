"""Numbers, dates and timestamps side by side: literals become what a cell is compared with, and
units are brought together.

An operand is a node, a literal as an exact number (of days for dates, of seconds for timestamps),
or None for NULL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import reduce
from math import ceil, floor, gcd, inf, nextafter

from postri.domain import position
from postri.errors import InputError
from postri.exact import decimal_places
from postri.expressions.conditions import (
    ComparisonTest,
    DistinctTest,
    Known,
    NullTest,
    OneOf,
    Opposite,
    TruthConstant,
)
from postri.expressions.kinds import Kind
from postri.expressions.numbers import (
    FAINTEST,
    LARGEST,
    SMALLEST,
    STRONGEST,
    AsReal,
    AsWhole,
    Clamped,
    ExtremeOf,
    Fitted,
    Limit,
    Limited,
    NumberCell,
    Place,
    Real,
    RealArithmetic,
    RealRounded,
    RealSize,
    RealSteps,
    Whole,
    WholeArithmetic,
    WholeRounded,
    WholeSize,
    Widened,
)
from postri.expressions.plan import Input, Node
from postri.expressions.tree import Comparison, Extremum, Number, Operator, Rounding

Operand = Node | Fraction | None

MOST_PLACES = 18
MOST_DIGITS = 10**1_000
SECONDS = 86_400
UNKNOWN = TruthConstant(None)

FLIPPED: dict[Comparison, Comparison] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
PYTHON = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def cell_of(wanted: Input, kind: Kind) -> Node:
    """A column's cells; a date is the first moment of its day where a timestamp is wanted."""
    unit = wanted.type.unit
    if kind == Kind.NUMBER or unit is None:
        return NumberCell(wanted, unit)
    # Databases have dates that Python has not: they count as the first or last that both have.
    first: date = datetime.min
    last: date = datetime.max
    cell = NumberCell(wanted, unit)
    if wanted.type.kind == "date":
        first, last = date.min, date.max
        if kind != Kind.DATE:
            cell = NumberCell(wanted, unit * SECONDS)
    return Clamped(cell, ceil(position(first) / unit), floor(position(last) / unit))


def compared(comparison: Comparison, left: Operand, right: Operand) -> Node:
    """The comparison of two operands: exact for whole numbers of any unit, in double precision
    where a float takes part.

    Texts and conditions, which have no unit either, are compared as they are.
    """
    if left is None or right is None:
        return UNKNOWN
    if isinstance(left, Fraction):
        if isinstance(right, Fraction):
            return TruthConstant(PYTHON[comparison](left, right))
        return compared(FLIPPED[comparison], right, left)
    if isinstance(right, Fraction) and left.unit is not None:
        return _against(comparison, _unclamped(left, [right]), right / left.unit)
    return ComparisonTest(comparison, *_side_by_side(left, right))


def distinct(left: Operand, right: Operand) -> Node:
    """Whether two operands differ, where NULL is a value like others."""
    if left is None or isinstance(left, Fraction):
        # A literal stands on the right, if a column stands beside it.
        if isinstance(right, Node):
            return distinct(right, left)
        return TruthConstant(left != right)
    if right is None:
        return Opposite(NullTest(left))
    if isinstance(right, Fraction) and left.unit is not None:
        raw = _raw(left, right)
        if raw is None:
            return TruthConstant(True)
        return DistinctTest(left, Limit(raw))
    return DistinctTest(*_side_by_side(left, right))


def member(operand: Node | Fraction, numbers: Sequence[Fraction]) -> Node:
    """Whether an operand equals one of some literals."""
    if isinstance(operand, Fraction):
        return TruthConstant(operand in numbers)
    if operand.unit is None:
        return OneOf(operand, tuple(Real(_double(number)) for number in numbers))
    raws = {_raw(operand, number) for number in numbers}
    limits = sorted(raw for raw in raws if raw is not None)
    if not limits:
        return Known(operand, False)
    return OneOf(_unclamped(operand, numbers), tuple(map(Limit, limits)))


def computed(sign: Operator, left: Operand, right: Operand) -> Operand:
    """A sum, difference or product, exact for whole numbers; or a quotient, which is a float."""
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    if isinstance(left, Fraction) and isinstance(right, Fraction) and sign != "/":
        return small(EXACT[sign](left, right))
    if sign == "/" or _is_float(left) or _is_float(right):
        return RealArithmetic(sign, _computable(left), _computable(right))
    return _exactly(sign, _whole(left), _whole(right))


def chosen(
    make: Callable[[list[Node | None], Fraction | None], Node], operands: Sequence[Operand]
) -> Operand:
    """A choice among operands in one unit, or as floats (or as texts or conditions).

    Numbers that are too large become null after it.
    """
    if all(operand is None for operand in operands):
        return None
    if any(_is_float(operand) for operand in operands):
        return make([None if operand is None else _real(operand) for operand in operands], None)
    nodes = [None if operand is None else _whole(operand) for operand in operands]
    units = [node.unit for node in nodes if node is not None and node.unit is not None]
    unit = _checked(reduce(common_unit, units))
    if all(each == unit for each in units) and not any(map(_is_unsigned, nodes)):
        return make(nodes, unit)
    wide = [node and Widened(node, int((node.unit or unit) / unit)) for node in nodes]
    return Fitted(make(wide, unit), unit)


def extreme(function: Extremum, operands: Sequence[Operand]) -> Operand:
    """The least or greatest of operands, in one unit or as floats; NULL if one of them is."""
    literals = [operand for operand in operands if isinstance(operand, Fraction)]
    if any(operand is None for operand in operands):
        return None
    if len(literals) == len(operands):
        return min(literals) if function == "LEAST" else max(literals)

    def make(nodes: list[Node | None], unit: Fraction | None) -> Node:
        return ExtremeOf(function, tuple(node for node in nodes if node is not None), unit)

    return chosen(make, operands)


def size_of(operand: Operand) -> Operand:
    """How far a number is from zero."""
    if operand is None or isinstance(operand, Fraction):
        return None if operand is None else abs(operand)
    if operand.unit is None:
        return RealSize(operand)
    return WholeSize(Widened(signed(operand), 1), operand.unit)


def rounded(function: Rounding, operand: Operand, places: int) -> Operand:
    """A number without more decimal places than these: exact for whole numbers of any unit."""
    step = Fraction(10) ** -places
    if operand is None:
        return None
    if isinstance(operand, Fraction):
        return small(to_whole(function, operand / step) * step)
    if operand.unit is not None:
        return _in_steps(function, operand, operand.unit / step, step)
    steps = RealRounded(function, operand, places)
    return RealSteps(steps, places) if places else steps


def cast_to_decimal(operand: Operand, digits: int | None, places: int) -> Operand:
    """A whole number of so many decimal places, the nearest one; null where it has more digits, or
    does not fit 64 bits.
    """
    step = Fraction(10) ** -places
    most = LARGEST if digits is None else 10**digits - 1
    if isinstance(operand, Node) and operand.unit is None:
        operand = AsWhole(RealRounded("ROUND", operand, places), step)
    found = rounded("ROUND", operand, places)
    if isinstance(found, Fraction):
        return found if abs(found) <= most * step else None
    if found is None:
        return None
    whole = signed(found)
    if digits is None:
        return whole
    return Limited(whole, floor(most * step / (whole.unit or step)))


def cast_to_float(operand: Operand) -> Operand:
    """The nearest number of double precision."""
    return None if operand is None else _real(operand)


def first_days(operand: Operand, unit: int) -> Operand:
    """The days of moments, of which one is this unit."""
    if operand is None:
        return None
    if isinstance(operand, Fraction):
        return Fraction(floor(operand / SECONDS) * unit)
    assert operand.unit is not None
    return _in_steps("FLOOR", operand, operand.unit / SECONDS, Fraction(unit))


def _in_steps(function: Rounding, node: Node, ratio: Fraction, step: Fraction) -> Node:
    """A whole number in steps of which this ratio makes one of its own units."""
    if ratio.denominator == 1 and node.unit == ratio * step:
        return node
    return WholeRounded(function, Widened(signed(node), ratio.numerator), ratio.denominator, step)


def to_whole(function: Rounding, number: Fraction) -> int:
    """The nearest whole number, of two the one further from zero; or the next below or above.

    >>> [to_whole("ROUND", Fraction(number, 2)) for number in (-3, -1, 1, 3)]
    [-2, -1, 1, 2]
    """
    if function == "FLOOR":
        return floor(number)
    if function == "CEIL":
        return ceil(number)
    size = floor(abs(number) + Fraction(1, 2))
    return size if number >= 0 else -size


def placed(
    operand: Operand,
    edges: Sequence[Fraction],
    numbers: Sequence[int | None],
    *,
    closed: bool,
) -> Operand:
    """Between which of some ascending edges an operand lies; `numbers` has one for what is below
    all of them, and one for what is at or above each. `closed` says that the last edge itself
    counts as below it.
    """
    if operand is None:
        return None
    if isinstance(operand, Fraction):
        place = sum(edge <= operand for edge in edges)
        if closed and operand == edges[-1]:
            place -= 1
        number = numbers[place]
        return None if number is None else Fraction(number)
    cuts: tuple[int, ...] | tuple[float, ...]
    if operand.unit is None:
        doubles = [_double(edge) for edge in edges]
        if closed:
            doubles[-1] = nextafter(doubles[-1], inf)
        cuts = tuple(doubles)
    else:
        wholes = [ceil(edge / operand.unit) for edge in edges]
        if closed:
            wholes[-1] = floor(edges[-1] / operand.unit) + 1
        cuts = tuple(wholes)
    return Place(operand, cuts, tuple(numbers))


def _is_float(operand: Operand) -> bool:
    return isinstance(operand, Node) and operand.unit is None


def _side_by_side(left: Node, right: Node | Fraction) -> tuple[Node, Node]:
    """Two operands of which the second is a float literal only beside a float."""
    if isinstance(right, Fraction) or left.unit is None or right.unit is None:
        return _real(left), _real(right)
    unit = common_unit(left.unit, right.unit)
    return _widened(left, left.unit / unit), _widened(right, right.unit / unit)


def _against(comparison: Comparison, node: Node, place: Fraction) -> Node:
    """A whole number compared with a literal in its unit.

    One that lies beyond all its cells, or between two, decides by itself.
    """
    low, high = _limits(node)
    if comparison in ("=", "<>"):
        if place.denominator == 1 and low <= place <= high:
            return ComparisonTest(comparison, node, Limit(int(place)))
        return Known(node, comparison == "<>")
    raw = ceil(place) if comparison in ("<", ">=") else floor(place)
    if low <= raw <= high:
        return ComparisonTest(comparison, node, Limit(raw))
    below = ("<", "<=")
    above = (">", ">=")
    return Known(node, comparison in (below if raw > high else above))


def _raw(node: Node, number: Fraction) -> int | None:
    """The whole number that a literal is in a node's unit; None if no cell is that."""
    low, high = _limits(node)
    place = number / (node.unit or 1)
    return int(place) if place.denominator == 1 and low <= place <= high else None


def _limits(node: Node) -> tuple[int, int]:
    return (0, 2**64 - 1) if _is_unsigned(node) else (SMALLEST, LARGEST)


def _unclamped(node: Node, numbers: Sequence[Fraction]) -> Node:
    """A date or timestamp as it is, where clamping it would make no difference: all these lie
    inside the calendar.
    """
    if not isinstance(node, Clamped) or node.unit is None:
        return node
    inside = all(node.low < number / node.unit < node.high for number in numbers)
    return node.cell if inside else node


def _exactly(sign: Operator, left: Node, right: Node) -> Node:
    assert left.unit is not None
    assert right.unit is not None
    one = signed(left)
    other = signed(right)
    if sign == "*":
        unit = _checked(left.unit * right.unit)
        return WholeArithmetic(sign, Widened(one, 1), Widened(other, 1), unit)
    unit = _checked(common_unit(left.unit, right.unit))
    return WholeArithmetic(
        sign,
        Widened(one, int(left.unit / unit)),
        Widened(other, int(right.unit / unit)),
        unit,
    )


def common_unit(one: Fraction, other: Fraction) -> Fraction:
    """The largest unit of which both are multiples."""
    return Fraction(
        gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )


def small(number: Fraction) -> Fraction:
    """A number that can be written down, or InputError."""
    if max(abs(number.numerator), number.denominator) > MOST_DIGITS:
        raise InputError(
            "what is computed from the numbers of an expression has more than 1,000 digits; use "
            "smaller ones"
        )
    return number


def _checked(unit: Fraction) -> Fraction:
    if unit.denominator > 10**MOST_PLACES:
        raise InputError(
            f"a sum, product, CASE or COALESCE has more than {MOST_PLACES} decimal places; "
            "divide, which gives a float"
        )
    return unit


def _whole(operand: Node | Fraction) -> Node:
    if isinstance(operand, Node):
        return operand
    places = decimal_places(operand) or 0
    raw = int(operand * 10**places)
    if not SMALLEST <= raw <= LARGEST:
        raise InputError(
            f"the number {Number(operand)} has too many digits to compute with; 18 always fit"
        )
    return Whole(raw, Fraction(1, 10**places))


def _is_unsigned(node: Node | None) -> bool:
    return isinstance(node, NumberCell) and node.unsigned


def signed(node: Node) -> Node:
    """A whole number of 64 bits with a sign; null where it does not fit."""
    if node.unit is None or not _is_unsigned(node):
        return node
    return Fitted(node, node.unit)


def _widened(node: Node, factor: Fraction) -> Node:
    return node if factor == 1 else Widened(node, int(factor))


def _real(operand: Node | Fraction) -> Node:
    if isinstance(operand, Fraction):
        return Real(_double(operand))
    if operand.unit is None:
        return operand
    if not Fraction(1, 10**100) <= operand.unit <= 10**100:
        raise InputError(
            "a column of so many decimal places cannot be turned into floats; cast it in a view"
        )
    return AsReal(operand, operand.unit)


def _computable(operand: Node | Fraction) -> Node:
    real = _real(operand)
    if not isinstance(operand, Fraction) or not isinstance(real, Real):
        return real
    if real.value and not FAINTEST <= abs(real.value) <= STRONGEST:
        raise InputError(f"the number {Number(operand)} is too large or too small to compute with")
    return real


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        raise InputError(f"the number {Number(number)} is beyond all floats") from None
