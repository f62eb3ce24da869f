"""The sessions of Spark that a policy's sources share: one for each URL, opened when it is needed.

A session is apart from those of the program: what is set for it, and the views that others make,
concern nobody else. What Spark says when it fails may carry a token, so it stays in this module.
"""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable
from threading import Lock
from typing import Any

from postri.engines.spark import host_and_port, master_of
from postri.errors import InputError, SourceError, missing_extra

# Spark's web page shows how many rows each step of a query passed on, to whoever can reach it, and
# its progress bar writes over the answers of a command.
STARTED_WITH = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Otherwise Spark may be told to fail on dates of old calendars: on a cell.
NEVER_FAILING = {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
PROBE = "spark.sql.session.timeZone"
# Spark Connect itself tries for ten minutes to reach a server that is not there.
SECONDS_TO_REACH = 10

_sessions: dict[str, Any] = {}
_opening = Lock()


def session_of(source: str) -> Any:
    """The session of a URL: the one that is open, or a new one where a server has forgotten it."""
    with _opening:
        if master_of(source) is None:
            _check_reachable(source)
        session = _sessions.get(source)
        if session is None or not _is_alive(session):
            session = _opened(source)
            _sessions[source] = session
    return session


def _check_reachable(source: str) -> None:
    host, port = host_and_port(source)
    try:
        socket.create_connection((host, port), timeout=SECONDS_TO_REACH).close()
    except OSError:
        raise SourceError(
            f"cannot reach Spark Connect at {host}:{port}; check host and port"
        ) from None


def _is_alive(session: Any) -> bool:
    try:
        session.conf.get(PROBE)
    except Exception:
        return False
    return True


def _opened(source: str) -> Any:
    master = master_of(source)
    if master is None:
        session = _quietly(
            lambda: _connected(source),
            missing_extra("Spark Connect", "grpcio", "spark-connect"),
            "Spark Connect refuses a session; check its token and its version",
        )
    else:
        session = _quietly(
            lambda: _started(master),
            missing_extra("The Spark engine", "pyspark", "spark"),
            "cannot start Spark; it needs Java 17 or newer, and a master that can be reached",
        )
    return session


def _quietly(open_session: Callable[[], Any], missing: Exception, failure: str) -> Any:
    error: Exception = SourceError(failure)
    try:
        # PySpark warns of what it imports, such as a pandas that is newer than itself.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = open_session()
        for name, value in NEVER_FAILING.items():
            session.conf.set(name, value)
        return session
    except InputError as refusal:
        error = refusal
    except ImportError:
        error = missing
    except Exception:
        pass
    # Raised outside that block, so that the message stays out of the chain.
    raise error


def _connected(source: str) -> Any:
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote(source).create()


def _started(master: str) -> Any:
    """A session of the Spark that this process has, or of the one that it starts: it has one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    running = SparkContext._active_spark_context
    if running is None:
        builder = builder.master(master).appName("postri")
        for name, value in STARTED_WITH.items():
            builder = builder.config(name, value)
    elif running.master != master:
        raise InputError(
            f"a process has one Spark, and this one has {running.master} already, so {master} "
            "cannot be started; give all datasets the same URL, or use Spark Connect"
        )
    return builder.getOrCreate().newSession()
