"""Spark: the same windows as in memory, from a real session; what stands in a cell shows nowhere;
nothing of the user's is changed.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import Domain, EngineError, InputError, SeededCoins, SourceChanged
from postri.columns import integer_type
from postri.engines.engine import Bracket, CountRequest
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.reading import Reading
from postri.engines.rows import EVERY_ROW
from postri.engines.spark import source as engine
from postri.engines.spark.dialect import SparkDialect
from postri.engines.spark.source import SparkSource
from postri.engines.sql.engine import SqlCounter
from postri.engines.sql.row_source import RowSource
from postri.grid import grid_of
from postri.window import Target
from proving import sized
from services import spark_session
from services.spark_session import Spark

spark = spark_session.spark

HALF = Fraction(1, 2)
INF, NAN = float("inf"), float("nan")
WHOLE = 10**6
# So long that no number of an object of py4j is the same.
SECRET = 1_847_110_815


def window(source, column="x", domain=None, half=WHOLE, p=HALF):
    table = postri.open(source, vouched=True)
    grid = grid_of(table.type_of(table.column(column)), domain)
    return table.windows(table.column(column), grid, [Target(p, half)])[0](0)


def beside(array: pa.Array) -> pa.Table:
    return pa.table({"x": array, "other": pa.array(["wide text"] * len(array))})


@pytest.fixture
def compiled(spark: Spark):
    """Spark compiles its queries, as it does for users."""
    with spark.settings(spark_session.COMPILED):
        yield


def stored(spark: Spark, folder: Path, array: pa.Array):
    """A data frame over a Parquet file, which Spark reads with all that it knows of files."""
    pq.write_table(beside(array), folder / "table.parquet", row_group_size=50_000)
    return spark.session.read.parquet(str(folder / "table.parquet"))


# ---- the same windows as in memory

FAR = 253_402_300_799_999_999
EXTREMES = {
    "tinyint": pa.array([127, -128, None, 3, 3, 3], pa.int8()),
    "smallint": pa.array([2**15 - 1, -(2**15), None, 3], pa.int16()),
    "int": pa.array([2**31 - 1, -(2**31), None, 3], pa.int32()),
    "bigint": pa.array([2**63 - 1, -(2**63), 0, None, 5, 5], pa.int64()),
    "boolean": pa.array([True, False, None, True]),
    "decimal(18,0)": pa.array([None, 10**18 - 1, 1 - 10**18, 7], pa.decimal128(18, 0)),
    "decimal(18,18)": pa.array([None, "0.999999999999999999", "-0.999999999999999999"]).cast(
        pa.decimal128(18, 18)
    ),
    "decimal(10,2)": pa.array([None, "99999999.99", "-99999999.99", "0.01", "0.01"]).cast(
        pa.decimal128(10, 2)
    ),
    "date": pa.array([2932896, -719162, 0, None, 19000], pa.date32()),
    "timestamp": pa.array(
        [FAR, -62_135_596_800_000_000, 0, None, 1_700_000_000_000_001, -1],
        pa.timestamp("us", tz="UTC"),
    ),
    "timestamp_ntz": pa.array(
        [FAR, -62_135_596_800_000_000, 0, None, 1_711_852_200_123_456, -1], pa.timestamp("us")
    ),
}
NUMBERS = pa.array(
    [0.1, 0.15, 0.25, -0.0, 0.0, NAN, INF, -INF, None, 0.35, 5e-324, -1e-310, 1e30], pa.float64()
)
HUGE = pa.concat_arrays(
    [
        NUMBERS,
        pa.array([1e300, -1e300, 1.7976931348623157e308, 2.0**62, 2.0**63, -(2.0**63), 2.0**41]),
    ]
)


@pytest.mark.parametrize("kind", list(EXTREMES)[:: sized(6, 1)])
def test_a_column_of_extreme_cells_gives_the_window_of_the_same_cells_in_memory(
    spark, tmp_path, kind
):
    frame = stored(spark, tmp_path, EXTREMES[kind])
    assert dict(frame.dtypes)["x"] == kind
    assert window(frame) == window(EXTREMES[kind], None)


@pytest.mark.parametrize("cell", [2**31 - 1, -(2**31) + 1][: sized(1, 2)])
def test_dates_that_no_calendar_has_are_clamped(spark, tmp_path, cell):
    dates = pa.array([cell, 0, 5], pa.date32())
    assert window(stored(spark, tmp_path, dates)) == window(dates, None)


@pytest.mark.parametrize(
    ("cell", "zone"),
    [
        (2**63 - 1, None),
        (-(2**63) + 1, "UTC"),
        *sized([], [(-(2**63) + 1, None), (2**63 - 1, "UTC")]),
    ],
)
def test_timestamps_that_no_calendar_has_are_clamped(spark, tmp_path, cell, zone):
    times = pa.array([cell, 0, 5], pa.timestamp("us", tz=zone))
    assert window(stored(spark, tmp_path, times)) == window(times, None)


@pytest.mark.parametrize("zone", ["Europe/Oslo", "America/St_Johns"][: sized(1, 2)])
def test_timestamps_mean_the_same_in_every_time_zone_of_the_session(spark, tmp_path, zone):
    before = spark.session.conf.get("spark.sql.session.timeZone")
    # In Oslo 2024-03-31 has no 02:30, and 2024-10-27 has two.
    cells = [
        1_711_852_200_000_000,
        1_711_855_800_000_000,
        1_729_996_200_000_000,
        -5_000_000_000_000_000,
    ]
    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        frame = stored(spark, tmp_path, pa.array(cells, kind))
        spark.session.conf.set("spark.sql.session.timeZone", zone)
        try:
            assert window(frame) == window(pa.array(cells, kind), None)
        finally:
            spark.session.conf.set("spark.sql.session.timeZone", before)


FLOATS = {"float": NUMBERS.cast(pa.float32()), "double": HUGE}
PLACED = list(
    product(
        [
            Domain(-1, 1, "0.1"),
            Domain(-(10**15), 10**15),
            Domain(0, 10**6),
            Domain("-1e-9", "1e-9", "1e-12"),
            Domain("0.05", "0.85", "0.2"),
        ],
        FLOATS,
    )
)


# The first domain with short floats and the second with long ones; `make prove` takes all.
@pytest.mark.parametrize(("domain", "kind"), sized(PLACED[:4:3], PLACED), ids=str)
def test_numbers_are_placed_alike_whatever_the_step(spark, tmp_path, domain, kind):
    """Infinities and huge cells go through the arithmetic of the others: it fails on none."""
    cells = FLOATS[kind]
    assert window(stored(spark, tmp_path, cells), domain=domain) == window(cells, None, domain)


@pytest.mark.parametrize("generated", ["true", "false"])
def test_no_cell_fails_where_spark_shares_or_interprets_expressions(spark, generated):
    settings = {
        "spark.sql.codegen.wholeStage": generated,
        "spark.sql.subexpressionElimination.enabled": "true",
    }
    settings["spark.sql.codegen.factoryMode"] = "FALLBACK" if generated == "true" else "NO_CODEGEN"
    whole = pa.array([2**63 - 1, -(2**63), 0, None, 5])
    with spark.settings(settings):
        assert window(spark.frame(beside(HUGE)), domain=Domain(-1, 1, "0.1")) == window(
            HUGE, None, Domain(-1, 1, "0.1")
        )
        assert window(spark.frame(beside(whole)), domain=Domain(-30, 30, 7 - 1)) == window(
            whole, None, Domain(-30, 30, 6)
        )


WHOLE_NUMBERS = pa.array([2**63 - 1, -(2**63), 0, None, 5, 7, 15, 20, 25, 10**9])


@pytest.mark.parametrize(
    "domain",
    [
        None,
        Domain(0, 10),
        Domain(0, 100, 10),
        Domain(3, 33, 6),
        Domain(0, 10, "0.5"),
        Domain(0, 2**64 - 1),
        Domain(2**63 + 5, 2**64 - 1),
        Domain(-(10**30), 10**30, 10**28),
    ][:: sized(3, 1)],
    ids=str,
)
def test_whole_numbers_are_placed_alike_whatever_the_domain(spark, domain):
    assert window(spark.frame(beside(WHOLE_NUMBERS)), domain=domain) == window(
        WHOLE_NUMBERS, None, domain
    )


def test_without_arrow_the_same_columns_come_back(spark, monkeypatch):
    frame = spark.frame(beside(WHOLE_NUMBERS))
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    for domain in (None, Domain(2**63 + 5, 2**64 - 1)):
        assert window(frame, domain=domain) == window(WHOLE_NUMBERS, None, domain)
    assert window(spark.frame(beside(HUGE)), domain=Domain(-1, 1, "0.1")) == window(
        HUGE, None, Domain(-1, 1, "0.1")
    )


SMALL = {"empty": [], "constant": [7] * 50, "one row": [7], "nulls": [None, None]}


@pytest.mark.parametrize("name", list(SMALL)[: sized(2, 4)])
def test_small_tables_give_the_window_of_the_same_cells_in_memory(spark, name):
    cells = SMALL[name]
    array = pa.array(cells, pa.int64())
    frame = spark.frame(beside(array))
    assert window(frame) == window(array, None)
    assert window(frame, half=3) == window(array, None, half=3)


ORDERS = ("shuffled", "constant", "sorted", "clustered")
# So many rows that they are sampled.
MANY = sized(140_000, 300_000)


def data(order: str) -> np.ndarray:
    cells = (np.random.default_rng(3).standard_normal(MANY) * 10**5).astype(np.int64)
    return {
        "shuffled": cells,
        "sorted": np.sort(cells),
        "clustered": np.repeat(cells[: MANY // 100], 100),
        "constant": np.full(MANY, 7),
    }[order]


@pytest.mark.usefixtures("compiled")
@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS[: sized(1, 4)])
def test_a_large_column_is_sampled_verified_and_widened_where_needed(spark, tmp_path, order):
    cells = data(order)
    frame = stored(spark, tmp_path, pa.array(cells))
    for p, half, domain in (
        (Fraction(9, 10), 20, Domain(-(10**6), 10**6, 50)),
        (Fraction(1, 1000), 300, None),
        (HALF, 300, None),
    )[: sized(1, 3)]:
        assert window(frame, domain=domain, half=half, p=p) == window(cells, None, domain, half, p)


@pytest.mark.usefixtures("compiled")
@pytest.mark.slow
def test_a_large_column_of_floats_is_counted_alike_on_coarse_and_fine_grids(spark, tmp_path):
    cells = np.random.default_rng(4).standard_normal(MANY)
    frame = stored(spark, tmp_path, pa.array(cells))
    for step in ("1e-13", "1", "0.001")[: sized(1, 3)]:
        domain = Domain(-10, 10, step)
        assert window(frame, domain=domain, half=200) == window(cells, None, domain, 200)


def test_several_quantiles_share_their_scans(spark):
    cells = np.arange(5000) % 700
    table, memory = postri.open(spark.frame(beside(pa.array(cells)))), postri.open(cells)
    targets = [Target(Fraction(i, 4), 40) for i in (1, 2, 3)]
    grid = grid_of(table.type_of("x"), None)
    expected = [each(0) for each in memory.windows(None, grid, targets)]
    assert [each(0) for each in table.windows("x", grid, targets)] == expected


@pytest.mark.usefixtures("compiled")
def test_the_same_coins_give_the_same_answer_as_an_array(spark):
    cells = np.random.default_rng(5).integers(0, 10_000, 3_000)
    sources = [(cells, None), (spark.frame(beside(pa.array(cells))), "x")]
    answers = [
        postri.median(source, column=column, epsilon=1, coins=SeededCoins(11))
        for source, column in sources
    ]
    assert len({(answer.value, answer.interval) for answer in answers}) == 1


# ---- literals, names, types


def test_a_literal_is_the_number_that_it_says(spark):
    numbers = [
        0.1,
        -0.0,
        5e-324,
        1e-310,
        2.2250738585072014e-308,
        1.7976931348623157e308,
        -(2.0**53),
        1 / 3,
        123456.789e3,
    ]
    row = spark.session.sql("SELECT " + ", ".join(map(SparkDialect().double, numbers))).collect()[0]
    assert list(map(repr, row)) == list(map(repr, numbers))


ODD_NAMES = (
    "a`b``",
    "; DROP TABLE x --",
    "{source}",
    "é ü",
    'a "b" c',
    "a.b",
    "select",
    "{}",
    "x'y",
    "$x",
    "raw",
)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ODD_NAMES[: sized(4, None)])
def test_odd_names_work(spark, name):
    frame = spark.frame(pa.table({"first": [1, 3], "second": [2, 4]})).toDF("first", name)
    assert postri.open(frame, vouched=True).columns == ["first", name]
    assert window(frame, name).indexes.tolist() == [2, 4]


def test_a_name_in_which_spark_replaces_a_variable_is_refused(spark):
    frame = spark.session.range(3).toDF("${spark.app.name}")
    with pytest.raises(InputError, match="replaces a variable"):
        window(frame, "${spark.app.name}")


def test_columns_that_spark_does_not_tell_apart_are_refused_and_others_are_not(spark):
    frame = spark.frame(pa.table({"a": [1], "b": [2], "c": [3]})).toDF("a", "A", "b")
    for name in ("a", "A"):
        with pytest.raises(InputError, match=f"more than one column that Spark takes for '{name}'"):
            window(frame, name)
    assert window(frame, "b").indexes.tolist() == [3]


def test_columns_without_an_order_of_numbers_are_refused_by_their_type(spark):
    frame = spark.session.sql(
        "SELECT 'a' AS text, array(1) AS list, CAST(1 AS DECIMAL(38, 2)) AS wide"
    )
    for name, declared in ("text", "string"), ("list", "array<int>"):
        with pytest.raises(InputError, match=f"declared type {declared}, which has no order"):
            window(frame, name)
    with pytest.raises(InputError, match="at most 18 digits"):
        window(frame, "wide")


# ---- nothing of a cell shows, nothing of the user's changes


def planted(spark: Spark):
    """A frame that fails on one cell, and whose failure prints it."""
    frame = spark.session.createDataFrame([(1,), (SECRET,)], "y int")
    return frame.selectExpr(f"CAST(IF(y = {SECRET}, concat('cell-', y), y) AS INT) AS x")


def test_what_spark_says_reaches_no_message_chain_or_log(spark, caplog, capfd):
    frame = planted(spark)
    caplog.set_level(logging.DEBUG)
    caplog.clear()  # of how the frame was made, which is the user's to log
    logged = len(spark.log.read_text())
    with pytest.raises(EngineError, match="Spark failed while it counted; ") as caught:
        window(frame)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    said = [repr(caught.value), caplog.text, *capfd.readouterr()]
    # Spark writes of its own housekeeping at any time, but of no cell.
    said.append(spark.log.read_text()[logged:])
    assert not [words for words in said if str(SECRET) in words]


def test_what_the_user_runs_is_logged_as_before(spark):
    with pytest.raises(EngineError):
        window(planted(spark))
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        planted(spark).collect()
    assert f"cell-{SECRET}" in spark.log.read_text()
    assert not [
        each
        for logger in engine._loggers()
        for each in logger.filters
        if isinstance(each, engine._Nothing)
    ]


def test_an_error_that_is_not_sparks_own_stays_inside_too(spark, monkeypatch):
    def fail(_):
        raise ValueError(SECRET)

    monkeypatch.setattr(engine, "_collected", fail)
    with pytest.raises(EngineError, match="Spark failed while it counted; ") as caught:
        window(spark.session.range(3), "id")
    assert caught.value.__context__ is None


def test_no_view_is_left_behind_and_a_cached_frame_stays_cached(spark):
    frame = spark.session.range(100).toDF("x").cache()
    try:
        window(frame)
        assert spark.session.catalog.listTables() == []
        assert frame.storageLevel.useMemory
        assert not [tag for tag in spark.session.getTags() if tag.startswith("postri")]
    finally:
        frame.unpersist()


@pytest.mark.usefixtures("compiled")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "domain"),
    [
        (pa.float64(), Domain(-(10**7), 10**7, step="0.0000001")),
        *sized([], [(pa.int64(), None)]),
    ],
)
def test_no_more_rows_return_than_three_windows(spark, tmp_path, monkeypatch, declared, domain):
    frame, returned, collected = (
        stored(spark, tmp_path, pa.array(data("shuffled")).cast(declared)),
        [],
        engine._collected,
    )

    def counted(result):
        columns = collected(result)
        returned.append(len(columns[0]))
        return columns

    monkeypatch.setattr(engine, "_collected", counted)
    seen = window(frame, domain=domain, half=300)
    assert sum(returned) <= 3 * len(seen.indexes)


def test_rows_that_change_between_two_scans_are_noticed(spark):
    """Spark has no snapshots: files may be replaced under a frame."""
    frame = spark.session.range(3).toDF("x")
    source = SparkSource(frame)
    selected, grid = (
        RowSource(source.dialect, "x", source.types(), EVERY_ROW),
        grid_of(integer_type(64), None),
    )
    counter, wanted = (
        SqlCounter(source, selected, Reading(grid, Fraction(1))),
        [CountRequest(Bracket(grid.first, grid.last), Target(HALF, 9))],
    )
    assert counter.count(wanted)[0].n == 3
    assert counter.count(wanted)[0].n == 3
    source._source = frame.union(frame)
    with pytest.raises(SourceChanged, match="changed while they were counted"):
        counter.count(wanted)


def endless(spark):
    return SparkSource(
        spark.session.range(10**13).selectExpr("CAST(id % 3 AS DOUBLE) AS x").where("x < 5")
    )


def wait_for_jobs(spark, *, running: bool) -> None:
    """Two minutes are a guard against waiting for ever: a JVM that is busy may take a while."""
    tracker, deadline = spark.session.sparkContext.statusTracker(), time.monotonic() + 120
    while bool(tracker.getActiveJobsIds()) != running:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def once_it_runs(spark, act) -> None:
    """Do something while Spark is busy with the query that comes."""

    def wait_and_act():
        wait_for_jobs(spark, running=True)
        act()

    threading.Thread(target=wait_and_act).start()


def assert_idle(spark):
    wait_for_jobs(spark, running=False)
    assert window(spark.session.range(3), "id").n == 3


@pytest.mark.slow
def test_another_thread_cancels_the_query_in_spark(spark):
    cancel = Cancel()
    once_it_runs(spark, lambda: cancel.now(SourceChanged("stop")))
    with cancelled_by(cancel), pytest.raises(SourceChanged, match="stop"):
        endless(spark).estimate()
    assert_idle(spark)


@pytest.mark.slow
def test_an_interrupt_cancels_the_query_in_spark(spark):
    # PySpark's own handler cancels everything that the session runs; without it the cancelling is
    # ours.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    once_it_runs(spark, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            endless(spark).estimate()
    finally:
        signal.signal(signal.SIGINT, before)
    assert_idle(spark)
