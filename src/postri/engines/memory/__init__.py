"""Memory: lists, NumPy arrays, and columns or tables that speak the Arrow PyCapsule protocol.

Nothing is copied or locked: who changes an array while a question is asked changes the rows that
its next count sees.
"""

from __future__ import annotations

from typing import Any

from postri.engines.csv_format import CsvFormat
from postri.engines.engine import Engine
from postri.engines.resolve import EngineKind, PythonSource, Types, register


class Objects(PythonSource):
    """A column, or a table of columns by their names."""

    accepted = (
        "a list, a NumPy array, a pandas, Polars or Arrow column or table, a dictionary of columns"
    )

    def takes(self, source: Any) -> bool:
        """Whatever nobody else takes."""
        return True

    def open(self, source: Any, types: Types, csv: CsvFormat) -> Engine:
        """The engine of its columns."""
        from postri.engines.memory.source import memory_engine

        return memory_engine(source, types)


register(EngineKind("memory", python_sources=(Objects(),)))
