"""A stand-in: to be replaced by `from postri.statistics.registry import described`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class ParameterFields(TypedDict):
    """A parameter of a statistic, from which a form can be built.

    A column that `fits` is of any type, of one that has an order, or a number with bounds.
    """

    name: str
    kind: Literal["column", "share", "number", "text"]
    fits: NotRequired[Literal["any", "ordered", "bounded"]]
    optional: NotRequired[bool]
    meaning: NotRequired[str]
    default: NotRequired[str]


class StatisticFields(TypedDict):
    """A statistic: `text` and `sql` are the forms of its aggregate, with parameters in braces."""

    name: str
    meaning: str
    parameters: list[ParameterFields]
    text: str
    sql: str | None
    sql_without_column: NotRequired[str]
    words: NotRequired[str]


def described() -> list[StatisticFields]:
    """The statistics that can be asked, in the order in which a reader should meet them."""
    return [
        {
            "name": "median",
            "meaning": "The value in the middle: half of the rows lie below it.",
            "parameters": [
                {"name": "column", "kind": "column", "fits": "ordered", "optional": False}
            ],
            "text": "median({column})",
            "sql": "MEDIAN({column})",
            "words": "median",
        },
        {
            "name": "quantile",
            "meaning": (
                "The value below which a share p of the rows lies: p = 0.9 is the 90th percentile."
            ),
            "parameters": [
                {"name": "column", "kind": "column", "fits": "ordered", "optional": False},
                {
                    "name": "p",
                    "kind": "share",
                    "meaning": "Quantile p, between 0 and 1",
                    "default": "0.9",
                },
            ],
            "text": "quantile({column}, {p})",
            "sql": "QUANTILE_CONT({column}, {p})",
            "words": "quantile",
        },
        {
            "name": "count",
            "meaning": "How many rows there are, or in how many of them a column has a value.",
            "parameters": [{"name": "column", "kind": "column", "fits": "any", "optional": True}],
            "text": "count({column})",
            "sql": "COUNT({column})",
            "sql_without_column": "COUNT(*)",
            "words": "count",
        },
        {
            "name": "sum",
            "meaning": "All values added up; each is clamped to the column's bounds.",
            "parameters": [
                {"name": "column", "kind": "column", "fits": "bounded", "optional": False}
            ],
            "text": "sum({column})",
            "sql": "SUM({column})",
            "words": "sum",
        },
        {
            "name": "mean",
            "meaning": "The average; each value is clamped to the column's bounds.",
            "parameters": [
                {"name": "column", "kind": "column", "fits": "bounded", "optional": False}
            ],
            "text": "mean({column})",
            "sql": "AVG({column})",
            "words": "mean",
        },
    ]
