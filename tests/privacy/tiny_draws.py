"""Small noisy maxima to draw from, and watched ones that tell what they opened."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from exact_clock import defined_chances
from flint import fmpq
from numpy.typing import NDArray

from postri.audit.exact_chances import chances, value_candidates
from postri.audit.tiny_tables import Rows, whole_windows
from postri.grid import Grid
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, Runs
from postri.methods.depth import Depth
from postri.methods.method import QuantileTerms, Span

Outcome = TypeVar("Outcome", bound=Hashable)


@dataclass(frozen=True)
class Part:
    """The copies `first..end-1`; a part with `inside` shows its score only from above, until it is
    opened.
    """

    first: int
    end: int
    score: int
    boost: int = 0
    inside: tuple[Part, ...] = ()

    @property
    def leaves(self) -> tuple[Part, ...]:
        """What it is in truth."""
        return (
            tuple(leaf for part in self.inside for leaf in part.leaves) if self.inside else (self,)
        )


@dataclass(frozen=True)
class Parts:
    """Runs that are written down."""

    parts: tuple[Part, ...]

    @cached_property
    def scores(self) -> NDArray[np.int64]:
        return np.array([part.score for part in self.parts])

    @cached_property
    def boosts(self) -> NDArray[np.int64]:
        return np.array([part.boost for part in self.parts])

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        return np.array([not part.inside for part in self.parts])

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        return np.array([float(part.end - part.first) for part in self.parts])

    def span(self, j: int) -> tuple[int, int]:
        return self.parts[j].first, self.parts[j].end

    def open(self, j: int) -> Parts:
        return Parts(self.parts[j].inside)

    def chances(self, noise: Noise, rate: Fraction) -> dict[int, float]:
        """The exact chance of each copy."""
        leaves = [leaf for part in self.parts for leaf in part.leaves]
        logs = [
            fmpq(rate.numerator, rate.denominator) * leaf.score + fmpq(leaf.boost, 1 << BOOST_BITS)
            for leaf in leaves
        ]
        exact = chances(noise, logs, [leaf.end - leaf.first for leaf in leaves])
        return {
            copy: float(chance) / (leaf.end - leaf.first)
            for leaf, chance in zip(leaves, exact, strict=True)
            for copy in range(leaf.first, leaf.end)
        }


R = TypeVar("R", bound=Runs)


@dataclass(frozen=True)
class Watched(Generic[R]):
    """Runs that note which levels were opened, and open each run once for all draws: runs know no
    coins.

    With `inflate`, hidden scores are bounded so high that every one must be opened.
    """

    inner: R
    inflate: int = 0
    opened: list[int] = field(default_factory=list)
    parts: dict[int, Watched[R]] = field(default_factory=dict)

    @cached_property
    def scores(self) -> NDArray[np.int64]:
        return np.where(self.inner.known, self.inner.scores, self.inner.scores + self.inflate)

    @property
    def boosts(self) -> NDArray[np.int64]:
        return self.inner.boosts

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.inner.known

    @property
    def sizes(self) -> NDArray[np.float64]:
        return self.inner.sizes

    def span(self, j: int) -> tuple[int, int]:
        return self.inner.span(j)

    def open(self, j: int) -> Watched[R]:
        self.opened.append(self.inner.level + 1)
        if j not in self.parts:
            self.parts[j] = Watched(self.inner.open(j), self.inflate, self.opened)
        return self.parts[j]


def place_chances(
    rows: Rows, question: QuantileTerms, grid: Grid, method: Depth
) -> dict[Hashable, float]:
    """The exact chance of each (shape, value) of a table."""
    step = method.value_step(question)
    places, logs, copies = value_candidates(step.runs(whole_windows(rows), grid), grid, step.rate)
    return {
        place: float(chance)
        for place, chance in zip(places, chances(method.noise, logs, copies), strict=True)
    }


def span_chances(
    rows: Rows, question: QuantileTerms, grid: Grid, method: Depth
) -> dict[Hashable, float]:
    """The exact chance of each answer of a table: its value and both ends."""
    found = defaultdict[Hashable, float](float)
    for (shape, index), chance in place_chances(rows, question, grid, method).items():
        for ends, given in defined_chances(method, question, grid, index, shape, rows):
            found[Span(index, *ends)] += chance * float(given)
    return found


def drawn(number: int, once: Callable[[], Outcome]) -> Counter[Outcome]:
    """So many draws, counted."""
    return Counter(once() for _ in range(number))
