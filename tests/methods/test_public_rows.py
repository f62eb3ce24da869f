"""The published methods need a public number of rows: null cells and cells that cannot be read
change neither n nor the set of answers, and what would change them is refused.

Everything here goes through `postri.median`, as users ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from math import inf, log
from pathlib import Path
from random import Random

import numpy as np
import pytest
from exact_draws import Branches
from exact_methods import Method, Output, Rows, defined_chances

import postri
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    Depth,
    Domain,
    InputError,
    PostRI,
    PostRISVT,
    ReplaceRows,
    ReplaceUnits,
    SeededCoins,
    Sun2023,
    Sun2023SVT,
)
from postri.audit.tiny_tables import whole_window
from postri.methods.method import QuantileTerms, check_rows
from postri.methods.published import NOT_ALWAYS, ROWS_ARE_PUBLIC, Published
from postri.privacy import Spend
from postri.question.population import LOWEST
from postri.window import WIDER, RankWindow, Target, Windows, holds, trim, with_lowest
from proving import sized

Figures = Callable[[str], None]
Cells = tuple[int | None, ...]
"""A table: its cells, of which some are null."""

METHODS: list[Method] = [PostRI(), PostRI(0.9), Sun2023(), Sun2023(4), PostRISVT(), Sun2023SVT()]
EVERY_METHOD = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
HALF = Fraction(1, 2)
POINTS = sized(3, 4)
SIZES = sized((2,), (2, 3))
SLACK = 1e-9


def all_tables(points: int, size: int) -> list[Cells]:
    """Every table of `size` rows, whatever their order: each cell is a point or null."""
    return list(combinations_with_replacement((*range(points), None), size))


def filled(cells: Cells) -> Rows:
    """The rows that the methods are to see: a null is the lower end."""
    return tuple(sorted(cell or 0 for cell in cells))


def median(cells, method: Method, points: int, epsilon: Fraction | int = 1, **given):
    table = postri.open({"x": list(cells)}, columns={"x": "integer"})
    terms = {"protect": ReplaceRows(1), "confidence": 0.9, **given}
    return postri.median(
        table, column="x", epsilon=epsilon, method=method, domain=Domain(0, points - 1), **terms
    )


# Every tiny table with null cells, every neighbour, every answer.


def chances(
    branches: Branches, cells: Cells, method: Method, points: int, epsilon: int
) -> dict[Output, float]:
    """The exact chance of every answer that `postri.median` gives."""

    def output() -> Output:
        answer = median(cells, method, points, epsilon)
        return Fraction(answer.value), answer.interval.low, answer.interval.high

    return branches.followed(output)


def largest_ratio(found: dict[Cells, dict[Output, float]]) -> float:
    """The largest log ratio of one answer's chances on two tables that differ in one row."""
    ratios = [0.0]
    for one, other in permutations(found, 2):
        if len(one) != len(other) or (Counter(one) - Counter(other)).total() != 1:
            continue
        for output, chance in found[one].items():
            if chance:
                against = found[other].get(output, 0.0)
                ratios.append(log(chance / against) if against else inf)
    return max(ratios)


@pytest.fixture
def branches(monkeypatch: pytest.MonkeyPatch) -> Branches:
    return Branches(monkeypatch)


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [4, 1][: sized(1, 2)])
@EVERY_METHOD
def test_a_row_that_becomes_null_is_as_private_as_any_other(
    method: Method, epsilon: int, branches: Branches, figures: Figures
):
    """No answer is impossible on a neighbour, and none is likelier by more than e^epsilon."""
    largest = 0.0
    for size in SIZES:
        found = {
            cells: chances(branches, cells, method, POINTS, epsilon)
            for cells in all_tables(POINTS, size)
        }
        assert len({frozenset(each) for each in found.values()}) == 1
        largest = max(largest, largest_ratio(found))
    figures(f"largest log ratio {largest:.4f} of {epsilon}, null cells among the rows")
    assert largest <= epsilon + SLACK


@pytest.mark.one_in(4)
@pytest.mark.slow
@EVERY_METHOD
def test_a_null_cell_has_the_chances_of_the_lower_end(method: Method, branches: Branches):
    terms = QuantileTerms(HALF, Spend(HALF, HALF), Fraction(1, 10), ReplaceRows(1))
    for cells in all_tables(3, 2):
        expected = defined_chances(method, filled(cells), 3, terms)
        assert chances(branches, cells, method, 3, 1) == pytest.approx(expected, rel=1e-5), cells


def test_methods_that_drop_null_cells_break_the_promise(
    branches: Branches, monkeypatch: pytest.MonkeyPatch
):
    """The enumeration can fail.

    Without the rule, (0, [0, 2]) comes out of the rows 0 and 3 in a quarter of all draws, and never
    where the 3 is null: the answer tells the two tables apart for certain.
    """
    monkeypatch.setattr(Published, "every_row", False)
    cells: list[Cells] = [(0, 3), (0, None)]
    found = {each: chances(branches, each, PostRI(), 4, 1) for each in cells}
    told = (Fraction(0), 0, 2)
    assert found[0, 3][told] == pytest.approx(0.26463, abs=1e-5)
    assert told not in found[0, None]
    assert largest_ratio(found) == inf


# Windows of the table with its missing rows at the lowest index.


def given_windows(rows: Rows, target: Target) -> Windows:
    """As an engine gives them."""
    window = whole_window(rows)
    return lambda level: trim(window, target.p, target.half * WIDER**level)


