"""DuckDB where the data lie: relations of the user's connection, database files, patterns."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from threading import Event, Thread, Timer

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import Domain, EngineError, InputError, SeededCoins, SourceError
from postri.engines.duckdb.source import Database, RelationSource
from postri.engines.progress import Cancel, cancelled_by, showing
from postri.engines.sql.engine import SqlEngine
from postri.engines.sql.sampling import Sample
from postri.engines.table import Table
from postri.errors import SourceChanged
from postri.grid import grid_of
from postri.window import Target

pytestmark = pytest.mark.slow

SECRET = "4711-0815"


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE trips AS SELECT range % 97 AS passengers FROM range(5000)")
        yield connection


def test_a_relation_is_asked_where_it_is_and_leaves_nothing_behind(connection):
    names = (
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() "
        "WHERE NOT internal ORDER BY 1"
    )
    before = connection.execute(names).fetchall()
    answer = postri.median(
        connection.table("trips"), column="passengers", epsilon=8, coins=SeededCoins(1)
    )
    assert 48 in answer.interval and answer.interval.width <= 4
    assert connection.execute(names).fetchall() == before == [("trips",)]


def test_a_query_is_as_good_as_a_table(connection):
    relation = connection.sql("SELECT passengers * 2 AS doubled FROM trips WHERE passengers < 10")
    table = postri.open(relation, vouched=True)
    assert 9 in postri.median(table, column="doubled", epsilon=8, coins=SeededCoins(1)).interval


@pytest.mark.parametrize(
    "name", ["trips", "main.trips", "other.trips", '"odd "" name"', "mine", "temporary"]
)
def test_a_table_is_the_one_that_its_relation_is(connection, name):
    """Of several tables of one name, and whatever its name is."""
    connection.execute("CREATE SCHEMA other")
    ranges = {"main.trips": 97, "other.trips": 11, '"odd "" name"': 13, "mine": 17}
    for number, (table, most) in enumerate(ranges.items()):
        connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT {1000 * number} + range % {most} AS cell "
            "FROM range(5000)"
        )
    connection.execute(
        "CREATE TEMP TABLE temporary AS SELECT 9000 + range % 5 AS cell FROM range(500)"
    )
    relation = connection.table(name)
    answer = postri.median(relation, column="cell", epsilon=8, coins=SeededCoins(1))
    ((median,),) = relation.query("cells", "SELECT quantile_disc(cell, 0.5) FROM cells").fetchall()
    assert median in answer.interval and answer.interval.width <= 4


def test_a_database_file_is_opened_for_reading_alone(tmp_path):
    path = tmp_path / "trips.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE SCHEMA city; CREATE TABLE city.trips AS SELECT range AS x FROM range(1000)"
        )
    before = path.read_bytes()
    table = Table.from_duckdb(path, "city.trips")
    assert 500 in postri.median(table, column="x", epsilon=4, coins=SeededCoins(1)).interval
    assert path.read_bytes() == before
    assert not (tmp_path / "trips.duckdb.wal").exists()


def test_a_table_that_is_not_there_is_refused(connection, tmp_path):
    with pytest.raises(InputError, match="no table 'nothing'"):
        Table.from_duckdb(connection, "nothing")
    with pytest.raises(InputError, match="there is no database file"):
        Table.from_duckdb(tmp_path / "none.duckdb", "trips")
    (tmp_path / "text.duckdb").write_text("this is no database")
    with pytest.raises(SourceError, match="cannot open"):
        Table.from_duckdb(tmp_path / "text.duckdb", "trips")


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "semi;colon -- drop", "select", "ünïcode ✓", "dot.ted", "   "]
)
def test_names_of_any_kind_work(connection, name):
    column = '"' + name.replace('"', '""') + '"'
    relation = connection.sql(f"SELECT passengers AS {column} FROM trips")
    table = postri.open(relation, vouched=True)
    assert 48 in postri.median(table, column=name, epsilon=8, coins=SeededCoins(1)).interval


def test_what_duckdb_says_of_a_cell_stays_inside(connection):
    connection.execute(
        f"CREATE TABLE texts AS SELECT * FROM (VALUES ('1'), ('2'), ('{SECRET}')) AS t(word)"
    )
    relation = connection.sql("SELECT CAST(word AS INTEGER) AS x FROM texts")
    with pytest.raises(EngineError, match="DuckDB") as caught:
        postri.median(postri.open(relation, vouched=True), column="x", epsilon=1)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_nan_behind_a_users_view_of_parquet_is_dropped(connection, tmp_path):
    """Their connection optimizes by the footers' statistics, which leave NaN out."""
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"x": pa.array([1.0, float("nan"), 2.0, 3.0, float("nan")])}), path)
    relation = connection.sql(f"SELECT * FROM '{path}'")
    table = postri.open(relation, vouched=True)
    grid = grid_of(table.type_of("x"), Domain(0, 10))
    seen = table.windows("x", grid, [Target(Fraction(1, 2), 100)])[0](0)
    assert (seen.n, seen.indexes.tolist(), seen.counts.tolist()) == (3, [1, 2, 3], [1, 1, 1])


