"""Several services on one ledger in PostgreSQL behave as one."""

from __future__ import annotations

from contextlib import ExitStack, closing
from fractions import Fraction
from threading import Event

import pytest
from serving import QUESTION, in_thread, until, write_policy

from postri.errors import LedgerError
from postri.ledger import Pure, verify
from postri.ledger.postgres import grants, init_ledger
from postri.policy import read_policy
from postri.web.database import ServiceDatabase, init_service, service_grants
from postri.web.limits import SharedRate
from postri.web.refusals import Refusal
from postri.web.time_grid import Departure, PublicView
from postri.web.tokens import Tokens
from services.postgres_server import SECRET

pytestmark = pytest.mark.slow

SERVICE = "replica"
DATABASE = "replicas"
# How long one that must wait is watched, in seconds: enough for one that does not.
WHILE = 0.5


@pytest.fixture(scope="module")
def place(postgres):
    """The ledger's database, as a service may use it."""
    postgres.run(
        f"DROP DATABASE IF EXISTS {DATABASE}",
        f"DROP ROLE IF EXISTS {SERVICE}",
        f"CREATE DATABASE {DATABASE}",
        f"CREATE ROLE {SERVICE} LOGIN PASSWORD '{SECRET}'",
    )
    owner = postgres.url(database=DATABASE)
    assert init_ledger(owner) and init_service(owner)
    assert not init_service(owner)
    postgres.run_in(DATABASE, *grants(SERVICE), *service_grants(SERVICE))
    return postgres.url(SERVICE, SECRET, DATABASE)


@pytest.fixture(scope="module")
def policy(place, tmp_path_factory):
    path = write_policy(tmp_path_factory.mktemp("replicas"), service="rate = 1000000")
    path.write_text(f'ledger = "{place}"\n{path.read_text()}')
    return path


@pytest.fixture(scope="module")
def two(policy):
    """Two services of one policy."""
    with ExitStack() as stack:
        yield [stack.enter_context(in_thread(policy)) for _ in range(2)]


class TestTokens:
    def test_what_a_steward_does_at_one_service_holds_at_the_other(self, two):
        here, there = two
        made = here.send("POST", "/v1/tokens", {"name": "eve", "role": "analyst"}, here.sue).json
        assert there.get("/v1/me", made["token"]).json["name"] == "eve"
        amount = {"allowance": "1/4"}
        assert here.send("PUT", "/v1/allowances/eve", amount, here.sue).status == 200
        assert there.get("/v1/me", made["token"]).json["allowance"] == "1/4"
        new = there.send("POST", f"/v1/tokens/{made['id']}/renewal", {}, there.sue).json
        assert here.get("/v1/me", made["token"]).status == 401
        assert here.get("/v1/me", new["token"]).status == 200
        assert here.send("DELETE", f"/v1/tokens/{new['id']}", None, here.sue).status < 300
        assert there.get("/v1/me", new["token"]).status == 401

    def test_they_are_listed_in_the_order_in_which_they_were_made(self, place):
        with Tokens(place) as tokens:
            made = [tokens.add(f"n{number}", "analyst")[0] for number in range(5)]
            assert [each.id for each in tokens.all()][-5:] == [each.id for each in made]
            assert not tokens.revoke("00000000")
            tokens.allow("n0", Fraction(1, 3))
            assert tokens.allowance_of("n0") == Fraction(1, 3)
            tokens.allow("n0", None)
            assert tokens.allowance_of("n0") is None

    def test_a_database_without_the_tables_says_what_to_do(self, postgres):
        with pytest.raises(LedgerError, match="postri ledger init"):
            ServiceDatabase(postgres.url())


class TestAllowances:
    def test_one_that_was_raised_and_lowered_again_is_no_other_policy(self, two, monkeypatch):
        here, there = two
        monkeypatch.setattr(there.service.ledger, "say_again", lambda: None)
        token = here.token("kim", allowance=Fraction(2))
        fresh = {**QUESTION, "fresh": True, "epsilon": "1/4"}
        assert there.ask(token, fresh).status == 200
        here.tokens.allow("kim", Fraction(3))
        assert here.ask(token, fresh).status == 200
        here.tokens.allow("kim", Fraction(2))
        # The other service has said 2 before, and finds 3 in force: until it looks, it is refused.
        assert there.ask(token, fresh).code == "policy_error"
        monkeypatch.undo()
        there.service.ledger.say_again()
        assert there.ask(token, fresh).status == 200

    def test_a_change_is_found_by_looking(self, two):
        here, there = two
        said = []
        there.service.ledger.say_again = lambda: said.append(1)
        try:
            here.tokens.allow("lea", Fraction(1))
            until(lambda: said, "another look at the allowances")
        finally:
            del there.service.ledger.say_again


def watched(monkeypatch):
    """An event that is set when a question has its place and its turn, at any service, from here
    on.
    """
    has_turn = Event()
    begin = Departure.begin

    def watched_begin(departure):
        has_turn.set()
        begin(departure)

    monkeypatch.setattr(Departure, "begin", watched_begin)
    return has_turn


