"""Privacy and coverage by exhaustion: every tiny table, every neighbour, every output, with
rigorous bounds on all chances.

The scores are those that ship, shown whole windows; their chances are exact (`exact_chances`). That
real draws have these chances is shown in test_sampler.py, and that narrow windows change nothing in
test_laziness.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product
from math import exp
from random import Random

import numpy as np
import pytest
from exact_clock import defined_chances
from flint import arb, fmpq

from postri.audit import exact_quantiles
from postri.audit.exact_chances import (
    Whole,
    chances,
    crowded_chances,
    exponential_chances,
    precisely,
)
from postri.audit.exact_links import kept, shipped_chances, shipped_links
from postri.audit.exact_quantiles import BETA, measure
from postri.audit.tiny_tables import (
    Rows,
    all_tables,
    holds_quantile,
    neighbours,
    plain_grid,
    whole_window,
)
from postri.grid import Grid
from postri.mechanisms import clock as clock_module
from postri.mechanisms.clock import Clock, Plateaus
from postri.mechanisms.noisy_max import Noise
from postri.mechanisms.run_out import running_ball
from postri.methods import links as links_module
from postri.methods import value as value_module
from postri.methods.depth import Depth
from postri.methods.links import ClockStep, Links, Readings
from postri.methods.method import QuantileTerms
from postri.methods.scores import over_target, units_per_row
from postri.methods.value import SHAPES, Shape
from postri.privacy import AddOrRemoveRows, ProtectedChange, ReplaceRows, Spend
from postri.window import RankWindow
from proving import sized

pytestmark = pytest.mark.slow

PS = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
ONE_ROW: tuple[ProtectedChange, ...] = (AddOrRemoveRows(1), ReplaceRows(1))
NOISES: tuple[Noise, ...] = ("exponential", "gumbel")
GRID, MOST_ROWS = sized((plain_grid(3), 3), (plain_grid(6), 4))
# At epsilon 2 no link of these tables is deep enough but those on the edges; at 20 some are.
LOWEST, LOW, HIGH = Fraction(1, 2), Fraction(2), Fraction(20)


@dataclass(frozen=True)
class Case(exact_quantiles.QuantileCase):
    """One configuration, on all tables of the size at hand."""

    grid: Grid = GRID
    most_rows: int = MOST_ROWS


def one_row_cases() -> Iterator[Case]:
    # The other noise is looked at in the cases of two rows and of default domains.
    yield from (
        Case(p, protect, noise, LOW)
        for p, protect, noise in product(PS, ONE_ROW, sized(NOISES[:1], NOISES))
    )
    yield from (
        Case(p, protect, NOISES[0], LOWEST)
        for p, protect in product(sized(PS[2:], PS), ONE_ROW[: sized(1, 2)])
    )
    yield from (
        Case(p, protect, noise, HIGH)
        for p, protect, noise in product(sized(PS[2:], PS), ONE_ROW, sized(NOISES[:1], NOISES))
    )


def two_row_cases() -> Iterator[Case]:
    grid, most = sized((plain_grid(3), 3), (plain_grid(5), 4))
    changes = (AddOrRemoveRows(2), ReplaceRows(2))
    for protect, noise in product(changes, sized(NOISES[1:], NOISES)):
        yield Case(Fraction(1, 2), protect, noise, LOW, grid, most)


def default_domain_cases() -> Iterator[Case]:
    grid = Grid(-3, 2, Fraction(0), Fraction(1), anchor=0)
    noises = sized(NOISES[1:], NOISES)
    for p, protect, noise in product(sized(PS[2:], PS[1:]), ONE_ROW, noises):
        yield Case(p, protect, noise, LOW, grid, sized(2, 3))


ALL_CASES = [*one_row_cases(), *two_row_cases(), *default_domain_cases()]
NAMES = [f"{case}-{'default' if case.grid.anchor == 0 else 'given'}" for case in ALL_CASES]


@pytest.mark.one_in(6)
@pytest.mark.slow
@pytest.mark.parametrize("case", ALL_CASES, ids=NAMES)
def test_neighbours_and_quantiles_are_safe_on_every_table(
    case: Case, figures: Callable[[str], None]
):
    """No output is more than e^epsilon times as likely on a neighbour, and no table sees a bad
    interval more often than beta.
    """
    findings = measure(case)
    figures(findings.told(case))
    assert findings.private(case)
    assert findings.covers()


# The checks can fail: each of these bugs is caught, on few tables already.


@pytest.fixture(autouse=True)
def _forgotten(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that plants a bug leaves nothing behind, and finds nothing from before."""
    if "monkeypatch" not in request.fixturenames:
        # The two noises choose values: both have the same clocks.
        yield
        return
    kept.clear()
    yield
    kept.clear()


