"""Counters: what was replied, and nothing that depends on rows or on how long they take."""

from __future__ import annotations

import re
import signal
import socket
from http.client import HTTPConnection

import duckdb
import pytest
from serving import QUESTION, SLOW, in_thread, token_of, until, write_policy

import program
from postri.errors import PolicyError
from postri.policy import read_policy
from postri.web import metrics as module
from postri.web.metrics import COUNTERS, GAUGES, Metrics, told_by

# A line of Prometheus's text format: a name, labels, a whole number.
LINE = re.compile(r'postri_[a-z_]+(\{([a-z]+="[^"\\]*",?)+\})? \d+')
ABOUT = re.compile(r"# (HELP|TYPE) postri_[a-z_]+ .+")


def told(metrics):
    """The counters and gauges as they would be told now, without those of the version."""
    metrics.publish()
    lines = [line for line in metrics.text.splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines if "postri_info" not in line)


def told_after(metrics, replies):
    """What is told once so many replies are counted: one is when it has left, a moment later."""

    def all_are_counted():
        counted = (n for name, n in told(metrics).items() if name.startswith("postri_requests"))
        return sum(map(int, counted)) == replies

    until(all_are_counted, "all replies are counted")
    return told(metrics)


def asked(port, path="/metrics", method="GET"):
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path)
    reply = connection.getresponse()
    content = reply.read().decode()
    connection.close()
    return reply.status, reply.headers["Content-Type"], content


def test_the_text_is_prometheuss():
    metrics = Metrics(lambda: dict.fromkeys(GAUGES, 3))
    metrics.count("postri_refusals_total", code="busy")
    metrics.count("postri_refusals_total", code="busy")
    metrics.publish()
    lines = metrics.text.splitlines()
    assert all(LINE.fullmatch(line) or ABOUT.fullmatch(line) for line in lines)
    assert 'postri_refusals_total{code="busy"} 2' in lines
    for name in (*COUNTERS, *GAUGES):
        assert sum(line.startswith(f"# TYPE {name} ") for line in lines) == 1
    assert metrics.text.endswith("\n")


def test_nothing_changes_between_the_times_at_which_it_is_told():
    metrics = Metrics()
    before = metrics.text
    metrics.count("postri_answers_total", kind="new")
    assert metrics.text == before
    metrics.publish()
    assert metrics.text != before


def test_whoever_connects_is_told_and_nothing_else_is_there(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    metrics = Metrics()
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with told_by(listener, metrics):
        status, media_type, text = asked(port)
        assert (status, text) == (200, metrics.text)
        assert media_type == "text/plain; version=0.0.4; charset=utf-8"
        assert asked(port, "/")[0] == 404
        assert asked(port, "/v1/me")[0] == 404
        assert asked(port, method="POST")[0] == 501
    with pytest.raises(ConnectionRefusedError):
        asked(port)


@pytest.mark.slow
class TestService:
    def test_replies_are_counted_by_what_they_were(self, served):
        served.ask(served.ann)
        served.ask(served.ann)
        served.ask(served.ann, {**QUESTION, "epsilon": 100})
        served.get("/v1/planted4711", served.ann)
        served.send("PLANTED", "/planted4711")
        served.get("/v1/me", "ptr_planted4711")
        found = told_after(served.service.metrics, 6)
        requests = {name: n for name, n in found.items() if name.startswith("postri_req")}
        assert requests == {
            'postri_requests_total{method="GET",route="other",status="401"}': "1",
            'postri_requests_total{method="GET",route="other",status="404"}': "1",
            'postri_requests_total{method="POST",route="/v1/query",status="200"}': "2",
            'postri_requests_total{method="POST",route="/v1/query",status="409"}': "1",
            'postri_requests_total{method="other",route="other",status="404"}': "1",
        }
        assert found['postri_answers_total{kind="new"}'] == "1"
        assert found['postri_answers_total{kind="recorded"}'] == "1"
        assert found['postri_refusals_total{code="budget_exceeded"}'] == "1"
        assert found['postri_refusals_total{code="unauthorized"}'] == "1"
        assert found["postri_questions_running"] == "0"
        assert "planted" not in served.service.metrics.text.lower()

    def test_analysts_and_strangers_find_none_of_it_where_they_ask(self, served):
        for path in ("/metrics", "/v1/metrics"):
            for token in (None, served.ann, served.sue):
                assert served.get(path, token).status in (401, 404)

    def test_questions_that_run_and_wait_are_told(self, tmp_path):
        path = write_policy(tmp_path, service='scans = 1\nscan_timeout = "0.5"')
        with in_thread(path) as served:
            asking = [served.later(served.ann, SLOW), served.later(served.ann, QUESTION)]
            until(lambda: told(served.service.metrics)["postri_questions_waiting"] == "1")
            assert told(served.service.metrics)["postri_questions_running"] == "1"
            assert told(served.service.metrics)["postri_questions_places"] == "1"
            for each in asking:
                each.reply()
            assert told_after(served.service.metrics, 2)["postri_questions_running"] == "0"

    def test_neighbouring_tables_have_the_same_counters(self, tmp_path):
        """Whoever reads them cannot tell which of two tables it was."""
        seen = []
        for number, cells in enumerate(("range % 97", "96")):
            folder = tmp_path / str(number)
            folder.mkdir()
            with duckdb.connect(str(folder / "bank.duckdb")) as connection:
                connection.execute(
                    f"CREATE TABLE bank AS SELECT CAST({cells} AS INTEGER) AS x, 'Oslo' AS "
                    f"city FROM range({400 + number})"
                )
            with in_thread(write_policy(folder)) as served:
                for question in (QUESTION, QUESTION, {**QUESTION, "epsilon": 100}):
                    served.ask(served.ann, question)
                seen.append(told_after(served.service.metrics, 3))
        assert seen[0] == seen[1]

    def test_they_have_an_address_of_their_own(self, start, tmp_path):
        path = write_policy(tmp_path, service='metrics = "127.0.0.1:0"')
        process = start(path)
        line = process.process.stdout.readline()
        found = re.fullmatch(r"postri: counters at http://127.0.0.1:(\d+)/metrics\n", line)
        port = int(found[1])
        process.get("/v1/me", token_of(path, "ann"))
        counted = 'postri_requests_total{method="GET",route="/v1/me",status="200"} 1'
        until(lambda: counted in asked(port)[2])
        assert asked(process.port)[0] == 404
        process.signal(signal.SIGTERM)
        assert process.wait() == 0


class TestPolicy:
    def test_an_address_that_is_none_is_told(self, tmp_path):
        for given in ("9464", "127.0.0.1", ":9464", "x:65536", "x:-1"):
            path = write_policy(tmp_path, service=f'metrics = "{given}"')
            with pytest.raises(PolicyError, match="metrics must be a host and a port"):
                read_policy(path)

    @pytest.mark.slow
    def test_one_that_is_taken_is_told(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            path = write_policy(tmp_path, service=f'metrics = "127.0.0.1:{port}"')
            assert read_policy(path).service.metrics == ("127.0.0.1", port)
            _, said = program.start("serve", path, code=1)
        assert "choose another with metrics in the policy's table [service]" in said
