"""Many groups are drawn in arrays, and each draws what it would draw alone.

Seeded coins are addressed by draw and key, so both ways toss the same ones. Both are exact, so they
agree in every value and every interval, whatever floats leave in doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from random import Random

import flint
import numpy as np
import pytest

from postri.audit.tiny_tables import plain_grid
from postri.grid import Grid
from postri.mechanisms import clock, clocks, noisy_max, races
from postri.mechanisms.coins import Coins, Draw, Key, SeededCoins, Words
from postri.methods import depth
from postri.methods.depth import Depth
from postri.methods.groups import ManyGroups
from postri.methods.links import CLOCK_KEY
from postri.methods.method import QuantileTerms, Span, WindowMethod
from postri.privacy import AddOrRemoveRows, ReplaceRows, Spend
from postri.window import RankWindow, Windows, trim
from proving import sized

CASES = sized(16, 600)
HARD_CASES = sized(3, 40)
LOWEST, HIGHEST = -(2**63), 2**63 - 1
GRIDS = (
    plain_grid(1),
    plain_grid(3),
    plain_grid(40),
    plain_grid(10**8),
    Grid(-5, 6, Fraction(0), Fraction(1), anchor=0),
    Grid(LOWEST, HIGHEST, Fraction(0), Fraction(1), anchor=0),
    Grid(LOWEST, HIGHEST, Fraction(2**63), Fraction(1), anchor=LOWEST),
    Grid(LOWEST, HIGHEST, Fraction(0), Fraction(1)),
)
PS = (Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10))
EPSILONS = (Fraction(1, 20), Fraction(1, 4), Fraction(1), Fraction(4), Fraction(50))
PROTECTS = (AddOrRemoveRows(1), AddOrRemoveRows(3), ReplaceRows(1), ReplaceRows(2))
NOISES = ("exponential", "gumbel")


@dataclass(frozen=True)
class Case:
    """Groups, and what is asked of each of them."""

    method: Depth
    counted: Sequence[Sequence[Windows]]
    terms: Sequence[QuantileTerms]
    grid: Grid

    def together(self, coins: Coins) -> list[list[Span]]:
        return list(self.method.draw_groups(self.counted, self.terms, self.grid, coins))

    def one_by_one(self, coins: Coins) -> list[list[Span]]:
        drawn = WindowMethod.draw_groups(self.method, self.counted, self.terms, self.grid, coins)
        return list(drawn)


def random_case(seed: int) -> Case:
    """Small and large tables, ties and gaps, cells at both ends of the grid, empty groups; windows
    that show everything, or so little that draws ask for more.
    """
    random = Random(seed)
    grid = random.choice(GRIDS)
    groups = random.randint(depth.FEWEST_TOGETHER, 25)
    terms = [random_terms(random, groups) for _ in range(random.randint(1, 2))]
    method = Depth(random.choice(NOISES))
    usual = random.random() < 0.4
    counted = []
    for _ in range(groups):
        window = whole(random_rows(random, grid))
        halves = [random.randint(0, 30) for _ in terms]
        if usual:
            halves = [method.half(each, grid) for each in terms]
        counted.append(
            [widening(window, each.p, half) for each, half in zip(terms, halves, strict=True)]
        )
    return Case(method, counted, terms, grid)


def random_terms(random: Random, groups: int) -> QuantileTerms:
    if random.random() < 0.1:
        # One of them: what a population's quantile needs takes long to compute.
        return QuantileTerms(
            Fraction(9, 10),
            Spend(Fraction(1), Fraction(1)),
            Fraction(1, 20),
            AddOrRemoveRows(1),
            groups,
            covers="population",
        )
    return QuantileTerms(
        random.choice(PS),
        Spend(random.choice(EPSILONS), random.choice(EPSILONS)),
        Fraction(1, random.choice((5, 20, 100, 10**6))),
        random.choice(PROTECTS),
        groups,
    )


def random_rows(random: Random, grid: Grid) -> list[int]:
    anywhere = random.randint(grid.first, grid.last)
    centre = random.choice((grid.first, grid.last, grid.zero, anywhere))
    spread = min(10 ** random.randint(0, 19), grid.last - grid.first)
    values = [
        min(max(centre + random.randint(-spread, spread), grid.first), grid.last)
        for _ in range(random.choice((1, 3, 30, 300)))
    ]
    values += random.choice(([], [], [grid.first], [grid.last], [grid.first, grid.last]))
    if random.random() < 0.3:
        return values
    return random.choices(values, k=random.choice((0, 0, 1, 2, 5, 30, 300, 2_000)))


def whole(rows: Sequence[int]) -> RankWindow:
    indexes, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return RankWindow(indexes, counts.astype(np.int64), 0, len(rows))


def widening(window: RankWindow, p: Fraction, half: int) -> Windows:
    return lambda level: trim(window, p, (half + 1) * 4**level - 1)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many values and intervals of groups are drawn one by one after all."""
    seen: Counter[str] = Counter()

    def watched(name: str) -> Callable[..., object]:
        original = getattr(ManyGroups, name)

        def draw(groups: ManyGroups, *given: object) -> object:
            seen[name] += 1
            return original(groups, *given)

        return draw

    for name in ("_value", "_interval"):
        monkeypatch.setattr(ManyGroups, name, watched(name))
    return seen


