"""The ends of brackets as a statement writes them: literals where there is one group, else columns
of a joined list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf, nextafter, ulp

from postri.engines.engine import Bracket
from postri.engines.reading import Raw, Reading
from postri.engines.sql.dialect import Dialect
from postri.engines.sql.index_keys import LARGEST, LARGEST_UNSIGNED, SMALLEST
from postri.engines.sql.row_source import RowSource
from postri.window import Indexes

# Into how many buckets a bracket is divided, by which cells near a target are told from the others;
# an index never lies in more than two of them.
BUCKETS = 64
BUCKET_LIMITS = ("start", "first", "final", "width")


class GroupLimits:
    """Numbers that differ by group, as a query names them: literals where there is one group, else
    columns of a joined list.
    """

    def __init__(
        self, values: Mapping[str, Mapping[int, str]], dialect: Dialect, *, groups: int
    ) -> None:
        self._values = values
        self._dialect = dialect
        self._are_literals = groups == 1

    def __getitem__(self, name: str) -> str:
        return self._values[name][0] if self._are_literals else name

    def joined(self, relation: str) -> str:
        """The relation with these columns beside its own; rows of groups that are not listed are
        left out.
        """
        if self._are_literals:
            return relation
        groups = next(iter(self._values.values()))
        columns = {"number": [str(group) for group in groups]}
        for name, each in self._values.items():
            columns[name] = list(each.values())
        limits = self._dialect.listed_rows(columns, "limits")
        return f"{relation} JOIN {limits} ON grp = limits.number"


@dataclass(frozen=True)
class BracketEnds:
    """The raw cells at which brackets begin and end."""

    row_source: RowSource
    reading: Reading

    def limits(
        self, brackets: Sequence[Mapping[int, Bracket]], groups: Sequence[int]
    ) -> GroupLimits:
        """For each target the first and last cell of each group's bracket, and the buckets that
        divide it.
        """
        values: dict[str, dict[int, str]] = {}
        for i, of_target in enumerate(brackets):
            values |= self._limits_of_target(i, of_target, groups)
        return GroupLimits(values, self.row_source.dialect, groups=self.row_source.rows.number)

    def _limits_of_target(
        self, i: int, brackets: Mapping[int, Bracket], groups: Iterable[int]
    ) -> dict[str, dict[int, str]]:
        """A bracket that is not wanted holds nothing."""
        names = (f"low{i}", f"last{i}", *(f"{each}{i}" for each in BUCKET_LIMITS))
        limits: dict[str, dict[int, str]] = {name: {} for name in names}
        double = self.row_source.dialect.double
        for group in groups:
            low: Raw = inf
            last: Raw = -inf
            if group in brackets:
                low = self.first(brackets[group].low)
                last = self.last(brackets[group].high)
            texts = (self.literal(low), self.literal(last), *map(double, self._buckets(low, last)))
            for name, text in zip(names, texts, strict=True):
                limits[name][group] = text
        return limits

    def first(self, index: int) -> Raw:
        """The least raw cell of an index."""
        return self.reading.cut(index)

    def last(self, index: int) -> Raw:
        """The largest raw cell of an index."""
        return _before(self.reading.cut(index + 1))

    def firsts(self, indexes: Indexes) -> list[Raw]:
        """The least raw cell of each of these indexes."""
        return self.reading.cuts(indexes.tolist())

    def lasts(self, indexes: Indexes) -> list[Raw]:
        """The largest raw cell of each of these indexes."""
        ends = self.reading.cuts(index + 1 for index in indexes.tolist())
        return [_before(end) for end in ends]

    def before(self, index: int) -> Raw:
        """The largest raw cell below an index."""
        return self.last(index - 1)

    def _buckets(self, low: Raw, last: Raw) -> tuple[float, float, float, float]:
        """Where the buckets start, the ends to which cells are clamped before, and how wide each
        bucket is.

        A bucket is wide enough for any index, rounding of double precision included. The cells of
        the first and the last index, which reach beyond the domain, are clamped into two buckets at
        most. No quotient is tiny or huge: some databases fail on those.
        """
        first = self._inside(low)
        final = self._inside(last)
        width = max((final - first) / BUCKETS, self._widest_index(first, final))
        return first - width, first - width / 2, final + width / 2, width

    def clamps(self, low: Raw, last: Raw) -> tuple[float, float, float]:
        """The ends to which cells are clamped, and within which distance of a cell all cells of its
        index then lie, in double precision.
        """
        first = self._inside(low)
        final = self._inside(last)
        width = self._widest_index(first, final)
        return first - width, final + width, 2 * width

    def _inside(self, end: Raw) -> float:
        """A cell at an end of the domain is as good as any beyond it."""
        grid = self.reading.grid
        return float(min(max(end, self.reading.cut(grid.first + 1)), self.reading.cut(grid.last)))

    def _widest_index(self, first: float, final: float) -> float:
        """How far apart the cells of one index can lie, and the rounding of cells of this size."""
        step = self.reading.grid.step
        if self.reading.unit is not None:
            step = step / self.reading.unit
        return 2 * float(step) + 4 * ulp(max(abs(first), abs(final)))

    def literal(self, raw: Raw) -> str:
        """A raw cell as statements compare it with cells."""
        own = self.row_source.cells.literal
        if own is None:
            return self.number(raw)
        return own(raw)

    def number(self, raw: Raw) -> str:
        """A raw cell as a number."""
        dialect = self.row_source.dialect
        if self.reading.unit is None:
            return dialect.double(raw)
        (whole,) = self.wholes([raw])
        return dialect.integer(str(whole), unsigned=self.unsigned)

    def wholes(self, raws: Iterable[Raw]) -> list[int]:
        """Raw cells as whole numbers that the database has."""
        least, most = SMALLEST, LARGEST
        if self.unsigned:
            least, most = 0, LARGEST_UNSIGNED
        return [int(min(max(raw, least), most)) for raw in raws]

    @property
    def are_wholes(self) -> bool:
        """Whether statements compare cells with whole numbers."""
        return self.reading.unit is not None and self.row_source.cells.literal is None

    @cached_property
    def unsigned(self) -> bool:
        """Whether cells are whole numbers without a sign."""
        return self.row_source.cells.type.high == LARGEST_UNSIGNED

    @cached_property
    def single(self) -> bool:
        """Whether each index is one raw cell, whatever the cells are."""
        reading = self.reading
        declared = self.row_source.cells.type
        if reading.unit is None or declared.low is None or declared.high is None:
            return False
        if reading.shift is None:
            return False
        return reading.cut(
            reading.grid.first + 1
        ) - 1 <= declared.low and declared.high <= reading.cut(reading.grid.last)


def _before(cell: Raw) -> Raw:
    """The largest raw cell below another."""
    if isinstance(cell, int):
        return cell - 1
    return cell if isinf(cell) else nextafter(cell, -inf)
