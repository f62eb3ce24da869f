"""Nothing leaks from any engine: a cell shows in no error, chain, traceback, log, stream, warning
or answer, and decides no error.

The secrets stand where values, filters, keys and units are read, also where a cast or a computation
would fail on them.
"""

from __future__ import annotations

import gc
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import AddOrRemoveUnits, Domain, ReplaceUnits, agg
from postri.engines.table import Table
from postri.expressions.reader import read_expression
from proving import sized
from services.postgres_server import SECRET as PASSWORD
from services.real_tables import (
    HAS_CLICKHOUSE,
    LOADERS,
    SERVICES,
    SOME_ENGINES,
    Place,
    chdb_connection,
    loaded,
    some_of,
)

pytestmark = pytest.mark.slow

NUMBER = 918_273_645_546_372_819
TEXT = "xq-secret-cell-zz"
DAY = date(7731, 11, 19)
# How a cell would show: the number in full, shortened or as a float, the text, the day.
MARKS = ("918273645", "9.18273645", "xq-secret", "secret-cell", "7731-11", "7731, 11", PASSWORD)


class Watch(logging.Handler):
    """Everything that is said while requests are made, by whatever channel, and what came."""

    def __init__(self, streams: pytest.CaptureFixture[str]) -> None:
        super().__init__(level=logging.NOTSET)
        self._streams = streams
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.getMessage()} {record.args} {record.exc_info} {record.__dict__}")

    def ask(self, request: Callable[[], Any]) -> str:
        """Make a request; returns its outcome:

        "an answer", or the kind and message of the error.
        """
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            outcome = self._outcome(request)
            gc.collect()  # what the request left behind warns here, and not within a later one
        self.said += [f"{warning.message!r} {warning.line}" for warning in warned]
        self.said += self._streams.readouterr()
        assert not warned
        return outcome

    def _outcome(self, request: Callable[[], Any]) -> str:
        try:
            given = request()
        except Exception as error:
            self.said += [
                "".join(traceback.format_exception(error)),
                *(f"{link!r} {link} {link.__dict__}" for link in chain(error)),
            ]
            return f"{type(error).__name__}: {error}"
        self.said += [repr(given), str(given)]
        self.said += [
            getattr(given, name)()
            for name in ("explain", "to_json", "to_csv", "_repr_html_")
            if hasattr(given, name)
        ]
        return "an answer"

    @property
    def leaks(self) -> list[str]:
        """What was said with a mark in it, however digits are grouped."""

        def leaks(words: str) -> bool:
            bare = words.replace(",", "").replace("_", "")
            return any(mark in words or mark in bare for mark in MARKS)

        # A copy: threads of a library may log something meanwhile.
        return [words for words in list(self.said) if leaks(words)]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception with all its causes and contexts, suppressed or not."""
    if error is not None:
        yield error
        yield from chain(error.__cause__)
        yield from chain(error.__context__)


@pytest.fixture
def watch(capfd) -> Iterator[Watch]:
    """A watch on the streams of the process, on the warnings, and on every logger, at its most
    talkative.
    """
    gc.collect()  # what earlier tests left behind is gone before anything is watched,
    gc.freeze()  # and what they keep is not looked through after each request
    watch = Watch(capfd)
    loggers = [
        logging.getLogger(),
        *(
            each
            for each in logging.Logger.manager.loggerDict.values()
            if isinstance(each, logging.Logger)
        ),
    ]
    levels = [(logger, logger.level) for logger in loggers]
    for logger in loggers:
        logger.addHandler(watch)
        logger.setLevel(logging.DEBUG)
    yield watch
    for logger, level in levels:
        logger.removeHandler(watch)
        logger.setLevel(level)


def slow(engine: str) -> list:
    return [pytest.mark.slow] if engine in SERVICES else []


EVERY_ENGINE = pytest.mark.parametrize(
    "engine", [pytest.param(engine, marks=slow(engine)) for engine in SOME_ENGINES]
)


# ---- the watch itself can fail


def _chained() -> None:
    try:
        int(TEXT)
    except ValueError:
        raise KeyError("nothing") from None


def _noted() -> None:
    error = KeyError("nothing")
    error.add_note(TEXT)
    raise error


def _logged_apart() -> None:
    logging.getLogger("py4j.clientserver").debug("cell %s", NUMBER)


def _queried() -> None:
    duckdb.sql(f"SELECT CAST('{TEXT}' AS INTEGER)").fetchall()


LEAKS = {
    "stdout": lambda: print(f"{NUMBER:,}"),  # noqa: T201  # that is the leak
    "a log": lambda: logging.getLogger("any").debug("cell %s", NUMBER),
    "a log of a library": _logged_apart,
    "a message": lambda: int(TEXT),
    "a suppressed context": _chained,
    "a note": _noted,
    "a database": _queried,
    "an answer": lambda: DAY,
}


@pytest.mark.parametrize("channel", LEAKS)
def test_the_watch_sees_a_leak(watch, channel):
    logging.getLogger("any").setLevel(logging.DEBUG)
    watch.ask(LEAKS[channel])
    assert watch.leaks


def test_the_watch_sees_nothing_where_nothing_is(watch):
    assert watch.ask(lambda: 5) == "an answer"
    assert not watch.leaks


# ---- a secret in every cell

ROWS = 60
SECRETS = pa.table(
    {
        "whole": pa.array([NUMBER] * ROWS, pa.int64()),
        "real": pa.array([float(NUMBER)] * ROWS, pa.float64()),
        "exact": pa.array([Decimal("918273645.54")] * ROWS, pa.decimal128(12, 2)),
        "day": pa.array([DAY] * ROWS, pa.date32()),
        "moment": pa.array([datetime(7731, 11, 19)] * ROWS, pa.timestamp("us")),
        "text": pa.array([TEXT] * ROWS, pa.string()),
    }
)
# Far from every secret, which is clamped to the end.
NUMBERS, DAYS = Domain(0, 1_000, step="0.1"), Domain("2024-01-01", "2024-12-31")
MOMENTS = Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00")
MEDIANS = {
    **{f"mid_{name}": agg.median(name, domain=NUMBERS) for name in ("whole", "real", "exact")},
    "mid_day": agg.median("day", domain=DAYS),
    "late_moment": agg.quantile("moment", 0.9, domain=MOMENTS),
}
REAL = {"mid": MEDIANS["mid_real"]}
SELECTED = {
    "where": (
        "whole > 5 AND real * 2 > whole - 1 AND exact / 3 < real AND day > DATE '2024-01-01' AND "
        "text LIKE 'x%' AND text <> 'x'"
    ),
    "by": {"text": ["x", "y"], "day": [date(2024, 1, 31)]},
}
EXPRESSIONS = {
    "whole_v": "whole * whole + 1 - -whole",
    "real_v": "CASE WHEN text LIKE 'x%' THEN real * real / whole ELSE whole / exact END",
    "exact_v": "COALESCE(exact * exact, whole, 0.5) - whole",
    "day_v": "COALESCE(day, DATE '2024-01-31')",
    "moment_v": "CASE WHEN real < 3 THEN moment ELSE TIMESTAMP '2024-01-31 00:00:00' END",
}
OF_EXPRESSIONS = {
    **{
        f"mid_{name}": agg.median(f"{name}_v", domain=NUMBERS)
        for name in ("whole", "real", "exact")
    },
    **{
        "sum": agg.sum("whole_v", domain=NUMBERS),
        "average": agg.mean("real_v", domain=NUMBERS),
        "rows": agg.count("exact_v"),
    },
    **{
        "mid_day": agg.median("day_v", domain=DAYS),
        "mid_moment": agg.median("moment_v", domain=MOMENTS),
    },
}


def of_expressions(table: Table, names: list[str], **how: Any) -> Any:
    computed = table.computed({name: read_expression(text) for name, text in EXPRESSIONS.items()})
    return postri.ask(computed, {name: OF_EXPRESSIONS[name] for name in names}, epsilon=1, **how)


GOOD: dict[str, Callable[[Table], Any]] = {
    "expressions": lambda table: of_expressions(table, list(OF_EXPRESSIONS), where="whole > 5"),
    "selected by units": lambda table: postri.ask(
        table, REAL, epsilon=1, protect=ReplaceUnits("text", rows=2), **SELECTED
    ),
    "the table": lambda table: table,
    "all columns": lambda table: postri.ask(table, MEDIANS, epsilon=1),
    "selected": lambda table: postri.ask(table, MEDIANS, epsilon=1, **SELECTED),
    "by units": lambda table: postri.ask(
        table, MEDIANS, epsilon=1, protect=AddOrRemoveUnits("whole", rows=2)
    ),
    "by numbers": lambda table: postri.ask(
        table, REAL, epsilon=1, by={"whole": [1, 2], "exact": [3]}
    ),
    "a median": lambda table: postri.median(
        table, column="whole", domain=NUMBERS, epsilon=1, where="moment IS NOT NULL"
    ),
    "quantiles": lambda table: postri.quantiles(
        table, [0.1, 0.5], column="real", domain=NUMBERS, epsilon=1
    ),
}
# A question takes Spark a second, whatever it counts.
SPARK_GOOD = list(GOOD)[1:3]
BAD: dict[str, Callable[[Table], Any]] = {
    "an unknown column": lambda table: postri.median(table, column="wholy", epsilon=1),
    "a column of texts": lambda table: postri.median(
        table, column="text", epsilon=1, domain=NUMBERS
    ),
    "an unknown unit": lambda table: postri.median(
        table, column="whole", epsilon=1, protect=AddOrRemoveUnits("texts")
    ),
    "units of floats": lambda table: postri.median(
        table, column="whole", epsilon=1, protect=AddOrRemoveUnits("real")
    ),
    "keys of floats": lambda table: postri.ask(table, MEDIANS, epsilon=1, by={"real": [1]}),
    "a wrong filter": lambda table: postri.ask(table, MEDIANS, epsilon=1, where="text > 1"),
    "a wrong expression": lambda table: table.computed({"v": read_expression("text + 1")}),
    "an expression of an unknown column": lambda table: table.computed(
        {"v": read_expression("wholy + 1")}
    ),
}
UNTYPED = ("lists", "CSV")


@EVERY_ENGINE
def test_a_sound_table_answers_and_shows_no_cell(engine, watch, request, tmp_path):
    table = loaded(engine, SECRETS, Place(tmp_path, request))
    for name in SPARK_GOOD if engine == "Spark" else some_of(engine, GOOD):
        assert watch.ask(lambda name=name: GOOD[name](table)) == "an answer", name
    for name, bad in BAD.items():
        outcome = watch.ask(lambda bad=bad: bad(table))
        assert outcome.startswith("InputError") or (engine in UNTYPED and "float" in name), name
    assert not watch.leaks


# ---- cells that make casts and computations fail

BASE = {
    "whole": ([5, 6, 7, 8], pa.int64()),
    "real": ([0.5, 1.5, 2.5, 3.5], pa.float64()),
    "exact": ([Decimal("5.25")] * 4, pa.decimal128(18, 2)),
    "day": ([date(2024, 1, 31)] * 4, pa.date32()),
    "moment": ([datetime(2024, 1, 31)] * 4, pa.timestamp("us")),
    "text": (["a", "b", "a", "c"], pa.string()),
    "flag": ([True, False, True, False], pa.bool_()),
}
MOST, FARTHEST = Decimal(10**18 - 1).scaleb(-2), 1.7976931348623157e308
EXTREMES: dict[str, dict[str, Any]] = {
    "largest": {
        "whole": 2**63 - 1,
        "real": FARTHEST,
        "exact": MOST,
        "day": date.max,
        "moment": datetime.max,
        "text": "z" * 5_000,
    },
    "smallest": {
        "whole": -(2**63),
        "real": -FARTHEST,
        "exact": -MOST,
        "day": date.min,
        "moment": datetime.min,
        "text": "",
    },
    "infinite": {
        "whole": 0,
        "real": float("inf"),
        "exact": Decimal(0),
        "text": "'; DROP TABLE x; --",
    },
    "no number": {
        "whole": -1,
        "real": float("nan"),
        "exact": Decimal("-0.01"),
        "text": "\U0001f600\\%_{source}${x}",
    },
    "tiny": {"whole": 1, "real": 5e-324, "exact": Decimal("0.01"), "text": "\x01"},
    "null": dict.fromkeys(BASE),
}
COMPUTED = (
    "whole * whole + 1 > whole - 5 OR -whole < 3 OR real * real > real / whole OR whole / "
    "exact < exact * exact OR exact - 1 < real OR "
    "day < DATE '2024-06-01' OR moment >= TIMESTAMP '2024-01-01 00:00:00' OR text LIKE '_%a' "
    "OR flag OR CASE WHEN flag THEN whole = 1 END"
)
BY = {"text": ["a", "b"], "flag": [True, False]}
TOGETHER = {"where": COMPUTED, "by": BY, "protect": AddOrRemoveUnits("text", rows=2)}
NEIGHBOURS: dict[str, Callable[[Table], Any]] = {
    "together": lambda table: postri.ask(table, REAL, epsilon=1, **TOGETHER),
    "all columns": lambda table: postri.ask(
        table, MEDIANS, epsilon=1, protect=AddOrRemoveUnits("whole")
    ),
    "a filter": lambda table: postri.ask(table, MEDIANS, epsilon=1, where=COMPUTED),
    "expressions": lambda table: of_expressions(
        table, ["sum", "mid_real"], protect=AddOrRemoveUnits("text", rows=2)
    ),
    "all expressions": lambda table: of_expressions(table, list(OF_EXPRESSIONS)),
    "keys": lambda table: postri.ask(
        table, REAL, epsilon=1, by={"day": [date.min, date.max], "whole": [0, 2**63 - 1]}
    ),
}


def with_rows(*rows: dict[str, Any]) -> pa.Table:
    """The sound rows, and more with these cells."""
    return pa.table(
        {
            name: pa.array([*column, *(row.get(name, column[0]) for row in rows)], kind)
            for name, (column, kind) in BASE.items()
        }
    )


@EVERY_ENGINE
def test_neighbouring_tables_have_the_same_outcome(engine, watch, request, tmp_path):
    """One row more, whatever stands in it, or all of them, or no row at all: an answer."""
    place, every = (
        Place(tmp_path, request),
        ["together", "expressions"] if engine == "Spark" else some_of(engine, NEIGHBOURS),
    )
    of_nothing = every
    if engine == "Spark":
        of_nothing = every[: sized(1, None)]
    asked = [(with_rows(*EXTREMES.values()), every), (with_rows()[:0], of_nothing)]
    if engine in sized(("lists", "DuckDB"), set(LOADERS) - {"Spark"}):
        rows = list(EXTREMES.values())[:: sized(6, 1)]
        asked += [(with_rows(row), ["together", "expressions"]) for row in rows]
    for given, names in asked:
        table = loaded(engine, given, place)
        assert [
            watch.ask(lambda name=name, table=table: NEIGHBOURS[name](table)) for name in names
        ] == ["an answer"] * len(names)


LISTED: dict[str, list[Any]] = {
    "numbers": [
        10**400,
        -(10**5_000),
        float("nan"),
        float("inf"),
        Decimal("sNaN"),
        Decimal("1e999999"),
        1j,
        5e-324,
        True,
    ],
    "texts": [
        "",
        " ",
        "\x00",
        "\ud800",
        "9" * 5_000,
        "1e999999999",
        "nan",
        "2024-02-30",
        "0001-01-01T00:00:00+14:00",
        TEXT,
        "'",
    ],
    "others": [
        None,
        b"7",
        [7],
        {},
        object(),
        np.datetime64("NaT"),
        np.timedelta64(5),
        pd.NaT,
        pd.NA,
        (),
        type,
        ...,
    ],
}
ODD_REQUESTS: list[dict[str, Any]] = [
    {"where": "k > 1 AND k * k < 9 OR t = 'a' OR d < DATE '2024-01-31'"},
    {"by": {"k": [1, 2], "t": ["a"], "d": [date(2024, 1, 31)]}},
    {"protect": AddOrRemoveUnits("k")},
    {"protect": AddOrRemoveUnits("t", rows=2), "by": {"t": ["a", "b"]}},
]
ODD_EXPRESSIONS = {
    "v": "x * k + 1 / x",
    "w": "CASE WHEN t = 'a' THEN x ELSE -k END",
    "d2": "COALESCE(d, DATE '2024-01-31')",
}
ODD_MEDIANS = {
    **{name: agg.median(name, domain=NUMBERS) for name in ("v", "w")},
    "d2": agg.median("d2", domain=DAYS),
}


def median_of_x(source: Any, how: dict[str, Any]) -> Callable[[], Any]:
    return lambda: postri.ask(source, {"mid": agg.median("x", domain=NUMBERS)}, epsilon=1, **how)


def medians_of_expressions(table: Table) -> Callable[[], Any]:
    columns = {name: read_expression(text) for name, text in ODD_EXPRESSIONS.items()}
    return lambda: postri.ask(table.computed(columns), ODD_MEDIANS, epsilon=1)


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("kind", LISTED)
def test_whatever_an_untyped_cell_is_it_decides_no_outcome(kind, declared, watch):
    """As a value, in a filter, as a key and as a unit."""
    types = {"x": "integer", "k": "integer", "t": "text", "d": "date"} if declared else {}
    for cell, holder in product(LISTED[kind], (list, _objects)[: sized(1, 2)]):
        table = postri.open(
            {name: holder([1, 2, cell]) for name in ("x", "k", "t", "d")}, columns=types
        )
        for how in ODD_REQUESTS:
            assert watch.ask(median_of_x(table, how)) == "an answer", (cell, how)
        assert watch.ask(medians_of_expressions(table)) == "an answer", cell
    assert not watch.leaks


def _objects(cells: list) -> np.ndarray:
    array = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


LINES = [
    *(
        f"{TEXT},{TEXT},{TEXT},{TEXT}",
        f"{NUMBER},{NUMBER},{TEXT},2024-02-30",
        f'"{TEXT}',
        f'{TEXT}"{NUMBER},1,2,3',
        f"{NUMBER},,,,{TEXT}",
    ),
    *(
        f"\x00{TEXT},1,2,3",
        f"{NUMBER}\r{TEXT}",
        f"1e308,1e400,{TEXT},{DAY}",
        f"nan,inf,{TEXT},0000-00-00",
        '"""',
        "",
        f"{NUMBER}e400,1,a,b",
    ),
]


