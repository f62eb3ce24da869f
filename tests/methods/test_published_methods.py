"""The published methods: their runs against brute force, their draws against closed forms, and what
users see of them.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from exact_methods import Expanded, Method, Output, Rows, defined_chances, postri_chances

import postri
from postri import (
    AddOrRemoveRows,
    Domain,
    InputError,
    PostRI,
    PostRISVT,
    ReplaceRows,
    SeededCoins,
    Sun2023,
    Sun2023SVT,
)
from postri.audit.tiny_tables import narrow_windows, plain_grid, whole_window, whole_windows
from postri.grid import Grid
from postri.mechanisms.coins import SystemCoins
from postri.methods import postri as postri_module
from postri.methods.method import QuantileTerms
from postri.methods.published import UNIT, Ranks, Steps, Tieless, Widths, size_of
from postri.privacy import Spend
from postri.window import RankWindow, Windows
from privacy.chi_square import chance_of_worse, fits, rejected
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

Figures = Callable[[str], None]

HALF = Fraction(1, 2)
DRAWS, ENOUGH = sized(400, 100_000), 4_000
CASES = range(sized(12, 1_000))
METHODS: list[Method] = [
    PostRI(),
    PostRI("optimal"),
    PostRI(0.9),
    PostRISVT(),
    Sun2023(),
    Sun2023(4),
    Sun2023SVT(),
]
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)


def random_table(random: Random) -> tuple[Rows, int]:
    """Few different values, so that there are ties; at times no rows, and rows at both edges."""
    points = random.randint(2, 9)
    values = random.choices(range(points), k=random.randint(1, 6))
    return tuple(sorted(random.choices(values, k=random.randint(0, 12)))), points


# The grid without ties.


def shifted(rows: Rows, points: int, by: int) -> tuple[RankWindow, Grid]:
    """The table on a grid that begins elsewhere."""
    whole = whole_window(rows)
    return RankWindow(whole.indexes + by, whole.counts, 0, whole.n), Grid(
        by, by + points - 1, Fraction(0), Fraction(1)
    )


@pytest.mark.parametrize("seed", CASES)
def test_ties_become_neighbours_and_come_back_by_floor_division(seed: int):
    random = Random(seed)
    rows, points = random_table(random)
    table, by = Expanded(rows, points), random.randint(-20, 20)
    seen = Tieless.of(*shifted(rows, points, by))
    assert seen.positions.tolist() == table.copies
    assert len(set(table.copies)) == len(rows)
    assert (
        (seen.n, seen.below, seen.size)
        == (len(rows), 0, table.size)
        == (len(rows), 0, size_of(len(rows), plain_grid(points)))
    )
    everywhere = range(-5, table.last + len(rows) + 5)
    assert [seen.index(position) for position in everywhere] == [
        by + table.index(position) for position in everywhere
    ]
    assert [seen.rank(position) for position in everywhere] == [
        table.rank(position) for position in everywhere
    ]
    assert all(seen.holds(position) for position in everywhere)


@pytest.mark.parametrize("seed", CASES)
def test_a_narrow_window_knows_the_ranks_that_it_holds_and_no_others(seed: int):
    """It holds a position if the rows that are hidden cannot tell on its rank: from its first row
    on, and before its last.
    """
    rows, points = random_table(Random(seed))
    table, window = Expanded(rows, points), narrow_windows(rows, HALF, 0)(0)
    seen = Tieless.of(window, plain_grid(points))
    assert seen.positions.tolist() == table.copies[window.below : len(rows) - window.above]
    for position in range(table.last + 1):
        least = seen.below == 0 or position >= table.copies[seen.below]
        most = seen.upto == len(rows) or position < table.copies[seen.upto - 1]
        assert seen.holds(position) == (least and most)
        if seen.holds(position):
            assert seen.rank(position) == table.rank(position)


def test_a_domain_that_is_too_large_for_its_rows_is_refused():
    grid = plain_grid(2**40)
    assert size_of(2**21, grid) == 2**21 * (2**40 - 1)
    with pytest.raises(
        InputError,
        match=r"must stay below 2\^62; this domain has 1,099,511,627,777 points: give a smaller",
    ):
        size_of(2**22, plain_grid(2**40 + 1))


# Runs against brute force: every position, every half-width.


def opened(runs: Steps) -> list[tuple[int, int]]:
    """Every candidate with its exact score, with hidden runs opened level by level until nothing is
    hidden.
    """
    found: list[tuple[int, int]] = []
    for j in range(len(runs.scores)):
        if runs.known[j]:
            found += [(candidate, int(runs.scores[j])) for candidate in range(*runs.span(j))]
        else:
            parts = runs.open(j)
            assert (parts.span(0)[0], parts.span(len(parts.scores) - 1)[1]) == runs.span(j)
            assert parts.level == runs.level + 1
            found += opened(parts)
    return found


def check_runs(runs: Steps, truth: dict[int, Fraction]) -> None:
    """The runs hold every candidate once; known scores are exact to 2^-19 rows, the others are
    bounds from above.
    """
    candidates = [candidate for j in range(len(runs.scores)) for candidate in range(*runs.span(j))]
    assert candidates == list(truth)
    assert runs.sizes.tolist() == [
        float(end - first) for first, end in map(runs.span, range(len(runs.scores)))
    ]
    for j in range(len(runs.scores)):
        told = Fraction(int(runs.scores[j]), UNIT)
        true = [truth[candidate] for candidate in range(*runs.span(j))]
        if runs.known[j]:
            assert all(abs(told - score) < Fraction(1, 2**19) for score in true)
        else:
            assert told >= max(true) - Fraction(1, 2**19)
    exact = opened(runs)
    assert [candidate for candidate, _ in exact] == list(truth)
    assert all(
        abs(Fraction(score, UNIT) - truth[candidate]) < Fraction(1, 2**19)
        for candidate, score in exact
    )


def rank_truth(table: Expanded, target: Fraction) -> dict[int, Fraction]:
    """u(y) = -|R(y) - target|."""
    return {position: -abs(table.rank(position) - target) for position in range(table.last + 1)}


def width_truth(table: Expanded, position: int, step: int, aim: Fraction) -> dict[int, Fraction]:
    """q(b) = -|f(b) - aim|, by the number of the half-width."""
    return {
        k + 1: -abs(table.fewer(position, b) - aim) for k, b in enumerate(table.half_widths(step))
    }


def several_windows(rows: Rows) -> list[Windows]:
    return [whole_windows(rows), *(narrow_windows(rows, HALF, half) for half in (0, 1, 3))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", CASES)
def test_positions_are_scored_by_how_near_their_rank_comes(seed: int):
    random = Random(seed)
    rows, points = random_table(random)
    table = Expanded(rows, points)
    for target in (
        Fraction(len(rows), 2),
        Fraction(random.randint(-30, 150), 7),
        Fraction(random.random() * 12),
    ):
        truth = rank_truth(table, target)
        for windows in several_windows(rows):
            check_runs(Ranks.near(target, windows, plain_grid(points)), truth)
        assert Ranks.near(target, whole_windows(rows), plain_grid(points)).known.all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", CASES)
def test_half_widths_are_scored_by_how_near_their_rows_come(seed: int):
    random = Random(seed)
    rows, points = random_table(random)
    table, aim = Expanded(rows, points), Fraction(random.randint(-10, 60), 9)
    for step, position in product(
        (1, random.randint(2, 5), table.size + 1), {0, table.last, random.randint(0, table.last)}
    ):
        truth = width_truth(table, position, step, aim)
        for windows in several_windows(rows):
            check_runs(Widths.around(position, step, aim, windows, plain_grid(points)), truth)
        assert Widths.around(
            position, step, aim, whole_windows(rows), plain_grid(points)
        ).known.all()


def test_the_narrow_windows_hide_and_show_something():
    """What the checks of narrow windows are for happens."""
    hidden, unseen, deep = 0, 0, 0
    for seed in CASES:
        rows, points = random_table(Random(seed))
        windows, grid = narrow_windows(rows, HALF, 0), plain_grid(points)
        runs = Ranks.near(Fraction(len(rows), 2), windows, grid)
        hidden += bool((~runs.known).any() and runs.known.any())
        unseen += not Tieless.of(windows(0), grid).holds(0)
        deep += any(not runs.open(j).known.all() for j in np.flatnonzero(~runs.known))
    assert min(hidden, unseen, deep) > len(CASES) / 10


def test_a_large_domain_costs_no_more_than_its_rows():
    random = Random(1)
    rows = tuple(sorted({random.randrange(10**12) for _ in range(1_000)}))
    grid, windows = plain_grid(10**12 + 1), whole_windows(rows)
    runs = Ranks.near(Fraction(len(rows), 2), windows, grid)
    assert len(runs.scores) <= len(rows) + 1
    assert runs.sizes.sum() == pytest.approx(1e15, rel=1e-3)
    widths = Widths.around(len(rows) * rows[500], 7, Fraction(30), windows, grid)
    assert len(widths.scores) <= len(rows) / 2 + 1
    # The bank table on the paper's domain, n*N = 4.5e12, at no more than its distinct values.
    tied = tuple(sorted(random.choices(range(0, 10**8, 10**5), k=45_211)))
    assert (
        len(Ranks.near(Fraction(0), whole_windows(tied), plain_grid(10**8 + 1)).scores)
        <= len(tied) + 1
    )


# Draws against closed forms.

ROWS: Rows = (1, 1, 2, 4, 4)
POINTS = 7


def asked(epsilon: int | Fraction = 2) -> QuantileTerms:
    return QuantileTerms(
        HALF, Spend(Fraction(epsilon) / 2, Fraction(epsilon) / 2), Fraction(1, 10), ReplaceRows(1)
    )


def outputs(
    method: Method,
    windows: Windows,
    points: int = POINTS,
    terms: QuantileTerms | None = None,
    number: int = DRAWS,
):
    coins, grid, terms = SystemCoins(), plain_grid(points), terms or asked()
    spans = (method.draw(windows, terms, grid, coins) for _ in range(number))
    return Counter((Fraction(span.value), span.low, span.high) for span in spans)


def check(found: Counter[Output], chances: dict[Output, float], figures: Figures) -> None:
    """The draws fit the chances; says how well."""
    figures(f"p-value {chance_of_worse(found, chances):.3g} of {found.total()} draws")
    assert fits(found, chances)


DRAWN: list[Method] = [
    PostRI(step=1),
    PostRI(0.9),
    PostRI("optimal", step=3),
    Sun2023(),
    Sun2023(Fraction(1, 4)),
    PostRISVT(step=1),
    Sun2023SVT(),
]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("method", DRAWN, ids=lambda method: method.name)
def test_every_answer_is_as_likely_as_it_should_be(method: Method, figures: Figures):
    check(
        outputs(method, whole_windows(ROWS)),
        defined_chances(method, ROWS, POINTS, asked()),
        figures,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", [PostRI(step=1), Sun2023SVT()], ids=lambda method: method.name)
def test_rows_at_both_edges_are_no_exception(method: Method, figures: Figures):
    rows = (0, 0, 0, 3, 5, 5, 5)
    check(
        outputs(method, whole_windows(rows), 6), defined_chances(method, rows, 6, asked()), figures
    )


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> Fraction:
    """A public aim that a handful of rows can reach."""
    aim = Fraction(7, 4)
    monkeypatch.setattr(postri_module.Setting, "aim", aim)
    return aim


MANY_ROWS: Rows = (0, 1, 1, 2, 4, 4, 4, 6, 7, 7, 9)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "windows",
    [whole_windows(MANY_ROWS), narrow_windows(MANY_ROWS, HALF, 0)],
    ids=["whole", "narrow"],
)
def test_an_aim_within_reach_leaves_every_answer_its_chance(
    windows: Windows, reachable: Fraction, figures: Figures
):
    found = outputs(PostRI(step=2), windows, 11)
    check(
        found,
        postri_chances(Expanded(MANY_ROWS, 11), Fraction(1), Fraction(1), 2, reachable),
        figures,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "less", [(Fraction(7, 10), 1), (1, Fraction(7, 10))], ids=["median", "interval"]
)
def test_thirty_percent_less_noise_in_one_step_is_rejected(
    less: tuple[Fraction, Fraction], reachable: Fraction
):
    """What ships has 30 % less noise than the closed form of a smaller epsilon."""
    terms = asked(8)
    exact = postri_chances(Expanded(MANY_ROWS, 11), 4 * less[0], 4 * less[1], 2, reachable)

    def draw(number: int) -> Counter[Output]:
        return outputs(PostRI(step=2), whole_windows(MANY_ROWS), 11, terms, number)

    assert rejected(draw, exact, ENOUGH)


# Laziness: windows that begin with few rows change nothing.


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the hidden runs that are opened."""
    found: Counter[str] = Counter()
    for kind in (Ranks, Widths):

        def noted(
            self: Steps, j: int, name: str = kind.__name__, opened: Callable[..., Steps] = kind.open
        ) -> Steps:
            found[name] += 1
            return opened(self, j)

        monkeypatch.setattr(kind, "open", noted)
    return found


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "half"),
    [
        (PostRI(), 0),
        (PostRI(), 2),
        (PostRI(0.9, step=2), 0),
        (Sun2023(), 0),
        (Sun2023(), 2),
        (Sun2023(Fraction(1, 4)), 0),
    ][:: sized(4, 1)],
    ids=lambda case: getattr(case, "name", None),
)
def test_narrow_windows_leave_every_answer_its_chance(
    method: Method, half: int, openings: Counter[str], figures: Figures
):
    """Other windows toss other coins, but each answer keeps its exact chance."""
    windows = narrow_windows(MANY_ROWS, HALF, half)
    assert windows(0).below > 0 and windows(0).above > 0
    found = outputs(method, windows, 11)
    check(found, defined_chances(method, MANY_ROWS, 11, asked()), figures)
    assert openings["Ranks"] > DRAWS / 10
    assert isinstance(method, Sun2023) or openings["Widths"] > DRAWS / 10


