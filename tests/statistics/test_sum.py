"""Sums: their noise, and what cannot be a sum of the domain's cells."""

from __future__ import annotations

from dataclasses import replace

import pytest

import postri
from postri import AddOrRemoveRows, Domain, ReplaceRows, SeededCoins, agg
from postri.answer.forms import read_answers, write_answers
from postri.answer.population import ALL_ROWS

FEW = {"x": [1, 0, 1]}


def asked(domain: Domain, seed: int, cells: dict = FEW) -> postri.Answer:
    wanted = {"s": agg.sum("x", domain=domain)}
    return postri.ask(cells, wanted, epsilon="0.05", coins=SeededCoins(seed)).answers[0]


def test_a_sum_of_cells_of_at_least_nought_is_cut_at_nought():
    answers = [asked(Domain(0, 10), seed) for seed in range(20)]
    assert any(answer.drawn.drawn < 0 for answer in answers)
    assert [answer.interval.low for answer in answers].count(0) > 10
    for answer in answers:
        assert answer.value >= 0
        assert answer.interval.low >= 0
        assert answer.at(0.5).interval.low >= 0


def test_the_same_for_a_domain_above_nought():
    """No row at all has the sum 0, so it is not cut higher."""
    answers = [asked(Domain(5, 10), seed, {"x": []}) for seed in range(20)]
    assert min(answer.value for answer in answers) == 0
    assert all(0 in answer.interval for answer in answers if answer.interval.high > 0)


def test_a_sum_of_cells_of_at_most_nought_is_cut_at_nought_from_above():
    answers = [asked(Domain(-10, 0), seed) for seed in range(20)]
    assert any(answer.drawn.drawn > 0 for answer in answers)
    for answer in answers:
        assert answer.value <= 0
        assert answer.interval.high <= 0
    assert [answer.interval.high for answer in answers].count(0) > 10


def test_a_sum_of_cells_of_both_signs_is_not_cut():
    answers = [asked(Domain(-10, 10), seed) for seed in range(20)]
    assert min(answer.value for answer in answers) < 0 < max(answer.value for answer in answers)
    assert all(answer.value == answer.drawn.drawn for answer in answers)


@pytest.mark.parametrize("domain", [Domain(0, 10), Domain(-10, 0), Domain(-10, 10)], ids=str)
def test_what_is_cut_reads_back_from_a_record(domain):
    # Which rows they are about is no part of the record: it follows from the question.
    answers = [replace(asked(domain, seed), rows=ALL_ROWS) for seed in range(5)]
    assert read_answers(write_answers([answers]), AddOrRemoveRows(1)) == [answers]


@pytest.mark.slow
def test_a_cut_interval_still_holds_the_sum():
    """At 95 %, in 400 seeded runs: 1 in 20 may miss, and 45 of 400 would miss by luck once in ten
    million times.
    """
    held = [2 in asked(Domain(0, 10), seed).interval for seed in range(400)]
    assert held.count(False) < 45


def test_replaced_rows_keep_the_larger_noise():
    wanted = {"s": agg.sum("x", domain=Domain(-10, 10))}
    scales = [
        postri.ask(FEW, wanted, epsilon=1, protect=change).answers[0].drawn.noise.scale
        for change in (AddOrRemoveRows(1), ReplaceRows(1))
    ]
    assert scales == [10, 20]
