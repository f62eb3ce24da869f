"""Tables that can count: at the top what all engines share, below it a folder for each kind.

Each folder registers what it takes (`resolve.py`), without loading its library. A source is offered
to the kinds in this order; memory takes what nobody else does.
"""

from postri.engines import spark  # noqa: I001  # the order in which the kinds are asked
from postri.engines import delta
from postri.engines import clickhouse
from postri.engines import postgres
from postri.engines import duckdb
from postri.engines import memory

__all__ = ["clickhouse", "delta", "duckdb", "memory", "postgres", "spark"]
