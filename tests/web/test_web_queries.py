"""Questions over HTTP: answers, prices, budgets, history, retries; and no input that the service
does not survive.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction

import pytest
from serving import QUESTION, SECRET_CELL, in_thread, odd_workers, write_policy

import postri
from postri.errors import BudgetExceeded, InputError, RetryKeyUsed
from postri.policy import read_policy
from postri.session import local
from postri.web.requests import as_object
from result_columns import columns_of

pytestmark = pytest.mark.slow

SQL = {
    "sql": "SELECT city, MEDIAN(x) AS mid, COUNT(*) AS n FROM bank GROUP BY city",
    "epsilon": "1/2",
}


def budget(served, token=None):
    return served.get("/v1/budget", token or served.ann).json["bank"]


class TestAnswers:
    def test_a_structured_question(self, served):
        asked = {
            **QUESTION,
            "aggregates": {"mid": "median(x)", "n": "count()"},
            "by": ["city"],
            "weights": {"mid": 2, "n": "1"},
            "epsilon": 3,
        }
        fields = served.ask(served.ann, asked).json
        assert fields["columns"] == ["city", *columns_of("mid", "n")]
        assert [row["city"] for row in fields["rows"]] == ["Oslo", "Bergen"]
        assert (fields["epsilon"], fields["charged"], fields["recorded"]) == ("3", "3", False)
        (oslo, _) = fields["groups"]
        assert oslo["keys"] == {"city": "Oslo"} and oslo["answers"]["mid"]["epsilon"] == "2"
        assert (
            oslo["answers"]["mid"]["low"]
            <= oslo["answers"]["mid"]["value"]
            <= oslo["answers"]["mid"]["high"]
        )
        assert (
            oslo["answers"]["n"]["statistic"] == "count" and oslo["answers"]["n"]["private"] is True
        )

    def test_a_question_in_sql_and_the_same_again_for_nothing(self, served):
        first, again = served.ask(served.ann, SQL).json, served.ask(served.token("bob"), SQL).json
        assert (first["charged"], again["charged"], again["recorded"]) == ("1/2", "0", True)
        assert first["rows"] == again["rows"] and first["answer_id"] == again["answer_id"]
        assert (budget(served)["spent"], budget(served)["remaining"]) == ("1/2", "9/2")

    def test_a_recorded_answer_costs_no_allowance(self, served):
        poor = served.token("poor", allowance=Fraction(1, 100))
        assert served.ask(poor, SQL).code == "budget_exceeded"
        served.ask(served.ann, SQL)
        assert served.ask(poor, SQL).json["charged"] == "0"

    def test_a_budget_that_does_not_allow_it(self, served):
        reply = served.ask(served.ann, {**QUESTION, "epsilon": "5.25"})
        assert (reply.status, reply.code) == (409, "budget_exceeded")
        expected = {
            "requested": "21/4",
            "remaining": "5",
            "short_by": "1/4",
            "limit": "the budget of 'bank'",
        }
        assert {name: reply.json[name] for name in expected} == expected

    def test_allowances_overlap_and_the_total_binds(self, tmp_path):
        with in_thread(write_policy(tmp_path, budget="1")) as served:
            tokens = [served.token(name, allowance=Fraction(4, 5)) for name in ("bob", "eve")]
            statuses = [
                served.ask(token, {**QUESTION, "fresh": True, "epsilon": "0.4"}).status
                for token in tokens * 2
            ]
            assert statuses == [200, 200, 409, 409]
            assert budget(served)["spent"] == "4/5"

    def test_the_smaller_of_two_allowances_binds(self, tmp_path):
        with in_thread(
            write_policy(tmp_path, dataset="allowances = { bob = 1, eve = 3 }")
        ) as served:
            bob, eve = (
                served.token("bob", allowance=Fraction(2)),
                served.token("eve", allowance=Fraction(2)),
            )
            assert [budget(served, token)["allowance"] for token in (bob, eve)] == ["1", "2"]
            assert [
                served.ask(token, {**QUESTION, "epsilon": "1.5", "fresh": True}).status
                for token in (bob, eve)
            ] == [409, 200]

    def test_an_allowance_that_is_taken_back_binds_at_once(self, served):
        assert served.send("PUT", "/v1/allowances/ann", {"allowance": "1/4"}, served.sue).json == {
            "name": "ann",
            "allowance": "1/4",
        }
        assert served.get("/v1/me", served.ann).json["allowance"] == "1/4"
        assert served.ask(served.ann).code == "budget_exceeded"
        assert (
            served.send("PUT", "/v1/allowances/ann", {"allowance": None}, served.sue).status == 200
        )
        assert served.ask(served.ann).status == 200


class TestRetries:
    def test_the_same_key_gives_the_same_answer_and_is_paid_for_once(self, served):
        question = {**QUESTION, "fresh": True}
        replies = [served.ask(served.ann, question, Idempotency_Key="a b~") for _ in range(3)]
        assert (
            len({(reply.json["answer_id"], json.dumps(reply.json["rows"])) for reply in replies})
            == 1
        )
        assert [reply.json["charged"] for reply in replies] == ["1/2", "0", "0"]
        assert budget(served)["spent"] == "1/2"

    def test_another_question_with_the_same_key_is_refused(self, served):
        served.ask(served.ann, QUESTION, Idempotency_Key="k")
        reply = served.ask(served.ann, {**QUESTION, "epsilon": "1/4"}, Idempotency_Key="k")
        assert (reply.status, reply.code) == (422, "retry_key_used")
        assert budget(served)["spent"] == "1/2"

    def test_a_question_that_failed_stays_failed(self, tmp_path):
        place = tmp_path / "broken"
        place.touch()
        with (
            odd_workers("broken", place) as workers,
            in_thread(write_policy(tmp_path), workers) as served,
        ):
            reply = served.ask(served.ann, QUESTION, Idempotency_Key="k")
            assert (reply.status, reply.code, reply.json["spent"]) == (502, "question_failed", True)
            place.unlink()
            again = served.ask(served.ann, QUESTION, Idempotency_Key="k")
            assert again.status == 502
            assert {**again.json, "request_id": ""} == {**reply.json, "request_id": ""}
            assert again.json["charged"] == "1/2"
            assert budget(served)["spent"] == "1/2"

    @pytest.mark.parametrize("key", ["", "x" * 201, "\xe9", "a\tb"])
    def test_a_key_is_printable_ascii(self, shared, key):
        reply = shared.ask(shared.ann, QUESTION, Idempotency_Key=key)
        assert reply.code == "invalid_request" and "Idempotency-Key must be" in reply.json["detail"]
        assert not shared.get("/v1/answers", shared.ann).json["answers"]


class TestFailures:
    def test_an_error_that_is_not_ours_tells_its_kind_alone(self, served, monkeypatch):
        def broken(*given):
            raise KeyError(SECRET_CELL)

        with monkeypatch.context() as before:
            before.setattr(local, "open_dataset", broken)
            reply = served.ask(served.ann)
            assert (reply.status, reply.code) == (500, "internal")
            assert "KeyError" in reply.json["detail"]
            assert str(SECRET_CELL) not in reply.text.decode()
            assert budget(served)["spent"] == "0"
        # Once it is paid for, not even the kind is told.
        monkeypatch.setattr(local, "write_answers", broken)
        reply = served.ask(served.ann)
        assert (reply.status, reply.code) == (502, "question_failed")
        assert "KeyError" not in reply.text.decode()

    def test_one_of_a_worker_does_so_too(self, tmp_path):
        place = tmp_path / "strange"
        place.write_text(str(SECRET_CELL))
        with (
            odd_workers("strange", place) as workers,
            in_thread(write_policy(tmp_path), workers) as served,
        ):
            reply = served.ask(served.ann)
            assert (reply.status, reply.json["spent"]) == (502, True)
            assert str(SECRET_CELL) not in reply.text.decode()
            place.unlink()
            assert served.ask(served.ann).status == 200

    def test_where_the_data_are_is_not_told(self, served):
        folder = served.service.policy.path.parent
        (folder / "bank.duckdb").rename(folder / "elsewhere.duckdb")
        reply = served.ask(served.ann)
        assert (reply.status, reply.code, reply.json["spent"]) == (502, "source_error", False)
        assert "bank.duckdb" not in reply.text.decode() and str(folder) not in reply.text.decode()

    def test_a_policy_that_does_not_fit_is_the_stewards(self, tmp_path):
        path = write_policy(tmp_path)
        path.write_text(path.read_text().replace("bank.columns.x", "bank.columns.nothing"))
        with in_thread(path) as served:
            reply = served.ask(served.ann, {**QUESTION, "aggregates": {"n": "count()"}})
            assert (reply.status, reply.code) == (500, "policy_error")
            assert (
                "nothing" not in reply.json["detail"] and str(tmp_path) not in reply.text.decode()
            )


class TestOtherEndpoints:
    def test_a_price_is_free_and_in_words(self, served):
        fields = served.send(
            "POST",
            "/v1/price",
            {**QUESTION, "aggregates": {"mid": "median(x)", "n": "count()"}},
            served.ann,
        ).json
        assert (fields["charged"], fields["remaining"], fields["recorded"], fields["refused"]) == (
            "1/2",
            "5",
            False,
            None,
        )
        assert (
            fields["forecasts"]["mid"]["kind"] == "plan"
            and 0 < fields["forecasts"]["mid"]["reach_percentiles"] < 50
        )
        assert (
            fields["forecasts"]["n"]["kind"] == "reach"
            and fields["forecasts"]["n"]["statistic"] == "count"
        )
        assert served.service.ledger.summary() == {}

    def test_datasets_are_public_facts(self, served):
        reply = served.get("/v1/datasets", served.ann)
        (bank, endless) = reply.json["datasets"]
        assert (bank["name"], bank["rows"], bank["budget"], endless["rows"]) == (
            "bank",
            400,
            "5",
            None,
        )
        assert bank["columns"][1] == {
            "name": "city",
            "type": "text",
            "lower": None,
            "upper": None,
            "step": None,
            "keys": ["Oslo", "Bergen"],
            "discover": False,
        }
        assert b"duckdb" not in reply.text and b"main." not in reply.text

    def test_history_goes_back_page_by_page(self, served):
        ids = [
            served.ask(served.ann, {**QUESTION, "epsilon": f"0.0{number}"}).json["answer_id"]
            for number in range(1, 6)
        ]
        first = served.get("/v1/answers?limit=2", served.ann).json
        second = served.get(f"/v1/answers?limit=2&before={first['next']}", served.ann).json
        third = served.get(f"/v1/answers?limit=2&before={second['next']}", served.ann).json
        assert [
            each["answer_id"] for page in (first, second, third) for each in page["answers"]
        ] == ids[::-1]
        assert third["next"] is None
        (past,) = third["answers"]
        assert past["question"]["epsilon"] == "0.01" and past["result"]["charged"] == "0"
        again = served.ask(served.ann, past["question"]).json
        assert again["answer_id"] == ids[0] and again["recorded"] is True

    @pytest.mark.parametrize(
        "query",
        [
            "limit=0",
            "limit=201",
            "limit=x",
            "limit=-1",
            "limit=",
            "before=x",
            "before=" + "9" * 19,
            "limit=%00",
            "limit=%C2%B2",
        ],
    )
    def test_odd_pages_are_refused(self, shared, query):
        assert shared.get(f"/v1/answers?{query}", shared.ann).code == "invalid_request"

    def test_tokens_are_made_listed_and_revoked(self, served):
        made = served.send(
            "POST",
            "/v1/tokens",
            {"name": "eve", "role": "analyst", "allowance": "1/3", "expires": "2d"},
            served.sue,
        )
        assert (
            made.status == 201 and made.json["allowance"] == "1/3" and made.json["revoked"] is None
        )
        assert served.get("/v1/me", made.json["token"]).json == {
            "name": "eve", "role": "analyst", "expires": made.json["expires"], "allowance": "1/3",
            "datasets": None,
        }  # fmt: skip
        listed = served.get("/v1/tokens", served.sue)
        assert listed.json["tokens"][-1] == {
            name: made.json[name]
            for name in ("id", "name", "role", "created", "expires", "revoked", "datasets")
        }
        assert made.json["token"].encode() not in listed.text
        assert served.get("/v1/allowances", served.sue).json == {"allowances": {"eve": "1/3"}}
        gone = served.send("DELETE", f"/v1/tokens/{made.json['id']}", None, served.sue)
        assert (gone.status, gone.text) == (204, b"")
        assert served.get("/v1/me", made.json["token"]).status == 401
        assert served.get("/v1/tokens", served.sue).json["tokens"][-1]["revoked"] is not None
        assert served.send("DELETE", "/v1/tokens/00000000", None, served.sue).code == "not_found"

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"name": "eve"},
            {"name": "eve", "role": "boss"},
            {"name": "", "role": "analyst"},
            {"name": 7, "role": "analyst"},
            {"name": "eve", "role": ["analyst"]},
            {"name": "eve\n", "role": "analyst"},
            {"name": "eve", "role": "analyst", "allowance": 0},
            {"name": "eve", "role": "analyst", "allowance": {}},
            {"name": "eve", "role": "analyst", "expires": "soon"},
            {"name": "eve", "role": "analyst", "expires": 7},
            {"name": "eve", "role": "analyst", "admin": True},
        ],
    )
    def test_odd_tokens_are_refused(self, shared, body):
        assert shared.send("POST", "/v1/tokens", body, shared.sue).code == "invalid_request"
        assert len(shared.tokens.all()) == 2

    @pytest.mark.parametrize("name", ["a/b", "%C3%A9", "a%20b"])
    def test_names_with_odd_signs_have_allowances(self, shared, name):
        assert (
            shared.send("PUT", f"/v1/allowances/{name}", {"allowance": 2}, shared.sue).json[
                "allowance"
            ]
            == "2"
        )

    @pytest.mark.parametrize("name", ["", "%00", "%ff%0a", "%20a", "x" * 300])
    def test_odd_names_are_refused(self, shared, name):
        assert (
            shared.send("PUT", f"/v1/allowances/{name}", {"allowance": 2}, shared.sue).code
            == "invalid_request"
        )

    def test_the_ledger_shows_spends_and_no_values(self, served):
        mid = served.ask(served.ann).json
        trail = served.get("/v1/ledger", served.sue).json
        assert [entry["kind"] for entry in trail["entries"]] == ["terms", "reserve", "answer"]
        asked = trail["entries"][1]
        assert (asked["analyst"], asked["epsilon"], asked["fate"], asked["dataset"]) == (
            "ann",
            "1/2",
            "answered",
            "bank",
        )
        assert trail["head"].startswith("3 ") and trail["next"] is None
        assert f'"value":["integer","{mid["rows"][0]["mid"]}"]' not in json.dumps(trail).replace(
            " ", ""
        )
        first = served.get("/v1/ledger?limit=1", served.sue).json
        assert first["next"] == 1
        assert (
            served.get("/v1/ledger?after=1&limit=5", served.sue).json["entries"]
            == trail["entries"][1:]
        )

    @pytest.mark.parametrize(
        "query", ["after=-1", "after=x", "limit=0", "limit=1001", "after=" + "9" * 30]
    )
    def test_odd_pages_of_the_ledger_are_refused(self, shared, query):
        assert shared.get(f"/v1/ledger?{query}", shared.sue).code == "invalid_request"

    def test_other_methods_and_places(self, served):
        reply = served.send("PUT", "/v1/query", {}, served.ann)
        assert (reply.status, reply.code, reply.headers["allow"]) == (
            405,
            "method_not_allowed",
            "POST",
        )
        assert served.get("/v1/nothing", served.ann).code == "not_found"
        assert served.get("/v1/me/", served.ann).code == "not_found"


BODIES = {
    "nothing": b"",
    "no JSON": b"{'a': 1}",
    "no object": b"[]",
    "null": b"null",
    "no UTF-8": b'{"sql": "\xff"}',
    "UTF-16": '{"sql": "x"}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{}",
    "half a pair": b'{"sql": "\\ud800", "epsilon": 1}',
    "half a pair as a name": b'{"\\udfff": 1}',
    "deep": b'{"a": ' * 9_000 + b"1" + b"}" * 9_000,
    "deep lists": b"[" * 60_000,
    "NaN": b'{"epsilon": NaN, "sql": "x"}',
    "Infinity": b'{"epsilon": -Infinity, "sql": "x"}',
    "a huge number": b'{"epsilon": 1e9999999999999999999, "sql": "SELECT COUNT(*) AS n FROM bank"}',
    "a huge exponent": b'{"epsilon": 1e401, "sql": "SELECT COUNT(*) AS n FROM bank"}',
    "a long number": b'{"epsilon": 0.' + b"1" * 5_000 + b', "sql": "x"}',
    "a long integer": b'{"epsilon": ' + b"1" * 5_000 + b', "sql": "x"}',
    "a name twice": b'{"epsilon": 1, "epsilon": 2, "sql": "SELECT COUNT(*) AS n FROM bank"}',
    "no epsilon": b'{"sql": "SELECT COUNT(*) AS n FROM bank"}',
    "another name": b'{"sqk": "x", "epsilon": 1}',
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/v1/query", "/v1/price"])
def test_odd_bodies_are_refused(shared, path, name):
    before = shared.get("/v1/budget", shared.ann).json["bank"]["own"]
    reply = shared.send("POST", path, BODIES[name], shared.ann)
    assert (reply.status, reply.code) == (400, "invalid_request"), reply.json
    assert shared.get("/v1/budget", shared.ann).json["bank"]["own"] == before


ODD_VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\0",
    "\u202e",
    "é" * 500,
    "1e9999999",
    "1/0",
    [],
    {},
    [[]],
    {"": ""},
    {"a": None},
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name",
    [
        "sql",
        "dataset",
        "aggregates",
        "by",
        "where",
        "weights",
        "epsilon",
        "within",
        "confidence",
        "simultaneous",
        "fresh",
        "expect",
    ],
)
def test_odd_values_are_answered_or_refused(shared, name):
    """Whatever stands in one place of a question: never an error of the service's own."""
    for base in (QUESTION, SQL):
        for value in ODD_VALUES:
            question = {**base, "epsilon": "1/1000", name: value}
            for path in ("/v1/price", "/v1/query"):
                reply = shared.send("POST", path, question, shared.ann)
                assert reply.status in (200, 400, 409), (question, reply.json)


