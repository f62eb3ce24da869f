"""The clock: a draw among nested candidates, of which one uniform number picks a link.

Link k has a public reading s_k, and readings rise. The table gives each link a *level* v_k, and
levels never fall. With E(y) = odds * exp(v_k + y) for y between s_(k-1) and s_k, the clock stops
with the density E(y), up to the *crossing*: the first time at which E is 1/(4A) or more, where A is
the chance that it has stopped by then. From there on it runs out, as run_out.py says. The link
drawn is the first whose reading is not before the time at which the clock stops, and the last of
all if the clock passes every reading before it. Theorem 4 of docs/theory.md: if neighbours move no
level by more than epsilon, the draw is epsilon-DP.

The chance that the clock stops by a reading has a closed form. Floats with a safe margin decide
almost every draw. The rare hard ones are decided by ball arithmetic on more coins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import hypot, inf, log
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.run_out import running_after, running_ball, time_of
from postri.mechanisms.uniforms import WORD, Floats, Uniform, ball

if TYPE_CHECKING:
    from flint import arb

LinkNumbers = NDArray[np.int64]
# In place of a link, where floats cannot tell which it is.
IN_DOUBT = -1

# Far above the error of the float path, and still hit by few draws. A sum of ten thousand masses is
# off by less than 1e-11, and so is a level wherever E is neither next to nothing nor beyond all.
CHANCE_MARGIN = 1e-10
TIME_MARGIN = 1e-10
READING_ERROR = 1e-11
# Far beyond every reading.
HUGE = Fraction(10) ** 100
TINY = 1 / HUGE
# Numbers of so many bits before or behind the point lie between the two.
MODERATE_BITS = 300
# Where E is e^300 the clock stops at once, and a higher E would not show.
ENOUGH = 300.0
# So many times what is needed is enough, whatever the errors of floats are.
SURELY = 1.001


class Dial(Protocol):
    """The readings of the links 0, 1, 2, ...: public, and rising from 0 on."""

    def reading(self, link: int) -> Fraction:
        """The reading of one link."""

    def readings(self, links: LinkNumbers) -> Floats:
        """The readings of links that rise, to within 1e-11."""

    def first_after(self, time: float) -> int:
        """The first link whose reading, as `readings` tells it, is this time or later."""


class Plateaus(NamedTuple):
    """How deep the links are on one side: `depths[j]` units from link `starts[j]` on, and
    infinitely deep from link `end` on.

    Starts rise from 0, and depths never fall.
    """

    starts: LinkNumbers
    depths: NDArray[Any]
    end: int

    @property
    def ends(self) -> LinkNumbers:
        """The last link of each plateau."""
        return last_links(self.starts, self.end)


def last_links(starts: LinkNumbers, end: int) -> LinkNumbers:
    """The last link before each next start, and before the end."""
    links = np.empty_like(starts)
    np.subtract(starts[1:], 1, out=links[:-1])
    links[-1:] = end - 1
    return links


class _Floats(NamedTuple):
    """The links at which the level of a clock may change, the reading of the last link before each
    next one, and the level from each on.
    """

    starts: LinkNumbers
    until: Floats
    levels: Floats


@dataclass(frozen=True)
class _Cell:
    """Links of one level in exact numbers: those whose readings end at this time."""

    level: Fraction
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
        left, right = self.sides
        return max(left.end, right.end)

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
        margin = CHANCE_MARGIN + schedule.doubt
        least = schedule.time(below / WORD - margin, (above + 1) / WORD + margin)
        most = schedule.time((below + 1) / WORD + margin, above / WORD - margin)
        # The clock may stop right after a reading, nearer than times can tell.
        first = max(
            self._first_after(least - TIME_MARGIN),
            self._first_of(schedule.cell(below / WORD - margin)),
        )
        return first, max(first, self._first_after(most + TIME_MARGIN))

    def _first_of(self, cell: int) -> int:
        starts = self._floats.starts
        return int(starts[cell]) if cell < len(starts) else self.last

    def _first_after(self, time: float) -> int:
        if time > self._schedule.until[-1]:
            return self.last
        return min(self.dial.first_after(time), self.last - 1)

    @cached_property
    def _schedule(self) -> Schedule:
        beyond = log(self.odds.denominator) - log(self.odds.numerator)
        # At that level E is 1 at time 0.
        return Schedule(self._floats.levels - beyond, self._floats.until)

    @cached_property
    def _floats(self) -> _Floats:
        """Where the level changes, and what it is."""
        starts = self._starts()
        until = self.dial.readings(last_links(starts, self.last))
        nats = self._nats_at(starts, self.sides[0])
        np.minimum(nats, self._nats_at(starts, self.sides[1]), out=nats)
        # Of links that are equally deep the last has the latest reading, and so the least term.
        nats -= until
        return _Floats(starts, until, least_from_here(nats))

    def _starts(self) -> LinkNumbers:
        """The links at which the level may change."""
        left, right = self.sides
        # Where the first side ends, the level follows from the other one alone.
        ended = [min(left.end, right.end)]
        starts: LinkNumbers = np.concatenate((left.starts, right.starts, ended))
        starts.sort()
        starts = starts[: starts.searchsorted(self.last)]
        last_of_equals = np.empty(len(starts), np.bool_)
        last_of_equals[-1] = True
        np.greater(starts[1:], starts[:-1], out=last_of_equals[:-1])
        return starts[last_of_equals]

    def _terms(self, side: Plateaus, places: LinkNumbers | slice) -> Floats:
        """The least `rate * depth - reading` of some plateaus: that of their last links."""
        # After the last link of a plateau the level may change, so its reading is known.
        floats = self._floats
        known = floats.starts.searchsorted(side.ends[places], side="right") - 1
        return self._nats(side.depths[places]) - floats.until[known]

    def _nats_at(self, links: LinkNumbers, side: Plateaus) -> Floats:
        """How deep some links are on one side, in nats; they rise, and are before the last."""
        if not len(side.starts):
            return np.full(len(links), inf)
        nats = self._nats(side.depths)[side.starts.searchsorted(links, side="right") - 1]
        if side.end < self.last:
            nats[links.searchsorted(side.end) :] = inf
        return nats

    def _nats(self, depths: NDArray[Any]) -> Floats:
        """Depths in nats; what is beyond every reading by far need not be exact."""
        rate = self._float_rate
        if rate is None or depths.dtype == object:
            exact = (min(max(self.rate * int(depth), -HUGE), HUGE) for depth in depths)
            return np.array([float(nats) for nats in exact], dtype=np.float64)
        return depths * rate

    @cached_property
    def _float_rate(self) -> float | None:
        """The rate, if products with it are sure to be floats."""
        bits = self.rate.numerator.bit_length() - self.rate.denominator.bit_length()
        if abs(bits) < MODERATE_BITS or TINY < self.rate < HUGE:
            return float(self.rate)
        return None

    def picks_like(self, deeper: Clock, link: int) -> bool:
        """Whether every clock between this one and a deeper one surely picks the link that this one
        picks.

        The deeper one has the same plateaus, and some of its depths are larger.
        """
        if self.last == 0:
            return True
        least = inf
        for side, other in zip(self.sides, deeper.sides, strict=True):
            (changed,) = (side.depths != other.depths).nonzero()
            if len(changed):
                least = min(least, *self._terms(side, changed).tolist())
        # Levels differ only where they are at least the least of these terms.
        floats = self._floats
        doubt = TIME_MARGIN * max(1.0, abs(least))
        alike = int(floats.levels.searchsorted(least - doubt))
        # The first of the links at which they do is the likelier, the higher its level is.
        if alike == len(floats.starts) or link <= floats.starts[alike]:
            return True
        # After the crossing it makes no difference what the levels are.
        return self._schedule.has_crossed(alike)

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
        """The chance that a link after this one is drawn, of a link before the last."""
        end = self.dial.reading(link)
        stopped = begins = ball(Fraction(0))
        since = end
        # More than one only if it is in doubt where the crossing is; then they are near each other.
        found: list[arb] = []
        for place, cell in enumerate(self._cells):
            if place > 0:
                if since >= end:
                    break
                begins = self._density(cell.level, since)
                if _may_have_reached(stopped, begins):
                    found.append(running_ball(stopped, ball(end - since)))
                if _has_reached(stopped, begins):
                    return _any_of(found)
            since = min(cell.until, end)
            ends = self._density(cell.level, since)
            by_then = stopped + ends - begins
            if _may_have_reached(by_then, ends):
                further = begins - stopped
                crossing = 1 / (2 * (further + (further * further + 1).sqrt()))
                elapsed = (4 * crossing * self._density(cell.level, end)).log()
                found.append(running_ball(crossing, elapsed))
            if _has_reached(by_then, ends):
                return _any_of(found)
            stopped = by_then
        if since < end:
            # All levels from here on are so high that this is the crossing at the latest.
            found.append(running_ball(stopped, ball(end - since)))
        else:
            found.append(1 - stopped)
        return _any_of(found)

    def _density(self, level: Fraction, time: Fraction) -> arb:
        """E at this time."""
        return ball(self.odds) * ball(level + time).exp()

    @cached_property
    def _cells(self) -> tuple[_Cell, ...]:
        """The links up to the crossing, in runs of equal levels."""
        # What comes after the crossing does not matter.
        levels = self._floats.levels
        place, _, _ = self._schedule.crossing
        limit = float(levels[min(place + 1, len(levels) - 1)]) + 1
        cells: list[_Cell] = []
        changes = list(_merged(*(self._exact_levels(side, limit) for side in self.sides)))
        following = [start for start, _ in changes[1:]] + [self.last]
        for (_, level), end in zip(changes, following, strict=True):
            if level is None:
                break
            if cells and cells[-1].level == level:
                cells.pop()
            cells.append(_Cell(level, self.dial.reading(end - 1)))
        return tuple(cells)

    def _exact_levels(self, side: Plateaus, limit: float) -> dict[int, Fraction | None]:
        """The levels of one side by the links at which they change, up to a limit."""
        found: dict[int, Fraction | None] = {side.end: None}
        if side.end == 0:
            return found
        terms = self._terms(side, slice(None))
        # The others are above a later one, or above the limit, beyond what floats leave in doubt.
        doubt = TIME_MARGIN * np.maximum(1, np.abs(terms))
        telling = np.flatnonzero((terms <= least_from_here(terms) + doubt) & (terms <= limit))
        level: Fraction | None = None
        ends = side.ends
        for j in telling[::-1]:
            term = self.rate * int(side.depths[j]) - self.dial.reading(int(ends[j]))
            if level is None or term < level:
                # The level holds from the plateau after the telling one before this to here.
                found[int(ends[j]) + 1] = level
                level = term
        found[0] = level
        return dict(sorted(found.items()))


class Schedule:
    """When the clock stops, in floats: cell i goes from the end of the one before to `until[i]`,
    and ln E(y) - y is `heights[i]` in it.
    """

    def __init__(self, heights: Floats, until: Floats) -> None:
        self.heights = heights
        self.until = until
        # E where each cell begins, the first one before all time, and where it ends.
        begins = np.empty(len(heights))
        begins[0] = -inf
        np.add(heights[1:], until[:-1], out=begins[1:])
        ends = heights + until
        self._is_beyond = bool(ends[-1] > ENOUGH)
        if self._is_beyond:
            np.minimum(begins, ENOUGH, out=begins)
        self._log_ends = ends
        self._begins: Floats = np.exp(begins, out=begins)
        self._ends: Floats = np.exp(np.minimum(ends, ENOUGH))
        # The mass of E up to the end of each cell.
        self._stopped: Floats = (self._ends - self._begins).cumsum()
        self.crossing = self._crossing()
        self.doubt = self._doubt()

    def _crossing(self) -> tuple[int, float, float]:
        """The cell in which E reaches 1/(4A), the time, and A, the chance to have stopped."""
        met = self._ends * self._stopped >= 1 / 4
        if self._is_beyond:
            met |= self._log_ends > ENOUGH
        place = int(met.argmax())
        if not met[place]:
            # E is infinite past the last reading.
            return len(met), float(self.until[-1]), float(self._stopped[-1])
        stopped = self._stopped_before(place)
        begins = float(self._begins[place])
        since = self._since(place)
        if stopped * begins >= 1 / 4:
            return place, since, stopped
        further = begins - stopped
        stopped = 1 / (2 * (further + hypot(further, 1)))
        time = -log(4 * stopped) - float(self.heights[place])
        return place, max(time, since), stopped

    def _since(self, i: int) -> float:
        """When a cell begins."""
        return float(self.until[i - 1]) if i else -inf

    def _doubt(self) -> float:
        """How much the errors of readings may matter to chances after the crossing: those before
        it, where E is low, move its A.
        """
        place, _, stopped = self.crossing
        if place == 0 or stopped == 0:
            return READING_ERROR
        return READING_ERROR * (1 + float(self._ends[place - 1]) / stopped)

    def _stopped_before(self, i: int) -> float:
        return float(self._stopped[i - 1]) if i else 0.0

    def has_crossed(self, i: int) -> bool:
        """Whether the crossing is surely where a cell begins, or before."""
        return self._stopped_before(i) * float(self._begins[i]) > SURELY / 4

    def chances(self) -> Floats:
        """The chance of each cell; what is left is the chance of all that comes after them."""
        place, crossing, stopped = self.crossing
        after = running_after(stopped, np.maximum(self.until - crossing, 0))
        by = np.where(np.arange(len(after)) < place, self._stopped, 1 - after)
        return np.diff(by, prepend=0.0)

    def cell(self, below: float) -> int:
        """The clock does not stop before this cell, if it has stopped with the chance `below`."""
        place, _, _ = self.crossing
        return int(self._stopped[:place].searchsorted(below))

    def time(self, below: float, above: float) -> float:
        """When the clock has stopped with the chance `below`, and runs on with the chance
        `above`.
        """
        _, crossing, stopped = self.crossing
        if above < 1 - stopped:
            return crossing + time_of(stopped, above)
        # Before the crossing: `below` is what the cells up to there have in all.
        i = self.cell(below)
        if i == len(self.heights):
            return crossing
        density = below - self._stopped_before(i) + float(self._begins[i])
        return log(density) - float(self.heights[i]) if density > 0 else -inf


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


def _has_reached(stopped: arb, density: arb) -> bool:
    """Whether E is surely 1/(4A) or more."""
    return bool(4 * stopped * density >= 1)


def _may_have_reached(stopped: arb, density: arb) -> bool:
    return not 4 * stopped * density < 1


def _any_of(found: list[arb]) -> arb:
    """A ball that holds all of these."""
    first, *others = found
    for other in others:
        first = first.union(other)
    return first
