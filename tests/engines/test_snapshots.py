"""One snapshot a question: whatever is written between two scans, all counts see the same rows."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import psycopg
import pytest

import postri
from bank import dataset_text
from postri import Domain, SeededCoins, agg
from postri.engines.duckdb.source import RelationSource
from postri.engines.postgres import source as postgres_source
from postri.engines.postgres.source import OwnServer, PostgresSource
from postri.engines.rows import EVERY_ROW, Rows
from postri.engines.table import Table
from postri.grid import grid_of
from postri.window import Target

ROWS = 200
TEN = 10
WIDE = Domain(0, 100)
HALF = Fraction(1, 2)
# By noise of this scale no count moves: the chance that it does is below e^-10,000.
EPSILON = 10**5
AGGREGATES = {
    "median": agg.median("x", domain=WIDE),
    "count": agg.count(),
    "mean": agg.mean("x", domain=WIDE),
}
ZEROS = "INSERT INTO cells SELECT 0 FROM generate_series(1, 1000) AS r"


@pytest.fixture
def writer(postgres, monkeypatch):
    """A table of tens, to which zeros are added after each query of ours; the queries so far."""
    postgres.run(
        "DROP TABLE IF EXISTS cells CASCADE",
        "CREATE TABLE cells (x integer)",
        f"INSERT INTO cells SELECT {TEN} FROM generate_series(1, {ROWS})",
    )
    return added_between(monkeypatch, PostgresSource, lambda: postgres.run(ZEROS))


def added_between(monkeypatch, source, add) -> list[str]:
    queries = []
    original = source.columns

    def columns(self, query):
        found = original(self, query)
        queries.append(query)
        add()
        return found

    monkeypatch.setattr(source, "columns", columns)
    return queries


@pytest.fixture
def connections(monkeypatch) -> list[psycopg.Connection]:
    """The connections that were opened."""
    opened = []
    original = OwnServer._connect

    def connect(self):
        opened.append(original(self))
        return opened[-1]

    monkeypatch.setattr(OwnServer, "_connect", connect)
    return opened


def check_counts(table: Table) -> None:
    """Windows, wider windows, totals and sizes agree on the rows."""
    grid = grid_of(table.type_of("x"), WIDE)
    rows = table.bind(Rows())
    with table.snapshot() as still:
        ((windows,),) = still.grouped_windows("x", grid, [Target(HALF, 5)], rows)
        assert windows(0).n == ROWS
        assert still.sizes(None, rows) == [ROWS]
        (total,) = still.totals("x", grid, rows)
        assert (total.n, total.indexes) == (ROWS, ROWS * grid.last // 10)
        wider = windows(3)
        assert (wider.n, wider.indexes.tolist(), wider.counts.tolist()) == (ROWS, [TEN], [ROWS])
        ((other,),) = still.grouped_windows("x", grid, [Target(Fraction(1, 4), 5)], rows)
        assert other(0).n == ROWS


def check_answers(result) -> None:
    (row,) = result.rows
    assert [row[name] for name in AGGREGATES] == [TEN, ROWS, TEN]


class TestPostgres:
    """One connection and one transaction for all that a question counts."""

    def test_all_counts_of_a_snapshot_see_the_same_rows(self, postgres, writer):
        check_counts(Table.from_postgres(postgres.url(), "cells"))
        assert len(writer) >= 4

    def test_a_median_a_count_and_a_mean_agree_on_the_rows(self, postgres, writer):
        table = Table.from_postgres(postgres.url(), "cells")
        check_answers(postri.ask(table, AGGREGATES, epsilon=EPSILON, coins=SeededCoins(1)))
        assert len(writer) >= 3

    def test_so_they_do_on_a_connection_of_the_users(self, postgres, writer):
        with postgres.connect() as connection:
            check_counts(Table.from_postgres(connection, "cells"))

    def test_the_next_question_sees_what_was_added(self, postgres, writer):
        table = Table.from_postgres(postgres.url(), "cells")
        with table.snapshot() as still:
            assert still.sizes(None, EVERY_ROW) == [ROWS]
        with table.snapshot() as still:
            assert still.sizes(None, EVERY_ROW) == [ROWS + 1_000]

    def test_a_question_in_sql_takes_one_connection(self, postgres, writer, connections, tmp_path):
        policy = dataset_text(
            "cells",
            source=postgres.url(),
            table="cells",
            budget="1000000",
            rows=None,
            columns={"x": 'type = "integer"\nlower = 0\nupper = 100'},
        )
        (tmp_path / "postri.toml").write_text(policy)
        with postri.connect(tmp_path / "postri.toml", analyst="ann") as session:
            text = "SELECT MEDIAN(x) AS median, COUNT(*) AS count, AVG(x) AS mean FROM cells"
            result = session.sql(text, epsilon=EPSILON)
        check_answers(result)
        assert len(connections) == 1
        assert connections[0].closed

    def test_an_opened_table_keeps_a_connection_for_its_first_question_alone(
        self, postgres, writer, connections
    ):
        table = Table.from_postgres(postgres.url(), "cells")
        assert [each.closed for each in connections] == [False]
        for _ in range(2):
            with table.snapshot() as still:
                still.sizes(None, EVERY_ROW)
        assert [each.closed for each in connections] == [True, True]

    def test_a_table_that_is_let_go_closes_it(self, postgres, writer, connections):
        table = Table.from_postgres(postgres.url(), "cells")
        del table
        assert connections[0].closed

    def test_a_connection_that_the_server_closed_is_replaced(self, postgres, writer, connections):
        table = Table.from_postgres(postgres.url(), "cells")
        postgres.run(f"SELECT pg_terminate_backend({connections[0].info.backend_pid})")
        with table.snapshot() as still:
            assert still.sizes(None, EVERY_ROW) == [ROWS]
        assert len(connections) == 2

    def test_a_forked_process_leaves_its_parents_connection_alone(
        self, postgres, writer, connections, monkeypatch
    ):
        table = Table.from_postgres(postgres.url(), "cells")
        monkeypatch.setattr(postgres_source.os, "getpid", lambda: -1)
        with table.snapshot() as still:
            still.sizes(None, EVERY_ROW)
        assert [each.closed for each in connections] == [False, True]
        connections[0].close()


class TestDuckDB:
    """One transaction on the connection of the relation."""

    @pytest.fixture
    def connection(self):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE cells AS SELECT {TEN} AS x FROM range({ROWS})")
            yield connection

    @pytest.fixture
    def queries(self, connection, monkeypatch) -> list[str]:
        """Somebody else adds rows after each query of ours."""
        other = connection.cursor()
        add = "INSERT INTO cells SELECT 0 FROM range(1000)"
        return added_between(monkeypatch, RelationSource, lambda: other.execute(add))

    @pytest.mark.parametrize("kind", ["table", "query"])
    def test_all_counts_of_a_snapshot_see_the_same_rows(self, connection, queries, kind):
        relation = connection.table("cells")
        if kind == "query":
            relation = connection.sql("SELECT x FROM cells WHERE x >= 0")
        check_counts(postri.open(relation, vouched=kind == "query"))
        assert len(queries) >= 4

    def test_a_median_a_count_and_a_mean_agree_on_the_rows(self, connection, queries):
        table = Table.from_duckdb(connection, "cells")
        check_answers(postri.ask(table, AGGREGATES, epsilon=EPSILON, coins=SeededCoins(1)))
        assert len(queries) >= 3

    def test_the_connection_is_left_outside_a_transaction(self, connection):
        table = Table.from_duckdb(connection, "cells")
        with table.snapshot() as still:
            still.sizes(None, EVERY_ROW)
        connection.execute("BEGIN")
        connection.execute("ROLLBACK")

    def test_a_transaction_of_the_users_goes_on(self, connection):
        connection.execute("BEGIN")
        connection.execute("INSERT INTO cells VALUES (1)")
        table = Table.from_duckdb(connection, "cells")
        with table.snapshot() as still:
            assert still.sizes(None, EVERY_ROW) == [ROWS + 1]
        connection.execute("COMMIT")
        assert connection.execute("SELECT count(*) FROM cells").fetchall() == [(ROWS + 1,)]

    def test_nothing_is_written_while_a_question_is_asked(self, connection):
        table = Table.from_duckdb(connection, "cells")
        with table.snapshot(), pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("INSERT INTO cells VALUES (1)")
