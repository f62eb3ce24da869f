"""PostgreSQL: what is known without a row costs nothing; a row that fails has the one face of all
failures.
"""

from __future__ import annotations

import socket

import pytest

from bank import dataset_text, session, spent
from postri import InputError, PolicyError, PostriError, QuestionFailed
from services.postgres_server import SECRET

COLUMNS = {"x": 'type = "integer"\nlower = 0\nupper = 100'}
MID = {"mid": "median(x)"}


def write_policy(folder, url: str, table: str, more: str = ""):
    folder.mkdir(exist_ok=True)
    text = dataset_text("bank", source=url, table=table, more=more, columns=COLUMNS)
    (folder / "postri.toml").write_text(text)
    return folder / "postri.toml"


@pytest.fixture
def people(postgres):
    postgres.load("probed", "integer", range(100))
    postgres.run(
        "DROP ROLE IF EXISTS prober",
        f"CREATE ROLE prober LOGIN PASSWORD '{SECRET}'",
        # Other tests leave a server on which nobody may use the schema by default.
        "GRANT USAGE ON SCHEMA public TO prober",
        "GRANT SELECT ON probed TO prober",
    )
    yield postgres
    postgres.run("DROP TABLE IF EXISTS probed CASCADE", "DROP OWNED BY prober", "DROP ROLE prober")


def refused(policy) -> PostriError:
    with session(policy) as db, pytest.raises(PostriError) as caught:
        db.ask("bank", MID, epsilon=1)
    assert not isinstance(caught.value, QuestionFailed) and not caught.value.spent
    assert spent(policy) == 0
    return caught.value


def test_a_server_that_is_down_costs_nothing(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        url = f"postgresql://postgres:{SECRET}@127.0.0.1:{port}/postgres"
        assert "cannot connect" in str(refused(write_policy(tmp_path, url, "probed")))


def test_a_table_that_is_gone_changed_or_forbidden_costs_nothing(people, tmp_path):
    policy = write_policy(tmp_path, people.url("prober"), "public.probed")
    people.run("REVOKE SELECT ON probed FROM prober")
    assert "may not read" in str(refused(policy))
    people.run("GRANT SELECT (other) ON probed TO prober")
    assert isinstance(refused(policy), PolicyError)
    people.run("GRANT SELECT ON probed TO prober", "ALTER TABLE probed ALTER x TYPE text")
    assert isinstance(refused(policy), PolicyError)
    people.run("ALTER TABLE probed DROP x")
    assert isinstance(refused(policy), PolicyError)
    people.run("DROP TABLE probed")
    assert isinstance(refused(policy), InputError)


def test_a_row_that_fails_tells_nothing_but_that(people, tmp_path):
    """A view that somebody vouched for, and that fails on one person's row: the server's state
    stays with the steward, and so does the class.
    """
    people.run(
        "CREATE VIEW failing_people AS SELECT x + 1 / (x - 7) AS x FROM probed",
        "GRANT SELECT ON failing_people TO prober",
    )
    policy = write_policy(
        tmp_path, people.url("prober"), "public.failing_people", more="vouched = true"
    )
    with session(policy) as db, pytest.raises(QuestionFailed) as caught:
        db.ask("bank", MID, epsilon=1)
    assert "SQLSTATE" not in str(caught.value) and caught.value.__context__ is None
    assert spent(policy) == 1
