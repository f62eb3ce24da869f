"""A session with a service is the same as one with its policy: same calls, same results, same
errors.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from served import Service, new_token, served

import postri
from bank import COLUMNS, dataset_text
from postri import InputError, ServiceError, Session, agg
from postri.session import remote as remote_session

pytestmark = pytest.mark.slow

POLICY = "[service]\ntime_grid = 0\n" + dataset_text(
    budget="20",
    more='max_epsilon_per_question = "4"',
    columns={name: COLUMNS[name] for name in ("balance", "since", "rate", "job", "vip")},
)
EVERYTHING = {
    "mid": agg.median("balance"),
    "n": agg.count(),
    "m": "mean(rate)",
    "s": agg.sum("rate"),
    "day": agg.quantile("since", "1/3"),
}


def write(folder: Path) -> Path:
    source = np.random.default_rng(1)
    table = {
        "balance": source.integers(-500, 4_000, 2_000),
        "since": (np.datetime64("2005-03-01") + source.integers(0, 6_000, 2_000)).astype(
            "datetime64[D]"
        ),
        "rate": np.round(source.uniform(0, 10, 2_000), 2),
        "job": source.choice(["admin.", "technician", "cook"], 2_000),
        "vip": source.random(2_000) < 0.3,
    }
    pq.write_table(pa.table(table), folder / "bank.parquet")
    (folder / "postri.toml").write_text(POLICY)
    return folder / "postri.toml"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with served(write(tmp_path_factory.mktemp("remote"))) as service:
        yield service


@pytest.fixture(scope="module")
def remote(service):
    with service.session(new_token(service.policy)) as db:
        yield db


@pytest.fixture(scope="module")
def local(service):
    with postri.connect(service.policy, analyst="ann") as db:
        yield db


def test_a_process_that_has_computed_nothing_yet_reads_every_answer(service):
    """What a mean drew is read by the mean's own module, which somebody must have loaded."""
    code = f"""if True:
        import postri
        with postri.connect({service.url!r}) as db:
            result = db.sql("SELECT AVG(rate) AS mean FROM bank", epsilon=1)
        print(result.answer("mean").at("0.5").interval.width > 0)
    """
    token = new_token(service.policy, "eve")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "POSTRI_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


