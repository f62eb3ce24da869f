"""An engine that lies in another process: each call goes there and comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from postri.columns import ColumnType
from postri.engines.engine import Engine, UsualRange
from postri.engines.process.pool import Worker, Workers
from postri.engines.resolve import PolicySource
from postri.engines.rows import EVERY_ROW, KeySizes, Selection
from postri.engines.staying import Staying, connections_stay
from postri.engines.stretches import Stretches
from postri.errors import PostriError
from postri.expressions import Bound, Value
from postri.grid import Grid
from postri.window import (
    Ends,
    Indexes,
    MiddleTotal,
    PointCounts,
    RankWindow,
    SquareTotal,
    Target,
    Total,
)


class ProcessEngine:
    """A table that a worker counts, by the number that it has there.

    It lives as long as the question for which the worker was taken.
    """

    def __init__(
        self, worker: Worker, number: int, names: Sequence[str] | None, doubts: Sequence[str]
    ) -> None:
        self._worker = worker
        self._number = number
        self._names = names
        self._doubts = doubts
        self._types: dict[str | None, ColumnType] = {}

    @classmethod
    def opened(cls, worker: Worker, kind: str, given: Sequence[Any]) -> ProcessEngine:
        """The engine of a source, by the name of its kind and what is needed to open it."""
        number = worker.next_number()
        names, doubts = worker.call("open", number, kind, *given)
        return cls(worker, number, names, doubts)

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the columns."""
        return self._names

    @property
    def doubts(self) -> Sequence[str]:
        """Why a row could make it fail, by its catalogue."""
        return self._doubts

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column, asked for once."""
        if column not in self._types:
            self._types[column] = self._ask("type_of", column)
        return self._types[column]

    def with_max_text(self, max_text: int) -> ProcessEngine:
        """The same table, whose texts of more characters cannot be read."""
        return self._another(self._worker.before, "with_max_text", max_text)

    def computed(self, columns: Mapping[str, Value]) -> ProcessEngine:
        """The same table, which can also be asked about these columns."""
        # What is wrong with them is told here, before anything is paid for.
        return self._another(self._worker.call, "computed", dict(columns))

    @contextmanager
    def snapshot(self) -> Iterator[ProcessEngine]:
        """The same table, held still in the worker while the block lasts: from the first question
        in it on.
        """
        still = self._another(self._worker.before, "begin")
        try:
            yield still
        finally:
            # A worker that is gone holds nothing any more.
            with suppress(PostriError):
                self._worker.post("end", still._number)

    def windows(
        self, column: str | None, grid: Grid, targets: Sequence[Target], rows: Selection = EVERY_ROW
    ) -> list[list[RankWindow]]:
        """For each group the window of each target."""
        found: list[list[RankWindow]] = self._ask("windows", column, grid, list(targets), rows)
        return found

    def check_indexed(self, column: str | None, grid: Grid) -> None:
        """Refuse a grid on which cells cannot be given their indexes there."""
        self._ask("check_indexed", column, grid)

    def totals(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> list[Total]:
        """For each group how many cells count, and the sum of their indexes."""
        found: list[Total] = self._ask("totals", column, grid, rows)
        return found

    def square_totals(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> list[SquareTotal]:
        """For each group how many cells count, the sum of their places, and of the squares."""
        found: list[SquareTotal] = self._ask("square_totals", column, grid, rows)
        return found

    def middle_totals(
        self, column: str | None, grid: Grid, ends: Sequence[Ends], rows: Selection = EVERY_ROW
    ) -> list[MiddleTotal]:
        """For each group how many cells lie below, above and between two ends of its own."""
        found: list[MiddleTotal] = self._ask("middle_totals", column, grid, list(ends), rows)
        return found

    def counts_below(
        self, column: str | None, grid: Grid, points: Indexes, rows: Selection = EVERY_ROW
    ) -> list[PointCounts]:
        """For each group how many cells lie below each of these grid points."""
        found: list[PointCounts] = self._ask("counts_below", column, grid, points, rows)
        return found

    def usual_range(
        self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW
    ) -> UsualRange | None:
        """Between which grid points nearly all cells lie."""
        found: UsualRange | None = self._ask("usual_range", column, grid, rows)
        return found

    def most_parts(self, column: str | None, grid: Grid, rows: Selection = EVERY_ROW) -> int:
        """Into how many parts a scan may divide stretches."""
        found: int = self._ask("most_parts", column, grid, rows)
        return found

    def counts_inside(
        self, column: str | None, grid: Grid, stretches: Stretches, rows: Selection = EVERY_ROW
    ) -> Indexes:
        """For each group how many cells lie in each part of each stretch."""
        found: Indexes = self._ask("counts_inside", column, grid, stretches, rows)
        return found

    def sizes(self, column: str | None, rows: Selection = EVERY_ROW) -> list[int]:
        """For each group how many rows there are, or how many in which a column has a cell."""
        found: list[int] = self._ask("sizes", column, rows)
        return found

    def key_sizes(self, rows: Selection) -> KeySizes:
        """The raw cells of a column, and how many rows have each."""
        found: KeySizes = self._ask("key_sizes", rows)
        return found

    def unit_counts(self, rows: Selection) -> list[int]:
        """For each group how many units have a row in it."""
        found: list[int] = self._ask("unit_counts", rows)
        return found

    def matching(self, conditions: Sequence[Bound]) -> list[int]:
        """On how many rows each condition holds."""
        found: list[int] = self._ask("matching", list(conditions))
        return found

    def _ask(self, call: str, *given: Any) -> Any:
        return self._worker.call("ask", self._number, call, *given)

    def _another(self, do: Callable[..., object], call: str, *given: Any) -> ProcessEngine:
        """What a call makes of this engine in the worker."""
        number = self._worker.next_number()
        do(call, number, self._number, *given)
        return ProcessEngine(self._worker, number, self._names, self._doubts)


class QuestionScans:
    """Opens the sources of one question, in a worker that is taken for the first and given back at
    the end. What a server counts needs none: there it can be cancelled. Connections to servers may
    stay open for the next question.
    """

    def __init__(self, workers: Workers, connections: Staying[Any] | None = None) -> None:
        self._workers = workers
        self._connections = connections
        self._taken: Worker | None = None

    def __enter__(self) -> QuestionScans:
        return self

    def __exit__(self, *error: object) -> None:
        if self._taken is not None:
            self._workers.give_back(self._taken)

    def open(self, kind: PolicySource, *given: Any) -> Engine:
        """The engine of a source: of its kind, and what that needs to open it."""
        if not kind.counts_here:
            with connections_stay(self._connections):
                return kind.open(*given)
        if self._taken is None:
            self._taken = self._workers.take()
        return ProcessEngine.opened(self._taken, kind.name, given)