def test_whatever_a_line_of_csv_is_it_decides_no_outcome_and_does_not_show(watch, tmp_path):
    path, tail = tmp_path / "t.csv", b"\xff\xfe" + TEXT.encode()
    for lines in ([], *([line] for line in LINES[:: sized(4, 1)]), LINES):
        path.write_bytes(
            "\n".join(["x,k,t,d", "1,2,a,2024-01-31", *lines, "3,4,b,2024-01-31", ""]).encode()
            + tail
        )
        table = postri.open(path)
        assert {watch.ask(median_of_x(table, how)) for how in [{}, *ODD_REQUESTS]} == {"an answer"}
        assert watch.ask(medians_of_expressions(table)) == "an answer"
    assert not watch.leaks


# ---- sources that fail on a cell, and say which

BROKEN: dict[str, Callable[[Table], Any]] = {
    "a value": lambda table: postri.median(table, column="bad", domain=NUMBERS, epsilon=1),
    "a value by units": lambda table: postri.median(
        table, column="bad", domain=NUMBERS, epsilon=1, protect=AddOrRemoveUnits("x")
    ),
    "a filter": lambda table: postri.median(
        table, column="x", domain=NUMBERS, epsilon=1, where="bad > 1"
    ),
    "a key": lambda table: postri.ask(
        table, {"mid": agg.median("x", domain=NUMBERS)}, epsilon=1, by={"bad": [1, 2]}
    ),
    "a unit": lambda table: postri.median(
        table, column="x", domain=NUMBERS, epsilon=1, protect=AddOrRemoveUnits("bad")
    ),
}


