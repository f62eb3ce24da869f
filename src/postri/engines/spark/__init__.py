"""Spark: a data frame that stays on its cluster. PySpark loads with `source.py`.

Spark has no transaction over a data frame: each scan reads what its sources hold by then. One
that shall not change between two scans is cached, or comes from a table format with versions.
"""

from __future__ import annotations

from typing import Any

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import EngineKind, PythonSource, Types, register


class SparkFrames(PythonSource):
    """Data frames of PySpark, classic or Connect."""

    def takes(self, source: Any) -> bool:
        """By its class, wherever that is defined."""
        kind = type(source)
        return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of a frame."""
        from postri.engines.spark.plan import doubts_of
        from postri.engines.spark.source import SparkSource
        from postri.engines.sql.engine import SqlEngine

        frame = SparkSource(source)
        return SqlEngine(frame, frame.types(), doubts=doubts_of(source))


register(EngineKind("spark", python_sources=(SparkFrames(),)))
