"""What may fail on a row is refused by DuckDB's catalogue: whatever the rows are, before anything
is spent.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import postri
from bank import ONE_ROW, dataset_text, session
from postri.engines.rows import Rows
from postri.engines.table import Table
from postri.errors import InputError, PolicyError, SourceChanged
from postri.policy import Vouched, check_policy, read_policy

# One person's hours are 0, and one's code is no number: or both are like all others'.
PEOPLE = """
CREATE OR REPLACE TABLE people AS
SELECT range::INTEGER AS id, 1000 AS pay, CASE WHEN range = {row} THEN 0 ELSE 40 END AS hours,
       CASE WHEN range = {row} THEN 'none' ELSE '42' END AS code
FROM range(200)
"""
NOBODY = -1
# How the relation `asked` is made: with a column `h`, in whatever kind of relation there is.
IN_DOUBT = {
    "a view that divides": "CREATE VIEW asked AS SELECT id, (pay // hours) AS h FROM people",
    "a view that casts": "CREATE VIEW asked AS SELECT id, code::INTEGER AS h FROM people",
    "a view of a view": (
        "CREATE VIEW inner_view AS SELECT id, pay // hours AS h FROM people; "
        "CREATE VIEW asked AS SELECT * FROM inner_view"
    ),
    "a view of a macro": (
        "CREATE MACRO rate(pay, hours) AS pay // hours; "
        "CREATE VIEW asked AS SELECT id, rate(pay, hours) AS h FROM people"
    ),
    "a view of a table macro": (
        "CREATE MACRO rates() AS TABLE SELECT id, pay // hours AS h FROM people; "
        "CREATE VIEW asked AS SELECT * FROM rates()"
    ),
    "a view that computes nothing": "CREATE VIEW asked AS SELECT id, hours AS h FROM people",
    # What one session stores without a failure, another one fails to read.
    "a generated column": (
        "SET error_on_division_by_zero = false; "
        "CREATE TABLE asked (id INTEGER, pay INTEGER, hours INTEGER, "
        "h INTEGER GENERATED ALWAYS AS (pay // hours) VIRTUAL); "
        "INSERT INTO asked SELECT id, pay, hours FROM people"
    ),
}
STORED = {
    "a table": "CREATE TABLE asked AS SELECT id, hours AS h FROM people",
    "a table with a default and a check": (
        "CREATE TABLE asked (id INTEGER, h INTEGER DEFAULT 7 CHECK (h >= 0)); "
        "INSERT INTO asked SELECT id, hours FROM people"
    ),
    "a table in an enum's company": (
        "CREATE TYPE colour AS ENUM ('red'); "
        "CREATE TABLE asked AS SELECT id, hours AS h, 'red'::colour AS c FROM people"
    ),
}
QUESTION = "CASE WHEN id >= 3 AND id < 9 THEN h > 0 ELSE FALSE END"


def made(folder: Path, how: str, *, row: int, more: str = "") -> Path:
    """A policy whose dataset is such a relation of a database file."""
    folder.mkdir()
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute(PEOPLE.format(row=row))
        connection.execute(how)
    path = folder / "postri.toml"
    path.write_text(
        dataset_text(
            "people",
            source="people.duckdb",
            table="main.asked",
            columns={
                "id": 'type = "integer"',
                "h": 'type = "integer"\nlower = 0\nupper = 100',
            },
            protect=ONE_ROW,
            more=more,
        )
    )
    return path


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


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_DOUBT)
def test_a_source_that_may_fail_on_a_row_is_refused_with_and_without_such_a_row(tmp_path, kind):
    outcomes = {asked(made(tmp_path / f"row{row}", IN_DOUBT[kind], row=row)) for row in (NOBODY, 4)}
    (outcome,) = outcomes
    assert outcome.startswith("PolicyError") and outcome.endswith(", 0 spent")
    assert "tells one bit of that row" in outcome and "vouched = true" in outcome


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORED)
def test_stored_rows_need_no_vouching(tmp_path, kind):
    outcomes = {asked(made(tmp_path / f"row{row}", STORED[kind], row=row)) for row in (NOBODY, 4)}
    assert outcomes == {"an answer, 1/2 spent"}


def test_a_steward_may_vouch_for_a_view_and_is_told_in_red(tmp_path):
    path = made(
        tmp_path / "vouched", IN_DOUBT["a view that divides"], row=NOBODY, more="vouched = true"
    )
    assert asked(path) == "an answer, 1/2 spent"
    errors, warnings = check_policy(read_policy(path))
    assert errors == []
    (told,) = [each for each in warnings if isinstance(each, Vouched)]
    assert told.line == 1
    assert "its source is a view or a query" in told.text and "one bit of that row" in told.text


def test_there_may_be_nothing_to_vouch_for(tmp_path):
    path = made(tmp_path / "stored", STORED["a table"], row=NOBODY, more="vouched = true")
    errors, warnings = check_policy(read_policy(path))
    assert errors == []
    assert [type(each).__name__ for each in warnings if "vouched" in each.text] == ["Problem"]
    assert "leave vouched out" in "".join(each.text for each in warnings)


def test_check_says_why_a_view_is_refused(tmp_path):
    path = made(tmp_path / "refused", IN_DOUBT["a view that casts"], row=NOBODY)
    (error,), _ = check_policy(read_policy(path))
    assert error.line == 1 and "the source is a view" in error.text


def test_a_table_that_a_view_replaces_between_two_questions_is_refused(tmp_path):
    path = made(tmp_path / "replaced", STORED["a table"], row=4)
    question = {"aggregates": {"n": "count()"}, "epsilon": "1/2"}
    with session(path) as db:
        db.ask("people", **question)
        with duckdb.connect(str(path.with_name("people.duckdb"))) as connection:
            connection.execute("DROP TABLE asked; " + IN_DOUBT["a view that divides"])
        with pytest.raises(PolicyError, match="a view"):
            db.ask("people", where="h > 0", **question)
        assert db.budget()["people"].spent == Fraction(1, 2)


# ---- in Python


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.execute(PEOPLE.format(row=4))
        yield connection


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_DOUBT)
def test_python_refuses_the_same_unless_vouched(connection, kind):
    connection.execute(IN_DOUBT[kind])
    for opened in (
        lambda **how: Table.from_duckdb(connection, "asked", **how),
        lambda **how: postri.open(connection.table("asked"), **how),
    ):
        with pytest.raises(InputError, match="vouched=True"):
            opened()
        table = opened(vouched=True)
        assert "h" in table.columns and len(table.doubts) == 1
    with pytest.raises(InputError, match="vouched=True"):
        postri.median(connection.table("asked"), column="h", epsilon=1)


QUERIES = {
    "a query": lambda connection: connection.sql("SELECT id FROM people"),
    "a filter": lambda connection: connection.table("people").filter("id > 3"),
    "a projection": lambda connection: connection.table("people").project("pay // hours AS h"),
    "values": lambda connection: connection.values([1]),
    "a file": lambda connection: connection.read_csv("people.csv"),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_only_a_table_of_a_connection_is_stored_rows(connection, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id\n1\n")
    with pytest.raises(InputError, match="a view or a query"):
        postri.open(QUERIES[kind](connection))


def test_a_temporary_view_before_a_table_of_the_same_name_is_seen(connection):
    connection.execute("CREATE TEMP VIEW asked AS SELECT 1 AS h")
    connection.execute("CREATE TABLE main.asked AS SELECT 1 AS h")
    with pytest.raises(InputError, match="a view"):
        Table.from_duckdb(connection, "asked")


@pytest.mark.parametrize("name", ['odd "name"', "dot.ted", "Ünïcode", "select"])
def test_generated_columns_are_found_by_names_of_any_kind(connection, name):
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE SCHEMA other; CREATE TABLE other.{quoted} (x INTEGER)")
    table = f"other.{quoted.upper() if name == 'select' else quoted}"
    assert Table.from_duckdb(connection, table).columns == ["x"]
    connection.execute(f"DROP TABLE other.{quoted}")
    connection.execute(f"CREATE TABLE other.{quoted} (x INTEGER, y INTEGER AS (1 // x))")
    with pytest.raises(InputError, match="generated columns"):
        Table.from_duckdb(connection, table)


@pytest.mark.parametrize("kind", ["a view that divides", "a generated column"])
def test_a_table_that_is_replaced_after_it_was_opened_is_not_read(connection, kind):
    connection.execute(STORED["a table"])
    table = Table.from_duckdb(connection, "asked")
    assert table.sizes("h", table.bind(Rows())) == [200]
    connection.execute("DROP TABLE asked; " + IN_DOUBT[kind])
    with pytest.raises(SourceChanged, match="replaced"):
        table.sizes("h", table.bind(Rows()))
