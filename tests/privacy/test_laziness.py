"""Laziness changes nothing: opening hidden runs only when they may win chooses what opening all of
them chooses.

Seeded coins are addressed by the path of a candidate, so both ways toss the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import pytest
from chi_square import chance_of_worse, fits
from tiny_draws import Watched, drawn, span_chances

from postri.audit.tiny_tables import Rows, narrow_windows, plain_grid, whole_window
from postri.grid import Grid
from postri.mechanisms import clock as clock_module
from postri.mechanisms import noisy_max as noisy_max_module
from postri.mechanisms.clock import Clock
from postri.mechanisms.coins import SeededCoins, SystemCoins
from postri.mechanisms.noisy_max import noisy_max
from postri.methods.depth import Depth
from postri.methods.links import Links
from postri.methods.method import QuantileTerms, Span
from postri.methods.value import Shape
from postri.privacy import AddOrRemoveRows, ReplaceRows, Spend
from postri.window import RankWindow, Windows
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

BATCHES, CASES = sized(2, 10), sized(100, 1_000)
# Far above every score and every noise, and still a bound.
SURELY = 10**9
GRIDS = (
    plain_grid(3),
    plain_grid(8),
    plain_grid(40),
    Grid(-5, 6, Fraction(0), Fraction(1), anchor=0),
)
PS = (Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10))
EPSILONS = (Fraction(1, 20), Fraction(1, 4), Fraction(1), Fraction(4))


@dataclass(frozen=True)
class Case:
    """A table, a question about it, the window that the draw begins with, and the coins."""

    rows: Rows
    grid: Grid
    question: QuantileTerms
    method: Depth
    half: int
    seed: int

    @property
    def windows(self) -> Windows:
        return narrow_windows(self.rows, self.question.p, self.half)


@dataclass(frozen=True)
class Draw:
    """What was drawn, the levels that were opened on the way, and the level of the run and of the
    link that won.
    """

    value: int
    shape: Shape
    low: int
    high: int
    opened: tuple[int, ...]
    won: tuple[int, int]

    @property
    def outcome(self) -> tuple[Span, Shape]:
        return Span(self.value, self.low, self.high), self.shape


def random_case(random: Random, seed: int) -> Case:
    """Few different values, so that there are ties; little epsilon, so that far values win at
    times.
    """
    grid = random.choice(GRIDS)
    values = [random.randint(grid.first, grid.last) for _ in range(random.randint(1, 12))]
    rows = tuple(sorted(random.choices(values, k=random.randint(0, 30))))
    spend = Spend(random.choice(EPSILONS), random.choice(EPSILONS))
    protect = random.choice((AddOrRemoveRows(1), ReplaceRows(1), ReplaceRows(3)))
    question = QuantileTerms(
        random.choice(PS), spend, Fraction(1, random.choice((5, 20, 100))), protect
    )
    return Case(
        rows,
        grid,
        question,
        Depth(random.choice(("exponential", "gumbel"))),
        random.randint(0, 3),
        seed,
    )


def random_cases(batch: int) -> list[Case]:
    random = Random(batch)
    return [random_case(random, batch * CASES + k) for k in range(CASES)]


def draw(case: Case, inflate: int = 0) -> Draw:
    """`Depth.draw`, watched; with `inflate`, hidden scores are bounded by so much more."""
    opened: list[int] = []
    method, grid, coins = case.method, case.grid, SeededCoins(case.seed)
    steps = method.steps(case.question, grid)
    value = steps.value
    windows = steps.value_windows(case.windows)
    runs = Watched(value.runs(windows, grid), inflate, opened)
    picked = noisy_max(runs, rate=value.rate, noise=method.noise, coins=coins)
    index, shape = grid.at(picked.copy), picked.runs.inner.shape(picked.run)
    seen: list[int] = []

    def clock_windows(level: int) -> RankWindow:
        seen.append(level)
        return whole_window(case.rows) if inflate > 0 else case.windows(level)

    ends = method.clock_step(case.question).draw(clock_windows, grid, index, shape, coins)
    return Draw(index, shape, *ends, tuple(opened), (picked.runs.inner.level, max(seen)))


def hidden_sides(case: Case) -> int:
    window = case.windows(0)
    return (window.below > 0) + (window.above > 0)


def shares(cases: list[Case], lazy: list[Draw], eager: list[Draw]) -> dict[str, float]:
    """How often the cases show what they are for."""
    happened = {
        "opened something": [bool(each.opened) for each in lazy],
        "opened with rows hidden on both sides": [
            bool(each.opened) and hidden_sides(case) == 2
            for case, each in zip(cases, lazy, strict=True)
        ],
        "opened beyond the next window": [max(each.opened, default=0) >= 2 for each in lazy],
        "opened less than all": [
            len(a.opened) < len(b.opened) for a, b in zip(lazy, eager, strict=True)
        ],
        "a hidden value won": [each.won[0] > 0 for each in lazy],
        "the clock saw a wider window": [each.won[1] > 0 for each in lazy],
    }
    return {what: sum(times) / len(times) for what, times in happened.items()}


@pytest.fixture
def careful(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on floats decide nothing: more runs are opened, and ball arithmetic tells the
    winner.
    """

    def careful() -> None:
        monkeypatch.setattr(noisy_max_module, "NOISE_MARGIN", 5.0)
        monkeypatch.setattr(clock_module, "CHANCE_MARGIN", 1.0)

    return careful


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_opening_all_hidden_runs_chooses_the_same(
    batch: int, careful: Callable[[], None], figures: Callable[[str], None]
):
    """Also where ball arithmetic decides, with rows hidden on both sides, and over several levels
    of windows.
    """
    cases = random_cases(batch)
    lazy, eager = [draw(case) for case in cases], [draw(case, SURELY) for case in cases]
    careful()
    decided = [draw(case) for case in cases]
    assert (
        [each.outcome for each in lazy]
        == [each.outcome for each in eager]
        == [each.outcome for each in decided]
    )

    found = shares(cases, lazy, eager)
    figures(
        f"{CASES} cases; shares: "
        + ", ".join(f"{what} {number:.2f}" for what, number in found.items())
    )
    assert min(found.values()) > 0.04
    assert found["opened something"] > 0.3


