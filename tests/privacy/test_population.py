"""Intervals for a population, by exhaustion.

Privacy: every tiny table and every neighbour, as in test_exhaustive.py. Coverage: every table that
can be drawn from a tiny population, weighted by its chance, for many populations with atoms and
gaps; whatever the value is, all of them together miss with the chance beta at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product, repeat
from math import factorial, prod

import pytest

from postri.audit.exact_chances import BITS, precisely
from postri.audit.exact_links import clock_ends, kept
from postri.audit.exact_quantiles import BETA, QuantileCase, links_at, measure
from postri.audit.tiny_tables import Rows, plain_grid, whole_window
from postri.mechanisms.clock import Clock
from postri.methods import method as method_module
from postri.methods.leeway import Leeway
from postri.methods.value import SHAPES
from postri.privacy import AddOrRemoveRows, ProtectedChange, ReplaceRows
from proving import sized

HALF, NINE_TENTHS = Fraction(1, 2), Fraction(9, 10)
PS = (HALF, NINE_TENTHS)
CHANGES: tuple[ProtectedChange, ...] = (AddOrRemoveRows(1), ReplaceRows(1))
LOW, HIGH = Fraction(2), Fraction(20)
GRID, MOST_ROWS = sized((plain_grid(3), 3), (plain_grid(5), 4))


@dataclass(frozen=True)
class Case(QuantileCase):
    """One configuration, for the population."""

    covers: str = "population"


SOUND = Case(HALF, AddOrRemoveRows(1), "exponential", LOW, GRID, MOST_ROWS)
PRIVACY = [
    replace(SOUND, p=p, protect=protect, epsilon=epsilon)
    for p, protect, epsilon in product(PS, CHANGES, sized((LOW,), (LOW, LOW / 4)))
]
PRIVACY += [
    replace(SOUND, protect=AddOrRemoveRows(2)),
    replace(SOUND, protect=ReplaceRows(1), groups=2),
    replace(SOUND, noise="gumbel"),
]


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """A test that plants a bug leaves nothing behind, and finds nothing from before."""
    kept.clear()
    yield
    kept.clear()


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("case", PRIVACY, ids=str)
def test_neighbours_are_safe_on_every_table(case: Case, figures: Callable[[str], None]):
    """No output is more than e^epsilon times as likely on a neighbour; and what holds the quantile
    of the population holds that of the rows at least as often.
    """
    findings = measure(case)
    figures(findings.told(case))
    assert findings.private(case)
    assert findings.covers()


@pytest.mark.slow
def test_all_of_epsilon_is_used():
    """The leeway moves by its drift, and the noise is made for no more than that."""
    findings = measure(SOUND)
    assert findings.interval / 2**BITS > 0.999 * float(SOUND.question.spend.interval)


@pytest.mark.slow
def test_a_drift_that_nobody_pays_for_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(method_module, "moved_with_drift", lambda *_: Fraction(0))
    assert not measure(SOUND).private(SOUND)


@pytest.mark.slow
def test_an_leeway_in_the_usual_units_is_caught(monkeypatch: pytest.MonkeyPatch):
    """It would jump by a quarter of a row where another row is added."""
    original = Leeway.units

    def coarse(leeway: Leeway, n: int) -> int:
        return -(-original(leeway, n) // leeway.fine) * leeway.fine

    monkeypatch.setattr(Leeway, "units", coarse)
    assert not measure(SOUND).private(SOUND)


# Coverage: a population has a share of its members at each of three points.


POINTS = plain_grid(3)
SHARES = [
    tuple(Fraction(part, 8) for part in (first, second, 8 - first - second))
    for first in range(9)
    for second in range(9 - first)
]
SIZES = sized((1, 7), (1, 2, 3, 4, 6, 11, 18, 30))


def quantiles(shares: tuple[Fraction, ...], p: Fraction) -> list[Fraction]:
    """The quantiles of a population: the points q with P(x < q) <= p <= P(x <= q), and one between
    any two of them, for all between are quantiles as well.
    """
    points = [Fraction(point) for point in range(len(shares))]
    between = [point + HALF for point in points[:-1]]
    found = []
    for q in points + between:
        below = sum(share for point, share in zip(points, shares, strict=True) if point < q)
        upto = sum(share for point, share in zip(points, shares, strict=True) if point <= q)
        if below <= p <= upto:
            found.append(q)
    return found


def chance_of(rows: Rows, shares: tuple[Fraction, ...]) -> Fraction:
    """The chance to draw a table, in whatever order."""
    counts = [rows.count(point) for point in range(len(shares))]
    ways = factorial(len(rows)) // prod(map(factorial, counts))
    return ways * prod(share**count for share, count in zip(shares, counts, strict=True))


def misses(low: int, high: int, q: Fraction) -> bool:
    """Whether an interval misses a quantile; an end on the edge means here or beyond."""
    return (low > POINTS.first and q < low) or (high < POINTS.last and q > high)


def largest_failures(case: Case, n: int) -> dict[tuple[Rows, Fraction], Fraction]:
    """For each table of n rows and each quantile, the chance to miss it given the value and the
    shape for which it is largest: an upper bound.
    """
    wanted = {q for shares in SHARES for q in quantiles(shares, case.p)}
    found: dict[tuple[Rows, Fraction], Fraction] = {}
    for shape, index in product(SHAPES, range(POINTS.first, POINTS.last + 1)):
        links = links_at(case, (shape, index))
        ends = clock_ends(links)
        # Links are nested, so those that miss come first.
        bad = {q: sum(misses(low, high, q) for low, high in ends) for q in wanted}
        for rows in combinations_with_replacement(range(POINTS.last + 1), n):
            clock, _ = links.clocks(whole_window(rows))
            stopped = [Fraction(0), *map(stopped_by, repeat(clock), range(max(bad.values())))]
            for q in wanted:
                found[rows, q] = max(found.get((rows, q), Fraction(0)), stopped[bad[q]])
    return found


def stopped_by(clock: Clock, link: int) -> Fraction:
    """The chance of all links up to this one, rounded up."""
    with precisely():
        chance = ((1 - clock.running_after(link)).upper() * 2**BITS).ceil().unique_fmpz()
    assert chance is not None
    return Fraction(int(chance), 2**BITS)


def worst_failure(case: Case, n: int) -> Fraction:
    """The largest chance to miss a quantile of any of the populations."""
    failures = largest_failures(case, n)
    tables = list(combinations_with_replacement(range(POINTS.last + 1), n))

    @cache
    def chances(shares: tuple[Fraction, ...]) -> list[Fraction]:
        return [chance_of(rows, shares) for rows in tables]

    return max(
        sum(
            chance * failures[rows, q] for rows, chance in zip(tables, chances(shares), strict=True)
        )
        for shares in SHARES
        for q in quantiles(shares, case.p)
    )


COVERAGE = [
    replace(SOUND, p=p, protect=protect, epsilon=epsilon, grid=POINTS)
    for p, protect, epsilon in product(PS, sized(CHANGES[:1], CHANGES), sized((HIGH,), (LOW, HIGH)))
]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("case", COVERAGE, ids=str)
def test_no_population_is_missed_more_often_than_beta(case: Case, figures: Callable[[str], None]):
    """For every number of rows, every share at each point, and every quantile that there is."""
    worst = {n: worst_failure(case, n) for n in SIZES}
    figures(", ".join(f"{n} rows {float(chance):.4f}" for n, chance in worst.items()))
    assert max(worst.values()) <= BETA


@pytest.mark.slow
def test_an_interval_for_the_rows_misses_the_population():
    """So the check above can fail."""
    rows = replace(SOUND, grid=POINTS, epsilon=HIGH, covers="table")
    assert worst_failure(rows, 11) > 2 * BETA


@pytest.mark.slow
def test_half_the_leeway_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = Leeway.units
    monkeypatch.setattr(Leeway, "units", lambda leeway, n: original(leeway, n) // 2)
    assert worst_failure(replace(SOUND, grid=POINTS, epsilon=HIGH), 11) > BETA
