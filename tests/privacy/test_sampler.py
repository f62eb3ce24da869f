"""The sampler is the distribution: real draws against the exact chances, and the same test on a
sampler with less noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import flint
import numpy as np
import pytest
from chi_square import chance_of_worse, fits, rejected
from exact_clock import defined_chances
from tiny_draws import Part, Parts, Watched, drawn, place_chances, span_chances

from postri.audit.tiny_tables import narrow_windows, plain_grid, whole_windows
from postri.grid import Grid
from postri.mechanisms import clock as clock_module
from postri.mechanisms import noisy_max as noisy_max_module
from postri.mechanisms.coins import Draw, Key, SeededCoins, SystemCoins, Words, below
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, noisy_max
from postri.methods import depth as depth_module
from postri.methods.depth import Depth
from postri.methods.links import ClockStep, Links
from postri.methods.method import QuantileTerms, Span
from postri.methods.value import ValueStep
from postri.privacy import AddOrRemoveRows, ReplaceRows, Spend
from postri.window import Windows
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

DRAWS, ANSWERS = sized((400, 200), (50_000, 25_000))
# Enough to reject 30 % less noise for sure: the expected statistics lie above 250, where 50 to 90
# reject.
ENOUGH = 1_500
NOISES: tuple[Noise, ...] = ("exponential", "gumbel")
# Noise that is 30 % smaller makes each score worth more noise scales.
MORE = Fraction(10, 7)


def bonus(number: float) -> int:
    return int(log(number) * (1 << BOOST_BITS))


FLAT = Parts(
    (
        Part(0, 1, 0),
        Part(1, 5, -6),
        Part(5, 7, -9, bonus(3)),
        Part(7, 17, -14),
        Part(17, 18, -20, bonus(20)),
    )
)
# Two super-runs: one that bounds its parts loosely and one that bounds them tightly, with another
# inside.
LEFT = Part(0, 6, 9, inside=(Part(0, 2, -4), Part(2, 3, 0), Part(3, 6, -9)))
INNER = Part(9, 20, 4, inside=(Part(9, 12, -8), Part(12, 19, -12), Part(19, 20, -3)))
RIGHT = Part(7, 20, 9, bonus(2), inside=(Part(7, 9, -7), INNER))
NESTED = Parts((LEFT, Part(6, 7, -5), RIGHT))
RATE = Fraction(1, 3)
RUN_KINDS = {"flat": FLAT, "nested": NESTED}
RUNS = pytest.mark.parametrize("runs", RUN_KINDS.values(), ids=RUN_KINDS)
NOISE = pytest.mark.parametrize("noise", NOISES)


Figures = Callable[[str], None]


def meeting(**choices: Collection[Any]) -> pytest.MarkDecorator:
    """A test of each with each; outside `make prove` of every other combination, in which every
    choice occurs, and of three or more all pairs do.
    """
    numbered = product(*(enumerate(each) for each in choices.values()))
    step = sized(2, 1)
    found = [
        tuple(choice for _, choice in combination)
        for combination in numbered
        if sum(place for place, _ in combination) % step == 0
    ]
    return pytest.mark.parametrize(tuple(choices), found)


def copies(
    runs: Parts, noise: Noise, rate: Fraction = RATE, number: int = DRAWS
) -> Counter[Hashable]:
    coins = SystemCoins()
    return drawn(number, lambda: noisy_max(runs, rate=rate, noise=noise, coins=coins).copy)


def check(found: Counter[Hashable], chances: dict[Hashable, float], figures: Figures) -> None:
    """The draws fit the chances; says how well."""
    figures(f"p-value {chance_of_worse(found, chances):.3g} of {found.total()} draws")
    assert fits(found, chances)


@pytest.mark.slow
@RUNS
@NOISE
def test_every_copy_wins_as_often_as_it_should(runs: Parts, noise: Noise, figures: Figures):
    """Runs of different sizes, bonuses, and super-runs that must be opened."""
    check(copies(runs, noise), runs.chances(noise, RATE), figures)


@pytest.mark.slow
@RUNS
@NOISE
def test_thirty_percent_less_noise_is_rejected(runs: Parts, noise: Noise):
    def draw(number: int) -> Counter[Hashable]:
        return copies(runs, noise, RATE * MORE, number)

    assert rejected(draw, runs.chances(noise, RATE), ENOUGH)


@pytest.mark.slow
def test_the_other_noise_is_rejected():
    def draw(number: int) -> Counter[Hashable]:
        return copies(FLAT, "gumbel", number=number)

    assert rejected(draw, FLAT.chances("exponential", RATE), 3 * ENOUGH)


# Half of the chance is hidden, behind a bound that is the score itself.
TIGHT = Parts((Part(0, 1, 0), Part(1, 9, -6, inside=(Part(1, 5, -6), Part(5, 9, -6)))))


def restarted(entry: noisy_max_module._Entry) -> noisy_max_module._Batch:
    """Opens a run and throws its coins away."""
    entry.batch.tops[entry.j] = -np.inf
    return noisy_max_module._Batch(entry.batch.race, entry.batch.runs.open(entry.j), entry.key)


@pytest.mark.slow
@NOISE
def test_fresh_coins_for_an_opened_run_are_rejected(noise: Noise, monkeypatch: pytest.MonkeyPatch):
    """A run is opened because its noise is large: its parts must keep that noise."""

    def draw(number: int) -> Counter[Hashable]:
        return copies(TIGHT, noise, number=number)

    chances = TIGHT.chances(noise, RATE)
    assert fits(draw(sized(DRAWS, 2 * ENOUGH)), chances)
    monkeypatch.setattr(noisy_max_module._Entry, "opened", restarted)
    assert rejected(draw, chances, 2 * ENOUGH)


# The value step on a table whose window hides rows on both sides.

ROWS = (0, 0, 2, 3, 3, 4, 5, 7, 7, 8, 9)
GRID = plain_grid(10)
QUESTION = QuantileTerms(
    Fraction(1, 2), Spend(Fraction(3, 2), Fraction(1)), Fraction(1, 10), AddOrRemoveRows(1)
)


def places(
    windows: Windows, noise: Noise, *, inflate: int, rate: Fraction, number: int, opened: list[int]
) -> Counter[Hashable]:
    runs, coins = (
        Watched(Depth(noise).value_step(QUESTION).runs(windows, GRID), inflate, opened),
        SystemCoins(),
    )

    def once() -> tuple[str, int]:
        picked = noisy_max(runs, rate=rate, noise=noise, coins=coins)
        return picked.runs.inner.shape(picked.run), GRID.at(picked.copy)

    return drawn(number, once)


INFLATED = {"when needed": 0, "always": 10_000}


@pytest.mark.slow
@meeting(opens=INFLATED, noise=NOISES)
def test_a_narrow_window_leaves_every_value_its_chance(opens: str, noise: Noise, figures: Figures):
    opened: list[int] = []
    rate = Depth(noise).value_step(QUESTION).rate
    found = places(
        narrow_windows(ROWS, QUESTION.p, 0),
        noise,
        inflate=INFLATED[opens],
        rate=rate,
        number=DRAWS,
        opened=opened,
    )
    figures(f"{len(opened) / DRAWS:.2f} runs opened per draw")
    check(found, place_chances(ROWS, QUESTION, GRID, Depth(noise)), figures)
    assert len(opened) > DRAWS


@pytest.mark.slow
@NOISE
def test_thirty_percent_less_noise_is_rejected_in_a_narrow_window(noise: Noise):
    rate = Depth(noise).value_step(QUESTION).rate * MORE
    windows = narrow_windows(ROWS, QUESTION.p, 0)

    def draw(number: int) -> Counter[Hashable]:
        return places(windows, noise, inflate=0, rate=rate, number=number, opened=[])

    assert rejected(draw, place_chances(ROWS, QUESTION, GRID, Depth(noise)), 2 * ENOUGH)


# Whole answers: the value and both ends.

FEW_ROWS = (1, 1, 1, 2, 2, 3, 3, 3)
FEW_POINTS = plain_grid(6)
DEFAULT_POINTS = Grid(-2, 4, Fraction(0), Fraction(1), anchor=0)
ASKED = QuantileTerms(
    Fraction(1, 2), Spend(Fraction(1), Fraction(4)), Fraction(1, 10), ReplaceRows(1)
)


def spans(windows: Windows, grid: Grid, noise: Noise, number: int = ANSWERS) -> Counter[Hashable]:
    method, coins = Depth(noise), SystemCoins()
    return drawn(number, lambda: method.draw(windows, ASKED, grid, coins))


GRIDS = {"given": FEW_POINTS, "default": DEFAULT_POINTS}
SHOWN = {"whole": whole_windows(FEW_ROWS), "narrow": narrow_windows(FEW_ROWS, ASKED.p, 0)}


@pytest.mark.one_in(2)
@pytest.mark.slow
@meeting(shown=SHOWN, points=GRIDS, noise=NOISES)
def test_every_answer_is_as_likely_as_it_should_be(
    shown: str, points: str, noise: Noise, figures: Figures
):
    grid = GRIDS[points]
    found = spans(SHOWN[shown], grid, noise)
    check(found, span_chances(FEW_ROWS, ASKED, grid, Depth(noise)), figures)


@pytest.fixture
def _fresh_steps() -> Iterator[None]:
    """A step keeps what it once computed of its rate: those from before know nothing of a bug, and
    those with one must not stay.
    """
    depth_module._steps.cache_clear()
    yield
    depth_module._steps.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("_fresh_steps")
@pytest.mark.parametrize("noise", sized(NOISES[:1], NOISES))
@pytest.mark.parametrize(
    ("step", "rate"), [(ValueStep, "rate"), (ClockStep, "nats_per_row")], ids=["value", "interval"]
)
def test_thirty_percent_less_noise_in_one_step_is_rejected(
    step: type, rate: str, noise: Noise, monkeypatch: pytest.MonkeyPatch
):
    """The expected statistics of all draws lie above 250, where 53 reject: not to reject them has
    odds of less than one in 10^19.
    """
    exact = span_chances(FEW_ROWS, ASKED, FEW_POINTS, Depth(noise))
    usual = getattr(step, rate).func
    monkeypatch.setattr(step, rate, property(lambda self: usual(self) * MORE))

    def draw(number: int) -> Counter[Hashable]:
        return spans(whole_windows(FEW_ROWS), FEW_POINTS, noise, number)

    assert rejected(draw, exact, 2 * ENOUGH)


# The hard draws, which floats cannot decide.


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the float path so careful that ball arithmetic decides."""

    def careful() -> None:
        monkeypatch.setattr(noisy_max_module, "NOISE_MARGIN", 5.0)
        monkeypatch.setattr(clock_module, "CHANCE_MARGIN", 1.0)

    return careful