@pytest.mark.slow
def test_windows_that_forget_what_they_hide_are_rejected(monkeypatch: pytest.MonkeyPatch):
    """The comparison can fail: hidden runs that pass for known ones change the distribution."""
    windows = narrow_windows(MANY_ROWS, HALF, 0)
    near = Ranks.near.__func__

    def careless(cls: type[Ranks], *given) -> Ranks:
        runs = near(cls, *given)
        runs.known[:] = True
        return runs

    monkeypatch.setattr(Ranks, "near", classmethod(careless))

    def draw(number: int) -> Counter[Output]:
        return outputs(Sun2023(), windows, 11, number=number)

    assert rejected(draw, defined_chances(Sun2023(), MANY_ROWS, 11, asked()), ENOUGH)


# What users see.


def ask(source, method: Method, **given):
    terms = {
        "protect": ReplaceRows(1),
        "domain": Domain(0, 100),
        "epsilon": 1,
        "confidence": 0.99,
        "coins": SeededCoins(1),
        **given,
    }
    return postri.median(source, method=method, **terms)


def test_an_answer_tells_its_method_and_how_it_split_epsilon():
    answer = ask(list(range(101)) * 20, PostRI(split=0.7))
    assert (answer.spend.value, answer.spend.interval, answer.epsilon) == (
        Fraction(7, 10),
        Fraction(3, 10),
        1,
    )
    assert (answer.method, answer.private, answer.confidence) == ("postri-7:3", False, 0.99)
    assert answer.interval.low <= 50 <= answer.interval.high


