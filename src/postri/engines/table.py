"""A source that is opened once and asked many times."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from postri.columns import ColumnType
from postri.engines.base import Engine, Target
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.grid import Grid
from postri.window import RankWindow, Windows, trim

# Each draw asks for a wider window with a probability of about 2^-40; the next one is so many times as wide.
WIDER = 8
KEPT = 64


class Table:
    """A table that keeps its rank windows: a thousand questions do not scan a thousand times.

    Made by `postri.open`. It answers for the data as they were at its first question: do not change them while it is in use.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: dict[tuple[str | None, Grid, Fraction], tuple[int, RankWindow]] = {}

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none if the source is one column without a name."""
        return list(self._engine.names or ())

    def column(self, name: str | None) -> str | None:
        """The column that a question means: a name that exists, or None for a source that is one column."""
        names = self._engine.names
        if names is None:
            if name is not None:
                raise InputError(f"the source is one column without a name, got column={shown(name)}; leave column out")
            return None
        if name is None and len(names) == 1:
            return names[0]
        if name is None:
            raise InputError(f"choose a column with column=...; {nearest('', names)}")
        if name not in names:
            raise InputError(f"there is no column {shown(name)}; {nearest(str(name), map(str, names))}")
        return name

    def type_of(self, column: str | None) -> ColumnType:
        """The declared type of a column."""
        return self._engine.type_of(column)

    def windows(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> list[Windows]:
        """For each target its windows: the first is here, wider ones are fetched when a draw asks for them."""
        self._fetch(column, grid, targets)

        def widening(target: Target) -> Windows:
            def window(level: int) -> RankWindow:
                wanted = Target(target.p, target.half * WIDER**level)
                self._fetch(column, grid, [wanted])
                return trim(self._kept[column, grid, wanted.p][1], wanted.p, wanted.half)

            return window

        return [widening(target) for target in targets]

    def _fetch(self, column: str | None, grid: Grid, targets: Sequence[Target]) -> None:
        """Have a window at least as wide as each target wants, from one scan for all that are missing."""
        missing = [target for target in targets if not self._has(column, grid, target)]
        for target, window in zip(missing, self._engine.windows(column, grid, missing) if missing else (), strict=True):
            self._kept.pop((column, grid, target.p), None)
            self._kept[column, grid, target.p] = (target.half, window)
        while len(self._kept) > max(KEPT, len(targets)):
            del self._kept[next(iter(self._kept))]

    def _has(self, column: str | None, grid: Grid, target: Target) -> bool:
        half, window = self._kept.get((column, grid, target.p), (-1, None))
        return window is not None and (half >= target.half or window.whole)
