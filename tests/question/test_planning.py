"""What questions cost together, and which of them one distribution serves."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import pytest

from bank import session, write_policy
from postri import InputError
from postri.cost import NOTHING
from postri.ledger import ZCDP, Pure
from postri.policy import read_policy
from postri.question import Wording
from postri.question.planning import merged, parts_of
from postri.session.parsed import parsed_wording

MEDIANS = [
    {"dataset": "bank", "aggregates": {"q": f"quantile(balance, {p})"}, "within": wish}
    for p, wish in (
        ("0.2", "4 percentiles"),
        ("0.3", "4 percentiles"),
        ("0.4", "5 percentiles"),
        ("0.6", "4 percentiles"),
        ("0.7", "4 percentiles"),
        ("0.8", "4 percentiles"),
        ("0.5", "0.5 percentiles"),
    )
]
ZCDP_LINES = 'accountant = "zcdp"\ndelta = "1e-6"'


def parts(path, questions):
    dataset = read_policy(path).datasets
    found = []
    for number, each in enumerate(questions, start=1):
        parsed = parsed_wording(Wording(**each), dataset, None)
        found += parts_of(number, parsed.question, None)
    return found


def cost_of_all(asked, accountant):
    return accountant.epsilon(sum((part.asked.cost for part in asked), start=NOTHING))


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["pure", "zcdp"])
def test_what_is_merged_saves_as_much_as_any_subset_would(tmp_path, accountant):
    """One is wanted far nearer than the others: a release that serves it too is dearer."""
    more = ZCDP_LINES if accountant == "zcdp" else ""
    asked = parts(write_policy(tmp_path, more=more), MEDIANS)
    adds_up = ZCDP(Fraction("1e-6")) if accountant == "zcdp" else Pure()
    merges, together = merged(asked, adds_up)
    every = cost_of_all(asked, adds_up)
    needs = {part.number: part.needs() for part in asked}
    release = {"dataset": "bank", "aggregates": {"d": "distribution(balance)"}}
    releases = {
        epsilon: parts(tmp_path / "postri.toml", [{**release, "epsilon": epsilon}])
        for epsilon in set(needs.values())
    }
    least = every
    for number in range(2, len(asked) + 1):
        for some in combinations(asked, number):
            # A release that is within all wishes is as dear as the neediest makes it.
            one = releases[max(needs[part.number] for part in some)]
            rest = [part for part in asked if part not in some]
            least = min(least, cost_of_all([*rest, *one], adds_up))
    assert together == least
    assert sum(merge.saved for merge in merges) == every - together
    if accountant == "pure":
        (merge,) = merges
        assert set(merge.questions) == {1, 2, 3, 4, 5, 6} and merge.column == "balance"


@pytest.mark.slow
def test_what_one_release_cannot_serve_is_not_merged(tmp_path):
    """Another column, filter, or division of the rows; and what is no quantile."""
    wish = {"within": "4 percentiles", "dataset": "bank"}
    questions = [
        {**wish, "aggregates": {"q": "median(balance)"}},
        {**wish, "aggregates": {"q": "median(age)"}},
        {**wish, "aggregates": {"q": "median(balance)"}, "by": ["job"]},
        {**wish, "aggregates": {"q": "median(balance)"}, "where": "age < 40", "expect": 900},
        {"dataset": "bank", "aggregates": {"n": "count()"}, "within": 20},
    ]
    with session(write_policy(tmp_path)) as db:
        plan = db.plan(questions)
    assert plan.merges == ()
    assert plan.totals["bank"].pure == sum(each.pure for each in plan.questions)


def test_both_totals_are_of_the_same_widths(tmp_path):
    """A count by epsilon is as near under zCDP as it is where epsilons add up."""
    count = {"dataset": "bank", "aggregates": {"n": "count()"}, "epsilon": "0.1"}
    many = [{**count, "where": f"age < {age}"} for age in range(20, 50)]
    with session(write_policy(tmp_path)) as db:
        plan = db.plan([count, count, *many], delta="1e-6")
    total = plan.totals["bank"]
    assert plan.questions[1].repeats == 1
    assert plan.questions[0].price.forecasts["n"].reach == 30
    assert total.pure == Fraction("0.1") * 31 and total.zcdp < total.pure * Fraction(3, 5)
    assert (total.merged_pure, total.merged_zcdp) == (total.pure, total.zcdp)


def test_it_is_told_in_words_and_as_plain_values(tmp_path):
    with session(write_policy(tmp_path)) as db:
        plan = db.plan([*MEDIANS, "SELECT COUNT(*) WITHIN 50 FROM bank"])
    assert "q of 5, q of 6 into one distribution of balance at epsilon" in str(plan)
    assert "<td>0.0594</td>" in plan._repr_html_()
    fields = json.loads(json.dumps(plan.to_dict()))
    assert fields["totals"]["bank"]["accountant"] == "pure"
    assert fields["questions"][-1]["price"]["forecasts"]["count"]["reach"] == 50


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ("SELECT COUNT(*) FROM bank", "a list of questions"),
        ([], "1 to 100 questions"),
        (["SELECT COUNT(*) FROM bank"], "question 1: give epsilon, or within"),
        ([{"dataset": "bank"}], 'a question must have "sql"'),
        (["SELECT COUNT(*) WITHIN 5 FROM bank", 7], "a question must be an object"),
    ],
)
def test_what_is_no_list_of_questions_is_refused(tmp_path, questions, message):
    with session(write_policy(tmp_path)) as db, pytest.raises(InputError, match=message):
        db.plan(questions)


def test_no_delta(tmp_path):
    questions = ["SELECT COUNT(*) WITHIN 5 FROM bank"]
    with session(write_policy(tmp_path)) as db, pytest.raises(InputError, match="delta must be"):
        db.plan(questions, delta="0.5")
