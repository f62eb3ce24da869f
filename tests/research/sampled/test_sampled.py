"""Published intervals for a population: they do what their paper says, and ours are narrower at the
same epsilon.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom

from postri import Domain, InputError, SeededCoins
from postri.audit.exact_chances import bounds, log_weights
from postri.audit.tiny_tables import plain_grid, whole_window
from postri.privacy import ReplaceRows
from postri.research.sampled.exp_mech import ExpMech, Near
from postri.research.sampled.noisy_cdf import BinSearch, NoisyCdf
from postri.research.sampled.sampling import SampledMedian, largest_rank, rank_chances
from postri.research.sampled.study import SAMPLED_WAYS, check_sampled_ways, sampled_line
from postri.research.subjects import Subject, drawn_rows
from program import run
from proving import sized

BETA = Fraction(1, 20)
# The paper's usual setting: lognormal rows between -5 and 15.
PAPER = Domain(-5, 15, "0.01")
INCOMES = np.exp(np.random.default_rng(5).standard_normal(20_001))


@pytest.fixture(scope="module")
def population() -> Subject:
    return Subject.of_values("lognormal", INCOMES, PAPER)


def asked(rows: int, epsilon: object = 1) -> SampledMedian:
    return SampledMedian(rows, Fraction(epsilon), BETA)


def test_ranks_have_binomial_chances():
    ranks, chances = rank_chances(300)
    assert np.allclose(chances, binom.pmf(ranks, 300, 0.5), rtol=1e-9)
    rank = largest_rank(300, lambda k: float(chances[ranks <= k].sum()), 0.025)
    assert binom.cdf(rank, 300, 0.5) <= 0.025 < binom.cdf(rank + 1, 300, 0.5)


@pytest.mark.parametrize("granularity", [1, 2])
def test_an_end_of_exp_mech_is_private_on_every_table(granularity):
    """Half of epsilon for each end, and rows that are moved by their ranks, against one replaced
    row.
    """
    grid, epsilon = plain_grid(5), Fraction(2)
    assert ReplaceRows(1).k == 1
    tables = list(combinations_with_replacement(range(5), 3))
    found = {}
    for rows in tables:
        runs = Near.of(whole_window(rows), grid, 1, granularity)
        logs = log_weights(runs, epsilon / 4)
        points = [logs[j] for j in range(len(logs)) for _ in range(*runs.span(j))]
        assert len(points) == 5
        found[rows] = bounds("gumbel", tuple(points), (1,) * 5)
    largest = max(
        int((found[one].log_high - found[other].log_low).max())
        for one, other in product(tables, tables)
        if sum(one.count(x) - min(one.count(x), other.count(x)) for x in range(5)) == 1
    )
    assert 0.4 * float(epsilon) / 2 < largest / 2**54 <= float(epsilon) / 2 + 1e-9


def test_at_least_two_points_are_at_the_target_away_from_the_lower_edge():
    for rows in combinations_with_replacement(range(1, 5), 3):
        runs = Near.of(whole_window(rows), plain_grid(5), 2, 1)
        assert runs.sizes[runs.scores == 0].sum() >= 2


def test_a_tree_is_consistent_and_as_noisy_as_it_says(population):
    """The spread of its estimates, of 300 trees, against their variances: 5 standard errors of a
    variance are 0.41.
    """
    prepared = NoisyCdf().prepared(asked(1_000), plain_grid(16))
    sample = Subject.of_values("few", np.arange(1_000) % 16, Domain(0, 15))
    coins = SeededCoins(3)
    sums = np.array([prepared.estimates(sample, coins).cumsum() for _ in range(300)])
    assert np.allclose(sums[:, -1], 1_000)
    exact = sample.ranks_below(prepared.edges[1:])
    measured = ((sums - exact) ** 2).mean(axis=0)[:-1]
    # Laplace noise has a kurtosis of 6, so its squares vary more than those of normal noise.
    assert np.all(np.abs(measured / prepared.variances[:-1] - 1) < 5 * sqrt(5 / 300))


WAYS = [name for name in SAMPLED_WAYS if name not in ("noisy-cdf-gaussian", "not-private")]


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_each_covers_the_population(name, population):
    """The odds of so many misses are below one in a million at beta."""
    runs = sized(20, 400)
    line = sampled_line(name, asked(1_000), population, runs)
    missed = round((1 - line.coverage) * runs)
    assert binom.sf(missed - 1, runs, float(BETA)) >= 1e-6


# With 5,000 rows at epsilon 1 sampling takes most of every interval, whoever draws it.
SETTINGS = [(300, 1, 0.8), (1_000, "1/2", 0.8), (5_000, 1, 0.85)]


@pytest.mark.parametrize(("rows", "epsilon", "share"), sized(SETTINGS[:1], SETTINGS))
def test_ours_are_narrower_at_the_same_epsilon(rows, epsilon, share, population, figures):
    """At most this share of the narrowest, with the median released on top: half-widths of seeded
    runs.
    """
    widths = {
        name: sampled_line(name, asked(rows, epsilon), population, sized(10, 200)).half_width
        for name in WAYS
    }
    figures(", ".join(f"{name} {width:.3g}" for name, width in widths.items()))
    others = [width for name, width in widths.items() if name != "depth"]
    assert widths["depth"] < share * min(others)


def test_gaussian_noise_is_that_of_rho():
    """Epsilon^2/2 in all, divided among the levels; a replaced row moves two counts by 1."""
    prepared = NoisyCdf(gaussian=True).prepared(asked(300, 2), plain_grid(1_024))
    assert prepared.levels == 10
    assert prepared.noise.variance == Fraction(10, 2)


def test_a_search_without_noise_to_speak_of_finds_the_ranks():
    rows = Subject.of_values("rows", np.arange(1_001), Domain(0, 1_000))
    ends = BinSearch().draw(rows, SampledMedian(1_001, Fraction(100_000), BETA), SeededCoins(1))
    assert 440 < ends[0] < 475 and 525 < ends[1] < 560


def test_too_few_rows_give_the_whole_domain(population):
    wanted = asked(20, "1/10")
    assert ExpMech().rank(wanted, population.grid) == 0
    line = sampled_line("exp-mech", wanted, population, 3)
    assert line.at_edge == 1


def test_samples_have_as_many_rows_as_asked_for(population):
    assert drawn_rows(population, 77, SeededCoins(1)).rows == 77


class TestCommandLine:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "pay.csv"
        path.write_text("pay\n" + "\n".join(f"{pay:.2f}" for pay in INCOMES[:2_000]))
        return path

    def test_compare_draws_samples(self, file):
        words = ["--lower", -5, "--upper", 15, "--step", "0.01", "--runs", 3, "--json"]
        told, _ = run("compare", file, "pay", "--epsilon", 1, "--sample", 500, *words)
        found = json.loads(told)
        assert found["private"] is False
        assert [line["method"] for line in found["sampled"]][:2] == ["depth", "exp-mech"]

    def test_a_table_says_that_it_is_not_private(self, file):
        words = ["--lower", -5, "--upper", 15, "--step", "0.01", "--runs", 2]
        told, _ = run("compare", file, "pay", "--epsilon", 1, "--sample", 500, *words)
        assert "NOT PRIVATE" in told and "exp-mech-union" in told

    def test_samples_and_many_quantiles_exclude_one_another(self, file):
        words = ["--sample", 500, "--quantiles", "3"]
        _, told = run("compare", file, "pay", "--epsilon", 1, *words, code=2)
        assert "leave out --quantiles" in told


def test_an_unknown_way_is_named():
    with pytest.raises(InputError, match="'exp-mesh'"):
        check_sampled_ways("depth,exp-mesh")
