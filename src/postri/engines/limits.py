"""The ends of brackets as a statement writes them: literals where there is one group, else columns
of a joined list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf, nextafter, ulp

from postri.engines.base import Bracket
from postri.engines.dialects.protocol import Dialect
from postri.engines.keys import LARGEST, LARGEST_UNSIGNED, SMALLEST
from postri.engines.reading import Raw, Reading
from postri.engines.selected import Selected

# Cells near a target are told from the others by so many buckets; an index never lies in more than
# two of them.
BUCKETS = 64
BUCKET_LIMITS = ("start", "first", "final", "width")


class Limits:
    """Numbers that differ by group, as a query names them: literals where there is one group, else
    columns of a joined list.
    """

    def __init__(
        self, values: Mapping[str, Mapping[int, str]], dialect: Dialect, *, groups: int
    ) -> None:
        self._values, self._dialect, self._literal = values, dialect, groups == 1

    def __getitem__(self, name: str) -> str:
        return self._values[name][0] if self._literal else name

    def joined(self, relation: str) -> str:
        """The relation with these columns beside its own; rows of groups that are not listed are
        left out.
        """
        if self._literal:
            return relation
        groups = next(iter(self._values.values()))
        columns = {
            "number": [str(group) for group in groups],
            **{name: list(each.values()) for name, each in self._values.items()},
        }
        return (
            f"{relation} JOIN {self._dialect.listed_rows(columns, 'limits')} ON grp = limits.number"
        )


@dataclass(frozen=True)
class Ends:
    """The raw cells at which brackets begin and end."""

    selected: Selected
    reading: Reading

    def limits(self, brackets: Sequence[Mapping[int, Bracket]], groups: Sequence[int]) -> Limits:
        """For each target the first and last cell of each group's bracket, and the buckets that
        divide it.
        """
        values = {
            name: each
            for i, one in enumerate(brackets)
            for name, each in self._of_target(i, one, groups).items()
        }
        return Limits(values, self.selected.dialect, groups=self.selected.rows.number)

    def _of_target(
        self, i: int, brackets: Mapping[int, Bracket], groups: Iterable[int]
    ) -> dict[str, dict[int, str]]:
        """A bracket that is not wanted holds nothing."""
        limits: dict[str, dict[int, str]] = {
            name: {} for name in (f"low{i}", f"last{i}", *(f"{each}{i}" for each in BUCKET_LIMITS))
        }
        double = self.selected.dialect.double
        for group in groups:
            low, last = (
                (self.first(brackets[group].low), self.last(brackets[group].high))
                if group in brackets
                else (inf, -inf)
            )
            texts = (self.literal(low), self.literal(last), *map(double, self.buckets(low, last)))
            for name, text in zip(limits, texts, strict=True):
                limits[name][group] = text
        return limits

    def first(self, index: int) -> Raw:
        """The least raw cell of an index."""
        return self.reading.cut(index)

    def last(self, index: int) -> Raw:
        """The largest raw cell of an index."""
        end = self.reading.cut(index + 1)
        return end - 1 if isinstance(end, int) else end if isinf(end) else nextafter(end, -inf)

    def before(self, index: int) -> Raw:
        """The largest raw cell below an index."""
        return self.last(index - 1)

    def buckets(self, low: Raw, last: Raw) -> tuple[float, float, float, float]:
        """Where the buckets start, the ends to which cells are clamped before, and how wide each
        bucket is.

        A bucket is wide enough for any index, rounding of double precision included. The cells of
        the first and the last index, which reach beyond the domain, are clamped into two buckets at
        most. No quotient is tiny or huge: some databases fail on those.
        """
        first, final = (self._inside(end) for end in (low, last))
        width = max((final - first) / BUCKETS, self._widest(first, final))
        return first - width, first - width / 2, final + width / 2, width

    def clamps(self, low: Raw, last: Raw) -> tuple[float, float, float]:
        """The ends to which cells are clamped, and within which distance of a cell all cells of its
        index then lie, in double precision.
        """
        first, final = (self._inside(end) for end in (low, last))
        width = self._widest(first, final)
        return first - width, final + width, 2 * width

    def _inside(self, end: Raw) -> float:
        """A cell at an end of the domain is as good as any beyond it."""
        grid = self.reading.grid
        return float(min(max(end, self.reading.cut(grid.first + 1)), self.reading.cut(grid.last)))

    def _widest(self, first: float, final: float) -> float:
        grid, unit = self.reading.grid, self.reading.unit
        return 2 * float(grid.step if unit is None else grid.step / unit) + 4 * ulp(
            max(abs(first), abs(final))
        )

    def literal(self, raw: Raw) -> str:
        """A raw cell as statements compare it with cells."""
        own = self.selected.cells.literal
        return self.number(raw) if own is None else own(raw)

    def number(self, raw: Raw) -> str:
        """A raw cell as a number."""
        if self.reading.unit is None:
            return self.selected.dialect.double(raw)
        low, high = (0, LARGEST_UNSIGNED) if self.unsigned else (SMALLEST, LARGEST)
        return self.selected.dialect.integer(
            str(int(min(max(raw, low), high))), unsigned=self.unsigned
        )

    @cached_property
    def unsigned(self) -> bool:
        """Whether cells are whole numbers without a sign."""
        return self.selected.cells.type.high == LARGEST_UNSIGNED

    @cached_property
    def single(self) -> bool:
        """Whether each index is one raw cell, whatever the cells are."""
        reading, declared = self.reading, self.selected.cells.type
        if reading.unit is None or declared.low is None or declared.high is None:
            return False
        return (
            reading.shift is not None
            and reading.cut(reading.grid.first + 1) - 1 <= declared.low
            and declared.high <= reading.cut(reading.grid.last)
        )