def broken_in_duckdb(place: Place) -> Iterator[Table]:
    """The words of a function, of a cast, and of a number too large."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE words AS SELECT 1 AS x, '{TEXT}' AS word, {NUMBER} AS number")
    for number, bad in enumerate(["error('cell ' || word)", "word", "number * number"]):
        connection.execute(
            f"CREATE VIEW broken{number} AS SELECT x, CAST({bad} AS BIGINT) AS bad FROM words"
        )
        yield Table.from_duckdb(connection, f"broken{number}", vouched=True)


def broken_in_postgres(place: Place) -> Iterator[Table]:
    """The same, and a function that warns as well."""
    server = place.request.getfixturevalue("postgres")
    server.run(
        """CREATE OR REPLACE FUNCTION tell(word text) RETURNS bigint LANGUAGE plpgsql AS
        $$ BEGIN
            RAISE WARNING 'cell %', word;
            RAISE EXCEPTION 'cell %', word USING DETAIL = word, HINT = word;
        END $$""",
        "DROP TABLE IF EXISTS words CASCADE",
        f"CREATE TABLE words AS SELECT 1 AS x, '{TEXT}'::text AS word, {NUMBER} AS number",
    )
    for number, bad in enumerate(["tell(word)", "CAST(word AS bigint)", "number * number"]):
        server.run(f"CREATE VIEW broken{number} AS SELECT x, {bad} AS bad FROM words")
        yield Table.from_postgres(server.url(), f"broken{number}", vouched=True)


def broken_in_spark(place: Place) -> Iterator[Table]:
    session = place.request.getfixturevalue("spark").session
    frame = session.createDataFrame([(1, TEXT)], "x long, word string")
    yield postri.open(
        frame.selectExpr(
            "x",
            "CAST(IF(length(word) > 0, raise_error(concat('cell ', word)), x) AS BIGINT) AS bad",
        ),
        vouched=True,
    )


def broken_in_clickhouse(place: Place) -> Iterator[Table]:
    """The words of a function, of a cast, and of a decimal too large."""
    connection = chdb_connection()
    connection.query("DROP TABLE IF EXISTS words")
    connection.query(
        f"CREATE TABLE words ENGINE = Memory AS SELECT 1 AS x, '{TEXT}' AS word, {NUMBER} AS number"
    )
    large = "toInt64(toDecimal64(number, 5) * toDecimal64(number, 5))"
    for i, bad in enumerate([f"throwIf(x = 1, 'cell {TEXT}')", "toInt64(word)", large]):
        connection.query(f"CREATE OR REPLACE VIEW broken{i} AS SELECT x, {bad} AS bad FROM words")
        yield Table.from_chdb(":memory:", f"broken{i}", vouched=True)


def broken_in_files(place: Place) -> Iterator[Table]:
    """Parquet with bytes that changed, one that ends too early, and files that are gone or others
    by the time that they are read.
    """
    folder = place.folder
    texts = [f"{TEXT}{i}" for i in range(500)]
    columns = {
        "x": pa.array(range(500)),
        "bad": pa.array([NUMBER + i for i in range(500)]),
        "text": pa.array(texts),
    }
    pq.write_table(
        pa.table(columns), folder / "sound.parquet", compression="none", use_dictionary=False
    )
    sound = (folder / "sound.parquet").read_bytes()
    footer = len(sound) - int.from_bytes(sound[-8:-4], "little") - 8
    for number, (start, end) in enumerate(
        [(4, 200), (footer // 2, footer // 2 + 400), (4, footer)]
    ):
        damaged = sound[:start] + bytes(byte ^ 0x5A for byte in sound[start:end]) + sound[end:]
        (folder / f"damaged{number}.parquet").write_bytes(damaged)
        yield postri.open(folder / f"damaged{number}.parquet")
    for number, later in enumerate((sound[: len(sound) // 2], f"{TEXT}\n{NUMBER}".encode(), None)):
        path = folder / f"later{number}.parquet"
        path.write_bytes(sound)
        table = postri.open(path)
        path.unlink()
        if later is not None:
            path.write_bytes(later)
        yield table


BROKEN_IN = {
    "DuckDB": broken_in_duckdb,
    "files": broken_in_files,
    "PostgreSQL": broken_in_postgres,
    "Spark": broken_in_spark,
}
if HAS_CLICKHOUSE:
    BROKEN_IN["ClickHouse"] = broken_in_clickhouse


@pytest.mark.parametrize(
    "engine", [pytest.param(engine, marks=slow(engine)) for engine in BROKEN_IN]
)
def test_what_an_engine_says_when_it_fails_on_a_cell_goes_no_further(
    engine, watch, request, tmp_path
):
    failed = 0
    for table in BROKEN_IN[engine](Place(tmp_path, request)):
        for name in ("a value", "a key") if engine == "Spark" else BROKEN:
            outcome = watch.ask(lambda name=name, table=table: BROKEN[name](table))
            assert outcome.startswith(("EngineError", "SourceError")) or (
                engine == "files" and outcome == "an answer"
            ), outcome
            failed += outcome != "an answer"
    assert failed and not watch.leaks


def test_files_that_cannot_be_opened_do_not_show_what_is_in_them(watch, tmp_path):
    contents = {
        "no.parquet": TEXT.encode() * 50,
        "short.parquet": b"PAR1" + TEXT.encode(),
        "ends.parquet": b"PAR1" + TEXT.encode() * 9 + b"\x10\x00\x00\x00PAR1",
        "no.duckdb": TEXT.encode() * 500,
        "no.xyz": TEXT.encode(),
        "no.csv": b"\xff\xfe" + TEXT.encode(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        opened = (
            Table.from_duckdb
            if name.endswith("duckdb")
            else lambda path, _: postri.median(path, column="x", epsilon=1)
        )
        outcome = watch.ask(lambda opened=opened, name=name: opened(tmp_path / name, "cells"))
        assert outcome.startswith(("SourceError", "InputError")), name
    assert not watch.leaks


class TellingTexts:
    """A column of texts whose library fails on a cell, and says which."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError(f"cannot decode {TEXT}")


