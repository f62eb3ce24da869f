"""The normal form: what is the same question, and what is another."""

from __future__ import annotations

import pytest

from bank import session, write_policy
from postri import InputError, agg
from postri.policy import read_policy
from postri.question import dataset_question

MID, ROWS = agg.median("balance"), agg.count()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return read_policy(write_policy(tmp_path_factory.mktemp("questions"))).datasets["bank"]


BASE = {"aggregates": {"mid": MID, "n": ROWS}, "epsilon": 1}
SAME = {
    "other names": {"aggregates": {"a": MID, "b": ROWS}},
    "another order": {"aggregates": {"n": ROWS, "mid": MID}},
    "as text": {"aggregates": {"n": "COUNT( * )", "mid": " median( balance ) "}},
    "as a quantile": {"aggregates": {"mid": "quantile(balance, 1/2)", "n": ROWS}},
    "even weights": {"weights": {"mid": "0.5", "n": "1/2"}},
    "epsilon in other digits": {"epsilon": "1.0"},
    "no keys": {"by": []},
}
OTHER = {
    "epsilon": {"epsilon": "1.1"},
    "another column": {"aggregates": {"mid": agg.median("age"), "n": ROWS}},
    "another quantile": {"aggregates": {"mid": agg.quantile("balance", 0.51), "n": ROWS}},
    "a count of cells": {"aggregates": {"mid": MID, "n": agg.count("age")}},
    "a sum": {"aggregates": {"mid": MID, "n": agg.sum("age")}},
    "one more": {"aggregates": {"mid": MID, "n": ROWS, "m": ROWS}},
    "weights": {"weights": {"mid": 2, "n": 1}},
    "weights the other way": {"weights": {"mid": 1, "n": 2}},
    "keys": {"by": ["job"]},
    "two columns of keys": {"by": ["job", "vip"]},
    "a filter": {"where": "age < 40"},
    "another filter": {"where": "age <= 40"},
    "confidence, with a quantile": {"confidence": 0.9},
    "at once, with a quantile": {"simultaneous": True},
}


def asked(dataset, **how):
    return dataset_question(dataset, **{**BASE, **how})


@pytest.mark.parametrize("name", SAME)
def test_the_same_question_in_other_words_has_the_same_key(name, dataset):
    assert asked(dataset, **SAME[name]).key == asked(dataset).key


def test_other_questions_have_other_keys(dataset):
    keys = [asked(dataset).key, *(asked(dataset, **how).key for how in OTHER.values())]
    assert len(set(keys)) == len(keys)


def test_the_order_of_key_columns_does_not_matter_to_the_key_but_to_the_result(tmp_path):
    path = write_policy(tmp_path)
    with session(path) as db:
        one = db.ask("bank", {"n": ROWS}, by=["job", "vip"], epsilon=1)
        other = db.ask("bank", {"n": ROWS}, by=["vip", "job"], epsilon=1)
    assert (one.charged, other.charged) == (1, 0)
    assert [(row["job"], row["vip"]) for row in one.rows][:3] == [
        ("admin.", True),
        ("admin.", False),
        ("technician", True),
    ]
    assert [(row["job"], row["vip"]) for row in other.rows][:3] == [
        ("admin.", True),
        ("technician", True),
        ("nobody", True),
    ]
    assert {(row["job"], row["vip"], row["n"]) for row in one.rows} == {
        (row["job"], row["vip"], row["n"]) for row in other.rows
    }


FILTERS = [
    ("age < 40 AND job = 'cook'", "job='cook' and 40 > \"age\""),
    ("age BETWEEN 20 AND 40", "40 >= AGE AND age >= 20.0"),
    ("job IN ('a', 'b', 'a')", "job IN ('b', 'a')"),
    ("job IN ('a')", "'a' = job"),
    ("age + balance > 3 OR vip", "vip OR 3 < balance + age OR vip"),
    ("(age < 1 OR (age < 2 OR age < 3))", "age < 3 OR age < 2 OR age < 1"),
]


@pytest.mark.parametrize(("one", "other"), FILTERS)
def test_the_same_filter_in_other_words_has_the_same_key(one, other, dataset):
    assert asked(dataset, where=one).key == asked(dataset, where=other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age - 1 < 0", "1 - age < 0"),
        ("age < balance", "balance < age"),
        ("NOT vip", "vip"),
        ("job = '1'", "age = 1"),
        ("age / 2 = 1", "2 / age = 1"),
    ],
)
def test_other_filters_have_other_keys(one, other, dataset):
    assert asked(dataset, where=one).key != asked(dataset, where=other).key


@pytest.mark.parametrize("change", ["version", "domain", "protect", "keys", "accountant"])
def test_what_the_steward_changes_is_another_question(change, tmp_path):
    path = write_policy(tmp_path)
    before = asked(read_policy(path).datasets["bank"], by=["job"]).key
    texts = {
        "version": ('version = "1"', 'version = "2"'),
        "domain": ("upper = 9000", "upper = 9001"),
        "protect": ("rows = 1 }", "rows = 2 }"),
        "keys": ('"nobody"', '"somebody"'),
        "accountant": ('version = "1"', 'version = "1"\naccountant = "zcdp"\ndelta = "1e-6"'),
    }
    path.write_text(path.read_text().replace(*texts[change]))
    assert asked(read_policy(path).datasets["bank"], by=["job"]).key != before


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"aggregates": {"a": agg.median("secret")}}, "'bank' has no column 'secret'"),
        ({"aggregates": {"a": agg.count("secret")}}, "'bank' has no column 'secret'"),
        ({"where": "secret = 1"}, "there is no column 'secret'"),
        ({"by": ["secret"]}, "'bank' has no column 'secret'"),
        ({"by": ["age"]}, "'age' has no public keys in the policy"),
        ({"by": "job"}, "by must be a list of columns"),
        ({"by": {"job": ["admin."]}}, "rows are divided by a column of the policy"),
        ({"by": ["job", "job"]}, "by names 'job' twice"),
        ({"simultaneous": 1}, "simultaneous must be true or false"),
        ({"epsilon": 0}, "epsilon must be positive"),
    ],
)
def test_what_the_policy_does_not_have_is_refused(how, words, dataset):
    with pytest.raises(InputError, match=words):
        asked(dataset, **how)


def test_a_domain_of_the_analyst_is_refused(dataset):
    from postri import Domain

    with pytest.raises(InputError, match="is the policy's"):
        asked(dataset, aggregates={"a": agg.median("balance", domain=Domain(0, 1))})
