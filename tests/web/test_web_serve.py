"""`postri serve` as a process: where it listens, what it says and logs, how it ends, and what it
finds when the disk is full.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPSConnection
from pathlib import Path

import duckdb
import pytest
from serving import QUESTION, SECRET_CELL, SLOW, in_thread, token_of, until, write_policy

import program
from postri.ledger import SqliteLedger, verify
from postri.policy import read_policy
from postri.web import service as service_module
from proving import sized

CLEAN = {"time", "level", "event", "request_id", "method", "route", "status", "code", "analyst"}


def lines(process):
    return [json.loads(line) for line in process.words().splitlines() if line.startswith("{")]


def entries(path):
    """The kinds of the ledger's entries, and its problems."""
    policy = read_policy(path)
    with SqliteLedger(policy.ledger, policy.head, audit=True) as ledger:
        return [
            (entry.kind, json.loads(entry.body).get("reason")) for entry in ledger.entries()
        ], verify(ledger)


@pytest.mark.slow
class TestListening:
    def test_it_says_where_and_is_there(self, start, policy):
        """From nothing, as people start it; other tests start it warm."""
        process = start(policy, is_cold=True)
        assert process.line == f"postri: listening on http://127.0.0.1:{process.port}\n"
        assert process.get("/readyz").status == 200
        assert "no tokens yet" in process.words() and "other machines" not in process.words()
        assert process.ask(token_of(policy, "ann")).status == 200

    def test_it_warns_where_others_can_reach_it_without_tls(self, start, policy):
        token_of(policy, "ann")
        process = start(policy, "--host", "0.0.0.0")
        assert process.line.startswith("postri: listening on http://0.0.0.0:")
        assert "without TLS" in process.words() and "no tokens" not in process.words()

    def test_the_policy_says_where_and_options_say_it_again(self, start, tmp_path):
        path = write_policy(tmp_path, service='host = "127.0.0.2"')
        assert "http://127.0.0.2:" in start(path).line
        assert "http://127.0.0.3:" in start(path, "--host", "127.0.0.3").line

    def test_a_port_that_is_taken_is_told(self, policy):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            # In a process of its own, for it leaves a socket to the end of the process.
            out, err = program.start("serve", policy, "--port", taken.getsockname()[1], code=1)
        assert out == "" and "cannot listen on '127.0.0.1'" in err

    def test_a_wrong_policy_is_told(self, tmp_path):
        path = write_policy(tmp_path, service="scans = 0")
        assert "scans must be from 1 to 256" in refused(path)
        assert "there is no such file" in refused(tmp_path / "nothing.toml")

    def test_tls_needs_two_files_that_belong_together(self, policy, tmp_path):
        said = refused(policy, "--certificate", "c.pem")
        assert "both --certificate and --private-key" in said
        file = tmp_path / "c.pem"
        file.write_text("nonsense")
        # In a process of its own, as above.
        out, err = program.start(
            "serve", policy, "--certificate", file, "--private-key", file, code=2
        )
        assert out == "" and "name two PEM files" in err

    def test_it_speaks_tls(self, start, policy, tmp_path):
        if shutil.which("openssl") is None:
            (pytest.fail if os.environ.get("POSTRI_REQUIRE_ALL") else pytest.skip)(
                "needs openssl to make a certificate: apt install openssl"
            )
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ]
        files = {"-keyout": tmp_path / "key.pem", "-out": tmp_path / "cert.pem"}
        options = [text for name, file in files.items() for text in (name, str(file))]
        subprocess.run(
            [
                *command,
                *options,
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ],
            check=True,
            capture_output=True,
        )
        process = start(
            policy, "--certificate", str(files["-out"]), "--private-key", str(files["-keyout"])
        )
        assert process.line.startswith("postri: listening on https://127.0.0.1:")
        connection = HTTPSConnection(
            "127.0.0.1",
            process.port,
            context=ssl.create_default_context(cafile=str(files["-out"])),
            timeout=30,
        )
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()

    def test_a_missing_library_prints_its_install_line(self, policy):
        code = "import sys; sys.modules['fastapi'] = None; from postri.cli import main; main()"
        said = subprocess.run(
            [sys.executable, "-c", code, "serve", str(policy)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (said.returncode, said.stdout) == (1, "")
        assert "The service needs fastapi: pip install 'postri[web]'" in said.stderr


def refused(*words):
    """What a service that does not start says."""
    out, err = program.run("serve", *words, code=2)
    assert out == ""
    return err


def answers(process):
    """Whether somebody new is let in."""
    try:
        return process.get("/healthz").status == 200
    except OSError:
        return False


@pytest.mark.slow
class TestEnding:
    @pytest.fixture
    def gated(self, start, tmp_path):
        """A service whose scans wait for a file, and a question that waits."""

        def gated(service=""):
            path, gate = write_policy(tmp_path, service=service), tmp_path / "gate"
            ann = token_of(path, "ann")
            process = start(path, env={"POSTRI_TEST_GATE": str(gate)})
            asked = process.later(ann, QUESTION, Idempotency_Key="k")
            until(Path(f"{gate}.waiting").exists)
            return path, process, asked, gate

        return gated

    @pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT][: sized(1, 2)])
    def test_a_running_question_is_finished(self, gated, sent):
        path, process, asked, gate = gated()
        process.signal(sent)
        until(lambda: not answers(process))
        gate.touch()
        assert asked.reply().status == 200
        assert process.wait() == 0
        assert entries(path) == ([("terms", None), ("reserve", None), ("answer", None)], [])

    def test_one_that_takes_too_long_is_accounted_for(self, gated):
        path, process, asked, _ = gated('shutdown_timeout = "0.2"')
        process.signal(signal.SIGTERM)
        reply = asked.reply()
        assert (reply.status, reply.code, reply.json["spent"]) == (502, "question_failed", True)
        assert process.wait() == 0
        assert entries(path) == ([("terms", None), ("reserve", None), ("failure", "Shutdown")], [])

    @pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM][: sized(1, 2)])
    def test_a_second_signal_ends_it_at_once(self, gated, second):
        path, process, _, _ = gated("shutdown_timeout = 600")
        process.signal(signal.SIGTERM)
        until(lambda: "shutdown" in process.words())
        process.signal(second)
        assert process.wait() == 128 + second
        found, problems = entries(path)
        assert found == [("terms", None), ("reserve", None)] and problems == []

    def test_an_answer_that_was_cut_off_is_had_by_a_retry_for_nothing(self, gated, start):
        path, process, _, _ = gated()
        process.signal(signal.SIGKILL)
        process.wait()
        again = start(path)
        ann = token_of(path, "ann")
        reply = again.ask(ann, QUESTION, Idempotency_Key="k")
        assert reply.status == 200
        budget = again.get("/v1/budget", ann).json["bank"]
        assert (budget["spent"], budget["own"]) == ("1/2", "1/2")
        assert again.ask(ann, QUESTION, Idempotency_Key="k").json["rows"] == reply.json["rows"]

    def test_an_endless_scan_does_not_hold_it(self, start, tmp_path):
        path = write_policy(tmp_path, service="shutdown_timeout = 0")
        process = start(path)
        asked = process.later(token_of(path, "ann"), SLOW)
        until(lambda: entries(path)[0])
        process.signal(signal.SIGTERM)
        assert asked.reply().json["spent"] is True
        assert process.wait() == 0
        assert entries(path)[0][-1] == ("failure", "Shutdown")

    def test_an_idle_connection_does_not_hold_it(self, start, policy):
        process = start(policy)
        with process.raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
            assert b"200" in connection.recv(1000)
            process.signal(signal.SIGTERM)
            assert process.wait() == 0