FEW = (plain_grid(sized(4, 5)), 2)
SOUND = Case(Fraction(1, 2), AddOrRemoveRows(1), "exponential", LOW, *FEW)
STEEP = replace(SOUND, p=Fraction(9, 10))


@dataclass(frozen=True)
class HalfAddOrRemoveRows(AddOrRemoveRows):
    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        return super().sensitivity(p, groups) / 2


@dataclass(frozen=True)
class HalfReplaceRows(ReplaceRows):
    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        return super().sensitivity(p, groups) / 2


@dataclass(frozen=True)
class MedianAddOrRemoveRows(AddOrRemoveRows):
    def sensitivity(self, p: Fraction, groups: int = 1) -> Fraction:
        return Fraction(1, 2)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "case",
    [SOUND, STEEP, replace(STEEP, noise="gumbel"), replace(SOUND, protect=ReplaceRows(1))],
    ids=str,
)
def test_few_tables_pass_without_a_bug(case: Case):
    findings = measure(case)
    assert findings.private(case)
    assert findings.covers()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    "protect",
    [HalfAddOrRemoveRows(1), HalfReplaceRows(1)],
    ids=lambda protect: type(protect).__name__,
)
def test_half_the_sensitivity_is_caught(protect: ProtectedChange, noise: Noise):
    case = replace(SOUND, protect=protect, noise=noise)
    assert not measure(case).private(case)


def test_the_medians_sensitivity_at_another_quantile_is_caught():
    case = replace(STEEP, protect=MedianAddOrRemoveRows(1), most_rows=3)
    assert not measure(case).private(case)


def test_one_row_of_noise_for_two_rows_per_person_is_caught():
    case = replace(SOUND, protect=HalfAddOrRemoveRows(2))
    assert not measure(case).private(case)


def test_a_rounded_target_rank_is_caught(monkeypatch: pytest.MonkeyPatch):
    """Rounding p*n makes counts against it more sensitive."""

    def rounded(counts: Whole, n: int, p: Fraction, largest: int, fine: int = 1) -> Whole:
        return (counts - int(p * n)) * units_per_row(p)

    monkeypatch.setattr(links_module, "over_target", rounded)
    monkeypatch.setattr(value_module, "over_target", rounded)
    assert not measure(SOUND).private(SOUND)


def test_an_edge_of_the_data_taken_for_one_of_the_domain_is_caught(monkeypatch: pytest.MonkeyPatch):
    """Only the grid's ends are public: past the last row a link is no deeper than the rows."""
    original = Links.clocks

    def clocks(links: Links, window: RankWindow) -> tuple[Clock, Clock]:
        clock, _ = original(links, window)
        none, every = over_target(np.array([0, window.n]), window.n, links.step.p, 0)
        sides = [
            side._replace(depths=np.where(side.depths == past_all, 1_000, side.depths))
            for side, past_all in zip(
                clock.sides, np.array([-none, every]) - links.step.bad_units, strict=True
            )
        ]
        changed = replace(clock, sides=tuple(sides))
        return changed, changed

    sound = measure(SOUND)
    monkeypatch.setattr(Links, "clocks", clocks)
    kept.clear()
    findings = measure(SOUND)
    assert not findings.private(SOUND)
    # It is the interval that tells, and the value that does not.
    assert findings.value == sound.value
    assert findings.interval > 2 * sound.interval


