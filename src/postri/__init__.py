"""Private medians and quantiles, each with an error bar that you can trust.

An answer is a released value plus an interval, both drawn from the rank counts of one column.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postri import agg, by
    from postri.answer import Answer, Answers, Interval, Plan, Result
    from postri.api import (
        ask,
        count,
        distribution,
        histogram,
        iqr,
        mean,
        median,
        mode,
        open,
        plan,
        quantile,
        quantiles,
        share,
        std,
        sum,
        top_k,
        trimmed_mean,
        variance,
        winsorized_mean,
    )
    from postri.domain import Domain
    from postri.engines.table import Table
    from postri.errors import (
        BudgetExceeded,
        DatasetClosed,
        EngineError,
        InputError,
        LedgerError,
        PolicyError,
        PostriError,
        QuestionFailed,
        QuestionsExceeded,
        RetryKeyUsed,
        ServiceError,
        SourceChanged,
        SourceError,
        TermsRefused,
    )
    from postri.mechanisms.coins import SeededCoins, SystemCoins
    from postri.methods import Depth, PostRI, PostRISVT, Sun2023, Sun2023SVT, Tree
    from postri.privacy import AddOrRemoveRows, AddOrRemoveUnits, ReplaceRows, ReplaceUnits, Spend
    from postri.session import Budget, Price, QuestionPlan, Session, connect
    from postri.tree.distribution import Distribution

__version__ = "0.1.0"

_HOMES = {
    "postri.answer": ("Answer", "Answers", "Interval", "Plan", "Result"),
    "postri.api": (
        "ask",
        "count",
        "distribution",
        "histogram",
        "iqr",
        "mean",
        "median",
        "mode",
        "open",
        "plan",
        "quantile",
        "quantiles",
        "share",
        "std",
        "sum",
        "top_k",
        "trimmed_mean",
        "variance",
        "winsorized_mean",
    ),
    "postri.tree.distribution": ("Distribution",),
    "postri.domain": ("Domain",),
    "postri.engines.table": ("Table",),
    "postri.errors": (
        "BudgetExceeded",
        "DatasetClosed",
        "EngineError",
        "InputError",
        "LedgerError",
        "PolicyError",
        "PostriError",
        "QuestionFailed",
        "QuestionsExceeded",
        "RetryKeyUsed",
        "ServiceError",
        "SourceChanged",
        "SourceError",
        "TermsRefused",
    ),
    "postri.methods": ("Depth", "PostRI", "PostRISVT", "Sun2023", "Sun2023SVT", "Tree"),
    "postri.mechanisms.coins": ("SeededCoins", "SystemCoins"),
    "postri.privacy": (
        "AddOrRemoveRows",
        "AddOrRemoveUnits",
        "ReplaceRows",
        "ReplaceUnits",
        "Spend",
    ),
    "postri.session": ("Budget", "Price", "QuestionPlan", "Session", "connect"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AddOrRemoveRows",
    "AddOrRemoveUnits",
    "Answer",
    "Answers",
    "Budget",
    "BudgetExceeded",
    "DatasetClosed",
    "Depth",
    "Distribution",
    "Domain",
    "EngineError",
    "InputError",
    "Interval",
    "LedgerError",
    "Plan",
    "PolicyError",
    "PostRI",
    "PostRISVT",
    "PostriError",
    "Price",
    "QuestionFailed",
    "QuestionPlan",
    "QuestionsExceeded",
    "ReplaceRows",
    "ReplaceUnits",
    "Result",
    "RetryKeyUsed",
    "SeededCoins",
    "ServiceError",
    "Session",
    "SourceChanged",
    "SourceError",
    "Spend",
    "Sun2023",
    "Sun2023SVT",
    "SystemCoins",
    "Table",
    "TermsRefused",
    "Tree",
    "__version__",
    "agg",
    "ask",
    "by",
    "connect",
    "count",
    "distribution",
    "histogram",
    "iqr",
    "mean",
    "median",
    "mode",
    "open",
    "plan",
    "quantile",
    "quantiles",
    "share",
    "std",
    "sum",
    "top_k",
    "trimmed_mean",
    "variance",
    "winsorized_mean",
]


def __getattr__(name: str) -> Any:
    """Public names load their module when they are first used: the command line's help needs none
    of them.
    """
    if name in ("agg", "by"):
        return import_module(f"postri.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'postri' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
