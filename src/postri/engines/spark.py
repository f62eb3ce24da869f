"""Spark: a data frame that stays on its cluster; only counts come to the driver. The only module that loads PySpark.

What Spark says when it fails may carry a cell, so its messages never leave this module. What cannot be silenced from here: the logs of
executors in processes of their own, and Spark's event log and web page, which show every query of a session to those who run it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postri.engines.dialects.spark import AMBIGUOUS, SparkDialect
from postri.errors import EngineError

FAILED = "Spark failed while it counted{}; the data may be damaged or have changed"
TALKATIVE = ("py4j.clientserver", "py4j.java_gateway")
TALKATIVE_SPARK = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_runs = count()


class SparkSource:
    """A Spark data frame of the user's. It is read where it is; nothing is created or changed."""

    dialect = SparkDialect()
    relation = "{source}"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        # Spark forgets what is cached of a frame when a query by its name ends: a frame of its own keeps the user's cached.
        self._source = frame.select("*")

    def types(self) -> dict[str, str]:
        """The names and declared types of the columns."""
        exact = self._frame.sparkSession.conf.get("spark.sql.caseSensitive", "false") == "true"
        times = Counter(name if exact else name.lower() for name, _ in self._frame.dtypes)
        return {name: AMBIGUOUS if times[name if exact else name.lower()] > 1 else declared for name, declared in self._frame.dtypes}

    def columns(self, query: str) -> list[NDArray[Any]]:
        """What a query returns. An interrupt cancels it in Spark too."""
        found: list[list[NDArray[Any]]] = []
        session, tag, condition = self._frame.sparkSession, f"postri-{next(_runs)}", [""]

        def work() -> None:
            try:
                session.addTag(tag)
                found.append(_collected(session.sql(query, source=self._source)))
            except Exception as error:
                condition[0] = _condition(error)

        with _silence(session), suppress(Exception):
            _run(work, session, tag)
        if not found:
            raise EngineError(FAILED.format(condition[0]))
        return found[0]

    def estimate(self) -> int:
        """A scan without columns: where Spark reads files, it needs no more than their sizes."""
        return int(self.columns(f"SELECT count(*) AS rows FROM {self.relation}")[0][0])

    def sampled(self, size: int, rows: int) -> str:
        """Rows from everywhere. Spark reads the column for that, but decodes nothing else: less than a second for 10 million rows."""
        return f"{self.relation} TABLESAMPLE ({min(100.0, 100 * size / rows):.9f} PERCENT) REPEATABLE (1) AS sampled"


def _run(work: Callable[[], None], session: Any, tag: str) -> None:
    """Work on a thread of its own: one that waits for Spark can tell it nothing, not even to stop."""
    from pyspark import InheritableThread

    thread = InheritableThread(work, session=session)
    thread.daemon = True
    thread.start()
    try:
        thread.join()
    except BaseException:
        # More than once, because the work may not have begun.
        for _ in range(50):
            if thread.is_alive():
                session.interruptTag(tag)
                thread.join(0.2)
        raise


def _collected(frame: Any) -> list[NDArray[Any]]:
    """The columns of a result, by Arrow where it is installed: ten times as fast."""
    if find_spec("pyarrow"):
        return [_machine(column.to_numpy()) for column in frame.toArrow().columns]
    rows = frame.collect()
    kinds = {"bigint": np.int64, "int": np.int64, "double": np.float64}
    return [_machine(np.array([row[i] for row in rows], kinds.get(kind, object))) for i, (_, kind) in enumerate(frame.dtypes)]


def _machine(column: NDArray[Any]) -> NDArray[Any]:
    """Decimals, which stand for whole numbers without a sign, as such."""
    return np.array([int(cell) for cell in column], np.uint64) if column.dtype == object else column


def _condition(error: Exception) -> str:
    """The class of a failure, where Spark knows it: such a one has an SQLSTATE."""
    with suppress(Exception):
        if getattr(error, "getSqlState", lambda: None)():
            return f" ({error.getCondition()})"  # type: ignore[attr-defined]  # PySpark's errors alone have an SQLSTATE
    return ""


@contextmanager
def _silence(session: Any) -> Iterator[None]:
    """Nothing is logged in this process or in Spark's driver, until the query ends."""
    from pyspark.logger import PySparkLogger

    loggers = [logging.getLogger(name) for name in TALKATIVE] + [PySparkLogger.getLogger(name) for name in TALKATIVE_SPARK]
    denied, configuration, unheard = _Nothing(), None, None
    for logger in loggers:
        logger.addFilter(denied)
    # A session on another machine has no driver here, and a driver may log by other means than Log4j.
    with suppress(Exception):
        log4j = session._jvm.org.apache.logging.log4j
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


class _Nothing(logging.Filter):
    """A filter that lets nothing pass; each query has its own, so that it takes back its own."""

    def filter(self, record: logging.LogRecord) -> bool:
        return False
