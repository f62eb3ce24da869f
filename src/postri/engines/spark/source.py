"""Spark: a data frame that stays on its cluster; only counts come to the driver.

With `connection.py`, the only module that loads PySpark.

What Spark says when it fails may carry a cell, so its messages never leave this module. What cannot
be silenced from here: the logs of executors and of drivers in processes of their own, and Spark's
event log and web page, which show every query of a session to those who run it.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from itertools import count
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.progress import cancellable, interruptibly
from postri.engines.spark.dialect import AMBIGUOUS, SparkDialect
from postri.engines.sql.sampling import Sample
from postri.engines.sql.statements import grouped
from postri.errors import EngineError

FAILED = "Spark failed while it counted; the data may be damaged or have changed"
TALKATIVE = ("py4j.clientserver", "py4j.java_gateway")
TALKATIVE_SPARK = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
TALKATIVE_CONNECT = ("pyspark.sql.connect.logging",)
# How many rows a sample has at least, and how many of each group. It has about a quarter of
# `rows^(2/3)`, where what it takes and what the cells inside its bracket take grow alike.
LEAST_SAMPLE = 1 << 12
SAMPLE_OF_GROUP = 1 << 9
NUMBERS = count()

NUMBER_OF_ROWS = "SELECT count(*) AS rows FROM {relation}"
SAMPLED_ROWS = "{relation} TABLESAMPLE ({percent:.9f} PERCENT) REPEATABLE (1) AS sampled"


class SparkSource:
    """A Spark data frame of the user's. It is read where it is; nothing is created or changed."""

    dialect = SparkDialect()
    statement = staticmethod(grouped)
    relation = "{source}"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        # A query sees the frame as a view, and when that goes, Spark forgets what is cached of it:
        # so it is a view of another frame.
        another = f"postri-{_number()}"
        self._source = frame.selectExpr("*", f"'{another}' AS `{another}`")

    def snapshot(self) -> AbstractContextManager[SparkSource]:
        """The frame itself: Spark has no transaction that holds its sources still."""
        return nullcontext(self)

    def types(self) -> dict[str, str]:
        """The names and declared types of the columns."""
        conf = self._frame.sparkSession.conf
        by_case = conf.get("spark.sql.caseSensitive", "false") == "true"
        same = str if by_case else str.lower
        times = Counter(same(name) for name, _ in self._frame.dtypes)
        types = {}
        for name, declared in self._frame.dtypes:
            types[name] = AMBIGUOUS if times[same(name)] > 1 else declared
        return types

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns. An interrupt cancels it in Spark too."""
        session = self._frame.sparkSession
        found: list[list[NDArray[Any]]] = []

        def work() -> None:
            with suppress(Exception):
                found.append(_collected(session.sql(query, source=self._source)))

        job = _Job(session)
        with cancellable(job.cancel):
            with _silence(), suppress(Exception):
                job.run(work)
            if not found:
                raise EngineError(FAILED)
        return found[0]

    def estimate(self) -> int:
        """A scan without columns: where Spark reads files, it needs no more than their sizes."""
        return int(self.columns(NUMBER_OF_ROWS.format(relation=self.relation))[0][0])

    def samples(self, rows: int, groups: int) -> Iterator[Sample]:
        """Rows from everywhere.

        Spark reads the column for that, but decodes nothing else: less than a second for 10 million
        rows.
        """
        wanted = max(LEAST_SAMPLE, SAMPLE_OF_GROUP * groups, rows ** (2 / 3) / 4)
        share = min(1.0, wanted / rows)
        yield Sample(SAMPLED_ROWS.format(relation=self.relation, percent=100 * share), share)


def _number() -> str:
    """One that no other frame or job of this program has, nor of another program beside it."""
    return f"{os.getpid()}-{next(NUMBERS)}"


class _Job:
    """Work on a thread of its own: one that waits for Spark cannot even tell it to stop."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._tag = f"postri-{_number()}"
        self._mark, self._cancel = _marks(session)

    def cancel(self) -> None:
        """Stop what runs of it in Spark."""
        with suppress(Exception):
            self._cancel(self._tag)

    def run(self, work: Callable[[], None]) -> None:
        """Do the work. An interrupt cancels it."""

        def marked() -> None:
            self._mark(self._tag)
            work()

        def started(marked_work: Callable[[], None]) -> None:
            thread = _thread(self._session, marked_work)
            thread.daemon = True
            thread.start()

        interruptibly(marked, self.cancel, started)