def test_an_optimal_split_is_spent_whole_and_near_one_to_one():
    spend = ask(list(range(101)) * 20, PostRI("optimal")).spend
    assert spend.epsilon == 1
    assert Fraction(1, 2) < spend.value < Fraction(6, 10)


def test_sun2023_spends_all_on_the_interval():
    assert (
        ask(range(101), Sun2023()).spend
        == ask(range(101), Sun2023SVT()).spend
        == Spend(Fraction(0), Fraction(1))
    )


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (PostRI(), "postri-default"),
        (PostRI("optimal"), "postri-optimal"),
        (PostRI(0.7), "postri-7:3"),
        (PostRI("median-focused"), "postri-9:1"),
        (PostRI(0.9), "postri-9:1"),
        (PostRI("1/3"), "postri-1:2"),
        (PostRISVT(), "postri-svt"),
        (PostRISVT(0.9), "postri-svt-9:1"),
        (Sun2023(), "sun2023"),
        (Sun2023(8.0), "sun2023"),
        (Sun2023(4), "sun2023-4"),
        (Sun2023(9), "sun2023-9"),
        (Sun2023SVT(), "sun2023-svt"),
    ],
    ids=str,
)
def test_every_method_has_its_name_on_its_answers(method: Method, name: str):
    assert method.name == ask(range(101), method).method == name