RESULTS: dict[str, Callable[[Session], Any]] = {
    "everything": lambda db: db.ask("bank", EVERYTHING, epsilon=1),
    "groups": lambda db: db.ask(
        "bank",
        EVERYTHING,
        by=["vip", "job"],
        where="balance > 0",
        epsilon=1,
        weights=dict.fromkeys(EVERYTHING, 2),
    ),
    "all at once": lambda db: db.ask(
        "bank",
        {"a": "median(balance)", "b": "count()"},
        epsilon="0.3",
        confidence=0.9,
        simultaneous=True,
    ),
    "SQL": lambda db: db.sql(
        "SELECT job, MEDIAN(balance) AS mid FROM bank GROUP BY job ORDER BY mid DESC LIMIT 2",
        epsilon="1/3",
    ),
    "arithmetic": lambda db: db.sql("SELECT SUM(rate) / COUNT(*) AS average FROM bank", epsilon=1),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_the_same(local, remote, name):
    """The second to ask gets what the first was given."""
    over_there = RESULTS[name](remote)
    again, here = RESULTS[name](remote), RESULTS[name](local)
    assert (again.groups, again.layout, str(again), again.to_json(), again.to_csv()) == (
        here.groups,
        here.layout,
        str(here),
        here.to_json(),
        here.to_csv(),
    )
    assert over_there.rows == here.rows and (over_there.charged, again.charged) == (
        over_there.epsilon,
        0,
    )
    assert [answer.value for answer in over_there.answers] == [
        answer.value for answer in here.answers
    ]


ANSWERS: dict[str, Callable[[Session], Any]] = {
    "median": lambda db: db.median("bank", "balance", epsilon="0.1"),
    "quantile": lambda db: db.quantile("bank", "rate", 0.9, epsilon="0.1", where="vip"),
    "count": lambda db: db.count("bank", epsilon="0.1", confidence=0.99),
    "sum": lambda db: db.sum("bank", "rate", epsilon="0.1"),
    "mean": lambda db: db.mean("bank", "rate", epsilon="0.1"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_the_same(local, remote, name):
    ANSWERS[name](remote)
    assert ANSWERS[name](remote) == ANSWERS[name](local)


ERRORS: dict[str, Callable[[Session], Any]] = {
    "no dataset": lambda db: db.count("bnk", epsilon=1),
    "dataset of another type": lambda db: db.count(7, epsilon=1),
    "no column": lambda db: db.median("bank", "blance", epsilon=1),
    "epsilon 0": lambda db: db.count("bank", epsilon=0),
    "epsilon of words": lambda db: db.count("bank", epsilon="much"),
    "no epsilon": lambda db: db.count("bank", epsilon=None),
    "confidence 2": lambda db: db.count("bank", epsilon=1, confidence=2),
    "by a text": lambda db: db.ask("bank", {"n": "count()"}, by="job", epsilon=1),
    "by a number": lambda db: db.ask("bank", {"n": "count()"}, by=[1], epsilon=1),
    "no keys": lambda db: db.ask("bank", {"n": "count()"}, by=["balance"], epsilon=1),
    "where": lambda db: db.count("bank", where="balance >", epsilon=1),
    "where of another type": lambda db: db.count("bank", where=7, epsilon=1),
    "a domain": lambda db: db.ask(
        "bank", {"mid": agg.median("balance", domain=postri.Domain(0, 1))}, epsilon=1
    ),
    "weights": lambda db: db.ask("bank", {"n": "count()"}, weights={"m": 1}, epsilon=1),
    "flags": lambda db: db.ask("bank", {"n": "count()"}, simultaneous="yes", epsilon=1),
    "aggregates": lambda db: db.ask("bank", [], epsilon=1),
    "an aggregate": lambda db: db.ask("bank", {"n": "cout()"}, epsilon=1),
    "names twice": lambda db: db.ask("bank", {"n": "count()", "n_low": "count()"}, epsilon=1),
    "a sum of text": lambda db: db.sum("bank", "job", epsilon=1),
    "SQL": lambda db: db.sql("SELECT balance FROM bank", epsilon=1),
    "SQL of another type": lambda db: db.sql(7, epsilon=1),
    "SQL of no dataset": lambda db: db.sql("SELECT COUNT(*) FROM elsewhere", epsilon=1),
    "a parameter": lambda db: db.count("bank", epsilon=1, were="x"),
    "too much for a question": lambda db: db.count("bank", epsilon=5),
    "too much for a question, by price": lambda db: db.price("bank", {"n": "cout()"}, epsilon=5),
    "a key of a retry": lambda db: db.count("bank", epsilon=1, retry="a\nb"),
    "a long key": lambda db: db.count("bank", epsilon=1, retry="a" * 201),
    "budget of no dataset": lambda db: db.budget("bnk"),
    "a page of answers": lambda db: db.answers(limit=0),
    "a page below nothing": lambda db: db.answers(before="x"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_the_same(local, remote, name):
    raised = []
    for db in (local, remote):
        with pytest.raises(postri.PostriError) as error:
            ERRORS[name](db)
        raised.append(error.value)
    here, there = raised
    assert type(here) is type(there) and str(here) == str(there) and vars(here) == vars(there)


def test_prices_budgets_facts_and_histories_are_the_same(local, remote):
    local.count("bank", epsilon="0.1")
    wanted = {"dataset": "bank", "aggregates": EVERYTHING, "epsilon": 2, "by": ["job"]}
    assert remote.price(**wanted) == local.price(**wanted)
    for how in ({"where": "balance < 40"}, {"where": "balance < 40", "expect": 300}):
        assert remote.price(**wanted, **how) == local.price(**wanted, **how)
    wishing = {"dataset": "bank", "aggregates": {"n": "count()"}, "within": 5}
    assert remote.price(**wishing) == local.price(**wishing)
    questions = [wishing, "SELECT MEDIAN(balance) WITHIN 20 ROWS FROM bank"]
    assert remote.plan(questions, delta="1e-5") == local.plan(questions, delta="1e-5")
    assert str(remote.price("SELECT COUNT(*) FROM bank", epsilon=1)) == str(
        local.price("SELECT COUNT(*) FROM bank", epsilon=1)
    )
    assert dict(remote.budget()) == dict(local.budget()) and str(remote.budget("bank")) == str(
        local.budget("bank")
    )
    assert remote.describe() == local.describe() and remote.datasets == local.datasets
    here, there = local.answers(limit=3), remote.answers(limit=3)
    assert [
        (each.answer_id, each.time, each.epsilon, each.status, each.question.text) for each in here
    ] == [
        (each.answer_id, each.time, each.epsilon, each.status, each.question.text) for each in there
    ]
    assert [each.result.groups for each in here] == [each.result.groups for each in there]
    assert [each.answer_id for each in remote.answers(before=here[0].answer_id, limit=2)] == [
        each.answer_id for each in here[1:]
    ]


def test_the_token_says_who_asks(service):
    with service.session(new_token(service.policy, "bob", allowance="1/2")) as db:
        assert db.analyst == "bob" and db.budget()["bank"].allowance == Fraction(1, 2)
        with pytest.raises(postri.BudgetExceeded, match="the allowance of 'bob' on 'bank'"):
            db.count("bank", epsilon=1, fresh=True)


def test_a_wrong_token_is_refused_at_once(service):
    with pytest.raises(ServiceError, match="token") as error:
        service.session("ptr_00000000_wrong")
    assert (error.value.code, error.value.status) == ("unauthorized", 401)


def test_the_token_may_come_from_the_environment(service, monkeypatch):
    monkeypatch.setenv("POSTRI_TOKEN", new_token(service.policy, "eve"))
    with postri.connect(service.url) as db:
        assert db.analyst == "eve"


class Other(BaseHTTPRequestHandler):
    """A server of something else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>hello</p>")

    def log_message(self, *words: object) -> None:
        pass


def test_another_server_is_no_service():
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ServiceError, match="no service of postri"):
            postri.connect(f"http://127.0.0.1:{server.server_port}", token="ptr_x")
        server.shutdown()


class Gateway(Other):
    """A proxy whose service is away at first."""

    replies = 0

    def do_GET(self) -> None:
        type(self).replies += 1
        if self.replies < 3:
            self.send_error(502)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"name": "ann"}')


def test_what_a_proxy_says_of_a_service_that_is_away_is_tried_again(monkeypatch):
    monkeypatch.setattr(remote_session, "LONGEST_WAIT", 0.01)
    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with postri.connect(f"http://127.0.0.1:{server.server_port}", token="ptr_x") as db:
            assert db.analyst == "ann"
        server.shutdown()


@pytest.mark.slow
def test_a_request_goes_out_in_one_piece():
    """So that a service finds the whole of it, and wakes once."""
    sent: list[bytes] = []
    connection = remote_session.InOnePiece("localhost")
    connection.sock = SimpleNamespace(sendall=sent.append)
    connection.request("POST", "/v1/query", b'{"sql": ""}', {"Idempotency-Key": "k"})
    (request,) = sent
    assert request.startswith(b"POST /v1/query HTTP/1.1\r\n")
    assert request.endswith(b'Idempotency-Key: k\r\n\r\n{"sql": ""}')


def test_a_service_that_is_gone_says_so(tmp_path, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(remote_session, "sleep", waits.append)
    with served(write(tmp_path)) as service:
        db = service.session(new_token(service.policy))
    with pytest.raises(ServiceError, match="cannot be reached"):
        db.count("bank", epsilon=1)
    db.close()
    # Twice as long each time.
    assert waits == [0.3125, 0.625, 1.25, 2.5]


@pytest.mark.slow
def test_a_second_client_of_a_key_is_charged_nothing(service: Service):
    with (
        service.session(new_token(service.policy, "fay")) as one,
        service.session(new_token(service.policy, "fay")) as other,
    ):
        first = one.ask("bank", {"n": "count()"}, epsilon="0.1", fresh=True, retry="k")
        again = other.ask("bank", {"n": "count()"}, epsilon="0.1", fresh=True, retry="k")
        assert first.rows == again.rows and again.charged == 0
        with pytest.raises(InputError, match="another question"):
            other.ask("bank", {"n": "count()"}, epsilon="0.2", retry="k")
        assert other.budget()["bank"].own == Fraction(1, 10)
