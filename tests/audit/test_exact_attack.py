"""The exact attack: what it finds on the product, and on bugs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from postri.audit import exact
from postri.audit.attack import AttackNotes, Size
from postri.audit.exact_additive import AdditiveCase, additive_statistics, largest_loss, loss
from postri.audit.planted import sensitivity_halved
from postri.domain import Domain
from postri.noise import DiscreteLaplace
from postri.privacy import AddOrRemoveRows, ReplaceRows
from postri.statistics.registry import forms
from proving import sized

SMALL = Domain(-1, 2)
STATISTICS = {statistic.written(): statistic for _, statistic in additive_statistics(SMALL)}


def test_every_statistic_of_the_registry_is_attacked():
    """Those that add noise by their numbers, the others by the chances of their values; the tree of
    a distribution in `tests/privacy/test_tree_privacy.py`, and what lies between two quantiles in
    `tests/statistics/test_trimmed.py`.
    """
    added = {form.name for form, _ in additive_statistics(SMALL)}
    others = {form.name for form in forms()} - added
    of_population = {"population_median", "population_quantile", "population_quantiles"}
    assert added == {
        *("count", "sum", "mean", "histogram", "share"),
        *("variance", "std", "sample_variance", "sample_std"),
        *("distinct", "mode", "top_k"),
    }
    of_quantiles = {"iqr", "trimmed_mean", "winsorized_mean"}
    quantiles = {"median", "quantile", "quantiles", "distribution"}
    assert others == quantiles | of_population | of_quantiles
    assert list(STATISTICS) == [
        "count()",
        'count("x")',
        'sum("x")',
        'mean("x")',
        'histogram("x", -1, 0, 2)',
        "share(x > -1)",
        'variance("x")',
        'std("x")',
        'sample_variance("x")',
        'sample_std("x")',
        'distinct("x", -1, 2)',
        'mode("x", -1, 2)',
        'top_k("x", 1, -1, 2)',
    ]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("gaussian", [False, True], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
@pytest.mark.parametrize("name", STATISTICS)
def test_one_person_moves_a_statistic_by_the_whole_budget_and_no_more(name, change, gaussian):
    case = AdditiveCase(
        STATISTICS[name], change, Fraction(1, 2), gaussian, SMALL, most_rows=sized(1, 2)
    )
    found, pairs = largest_loss(case)
    # A table of one row shows what a row can do; two rows are tried too, at full size.
    assert found == case.budget and pairs > 0


def test_half_the_sensitivity_is_found():
    case = AdditiveCase(
        STATISTICS["count()"], AddOrRemoveRows(1), Fraction(1), False, SMALL, most_rows=1
    )
    with sensitivity_halved():
        assert largest_loss(case)[0] == 2 * case.budget


def test_noise_that_differs_between_neighbours_is_a_loss_without_bound():
    one, other = ([(Fraction(1), DiscreteLaplace(Fraction(scale)))] for scale in (1, 2))
    assert loss(one, other) > 10**6 and loss(one, one) == 0


@pytest.mark.slow
def test_the_attack_finds_nothing_and_says_how_near_it_came(monkeypatch):
    if sized(True, False):
        monkeypatch.setattr(exact, "EPSILONS", exact.EPSILONS[:1])
        monkeypatch.setattr(exact, "NOISES", exact.NOISES[:1])
        monkeypatch.setattr(exact, "PS", exact.PS[:1])
        some = [each for each in additive_statistics(SMALL) if each[0].name in ("count", "mean")]
        monkeypatch.setattr(exact, "additive_statistics", lambda domain: some)
    notes = AttackNotes()
    exact.attempt(Size(sized(0.1, 30)), notes)
    assert notes.findings == []
    assert notes.figures["mean(x): largest loss"] == "1.0000 of the budget"
    assert "quantile: largest loss" in notes.figures


@pytest.mark.slow
def test_the_attack_tells_of_a_bug(monkeypatch):
    counts = [each for each in additive_statistics(SMALL) if each[0].name == "count"]
    monkeypatch.setattr(exact, "EPSILONS", exact.EPSILONS[:1])
    monkeypatch.setattr(exact, "additive_statistics", lambda domain: counts[:1])
    monkeypatch.setattr(exact, "quantile_cases", lambda size: iter(()))
    notes = AttackNotes()
    with sensitivity_halved():
        exact.attempt(Size(0.1), notes)
    assert notes.findings and all(words.startswith("count") for words in notes.findings)
