"""What may fail on a row is refused by PostgreSQL's catalogue: whatever the rows are, before
anything is spent.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from bank import ONE_ROW, dataset_text, session
from postri.engines.postgres.catalogue import GENERATED, definition_of
from postri.engines.rows import Rows
from postri.engines.table import Table
from postri.errors import InputError, PolicyError, SourceChanged
from postri.policy import Vouched, check_policy, read_policy

# One person's hours are 0, and one's code is no number: or both are like all others'.
PEOPLE = """
CREATE TABLE doubts.people AS
SELECT id, 1000 AS pay, CASE WHEN id = {row} THEN 0 ELSE 40 END AS hours,
       CASE WHEN id = {row} THEN 'none' ELSE '42' END AS code
FROM generate_series(0, 199) AS id
"""
NOBODY = -1
ELSEWHERE = (
    "DROP FOREIGN DATA WRAPPER IF EXISTS nowhere CASCADE",
    "CREATE FOREIGN DATA WRAPPER nowhere",
    "CREATE SERVER far FOREIGN DATA WRAPPER nowhere",
)
READER = (
    "DO $$ BEGIN CREATE ROLE doubter LOGIN PASSWORD 'doubt-xq'; "
    "EXCEPTION WHEN duplicate_object THEN END $$",
    "GRANT USAGE ON SCHEMA doubts TO doubter",
    "GRANT SELECT ON ALL TABLES IN SCHEMA doubts TO doubter",
)
IN_DOUBT = {
    "a view that divides": (
        "CREATE VIEW doubts.asked AS SELECT id, pay / hours AS h FROM doubts.people",
    ),
    "a view that casts": (
        "CREATE VIEW doubts.asked AS SELECT id, code::integer AS h FROM doubts.people",
    ),
    "a view of a view": (
        "CREATE VIEW doubts.inner_view AS SELECT id, pay / hours AS h FROM doubts.people",
        "CREATE VIEW doubts.asked AS SELECT * FROM doubts.inner_view",
    ),
    "a view that computes nothing": (
        "CREATE VIEW doubts.asked AS SELECT id, hours AS h FROM doubts.people",
    ),
    "a foreign table": (
        *ELSEWHERE,
        "CREATE FOREIGN TABLE doubts.asked (id integer, h integer) SERVER far",
    ),
    "a foreign partition": (
        *ELSEWHERE,
        "CREATE TABLE doubts.asked (id integer, h integer) PARTITION BY RANGE (id)",
        "CREATE TABLE doubts.near PARTITION OF doubts.asked FOR VALUES FROM (0) TO (9)",
        "CREATE FOREIGN TABLE doubts.away PARTITION OF doubts.asked FOR VALUES FROM (9) TO (99) "
        "SERVER far",
    ),
    "a foreign partition of a partition": (
        *ELSEWHERE,
        "CREATE TABLE doubts.asked (id integer, h integer) PARTITION BY RANGE (id)",
        "CREATE TABLE doubts.half PARTITION OF doubts.asked FOR VALUES FROM (0) TO (99) "
        "PARTITION BY RANGE (h)",
        "CREATE FOREIGN TABLE doubts.away PARTITION OF doubts.half FOR VALUES FROM (9) TO (99) "
        "SERVER far",
    ),
    "a foreign child": (
        *ELSEWHERE,
        "CREATE TABLE doubts.asked AS SELECT id, hours AS h FROM doubts.people",
        "CREATE FOREIGN TABLE doubts.child () INHERITS (doubts.asked) SERVER far",
    ),
    "row security": (
        "CREATE TABLE doubts.asked AS SELECT id, hours AS h, pay FROM doubts.people",
        "ALTER TABLE doubts.asked ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY paid ON doubts.asked USING (pay / h > 0)",
    ),
}
STORED = {
    "a table": ("CREATE TABLE doubts.asked AS SELECT id, hours AS h FROM doubts.people",),
    "a materialized view": (
        "CREATE MATERIALIZED VIEW doubts.asked AS SELECT id, pay / (hours + 1) AS h "
        "FROM doubts.people",
    ),
    "a stored generated column": (
        "CREATE TABLE doubts.asked (id integer, pay integer, "
        "h integer GENERATED ALWAYS AS (pay / (id + 1)) STORED)",
        "INSERT INTO doubts.asked SELECT id, pay FROM doubts.people",
    ),
    "partitions": (
        "CREATE TABLE doubts.asked (id integer, h integer) PARTITION BY RANGE (id)",
        "CREATE TABLE doubts.low PARTITION OF doubts.asked FOR VALUES FROM (0) TO (9)",
        "CREATE TABLE doubts.rest PARTITION OF doubts.asked DEFAULT",
        "INSERT INTO doubts.asked SELECT id, hours FROM doubts.people",
    ),
    "a child": (
        "CREATE TABLE doubts.asked AS SELECT id, hours AS h FROM doubts.people",
        "CREATE TABLE doubts.child () INHERITS (doubts.asked)",
    ),
    "a domain": (
        "CREATE DOMAIN doubts.whole AS integer CHECK (VALUE < 1000)",
        "CREATE TABLE doubts.asked (id integer, h doubts.whole)",
        "INSERT INTO doubts.asked SELECT id, hours FROM doubts.people",
        "ALTER DOMAIN doubts.whole ADD CONSTRAINT never CHECK (VALUE / (VALUE - 40) > 9) NOT VALID",
    ),
}
QUESTION = "CASE WHEN id >= 3 AND id < 9 THEN h > 0 ELSE FALSE END"


def made(postgres, folder: Path, how, *, row: int = NOBODY, more: str = "") -> Path:
    """A policy whose dataset is such a relation, read by a role that may do nothing else."""
    postgres.run("DROP SCHEMA IF EXISTS doubts CASCADE", "CREATE SCHEMA doubts")
    postgres.run(PEOPLE.format(row=row), *how, *READER)
    folder.mkdir()
    path = folder / "postri.toml"
    path.write_text(
        dataset_text(
            "people",
            source=reader(postgres),
            table="doubts.asked",
            columns={
                "id": 'type = "integer"',
                "h": 'type = "integer"\nlower = 0\nupper = 2000',
            },
            protect=ONE_ROW,
            more=more,
        )
    )
    return path


def reader(postgres) -> str:
    return postgres.url(user="doubter", password="doubt-xq")


def asked(path: Path) -> str:
    """What becomes of the question that an attacker asks, and what it costs."""
    with session(path) as db:
        try:
            db.ask("people", {"n": "count()"}, where=QUESTION, epsilon="1/2")
            outcome = "an answer"
        except Exception as error:
            outcome = f"{type(error).__name__}: {str(error).replace(str(path), 'postri.toml')}"
        spent = db.budget()["people"].spent
    return f"{outcome}, {spent} spent"


@pytest.mark.parametrize("kind", IN_DOUBT)
def test_a_source_that_may_fail_on_a_row_is_refused_with_and_without_such_a_row(
    postgres, tmp_path, kind
):
    (outcome,) = {
        asked(made(postgres, tmp_path / f"row{row}", IN_DOUBT[kind], row=row))
        for row in (NOBODY, 4)
    }
    assert outcome.startswith("PolicyError") and outcome.endswith(", 0 spent")
    assert "tells one bit of that row" in outcome and "vouched = true" in outcome


@pytest.mark.parametrize("kind", STORED)
def test_stored_rows_need_no_vouching(postgres, tmp_path, kind):
    outcomes = {
        asked(made(postgres, tmp_path / f"row{row}", STORED[kind], row=row)) for row in (NOBODY, 4)
    }
    assert outcomes == {"an answer, 1/2 spent"}


def test_row_security_that_does_not_hold_for_a_role_is_no_doubt(postgres, tmp_path):
    made(postgres, tmp_path / "owner", IN_DOUBT["row security"])
    assert Table.from_postgres(postgres.url(), "doubts.asked").doubts == ()
    with pytest.raises(InputError, match="row security"):
        Table.from_postgres(reader(postgres), "doubts.asked")


def test_generated_columns_that_are_not_stored_are_in_doubt():
    """Servers have them from version 18 on: what the catalogue says there is told here."""
    columns = [("h", "integer", False)]
    answers = iter([[("UTF8",)], columns, [(True, "r", True, False, False)]])
    assert definition_of(1, lambda query, values: next(answers)).doubts == (GENERATED,)


def test_a_steward_may_vouch_for_a_view_and_is_told_in_red(postgres, tmp_path):
    view = IN_DOUBT["a view that divides"]
    path = made(postgres, tmp_path / "vouched", view, more="vouched = true")
    assert asked(path) == "an answer, 1/2 spent"
    errors, warnings = check_policy(read_policy(path))
    assert errors == []
    (told,) = [each for each in warnings if isinstance(each, Vouched)]
    assert "its source is a view: a row on which its expression fails" in told.text


def test_a_vouched_view_that_fails_tells_neither_code_nor_message(postgres, tmp_path):
    view = IN_DOUBT["a view that divides"]
    said = asked(made(postgres, tmp_path / "failing", view, row=4, more="vouched = true"))
    assert "an answer" not in said and said.endswith(", 1/2 spent")
    assert not [word for word in ("22012", "SQLSTATE", "division", "zero") if word in said]


@pytest.mark.parametrize("kind", ["a view that divides", "row security"])
def test_a_table_that_is_replaced_between_two_questions_is_refused(postgres, tmp_path, kind):
    path = made(postgres, tmp_path / "replaced", STORED["a table"], row=4)
    question = {"aggregates": {"n": "count()"}, "epsilon": "1/2"}
    with session(path) as db:
        db.ask("people", **question)
        postgres.run("DROP TABLE doubts.asked", *IN_DOUBT[kind], *READER)
        with pytest.raises(PolicyError, match="one bit of that row"):
            db.ask("people", where="h > 0", **question)
        assert db.budget()["people"].spent == Fraction(1, 2)


CHANGES = {
    "a view": ("DROP TABLE doubts.asked", *IN_DOUBT["a view that divides"], *READER),
    "another table": ("DROP TABLE doubts.asked", *STORED["a table"], *READER),
    "another type": ("ALTER TABLE doubts.asked ALTER COLUMN h TYPE text",),
    "row security": ("ALTER TABLE doubts.asked ENABLE ROW LEVEL SECURITY",),
    "a foreign child": (
        *ELSEWHERE,
        "CREATE FOREIGN TABLE doubts.child () INHERITS (doubts.asked) SERVER far",
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_table_that_changes_after_it_was_opened_is_not_read(postgres, tmp_path, kind):
    made(postgres, tmp_path / "opened", STORED["a table"])
    table = Table.from_postgres(reader(postgres), "doubts.asked")
    assert table.sizes("h", table.bind(Rows())) == [200]
    postgres.run(*CHANGES[kind])
    with pytest.raises(SourceChanged, match="replaced or changed"):
        table.sizes("h", table.bind(Rows()))


@pytest.mark.parametrize("name", ["integer", "date"])
def test_a_type_of_somebodys_own_is_not_taken_for_the_servers(postgres, name):
    """Whatever it is called, and wherever it is looked for: its functions may do anything."""
    postgres.run(
        "DROP SCHEMA IF EXISTS doubts CASCADE",
        "CREATE SCHEMA doubts",
        f'CREATE TYPE doubts."{name}" AS (a pg_catalog.int4)',
        f'CREATE TABLE doubts.asked (x doubts."{name}")',
    )
    with postgres.connect() as connection:
        connection.execute("SET search_path = doubts, pg_catalog")
        table = Table.from_postgres(connection, "doubts.asked")
        with pytest.raises(InputError, match="has the declared type"):
            table.declared("x")


def test_texts_that_no_server_checks_are_refused_and_numbers_are_not(postgres):
    postgres.run(
        "DROP DATABASE IF EXISTS unchecked",
        "CREATE DATABASE unchecked ENCODING 'SQL_ASCII' TEMPLATE template0 "
        "LC_COLLATE 'C' LC_CTYPE 'C'",
    )
    url = postgres.url(database="unchecked")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE cells (x integer, s text, v varchar(9), c char(3))")
        connection.execute(rb"INSERT INTO cells VALUES (1, E'\xff', E'\xff', E'\xff')")
    table = Table.from_postgres(url, "cells")
    assert table.sizes("x", table.bind(Rows())) == [1]
    for column in "svc":
        with pytest.raises(InputError, match="SQL_ASCII"):
            table.declared(column)
