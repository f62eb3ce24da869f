"""A released tree as what was drawn for an answer: the ledger keeps it, and reads it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from postri.answer.drawn import Interval, register_drawn
from postri.grid import Grid
from postri.noise import Noise, read_noise
from postri.tree.noisy_tree import NoisyTree, index_within
from postri.tree.shape import TreeNode

if TYPE_CHECKING:
    from postri.answer import Answer, Answers
    from postri.tree.distribution import Distribution

HALF = Fraction(1, 2)
SHOWN = tuple(Fraction(k, 20) for k in range(1, 20))


@dataclass(frozen=True, eq=False)
class DrawnTree:
    """The noisy counts of a column. As an answer by itself it tells the median."""

    tree: NoisyTree

    @property
    def grid(self) -> Grid:
        """The grid of the column."""
        return self.tree.shape.grid

    @property
    def noise(self) -> Noise:
        """That of a level which had the whole budget."""
        return self.tree.noise.whole

    @property
    def value(self) -> Any:
        """The median."""
        return self.value_of(HALF)

    def value_of(self, p: Fraction) -> Any:
        """Where the estimates reach the target rank of a quantile."""
        return self.grid.value(self.index_of(p))

    def index_of(self, p: Fraction) -> int:
        """The grid index of that."""
        node, within = self.tree.crossing(p)
        return index_within(self.grid, node, within)

    def interval(self, beta: Fraction) -> Interval:
        """Holds the median with probability at least 1 - beta."""
        return self.interval_of(HALF, beta)

    def interval_of(self, p: Fraction, beta: Fraction) -> Interval:
        """Holds the p-quantile with probability at least 1 - beta, and the released value."""
        low, high = self.tree.interval(p, beta)
        index = self.index_of(p)
        return self.between(min(low.first, index), max(high.last, index))

    def between(self, low: int, high: int) -> Interval:
        """From one grid index to another."""
        grid = self.grid
        return Interval(
            grid.low_end(low), grid.high_end(high), low == grid.first, high == grid.last
        )

    def distribution(self, answer: Answer) -> Distribution:
        """All that follows from it, on the terms of the answer for which it was drawn."""
        from postri.tree.distribution import Distribution

        return Distribution(answer)

    def shown_quantiles(self, answer: Answer) -> Answers:
        """The quantiles by which a picture shows it."""
        return self.distribution(answer).quantiles(SHOWN)

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        grid = self.grid
        fields = {
            "tree": self.tree.to_fields(),
            "first": str(grid.first),
            "last": str(grid.last),
            "base": str(grid.base),
            "step": str(grid.step),
            "kind": grid.kind,
            "zoned": grid.zoned,
            "rounded": grid.rounded,
            **self.noise.to_fields(),
        }
        if grid.anchor is not None:
            fields["anchor"] = str(grid.anchor)
        return fields

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        anchor = None
        if "anchor" in fields:
            anchor = int(fields["anchor"])
        grid = Grid(
            int(fields["first"]),
            int(fields["last"]),
            Fraction(fields["base"]),
            Fraction(fields["step"]),
            fields["kind"],
            bool(fields["zoned"]),
            anchor,
            bool(fields["rounded"]),
        )
        return cls(NoisyTree.from_fields(grid, read_noise(fields), fields["tree"]))

    def finest(self) -> list[TreeNode]:
        """The stretches that are not divided any further, from left to right."""
        return list(self.tree.leaves())


register_drawn("tree", DrawnTree)
