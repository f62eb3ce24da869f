"""A policy names tables and files of Spark: a local one and Spark Connect give the answers of the
files themselves, tell what may fail on a row, and stop when they are told to.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bank import bank, dataset_text, seeded
from postri import EngineError, InputError, PostriError, SourceChanged, SourceError
from postri.engines.csv_format import CsvFormat
from postri.engines.progress import Cancel, cancelled_by
from postri.engines.resolve import policy_source_of
from postri.engines.spark.catalogue import described_doubts
from postri.engines.spark.connection import session_of
from postri.engines.spark.source import SparkSource
from postri.engines.table import Table
from postri.policy import check_policy, read_policy, skeleton
from services.spark_session import Spark

LOCAL = "spark://local[2]"
SECRET = 1_847_110_815
ASKED = "SELECT MEDIAN(balance) AS mid FROM bank WHERE age < 60"


# ---- by its text alone


@pytest.mark.parametrize(
    "source",
    ["spark://", "spark:local", "sc:/secret", "spark://secret", "sc://a b", "spark://local[0]"],
)
def test_a_url_that_is_misspelt_is_refused_and_not_shown(source):
    with pytest.raises(InputError, match="source is not the URL of a Spark; write") as caught:
        policy_source_of(source, "trips")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "a Spark source needs its table"),
        ("trips/*.parquet", "must be a whole path"),
        ("parquet.`/trips`", "must be a whole path"),
        ("a..b", "with `a.b` for a part that has a dot"),
        ("a`b", "with `a.b` for a part that has a dot"),
        ("", "must be a name"),
    ],
)
def test_a_table_that_cannot_be_one_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        policy_source_of("spark://local", table)


def places(source: str, table: str) -> set[tuple[str, ...]]:
    return policy_source_of(source, table).places(source, table)


def test_one_table_in_several_spellings_is_one_place():
    spellings = ("Trips", "default.trips", "spark_catalog.default.`trips`")
    for same in (("spark://local", "spark://local[3]"), ("sc://Big", "sc://big:15002/;token=x")):
        assert len({frozenset(places(url, name)) for url in same for name in spellings}) == 1
    assert places("sc://big", "a.trips") != places("sc://big", "b.trips")
    assert places("sc://big", "a.b.trips") != places("sc://big", "c.b.trips")


def test_files_of_this_machine_are_the_places_of_other_engines_too(tmp_path):
    inside = tmp_path / "trips" / "a.parquet"
    inside.parent.mkdir()
    inside.touch()
    others = policy_source_of(str(inside), None).places(str(inside), None)
    for path in (f"{tmp_path}/trips/*.parquet", f"{tmp_path}/trips", f"file://{tmp_path}/trips"):
        assert others <= places("spark://local", path)
    assert places("sc://a", "s3a://b/t") & places("spark://c:7077", "s3a://b/t")


def test_a_token_is_left_out_of_what_init_writes():
    url = "sc://big/;token=secret;use_ssl=true"
    written, comment = policy_source_of(url, "t").written(url, None)
    assert written == "sc://big/;use_ssl=true"
    assert "SPARK_CONNECT_AUTHENTICATE_TOKEN" in comment
    url = "sc://big/;token=secret"
    assert policy_source_of(url, "t").written(url, None)[0] == "sc://big"


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"type": "VIEW"}, "a view"),
        ({"type": "MANAGED", "provider": "csv"}, "a table of the format csv"),
        ({"type": "MANAGED", "provider": "iceberg"}, "a table of the format iceberg"),
        ({"type": "MANAGED"}, "does not tell what it is"),
        ({"provider": "parquet"}, "does not tell what it is"),
        ({}, "does not tell what it is"),
    ],
)
def test_what_the_catalogue_does_not_call_stored_is_in_doubt(described, words):
    (doubt,) = described_doubts(described)
    assert words in doubt


def test_a_server_that_is_not_there_is_told_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"sc://127.0.0.1:{free.getsockname()[1]}/;token=secret"
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"cannot reach Spark Connect at 127\.0\.0\.1:\d+;"):
            opened(url, "trips")
        assert time.monotonic() - began < 60


# ---- in a real Spark


def opened(source: str, table: str) -> Table:
    return Table(policy_source_of(source, table).open(source, table, {}, CsvFormat()))


def policy_of(folder: Path, source: str, table: str | None = None) -> Path:
    folder.mkdir()
    path = folder / "postri.toml"
    path.write_text(dataset_text(source=source, table=table))
    return path


@pytest.fixture(scope="module")
def stored(spark: Spark, tmp_path_factory):
    """The bank as files, as a table over them, and below a view and a text table of them."""
    folder = tmp_path_factory.mktemp("stored")
    rows = bank(300)
    pq.write_table(rows[:200], folder / "a.parquet")
    pq.write_table(rows[200:], folder / "b.parquet")
    run = spark.session.sql
    run(f"CREATE TABLE bank_table USING parquet LOCATION '{folder}'")
    run("CREATE VIEW bank_view AS SELECT 1 / (age - 30) AS balance FROM bank_table")
    run("CREATE TABLE bank_text (balance BIGINT) USING csv")
    yield folder
    for words in ("VIEW bank_view", "TABLE bank_table", "TABLE bank_text"):
        run(f"DROP {words}")


def test_a_policy_over_spark_gives_the_answers_of_the_files(stored, spark_connect, tmp_path):
    """Files by a pattern in this process's Spark, a table of the catalogue by Spark Connect."""
    asked = {
        "files": policy_of(tmp_path / "files", f"{stored}/*.parquet"),
        "pattern": policy_of(tmp_path / "pattern", LOCAL, f"{stored}/*.parquet"),
        "table": policy_of(tmp_path / "table", spark_connect, "default.bank_table"),
    }
    answers = {}
    for name, path in asked.items():
        assert check_policy(read_policy(path)) == ([], [])
        with seeded(path) as session:
            answers[name] = [str(row) for row in session.sql(ASKED, epsilon=1).rows]
    assert answers["pattern"] == answers["files"]
    assert answers["table"] == answers["files"]