@pytest.mark.parametrize(
    "method", [Sun2023(), Sun2023(4), Sun2023SVT()], ids=lambda method: method.name
)
def test_the_value_of_sun2023_is_the_exact_middle(method: Method):
    """Between two grid points where the interval has an odd width."""
    answers = [
        ask(np.arange(101).repeat(20), method, coins=SeededCoins(seed)) for seed in range(20)
    ]
    assert all(2 * answer.value == answer.interval.low + answer.interval.high for answer in answers)
    odd = [answer for answer in answers if answer.interval.width % 2]
    assert odd
    assert all(
        isinstance(answer.value, Decimal) and answer.value % 1 == Decimal("0.5") for answer in odd
    )


EDGE_TABLES = {
    "empty": [],
    "one-row": [37],
    "equal": [42] * 30,
    "edges": [0, 100],
    "both-edges": [0] * 15 + [100] * 15,
    "top": [100] * 30,
}


@pytest.mark.one_in(4)
@pytest.mark.slow
@EVERY_METHOD
@pytest.mark.parametrize("rows", EDGE_TABLES.values(), ids=EDGE_TABLES)
@pytest.mark.parametrize("epsilon", [0.01, 1, 1_000])
def test_no_table_is_special(rows: list[int], method: Method, epsilon: float):
    for seed in range(5):
        answer = ask(
            np.array(rows, dtype=np.int64), method, epsilon=epsilon, coins=SeededCoins(seed)
        )
        assert 0 <= answer.interval.low <= answer.value <= answer.interval.high <= 100
        assert (answer.interval.low_is_edge, answer.interval.high_is_edge) == (
            answer.interval.low == 0,
            answer.interval.high == 100,
        )