@pytest.mark.slow
def test_the_watched_draw_is_the_one_that_ships():
    for case in random_cases(BATCHES):
        shipped = case.method.draw(case.windows, case.question, case.grid, SeededCoins(case.seed))
        assert draw(case).outcome[0] == shipped


def test_a_bound_below_the_hidden_scores_is_caught():
    """The comparison can fail: hidden runs that are not opened where they could win change the
    winner.
    """
    assert any(draw(case).outcome != draw(case, -SURELY).outcome for case in random_cases(BATCHES))


@pytest.mark.slow
def test_a_clock_that_takes_what_is_hidden_for_deep_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = Links.clocks

    def hopeful(links: Links, window: RankWindow) -> tuple[Clock, Clock]:
        deepest, _ = original(links, window)
        return deepest, deepest

    expected = [draw(case).outcome for case in random_cases(BATCHES)]
    monkeypatch.setattr(Links, "clocks", hopeful)
    assert [draw(case).outcome for case in random_cases(BATCHES)] != expected


ROWS = (0, 1, 1, 2, 4, 4, 4, 6, 7, 7)
ASKED = QuantileTerms(
    Fraction(2, 3), Spend(Fraction(1), Fraction(4)), Fraction(1, 10), AddOrRemoveRows(1)
)


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("half", [0, 1, 3])
def test_every_window_gives_the_same_distribution(
    half: int, noise: str, figures: Callable[[str], None]
):
    """Other windows toss other coins, but each answer keeps its exact chance."""
    grid, method, coins, windows = (
        plain_grid(8),
        Depth(noise),
        SystemCoins(),
        narrow_windows(ROWS, ASKED.p, half),
    )
    assert not windows(0).whole
    found: Counter[Span] = drawn(
        sized(200, 25_000), lambda: method.draw(windows, ASKED, grid, coins)
    )
    exact = span_chances(ROWS, ASKED, grid, method)
    figures(f"p-value {chance_of_worse(found, exact):.3g} of {found.total()} draws")
    assert fits(found, exact)
