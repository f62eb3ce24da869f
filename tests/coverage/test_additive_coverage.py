"""Counts, sums and means: their intervals miss no more often than they say, each by itself, and all
at once where that is promised.

Every draw uses real coins. Misses are judged by a one-sided binomial test, as for quantiles.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import postri
from postri import AddOrRemoveRows, Domain, ReplaceRows, agg
from postri.question.checking import plain_question
from proving import WITH_SYSTEM_COINS, sized

pytestmark = WITH_SYSTEM_COINS

RUNS, MANY = sized((10, 600), (2_000, 600))
BETA = 0.2
SIGNIFICANCE = 1e-6
DOMAIN = Domain(-100, 300, step="0.5")
CITIES = ["Oslo", "Bergen", "Rome"]
WANTED = {
    "rows": agg.count(),
    "known": agg.count("fare"),
    "total": agg.sum("fare", domain=DOMAIN),
    "average": agg.mean("fare", domain=DOMAIN),
    "mid": agg.median("fare", domain=DOMAIN),
}

generator = np.random.default_rng(5)


def fares(size: int) -> list:
    cells = np.round(generator.normal(60, 150, size) * 2) / 2
    return [None if spot % 17 == 0 else float(cell) for spot, cell in enumerate(cells)]


TABLES = {
    "many rows": {"city": [CITIES[spot % 3] for spot in range(MANY)], "fare": fares(MANY)},
    "hardly any rows": {
        "city": ["Oslo", "Rome", "Rome", "Paris"],
        "fare": [1.5, None, 1000.0, 7.0],
    },
    "no rows": {"city": [], "fare": []},
}


def truths(table: dict, city: str) -> dict[str, object]:
    """What the intervals are about: the data on the domain.

    A mean or median of no cell is nothing.
    """
    cells = [fare for town, fare in zip(table["city"], table["fare"], strict=True) if town == city]
    held = sorted(min(max(Fraction(fare), -100), 300) for fare in cells if fare is not None)
    return {
        "rows": len(cells),
        "known": len(held),
        "total": sum(held),
        "average": sum(held) / len(held) if held else None,
        "mid": (held[(len(held) - 1) // 2] + held[len(held) // 2]) / 2 if held else None,
    }


def judged(misses: int, runs: int, what: str) -> None:
    assert binom.sf(misses - 1, runs, BETA) > SIGNIFICANCE, (
        f"{what}: {misses} of {runs} intervals missed"
    )


@pytest.mark.one_in(5)
@pytest.mark.slow
@pytest.mark.parametrize("simultaneous", [False, True], ids=["each", "all at once"])
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(2)], ids=str)
@pytest.mark.parametrize("name", TABLES)
def test_intervals_hold_what_they_are_about(name, change, simultaneous, figures):
    table = TABLES[name]
    opened = postri.open(table, columns={"city": "text", "fare": "decimal"})
    true = [truths(table, city) for city in CITIES]
    missed = dict.fromkeys(WANTED, 0)
    together = 0
    for _ in range(RUNS):
        result = postri.ask(
            opened,
            WANTED,
            by={"city": CITIES},
            epsilon=1,
            confidence=1 - BETA,
            simultaneous=simultaneous,
            protect=change,
        )
        gone = [
            aggregate
            for row, held in zip(result.rows, true, strict=True)
            for aggregate, value in held.items()
            if value is not None
            and not row[f"{aggregate}_low"] <= value <= row[f"{aggregate}_high"]
        ]
        together += bool(gone)
        for aggregate in gone:
            missed[aggregate] += 1
    figures(
        f"{name}, {change}, {'all at once' if simultaneous else 'each'}: missed {missed}, in "
        f"{together} of {RUNS} questions"
    )
    if simultaneous:
        judged(together, RUNS, "all at once")
    for aggregate, misses in missed.items():
        judged(misses, RUNS * len(CITIES), aggregate)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(2)], ids=str)
@pytest.mark.parametrize("grouped", [False, True], ids=["one group", "three groups"])
def test_intervals_of_gaussian_noise_hold_what_they_are_about(grouped, change, figures):
    table = TABLES["many rows"]
    opened = postri.open(table, columns={"city": "text", "fare": "decimal"})
    wanted = {name: WANTED[name] for name in ("rows", "total", "average")}
    everywhere = {**table, "city": ["Oslo"] * MANY}
    true = [truths(everywhere, "Oslo")]
    if grouped:
        true = [truths(table, city) for city in CITIES]
    question = plain_question(
        wanted,
        epsilon=1,
        confidence=1 - BETA,
        protect=change,
        by={"city": CITIES} if grouped else None,
        concentrated=True,
    )
    bound = question.bound(opened)
    runs = sized(20, 2_000)
    missed = dict.fromkeys(wanted, 0)
    for _ in range(runs):
        for answers, held in zip(bound.answers(), true, strict=True):
            for name, answer in zip(wanted, answers, strict=True):
                assert answer.method == "discrete-gaussian"
                missed[name] += not answer.interval.low <= held[name] <= answer.interval.high
    figures(f"Gaussian, {change}, {len(true)} groups: missed {missed} of {runs * len(true)}")
    for name, misses in missed.items():
        judged(misses, runs * len(true), name)


def test_an_interval_of_another_confidence_is_free_and_holds_the_narrower_one():
    result = postri.ask(
        TABLES["many rows"],
        {"n": agg.count(), "average": agg.mean("fare", domain=DOMAIN)},
        epsilon=1,
    )
    for answer in result.answers:
        wider, narrower = answer.at("0.999"), answer.at(0.5)
        assert (wider.value, wider.spend, wider.confidence) == (answer.value, answer.spend, 0.999)
        assert wider.interval.low < answer.interval.low < narrower.interval.low
        assert wider.interval.high > answer.interval.high > narrower.interval.high
        assert answer.at(answer.confidence) == answer
    with pytest.raises(postri.InputError, match="ask again with another one"):
        postri.median(range(100), epsilon=1).at(0.99)