@EVERY_METHOD
@pytest.mark.parametrize("value", [0, 1, 50, 99, 100])
def test_a_value_that_all_rows_have_is_found(value: int, method: Method):
    """Also on the edges of the domain."""
    answer = ask(np.full(5_000, value), method)
    assert value in answer.interval
    assert abs(answer.value - value) <= 1


# Wrong questions are refused before the source is read.


class Watched(list):
    """A source that knows whether its cells were read."""

    read = False

    def __iter__(self):
        self.read = True
        return super().__iter__()

    def __getitem__(self, place):
        self.read = True
        return super().__getitem__(place)


def test_a_watched_source_notices_that_it_is_read():
    source = Watched(range(50))
    ask(source, PostRI())
    assert source.read


WRONG_QUESTIONS = {
    "p": ({"p": 0.9}, "answers for the median alone, not for p = 9/10; use method='depth'"),
    "presence": (
        {"protect": AddOrRemoveRows(1)},
        r"ask with protect=ReplaceRows\(1\), or use method='depth'",
    ),
    "two-rows": (
        {"protect": ReplaceRows(2)},
        r"protects against one replaced row alone; ask with protect=ReplaceRows\(1\)",
    ),
    "no-domain": (
        {"domain": None},
        r"must stay below 2\^62; this domain has 18,446,744,073,709,551,616 points: "
        "give a smaller one, or use depth",
    ),
    "large-domain": (
        {"domain": Domain(0, 2**62)},
        r"must stay below 2\^62; this domain has 4,611,686,018,427,387,905 points",
    ),
}


@EVERY_METHOD
@pytest.mark.parametrize(("wrong", "told"), WRONG_QUESTIONS.values(), ids=WRONG_QUESTIONS)
def test_a_question_that_a_method_cannot_answer_is_refused_unread(
    wrong: dict, told: str, method: Method
):
    source = Watched(range(50))
    terms = {"p": 0.5, "protect": ReplaceRows(1), "domain": Domain(0, 100), **wrong}
    with pytest.raises(InputError, match=told):
        postri.quantile(source, epsilon=1, method=method, **terms)
    assert not source.read


@pytest.mark.parametrize("kind", [PostRI, PostRISVT])
@pytest.mark.parametrize("split", [1.5, 0, 1, -0.1, "best", None, True, float("nan")])
def test_a_split_must_be_a_name_or_a_share(kind: type, split):
    told = "'default', 'optimal', 'median-focused' or the median's share of epsilon, such as 0.7"
    with pytest.raises(InputError, match=f"split must be {told}"):
        kind(split=split)


@pytest.mark.parametrize("kind", [PostRI, PostRISVT])
@pytest.mark.parametrize("step", [0, -1, 1.5, True, "2"])
def test_a_step_must_be_a_whole_number(kind: type, step):
    with pytest.raises(InputError, match="step must be a whole number of at least 1, got"):
        kind(step=step)


@pytest.mark.parametrize(
    ("constant", "told"),
    [(0, "positive, got 0"), (-4, "positive, got -4"), ("many", "a finite number, got 'many'")],
)
def test_a_constant_must_be_positive(constant, told: str):
    with pytest.raises(InputError, match=f"constant must be {told}"):
        Sun2023(constant)


def test_importing_the_package_leaves_research_out():
    code = (
        "import sys, postri; print([name for name in sys.modules if "
        "name.startswith('postri.research')], 'postri' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[] True"
