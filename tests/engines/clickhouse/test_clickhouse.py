"""Tables of ClickHouse inside this process: what is read and refused by their types and by the
catalogue, what stops a statement, and what comes after a failure.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec

import pyarrow as pa
import pytest

import postri
from bank import dataset_text
from postri import Domain, EngineError, InputError, SourceChanged
from postri.columns import integer_type
from postri.engines.clickhouse.source import ClickHouseSource
from postri.engines.engine import Bracket, CountRequest
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.reading import Reading
from postri.engines.resolve import policy_source_of
from postri.engines.rows import EVERY_ROW, Rows, Units
from postri.engines.sql.engine import SqlCounter
from postri.engines.sql.row_source import RowSource
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import Target
from services.real_tables import Place, chdb_connection, in_clickhouse

pytestmark = pytest.mark.slow

needs_chdb = pytest.mark.skipif(find_spec("chdb") is None, reason="chdb is not installed")


# ---- by its text alone


@pytest.mark.parametrize("source", ["chdb:", "chdb:/data", "chdb://data", "CHDB:///data"])
def test_a_url_without_a_whole_path_is_refused(source):
    with pytest.raises(InputError, match="such as chdb:///data/city, got"):
        policy_source_of(source, "trips")


def test_a_source_needs_its_table():
    with pytest.raises(InputError, match="a chdb source needs its table"):
        policy_source_of("chdb:///data/city", None)


def test_two_names_of_a_table_are_one_place():
    kind = policy_source_of("chdb:///data/city", "trips")
    assert kind.places("chdb:///data/city", "trips") == kind.places(
        "chdb:///data/./city", "default.trips"
    )


@pytest.mark.skipif(find_spec("chdb") is not None, reason="chdb is installed")
def test_the_extra_that_is_missing_is_named():
    with pytest.raises(postri.PostriError, match=r"pip install 'postri\[clickhouse\]'"):
        Table.from_chdb(":memory:", "trips")


# ---- inside the library


def made(name: str, *statements: str) -> str:
    """A fresh table of this name."""
    connection = chdb_connection()
    connection.query(f"DROP TABLE IF EXISTS {name} SYNC")
    for statement in statements:
        connection.query(statement)
    return name


@needs_chdb
def test_every_type_that_it_reads_has_its_cells():
    columns = {
        "b": ("Bool", "true"),
        "i": ("Nullable(Int64)", "7"),
        "u": ("UInt64", "18446744073709551615"),
        "f": ("Float32", "1.5"),
        "d": ("Decimal(18, 3)", "1.5"),
        "day": ("Date", "'2024-02-29'"),
        "late": ("Date32", "'9999-12-31'"),
        "second": ("DateTime", "'2024-02-29 12:00:00'"),
        "zoned": ("DateTime('Europe/Oslo')", "'2024-02-29 12:00:00'"),
        "tick": ("DateTime64(3, 'UTC')", "'2024-02-29 12:00:00.001'"),
        "t": ("LowCardinality(Nullable(String))", "'é'"),
        "e": ("Enum8('a' = 1)", "'a'"),
        "id": ("UUID", "'00000000-0000-0000-0000-000000000001'"),
    }
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    made(
        "kinds",
        f"CREATE TABLE kinds ({declared}) ENGINE = MergeTree ORDER BY u "
        "SETTINGS allow_nullable_key = 1",
        f"INSERT INTO kinds VALUES ({', '.join(cell for _, cell in columns.values())})",
    )
    table = Table.from_chdb(":memory:", "default.kinds")
    for text in (
        "b AND i = 7 AND u = 18446744073709551615 AND f = 1.5 AND d = 1.5",
        "day = DATE '2024-02-29' AND late = DATE '9999-12-31' AND t = 'é' AND e = 'a'",
        "tick = TIMESTAMP '2024-02-29 12:00:00.001+00:00'",
        "zoned = TIMESTAMP '2024-02-29 11:00:00+00:00'",
        "id = '00000000-0000-0000-0000-000000000001'",
    ):
        assert table.sizes(None, table.bind(Rows(where=Predicate.parse(text)))) == [1], text
    assert not table.type_of("second").zoned


@needs_chdb
@pytest.mark.parametrize("kind", ["Array(Int64)", "Int128", "FixedString(3)", "Decimal(30, 2)"])
def test_another_type_is_refused_by_its_name(kind):
    made("odd", f"CREATE TABLE odd (x {kind}) ENGINE = Memory")
    with pytest.raises(InputError, match=kind.replace("(", r"\(").replace(")", r"\)")):
        postri.median(Table.from_chdb(":memory:", "odd"), column="x", epsilon=1)


@needs_chdb
def test_a_folder_or_a_table_that_is_missing_is_not_made(tmp_path):
    with pytest.raises(InputError, match="there is no folder of chdb"):
        Table.from_chdb(tmp_path / "none", "trips")
    with pytest.raises(InputError, match="there is no folder of chdb"):
        Table.from_chdb(tmp_path, "trips")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="has no table 'nothing'"):
        Table.from_chdb(":memory:", "nothing")


DOUBTFUL = {
    "a view": "CREATE VIEW doubted AS SELECT 1 AS x",
    "columns that have expressions": (
        "CREATE TABLE doubted (x Int64, y Int64 ALIAS intDiv(1, x)) ENGINE = Memory"
    ),
    "engine Merge": "CREATE TABLE doubted (x Int64) ENGINE = Merge('default', '^kinds$')",
}


@needs_chdb
@pytest.mark.parametrize("what", DOUBTFUL)
def test_what_computes_its_cells_is_refused_unless_somebody_vouches(what):
    made("doubted", DOUBTFUL[what])
    with pytest.raises(InputError, match=what):
        Table.from_chdb(":memory:", "doubted")
    assert Table.from_chdb(":memory:", "doubted", vouched=True).doubts


@needs_chdb
def test_a_change_of_a_type_that_waits_for_a_cell_is_in_doubt():
    """Until it is done, ClickHouse casts the old cells while it reads them."""
    made(
        "changing",
        "CREATE TABLE changing (x String) ENGINE = MergeTree ORDER BY tuple()",
        "INSERT INTO changing VALUES ('no number')",
        "ALTER TABLE changing MODIFY COLUMN x Int64 SETTINGS alter_sync = 0",
    )
    with pytest.raises(InputError, match="changes that are not finished"):
        Table.from_chdb(":memory:", "changing")
    made("changing")


@needs_chdb
def test_a_table_that_was_replaced_is_noticed():
    made("replaced", "CREATE TABLE replaced (x Int64) ENGINE = Memory")
    table = Table.from_chdb(":memory:", "replaced")
    made("replaced", "CREATE VIEW replaced AS SELECT toInt64(1) AS x")
    with pytest.raises(SourceChanged), table.snapshot():
        pass


@needs_chdb
def test_rows_that_are_added_between_two_scans_are_noticed():
    made(
        "grows",
        "CREATE TABLE grows ENGINE = Memory AS SELECT toInt64(number) AS x FROM numbers(99)",
    )
    source = ClickHouseSource(":memory:", "grows")
    grid = grid_of(integer_type(64), None)
    column = RowSource(source.dialect, "x", source.types, EVERY_ROW)
    counter = SqlCounter(source, column, Reading(grid, Fraction(1)))
    wanted = [CountRequest(Bracket(grid.first, grid.last), Target(Fraction(1, 2), 9))]
    assert counter.count(wanted)[0].n == 99
    assert counter.count(wanted)[0].n == 99
    chdb_connection().query("INSERT INTO grows VALUES (5)")
    with pytest.raises(SourceChanged, match="changed while they were counted"):
        counter.count(wanted)


@needs_chdb
def test_a_sum_of_decimals_beyond_its_digits_counts_as_the_last_number():
    made(
        "sums",
        "CREATE TABLE sums (x Decimal(9, 2)) ENGINE = Memory",
        "INSERT INTO sums SELECT toDecimal32('9999999.99', 2) + toDecimal32('9999999.99', 2)",
    )
    assert "19999999.98" in str(chdb_connection().query("SELECT x FROM sums"))
    table = Table.from_chdb(":memory:", "sums")
    (total,) = table.totals(
        "x", grid_of(table.type_of("x"), Domain(0, 10**8, step="0.01")), EVERY_ROW
    )
    assert Decimal(total.indexes) / 100 == Decimal("9999999.99")


@needs_chdb
def test_both_zeros_are_one_number(tmp_path, request):
    """Where it is looked up, and where it lies half-way between two steps of a grid."""
    cells = pa.table({"x": [0.0, -0.0, 1.0, None], "id": [1, 2, 3, 4]})
    table = in_clickhouse(cells, Place(tmp_path, request))
    rows = Predicate.parse("x IN (0, 5) OR x = 0 OR x = 7 OR x = 8 OR x = 9")
    assert table.sizes(None, table.bind(Rows(where=rows))) == [2]
    other = Predicate.parse("-x IN (0, 5)")
    assert table.sizes(None, table.bind(Rows(where=other))) == [2]
    windows = []
    for each in (table, postri.open(cells)):
        grid = grid_of(each.type_of("x"), Domain("-1.5", "1.5"))
        rows = each.bind(Rows(units=Units("id", 1)))
        ((window,),) = each.grouped_windows("x", grid, [Target(Fraction(1, 2), 9)], rows)
        windows.append(window(0))
    assert windows[0] == windows[1]


# ---- what stops a statement


ENDLESS = "SELECT number AS x FROM numbers(10000000000000) WHERE sipHash64(number) % 3 = 0"


@needs_chdb
def test_a_question_that_is_cancelled_ends_its_statement():
    made("endless", f"CREATE VIEW endless AS {ENDLESS}")
    source = ClickHouseSource(":memory:", "endless")
    cancel = Cancel()

    def running() -> bool:
        running = "SELECT count() FROM system.processes WHERE query LIKE '%`endless`%postri-%*/'"
        return int(str(chdb_connection().query(running))) > 0

    def cancel_once_it_runs() -> None:
        wait_until(running)
        cancel.now(SourceChanged("stop"))

    threading.Thread(target=cancel_once_it_runs).start()
    with cancelled_by(cancel), pytest.raises(SourceChanged, match="stop"):
        source.estimate()
    wait_until(lambda: not running())


@needs_chdb
def test_after_a_failure_the_next_statement_has_its_own_answer():
    source = ClickHouseSource(":memory:", "endless")
    for _ in range(3):
        with pytest.raises(EngineError, match="ClickHouse failed while it counted"):
            source.columns("SELECT throwIf(number = 70000) AS x, 'text' AS t FROM numbers(100000)")
        (found,) = source.columns("SELECT number AS n FROM numbers(3)")
        assert found.tolist() == [0, 1, 2]


@needs_chdb
def test_nothing_can_be_written():
    made("kept", "CREATE TABLE kept (x Int64) ENGINE = Memory")
    with pytest.raises(EngineError):
        ClickHouseSource(":memory:", "kept").columns("INSERT INTO kept VALUES (1)")


def wait_until(happens) -> None:
    """Half a minute is a guard against waiting for ever."""
    deadline = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# ---- under a policy


PROGRAM = """
import sys, chdb, postri
folder, policy = sys.argv[1:]
connection = chdb.connect(folder)
connection.query(
    "CREATE TABLE cells ENGINE = MergeTree ORDER BY x AS SELECT toInt64(10) AS x FROM numbers(200)"
)
connection.close()
with postri.connect(policy, analyst="ann") as session:
    for _ in range(2):
        result = session.sql("SELECT MEDIAN(x) AS mid, COUNT(*) AS n FROM cells", epsilon=100_000)
        print(result.rows[0]["mid"], result.rows[0]["n"])
"""


@pytest.mark.slow
@needs_chdb
def test_a_policy_names_a_table_of_a_folder(tmp_path):
    """In a process of its own: this one has its tables in memory."""
    folder, policy = tmp_path / "city", tmp_path / "postri.toml"
    policy.write_text(
        dataset_text(
            "cells",
            source=f"chdb://{folder}",
            table="cells",
            budget="1000000",
            rows=None,
            columns={"x": 'type = "integer"\nlower = 0\nupper = 100'},
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(policy)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10", "200"] * 2