def _thread(session: Any, work: Callable[[], None]) -> Thread:
    """A thread that has what the user has set for this one, such as tags.

    PySpark's own kind looks after one sort of sessions only, and the process may have both.
    """
    from pyspark import InheritableThread

    if _context_of(session) is not None:
        return InheritableThread(work, session=session)
    tags = session.getTags()

    def tagged() -> None:
        for tag in tags:
            session.addTag(tag)
        work()

    return Thread(target=tagged)


def _context_of(session: Any) -> Any | None:
    """What a session runs in; one of Connect has none."""
    return getattr(session, "sparkContext", None)


def _marks(session: Any) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """How to mark what a thread runs, and how to cancel it from another.

    Without Connect, a session's tags are those of one thread.
    """
    context = _context_of(session)
    if context is None:
        return session.addTag, session.interruptTag
    return context.addJobTag, context.cancelJobsWithTag


def _collected(frame: Any) -> list[NDArray[Any]]:
    """The columns of a result, by Arrow where it is installed: ten times as fast."""
    if find_spec("pyarrow"):
        columns = [column.to_numpy() for column in frame.toArrow().columns]
    else:
        rows = frame.collect()
        kinds = {"bigint": np.int64, "int": np.int64, "double": np.float64}
        columns = [
            np.array([row[i] for row in rows], kinds.get(kind, object))
            for i, (_, kind) in enumerate(frame.dtypes)
        ]
    texts = [kind == "string" for _, kind in frame.dtypes]
    return [
        column if is_text else _machine(column)
        for column, is_text in zip(columns, texts, strict=True)
    ]


def _machine(column: NDArray[Any]) -> NDArray[Any]:
    """Decimals, which stand for whole numbers without a sign, as such."""
    if column.dtype == object:
        return np.array([int(cell) for cell in column], np.uint64)
    return column


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is logged in this process or in a driver that it started, until the query ends.

    Spark's progress bar is no log: it stays.
    """
    denied = _Nothing()
    loggers = _loggers()
    configuration = None
    unheard = None
    for logger in loggers:
        logger.addFilter(denied)
    # A session on another machine has no driver here, and a driver may log by other means than
    # Log4j.
    with suppress(Exception):
        from pyspark import SparkContext

        log4j = SparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # where it is None, there is nothing to silence
        unheard = log4j.core.filter.DenyAllFilter.newBuilder().build()
        configuration = log4j.LogManager.getContext(False).getConfiguration()
        configuration.addFilter(unheard)
    try:
        yield
    finally:
        with suppress(Exception):
            if configuration is not None:
                configuration.removeFilter(unheard)
        for logger in loggers:
            logger.removeFilter(denied)


def _loggers() -> list[logging.Logger]:
    """The loggers that print what Spark says. The one of Connect is for Connect to create."""
    from pyspark.logger import PySparkLogger

    connect = [name for name in TALKATIVE_CONNECT if name in sys.modules]
    return [logging.getLogger(name) for name in TALKATIVE] + [
        PySparkLogger.getLogger(name) for name in (*TALKATIVE_SPARK, *connect)
    ]


class _Nothing(logging.Filter):
    """A filter that lets nothing pass; each query has its own, so that it takes back its own."""

    def filter(self, record: logging.LogRecord) -> bool:
        return False