@pytest.mark.parametrize("name", ["questions", "delta", "another"])
def test_odd_plans_are_answered_or_refused(shared, name):
    for value in [*ODD_VALUES, [SQL, {}], [SQL] * 200]:
        reply = shared.send("POST", "/v1/plan", {"questions": [SQL], name: value}, shared.ann)
        assert reply.status in (200, 400), (value, reply.json)


ODD_TEXTS = [
    "x",
    "\0",
    "x = '\0'",
    "x = 'é\u0301'",
    "city = '\U0001f600'",
    "(" * 3_000,
    "NOT " * 500 + "x = 1",
    "x" * 9_999,
    "x = 1e400",
    "x/0 = 1",
    "1 = 1",
    "city LIKE '%'",
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_filters_are_answered_or_refused(shared, text):
    for question in (
        {**QUESTION, "where": text, "epsilon": "1/1000"},
        {"sql": f"SELECT COUNT(*) AS n FROM bank WHERE {text}", "epsilon": "1/1000"},
    ):
        assert shared.ask(shared.ann, question).status in (200, 400)


def test_numbers_stay_exact():
    fields = as_object(b'{"epsilon": 0.10000000000000000000000001, "n": 12345678901234567890123}')
    assert (
        Fraction(fields["epsilon"]) == Fraction(10**25 + 1, 10**26)
        and fields["n"] == 12345678901234567890123
    )


class TestClients:
    """`postri.connect` on the service: same calls, same results, same errors as on the policy."""

    def test_a_session_is_a_session(self, served):
        with postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as far:
            result = far.sql(SQL["sql"], epsilon="1/2")
            assert far.analyst == "ann" and far.budget("bank")["bank"].own == Fraction(1, 2)
            with postri.connect(served.service.policy.path, analyst="ann") as near:
                again = near.sql(SQL["sql"], epsilon="1/2")
                assert again.rows == result.rows and again.answer_id == result.answer_id
                assert far.describe() == near.describe()
                assert str(far.price("bank", {"n": "count()"}, epsilon=1)) == str(
                    near.price("bank", {"n": "count()"}, epsilon=1)
                )
                assert [each.answer_id for each in far.answers()] == [
                    each.answer_id for each in near.answers()
                ]

    def test_errors_are_the_same(self, served):
        path = read_policy(served.service.policy.path).path
        with (
            postri.connect(f"http://127.0.0.1:{served.port}", token=served.ann) as far,
            postri.connect(path, analyst="ann") as near,
        ):
            for session in (far, near):
                with pytest.raises(InputError, match="no dataset 'bnak'"):
                    session.median("bnak", "x", epsilon=1)
                with pytest.raises(BudgetExceeded) as caught:
                    session.median("bank", "x", epsilon=6)
                assert (caught.value.requested, caught.value.remaining, caught.value.short_by) == (
                    6,
                    5,
                    1,
                )
            far.median("bank", "x", epsilon="0.1", retry="k")
            for session in (far, near):
                with pytest.raises(RetryKeyUsed):
                    session.median("bank", "x", epsilon="0.2", retry="k")


def test_budgets_of_the_same_people_add_up_for_analysts_and_stewards(tmp_path):
    shutil.copy(write_policy(tmp_path).with_name("bank.duckdb"), tmp_path / "shop.duckdb")
    path = tmp_path / "postri.toml"
    bank = path.read_text()
    _, _, dataset = bank.partition("[datasets.bank]")
    dataset = dataset.partition("[datasets.endless]")[0].replace("datasets.bank", "datasets.shop")
    shop = dataset.replace("bank.duckdb", "shop.duckdb")
    path.write_text(f'{bank}\n[datasets.shop]\nsame_people_as = "bank"{shop}')
    with in_thread(path) as served:
        assert served.ask(served.ann).status == 200
        budget = served.get("/v1/budget", served.sue).json
        for name in ("bank", "shop"):
            assert budget[name]["spent"] == "1/2"
            assert budget[name]["analysts"]["ann"]["spent"] == "1/2"
        assert budget["endless"]["spent"] == "0"