def test_rows_that_change_between_two_scans_are_noticed(connection):
    """The sample of sorted rows misleads, so there is a second pair of scans; meanwhile a row has
    gone: nothing holds the rows of this source still.
    """
    connection.execute("CREATE TABLE rows AS SELECT range AS x FROM range(200000)")

    class Losing(RelationSource):
        scans = 0

        def snapshot(self):
            return nullcontext(self)

        def samples(self, rows: int, groups: int):
            yield Sample(f"(SELECT * FROM {self.relation} WHERE x < 1000) AS sampled", 1_000 / rows)

        def columns(self, query: str):
            if "WITH scanned" in query or "level" in query:
                self.scans += 1
                if self.scans == 2:
                    connection.execute("DELETE FROM rows WHERE x = 7")
            return super().columns(query)

    source = Losing(connection.table("rows"))
    engine = SqlEngine(source, source.types())
    with pytest.raises(SourceChanged, match="changed while they were counted"):
        engine.windows("x", grid_of(engine.type_of("x"), None), [Target(Fraction(1, 2), 10)])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", ["x", "-x", "hash(x)", "x % 1000"])
def test_no_more_returns_than_the_window_needs(connection, order):
    connection.execute(
        f"CREATE TABLE many AS SELECT range AS x FROM range(400000) ORDER BY {order}"
    )
    returned = []

    class Counting(RelationSource):
        def columns(self, query: str):
            found = super().columns(query)
            returned.append(len(found[0]))
            return found

    source = Counting(connection.table("many"))
    engine = SqlEngine(source, source.types())
    ((window,),) = engine.windows(
        "x", grid_of(engine.type_of("x"), None), [Target(Fraction(1, 2), 100)]
    )
    assert len(window.indexes) == 202
    assert sum(returned) <= 3 * len(window.indexes)


# ---- patterns of files


def test_files_that_match_a_pattern_are_one_table(tmp_path):
    for month in range(3):
        pq.write_table(
            pa.table({"x": pa.array(np.arange(month, 3_000, 3))}),
            tmp_path / f"trips-{month}.parquet",
        )
        (tmp_path / f"trips-{month}.csv").write_text(
            "x\n" + "".join(f"{x}\n" for x in range(month, 3_000, 3))
        )
    whole_numbers = postri.open(f"{tmp_path}/*.csv", columns={"x": "integer"})
    answers = [
        postri.median(source, column="x", epsilon=1, coins=SeededCoins(3))
        for source in (f"{tmp_path}/*.parquet", whole_numbers)
    ]
    whole = postri.median(range(3_000), epsilon=1, coins=SeededCoins(3))
    assert {(answer.value, answer.interval) for answer in answers} == {
        (whole.value, whole.interval)
    }


def test_a_pattern_without_files_or_of_several_kinds_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file matches"):
        postri.open(f"{tmp_path}/*.parquet")
    (tmp_path / "a.csv").write_text("x\n1\n")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match="several formats"):
        postri.open(f"{tmp_path}/*")
    (tmp_path / "c.csv").write_text("y\n1\n")
    with pytest.raises(InputError, match="other columns"):
        postri.open(f"{tmp_path}/*.csv")


# ---- long scans

ENDLESS = "SELECT sum(sin(cos(range))) AS total FROM range(4000000000)"


@contextmanager
def interrupted_after(seconds: float):
    def interrupt(*_):
        raise KeyboardInterrupt

    before, start = signal.signal(signal.SIGALRM, interrupt), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 60


def test_ctrl_c_cancels_the_query_in_a_users_connection(connection):
    source = RelationSource(connection.sql("SELECT 1 AS x"))
    with interrupted_after(0.5):
        source.columns(ENDLESS)
    assert connection.execute("SELECT 7").fetchall() == [(7,)]


def test_ctrl_c_cancels_the_query_in_our_own_duckdb():
    database = Database([])
    with interrupted_after(0.5):
        database.columns(ENDLESS)
    assert int(database.columns("SELECT 7 AS seven")[0][0]) == 7


@pytest.mark.parametrize(
    "scan",
    [
        lambda: Database([]).columns,
        lambda: RelationSource(duckdb.connect().sql("SELECT 1 AS x")).columns,
    ],
)
def test_another_thread_cancels_the_query_and_all_that_come_after(scan):
    columns, cancel, start = scan(), Cancel(), time.monotonic()
    with cancelled_by(cancel):
        assert int(columns("SELECT 7 AS seven")[0][0]) == 7
        Timer(0.3, cancel.now, [SourceChanged("stop")]).start()
        with pytest.raises(SourceChanged, match="stop"):
            columns(ENDLESS)
        with pytest.raises(SourceChanged, match="stop"):
            columns("SELECT 7 AS seven")
    assert time.monotonic() - start < 60
    assert int(columns("SELECT 7 AS seven")[0][0]) == 7


def test_a_query_that_was_cancelled_before_it_began_does_not_run():
    cancel = Cancel()
    cancel.now(SourceChanged("first"))
    cancel.now(SourceChanged("second"))
    with cancelled_by(cancel), pytest.raises(SourceChanged, match="first"):
        Database([]).columns(ENDLESS)


def test_a_scan_tells_its_progress_to_whoever_shows_it(tmp_path):
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"x": np.arange(3_000_000) % 1_000}), path, row_group_size=50_000)
    seen: list[float] = []

    @contextmanager
    def show(percent):
        done = Event()

        def look():
            while not done.wait(0.001):
                seen.append(percent())

        watcher = Thread(target=look)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    with showing(show):
        postri.median(path, column="x", epsilon=1)
    assert any(0 < each <= 100 for each in seen)
    seen.clear()
    postri.median(path, column="x", epsilon=1)
    assert not seen
