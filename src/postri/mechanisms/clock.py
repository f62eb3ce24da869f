"""The clock: a draw among nested candidates, of which one uniform number picks a link.

Link k has a public reading s_k, and readings rise. The table gives each link a *level* v_k, and
levels never fall. With E(y) = odds * exp(v_k + y) for y between s_(k-1) and s_k, the clock stops at
a time Y of density min(E(y), S(y)), where S(y) is the chance that it has not stopped by y. The link
drawn is the first with s_k >= Y, and the last of all if the clock passes every reading before it.
Theorem 4 of docs/theory.md: if neighbours move no level by more than epsilon, the draw is
epsilon-DP.

While E is below S it is the density itself; from where it meets S, the clock runs out at rate 1. So
the chance that it stops by a reading has a closed form. Floats with a safe margin decide almost
every draw. The rare hard ones are decided by ball arithmetic on more coins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.uniforms import WORD, Floats, Uniform, ball

if TYPE_CHECKING:
    from flint import arb

LinkNumbers = NDArray[np.int64]

# Far above the error of the float path, and still hit by few draws. A sum of ten thousand masses is
# off by less than 1e-11, and so is a level wherever E is neither next to nothing nor beyond 1.
CHANCE_MARGIN = 1e-10
TIME_MARGIN = 1e-10
# Far beyond every reading.
HUGE = Fraction(10) ** 100
# Where E is beyond e^2 it has met S before: S is at most 1.
ENOUGH = 2.0


class Dial(Protocol):
    """The readings of the links 0, 1, 2, ...: public, and rising from 0 on."""

    def reading(self, link: int) -> Fraction:
        """The reading of one link."""

    def readings(self, links: LinkNumbers) -> Floats:
        """The readings of some links, to within 1e-11."""

    def first_after(self, time: float) -> int:
        """The first link whose reading, as `readings` tells it, is this time or later."""


@dataclass(frozen=True)
class Plateaus:
    """How deep the links are on one side: `depths[j]` units from link `starts[j]` on, and
    infinitely deep from link `end` on.

    Starts rise from 0, and depths never fall.
    """

    starts: LinkNumbers
    depths: NDArray[Any]
    end: int

    @cached_property
    def ends(self) -> LinkNumbers:
        """The last link of each plateau."""
        ends: LinkNumbers = np.append(self.starts, self.end)[1:] - 1
        return ends


@dataclass(frozen=True)
class _Cell:
    """Links of one level in exact numbers: those whose readings end at this time.

    A level of None is so high that E is beyond 1 from the first of them on.
    """

    level: Fraction | None
    until: Fraction


@dataclass(frozen=True)
class Clock:
    """A clock for links that two sides bound: a link is as deep as the shallower side.

    One unit of depth is `rate` nats. The level of a link is the least `rate * depth - reading` of
    it and of all links after it, but for the last, at which both sides have ended.
    """

    dial: Dial
    sides: tuple[Plateaus, Plateaus]
    odds: Fraction
    rate: Fraction

    @property
    def last(self) -> int:
        """The last link."""
        return max(side.end for side in self.sides)

    def link(self, uniform: Uniform) -> int:
        """The link that this uniform number picks."""
        if self.last == 0:
            return 0
        first, last = self._by_floats(uniform)
        # Chances rise from link to link: look for the first that is at least the uniform number.
        while first < last:
            middle = (first + last) // 2
            if self._stopped_by(middle, uniform):
                last = middle
            else:
                first = middle + 1
        return first

    # In floats.

    def _by_floats(self, uniform: Uniform) -> tuple[int, int]:
        """The first and the last link that the first word of the uniform number leaves."""
        below = uniform.first_word
        above = (1 << 64) - 1 - below
        schedule = self._schedule
        least = schedule.time(below / WORD - CHANCE_MARGIN, (above + 1) / WORD + CHANCE_MARGIN)
        most = schedule.time((below + 1) / WORD + CHANCE_MARGIN, above / WORD - CHANCE_MARGIN)
        return self._first_after(least - TIME_MARGIN), self._first_after(most + TIME_MARGIN)

    def _first_after(self, time: float) -> int:
        if time > self._schedule.until[-1]:
            return self.last
        return min(self.dial.first_after(time), self.last - 1)

    @cached_property
    def _schedule(self) -> Schedule:
        starts, levels = self._levels
        until = self.dial.readings(np.append(starts[1:], self.last) - 1)
        since = np.concatenate(([-inf], until[:-1]))
        return Schedule(levels - self._beyond, since, until)

    @cached_property
    def _levels(self) -> tuple[LinkNumbers, Floats]:
        """The links at which the level may change, and the levels from there on."""
        left, right = self.sides
        # Where the first side ends, the level follows from the other one alone. A link that stands
        # here twice is a cell without any time in between, but for the first link.
        ended = [min(left.end, right.end)]
        starts = np.sort(np.concatenate((left.starts, right.starts, ended)))
        starts = starts[np.searchsorted(starts, 0, side="right") - 1 :]
        starts = starts[: np.searchsorted(starts, self.last)]
        of_sides = [
            _levels_at(starts, side, terms)
            for side, terms in zip(self.sides, self._terms, strict=True)
        ]
        return starts, np.minimum(*of_sides)

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        """For both sides, the least `rate * depth - reading` of each plateau: that of its last
        link.
        """
        left, right = (
            _nats(side.depths, self.rate) - self.dial.readings(side.ends) for side in self.sides
        )
        return left, right

    @cached_property
    def _beyond(self) -> float:
        """Where the level is above this, E is beyond 1 from time 0 on."""
        return log(self.odds.denominator) - log(self.odds.numerator)

    def stops_like(self, deeper: Clock) -> bool:
        """Whether this clock surely picks what another one picks, from any uniform number.

        The other one has the same plateaus, and some of its depths are larger.
        """
        if self.last == 0:
            return True
        least = inf
        for side, other, terms in zip(self.sides, deeper.sides, self._terms, strict=True):
            changed = terms[side.depths != other.depths]
            least = min(least, float(changed.min(initial=inf)))
        # Levels differ only where they are at least the least of these terms. That is not so of the
        # first link, and E is beyond 1 there in both, from time 0 on.
        return least > max(self._beyond, float(self._levels[1][0])) + TIME_MARGIN

    # In balls.

    def _stopped_by(self, link: int, uniform: Uniform) -> bool:
        """Whether the uniform number is at most the chance that the clock stops by this link."""
        import flint

        precision = 128
        # They are equal with probability 0, so more coins tell them apart in the end.
        while True:
            with flint.ctx.workprec(precision):
                running = self.running_after(link)
                rest = 1 - uniform.as_ball()
                if running < rest:
                    return True
                if running > rest:
                    return False
            uniform.refine()
            precision += 64

    def running_after(self, link: int) -> arb:
        """S at the reading of a link before the last: the chance that a later one is drawn."""
        end = self.dial.reading(link)
        running = ball(Fraction(1))
        since: Fraction | None = None
        for cell in self._cells:
            if since is not None and since >= end:
                break
            until = min(cell.until, end)
            begins = ball(Fraction(0))
            if since is not None:
                begins = self._density(cell.level, since)
                # E is above S from here on, so the clock runs out at rate 1.
                if cell.level is None or begins > running:
                    return running * ball(since - end).exp()
            running = _after_cell(running, begins, self._density(cell.level, until))
            since = until
        return running

    def _density(self, level: Fraction | None, time: Fraction) -> arb:
        """E at this time; 1, which S is at most, where the level is too high to tell."""
        if level is None:
            return ball(Fraction(1))
        return ball(self.odds) * ball(level + time).exp()

    @cached_property
    def _cells(self) -> tuple[_Cell, ...]:
        """All links but the last, in runs of equal levels."""
        # Before time 0 there is the first link alone, so its level is told however high it is.
        limit = max(self._beyond, float(self._levels[1][0])) + 1
        changes = dict(
            _merged(
                *(
                    self._exact_levels(side, terms, limit)
                    for side, terms in zip(self.sides, self._terms, strict=True)
                )
            )
        )
        starts = [*changes, self.last]
        return tuple(
            _Cell(changes[start], self.dial.reading(following - 1))
            for start, following in pairwise(starts)
        )

    def _exact_levels(
        self, side: Plateaus, terms: Floats, limit: float
    ) -> dict[int, Fraction | None]:
        """The levels of one side by the links at which they change, up to a limit."""
        found: dict[int, Fraction | None] = {side.end: None}
        if side.end == 0:
            return found
        # The others are above a later one, or above the limit, beyond what floats leave in doubt.
        doubt = TIME_MARGIN * np.maximum(1, np.abs(terms))
        telling = np.flatnonzero((terms <= least_from_here(terms) + doubt) & (terms <= limit))
        level: Fraction | None = None
        for j in telling[::-1]:
            term = self.rate * int(side.depths[j]) - self.dial.reading(int(side.ends[j]))
            if level is None or term < level:
                # The level holds from the plateau after the telling one before this to here.
                found[int(side.ends[j]) + 1] = level
                level = term
        found[0] = level
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Schedule:
    """When the clock stops, in floats: cell i goes from one time to another, and ln E(y) - y is
    `heights[i]` in it.
    """

    heights: Floats
    since: Floats
    until: Floats

    @cached_property
    def _begins(self) -> Floats:
        """E where each cell begins."""
        begins: Floats = np.exp(np.minimum(self.heights + self.since, ENOUGH))
        return begins

    @cached_property
    def _ends(self) -> Floats:
        ends: Floats = np.exp(np.minimum(self.heights + self.until, ENOUGH))
        return ends

    @cached_property
    def _stopped(self) -> Floats:
        """The mass of E up to the end of each cell."""
        return np.cumsum(self._ends - self._begins)

    @cached_property
    def _crossing(self) -> tuple[int, float, float]:
        """The cell in which E meets S, the time, and S there."""
        met = self._ends >= 1 - self._stopped
        m = int(np.argmax(met))
        if not met[m]:
            # E is infinite past the last reading.
            return len(met), float(self.until[-1]), float(1 - self._stopped[-1])
        running = 1 - self._stopped_before(m)
        begins = float(self._begins[m])
        if begins >= running:
            return m, float(self.since[m]), running
        meeting = (running + begins) / 2
        return m, log(meeting) - float(self.heights[m]), meeting

    def _stopped_before(self, i: int) -> float:
        return float(self._stopped[i - 1]) if i else 0.0

    def chances(self) -> Floats:
        """The chance of each cell; what is left is the chance of all that comes after them."""
        m, crossing, running = self._crossing
        after: Floats = running * np.exp(np.minimum(crossing - self.until, 0))
        by = np.where(np.arange(len(after)) < m, self._stopped, 1 - after)
        return np.diff(by, prepend=0.0)

    def time(self, below: float, above: float) -> float:
        """When the clock has stopped with the chance `below`, and runs on with the chance
        `above`.
        """
        m, crossing, running = self._crossing
        if above < running:
            return crossing + log(running / above) if above > 0 else inf
        # Before the crossing: `below` is what the cells up to there have in all.
        i = int(np.searchsorted(self._stopped[:m], below))
        if i == len(self.heights):
            return crossing
        density = below - self._stopped_before(i) + float(self._begins[i])
        return log(density) - float(self.heights[i]) if density > 0 else -inf


def _nats(depths: NDArray[Any], rate: Fraction) -> Floats:
    """Depths in nats; what is beyond every reading by far need not be exact."""
    if depths.dtype == object or not 1 / HUGE < rate < HUGE:
        exact = (min(max(rate * int(depth), -HUGE), HUGE) for depth in depths)
        return np.array([float(nats) for nats in exact], dtype=np.float64)
    return depths.astype(np.float64) * float(rate)


def _levels_at(links: LinkNumbers, side: Plateaus, terms: Floats) -> Floats:
    """The levels of some links, as one side has them."""
    if side.end == 0:
        return np.full(len(links), inf)
    places = np.searchsorted(side.starts, links, side="right") - 1
    return np.where(links < side.end, least_from_here(terms)[places], inf)


def least_from_here(terms: Floats) -> Floats:
    """The least of each term and all after it."""
    least: Floats = np.minimum.accumulate(terms[::-1])[::-1]
    return least


def _merged(
    left: dict[int, Fraction | None], right: dict[int, Fraction | None]
) -> Iterator[tuple[int, Fraction | None]]:
    """The lower level of two sides, by the links at which it may change; None is above all."""
    last = max(*left, *right)
    levels: list[Fraction | None] = [None, None]
    for link in sorted({*left, *right} - {last}):
        levels = [side.get(link, level) for side, level in zip((left, right), levels, strict=True)]
        known = [level for level in levels if level is not None]
        yield link, min(known, default=None)


def _after_cell(running: arb, begins: arb, ends: arb) -> arb:
    """S at the end of a cell, from S and E at its beginning and E at its end."""
    meeting = (running + begins) / 2
    below = running + begins - ends
    above = meeting * meeting / ends
    if ends < meeting:
        return below
    if ends > meeting:
        return above
    # E meets S about here. Both expressions come to the same there, so nothing is lost.
    return below.union(above)
