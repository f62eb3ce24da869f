"""SQL: a text becomes the session's question, and a plan for its answers."""

from postri.sql.reader import located, read_sql
from postri.sql.statement import Statement

__all__ = ["Statement", "located", "read_sql"]