@pytest.mark.parametrize(
    "how",
    [{"where": "t = 'a'"}, {"by": {"t": ["a"]}}, {"protect": AddOrRemoveUnits("t")}],
    ids=["a filter", "a key", "a unit"],
)
def test_what_a_library_says_of_a_text_goes_no_further(how, watch):
    source = {"x": [1], "t": TellingTexts()}
    assert watch.ask(
        lambda: postri.ask(source, {"mid": agg.median("x")}, epsilon=1, **how)
    ).startswith("SourceError")
    assert not watch.leaks


WRONG_LOGINS = [{"password": f"{PASSWORD}x"}, {"user": "nobody"}, {"database": "nowhere"}]


@pytest.mark.slow
def test_no_password_shows_whatever_becomes_of_a_server(postgres, watch):
    """A table that is gone, logins that are wrong, a connection that the server ends."""
    postgres.run(
        "DROP TABLE IF EXISTS passing",
        f"CREATE TABLE passing AS SELECT {NUMBER} AS x, '{TEXT}'::text AS t",
    )
    url, ask = postgres.url(), {"where": "t LIKE 'a%'"}
    tables = [Table.from_postgres(url, "passing") for _ in range(2)]
    assert watch.ask(median_of_x(tables[0], ask)) == "an answer"
    with psycopg.connect(url, autocommit=True) as connection:
        borrowed = Table.from_postgres(connection, "passing")
        postgres.run(
            f"SELECT pg_terminate_backend({connection.info.backend_pid})", "DROP TABLE passing"
        )
        assert watch.ask(median_of_x(borrowed, ask)).startswith("EngineError")
    # Whoever asks a table anew looks whether it still is the one that was opened.
    assert watch.ask(median_of_x(tables[1], ask)).startswith("SourceChanged")
    assert watch.ask(lambda: Table.from_postgres(url, "passing")).startswith("InputError")
    for login in WRONG_LOGINS:
        assert watch.ask(
            lambda login=login: Table.from_postgres(postgres.url(**login), "passing")
        ).startswith("SourceError")
    assert not watch.leaks