@pytest.mark.slow
def test_groups_draw_together_what_each_draws_alone(
    alone: Counter[str], figures: Callable[[str], None]
):
    """Also where the window that a draw begins with does not tell, so that a part of the groups is
    drawn one by one.
    """
    drawn = 0
    for seed in range(CASES):
        case = random_case(seed)
        together = case.together(SeededCoins(seed))
        assert together == case.one_by_one(SeededCoins(seed)), seed
        drawn += len(together) * len(case.terms)
    figures(f"{drawn} draws; by themselves: {dict(alone)}")
    assert 0.02 * drawn < alone["_value"] < 0.3 * drawn
    assert 0.02 * drawn < alone["_interval"] < 0.5 * drawn


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch):
    cases = [random_case(seed) for seed in range(HARD_CASES)]
    at_once = [case.together(SeededCoins(1)) for case in cases]
    for cells in (100, 1_000):
        monkeypatch.setattr(depth, "MOST_CELLS", cells)
        assert [case.together(SeededCoins(1)) for case in cases] == at_once


def test_a_chunk_is_no_larger_than_its_longest_row_allows():
    """One group of many atoms among many of few would make rows of many cells for all."""
    short, long = whole(range(5)), whole(range(50_000))
    few = [lambda level: short]
    many = [lambda level: long]
    chunks = list(depth._chunks([*[few] * 6_000, many, *[few] * 100]))
    assert [len(chunk) for chunk in chunks] == [4_096, 1_904, 1, 100]


def test_groups_of_usual_tables_are_drawn_in_arrays(alone: Counter[str]):
    """A group falls back with odds of about one in 10^8 here, and seeded coins have no luck."""
    coins = SeededCoins(3)
    grid = GRIDS[5]
    terms = [QuantileTerms(p, Spend(1, 1), Fraction(1, 20), AddOrRemoveRows(1), 40) for p in PS[1:]]
    generator = np.random.default_rng(1)
    counted = []
    for _ in range(40):
        window = whole(np.exp(generator.normal(10, 0.5, 2_000)).astype(np.int64))
        counted.append([widening(window, each.p, Depth().half(each, grid)) for each in terms])
    assert len(Case(Depth(), counted, terms, grid).together(coins)) == 40
    assert not alone


# Where floats leave a doubt.


def test_balls_decide_what_floats_decide(monkeypatch: pytest.MonkeyPatch, alone: Counter[str]):
    cases = [random_case(seed) for seed in range(HARD_CASES)]
    by_floats = [case.together(SeededCoins(2)) for case in cases]
    alone.clear()
    for module in (races, noisy_max):
        monkeypatch.setattr(module, "NOISE_MARGIN", 5.0)
    for module in (clocks, clock):
        monkeypatch.setattr(module, "CHANCE_MARGIN", 1.0)
    assert [case.together(SeededCoins(2)) for case in cases] == by_floats
    draws = sum(len(case.counted) * len(case.terms) for case in cases)
    assert min(alone["_value"], alone["_interval"]) > draws / 3


@dataclass(frozen=True)
class ScriptedCoins:
    """Seeded coins, but for the words that `script` gives for a key of a draw; notes what was
    tossed.
    """

    script: Callable[[int, Key, Words], Words]
    seeded: SeededCoins = field(default_factory=lambda: SeededCoins(5))
    numbers: Iterator[int] = field(default_factory=count)
    tossed: Counter[tuple[int, Key]] = field(default_factory=Counter)
    private: bool = False

    def draw(self) -> Draw:
        return ScriptedDraw(self, next(self.numbers), self.seeded.draw())


@dataclass(frozen=True)
class ScriptedDraw:
    coins: ScriptedCoins
    number: int
    seeded: Draw

    def words(self, key: Key, number: int) -> Words:
        self.coins.tossed[self.number, key] += 1
        return self.coins.script(self.number, key, self.seeded.words(key, number))


