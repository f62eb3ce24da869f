"""A service whose ledger lies in PostgreSQL serves as one with a file does."""

from __future__ import annotations

import pytest
from serving import QUESTION, in_thread, write_policy

from postri.ledger import verify
from postri.ledger.postgres import grants, init_ledger
from postri.web.database import init_service, service_grants
from services.postgres_server import SECRET

pytestmark = pytest.mark.slow

SERVICE = "web_service"


@pytest.fixture
def policy(postgres, tmp_path):
    postgres.run(
        "DROP DATABASE IF EXISTS web_ledger",
        f"DROP ROLE IF EXISTS {SERVICE}",
        "CREATE DATABASE web_ledger",
        f"CREATE ROLE {SERVICE} LOGIN PASSWORD '{SECRET}'",
    )
    owner = postgres.url(database="web_ledger")
    init_ledger(owner)
    init_service(owner)
    postgres.run_in("web_ledger", *grants(SERVICE), *service_grants(SERVICE))
    path = write_policy(tmp_path)
    place = postgres.url(SERVICE, SECRET, "web_ledger")
    path.write_text(f'ledger = "{place}"\n{path.read_text()}')
    return path


def test_a_service_asks_tells_and_remembers(policy):
    with in_thread(policy) as served:
        first = served.ask(served.ann)
        assert first.status == 200
        again = served.ask(served.ann)
        assert again.json["rows"] == first.json["rows"]
        assert served.get("/v1/budget", served.ann).json["bank"]["own"] == QUESTION["epsilon"]
        (past,) = served.get("/v1/answers", served.ann).json["answers"]
        assert past["status"] == "answered"
        trail = served.get("/v1/ledger", served.sue).json
        assert [entry["kind"] for entry in trail["entries"]] == ["terms", "reserve", "answer"]
        assert served.get("/readyz").status == 200
        assert verify(served.service.ledger, trail["head"]) == []
