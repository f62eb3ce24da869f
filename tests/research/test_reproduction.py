"""The published results come out, and ours beside them: the paper's three tables at 1,000 runs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from postri.research.experiment import AS_RELEASED, Cell
from postri.research.report.published import CAUSES, OTHER_CAUSE, comparisons
from postri.research.report.results import (
    EPSILONS,
    SIZES,
    Results,
    published_cells,
    shape_name,
    synthetic_subjects,
)
from postri.research.report.sections import paired_errors
from postri.research.report.statistics import covers
from postri.research.subjects import SHAPES
from postri.research.tables import load_tables
from proving import sized
from run_here import run_experiments

RUNS = sized(40, 1_000)
# What is not compared with published results.
OWN_RUNS = sized(20, 1_000)
RESAMPLES = sized(5, 200)
SHAPE_RUNS = sized(20, 200)
SHAPE_SIZES = sized(SIZES[:3], SIZES)
PUBLISHED = ("postri-default", "postri-optimal", "postri-7:3", "postri-9:1", "sun2023")
TABLES = ("bank", "adult", "airplane")
# How far two standard deviations of the same draws may lie apart: of few draws further.
SPREADS = sized((0.6, 1.7), (0.7, 1.35))
# A draw of 1,000 has a true coverage of 0.99 or more unless this is rarer than one in ten thousand.
LEVEL = 1e-4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(tables) -> Results:
    subjects, missing = load_tables(tables)
    assert not missing
    cells = [
        Cell(table, method, epsilon, RUNS)
        for table in TABLES
        for epsilon in EPSILONS
        for method in (*PUBLISHED, *(released.name for released in AS_RELEASED.values()))
    ]
    cells += [
        Cell(table, method, epsilon, OWN_RUNS)
        for table in TABLES
        for epsilon in EPSILONS
        for method in ("depth", "sun2023-4", "depth-gumbel")
    ]
    cells += [
        Cell(table, method, epsilon, 1, resample=number)
        for table in TABLES
        for number in range(1, RESAMPLES + 1)
        for epsilon in EPSILONS
        for method in ("depth", "postri-default")
    ]
    found = Results(subjects, published_cells(tables), RUNS)
    found.add(run_experiments(cells, subjects))
    return found


@pytest.fixture(scope="module")
def shapes() -> dict[tuple[str, int, str], int]:
    """How many of the intervals held the median, on each shape and size."""
    subjects = synthetic_subjects()
    asked = [
        (shape, rows, method)
        for shape in SHAPES
        for rows in SHAPE_SIZES
        for method in ("depth", "depth-gumbel", "postri-default")
    ]
    cells = [
        Cell(shape_name(shape, rows), method, Fraction(1), SHAPE_RUNS)
        for shape, rows, method in asked
    ]
    return {
        key: int(outcome.covered.sum())
        for key, outcome in zip(asked, run_experiments(cells, subjects), strict=True)
    }


@pytest.fixture(scope="module")
def compared(results):
    return comparisons(results)


def test_every_published_cell_agrees_within_four_standard_errors_or_has_a_named_cause(compared):
    assert len(compared) == 75
    causes = {OTHER_CAUSE, *CAUSES.values()}
    astray = [
        (each.cell, str(each.error), str(each.half_width))
        for each in compared
        if not each.agrees and each.cause not in causes
    ]
    assert astray == []


def test_the_cells_of_the_plain_splits_agree_without_any_excuse(compared):
    """Only the 9:1 split on the airplane table at epsilon 0.5 does not: see the next test."""
    plain = [
        each
        for each in compared
        if each.cell.method in ("postri-default", "postri-7:3", "postri-9:1")
    ]
    astray = [each for each in plain if not each.agrees]
    assert [(each.cell.subject, each.cell.method, each.cell.epsilon) for each in astray] == [
        ("airplane", "postri-9:1", Fraction(1, 2))
    ]


def test_half_of_the_budget_unused_explains_the_airplane_cell(results, compared):
    """With twice the noise the half-width often runs into the next gap; with the noise of the paper
    hardly ever.
    """
    (cell,) = (
        each
        for each in compared
        if (each.cell.subject, each.cell.method, each.cell.epsilon)
        == ("airplane", "postri-9:1", Fraction(1, 2))
    )
    assert abs(cell.half_width.errors) > 6
    assert abs(cell.released_half_width.errors) < 3
    where = ("airplane", "postri-9:1", Fraction(1, 2))
    assert (results.of(*where).half_widths > 30).mean() < 0.02
    assert (results.released(*where).half_widths > 30).mean() > 0.3


@pytest.mark.parametrize("table", ["bank", "adult"])
def test_half_of_the_budget_unused_explains_the_published_spread(results, table):
    """The published standard deviations of half-widths are those of twice the noise, not of the
    algorithm's.
    """
    for epsilon in EPSILONS[:3]:
        told = results.published_of(table, "postri-9:1", epsilon).half_width_sd
        ours, slip = (
            get(table, "postri-9:1", epsilon).half_widths.std()
            for get in (results.of, results.released)
        )
        assert told / ours > 1.45
        assert SPREADS[0] < told / slip < SPREADS[1]


def test_the_optimal_split_of_another_sensitivity_explains_its_cells(compared):
    cells = [
        each
        for each in compared
        if each.cell.method == "postri-optimal" and each.cell.subject != "airplane"
    ]
    assert sum(not each.agrees for each in cells) >= 7
    assert all(each.explained for each in cells)
    # By the equation the interval is narrower: the published split was not the optimal one.
    assert all(each.half_width.errors < 0 for each in cells)


def test_the_baselines_slips_explain_its_cells(compared):
    cells = [
        each
        for each in compared
        if each.cell.method == "sun2023" and each.cell.subject != "airplane"
    ]
    assert sum(not each.agrees for each in cells) >= 4
    assert all(each.explained for each in cells)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("table", ["bank", "adult"])
def test_depth_is_much_narrower_on_fine_tables(results, table, epsilon):
    ours, postri, sun = (
        results.of(table, method, epsilon).half_widths.mean()
        for method in ("depth", "postri-default", "sun2023")
    )
    times_postri, times_sun = (11.0, 10.0) if epsilon <= 1 else (7.0, 6.0)
    assert ours <= postri / times_postri
    assert ours <= sun / times_sun


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_depth_is_no_wider_on_a_table_of_few_values(results, epsilon):
    ours, postri, sun = (
        results.of("airplane", method, epsilon).half_widths.mean()
        for method in ("depth", "postri-default", "sun2023")
    )
    assert ours <= 0.85 * postri
    # At epsilon 1/4 both must reach the next value, and Sun's method never goes further.
    assert ours <= 1.15 * sun


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", ["depth", "depth-gumbel", *PUBLISHED, "sun2023-4"])
def test_coverage_is_at_least_what_is_promised(results, table, method, epsilon):
    held = results.of(table, method, epsilon).covered
    assert len(held) >= OWN_RUNS
    assert covers(int(held.sum()), len(held), 0.99, LEVEL)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("table", TABLES)
def test_on_resamples_the_error_of_depth_is_no_larger(results, table, epsilon):
    ours, theirs = (
        results.resampled_errors(table, method, epsilon) for method in ("depth", "postri-default")
    )
    assert len(ours) == len(theirs) == RESAMPLES
    assert paired_errors(ours, theirs) <= 3


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rows", SHAPE_SIZES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["depth", "depth-gumbel"])
def test_depth_keeps_its_promise_on_every_shape_and_size(shapes, shape, rows, method):
    assert covers(shapes[shape, rows, method], SHAPE_RUNS, 0.99, LEVEL)


@pytest.mark.parametrize("shape", ["zipf", "constant"])
def test_postri_breaks_its_promise_where_its_aim_is_out_of_reach(shapes, shape):
    """A hundred rows near the lower edge: fewer than the method aims at."""
    assert not covers(shapes[shape, 100, "postri-default"], SHAPE_RUNS, 0.99, LEVEL)
    assert covers(shapes[shape, 10_000, "postri-default"], SHAPE_RUNS, 0.99, LEVEL)