@pytest.mark.parametrize("word", [0, 1 << 63, (1 << 64) - 1], ids=["zeros", "half", "ones"])
def test_where_all_first_words_tie_more_of_the_same_coins_decide(word: int, alone: Counter[str]):
    def tied(draw: int, key: Key, words: Words) -> Words:
        return np.full_like(words, word) if key == noisy_max.WORDS else words

    for seed in range(HARD_CASES):
        case = random_case(seed)
        assert case.together(ScriptedCoins(tied)) == case.one_by_one(ScriptedCoins(tied))
    assert alone["_value"]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_uniform_number_on_a_border_between_two_links_is_drawn_alone(
    more: int, alone: Counter[str]
):
    """Each group's number agrees with a border in its first words; the next bits are all zeros, or
    all ones.
    """
    grid = plain_grid(60)
    rows = (10,) * 4 + (11, 13, 13, 14, 20, 21, 25, 25, 25, 40)
    terms = QuantileTerms(Fraction(1, 2), Spend(1, 4), Fraction(1, 10), ReplaceRows(1), 12)
    case = Case(Depth(), [[lambda level: whole(rows)]] * 12, [terms], grid)
    steps = case.method.steps(terms, grid)

    def value(g: int) -> tuple[int, str]:
        coins = ScriptedCoins(lambda draw, key, words: words)
        draws = [coins.draw() for _ in range(2 * g + 1)]
        return case.method.draw_value(case.counted[g][0], steps, _Only(draws[-1]))

    borders = []
    for g in range(12):
        drawn, _ = steps.clock.links(grid, *value(g)).clocks(whole(rows))
        with flint.ctx.workprec(400):
            chance = 1 - drawn.running_after(min(3 * g, drawn.last - 1))
            borders.append(int((chance * 2**320).floor().unique_fmpz()))

    def on_border(draw: int, key: Key, words: Words) -> Words:
        if key[0] != CLOCK_KEY[0]:
            return words
        place = 0 if key == CLOCK_KEY else key[-1] // 64
        word = (1 << 64) - 1 if draw % 4 == 1 else 0
        if place <= more:
            word = borders[draw // 2] >> 256 - 64 * place & (1 << 64) - 1
        return np.array([word], dtype=np.uint64)

    assert case.together(ScriptedCoins(on_border)) == case.one_by_one(ScriptedCoins(on_border))
    assert alone["_interval"] == 12


@dataclass(frozen=True)
class _Only:
    """Coins for one draw."""

    only: Draw
    private: bool = False

    def draw(self) -> Draw:
        return self.only


def test_no_coin_is_tossed_twice(alone: Counter[str]):
    """What is drawn alone after all keeps the words that it has: to toss others would change the
    chances.
    """
    for seed in range(CASES):
        coins = ScriptedCoins(lambda draw, key, words: words)
        random_case(seed).together(coins)
        assert set(coins.tossed.values()) == {1}
    assert min(alone["_value"], alone["_interval"]) > 0


def test_numbers_of_more_than_64_bits_are_drawn_alone(alone: Counter[str]):
    """Counts of 2^58 rows, and a quantile of many digits."""
    grid = plain_grid(100)
    window = RankWindow(np.array([10, 50, 51]), np.array([3, 1, 2]) << 58, 0, 6 << 58)
    for p in (Fraction(1, 2), Fraction(10**17 + 1, 10**18)):
        terms = QuantileTerms(p, Spend(1, 1), Fraction(1, 20), AddOrRemoveRows(1), 5)
        case = Case(Depth(), [[lambda level: window]] * 5, [terms], grid)
        assert case.together(SeededCoins(4)) == case.one_by_one(SeededCoins(4))
    assert alone["_value"] == alone["_interval"] == 10


# The comparison can fail.


def differ() -> bool:
    cases = [random_case(seed) for seed in range(40)]
    return any(
        case.together(SeededCoins(seed)) != case.one_by_one(SeededCoins(seed))
        for seed, case in enumerate(cases)
    )


def test_a_hidden_run_that_is_taken_for_what_it_shows_is_caught(monkeypatch: pytest.MonkeyPatch):
    original = races.Races.clear_winners

    def hopeful(these: races.Races, words: Words, **given) -> np.ndarray:
        known = races.Races(
            these.scores, these.boosts, np.ones_like(these.known), these.sizes, these.starts
        )
        return original(known, words, **given)

    monkeypatch.setattr(races.Races, "clear_winners", hopeful)
    assert differ()


def test_a_clock_that_takes_hidden_links_for_shallow_is_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        clocks.Clocks, "_whatever_is_hidden", lambda these, links: np.ones(len(links), dtype=bool)
    )
    assert differ()
