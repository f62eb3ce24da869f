"""Several clocks at once: which link each of them surely picks, in floats.

Row g of every array is about clock g. Rows have one length, and cells without links fill them up: a
cell that begins where the next one does has no chance, and changes nothing. What floats leave in
doubt is picked by `Clock`, one by one, with the same uniform numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.clock import (
    CHANCE_MARGIN,
    ENOUGH,
    IN_DOUBT,
    READING_ERROR,
    SURELY,
    TIME_MARGIN,
    LinkNumbers,
)
from postri.mechanisms.coins import Words
from postri.mechanisms.run_out import time_of
from postri.mechanisms.uniforms import WORD, Floats

Flags = NDArray[np.bool_]
T = TypeVar("T", bound=np.generic)


class Dials(Protocol):
    """The readings of the links of each clock: see `Dial`."""

    def readings(self, links: LinkNumbers, rows: LinkNumbers | slice = ...) -> Floats:
        """The readings of links of these clocks, to within 1e-11; link -1 has -inf."""

    def first_after(self, times: Floats) -> LinkNumbers:
        """For each clock the first link whose reading is this time or later; IN_DOUBT where floats
        cannot tell.
        """


@dataclass(frozen=True)
class SideOfClocks:
    """How deep the links of each clock are on one side: at least `nats[g, j]` from link
    `starts[g, j]` on, and infinitely deep from link `ends[g]` on.

    Starts never fall along a row, and the last of each is the end. Of several that are the same the
    last counts. Where `hidden`, links may be deeper than that.
    """

    starts: LinkNumbers
    nats: Floats
    hidden: Flags
    ends: LinkNumbers

    @cached_property
    def nats_to_end(self) -> Floats:
        """The same with what is infinitely deep."""
        return np.where(self.starts < self.ends[:, None], self.nats, inf)


@dataclass(frozen=True)
class Clocks:
    """Clocks for links that two sides bound. `Clock` says what the numbers mean."""

    dials: Dials
    left: SideOfClocks
    right: SideOfClocks
    odds: Fraction

    def links(self, words: Words) -> LinkNumbers:
        """The links that uniform numbers pick which begin with these words, whatever is hidden;
        IN_DOUBT where floats cannot tell.
        """
        if not len(words):
            return np.empty(0, np.int64)
        # Rows of one link only have no readings at all, and numbers that are none.
        with np.errstate(invalid="ignore", divide="ignore"):
            found = self._picked(words)
            clear = (found != IN_DOUBT) & self._whatever_is_hidden(found)
        return np.where(self.last == 0, 0, np.where(clear, found, IN_DOUBT))

    @cached_property
    def last(self) -> LinkNumbers:
        """The last link of each clock."""
        return np.maximum(self.left.ends, self.right.ends)

    @cached_property
    def _cells(self) -> _Cells:
        """The links at which levels may change, in order, and how deep they are."""
        starts = np.concatenate((self.left.starts, self.right.starts), axis=1)
        order = starts.argsort(axis=1, kind="stable")
        starts = np.take_along_axis(starts, order, axis=1)
        # How many places of each side have come, of which the last tells how deep a link is.
        width = self.left.starts.shape[1]
        lefts = (order < width).cumsum(axis=1)
        rights = np.arange(1, order.shape[1] + 1) - lefts
        left, right = (
            np.take_along_axis(side.nats_to_end, np.maximum(come - 1, 0), axis=1)
            for side, come in ((self.left, lefts), (self.right, rights))
        )
        following = np.concatenate((starts[:, 1:], self.last[:, None]), axis=1)
        until = self.dials.readings(following - 1)
        nats = np.minimum(left, right)
        levels = np.minimum.accumulate((nats - until)[:, ::-1], axis=1)[:, ::-1]
        return _Cells(starts, until, levels, starts < self.last[:, None])

    @cached_property
    def _schedule(self) -> _Schedules:
        cells = self._cells
        first = np.full((len(cells.until), 1), -inf)
        since = np.concatenate((first, cells.until[:, :-1]), axis=1)
        beyond = log(self.odds.denominator) - log(self.odds.numerator)
        return _Schedules(cells.levels - beyond, since, cells.until, cells.real)

    def _picked(self, words: Words) -> LinkNumbers:
        """What the clocks pick, if all that is hidden is as shallow as can be."""
        below = words.astype(np.float64)
        above = (~words).astype(np.float64)
        schedule = self._schedule
        margins = CHANCE_MARGIN + schedule.doubts
        earliest = below / WORD - margins
        least = schedule.times(earliest, (above + 1) / WORD + margins)
        most = schedule.times((below + 1) / WORD + margins, above / WORD - margins)
        first = self._first_after(least - TIME_MARGIN)
        final = self._first_after(most + TIME_MARGIN)
        told = (first != IN_DOUBT) & (final != IN_DOUBT)
        # The clock may stop right after a reading, nearer than times can tell.
        first = np.maximum(first, self._start_of(schedule.cells(earliest)))
        return np.where(told & (final <= first), first, IN_DOUBT)

    def _start_of(self, cells: LinkNumbers) -> LinkNumbers:
        starts = _of_each(self._cells.starts, cells)
        return np.where(cells < self._schedule.numbers, starts, self.last)

    def _first_after(self, times: Floats) -> LinkNumbers:
        ends = _of_each(self._cells.until, self._schedule.numbers - 1)
        passed = ~(times <= ends)
        links = np.minimum(self.dials.first_after(np.where(passed, 0.0, times)), self.last - 1)
        return np.where(passed, self.last, links)

    def _whatever_is_hidden(self, links: LinkNumbers) -> Flags:
        """Whether clocks pick these links however deep the hidden links are: `Clock.picks_like`
        says why.
        """
        least = np.minimum(self._least_hidden(self.left), self._least_hidden(self.right))
        doubts = TIME_MARGIN * np.maximum(1.0, np.abs(least))
        lower = self._cells.real & (self._cells.levels < (least - doubts)[:, None])
        alike = lower.sum(axis=1)
        beginning = (alike == self._schedule.numbers) | (
            links <= _of_each(self._cells.starts, alike)
        )
        same: Flags = np.isinf(least) | beginning | self._schedule.have_crossed(alike)
        return same

    def _least_hidden(self, side: SideOfClocks) -> Floats:
        """The least term of a place that may be deeper than it shows; infinite if there is none."""
        rows, places = side.hidden[:, :-1].nonzero()
        following = side.starts[rows, places + 1]
        terms = side.nats[rows, places] - self.dials.readings(following - 1, rows)
        least = np.full(len(side.starts), inf)
        are_links = following > side.starts[rows, places]
        np.minimum.at(least, rows[are_links], terms[are_links])
        return least


class _Cells(NamedTuple):
    """Where levels may change: the link, the reading of the last link before the next start, the
    level, and whether it is a link before the last one.
    """

    starts: LinkNumbers
    until: Floats
    levels: Floats
    real: Flags


class _Crossings(NamedTuple):
    """The cell of each clock's crossing, the time, and the chance to have stopped by then."""

    places: LinkNumbers
    times: Floats
    stopped: Floats