@pytest.mark.slow
@NOISE
def test_ball_arithmetic_names_the_winner_that_floats_name(
    noise: Noise, unsure: Callable[[], None]
):
    def winners() -> list[tuple[Span, int, int]]:
        windows, method = narrow_windows(FEW_ROWS, ASKED.p, 0), Depth(noise)
        return [
            (
                method.draw(windows, ASKED, FEW_POINTS, SeededCoins(seed)),
                *(
                    noisy_max(runs, rate=RATE, noise=noise, coins=SeededCoins(seed)).copy
                    for runs in (FLAT, NESTED)
                ),
            )
            for seed in range(sized(30, 5_000))
        ]

    sure = winners()
    unsure()
    assert winners() == sure


@pytest.mark.slow
@meeting(kind=RUN_KINDS, noise=NOISES)
def test_ball_arithmetic_gives_every_copy_its_chance(
    kind: str, noise: Noise, unsure: Callable[[], None], figures: Figures
):
    unsure()
    runs = RUN_KINDS[kind]
    check(copies(runs, noise), runs.chances(noise, RATE), figures)


@pytest.mark.slow
@pytest.mark.parametrize("noise", sized(NOISES[:1], NOISES))
def test_thirty_percent_less_noise_is_rejected_by_ball_arithmetic(
    noise: Noise, unsure: Callable[[], None]
):
    unsure()

    def draw(number: int) -> Counter[Hashable]:
        return copies(NESTED, noise, RATE * MORE, number)

    assert rejected(draw, NESTED.chances(noise, RATE), ENOUGH)


