"""What rows cost in each engine, in seconds of the processor.

Many rows like one are loaded, and a predicate is counted on them; what it takes without rows is
taken off. Other programs do not matter to the time of a processor but through its caches, and
through a second thread of a core: so the least of several counts, and beside every bound stands
how slow the machine is as a rule at that moment.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import duckdb
import psycopg
import pyarrow as pa

import postri
from expressions.worst_rows import Row, Trial
from postri.engines.table import Table
from postri.expressions import Predicate
from proving import sized
from services.postgres_server import PostgresServer
from services.real_tables import put_in_clickhouse, put_in_postgres
from services.spark_session import Spark

ROWS = sized(24, 48)
# Spark tells the time of a task to the microsecond, so fewer will do.
ROWS_OF_TASK = sized(10, 32)
# How often a trial is measured. What takes long by accident is measured again by whoever asks.
TIMES = sized(1, 2)
SCHEMA = pa.schema(
    {
        "t": pa.string(),
        "u": pa.string(),
        "i": pa.int64(),
        "j": pa.int64(),
        "d": pa.decimal128(18, 2),
        "f": pa.float64(),
        "day": pa.date32(),
        "ts": pa.timestamp("us"),
    }
)
# What the work took by which slowness is told, on the machine on which the bounds were chosen: to
# sort 4,000 numbers, and to compare two texts in Spark.
SORTING = 0.4e-3
COMPARING = 0.5e-3


class Engine(Protocol):
    """An engine that can be asked what rows cost."""

    def costs(self, trials: Sequence[Trial]) -> list[float]:
        """What one row of each trial costs."""

    def slowness(self) -> float:
        """How many times as long as usual the engine takes for some work; at least 1."""


def table_of(row: Row, rows: int = ROWS) -> pa.Table:
    """Many rows like one, of which no two texts are the same."""
    return pa.Table.from_pylist([row.numbered(number) for number in range(rows)], SCHEMA)


class Asked:
    """An engine that answers in a time that a clock of its process tells."""

    clock: Callable[[], float] = staticmethod(time.process_time)

    def __init__(self) -> None:
        self._nothing: dict[str, float] = {}

    def load(self, table: pa.Table) -> Table:
        raise NotImplementedError

    def costs(self, trials: Sequence[Trial]) -> list[float]:
        return [self._cost(trial) for trial in trials]

    def slowness(self) -> float:
        """By the work of sorting, which is done in this process."""
        numbers = Random(5)
        some = [numbers.random() for _ in range(4_000)]
        taken = []
        for _ in range(5):
            start = time.process_time()
            sorted(some)
            taken.append(time.process_time() - start)
        return max(1.0, median(taken) / SORTING)

    def _cost(self, trial: Trial) -> float:
        if trial.predicate not in self._nothing:
            empty = self.load(table_of(trial.row, 0))
            taken = [self._seconds(empty, trial.predicate) for _ in range(2)]
            self._nothing[trial.predicate] = min(taken)
        taken = self._seconds(self.load(table_of(trial.row)), trial.predicate)
        return max(taken - self._nothing[trial.predicate], 0.0) / ROWS

    def _seconds(self, table: Table, text: str) -> float:
        predicate = Predicate.parse(text)
        taken = []
        # What is looked at before a snapshot is public.
        with table.snapshot() as still:
            for _ in range(TIMES):
                start = self.clock()
                still.matching([predicate])
                taken.append(self.clock() - start)
        return min(taken)


class InMemory(Asked):
    """Arrow tables."""

    def load(self, table: pa.Table) -> Table:
        return postri.open(table)


class InDuckDB(Asked):
    """A table of DuckDB, read by one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._connection = duckdb.connect(config={"threads": 1})

    def load(self, table: pa.Table) -> Table:
        self._connection.register("given", table)
        self._connection.execute("CREATE OR REPLACE TABLE cells AS SELECT * FROM given")
        return Table.from_duckdb(self._connection, "cells")


class InClickHouse(Asked):
    """A table of ClickHouse inside this process."""

    def load(self, table: pa.Table) -> Table:
        with TemporaryDirectory() as folder:
            put_in_clickhouse(table, "costs", Path(folder) / "costs.parquet")
        return Table.from_chdb(":memory:", "costs")


