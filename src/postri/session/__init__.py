"""Sessions: questions to a policy's datasets, paid for from its ledger."""

from postri.question import Price
from postri.session.budget import Budget, DatasetBudget
from postri.session.desk import PastAnswer
from postri.session.facts import ColumnFacts, DatasetFacts
from postri.session.session import Session, connect

__all__ = [
    "Budget",
    "ColumnFacts",
    "DatasetBudget",
    "DatasetFacts",
    "PastAnswer",
    "Price",
    "Session",
    "connect",
]
