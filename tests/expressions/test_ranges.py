"""The public domain of an expression: no row leaves it, and where nothing is rounded every value is
one of its points.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from random_expressions import NumberExpressions
from reference import Reference

from postri import Domain
from postri.errors import InputError
from postri.expressions import tree
from postri.expressions.ranges import clamped, domain_of
from postri.expressions.reader import read_expression
from proving import sized

DOMAINS = {
    "x": Domain(0, 1_000),
    "y": Domain(1, 10),
    "z": Domain(-5, 5, step="0.5"),
    "price": Domain("0.25", "99.75", step="0.5"),
    "day": Domain("2024-01-01", "2024-12-31"),
    "week": Domain("2024-01-01", "2024-12-30", step=7),
    "moment": Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00", step=60),
    "zoned": Domain(
        datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC), step="0.5"
    ),
    "huge": Domain(0, 10**18),
    "wide": Domain(-(2**62), 2**62),
    "name": None,
    "Wage": None,
}

DERIVED: dict[str, Domain] = {
    "x": Domain(0, 1_000),
    "X": Domain(0, 1_000),
    "x / 100": Domain(0, 10, step="0.01"),
    "x / -8": Domain(-125, 0, step="0.125"),
    "x / 0.01": Domain(0, 100_000, step=100),
    "x / (2 * 50)": Domain(0, 10, step="0.01"),
    "x * (1 / 4)": Domain(0, 250, step="0.25"),
    "x / (1 / 4)": Domain(0, 4_000, step=4),
    "x / (1 / 3)": Domain(0, 3_000, step="0.001"),
    "x + y": Domain(1, 1_010),
    "x - y": Domain(-10, 999),
    "x + z": Domain(-5, 1_005, step="0.5"),
    "x + 0.1": Domain("0.1", "1000.1", step="0.1"),
    "-x": Domain(-1_000, 0),
    "x * y": Domain(0, 10_000),
    "x * z": Domain(-5_000, 5_000, step="0.5"),
    "z * z": Domain(-25, 25, step="0.25"),
    "10 * x": Domain(0, 10_000, step=10),
    "price": Domain("0.25", "99.75", step="0.25"),
    # A third of 1,000 is 333.3: by steps of 0.001 a third of a million, by steps of 0.0001 more
    # than a million.
    "(x + 1) / 3": Domain("0.3333", "333.6667", step="0.0001"),
    "x / 3 + y": Domain(1, "343.3334", step="0.0001"),
    "x / y": Domain(0, 1_000, step="0.001"),
    "1 / y": Domain("0.1", 1, step="0.0000001"),
    "x / 1024": Domain(0, "0.9765625", step="0.0000001"),
    "CASE WHEN name = 'a' THEN x END": Domain(0, 1_000),
    "CASE WHEN x > 3 THEN 1 ELSE 0 END": Domain(0, 1),
    "CASE WHEN name = 'a' THEN x WHEN y > 3 THEN NULL ELSE -z END": Domain(-5, 1_000, step="0.5"),
    "COALESCE(y, 0)": Domain(0, 10),
    "COALESCE(x, 0)": Domain(0, 1_000),
    "COALESCE(NULL, y, 0.5)": Domain("0.5", 10, step="0.5"),
    "CASE WHEN z >= 1 THEN x / z END": Domain(0, 1_000, step="0.001"),
    "CASE WHEN z > 1 AND name = 'a' THEN x / z END": Domain(0, 1_000, step="0.001"),
    "CASE WHEN z BETWEEN 0.5 AND 2 THEN x / z END": Domain(0, 2_000, step="0.001"),
    "CASE WHEN 0.5 > z THEN 0 ELSE x / z END": Domain(0, 2_000, step="0.001"),
    "CASE WHEN NOT (z < 1 OR name = 'a') THEN x / z END": Domain(0, 1_000, step="0.001"),
    "CASE WHEN z < 1 OR name = 'a' THEN NULL ELSE x / z END": Domain(0, 1_000, step="0.001"),
    "CASE WHEN z > 1 THEN x / z WHEN z < -1 THEN x / z END": Domain(-1_000, 1_000, step="0.001"),
    "CASE WHEN x <= 10 THEN x END": Domain(0, 10),
    "CASE WHEN x <= 10.5 THEN x END": Domain(0, 11),
    "CASE WHEN x = 10 THEN 20 - x ELSE 0 END": Domain(0, 10),
    "CASE WHEN x > 5000 THEN x ELSE 0 END": Domain(0, 1_000),
    "LEAST(x, 60)": Domain(0, 60),
    "GREATEST(LEAST(x - y, 60), -60)": Domain(-10, 60),
    "GREATEST(LEAST(x - 500, 60), -60)": Domain(-60, 60),
    "GREATEST(x, y, 7)": Domain(7, 1_000),
    "LEAST(z, 0.2)": Domain(-5, "0.2", step="0.1"),
    "LEAST(day, week)": Domain("2024-01-01", "2024-12-30"),
    "GREATEST(day, moment)": Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00", step=60),
    "ABS(z)": Domain(0, 5, step="0.5"),
    "ABS(-y)": Domain(1, 10),
    "ABS(y - 20)": Domain(10, 19),
    "ROUND(z)": Domain(-5, 5),
    "ROUND(price)": Domain(0, 100),
    "FLOOR(price)": Domain(0, 99),
    "CEIL(price)": Domain(1, 100),
    "ROUND(price, 1)": Domain("0.3", "99.8", step="0.1"),
    "ROUND(x, 2)": Domain(0, 1_000),
    "ROUND(x, -2)": Domain(0, 1_000, step=100),
    "ROUND(x / 3)": Domain(0, 333),
    "ROUND(x / y, 1)": Domain(0, 1_000, step="0.1"),
    "CAST(z AS INTEGER)": Domain(-5, 5),
    "CAST(z AS DOUBLE)": Domain(-5, 5, step="0.5"),
    "CAST(x / 3 AS DECIMAL(5, 2))": Domain(0, "333.33", step="0.01"),
    "CAST(x AS DECIMAL(2, 0))": Domain(0, 99),
    "CAST(x BETWEEN 3 AND 5 AS INTEGER)": Domain(0, 1),
    "CAST(name = 'a' AS INTEGER) * x": Domain(0, 1_000),
    "CAST(moment AS DATE)": Domain("2024-01-01", "2024-12-31"),
    "CAST(zoned AS DATE)": Domain("2024-01-01", "2024-12-31"),
    "CAST(week AS TIMESTAMP)": Domain("2024-01-01T00:00:00", "2024-12-30T00:00:00", step=86_400),
    "day - week": Domain(-364, 365),
    "day - DATE '2024-01-01'": Domain(0, 365),
    "DATE_DIFF('day', moment, zoned)": Domain(-365, 365),
    "COALESCE(day, DATE '2023-12-31')": Domain("2023-12-31", "2024-12-31"),
    "CASE WHEN x > 3 THEN day ELSE week END": Domain("2024-01-01", "2024-12-31"),
    "COALESCE(moment, TIMESTAMP '2025-01-01 00:00:00')": Domain(
        "2024-01-01T00:00:00", "2025-01-01T00:00:00", step=60
    ),
    "COALESCE(moment, day)": Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00", step=60),
    "COALESCE(zoned, NULL)": DOMAINS["zoned"],
}


@pytest.mark.parametrize("text", DERIVED)
def test_the_domain_follows_from_those_of_the_columns(text):
    assert domain_of(read_expression(text), DOMAINS) == DERIVED[text]


ONE_VALUE = "has one value at most, of which nothing can be asked; count the rows instead"
NO_BOUNDS = "has no public bounds, without which nobody may compute with it; give it a domain"
ZERO = (
    "has no bounds; give it bounds without 0, or divide by a column x inside CASE WHEN x >= 1 "
    "THEN ... END"
)
NO_ARITHMETIC = (
    "there is no arithmetic with dates and timestamps but the days between them, as in "
    "DATE_DIFF('day', start, end)"
)
LARGE = "take fewer factors, or columns with closer bounds or larger steps"
REFUSED = {
    "5": f"5 {ONE_VALUE}",
    "x * 0": f"x * 0 {ONE_VALUE}",
    "x + NULL": f"x + NULL {ONE_VALUE}",
    "CASE WHEN x > 3 THEN 1 END": f"CASE WHEN x > 3 THEN 1 END {ONE_VALUE}",
    "name": f"the column 'name' {NO_BOUNDS}",
    "x + wage": f"the column 'Wage' {NO_BOUNDS}",
    "x + prize": "there is no column 'prize'; did you mean 'price'?",
    "x / z": f"z can be 0, so that x / z {ZERO}",
    "x / 0": f"0 can be 0, so that x / 0 {ZERO}",
    "CASE WHEN z > 0 THEN x / z END": f"z can be 0, so that x / z {ZERO}",
    "CASE WHEN z <> 0 THEN x / z END": f"z can be 0, so that x / z {ZERO}",
    "x / COALESCE(y, 0)": f"COALESCE(y, 0) can be 0, so that x / COALESCE(y, 0) {ZERO}",
    "x > 3": "x > 3 is a condition, where a number is expected",
    "'a'": "'a' is a text, where a number is expected; write a date as DATE '2024-01-31'",
    "COALESCE(day, '2024-01-31')": (
        "'2024-01-31' is a text, where a number is expected; write a date as DATE '2024-01-31'"
    ),
    "day - 1": f"{NO_ARITHMETIC}, got day - 1",
    "-day": f"{NO_ARITHMETIC}, got -day",
    "day + day": f"{NO_ARITHMETIC}, got day + day",
    "moment - moment": f"{NO_ARITHMETIC}, got moment - moment",
    "ABS(day)": "ABS(day) is asked of a date; it takes numbers",
    "ROUND(moment)": "ROUND(moment) is asked of a timestamp; it takes numbers",
    "DATE_DIFF('day', x, day)": (
        "DATE_DIFF('day', x, day) is asked of a number; it takes dates or timestamps"
    ),
    "CAST(day AS INTEGER)": "day is a date, which is not cast to INTEGER",
    "CAST(x AS DATE)": "CAST(x AS DATE) is asked of a number; it takes dates or timestamps",
    "CAST(x AS TIMESTAMP)": "x is a number, which is not cast to TIMESTAMP",
    "CAST(zoned AS TIMESTAMP)": "zoned is a timestamp, which is not cast to TIMESTAMP",
    "CAST(name AS INTEGER)": f"the column 'name' {NO_BOUNDS}",
    "LEAST(x, -7)": f"LEAST(x, -7) {ONE_VALUE}",
    "LEAST(x, NULL)": f"LEAST(x, NULL) {ONE_VALUE}",
    "LEAST(x, day)": (
        "the values of LEAST(x, day) must be of one kind: numbers, dates, or timestamps with or "
        "without a zone"
    ),
    "CAST(x + 1000 AS DECIMAL(2, 0))": f"CAST(x + 1000 AS DECIMAL(2, 0)) {ONE_VALUE}",
    "x / ROUND(z)": f"ROUND(z) can be 0, so that x / ROUND(z) {ZERO}",
    "COALESCE(day, 1)": (
        "the values of COALESCE(day, 1) must be of one kind: numbers, dates, or timestamps with "
        "or without a zone"
    ),
    "COALESCE(moment, zoned)": (
        "the values of COALESCE(moment, zoned) must be of one kind: numbers, dates, or "
        "timestamps with or without a zone"
    ),
    "huge * 5 + x": f"huge * 5 can be more than 2^62 steps of 1; {LARGE}",
    "COALESCE(huge, 0.001)": f"COALESCE(huge, 0.001) can be more than 2^62 steps of 0.001; {LARGE}",
    "huge / 8 / 1000 * 1000": f"huge / 8 can be more than 2^62 steps of 0.001; {LARGE}",
    "wide": f"wide can be more than 2^62 steps of 1; {LARGE}",
}


@pytest.mark.parametrize("text", REFUSED)
def test_an_expression_without_a_domain_is_refused(text):
    with pytest.raises(InputError) as error:
        domain_of(read_expression(text), DOMAINS)
    assert str(error.value) == REFUSED[text]


CLAMPED = {
    "y + 1": "CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END + 1",
    "-y / 4": "-CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END * 0.25",
    "y / 3": "CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END / 3",
    "CASE WHEN y > 3 AND name = 'a' THEN y END": (
        "CASE WHEN y > 3 AND name = 'a' THEN CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE "
        "y END END"
    ),
    "GREATEST(ABS(y), ROUND(y, 1))": (
        "GREATEST(ABS(CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END), "
        "ROUND(CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END, 1))"
    ),
    "CAST(y > 3 AS INTEGER) * CAST(y AS DOUBLE)": (
        "CAST(y > 3 AS INTEGER) * "
        "CAST(CASE WHEN y < 1 THEN 1 WHEN y > 10 THEN 10 ELSE y END AS DOUBLE)"
    ),
    "DATE_DIFF('day', DATE '2024-01-01', day)": (
        "DATE_DIFF('day', DATE '2024-01-01', CASE WHEN day < DATE '2024-01-01' THEN DATE "
        "'2024-01-01' WHEN day > DATE '2024-12-31' THEN DATE '2024-12-31' ELSE day END)"
    ),
    "COALESCE(day, DATE '2023-12-31')": (
        "COALESCE(CASE WHEN day < DATE '2024-01-01' THEN DATE '2024-01-01' WHEN day > DATE "
        "'2024-12-31' THEN DATE '2024-12-31' "
        "ELSE day END, DATE '2023-12-31')"
    ),
}


@pytest.mark.parametrize("text", CLAMPED)
def test_columns_are_clamped_and_conditions_stand_as_they_are(text):
    assert str(clamped(read_expression(text), DOMAINS)) == CLAMPED[text]


def test_a_node_that_nobody_clamps_is_an_error_and_not_left_as_it_is():
    """One that is added later, and forgotten in `clamped`, fails before any row is read."""
    with pytest.raises(TypeError, match="columns of IsNull"):
        clamped(tree.IsNull(tree.Column("x")), {"x": Domain(0, 5)})


def test_a_column_without_bounds_cannot_be_clamped():
    with pytest.raises(InputError, match=f"the column 'name' {NO_BOUNDS}"):
        clamped(read_expression("name"), DOMAINS)


# ---- random expressions, by brute force


class Exact(Reference):
    """The meaning of numbers without any rounding."""

    COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__({})

    def is_float(self, e) -> bool:
        return False

    def is_literal(self, e) -> bool:
        return True

    def is_calendar(self, e) -> bool:
        return False

    def as_float(self, e, value):
        return value

    def brought(self, whole, part, row):
        return self.value(part, row)

    def _arithmetic(self, e, row):
        one, other = self.value(e.left, row), self.value(e.right, row)
        return (
            None
            if one is None or other is None or (e.operator == "/" and other == 0)
            else self.COMPUTE[e.operator](one, other)
        )


EXACT = Exact()


def random_domain(source: Random) -> Domain:
    step = Fraction(source.choice(["1", "0.5", "0.1", "3", "0.02"]))
    lower = source.choice([0, 1, -4, 10, Fraction(1, 4)]) * (1 if source.random() < 0.5 else step)
    return Domain(lower, lower + step * source.randint(1, 40), step=step)


def rows(
    source: Random, domains: dict[str, Domain], *, between: bool, outside: bool
) -> Iterator[dict[str, Fraction | None]]:
    """Cells at the bounds, on the grid, and if wanted between its points and far outside."""

    def cell(domain: Domain) -> Fraction | None:
        low, high, step = Fraction(domain.lower), Fraction(domain.upper), Fraction(domain.step)
        some = [low, high, *[low + source.randint(0, domain.points - 1) * step] * 4, None]
        some += [low + (high - low) * Fraction(source.randint(0, 999), 999)] * 3 * between
        some += [
            low - step / 3,
            high + step / 7,
            Fraction(10**9),
            Fraction(-(10**9)),
            Fraction(0),
        ] * outside
        return source.choice(some)

    return ({name: cell(domain) for name, domain in domains.items()} for _ in range(60))


def drawn(source: Random, depth: int) -> tuple[tree.Expression, Domain, dict[str, Domain]]:
    """An expression that has a domain."""
    domains = {name: random_domain(source) for name in "abc"}
    expression = NumberExpressions(source, list(domains)).value(depth)
    try:
        return expression, domain_of(expression, domains), domains
    except InputError:
        assume(False)
        raise


def quotients(part: tree.Expression) -> bool:
    """Whether the value of an expression, conditions apart, takes a quotient."""
    if isinstance(part, tree.Arithmetic) and part.operator == "/":
        return True
    return any(map(quotients, part.values if isinstance(part, tree.Case) else part.parts))


randomly = settings(
    max_examples=sized(50, 200), suppress_health_check=[HealthCheck.filter_too_much]
)


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(1, 4))
@randomly
def test_no_value_leaves_the_domain(source, depth):
    expression, domain, domains = drawn(source, depth)
    computed = clamped(expression, domains)
    low, high, step = Fraction(domain.lower), Fraction(domain.upper), Fraction(domain.step)
    for row in rows(source, domains, between=True, outside=True):
        value = EXACT.value(computed, row)
        if value is not None:
            assert low <= value <= high
            point = min(max(round((value - low) / step), 0), domain.points - 1) * step + low
            assert abs(point - value) <= step / 2


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(1, 4))
@randomly
def test_where_no_quotient_is_rounded_every_value_is_a_point_of_the_domain(source, depth):
    expression, domain, domains = drawn(source, depth)
    computed = clamped(expression, domains)
    assume(not quotients(computed))
    for row in rows(source, domains, between=False, outside=True):
        value = EXACT.value(computed, row)
        assert (
            value is None
            or ((value - Fraction(domain.lower)) / Fraction(domain.step)).denominator == 1
        )


@pytest.mark.slow
@given(st.randoms(use_true_random=False), st.integers(1, 4))
@randomly
def test_clamping_changes_nothing_inside_the_domains(source, depth):
    expression, _, domains = drawn(source, depth)
    computed = clamped(expression, domains)
    for row in rows(source, domains, between=True, outside=False):
        assert EXACT.value(computed, row) == EXACT.value(expression, row)


def test_without_clamping_values_leave_the_domain():
    """The tests above can fail."""
    expression, far = read_expression("x + y"), {"x": Fraction(10**9), "y": Fraction(1)}
    assert EXACT.value(expression, far) > domain_of(expression, DOMAINS).upper
    assert EXACT.value(clamped(expression, DOMAINS), far) == 1_001


def test_most_random_expressions_have_a_domain():
    found = 0
    for seed in range(300):
        source = Random(seed)
        domains = {name: random_domain(source) for name in "abc"}
        try:
            found += (
                domain_of(NumberExpressions(source, list(domains)).value(3), domains).points > 1
            )
        except InputError:
            continue
    assert found > 120