def test_tables_that_compute_are_refused_by_both(stored, spark_connect, tmp_path):
    for number, url in enumerate((LOCAL, spark_connect)):
        assert opened(url, "bank_table").doubts == ()
        assert "the format csv" in opened(url, "bank_text").doubts[0]
        path = policy_of(tmp_path / str(number), url, "bank_view")
        with pytest.raises(PostriError, match=r"a view.*vouched = true"), seeded(path) as session:
            session.sql("SELECT COUNT(*) AS n FROM bank", epsilon=1)
    assert "# vouched = true" in skeleton(LOCAL, "bank_view")
    assert "[datasets.bank_table]" in skeleton(LOCAL, "default.bank_table")


def test_a_view_that_takes_the_place_of_a_table_is_noticed(spark, spark_connect):
    run = spark.session.sql
    run("CREATE TABLE placed USING parquet AS SELECT 1 AS x")
    tables = [opened(url, "placed") for url in (LOCAL, spark_connect)]
    run("DROP TABLE placed")
    run("CREATE VIEW placed AS SELECT 1 / 0 AS x")
    try:
        for table in tables:
            with pytest.raises(SourceChanged, match="was replaced"), table.snapshot():
                pass
    finally:
        run("DROP VIEW placed")


def test_what_spark_connect_says_reaches_no_message_chain_or_log(
    spark, spark_connect, caplog, capfd
):
    run = spark.session.sql
    run(f"CREATE VIEW planted AS SELECT CAST(concat('cell-', {SECRET}) AS INT) AS x")
    caplog.set_level(logging.DEBUG)
    try:
        table = opened(spark_connect, "planted")
        with pytest.raises(EngineError, match="Spark failed while it counted; ") as caught:
            table._engine._source.columns("SELECT max(x) FROM {source}")
    finally:
        run("DROP VIEW planted")
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    said = [repr(caught.value), caplog.text, *capfd.readouterr()]
    assert not [words for words in said if f"cell-{SECRET}" in words]


def test_what_is_not_there_is_told_and_nothing_of_spark_with_it(spark_connect, tmp_path):
    for table in ("no.where", f"{tmp_path}/*.parquet"):
        with pytest.raises(InputError, match=r"has no table|finds no Parquet files") as caught:
            opened(spark_connect, table)
        assert caught.value.__context__ is None


def test_a_process_has_one_spark(spark):
    with pytest.raises(InputError, match=r"this one has local\[2\] already, so local\[7\] cannot"):
        opened("spark://local[7]", "trips")


def test_a_session_is_shared_until_its_server_forgets_it(spark, spark_connect):
    for url in (LOCAL, spark_connect):
        assert session_of(url) is session_of(url)
    assert session_of(LOCAL) is not spark.session
    before = session_of(spark_connect)
    before.client.release_session()
    assert session_of(spark_connect) is not before


def test_a_question_that_is_cancelled_ends_its_jobs_behind_spark_connect(spark, spark_connect):
    session = session_of(spark_connect)
    endless = session.range(10**13).selectExpr("CAST(id % 3 AS DOUBLE) AS x").where("x < 5")
    source = SparkSource(endless)
    tracker = spark.session.sparkContext.statusTracker()
    cancel = Cancel()

    def cancel_once_it_runs() -> None:
        wait_until(tracker.getActiveJobsIds)
        cancel.now(SourceChanged("stop"))

    threading.Thread(target=cancel_once_it_runs).start()
    with cancelled_by(cancel), pytest.raises(SourceChanged, match="stop"):
        source.estimate()
    wait_until(lambda: not tracker.getActiveJobsIds())


def wait_until(happens) -> None:
    """Two minutes are a guard against waiting for ever: a JVM that is busy may take a while."""
    deadline = time.monotonic() + 120
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)