@dataclass(frozen=True)
class _Schedules:
    """When each clock stops: see `Schedule`. The cells of a row that are not `real` come last."""

    heights: Floats
    since: Floats
    until: Floats
    real: Flags

    @cached_property
    def numbers(self) -> LinkNumbers:
        """How many real cells each row has."""
        numbers: LinkNumbers = self.real.sum(axis=1)
        return numbers

    @cached_property
    def _log_ends(self) -> Floats:
        return self.heights + self.until

    @cached_property
    def _begins(self) -> Floats:
        begins: Floats = np.exp(np.minimum(self.heights + self.since, ENOUGH))
        return begins

    @cached_property
    def _ends(self) -> Floats:
        ends: Floats = np.exp(np.minimum(self._log_ends, ENOUGH))
        return ends

    @cached_property
    def _stopped(self) -> Floats:
        return (self._ends - self._begins).cumsum(axis=1)

    def _stopped_before(self, places: LinkNumbers) -> Floats:
        before = _of_each(self._stopped, np.maximum(places - 1, 0))
        return np.where(places > 0, before, 0.0)

    @cached_property
    def crossings(self) -> _Crossings:
        """Where E reaches 1/(4A)."""
        met = self.real & ((self._ends * self._stopped >= 1 / 4) | (self._log_ends > ENOUGH))
        # E is infinite past the last reading.
        places = np.where(met.any(axis=1), met.argmax(axis=1), self.numbers)
        stopped = self._stopped_before(places)
        begins = _of_each(self._begins, places)
        since = _of_each(self.since, places)
        at_start = (places == self.numbers) | (stopped * begins >= 1 / 4)
        further = begins - stopped
        inside = 1 / (2 * (further + np.hypot(further, 1)))
        times = -np.log(4 * inside) - _of_each(self.heights, places)
        return _Crossings(
            places,
            np.where(at_start, since, np.maximum(times, since)),
            np.where(at_start, stopped, inside),
        )

    @cached_property
    def doubts(self) -> Floats:
        """How much the errors of readings may matter to chances after the crossing."""
        places, _, stopped = self.crossings
        before = _of_each(self._ends, np.maximum(places - 1, 0))
        doubts = READING_ERROR * (1 + before / stopped)
        return np.where((places == 0) | (stopped == 0), READING_ERROR, doubts)

    def have_crossed(self, cells: LinkNumbers) -> Flags:
        """Whether the crossing is surely where a cell begins, or before."""
        crossed: Flags = self._stopped_before(cells) * _of_each(self._begins, cells) > SURELY / 4
        return crossed

    def cells(self, below: Floats) -> LinkNumbers:
        """No clock stops before this cell, if it has stopped with the chance `below`."""
        before = np.arange(self.until.shape[1]) < self.crossings.places[:, None]
        cells: LinkNumbers = (before & (self._stopped < below[:, None])).sum(axis=1)
        return cells

    def times(self, below: Floats, above: Floats) -> Floats:
        """When each clock has stopped with the chance `below`, and runs on with the chance
        `above`.
        """
        _, crossings, stopped = self.crossings
        cells = self.cells(below)
        densities = below - self._stopped_before(cells) + _of_each(self._begins, cells)
        times = np.log(np.maximum(densities, 0.0)) - _of_each(self.heights, cells)
        times = np.where(cells == self.numbers, crossings, times)
        for g in np.flatnonzero(above < 1 - stopped):
            times[g] = crossings[g] + time_of(float(stopped[g]), float(above[g]))
        return times


def _of_each(table: NDArray[T], places: LinkNumbers) -> NDArray[T]:
    """What each row has at its place; the last of it if the place lies beyond."""
    found: NDArray[T] = table[np.arange(len(table)), np.minimum(places, table.shape[1] - 1)]
    return found