class TestQuestions:
    def test_the_same_question_at_once_is_paid_for_once(self, two, monkeypatch):
        here, there = two
        before = Fraction(there.get("/v1/budget", here.ann).json["bank"]["spent"])
        is_found, may_go_on = Event(), Event()
        record = here.service.ledger.record

        def slow_record(*given):
            is_found.set()
            may_go_on.wait(60)
            record(*given)

        monkeypatch.setattr(here.service.ledger, "record", slow_record)
        first = here.later(here.ann)
        assert is_found.wait(60)
        has_turn = watched(monkeypatch)
        second = there.later(here.ann)
        assert not has_turn.wait(WHILE)
        may_go_on.set()
        assert first.reply().status == second.reply().status == 200
        assert first.reply().json["answer_id"] == second.reply().json["answer_id"]
        after = Fraction(there.get("/v1/budget", here.ann).json["bank"]["spent"])
        assert after - before == Fraction(QUESTION["epsilon"])

    def test_a_retry_at_another_service_waits_for_the_first_and_has_its_answer(
        self, two, monkeypatch
    ):
        here, there = two
        has_turn = watched(monkeypatch)
        fresh = {**QUESTION, "fresh": True}
        key = {"Idempotency_Key": "a key"}
        before = len(here.get("/v1/answers", here.ann).json["answers"])
        with here.service.ledger.turn("retry", "ann", "a key"):
            later = there.later(here.ann, fresh, **key)
            assert not has_turn.wait(WHILE)
        first = later.reply().json
        again = here.ask(here.ann, fresh, **key).json
        assert again["rows"] == first["rows"] and again["answer_id"] == first["answer_id"]
        past = here.get("/v1/answers", here.ann).json["answers"]
        assert len(past) == before + 1 and past[0]["answer_id"] == first["answer_id"]

    def test_a_turn_ends_with_the_connection_of_whoever_had_it(self, two, postgres):
        here, there = two
        with here.service.ledger.turn("a question"):
            postgres.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{DATABASE}' AND state = 'idle in transaction'"
            )
            with there.service.ledger.turn("a question"):
                pass


class TestPlaces:
    def test_all_services_have_so_many_together(self, place):
        with ExitStack() as stack:
            here, there = (stack.enter_context(closing(ServiceDatabase(place))) for _ in range(2))
            with here.place(2, gave_up), there.place(2, gave_up):
                for each in (here, there):
                    with pytest.raises(GaveUp), each.place(2, gave_up):
                        pass
            with there.place(2, gave_up), there.place(2, gave_up):
                pass

    def test_who_waits_has_the_place_that_comes_free(self, two, monkeypatch):
        here, there = two
        has_turn = watched(monkeypatch)
        places = here.service.policy.service.scans
        fresh = {**QUESTION, "fresh": True}
        with ExitStack() as held:
            for _ in range(places):
                held.enter_context(here.service.place())
            later = there.later(here.ann, fresh)
            assert not has_turn.wait(WHILE) and not later.is_there
        assert later.reply().status == 200


class GaveUp(Exception):  # noqa: N818  # says what happened
    pass


def gave_up():
    raise GaveUp


class TestRate:
    def test_all_services_take_from_one_bucket(self, place):
        databases = [ServiceDatabase(place) for _ in range(2)]
        rates = [SharedRate(3, each) for each in databases]
        for number in range(3):
            rates[number % 2].take("of all")
        for rate in rates:
            with pytest.raises(Refusal) as caught:
                rate.take("of all")
            assert caught.value.code == "rate_limited"
            assert 1 <= int(caught.value.headers["Retry-After"]) <= 20
        rates[0].take("another")
        for each in databases:
            each.close()

    def test_it_fills_by_the_clock_of_the_database(self, place, postgres):
        database = ServiceDatabase(place)
        assert [database.take("filling", 1) for _ in range(2)] == [0, 60]
        earlier = "UPDATE postri_service.rates SET since = since - interval '59 seconds'"
        postgres.run_in(DATABASE, earlier)
        assert database.take("filling", 1) == 1
        postgres.run_in(DATABASE, earlier)
        assert [database.take("filling", 1) > 0 for _ in range(2)] == [False, True]
        database.close()


def test_who_has_a_reply_finds_its_question_whichever_service_is_asked(policy, place):
    with read_policy(policy).open_ledger() as ledger, ExitStack() as stack:
        databases = [stack.enter_context(closing(ServiceDatabase(place))) for _ in range(2)]
        # On a grid whose next point never comes.
        here, there = (PublicView(ledger, 10**6, each) for each in databases)
        first = there.now()
        ledger.set_budget("viewed", Fraction(1), Pure())
        assert there.now() is first
        here.reply_leaves()
        assert there.now().head.number > first.head.number
        assert there.now() is there.now()


def test_without_the_database_nobody_comes_in(two, postgres):
    here, there = two
    assert here.get("/v1/me", here.ann).status == 200
    locked = f"ALTER ROLE {SERVICE} NOLOGIN"
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{SERVICE}'"
    postgres.run(locked, cut)
    try:
        for each in two:
            assert each.get("/v1/me", here.ann).code == "ledger_error"
            assert each.get("/readyz").status == 503
    finally:
        postgres.run(f"ALTER ROLE {SERVICE} LOGIN")
    assert there.get("/v1/me", here.ann).status == 200
    assert verify(here.service.ledger) == []