def random_case(seed: int) -> tuple[Rows, int, Target]:
    """Rows that can be read, how many more there are, and the window that is wanted."""
    random = Random(seed)
    highest = random.choice((1, 5, 300))
    lowest = random.choice((0, 0, 1))
    rows = [random.randint(lowest, highest) for _ in range(random.choice((0, 1, 7, 60, 400)))]
    missing = random.choice((0, 1, 5, 80, 1_000))
    p = random.choice((HALF, HALF, Fraction(9, 10), Fraction(1, 7)))
    return tuple(sorted(rows)), missing, Target(p, random.choice((1, 2, 10, 2**62)))


CASES = range(sized(40, 3_000))


@pytest.mark.parametrize("seed", CASES)
def test_windows_are_those_of_the_table_with_its_missing_rows_filled_in(seed: int):
    rows, missing, target = random_case(seed)
    every_row = (0,) * missing + rows
    found = with_lowest(given_windows(rows, target), target, rows=len(every_row), lowest=0)
    expected = given_windows(every_row, target)
    for level in range(4):
        assert found(level) == expected(level)


def test_the_cases_need_wider_windows_and_show_the_lowest_or_not():
    """What the comparison is for happens."""
    wider, shown, hidden = 0, 0, 0
    for seed in CASES:
        rows, missing, target = random_case(seed)
        if not missing or not rows:
            continue
        first = given_windows(rows, target)(0)
        every_row = with_lowest(
            given_windows(rows, target), target, rows=len(rows) + missing, lowest=0
        )(0)
        shifted = RankWindow(first.indexes, first.counts, first.below + missing, every_row.n)
        wider += not holds(shifted, target.p, target.half) and first.below > 0
        shown += every_row.below == 0
        hidden += every_row.below > 0
    assert min(wider, shown, hidden) > len(CASES) / 20


def test_a_table_without_missing_rows_keeps_its_windows():
    target = Target(HALF, 1)
    windows = given_windows((1, 2, 2, 5), target)
    assert with_lowest(windows, target, rows=4, lowest=0) is windows


# What users see.


@pytest.mark.one_in(3)
@pytest.mark.slow
@EVERY_METHOD
@pytest.mark.parametrize("share", sized([0.02, 0.6], [0.0, 0.02, 0.4, 0.6, 1.0]))
def test_the_same_coins_give_the_answer_of_the_filled_table(method: Method, share: float):
    """Also where windows must be fetched wider than they were asked for."""
    random = Random(1)
    cells = [None if random.random() < share else random.randrange(1, 10_001) for _ in range(9_000)]
    for epsilon in (1, 100):
        coins = {"coins": SeededCoins(3)}
        answer = median(cells, method, 10_001, epsilon, **coins)
        coins = {"coins": SeededCoins(3)}
        assert answer == median([cell or 0 for cell in cells], method, 10_001, epsilon, **coins)


@pytest.mark.parametrize("method", ["postri", "sun2023-svt"])
def test_cells_of_a_file_that_cannot_be_read_count_as_the_lower_end(method: str, tmp_path: Path):
    cells = ["17", "", "many", "90", "3", "nan"] * 200
    file = tmp_path / "cells.csv"
    file.write_text("x\n" + "\n".join(f'"{cell}"' for cell in cells) + "\n", encoding="utf-8")
    table = postri.open(str(file), columns={"x": "integer"})
    numbers = np.array([int(cell) if cell.isdigit() else 0 for cell in cells])
    asked = {"epsilon": 5, "method": method, "domain": Domain(0, 100), "protect": ReplaceRows(1)}
    answer = postri.median(table, column="x", coins=SeededCoins(5), **asked)
    whole = postri.median(numbers, coins=SeededCoins(5), **asked)
    assert (answer.value, answer.interval) == (whole.value, whole.interval)
    assert (answer.population, whole.population) == (f"all rows, {LOWEST}", "all rows")


@EVERY_METHOD
def test_an_answer_says_that_the_number_of_rows_is_public(method: Method):
    answer = median([1, 2, 3], method, 10)
    assert ROWS_ARE_PUBLIC in answer.notes
    assert NOT_ALWAYS in answer.notes
    assert "counts as the domain's lower end" in str(answer)
    assert "counts as the domain's lower end" in answer.explain()


def test_depth_drops_null_cells_and_says_nothing():
    """The rule is that of the published methods alone."""
    cells = [*range(500), *[None] * 4_000]
    answer = median(cells, Depth(), 500, 10, coins=SeededCoins(1))
    assert answer.notes == ()
    assert abs(answer.value - 250) < 20


class Untouchable(dict):
    """A source that must not be opened."""

    def __getitem__(self, name):
        raise AssertionError("touched")


@EVERY_METHOD
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"where": "x > 1"}, "takes no where: it answers for every row of the table"),
        ({"protect": ReplaceUnits("x")}, "takes no units: it answers for every row"),
        ({"protect": AddOrRemoveUnits("x")}, "takes no units: it answers for every row"),
    ],
    ids=["where", "replace-units", "add-or-remove-units"],
)
def test_what_makes_the_number_of_rows_private_is_refused_unread(
    method: Method, given: dict, told: str
):
    asked = {"epsilon": 1, "protect": ReplaceRows(1), "domain": Domain(0, 10), **given}
    with pytest.raises(
        InputError, match=f"{method.name} needs a public number of rows, so it {told}"
    ):
        postri.median(Untouchable(x=[1]), column="x", method=method, **asked)


@EVERY_METHOD
def test_groups_are_refused(method: Method):
    with pytest.raises(InputError, match="takes no by: it answers for every row of the table"):
        check_rows(method, where=False, by=True, protect=ReplaceRows(1))


def test_depth_takes_a_filter_groups_and_units():
    check_rows(Depth(), where=True, by=True, protect=ReplaceUnits("x"))
    check_rows(Depth(), where=True, by=True, protect=AddOrRemoveRows(1))
