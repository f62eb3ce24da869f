"""The service as it is run for real: the steps of `deploy/run.sh`, without containers; and what the
containers' files say.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest
import yaml
from serving import token_of, until, write_policy

from postri import connect
from postri.ledger import open_ledger
from program import POSTRI
from services.postgres_server import SECRET
from warm_start import warm_program

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
RUN = DEPLOY / "run.sh"
NAME = re.compile(r"\$\{(POSTRI_[A-Z_]+)")


@pytest.fixture(scope="module")
def tools():
    """The path on which nginx and openssl are found."""
    path = os.pathsep.join((os.environ["PATH"], "/usr/sbin"))
    for program, package in (("nginx", "nginx-light"), ("openssl", "openssl")):
        if shutil.which(program, path=path) is None:
            reason = f"needs {program}: apt install {package}"
            if os.environ.get("POSTRI_REQUIRE_ALL"):
                pytest.fail(reason)
            pytest.skip(reason)
    return path


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def surroundings(folder, path, **more):
    found = {"POSTRI_HOME": str(folder), "POSTRI_PROGRAM": str(POSTRI), "PATH": path}
    # What the surroundings of the tests must not decide.
    kept = {name: text for name, text in os.environ.items() if not name.startswith("POSTRI_")}
    return {**kept, **found, **more}


def run(folder, path, step, **more):
    return subprocess.run(
        [str(RUN), step],
        env=surroundings(folder, path, POSTRI_PROGRAM=warm_program(POSTRI), **more),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_a_question_through_tls_and_an_end_in_order(tmp_path, tools, monkeypatch):
    policy = write_policy(tmp_path)
    port = free_port()
    more = {"POSTRI_PORT": str(free_port()), "POSTRI_LISTEN": f"127.0.0.1:{port}"}
    said = tmp_path / "said"
    with said.open("w") as words:
        running = subprocess.Popen(
            [str(RUN)],
            env=surroundings(tmp_path, tools, **more),
            stdout=words,
            stderr=words,
            start_new_session=True,
        )
    certificate = tmp_path / "tls" / "certificate.pem"
    try:
        until(lambda: running.poll() is not None or status(certificate, port) == 200, "readiness")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with connect(f"https://localhost:{port}", token=token_of(policy, "ann")) as db:
            assert 0 <= db.median("bank", "x", epsilon="1/2").value <= 100
        steward = (tmp_path / "steward.token").read_text().strip()
        with connect(f"https://localhost:{port}", token=steward) as db:
            assert db.analyst == "steward"
        # Without TLS there is nothing.
        plain = HTTPConnection("127.0.0.1", port, timeout=30)
        plain.request("GET", "/healthz")
        assert plain.getresponse().status == 400
        plain.close()
        for secret in (tmp_path / "steward.token", tmp_path / "tls" / "private-key.pem"):
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0, said.read_text()
        assert status(certificate, port) is None
        assert steward not in said.read_text()
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def status(certificate, port):
    """What the service says of its readiness, through TLS; None if nobody answers."""
    if not certificate.exists():
        return None
    try:
        context = ssl.create_default_context(cafile=str(certificate))
        with closing(HTTPSConnection("localhost", port, context=context, timeout=30)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status
    except OSError:
        return None


@pytest.mark.slow
class TestPrepare:
    def test_what_is_there_stays(self, tmp_path, tools):
        policy = write_policy(tmp_path)
        assert run(tmp_path, tools, "prepare", POSTRI_LEDGER="own.ledger").returncode == 0
        assert policy.read_text().startswith('ledger = "own.ledger"\n')
        files = ("postri.toml", "steward.token", "tls/certificate.pem", "tls/private-key.pem")
        before = [(tmp_path / name).read_text() for name in files]
        again = run(tmp_path, tools, "prepare", POSTRI_LEDGER="own.ledger")
        assert again.returncode == 0
        assert [(tmp_path / name).read_text() for name in files] == before
        # Another ledger would know nothing of what was spent.
        other = run(tmp_path, tools, "prepare", POSTRI_LEDGER="other.ledger")
        assert other.returncode == 2 and "another ledger" in other.stderr
        assert [(tmp_path / name).read_text() for name in files] == before

    def test_a_step_that_is_none_and_a_missing_policy_are_told(self, tmp_path, tools):
        assert "there is ledger, prepare, serve" in run(tmp_path, tools, "nonsense").stderr
        assert "postri init DATA" in run(tmp_path, tools, "prepare").stderr


@pytest.mark.slow
class TestLedger:
    ROLE = "run_sh_service"
    DATABASE = "run_sh"

    @pytest.fixture
    def database(self, postgres):
        """An empty database, and a role that may do nothing there yet."""
        postgres.run(
            f"DROP DATABASE IF EXISTS {self.DATABASE} WITH (FORCE)",
            f"DROP ROLE IF EXISTS {self.ROLE}",
            f"CREATE DATABASE {self.DATABASE}",
            f"CREATE ROLE {self.ROLE} LOGIN PASSWORD '{SECRET}'",
        )
        return postgres

    def make(self, folder, path, owner, role=ROLE):
        return run(
            folder,
            path,
            "ledger",
            POSTRI_LEDGER_OWNER=owner,
            POSTRI_LEDGER_ROLE=role,
            POSTRI_LEDGER_PASSWORD_FILE=str(folder / "password"),
            POSTRI_PYTHON=sys.executable,
        )

    def test_a_service_asks_on_the_ledger_that_it_made(self, tmp_path, database):
        """As the containers do it: passwords lie in files, and stand in no URL."""
        path = os.environ["PATH"]
        (tmp_path / "password").write_text(SECRET)
        owner = f"postgresql://postgres@127.0.0.1:{database.port}/{self.DATABASE}"
        for _ in range(2):
            made = self.make(tmp_path, path, owner)
            assert made.returncode == 0, made.stderr
            assert "may read it and add to it" in made.stderr
            assert SECRET not in made.stdout + made.stderr
        policy = write_policy(tmp_path)
        place = database.url(self.ROLE, SECRET, self.DATABASE)
        policy.write_text(f'ledger = "{place}"\n{policy.read_text()}')
        with connect(policy, analyst="ann") as db:
            db.count("bank", epsilon="1/2")
            assert db.budget()["bank"].spent == Fraction(1, 2)
        with open_ledger(place, tmp_path / "postri.ledger.heads") as ledger:
            assert not any("too many rights" in warning for warning in ledger.warnings())

    def test_a_role_and_an_owner_that_are_missing_are_told(self, tmp_path, database):
        path = os.environ["PATH"]
        (tmp_path / "password").write_text(SECRET)
        owner = f"postgresql://postgres@127.0.0.1:{database.port}/{self.DATABASE}"
        nobody = self.make(tmp_path, path, owner, "run_sh_nobody")
        assert nobody.returncode == 2 and "CREATE ROLE" in nobody.stderr
        unnamed = self.make(tmp_path, path, "")
        assert unnamed.returncode == 2 and "POSTRI_LEDGER_OWNER" in unnamed.stderr
        (tmp_path / "password").write_text("wrong")
        refused = self.make(tmp_path, path, owner)
        assert refused.returncode != 0 and "cannot be reached" in refused.stderr
        assert "Traceback" not in refused.stderr


class TestContainers:
    """There is no Docker where the tests run: what can be read is checked."""

    @pytest.fixture
    def services(self):
        return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    def test_only_the_proxy_is_reached_from_outside(self, services):
        assert [name for name, each in services.items() if "ports" in each] == ["proxy"]
        outside = [name for name, each in services.items() if "outside" in each["networks"]]
        assert outside == ["proxy"]

    def test_every_variable_is_one_of_the_scripts(self, services):
        known = set(re.findall(r"^(POSTRI_[A-Z_]+)=", RUN.read_text(), re.MULTILINE))
        for each in services.values():
            names = {name for name in each["environment"] if name.startswith("POSTRI_")}
            assert names <= known
        template = set(NAME.findall((DEPLOY / "nginx.conf.template").read_text()))
        assert template == set(services["proxy"]["environment"]) <= known

    def test_no_password_stands_in_it(self, services):
        for each in services.values():
            for name, text in each["environment"].items():
                is_place = name.endswith("_FILE")
                assert is_place or "PASSWORD" not in name, name
                assert "@" not in text or ":" not in text.partition("@")[0].partition("//")[2]

    def test_the_service_is_not_the_owner_of_its_ledger(self, services):
        assert services["service"]["secrets"] == ["service_password"]
        role = services["service"]["environment"]["POSTRI_LEDGER"]
        assert role.startswith("postgresql://postri_service@")
        assert "CREATE ROLE postri_service LOGIN" in (DEPLOY / "ledger-role.sh").read_text()

    def test_what_the_image_copies_is_there(self):
        text = (DEPLOY / "Dockerfile").read_text()
        copied = [
            word
            for line in re.findall(r"^COPY (?!--from)(.*)", text, re.MULTILINE)
            for word in line.split()[:-1]
        ]
        allowed = (ROOT / ".dockerignore").read_text().splitlines()
        for name in copied:
            assert (ROOT / name).exists() and f"!{name}" in allowed, name

    def test_it_installs_by_hashes_and_runs_as_nobody(self):
        text = (DEPLOY / "Dockerfile").read_text()
        assert "--require-hashes -r requirements/web.lock" in text
        assert re.search(r"^USER postri$", text, re.MULTILINE)