class TiedCoins:
    """Coins that agree in the first `depth` words of every candidate; the others are seeded."""

    private = False

    def __init__(self, word: int, depth: int, seed: int) -> None:
        self.word, self.depth, self.later = word, depth, SeededCoins(seed).draw()

    def draw(self) -> Draw:
        return self

    def words(self, key: Key, number: int) -> Words:
        tied = key[-1] == "words" or (key[-2] == "bits" and key[-1] < 64 * self.depth)
        return (
            np.full(number, self.word, dtype=np.uint64) if tied else self.later.words(key, number)
        )


@NOISE
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("word", [0, 1 << 63, (1 << 64) - 1], ids=["zeros", "half", "ones"])
def test_more_coins_decide_where_the_first_ones_tie(word: int, depth: int, noise: Noise):
    """Equal candidates: the larger uniform number wins."""
    runs = Parts(tuple(Part(j, j + 1, -5) for j in range(3)))
    for seed in range(20):
        coins = TiedCoins(word, depth, seed)
        later = [int(coins.words((j, "bits", 64 * depth), 1)[0]) for j in range(3)]
        assert noisy_max(runs, rate=RATE, noise=noise, coins=coins).run == int(np.argmax(later))


# The clock alone, and where its uniform number lies on a border.

CLOCK_ROWS = (10,) * 4 + (11, 13, 13, 14, 20, 21, 25, 25, 25, 40)
CLOCK_GRID = plain_grid(60)


