"""Distinct counts: persons, and public keys that occur; every engine, every surface.

Losses of all small tables stand in `tests/audit/test_exact_attack.py` for keys, and here for
persons. Coins are seeded, so nothing depends on luck.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement
from unittest.mock import patch

import pyarrow as pa
import pytest

import postri
from bank import dataset_text, in_duckdb, seeded
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    InputError,
    ReplaceRows,
    ReplaceUnits,
    SeededCoins,
    agg,
)
from postri.answer.drawn import read_drawn
from postri.audit.exact_additive import loss
from postri.engines.rows import Groups, Rows, Units
from postri.expressions import Predicate
from postri.noise import Noise
from postri.question.checking import plain_question
from postri.statistics import additive
from postri.statistics import distinct as module
from proving import sized
from services.real_tables import LOADERS, SERVICES, Place, loaded

EPSILON = Fraction(1, 2)
TRIPS = {
    "rider": ["ann", "ann", "bob", "bob", "bob", None, "cyd", "dan"],
    "city": ["Oslo", "Bergen", "Oslo", "Oslo", "Rome", "Oslo", None, "Bodø"],
    "fare": [1, 2, 3, 4, 5, 6, 7, 8],
}


def drawn(table: dict, wanted: object, change: object, *, gaussian: bool, **how: object) -> list:
    """Every number that a question draws, without its noise, and that noise."""
    noises: list[Noise] = []

    def no_noise(noise: Noise, coins: object) -> int:
        noises.append(noise)
        return 0

    question = plain_question(
        {"a": wanted},
        protect=change,
        epsilon=EPSILON,
        confidence=0.5,
        concentrated=gaussian,
        **how,
    )
    with (
        patch.object(additive, "discrete_laplace", no_noise),
        patch.object(additive, "discrete_gaussian", no_noise),
    ):
        answers = question.bound(postri.open(table)).answers()
    parts = [answer.drawn for group in answers for answer in group]
    numbers = [Fraction(getattr(part, "noisy", part).drawn) for part in parts]
    return list(zip(numbers, noises, strict=True))


def largest(wanted: object, change: object, groups: list[str], *, gaussian: bool) -> Fraction:
    """Over all that one person's up to three rows may be, in the table or not, or others in their
    place; another person's rows beside them.
    """
    options = [(group, cell) for group in ("a", "b", "z") for cell in (1, 2)]
    persons = [rows for size in range(4) for rows in combinations_with_replacement(options, size)]

    def numbers(rows: tuple) -> list:
        everybody = [(*row, 1) for row in rows] + [("a", 1, 2), ("b", 2, 2)]
        table = dict(zip(("g", "x", "id"), map(list, zip(*everybody, strict=True)), strict=True))
        return drawn(table, wanted, change, by={"g": groups}, gaussian=gaussian)

    found = [numbers(rows) for rows in persons[:: sized(3, 1)]]
    pairs = ((found[0], each) for each in found)
    if isinstance(change, ReplaceUnits):
        pairs = ((one, each) for one in found for each in found)
    return max(loss(one, other) for one, other in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gaussian", "budget"),
    [(False, EPSILON), (True, EPSILON**2 / 2)],
    ids=["Laplace", "Gaussian"],
)
@pytest.mark.parametrize(
    "change", [AddOrRemoveUnits("id", rows=2), ReplaceUnits("id", rows=2)], ids=str
)
@pytest.mark.parametrize("groups", [["a"], ["a", "b"]], ids=len)
def test_one_person_moves_the_number_of_persons_by_the_whole_budget_and_no_more(
    groups, change, gaussian, budget
):
    assert largest(agg.distinct("id"), change, groups, gaussian=gaussian) == budget
    keys = agg.distinct("x", keys=[1, 2, 3])
    assert 0 < largest(keys, change, groups, gaussian=gaussian) <= budget


def test_noise_for_one_group_is_found_where_a_person_may_count_in_two():
    change = AddOrRemoveUnits("id", rows=2)
    with patch.object(module, "moved_groups", lambda protect, groups: Fraction(1)):
        found = largest(agg.distinct("id"), change, ["a", "b"], gaussian=False)
    assert found == 2 * EPSILON


def test_noise_for_one_row_is_found_where_a_person_has_two():
    change = AddOrRemoveUnits("id", rows=2)
    with patch.object(module, "moved_rows", lambda protect, groups: Fraction(1)):
        wanted = agg.distinct("x", keys=[1, 2, 3])
        table = {"x": [1, 2, 3], "id": [1, 1, 2]}
        one = drawn(table, wanted, change, gaussian=False)
        other = drawn({"x": [3], "id": [2]}, wanted, change, gaussian=False)
    assert loss(one, other) == 2 * EPSILON


def test_a_person_counts_once_however_many_rows_it_has():
    """Its noise is that of one row, where a count of rows has that of 50."""
    change = AddOrRemoveUnits("rider", rows=50)
    table = {"rider": [number // 40 for number in range(4_000)]}
    answer = postri.ask(
        table, {"d": agg.distinct("rider")}, epsilon=1, protect=change, coins=SeededCoins(2)
    ).answer("d")
    assert 100 in answer.interval and answer.interval.width == 6
    assert answer.statistic == "distinct count"


CITIES = Groups.of({"city": ["Oslo", "Bergen", "Rome"]})
BOUND = Units("rider", 2)
QUESTIONS = {
    "all": (Rows(units=BOUND), [4]),
    "a filter": (Rows(Predicate.parse("fare < 6"), units=BOUND), [2]),
    # ann in Oslo and Bergen, bob in Oslo and Rome; cyd and dan in none of them.
    "groups": (Rows(groups=CITIES, units=BOUND), [2, 1, 1]),
    # At most one group of each, by the order of the md5.
    "one group each": (Rows(groups=CITIES, units=Units("rider", 1)), None),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SERVICES else []) for name in LOADERS],
)
def test_units_and_keys_are_counted_on_every_engine(engine, request, tmp_path):
    source = pa.table(TRIPS)
    table = loaded(engine, source, Place(tmp_path, request))
    memory = postri.open(source)
    for rows, expected in QUESTIONS.values():
        found = table.unit_counts(table.bind(rows))
        assert found == memory.unit_counts(memory.bind(rows))
        if expected is None:
            assert sum(found) == 2
        else:
            assert found == expected
    every = table.bind(Rows())
    assert table.key_counts("city", ["Oslo", "Nowhere", "Rome"], every) == [[4, 0, 1]]
    grouped = table.bind(Rows(groups=CITIES))
    assert table.key_counts("rider", ["ann", "bob"], grouped) == [[1, 2], [1, 0], [0, 1]]


def test_keys_that_occur_are_counted_and_never_more_than_there_are():
    wanted = {"d": agg.distinct("city", keys=["Oslo", "Rome", "Nowhere"])}
    answer = postri.ask(TRIPS, wanted, epsilon=100, coins=SeededCoins(1)).answer("d")
    assert (answer.value, answer.interval.low, answer.interval.high) == (2, 2, 2)
    vague = postri.ask(TRIPS, wanted, epsilon="0.01", coins=SeededCoins(1)).answer("d")
    assert 0 <= vague.interval.low <= vague.value <= vague.interval.high <= 3
    assert read_drawn(json.loads(json.dumps(vague.drawn.to_fields()))) == vague.drawn
    assert "values beside the 3 keys not counted" in str(answer.population)


def test_it_is_read_back_as_it_is_written():
    for asked in (
        agg.distinct("a b"),
        agg.distinct("city", keys=["O'Hare", "a,b", "x"]),
        agg.distinct("x", keys=[1, -2]),
        agg.distinct("vip", keys=[True, False]),
    ):
        assert agg.read(asked.written()) == asked


def test_a_session_counts_the_keys_of_the_policy(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        first = db.ask("bank", {"d": "distinct(job)"}, epsilon=1)
        again = db.sql("SELECT COUNT(DISTINCT job) AS d FROM bank", epsilon=1)
        assert again.charged == 0 and again.answer("d").value == first.answer("d").value
        # "nobody" is a key without rows.
        assert 2 in first.answer("d").interval
        assert db.price("bank", {"d": "distinct(job)"}, epsilon=1).forecasts["d"].reach == 3
        with pytest.raises(InputError, match="cannot be counted"):
            db.sql("SELECT COUNT(DISTINCT age) FROM bank", epsilon=1)
        assert db.budget("bank")["bank"].spent == 1


def test_a_session_counts_persons_whose_column_is_not_for_asking(tmp_path):
    lines = ["rider,fare", *(f"r{number // 4},{number}" for number in range(400))]
    (tmp_path / "trips.csv").write_text("\n".join([*lines, ""]))
    path = tmp_path / "postri.toml"
    text = dataset_text(
        "trips",
        source="trips.csv",
        rows=400,
        columns={"fare": 'type = "integer"\nlower = 0\nupper = 500'},
        protect='change = "add-or-remove-units", unit = "rider", rows = 4',
    )
    path.write_text(text)
    with seeded(path) as db:
        answer = db.sql("SELECT COUNT(DISTINCT rider) AS n FROM trips", epsilon=1).answer("n")
        assert 100 in answer.interval and answer.interval.width == 6
        asked = db.ask("trips", {"n": "distinct(rider)"}, epsilon=1, where="fare < 200")
        assert 50 in asked.answer("n").interval
        with pytest.raises(InputError, match="no column 'rider'"):
            db.sql("SELECT COUNT(rider) FROM trips", epsilon=1)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (lambda: agg.distinct("city"), "no unit is protected here; give the public keys"),
        (lambda: agg.distinct("city", keys="Oslo"), "keys must be a list"),
        (lambda: agg.distinct("city", keys=[]), "at least one public key"),
        (lambda: agg.distinct("city", keys=["a", "a"]), "must differ"),
        (lambda: agg.distinct("nowhere", keys=["a"]), "there is no column 'nowhere'"),
        (lambda: "distinct(city, Oslo)", "in single quotes"),
    ],
)
@pytest.mark.parametrize("change", [AddOrRemoveRows(1), ReplaceRows(1)], ids=str)
def test_what_cannot_be_counted_is_refused(wanted, words, change):
    with pytest.raises(InputError, match=words):
        postri.ask(TRIPS, {"d": wanted()}, epsilon=1, protect=change)


def test_distinct_elsewhere_is_refused(tmp_path):
    with seeded(in_duckdb(tmp_path)) as db:
        for text in ("SELECT DISTINCT job FROM bank", "SELECT SUM(DISTINCT age) FROM bank"):
            with pytest.raises(InputError, match=r"in COUNT\(DISTINCT x\) alone"):
                db.sql(text, epsilon=1)
