"""Keys that nobody declared, through a policy: what is told, what is paid, what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import postri
from found_keys import MANY, write_trips
from postri import agg
from postri.errors import BudgetExceeded, InputError, PolicyError
from postri.ledger import SqliteLedger, verify


@pytest.fixture
def policy(tmp_path) -> Path:
    return write_trips(tmp_path)


def ledger_of(policy: Path) -> SqliteLedger:
    return SqliteLedger(policy.with_name("postri.ledger"))


ASKED = {"n": agg.count(), "mid": agg.median("fare"), "mean": agg.mean("fare")}


@pytest.mark.slow
def test_keys_of_many_rows_are_told_and_others_are_not(policy):
    """A key of one or two rows is told with a chance of 1e-7 at most."""
    with postri.connect(policy, analyst="ann") as db:
        result = db.ask("trips", ASKED, by=["dest"], epsilon=9)
        assert [row["dest"] for row in result.rows] == list(MANY)
        assert all(abs(row["n"] - MANY[row["dest"]]) < 100 for row in result.rows)
        assert "Nowhere" not in str(result) + result.to_csv() + str(result.to_dict())
        again = db.ask("trips", ASKED, by=["dest"], epsilon=9)
        assert again.recorded and again.rows == result.rows
        wider = db.ask("trips", ASKED, by=["dest"], epsilon=9, simultaneous=True)
        assert not wider.recorded and wider.confidence == 0.95
    with ledger_of(policy) as ledger:
        assert verify(ledger) == []
        assert ledger.spent("trips").delta == Fraction(2, 10**8)
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds == ["terms", *["reserve-delta", "answer"] * 2]


def test_sql_and_prices_know_them(policy):
    with postri.connect(policy, analyst="ann") as db:
        text = "SELECT zip, COUNT(*) AS n FROM trips GROUP BY zip ORDER BY n DESC LIMIT 1"
        price = db.price("trips", ASKED, by=["zip"], epsilon=5)
        assert "will reach" in str(price.forecasts["n"]) and not price.recorded
        assert [row["zip"] for row in db.sql(text, epsilon=5).rows] == [4000]
        both = db.ask("trips", {"mid": agg.median("fare")}, by=["dest", "kind"], epsilon=9)
        expected = [(dest, kind) for dest in MANY for kind in ("bus", "tram")]
        assert [(row["dest"], row["kind"]) for row in both.rows] == expected
        assert both.columns[:3] == ["dest", "kind", "mid"]


def test_a_result_without_any_key_is_a_result(policy):
    with postri.connect(policy, analyst="ann") as db:
        for _ in range(2):
            result = db.ask("trips", {"n": agg.count()}, by=["dest"], where="fare > 200", epsilon=1)
            assert result.rows == [] and result.columns[0] == "dest"
            assert "where fare > 200" in result.population
            assert "keys are told that have a noisy number of rows" in result.notes[0]
        assert result.recorded
        assert (
            db.sql(
                "SELECT dest, COUNT(*) FROM trips WHERE fare > 300 GROUP BY dest", epsilon=1
            ).rows
            == []
        )


def test_half_of_delta_is_all_that_finds_keys(policy):
    text = policy.read_text().replace(
        'delta = "1e-6"\n', 'delta = "1e-6"\ndiscover_delta = "2e-7"\n'
    )
    policy.write_text(text)
    with postri.connect(policy, analyst="ann") as db:
        for limit in (10, 20):
            db.ask("trips", {"n": agg.count()}, by=["dest"], where=f"fare < {limit}", epsilon=1)
        with pytest.raises(
            BudgetExceeded, match="costs delta 2e-07, and the half of delta"
        ) as error:
            db.ask("trips", {"n": agg.count()}, by=["dest"], where="fare < 30", epsilon=1)
        assert error.value.unit == "delta" and error.value.remaining == Fraction(1, 10**7)
        # Other questions are answered still, at what is left of delta.
        db.ask("trips", {"n": agg.count()}, epsilon=1)


def test_the_ledger_refuses_to_guess_what_a_delta_means_for_more_rows(policy):
    with postri.connect(policy, analyst="ann") as db:
        db.ask("trips", {"n": agg.count()}, by=["dest"], epsilon=1)
    policy.write_text(policy.read_text().replace("rows = 1 }", "rows = 5 }"))
    with (
        postri.connect(policy, analyst="ann") as db,
        pytest.raises(PolicyError, match="no number tells what those cost"),
    ):
        db.ask("trips", {"n": agg.count()}, epsilon=1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": ["dest", "zip"]}, "the keys of one column can be found"),
        ({"by": {"d": "dest IN ('Oslo')"}}, "are found, so none can be listed"),
        ({"by": ["fare"]}, "columns with keys: 'dest', 'zip', 'kind'"),
    ],
)
def test_wrong_questions_cost_nothing(policy, asked, words):
    with postri.connect(policy, analyst="ann") as db:
        with pytest.raises(InputError, match=words):
            db.ask("trips", {"n": agg.count()}, epsilon=1, **asked)
        assert db.budget("trips")["trips"].spent == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'accountant = "zcdp"\ndelta = "1e-6"\n',
            "",
            'line 10: keys = "discover" of \'dest\' needs accountant = "zcdp" with a delta: a key',
        ),
        (
            'delta = "1e-6"\n',
            'delta = "1e-6"\ndiscover_delta = "9e-7"\n',
            "more than half of delta",
        ),
        ('keys = "discover"', 'keys = "find"', "line 12"),
        (
            "lower = 0\nupper = 100\n",
            '[datasets.trips.columns.f]\ntype = "float"\nkeys = "discover"\n',
            "text or integer can be found",
        ),
    ],
)
def test_wrong_policies_say_why(policy, old, new, words):
    policy.write_text(policy.read_text().replace(old, new, 1))
    with pytest.raises(PolicyError) as error:
        postri.connect(policy)
    assert words in str(error.value)