def clock_links() -> Links:
    return Depth().clock_step(ASKED).links(CLOCK_GRID, 14, "even")


@pytest.mark.slow
def test_every_link_is_as_likely_as_it_should_be(figures: Figures):
    coins, windows = SystemCoins(), narrow_windows(CLOCK_ROWS, ASKED.p, 0)
    step = Depth().clock_step(ASKED)
    found = drawn(ANSWERS, lambda: step.draw(windows, CLOCK_GRID, 14, "even", coins))
    exact = defined_chances(Depth(), ASKED, CLOCK_GRID, 14, "even", CLOCK_ROWS)
    check(found, {ends: float(chance) for ends, chance in exact}, figures)


class BorderCoins:
    """A uniform number that begins with these words; the bits after them are all alike."""

    private = False

    def __init__(self, words: list[int], rest: int) -> None:
        self.given, self.rest = words, rest

    def draw(self) -> Draw:
        return self

    def words(self, key: Key, number: int) -> Words:
        place = key[-1] // 64 if key[-1] != "clock" else 0
        word = self.given[place] if place < len(self.given) else self.rest
        return np.array([word], dtype=np.uint64)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("link", [0, 1, 4, 11, 30, 44])
def test_more_coins_decide_where_the_uniform_number_lies_on_a_border(link: int, depth: int):
    """Of numbers that agree with a border for some words, those below it have this link, those
    above it the next one.
    """
    (clock, _) = clock_links().clocks(whole_windows(CLOCK_ROWS)(0))
    with flint.ctx.workprec(400):
        border = int(((1 - clock.running_after(link)) * 2**320).floor().unique_fmpz())
    words = [border >> 256 - 64 * place & (1 << 64) - 1 for place in range(depth)]
    ones = (1 << 64) - 1
    for rest, expected in ((0, link), (ones, link + 1)):
        coins = BorderCoins(words, rest)
        low, high = (
            Depth().clock_step(ASKED).draw(whole_windows(CLOCK_ROWS), CLOCK_GRID, 14, "even", coins)
        )
        assert (low, high) == clock_links().ends(expected)


# Uniform whole numbers.


def modulo(draw: Draw, key: Key, bound: int) -> int:
    """The biased way."""
    return int(draw.words(key, 1)[0]) % bound


def shares(pick: Callable[[Draw, Key, int], int], parts: int, width: int) -> Counter[Hashable]:
    """Into which of the equal parts of `0..parts*width-1` numbers fall."""
    draw = SystemCoins().draw()
    return drawn(2 * DRAWS, lambda: pick(draw, (), parts * width) // width)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 64, 100])
@pytest.mark.parametrize("width", [1, 1 << 62, 3**50], ids=["1", "2^62", "3^50"])
def test_below_is_uniform(parts: int, width: int):
    assert fits(shares(below, parts, width), dict.fromkeys(range(parts), 1 / parts))


def test_a_remainder_is_rejected():
    assert not fits(shares(modulo, 3, 1 << 62), dict.fromkeys(range(3), 1 / 3))
