"""Questions that are answered from the same counts: what is counted for them, and what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postri.agg import Aggregate, Mean
from postri.answer import Answer
from postri.engines.rows import Selection
from postri.engines.table import Table
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.method import QuantileTerms
from postri.statistics.count import Ask, count_answer
from postri.statistics.mean import mean_answer
from postri.statistics.quantile import Terms, quantile_answers
from postri.statistics.sum import sum_answer
from postri.window import Target, Total, Windows, with_lowest


class Sheet(Protocol):
    """Questions that are answered from the same counts, and their places among all that were asked."""

    @property
    def places(self) -> list[int]:
        """Their places."""

    def count(self, table: Table, rows: Selection) -> Sequence[Any]:
        """What is counted for each group."""

    def draw(self, counted: Any, coins: Coins) -> list[Answer]:
        """The answers for one group."""


@dataclass(frozen=True)
class QuantileSheet:
    """Quantiles of one column on one domain."""

    places: list[int]
    column: str | None
    terms: Terms
    questions: list[QuantileTerms]

    def count(self, table: Table, rows: Selection) -> list[list[Windows]]:
        """Their windows."""
        targets = [
            Target(question.p, self.terms.method.half(question, self.terms.grid))
            for question in self.questions
        ]
        groups = table.grouped_windows(self.column, self.terms.grid, targets, rows)
        if not self.terms.method.every_row:
            return groups
        lowest = self.terms.grid.first
        sizes = table.sizes(None, rows)
        return [
            [
                with_lowest(each, target, rows=size, lowest=lowest)
                for each, target in zip(windows, targets, strict=True)
            ]
            for windows, size in zip(groups, sizes, strict=True)
        ]

    def draw(self, counted: list[Windows], coins: Coins) -> list[Answer]:
        """Values and intervals, one after the other."""
        return quantile_answers(self.questions, counted, self.terms, coins)


@dataclass(frozen=True)
class TotalSheet:
    """Sums and means of one column on one domain."""

    places: list[int]
    column: str | None
    grid: Grid
    wanted: list[tuple[Aggregate, Ask]]

    def count(self, table: Table, rows: Selection) -> list[Total]:
        """How many cells count, and their sum."""
        return table.totals(self.column, self.grid, rows)

    def draw(self, counted: Total, coins: Coins) -> list[Answer]:
        """Each with noise of its own."""
        return [
            (mean_answer if isinstance(aggregate, Mean) else sum_answer)(
                counted.n, counted.indexes, self.grid, ask, coins
            )
            for aggregate, ask in self.wanted
        ]


@dataclass(frozen=True)
class SizeSheet:
    """Numbers of rows."""

    places: list[int]
    column: str | None
    asks: list[Ask]

    def count(self, table: Table, rows: Selection) -> list[int]:
        """How many there are."""
        return table.sizes(self.column, rows)

    def draw(self, counted: int, coins: Coins) -> list[Answer]:
        """Each with noise of its own."""
        return [count_answer(counted, ask, coins) for ask in self.asks]
