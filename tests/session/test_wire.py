"""What crosses a wire reads back the same: questions, results, prices, budgets, facts, errors."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bank import session, write_policy
from postri import (
    BudgetExceeded,
    DatasetClosed,
    EngineError,
    InputError,
    LedgerError,
    PostriError,
    QuestionFailed,
    QuestionsExceeded,
    RetryKeyUsed,
    ServiceError,
    SourceError,
    agg,
)
from postri.answer.forms import json_text, read_result, result_text
from postri.question import Wording, read_wording
from postri.session.wire import (
    KINDS,
    budget_fields,
    dataset_fields,
    past_fields,
    price_fields,
    problem_members,
    read_budget,
    read_dataset,
    read_past,
    read_price,
    read_problem,
)
from proving import examples

EVERYTHING = {
    "mid": "median(balance)",
    "n": "count()",
    "mean": "mean(rate)",
    "sum": "sum(age)",
    "day": "median(since)",
    "r": "quantile(rate, 0.9)",
}
SQLS = [
    "SELECT MEDIAN(balance) FROM bank",
    (
        "SELECT vip, job, MEDIAN(rate) AS m, HIGH(m) AS top FROM bank GROUP BY vip, job ORDER BY "
        "m DESC LIMIT 3"
    ),
    "SELECT SUM(age) / COUNT(*) AS average, COUNT(*) AS n FROM bank",
    "SELECT job, COUNT(*) AS n FROM bank GROUP BY job HAVING n > 100000000",
]


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with session(write_policy(tmp_path_factory.mktemp("wire"), budget="100")) as db:
        yield db


def sent(fields):
    """Over the wire and back."""
    return json.loads(json_text(fields), parse_float=Decimal)


def same(one, other) -> None:
    assert (str(one), one.to_json(), one.to_csv(), one.columns) == (
        str(other),
        other.to_json(),
        other.to_csv(),
        other.columns,
    )
    assert (one.groups, one.epsilon, one.charged, one.answer_id) == (
        other.groups,
        other.epsilon,
        other.charged,
        other.answer_id,
    )
    assert [answer.explain() for answer in one.answers] == [
        answer.explain() for answer in other.answers
    ]
    assert one.layout == other.layout and one.about == other.about


class TestResults:
    @pytest.mark.slow
    @pytest.mark.parametrize("by", [[], ["job"], ["vip", "job"]])
    def test_every_aggregate_in_every_group(self, db, by):
        result = db.ask("bank", EVERYTHING, by=by, epsilon=2)
        same(read_result(sent(json.loads(result_text(result), parse_float=Decimal))), result)

    @pytest.mark.slow
    @pytest.mark.parametrize("text", SQLS)
    def test_questions_in_sql(self, db, text):
        result = db.sql(text, epsilon=2)
        same(read_result(json.loads(result_text(result), parse_float=Decimal)), result)

    def test_a_reader_finds_words_and_keys(self, db):
        result = db.ask("bank", {"mid": "median(balance)"}, by=["job"], epsilon=2)
        told = json.loads(result_text(result))
        assert told["groups"][0]["keys"] == {"job": "admin."}
        answer = told["groups"][0]["answers"]["mid"]
        assert (answer["statistic"], answer["sentence"]) == ("median", str(result.answers[0]))
        assert {"columns", "rows", "epsilon", "charged", "answer_id"} <= set(told)


class TestTheRest:
    def test_past_answers(self, db):
        db.sql(SQLS[1], epsilon=2)
        (past,) = db.answers(limit=1)
        again = read_past(sent(past_fields(past)))
        same(again.result, past.result)
        assert again.question.text == past.question.text and (again.time, again.epsilon) == (
            past.time,
            past.epsilon,
        )

    def test_prices(self, db):
        price = db.price("bank", EVERYTHING, by=["job"], epsilon=3)
        assert str(read_price(sent(price_fields(price)))) == str(price)
        assert read_price(sent(price_fields(price))).to_dict() == price.to_dict()

    def test_a_price_tells_percentiles(self, db):
        forecast = price_fields(db.price("bank", {"mid": "median(balance)"}, epsilon="0.5"))[
            "forecasts"
        ]["mid"]
        assert forecast["kind"] == "plan" and forecast["reach_percentiles"] == pytest.approx(
            100 * forecast["reach"]
        )

    def test_budgets(self, db):
        (budget,) = db.budget().values()
        assert read_budget(sent(budget_fields(budget))) == budget

    def test_facts(self, db):
        (facts,) = db.describe().values()
        assert read_dataset(sent(dataset_fields(facts))) == facts


class TestErrors:
    @pytest.mark.parametrize(
        "error",
        [
            InputError("wrong"),
            RetryKeyUsed(),
            BudgetExceeded(Fraction(1), Fraction(1, 3), Fraction(2, 3), "the budget of 'bank'"),
            QuestionFailed("7", Fraction(1, 3)),
            QuestionsExceeded("enough"),
            DatasetClosed("closed"),
            DatasetClosed("counting", running=True),
            SourceError("gone"),
            EngineError("failed"),
            LedgerError("full"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_each_kind_is_the_same_on_the_other_side(self, error):
        kind = next(kind for each, kind in KINDS.items() if isinstance(error, each))
        again = read_problem(
            kind.status, {"code": kind.code, "detail": str(error), **problem_members(error)}
        )
        assert (
            type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)
        )
        assert again.spent == error.spent

    @pytest.mark.parametrize(
        "fields", [None, [], {}, {"code": "budget_exceeded", "detail": ""}, {"code": "x"}]
    )
    def test_a_problem_of_no_known_form_is_still_an_error(self, fields):
        assert isinstance(read_problem(500, fields), ServiceError)

    def test_what_only_services_say(self):
        error = read_problem(
            504, {"code": "timed_out", "detail": "it took too long", "spent": False}
        )
        assert isinstance(error, PostriError) and (error.code, error.status, error.spent) == (
            "timed_out",
            504,
            False,
        )


NAMES = st.text(min_size=1, max_size=5)
NUMBERS = (
    st.fractions(min_value="1/1000", max_value=1000)
    | st.integers(1, 9)
    | st.sampled_from(["0.1", "1/3", 0.5])
)
COLUMNS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
AGGREGATES = st.one_of(
    COLUMNS.map(agg.median),
    COLUMNS.map(agg.count),
    st.just(agg.count()),
    COLUMNS.map(agg.sum),
    st.builds(agg.quantile, COLUMNS, st.just("1/3")),
)


class TestQuestions:
    @pytest.mark.slow
    @examples(100)
    @given(
        st.dictionaries(NAMES, AGGREGATES, min_size=1, max_size=3),
        st.lists(NAMES, unique=True),
        st.none() | st.text(),
        NUMBERS,
        st.booleans(),
    )
    def test_a_structured_one_reads_back(self, aggregates, by, where, number, flag):
        wording = Wording(
            dataset="d",
            aggregates=aggregates,
            by=by,
            where=where,
            epsilon=number,
            confidence="0.9",
            fresh=flag,
        )
        again = read_wording(json.loads(wording.text))
        assert again.text == wording.text
        assert {name: agg.read(each) for name, each in again.aggregates.items()} == aggregates

    @examples(100)
    @given(st.text(), NUMBERS)
    def test_one_in_sql_reads_back(self, text, number):
        wording = Wording(sql=text, epsilon=number, simultaneous=True)
        assert read_wording(json.loads(wording.text)).text == wording.text

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            (None, "must be an object"),
            ([], "must be an object"),
            ({}, '"sql", or "dataset" and "aggregates"'),
            ({"sql": "SELECT"}, "give epsilon, or within"),
            ({"sql": "SELECT", "epsilon": None}, "give epsilon, or within"),
            ({"epsilon": 1}, '"sql", or "dataset" and "aggregates"'),
            ({"epsilon": 1, "sqll": ""}, "did you mean 'sql'"),
            ({"epsilon": 1, "sql": 7}, "must be a text"),
            ({"epsilon": True, "sql": ""}, "epsilon must be a finite number"),
            ({"epsilon": {}, "sql": ""}, "epsilon must be a finite number"),
            ({"epsilon": "1e999999", "sql": ""}, "epsilon must be a finite number of fewer digits"),
            ({"epsilon": 1, "sql": "", "by": ["x"]}, "leave out 'by'"),
            ({"epsilon": 1, "sql": "", "fresh": 1}, "fresh must be true or false"),
            ({"epsilon": 1, "dataset": "d", "aggregates": []}, "aggregates must map"),
            ({"epsilon": 1, "dataset": "d", "aggregates": {"n": {}}}, "an aggregate must be"),
            (
                {"epsilon": 1, "dataset": "d", "aggregates": {"n": "count()"}, "by": "job"},
                "by must be a list",
            ),
            (
                {"epsilon": 1, "dataset": "d", "aggregates": {"n": "count()"}, "by": [1]},
                "must be a text",
            ),
            (
                {"epsilon": 1, "dataset": "d", "aggregates": {"n": "count()"}, "where": 1},
                "a predicate is a text",
            ),
            (
                {"epsilon": 1, "dataset": "d", "aggregates": {"n": "count()"}, "weights": [1]},
                "weights must give",
            ),
            (
                {
                    "epsilon": 1,
                    "dataset": "d",
                    "aggregates": {"n": "count()"},
                    "weights": {"n": "x"},
                },
                "weight of 'n'",
            ),
        ],
    )
    def test_other_shapes_are_refused(self, fields, words):
        with pytest.raises(InputError, match=words):
            read_wording(fields)