def test_an_edge_that_is_not_infinitely_deep_is_caught(monkeypatch: pytest.MonkeyPatch):
    """It costs no privacy and misses nothing, but it is another clock than the one defined."""
    original = Links._clock

    def clock(links: Links, left: Plateaus, right: Plateaus) -> Clock:
        last = max(left.end, right.end)
        finite = [
            Plateaus(side.starts, side.depths, last) if len(side.starts) else side
            for side in (left, right)
        ]
        return original(links, *finite)

    monkeypatch.setattr(Links, "_clock", clock)
    assert not as_defined(random_cases(20))


def test_a_minimum_over_earlier_links_is_caught(monkeypatch: pytest.MonkeyPatch):
    """A level must not be above what a later link would have."""

    def levels(clock: Clock, side: Plateaus, limit: float) -> dict[int, Fraction | None]:
        found: dict[int, Fraction | None] = {}
        least: Fraction | None = None
        for start, depth, end in zip(side.starts, side.depths, side.ends, strict=True):
            term = clock.rate * int(depth) - clock.dial.reading(int(end))
            least = term if least is None else min(least, term)
            found[int(start)] = least
        return found | {side.end: None}

    monkeypatch.setattr(Clock, "_exact_levels", levels)
    assert not as_defined(random_cases(20))


def test_levels_that_are_no_minima_are_caught(monkeypatch: pytest.MonkeyPatch):
    """Without the minimum E may fall, and then S does not make up for it."""

    def levels(clock: Clock, side: Plateaus, limit: float) -> dict[int, Fraction | None]:
        starts = [int(start) for start in side.starts]
        terms = [
            clock.rate * int(depth) - clock.dial.reading(int(end))
            for depth, end in zip(side.depths, side.ends, strict=True)
        ]
        return dict(zip(starts, terms, strict=True)) | {side.end: None}

    monkeypatch.setattr(Clock, "_exact_levels", levels)
    assert not as_defined(random_cases(20))


def test_an_interval_that_is_not_bad_taken_for_one_of_no_depth_is_caught(
    monkeypatch: pytest.MonkeyPatch,
):
    """A link of depth 9/10 is bad at p = 9/10: E must start as low as that."""
    monkeypatch.setattr(ClockStep, "bad", Fraction(0))
    assert not measure(replace(STEEP, epsilon=HIGH)).covers()


