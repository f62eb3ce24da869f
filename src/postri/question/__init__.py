"""A question on its way: as it was put, then checked and in normal form, then bound to a table.

A module is loaded when a name of it is first asked for: most questions have no price and no words
of a service.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from postri.question.bound import BoundQuestion
    from postri.question.checking import plain_question
    from postri.question.dataset import Computed, KnownColumn, KnownDataset
    from postri.question.normal_form import DatasetQuestion, dataset_question
    from postri.question.price import Price, added, price_of
    from postri.question.question import Question
    from postri.question.wording import Wording, read_wording

_HOMES = {
    "postri.question.bound": ("BoundQuestion",),
    "postri.question.dataset": ("Computed", "KnownColumn", "KnownDataset"),
    "postri.question.normal_form": ("DatasetQuestion", "dataset_question"),
    "postri.question.checking": ("plain_question",),
    "postri.question.price": ("Price", "added", "price_of"),
    "postri.question.question": ("Question",),
    "postri.question.wording": ("Wording", "read_wording"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BoundQuestion",
    "Computed",
    "DatasetQuestion",
    "KnownColumn",
    "KnownDataset",
    "Price",
    "Question",
    "Wording",
    "added",
    "dataset_question",
    "plain_question",
    "price_of",
    "read_wording",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
