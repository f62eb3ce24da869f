"""The ledger: the durable, append-only store of privacy spends."""

from __future__ import annotations

from postri.cost import Cost, bounded_range, gaussian_draw, pure_draw
from postri.ledger.accountants import ZCDP, Accountant, Pure
from postri.ledger.audit import verify
from postri.ledger.charges import Attempt, Charge, Limits, People, check_retry
from postri.ledger.entries import Entry
from postri.ledger.head import Head
from postri.ledger.opening import Place, copy_ledger, is_database, open_ledger
from postri.ledger.sqlite import SqliteLedger
from postri.ledger.store import (
    Account,
    AskedQuestion,
    DatasetUsage,
    Ledger,
    Recorded,
    Reservation,
    Unanswered,
    Usage,
    View,
)
from postri.ledger.stored import StoredLedger
from postri.ledger.trail import export_csv

__all__ = [
    "ZCDP",
    "Account",
    "Accountant",
    "AskedQuestion",
    "Attempt",
    "Charge",
    "Cost",
    "DatasetUsage",
    "Entry",
    "Head",
    "Ledger",
    "Limits",
    "People",
    "Place",
    "Pure",
    "Recorded",
    "Reservation",
    "SqliteLedger",
    "StoredLedger",
    "Unanswered",
    "Usage",
    "View",
    "bounded_range",
    "check_retry",
    "copy_ledger",
    "export_csv",
    "gaussian_draw",
    "is_database",
    "open_ledger",
    "pure_draw",
    "verify",
]