RUNNING_OUT = {
    "at once": lambda stopped, time: (1 - stopped) * (-time).exp() / 10**9,
    "twice as fast": lambda stopped, time: running_ball(stopped, 2 * time),
    "as if half had stopped": lambda stopped, time: (
        running_ball(stopped / 2, time) * (1 - stopped) / (1 - stopped / 2)
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", RUNNING_OUT.values(), ids=RUNNING_OUT)
def test_a_clock_that_runs_out_otherwise_is_caught(
    how: Callable[[arb, arb], arb], monkeypatch: pytest.MonkeyPatch
):
    """Later links have less chance than a neighbour leaves them."""
    monkeypatch.setattr(clock_module, "running_ball", how)
    assert not all(measure(case).private(case) for case in (SOUND, replace(SOUND, epsilon=HIGH)))


def test_a_reading_that_depends_on_the_rows_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = Links.clocks

    def clocks(links: Links, window: RankWindow) -> tuple[Clock, Clock]:
        clock, _ = original(links, window)
        counted = replace(clock, dial=Readings((Fraction(5 + window.n),), ()))
        return counted, counted

    monkeypatch.setattr(Links, "clocks", clocks)
    assert not measure(SOUND).private(SOUND)


# The clock that ships has the chances of its definition.


@dataclass(frozen=True)
class ClockCase:
    """A table, a question about it, and a place to draw an interval around."""

    rows: Rows
    grid: Grid
    terms: QuantileTerms
    index: int
    shape: Shape


def random_cases(number: int) -> list[ClockCase]:
    random = Random(number)
    grids = (
        plain_grid(2),
        plain_grid(7),
        plain_grid(40),
        Grid(-5, 6, Fraction(0), Fraction(1), anchor=0),
    )
    found = []
    for _ in range(number):
        grid = random.choice(grids)
        values = [random.randint(grid.first, grid.last) for _ in range(random.randint(1, 6))]
        rows = tuple(sorted(random.choices(values, k=random.randint(0, 30))))
        terms = QuantileTerms(
            random.choice((Fraction(1, 100), *PS)),
            Spend(Fraction(1), random.choice((Fraction(1, 20), Fraction(1), Fraction(8)))),
            Fraction(1, random.choice((2, 10, 1000))),
            random.choice((AddOrRemoveRows(1), ReplaceRows(2))),
        )
        index = random.randint(grid.first, grid.last)
        found.append(ClockCase(rows, grid, terms, index, random.choice(SHAPES)))
    return found


def as_defined(cases: list[ClockCase]) -> bool:
    """Whether the chances that ship are those of the definition, to sixty digits."""
    for case in cases:
        place = (case.terms, case.grid, case.index, case.shape)
        links = shipped_links(Depth(), *place)
        shipped = shipped_chances(links.clocks(whole_window(case.rows))[0])
        defined = defined_chances(Depth(), *place, case.rows)
        with precisely():
            if [links.ends(k) for k in range(len(shipped))] != [ends for ends, _ in defined]:
                return False
            pairs = zip(shipped, (chance for _, chance in defined), strict=True)
            if not all(abs(one - other) < arb(10) ** -60 for one, other in pairs):
                return False
    return True


def test_the_clock_that_ships_is_the_one_defined():
    assert as_defined(random_cases(sized(30, 2_000)))


# A table on which nothing is left: both draws meet their bounds.


def test_a_gap_makes_privacy_tight(figures: Callable[[str], None]):
    """43 rows at 0, one at 1, 19 at 10^9, and one more there: the value and its interval together
    come within a thousandth of epsilon.
    """
    far = 10**9
    grid = Grid(0, far, Fraction(0), Fraction(1))
    terms = QuantileTerms(
        Fraction(1, 2), Spend(Fraction(1, 2), Fraction(1, 2)), BETA, AddOrRemoveRows(1)
    )
    tables = [tuple([0] * 43 + [1] + [far] * more) for more in (19, 20)]
    ratios = []
    with precisely():
        for index in (0, 1, 2):
            links = shipped_links(Depth(), terms, grid, index, "even")
            clocks = [links.clocks(whole_window(rows))[0] for rows in tables]
            for k in (0, 1, 2, 10):
                chances = [1 - clock.running_after(k) for clock in clocks]
                ratios.append(float((chances[0] / chances[1]).log()))
    figures(f"largest log ratio of the interval {max(map(abs, ratios)):.5f} of 0.5")
    assert 0.499 < max(map(abs, ratios)) <= 0.5


# The exact chances themselves, against other ways to compute them.


def permute_and_flip(logs: list[float]) -> list[float]:
    """McKenna and Sheldon 2020: try candidates in random order, take each with the chance q_i."""
    weights = [exp(log - max(logs)) for log in logs]
    orders = list(permutations(range(len(logs))))
    found = [0.0] * len(logs)
    for order in orders:
        passed = 1.0
        for i in order:
            found[i] += passed * weights[i] / len(orders)
            passed *= 1 - weights[i]
    return found


LOGS = [fmpq(0), fmpq(-1, 3), fmpq(-5, 2), fmpq(-5, 2), fmpq(-7)]


def test_exponential_noise_is_permute_and_flip():
    """Ding et al. 2021, "The permute-and-flip mechanism is identical to report-noisy-max with
    exponential noise".
    """
    exact = chances("exponential", LOGS, [1] * len(LOGS))
    assert [float(chance) for chance in exact] == pytest.approx(
        permute_and_flip([float(arb(each)) for each in LOGS]), rel=1e-12
    )


@pytest.mark.parametrize("noise", NOISES)
def test_copies_are_candidates_like_others(noise: Noise):
    spread = chances(noise, [fmpq(0), *[fmpq(-1)] * 3, *[fmpq(-2)] * 5], [1] * 9)
    grouped = chances(noise, [fmpq(0), fmpq(-1), fmpq(-2)], [1, 3, 5])
    with precisely():
        parts = [spread[0], sum(spread[1:4]), sum(spread[4:])]
        assert all(part.overlaps(group) for part, group in zip(parts, grouped, strict=True))
        assert all(float(chance.rad()) < 1e-60 for chance in spread + grouped)


def test_the_bounds_for_crowds_hold_the_exact_chances():
    weights, copies = [arb(1), arb(fmpq(1, 3)), arb(fmpq(1, 9))], [20, 30, 14]
    with precisely():
        exact, crowded = exponential_chances(weights, copies), crowded_chances(weights, copies)
        assert all(outer.contains(inner) for outer, inner in zip(crowded, exact, strict=True))


@pytest.mark.parametrize("noise", NOISES)
def test_chances_add_up_to_one(noise: Noise):
    with precisely():
        assert sum(chances(noise, LOGS, [1, 4, 2, 1, 9])).contains(1)


# What is checked: the neighbours, and the promise.

SMALLEST = all_tables(plain_grid(2), 2)


@pytest.mark.parametrize(
    ("protect", "pairs"),
    [(AddOrRemoveRows(1), 6), (ReplaceRows(1), 9), (AddOrRemoveRows(2), 12), (ReplaceRows(2), 15)],
    ids=str,
)
def test_neighbours_of_the_smallest_tables(protect: ProtectedChange, pairs: int):
    """Counted by hand on (), 0, 1, 00, 01, 11; each pair stands in both orders."""
    assert len(neighbours(SMALLEST, protect)) == 2 * pairs


HYNDMAN_FAN = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
)


@pytest.mark.parametrize("definition", HYNDMAN_FAN)
def test_the_promise_holds_every_textbook_quantile(definition: str):
    """Each interval that keeps the promise contains the quantile as NumPy computes it, by all nine
    definitions.
    """
    ends = [(low, high) for low in range(5) for high in range(low, 5)]
    for p, rows in product(PS, all_tables(plain_grid(5), 4)[1:]):
        quantile = np.quantile(rows, float(p), method=definition)
        kept = [
            (low, high) for low, high in ends if holds_quantile(low, high, rows, p, plain_grid(5))
        ]
        assert kept
        assert all(low <= quantile <= high for low, high in kept)


@pytest.mark.parametrize(
    ("rows", "ends"),
    [((1, 2, 3), (1, 3)), ((1, 1, 3, 3), (1, 3)), ((2,), (0, 4)), ((2, 2), (2, 2))],
    ids=str,
)
def test_the_least_interval_that_keeps_the_promise(rows: Rows, ends: tuple[int, int]):
    """By hand for the median: t = n/2, so x_(floor t) to x_(ceil t + 1), and an end of the grid
    where there is no such row.
    """
    grid, p = plain_grid(5), Fraction(1, 2)
    kept = [
        (low, high)
        for low in range(5)
        for high in range(low, 5)
        if holds_quantile(low, high, rows, p, grid)
    ]
    assert min(kept, key=lambda each: each[1] - each[0]) == ends
