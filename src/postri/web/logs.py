"""Logs: one JSON object a line on standard error.

Nothing of a table can be told by them: no cell, no window, no text of a question, no token, and no
duration. What other libraries log is kept by its level and the name of its logger alone, for its
words may hold anything.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

LOGGER = logging.getLogger("postri.web")
FIELDS = "postri_fields"


class OneLine(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The fields of our own records; of others, only whose they are."""
        fields = getattr(record, FIELDS, None)
        if record.name != LOGGER.name or not isinstance(fields, dict):
            fields = {"event": "library", "logger": record.name}
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return json.dumps({"time": time, "level": record.levelname.lower(), **fields})


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """One line."""
    LOGGER.log(level, event, extra={FIELDS: {"event": event, **fields}})


def log_failure(error: BaseException, **fields: Any) -> None:
    """That something unforeseen happened: the kind of error and the line of code, never its
    message.
    """
    log(
        "error",
        logging.ERROR,
        error=type(error).__name__,
        where=_where(error.__traceback__),
        **fields,
    )


def configure() -> None:
    """Everything that is logged in this process, by whatever library, goes through here; and what
    would print a traceback too.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    LOGGER.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    threading.excepthook = lambda unforeseen: log_failure(unforeseen.exc_value or SystemExit())
    sys.unraisablehook = lambda unforeseen: log_failure(unforeseen.exc_value or SystemExit())


def _where(trace: TracebackType | None) -> str | None:
    """The innermost line of ours."""
    found = None
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("postri."):
            found = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