@pytest.mark.slow
class TestLogs:
    def test_a_line_for_each_request_and_nothing_secret_in_it(self, start, tmp_path):
        path = write_policy(tmp_path)
        ann, sue = token_of(path, "ann"), token_of(path, "sue", "steward")
        process = start(path)
        secret = "planted4711"
        mid = process.ask(
            ann,
            {
                "sql": f"SELECT MEDIAN(x) AS {secret} FROM bank WHERE x <> {SECRET_CELL}",
                "epsilon": "1",
            },
            Idempotency_Key=secret,
        )
        process.ask(ann, {"sql": f"SELECT {secret} FROM bank", "epsilon": 1})
        process.ask(f"ptr_00000000_{secret}")
        process.get(f"/v1/{secret}?{secret}={secret}", ann)
        process.get(f"/page/{secret}")
        process.send("PUT", f"/v1/allowances/{secret}", {"allowance": 1}, sue)
        process.send(secret.upper(), "/v1/me", None, ann)
        made = process.send("POST", "/v1/tokens", {"name": "eve", "role": "analyst"}, sue).json[
            "token"
        ]
        with process.raw(f"{secret} nonsense\r\n\r\n".encode()) as connection:
            connection.recv(100)
        process.signal(signal.SIGTERM)
        process.wait()
        words = process.words()
        assert mid.status == 200
        for hidden in (
            secret,
            secret.upper(),
            ann,
            sue,
            made,
            ann[13:],
            made[13:],
            str(SECRET_CELL),
            "SELECT",
            str(tmp_path),
        ):
            assert hidden not in words, hidden
        found = lines(process)
        requests = [line for line in found if line["event"] == "request"]
        assert len(found) == len(words.splitlines()) and all(
            set(line) == CLEAN for line in requests
        )
        assert [
            (line["method"], line["route"], line["status"], line["code"], line["analyst"])
            for line in requests
        ] == [
            ("POST", "/v1/query", 200, None, "ann"),
            ("POST", "/v1/query", 400, "invalid_request", "ann"),
            ("POST", None, 401, "unauthorized", None),
            ("GET", None, 404, "not_found", "ann"),
            ("GET", "/page/{file:path}", 404, "not_found", None),
            ("PUT", "/v1/allowances/{analyst:path}", 200, None, "sue"),
            ("other", "/v1/me", 405, "method_not_allowed", "ann"),
            ("POST", "/v1/tokens", 201, None, "sue"),
        ]
        assert mid.headers["x-request-id"] == requests[0]["request_id"]

    def test_what_other_libraries_say_is_not_repeated(self):
        code = """
import logging, sys, threading, warnings
from postri.web import logs
logs.configure()
def fail(): raise KeyError("planted4711")
error = ValueError("planted4711")
logging.getLogger("uvicorn.error").error("planted4711 %s", "planted4711", exc_info=error)
logging.getLogger("postri.web").error("planted4711")
logging.getLogger("asyncio").error("broken %d", "planted4711")
warnings.warn("planted4711")
thread = threading.Thread(target=fail); thread.start(); thread.join()
try:
    fail()
except KeyError as error:
    logs.log_failure(error, request_id="0")
"""
        done = subprocess.run(
            [sys.executable, "-W", "always", "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert "planted4711" not in done.stderr
        found = [json.loads(line) for line in done.stderr.splitlines()]
        assert [line.get("logger") or line["error"] for line in found] == [
            "uvicorn.error",
            "postri.web",
            "asyncio",
            "py.warnings",
            "KeyError",
            "KeyError",
        ]

    def test_neighbouring_tables_have_the_same_lines(self, tmp_path, start):
        """Whoever reads the log cannot tell which of two tables it was."""
        seen = []
        for number, cells in enumerate(
            ("range % 97", "CASE WHEN range = 3 THEN 96 ELSE range % 97 END")
        ):
            folder = tmp_path / str(number)
            folder.mkdir()
            with duckdb.connect(str(folder / "bank.duckdb")) as connection:
                connection.execute(
                    f"CREATE TABLE bank AS SELECT CAST({cells} AS INTEGER) AS x, 'Oslo' AS "
                    "city FROM range(400)"
                )
            path = write_policy(folder)
            ann, process = token_of(path, "ann"), start(path)
            for question in (
                QUESTION,
                {**QUESTION, "epsilon": 100},
                {"sql": "SELECT city, SUM(x) AS s FROM bank GROUP BY city", "epsilon": 1},
            ):
                process.ask(ann, question)
            process.signal(signal.SIGTERM)
            process.wait()
            seen.append(
                [
                    {
                        name: each
                        for name, each in line.items()
                        if name not in ("time", "request_id")
                    }
                    for line in lines(process)
                ]
            )
        assert seen[0] == seen[1] and len(seen[0]) == 4


def fill_up(place):
    with place.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


class TestFullDisk:
    @pytest.fixture
    def small(self, tmp_path):
        """A disk of 4 MB, where this user may mount one."""
        folder = tmp_path / "small"
        folder.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )
        if mounted.returncode:
            pytest.skip(
                "this user may not mount a small disk; the next test does it with a fault "
                "below the probe"
            )
        yield folder
        subprocess.run(["umount", "-l", str(folder)], check=True)

    def test_it_shows(self, small, monkeypatch):
        monkeypatch.setattr(service_module, "FRESH", 0.0)
        with in_thread(write_policy(small)) as served:
            assert served.get("/readyz").status == 200
            fill = small / "fill"
            fill_up(fill)
            reply = served.get("/readyz")
            assert (reply.status, reply.code, reply.json["detail"]) == (
                503,
                "not_ready",
                service_module.FULL,
            )
            assert str(small) not in reply.text.decode()
            assert served.get("/healthz").status == 200
            fill.unlink()
            assert served.get("/readyz").status == 200

    @pytest.mark.parametrize("call", ["write", "fsync"])
    def test_a_fault_below_the_probe_shows(self, served, monkeypatch, call):
        monkeypatch.setattr(service_module, "FRESH", 0.0)

        def full(*given):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(service_module.os, call, full)
            assert served.service.readiness.trouble() == service_module.FULL
        assert served.service.readiness.trouble() is None

    def test_a_folder_that_cannot_be_written_shows(self, served, monkeypatch):
        monkeypatch.setattr(service_module, "FRESH", 0.0)
        monkeypatch.setattr(served.service.readiness, "_folders", {Path("/proc/self")})
        assert served.service.readiness.trouble() == service_module.UNWRITABLE

    def test_who_asks_often_does_not_wear_out_the_disk(self, served, monkeypatch):
        probes = []
        monkeypatch.setattr(service_module, "FRESH", 60.0)
        monkeypatch.setattr(served.service.readiness, "_probe", lambda: probes.append(1))
        for _ in range(5):
            served.get("/readyz")
        assert len(probes) == 1
