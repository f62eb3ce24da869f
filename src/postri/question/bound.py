"""A question that is bound to a table: it counts everything, then draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from postri.answer import Answer
from postri.answer.lazy import LazySequence
from postri.columns import ColumnType
from postri.engines.progress import check_cancelled
from postri.engines.rows import Selection
from postri.engines.table import Table
from postri.question.population import CellWords, about
from postri.statistics.statistic import Batch

if TYPE_CHECKING:
    from postri.question.question import Question


@dataclass(frozen=True)
class BoundBatch:
    """What is counted together, the rows that it is counted of, and the places of its answers among
    all of a group.
    """

    places: Sequence[int]
    batch: Batch
    rows: Selection


@dataclass(frozen=True)
class ColumnBinding:
    """What is public of a plain question that fits a column of this name and declared type."""

    column: str | None
    declared: ColumnType
    batches: Sequence[BoundBatch]
    cells: Sequence[CellWords]
    texts: int | None

    def fits(self, column: str | None, declared: ColumnType) -> bool:
        """Whether it is a column of this name and type."""
        known = self.declared
        same = known is declared or (known == declared and known.complete == declared.complete)
        # A data frame may have numbers for names, and 1 is True.
        return same and column == self.column and type(column) is type(self.column)


@dataclass(frozen=True)
class DrawnAnswers:
    """The answers of each group in the order of the draws, and the question that they answer, with
    the keys that were found for it.
    """

    question: Question
    answers: Sequence[Sequence[Answer]]

    @property
    def rows(self) -> Sequence[tuple[tuple[Any, ...], list[Answer]]]:
        """The same as rows in the order in which they were asked for."""
        return self.question.arranged(self.answers)


@dataclass(frozen=True)
class BoundQuestion:
    """A question that fits its table: from here on, cells are touched.

    `rows` are those that count for all batches.
    """

    question: Question
    table: Table
    rows: Selection
    batches: Sequence[BoundBatch]
    cells: Sequence[CellWords]
    texts: int | None

    def answers(self) -> list[list[Answer]]:
        """Count everything, then draw: for each group the answers, in the order of the draws."""
        return [list(group) for group in self.drawn().answers]

    def drawn(self) -> DrawnAnswers:
        """The same, of which nothing is made that nobody looks at.

        All counts see the same rows, and so do those that a draw asks for later.
        """
        with self.table.snapshot() as table:
            found = self.question.found_keys(table)
            if found is None:
                return self._drawn(table, [{}] * self.rows.number)
            if not found.keys:
                return DrawnAnswers(self.question, [])
            known = self.question.with_found(found.keys)
            return known.bound_again(table)._drawn(table, known.decided(found))

    def _drawn(self, table: Table, begun: Sequence[Mapping[int, Answer]]) -> DrawnAnswers:
        """The answers of each group, some of which are drawn already."""
        groups: list[dict[int, Answer]] = [{} for _ in range(len(begun))]
        for each, counts in zip(self.batches, self._counted(table), strict=True):
            drawn_groups = each.batch.draw_groups(counts, self.question.coins)
            for group, drawn in zip(groups, drawn_groups, strict=True):
                # Draws of many groups take their time too.
                check_cancelled()
                group.update(zip(each.places, drawn, strict=True))
        order = range(len(self.cells))

        def in_order(place: int) -> list[Answer]:
            of_group = {**begun[place], **groups[place]}
            return [of_group[each] for each in order]

        answers = LazySequence(len(groups), in_order)
        return DrawnAnswers(self.question, about(self.question, answers, self.cells, self.texts))

    def _counted(self, table: Table) -> list[Sequence[Any]]:
        """What is counted for each batch. In which order does not show: what others may count in
        passing comes last.
        """
        if len(self.batches) == 1:
            return [each.batch.count(table, each.rows) for each in self.batches]
        for each in self.batches:
            each.batch.announce(table, each.rows)
        places = range(len(self.batches))
        counted: dict[int, Sequence[Any]] = {}
        for place in sorted(places, key=lambda place: self.batches[place].batch.in_passing):
            each = self.batches[place]
            counted[place] = each.batch.count(table, each.rows)
        return [counted[place] for place in places]
