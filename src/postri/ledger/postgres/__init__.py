"""A ledger in a PostgreSQL database: for services on several machines."""

from __future__ import annotations

from postri.ledger.postgres.ledger import PostgresLedger
from postri.ledger.postgres.making import init_heads, init_ledger
from postri.ledger.postgres.schema import HEADS_SCHEMA, SCHEMA, grants

__all__ = ["HEADS_SCHEMA", "SCHEMA", "PostgresLedger", "grants", "init_heads", "init_ledger"]
