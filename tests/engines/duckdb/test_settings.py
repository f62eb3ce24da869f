"""A question leaves the settings of the user's connection as they were."""

from __future__ import annotations

import duckdb
import pytest

import postri
from postri import SeededCoins
from postri.engines.duckdb import source
from postri.engines.engine import SMALL

SETTING = "SELECT current_setting('perfect_ht_threshold')"


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE trips AS SELECT (i * 7919) % 10007 AS x FROM range({SMALL + 1}) AS n(i)"
        )
        yield connection


def setting(connection: duckdb.DuckDBPyConnection) -> int:
    return connection.execute(SETTING).fetchall()[0][0]


def asked(connection: duckdb.DuckDBPyConnection) -> str:
    found = postri.median(connection.table("trips"), "x", epsilon=1, coins=SeededCoins(2))
    return found.to_json()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("usual", [9, 12, 20])
def test_a_setting_for_speed_is_put_back(connection, usual, monkeypatch):
    connection.execute(f"SET perfect_ht_threshold = {usual}")
    seen = []
    run = source.run_query

    def looked(work, own):
        seen.append(setting(own))
        return run(work, own)

    monkeypatch.setattr(source, "run_query", looked)
    asked(connection)
    assert setting(connection) == usual
    assert max(seen) == max(usual, source.MOST_BITS)
    assert not source._in_arrays


def test_two_questions_at_once_put_back_what_the_first_has_seen(connection):
    first, second = (source._counting_in_arrays(connection) for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert setting(connection) == source.MOST_BITS
    second.__exit__(None, None, None)
    assert setting(connection) == 12


def test_locked_settings_stay_and_so_do_the_answers(connection):
    before = asked(connection)
    connection.execute("SET lock_configuration = true")
    # What fails in a transaction of the user's would end it.
    connection.execute("BEGIN")
    assert asked(connection) == before
    connection.execute("COMMIT")
    assert setting(connection) == 12
    assert not source._in_arrays
