"""A question on its way: as it was put, then checked and in normal form, then bound to a table."""

from postri.question.dataset import Computed, KnownColumn, KnownDataset
from postri.question.price import Price, added, price_of
from postri.question.question import (
    BoundQuestion,
    DatasetQuestion,
    Question,
    dataset_question,
    plain_question,
)
from postri.question.wording import Wording, read_wording

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
