"""The links of the depth method: nested intervals around the drawn value, and when the clock passes
each of them.

A link reaches `offset` steps from the value to the side of its shape, to both if it is even, and is
cut off at the ends of the grid. Offsets are all whole numbers up to 2^20, and beyond that those of
20 binary digits and zeros: an interval is at most a millionth part longer than it need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, exp, floor, inf, log, log1p
from typing import NamedTuple

import numpy as np

from postri.exact import ceiling
from postri.grid import Grid
from postri.mechanisms.clock import IN_DOUBT, Clock, LinkNumbers, Plateaus
from postri.mechanisms.coins import Coins, Key
from postri.mechanisms.uniforms import Floats, Uniform
from postri.methods.leeway import Leeway
from postri.methods.scores import Scores, over_target, units_per_row
from postri.methods.value import Shape
from postri.window import Indexes, RankWindow, Windows, beginning_with, trim

# An offset has at most this many binary digits before its zeros.
DIGITS = 20
HALF_OCTAVE = 1 << (DIGITS - 1)
# What the digits of a link are multiplied by, for each of its octaves: 2^(octave - 1). No grid has
# so many octaves.
POWERS = np.ldexp(0.5, np.arange(1_000))
# So few links are faster one by one.
FEW = 4
# A reading is a logarithm, cut off after this many binary places once and for all.
PLACES = 40
FITS = 2**62
EVERY = slice(None)
# Under which key the uniform number is asked for.
CLOCK_KEY: Key = ("clock",)
# E is e^20 or more where the first rows that a draw looks at end: it hardly ever needs others.
ROOM = 20
# Rows that are deeper than the odds by up to so many nats lie next to the value: a guess, for
# speed alone.
NEAR = 10
# More rows than any table has.
MANY = Fraction(2**62)


def distance_scale(grid: Grid, index: int) -> int:
    """How far a value is from zero, and one more: knees are proportional to it."""
    return 1 + abs(index - grid.zero)


def offset_of(link: int) -> int:
    """How far a link reaches."""
    if link < HALF_OCTAVE:
        return link
    octave, rest = divmod(link, HALF_OCTAVE)
    return (HALF_OCTAVE + rest) << (octave - 1)


def link_reaching(offset: int) -> int:
    """The first link that reaches so far."""
    zeros = max(offset.bit_length() - DIGITS, 0)
    digits = -(-offset >> zeros)
    # Rounding up may carry: then the digits are one more, and the zeros too.
    return digits + zeros * HALF_OCTAVE


def links_reaching(offsets: Indexes) -> LinkNumbers:
    """The same for many offsets below 2^62."""
    # The exponent of the float is exact but where rounding it up carries, and then the shift by one
    # more cuts off a zero.
    _, length = np.frexp(offsets.astype(np.float64))
    zeros = np.maximum(length.astype(np.int64) - DIGITS, 0)
    digits = -(-offsets >> zeros)
    links: LinkNumbers = digits + zeros * HALF_OCTAVE
    return links


@dataclass(frozen=True)
class Readings:
    """The clock passes an offset b at `paces[0] * ln(1 + b)` up to the first knee, and from one
    to the next knee at another pace: this many nats for each further factor e.
    """

    paces: tuple[Fraction, ...]
    knees: tuple[int, ...]

    def reading(self, link: int) -> Fraction:
        """The reading of one link, exactly."""
        return _reading(self, offset_of(link))

    @cached_property
    def _paces(self) -> tuple[float, ...]:
        return tuple(map(float, self.paces))

    @cached_property
    def _bends(self) -> list[float]:
        """Where the pace changes, as logarithms, with the beginning and no end."""
        return [0.0, *(log1p(knee) for knee in self.knees), inf]

    def readings(self, links: LinkNumbers) -> Floats:
        """The readings of links that rise, to within 1e-11."""
        logs = links.astype(np.float64)
        # Nearer ones are their own offsets.
        far = int(links.searchsorted(2 * HALF_OCTAVE))
        if len(links) - far <= FEW:
            for place in range(far, len(links)):
                logs[place] = offset_of(int(links[place]))
        else:
            beyond = links[far:]
            logs[far:] = (beyond & (HALF_OCTAVE - 1)) + HALF_OCTAVE
            logs[far:] *= POWERS.take(beyond >> (DIGITS - 1), mode="clip")
        np.log1p(logs, out=logs)
        times: Floats = self._paces[0] * logs
        for (before, after), bend in zip(pairwise(self._paces), self._bends[1:-1], strict=True):
            # Logarithms rise, and so do the bends.
            if not len(logs) or logs[-1] <= bend:
                break
            times += (after - before) * np.maximum(logs - bend, 0)
        return times

    def first_after(self, time: float) -> int:
        """The first link whose reading, as `readings` tells it, is this time or later."""
        if time <= 0:
            return 0
        link = link_reaching(max(ceil(exp(self._log_at(time))) - 1, 0))
        while link > 0 and self.near(link - 1) >= time:
            link -= 1
        while self.near(link) < time:
            link += 1
        return link

    def _log_at(self, time: float) -> float:
        """About the logarithm of 1 + b at this time."""
        nats = 0.0
        for pace, (start, end) in zip(self._paces, pairwise(self._bends), strict=True):
            nats += min(time / pace, end - start)
            time -= min(time, pace * (end - start))
        return nats

    def near(self, link: int) -> float:
        """The reading of one link, as `readings` tells it but for rounding."""
        nats = log1p(offset_of(link))
        time = 0.0
        for pace, (start, end) in zip(self._paces, pairwise(self._bends), strict=True):
            if nats <= start:
                break
            time += pace * (min(nats, end) - start)
        return time


@dataclass(frozen=True)
class ManyReadings:
    """The readings around several values, which have their own knees: row g of `bends` is where the
    paces of the g-th change, as logarithms.
    """

    paces: tuple[float, ...]
    bends: Floats

    @classmethod
    def around(cls, step: ClockStep, scales: Floats) -> ManyReadings:
        """Those around values at these distances from zero, one more than which they are."""
        bends = np.log1p(scales[:, None] * np.array(step.knees, dtype=np.float64))
        return cls(tuple(float(pace) for pace in step.paces), bends)

    def readings(self, links: LinkNumbers, rows: Indexes | slice = EVERY) -> Floats:
        """The readings of links around some of the values: of each a link, or a row of them.

        That of link -1, before all others, is infinitely early.
        """
        offsets = links.astype(np.float64)
        far = links >= HALF_OCTAVE
        if far.any():
            rest = (links[far] & (HALF_OCTAVE - 1)) + HALF_OCTAVE
            offsets[far] = np.ldexp(rest.astype(np.float64), (links[far] >> (DIGITS - 1)) - 1)
        logs = np.log1p(offsets)
        times: Floats = self.paces[0] * logs
        bends = self.bends[rows]
        for i, (before, after) in enumerate(pairwise(self.paces)):
            bend = bends[:, i].reshape(-1, *[1] * (links.ndim - 1))
            times += (after - before) * np.maximum(logs - bend, 0)
        return times

    def first_after(self, times: Floats) -> LinkNumbers:
        """The first link around each value whose reading is this time or later; IN_DOUBT where
        floats cannot tell.
        """
        offsets = np.ceil(np.exp(self._logs_at(times))) - 1
        # As `link_reaching` has it, in floats: these are whole numbers, and so are their digits.
        _, length = np.frexp(offsets)
        zeros = np.maximum(length - DIGITS, 0)
        digits = np.ceil(np.ldexp(offsets, -zeros))
        links: LinkNumbers = digits.astype(np.int64) + zeros * HALF_OCTAVE
        found = (times <= self.readings(links)) & (self.readings(links - 1) < times)
        return np.where(times <= 0, 0, np.where(found, links, IN_DOUBT))

    def _logs_at(self, times: Floats) -> Floats:
        """About the logarithm of 1 + b at these times."""
        logs = np.zeros(len(times))
        left = np.maximum(times, 0)
        start: Floats | float = 0.0
        for pace, bend in zip(self.paces, [*self.bends.T, inf], strict=True):
            part = np.minimum(left / pace, bend - start)
            logs += part
            left = left - pace * part
            start = bend
        return logs


@lru_cache(maxsize=1024)
def _reading(readings: Readings, offset: int) -> Fraction:
    """The logarithms, cut off after some binary places.

    Their sum is no rational number, so more digits tell what to cut off.
    """
    from flint import arb, ctx, fmpq

    if offset == 0:
        return Fraction(0)
    bends = [0, *(knee for knee in readings.knees if knee < offset), offset]
    precision = 128
    while True:
        with ctx.workprec(precision):
            time = arb(0)
            for pace, (start, end) in zip(readings.paces, pairwise(bends), strict=False):
                further = arb(fmpq(1 + end, 1 + start)).log()
                time += further * fmpq(pace.numerator, pace.denominator)
            cut = (time * (1 << PLACES)).floor().unique_fmpz()
        if cut is not None:
            return Fraction(int(cut), 1 << PLACES)
        precision *= 2


@dataclass(frozen=True)
class ClockStep:
    """The public numbers of the interval step: the second draw, which costs `epsilon`.

    `beta` is how often the interval may fail. Counts minus the target rank move by at most
    `sensitivity` rows between neighbours, less the `leeway` of an interval for the quantile of a
    population.
    """

    p: Fraction
    sensitivity: Fraction
    epsilon: Fraction
    beta: Fraction
    paces: tuple[Fraction, ...]
    knees: tuple[int, ...]
    lean: int
    leeway: Leeway | None = None

    @cached_property
    def nats_per_row(self) -> Fraction:
        """How many nats one row of depth is: no factor 2, as a noisy max would have it."""
        return self.epsilon / self.sensitivity

    @cached_property
    def rows_per_nat(self) -> Fraction:
        """How many rows of depth are one nat."""
        return 1 / self.nats_per_row

    @cached_property
    def near_rows(self) -> int:
        """Rows per side among which the clock mostly stops."""
        return ceiling(self.log_odds + NEAR, self.rows_per_nat)

    @cached_property
    def float_rows_per_nat(self) -> float:
        """About `rows_per_nat`."""
        return float(min(self.rows_per_nat, MANY))

    @cached_property
    def nats_per_unit(self) -> Fraction:
        """The same for the unit in which depths are counted."""
        return self.nats_per_row / units_per_row(self.p, self.fine)

    @property
    def fine(self) -> int:
        """How many times finer than usual that unit is."""
        if self.leeway is None:
            return 1
        return self.leeway.fine

    @property
    def bad(self) -> Fraction:
        """How many rows deep the deepest bad link is.

        Depths are multiples of 1/q rows for p = a/q, and a bad link is less than a row deep.
        """
        return 1 - Fraction(1, self.p.denominator)

    @cached_property
    def bad_units(self) -> int:
        """The same in the unit in which depths are counted."""
        return int(self.bad * units_per_row(self.p))

    def wanting_units(self, n: int) -> int:
        """How many units a link of depth 0 lacks, on a table of n rows."""
        if self.leeway is None:
            return self.bad_units
        return self.leeway.units(n)

    def wanting_rows(self, n: int) -> int:
        """About the same in rows."""
        return self.wanting_units(n) // units_per_row(self.p, self.fine) + 1

    @cached_property
    def log_odds(self) -> float:
        """About ln(1/beta)."""
        return log(self.beta.denominator) - log(self.beta.numerator)

    def readings(self, grid: Grid, index: int) -> Readings:
        """When the clock passes the links around a value: public, for the value is released."""
        scale = distance_scale(grid, index)
        knees = tuple([knee * scale for knee in self.knees])
        readings = Readings(self.paces, knees)
        # They are the same for all values.
        vars(readings)["_paces"] = self._float_paces
        return readings

    @cached_property
    def _float_paces(self) -> tuple[float, ...]:
        return tuple(map(float, self.paces))

    def last_reading(self, grid: Grid) -> float:
        """No reading is later, whatever the value is."""
        return float(max(self.paces)) * log(2 + self.lean * (grid.last - grid.first))

    def nats_to_the_edge(self, points: int) -> float:
        """What the clock takes from a value next to 0 to the edge of `points` points."""
        readings = Readings(self.paces, self.knees)
        return float(readings.reading(link_reaching(points)))

    def links(self, grid: Grid, index: int, shape: Shape) -> Links:
        """The links around a value."""
        left = self.lean if shape == "right" else 1
        right = self.lean if shape == "left" else 1
        return Links(self, grid, index, left, right)

    def draw(
        self, windows: Windows, grid: Grid, index: int, shape: Shape, coins: Coins
    ) -> tuple[int, int]:
        """The interval around a value."""
        links = self.links(grid, index, shape)
        half = links.half(windows(0).n)
        windows = beginning_with(windows, self.p, links.first_half(windows(0), half), half)
        draw = coins.draw()
        uniform = Uniform(draw, CLOCK_KEY, int(draw.words(CLOCK_KEY, 1)[0]))
        level = 0
        while True:
            # What a window hides is at most as deep as if all rows lay there, and at least as deep
            # as if none did. The true clock lies between the two.
            deepest, shallowest = links.clocks(windows(level))
            link = shallowest.link(uniform)
            if shallowest.picks_like(deepest, link):
                return links.ends(link)
            level += 1


@dataclass(frozen=True)
class Links:
    """The links around one value: a link of offset b reaches `b // left` steps to the left and
    `b // right` to the right.
    """

    step: ClockStep
    grid: Grid
    index: int
    left: int
    right: int

    @property
    def scale(self) -> int:
        """By how much the knees of its readings are larger than next to zero."""
        return distance_scale(self.grid, self.index)

    def ends(self, link: int) -> tuple[int, int]:
        """The interval of a link."""
        offset = offset_of(link)
        low = max(self.index - offset // self.left, self.grid.first)
        high = min(self.index + offset // self.right, self.grid.last)
        return low, high

    def half(self, n: int) -> int:
        """Rows per side that almost always decide, now that the value is known."""
        step = self.step
        last = max(self.left_end, self.right_end)
        nats = step.log_odds + self._readings.near(last) + ROOM
        return 1 + step.wanting_rows(n) + ceiling(nats, step.rows_per_nat)

    def first_half(self, window: RankWindow, half: int) -> int:
        """Rows per side that mostly decide, of those that almost always do: the rows next to the
        value tell how late the clock stops, if they lie as rows do elsewhere.
        """
        near = trim(window, self.step.p, self.step.near_rows)
        if not len(near.indexes):
            return half
        reach = max(self.index - int(near.indexes[0]), int(near.indexes[-1]) - self.index, 0)
        late = self._readings.near(link_reaching(reach))
        spare = late + (ROOM - NEAR)
        return max(half - floor(spare * self.step.float_rows_per_nat), self.step.near_rows)

    @cached_property
    def _readings(self) -> Readings:
        return self.step.readings(self.grid, self.index)

    @cached_property
    def left_end(self) -> int:
        """The first link that reaches the first grid point."""
        return link_reaching((self.index - self.grid.first) * self.left)

    @cached_property
    def right_end(self) -> int:
        """The first link that reaches the last one."""
        return link_reaching((self.grid.last - self.index) * self.right)

    def clocks(self, window: RankWindow) -> tuple[Clock, Clock]:
        """The clock if all that the window hides were as deep as can be, and as shallow; the same
        one twice if it hides nothing.
        """
        lows, highs = self._places(window)
        starts = self._links_to(lows, highs)
        # Links are t - #{x < low} deep to the left and #{x <= high} - t to the right.
        fewest, most = window.ranks_before(np.concatenate((lows, highs + 1)))
        step = self.step
        wanting = step.wanting_units(window.n)
        least, largest = over_target(np.array([fewest, most]), window.n, step.p, wanting, step.fine)
        number = len(lows)
        lefts = -largest[:number], -least[:number]
        rights = least[number:], largest[number:]
        if wanting:
            lefts = lefts[0] - wanting, lefts[1] - wanting
            rights = rights[0] - wanting, rights[1] - wanting
        left = _side(starts[:number], *lefts, self.left_end)
        right = _side(starts[number:], *rights, self.right_end)
        deepest = self._clock(left.deep, right.deep)
        if window.whole:
            return deepest, deepest
        return deepest, self._clock(left.shallow, right.shallow)

    def _clock(self, left: Plateaus, right: Plateaus) -> Clock:
        step = self.step
        return Clock(
            dial=self._readings,
            sides=(left, right),
            odds=step.beta,
            rate=step.nats_per_unit,
        )

    def _places(self, window: RankWindow) -> tuple[Indexes, Indexes]:
        """The places to the left and to the right, from the value on, at which links may become
        deeper; none to a side on which the value lies on the edge of the grid.
        """
        grid = self.grid
        places = self._telling_places(window.indexes)
        lows = highs = places[:0]
        inside = [grid.first + 1, self.index, min(self.index + 1, grid.last), grid.last]
        begin, upto, beyond, end = places.searchsorted(inside).tolist()
        if self.left_end > 0:
            lows = np.empty(upto - begin + 1, np.int64)
            lows[0] = self.index
            lows[1:] = places[begin:upto][::-1]
        if self.right_end > 0:
            highs = np.empty(end - beyond + 1, np.int64)
            highs[0] = self.index
            highs[1:] = places[beyond:end]
        return lows, highs

    def _telling_places(self, atoms: Indexes) -> Indexes:
        """Where what a window tells of the counts changes: at its atoms, and next to its ends, as
        far as the grid goes.
        """
        if not len(atoms):
            return atoms
        places = np.empty(len(atoms) + 2, np.int64)
        places[0] = max(int(atoms[0]) - 1, self.grid.first)
        places[1:-1] = atoms
        places[-1] = min(int(atoms[-1]) + 1, self.grid.last)
        return places

    def _links_to(self, lows: Indexes, highs: Indexes) -> LinkNumbers:
        """The first link that reaches each of these places."""
        farthest = 0
        if len(lows):
            farthest = (self.index - int(lows[-1])) * self.left
        if len(highs):
            farthest = max(farthest, (int(highs[-1]) - self.index) * self.right)
        if farthest < FITS:
            to_lows = (self.index - lows) * self.left
            to_highs = (highs - self.index) * self.right
            offsets = np.concatenate((to_lows, to_highs))
            # So near, every whole number is the offset of the link of that number.
            if farthest <= 2 * HALF_OCTAVE:
                return offsets
            return links_reaching(offsets)
        far_offsets = [(self.index - int(low)) * self.left for low in lows]
        far_offsets += [(int(high) - self.index) * self.right for high in highs]
        return np.array([link_reaching(offset) for offset in far_offsets])


class _Side(NamedTuple):
    """How deep the links are to one side, at least and at most."""

    shallow: Plateaus
    deep: Plateaus


def _side(starts: LinkNumbers, shallow: Scores, deep: Scores, end: int) -> _Side:
    """Each link has the depth of the last place that it reaches."""
    if len(starts):
        kept = np.empty(len(starts), np.bool_)
        np.greater(starts[1:], starts[:-1], out=kept[:-1])
        kept[-1] = starts[-1] < end
        if np.count_nonzero(kept) < len(kept):
            starts, shallow, deep = starts[kept], shallow[kept], deep[kept]
    return _Side(Plateaus(starts, shallow, end), Plateaus(starts, deep, end))
