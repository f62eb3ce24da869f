"""The ledger: the durable, append-only store of privacy spends."""

from __future__ import annotations

from postri.cost import Cost, bounded_range, pure_draw
from postri.ledger.accountants import ZCDP, Accountant, Pure
from postri.ledger.audit import verify
from postri.ledger.entry import Entry
from postri.ledger.head import Head
from postri.ledger.sqlite import SqliteLedger
from postri.ledger.store import (
    Account,
    Asking,
    DatasetUsage,
    Ledger,
    Limits,
    Past,
    Recorded,
    Request,
    Usage,
)
from postri.ledger.trail import export_csv

__all__ = [
    "ZCDP",
    "Account",
    "Accountant",
    "Asking",
    "Cost",
    "DatasetUsage",
    "Entry",
    "Head",
    "Ledger",
    "Limits",
    "Past",
    "Pure",
    "Recorded",
    "Request",
    "SqliteLedger",
    "Usage",
    "bounded_range",
    "export_csv",
    "pure_draw",
    "verify",
]