class InPostgres(Asked):
    """A table of PostgreSQL: by the time that the server's own process has used, where the system
    tells it.
    """

    def __init__(self, server: PostgresServer, connection: psycopg.Connection[Any]) -> None:
        super().__init__()
        self._server = server
        self._connection = connection
        connection.execute("SET max_parallel_workers_per_gather = 0")
        put_in_postgres(server, table_of(Row(), 0), "costs")
        self._table = Table.from_postgres(connection, "costs")
        self.clock = lambda: _time_of(connection.info.backend_pid)

    def load(self, table: pa.Table) -> Table:
        self._connection.execute("TRUNCATE costs")
        with self._connection.cursor() as cursor, cursor.copy("COPY costs FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
        return self._table


def _time_of(pid: int) -> float:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return time.perf_counter()


class InSpark:
    """A data frame of Spark, with a partition for each trial: by the time that the threads of its
    executor have used for each, which Spark itself keeps of every task.

    A job takes long whatever it does, so one of them asks all predicates: `CASE` evaluates on each
    row the one that it is for.
    """

    SETTINGS = {  # noqa: RUF012  # read alone
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_OF_TASK),
        "spark.sql.execution.arrow.localRelationThreshold": "0",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        # One job for a query, and nothing evaluated before it.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.optimizer.excludedRules": (
            "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
        ),
    }
    # How many characters of predicates one job may have, of the 10,000 that all may.
    CHARACTERS = 9_000
    # How many partitions, so that their rows find room in the test's JVM.
    PARTITIONS = sized(60, 15)

    def __init__(self, spark: Spark) -> None:
        self._spark = spark
        self._context = spark.session.sparkContext

    def costs(self, trials: Sequence[Trial]) -> list[float]:
        by_trial: dict[int, float] = {}
        for part in self._parts(trials):
            by_trial |= dict(zip(part, self._job([trials[i] for i in part]), strict=True))
        return [by_trial[i] for i in range(len(trials))]

    def slowness(self) -> float:
        """By the work of comparing two texts letter by letter, which no predicate does."""
        with self._spark.settings(self.SETTINGS):
            frame = self._frame([(0, Row())] * 2)
            query = f"SELECT sum(levenshtein(concat(t, '{'a' * 300}'), '{'b' * 300}')) FROM {{f}}"
            taken = []
            for _ in range(TIMES):
                self._spark.session.sql(query, f=frame).collect()
                taken += self._seconds_of_last_job(2)
        return max(1.0, median(taken) / ROWS_OF_TASK / COMPARING)

    def _parts(self, trials: Sequence[Trial]) -> Iterator[list[int]]:
        """The trials of each job."""
        part: list[int] = []
        texts: set[str] = set()
        for i, trial in enumerate(trials):
            length = sum(map(len, texts | {trial.predicate}))
            if part and (length > self.CHARACTERS or len(part) == self.PARTITIONS):
                yield part
                part, texts = [], set()
            part.append(i)
            texts.add(trial.predicate)
        yield part

    def _job(self, trials: Sequence[Trial]) -> list[float]:
        texts = list(dict.fromkeys(trial.predicate for trial in trials))
        cases = [f"WHEN k = {i} THEN {text}" for i, text in enumerate(texts)]
        every = Predicate.parse(f"CASE {' '.join(cases)} ELSE FALSE END")
        # With tasks that evaluate none of them, for what a task takes anyway.
        nothing = [(-1, Row())] * 3
        rows = [*nothing, *((texts.index(trial.predicate), trial.row) for trial in trials)]
        least: dict[int, float] = defaultdict(lambda: float("inf"))
        with self._spark.settings(self.SETTINGS):
            # It is rows that a program gave, made into a frame by way of Arrow.
            table = postri.open(self._frame(rows), vouched=True)
            for _ in range(TIMES):
                table.matching([every])
                for i, taken in enumerate(self._seconds_of_last_job(len(rows))):
                    least[i] = min(least[i], taken)
        task = min(least[i] for i in range(len(nothing)))
        return [max(least[i] - task, 0.0) / ROWS_OF_TASK for i in range(len(nothing), len(rows))]

    def _frame(self, rows: Sequence[tuple[int, Row]]) -> Any:
        cells = [
            {**row.numbered(number), "k": which}
            for which, row in rows
            for number in range(ROWS_OF_TASK)
        ]
        schema = SCHEMA.append(pa.field("k", pa.int64()))
        return self._spark.frame(pa.Table.from_pylist(cells, schema))

    def _seconds_of_last_job(self, partitions: int) -> list[float]:
        """What the task of each partition has used of a processor."""
        context = self._context._jsc.sc()
        context.listenerBus().waitUntilEmpty()
        store = context.statusStore()
        stages = store.jobsList(None).apply(0).stageIds()
        first = min(stages.apply(i) for i in range(stages.size()))
        tasks = store.taskList(first, 0, partitions)
        found = {}
        for i in range(tasks.size()):
            task = tasks.apply(i)
            found[task.partitionId()] = task.taskMetrics().get().executorCpuTime() / 1e9
        assert sorted(found) == list(range(partitions)), (sorted(found), partitions)
        return [found[i] for i in range(partitions)]


@contextmanager
def engine_of(name: str, fixture: Callable[[str], Any]) -> Iterator[Engine]:
    """The engine of this name; `fixture` hands over a service that it needs."""
    if name == "memory":
        yield InMemory()
    elif name == "DuckDB":
        yield InDuckDB()
    elif name == "ClickHouse":
        yield InClickHouse()
    elif name == "PostgreSQL":
        server: PostgresServer = fixture("postgres")
        with server.connect() as connection:
            yield InPostgres(server, connection)
    else:
        yield InSpark(fixture("spark"))
