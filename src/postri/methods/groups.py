"""The draws of the depth method for many groups at once, in arrays.

Coins are asked for by draw and key, so each group gets those that it would get by itself. Where
floats leave a doubt, a group is drawn as `Depth.draw` draws it, with the words that it has. So its
value and its interval are those that it would have alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postri.grid import Grid
from postri.mechanisms.clock import HUGE, TINY, LinkNumbers
from postri.mechanisms.clocks import Clocks, SideOfClocks
from postri.mechanisms.coins import BegunDraw, Draw, Key, Wanted, Words, below, words_of
from postri.mechanisms.noisy_max import WORDS
from postri.mechanisms.races import IN_DOUBT, Races
from postri.mechanisms.uniforms import Floats
from postri.methods.links import (
    CLOCK_KEY,
    FITS,
    ROOM,
    ClockStep,
    Links,
    ManyReadings,
    links_reaching,
)
from postri.methods.method import Span
from postri.methods.scores import fits_int64, target_units, units_per_row
from postri.methods.value import SHAPES, Shape, ValueStep
from postri.window import Indexes, Slices, Windows, WindowStack

if TYPE_CHECKING:
    from postri.methods.depth import Depth, DepthSteps


class GroupDraws(NamedTuple):
    """The coins of one group: those of its value, and those of its interval."""

    value: Draw
    interval: Draw


@dataclass(frozen=True)
class ManyGroups:
    """Groups that draw a quantile each, on the same terms."""

    method: Depth
    steps: DepthSteps
    windows: Sequence[Windows]
    draws: Sequence[GroupDraws]
    private: bool

    def spans(self) -> list[Span]:
        """What each group draws."""
        stack = WindowStack.of([windows(0) for windows in self.windows])
        if stack is None or not self._fits(stack):
            return [self._by_itself(g) for g in range(len(self.windows))]
        return self._around(self._values(stack), stack)

    def _fits(self, stack: WindowStack) -> bool:
        """Whether all numbers of the draws are floats, or whole numbers of 64 bits."""
        value = self.steps.value
        clock = self.steps.clock
        starts, ends = stack.stretches
        return TINY < clock.nats_per_unit < HUGE and all(
            fits_int64(n, value.p, value.distrust_of(n), value.fine)
            and fits_int64(n, clock.p, clock.wanting_units(n), clock.fine)
            and (n == 0 or atoms > 0)
            for n, atoms in zip(stack.n, (ends - starts).tolist(), strict=True)
        )

    def _by_itself(self, g: int) -> Span:
        index, shape = self._value(g, {})
        return Span(index, *self._interval(g, index, shape, {}))

    def _value(self, g: int, known: dict[Key, Words]) -> tuple[int, Shape]:
        """The value of one group by itself, with the words that are known."""
        coins = BegunDraw(self.draws[g].value, known, self.private)
        return self.method.draw_value(self.windows[g], self.steps, coins)

    def _interval(
        self, g: int, index: int, shape: Shape, known: dict[Key, Words]
    ) -> tuple[int, int]:
        """The same for the interval."""
        coins = BegunDraw(self.draws[g].interval, known, self.private)
        return self.steps.clock.draw(self.windows[g], self.steps.grid, index, shape, coins)

    def _values(self, stack: WindowStack) -> list[tuple[int, Shape]]:
        """The value of each group, and its shape."""
        steps = self.steps
        grid = steps.grid
        segments = StackedSegments.of(stack, self._value_stretches(stack), grid)
        runs = StackedRuns(steps.value, grid, segments)
        lengths = runs.lengths.tolist()
        words = words_of(
            [
                Wanted(each.value, WORDS, number)
                for each, number in zip(self.draws, lengths, strict=True)
            ]
        )
        winners = runs.races.clear_winners(
            words, rate=steps.value.rate, noise=self.method.noise
        ).tolist()
        first_runs = runs.races.starts.tolist()
        values = []
        for g, (winner, first, length) in enumerate(zip(winners, first_runs, lengths, strict=True)):
            if winner == IN_DOUBT:
                values.append(self._value(g, {WORDS: words[first : first + length]}))
                continue
            start, end, shape = runs.points(g, winner)
            index = start
            if start < end:
                copies = grid.copies(start), grid.copies(end + 1)
                key = (winner, "copy")
                place = below(self.draws[g].value, key, copies[1] - copies[0])
                index = grid.at(copies[0] + place)
            values.append((index, shape))
        return values

    def _value_stretches(self, stack: WindowStack) -> Slices:
        """The atoms that the value step looks at first."""
        steps = self.steps
        near = stack.cut(steps.value.p, [steps.near_rows] * len(stack.n))
        halves = []
        for start, end in zip(*(places.tolist() for places in near), strict=True):
            half = 0
            if start < end:
                half = steps.telling_half(int(stack.indexes[start]), int(stack.indexes[end - 1]))
            halves.append(half)
        return stack.cut(steps.value.p, halves)

    def _around(self, values: Sequence[tuple[int, Shape]], stack: WindowStack) -> list[Span]:
        """Each value with its interval."""
        step = self.steps.clock
        links = [step.links(self.steps.grid, index, shape) for index, shape in values]
        words = words_of([Wanted(each.interval, CLOCK_KEY, 1) for each in self.draws])
        picked = StackedLinks(step, links, stack).picked(words).tolist()
        spans = []
        for g, (link, (index, shape)) in enumerate(zip(picked, values, strict=True)):
            if link == IN_DOUBT:
                ends = self._interval(g, index, shape, {CLOCK_KEY: words[g : g + 1]})
            else:
                ends = links[g].ends(link)
            spans.append(Span(index, *ends))
        return spans


@dataclass(frozen=True)
class StackedSegments:
    """The segments of each group, as `Segments` has them, those of one group after those of
    another: `numbers` of them in each.
    """

    starts: Indexes
    ends: Indexes
    before: Indexes
    upto: Indexes
    known: NDArray[np.bool_]
    numbers: Indexes
    n: Sequence[int]

    @classmethod
    def of(cls, stack: WindowStack, stretches: Slices, grid: Grid) -> StackedSegments:
        """The segments of the whole grid: gap, atom, gap, ..., atom, gap, without the empty
        gaps.
        """
        numbers = stretches.ends - stretches.starts
        groups = np.arange(len(numbers))
        group_of = np.repeat(groups, numbers)
        atoms_upto = numbers.cumsum()
        atoms_before = atoms_upto - numbers
        seen = np.arange(len(group_of)) + (stretches.starts - atoms_before)[group_of]
        atoms = stack.indexes[seen]
        # Each group has one gap more than atoms: one before its first atom and one after each.
        places = 2 * np.arange(len(seen)) + 1 + group_of
        first_gaps = 2 * atoms_before + groups
        last_gaps = 2 * atoms_upto + groups
        total = 2 * len(seen) + len(groups)

        starts = np.empty(total, np.int64)
        starts[first_gaps] = grid.first
        starts[places] = atoms
        starts[places + 1] = atoms + 1
        ends = np.empty(total, np.int64)
        ends[places] = atoms
        ends[places - 1] = atoms - 1
        ends[last_gaps] = grid.last

        some = numbers > 0
        firsts = stretches.starts[some]
        finals = stretches.ends[some] - 1
        before = np.zeros(total, np.int64)
        before[first_gaps[some]] = stack.before[firsts]
        before[places] = stack.before[seen]
        before[places + 1] = stack.upto[seen]
        upto = before.copy()
        upto[places] = stack.upto[seen]

        # A gap beyond an end of the window is known if there are no rows.
        known = np.ones(total, dtype=bool)
        known[first_gaps[some]] = stack.before[firsts] == 0
        known[last_gaps[some]] = stack.upto[finals] == np.array(stack.n, dtype=np.int64)[some]

        kept = np.ones(total, dtype=bool)
        kept[places[:-1] + 1] = atoms[1:] - atoms[:-1] != 1
        kept[first_gaps[some]] = stack.indexes[firsts] > grid.first
        kept[last_gaps[some]] = stack.indexes[finals] < grid.last
        return cls(
            starts=starts[kept],
            ends=ends[kept],
            before=before[kept],
            upto=upto[kept],
            known=known[kept],
            numbers=np.add.reduceat(kept, first_gaps, dtype=np.int64),
            n=stack.n,
        )

    @cached_property
    def firsts(self) -> Indexes:
        """The place of each group's first segment."""
        firsts: Indexes = self.numbers.cumsum() - self.numbers
        return firsts


@dataclass(frozen=True)
class StackedRuns:
    """Every segment of every group in every shape, numbered in each group as `ValueRuns` numbers
    them.
    """

    step: ValueStep
    grid: Grid
    segments: StackedSegments

    @property
    def lengths(self) -> Indexes:
        """How many runs each group has."""
        return self.segments.numbers * len(SHAPES)

    def points(self, g: int, run: int) -> tuple[int, int, Shape]:
        """The first and the last grid point of a run of a group, and its shape."""
        shape, place = divmod(run, int(self.segments.numbers[g]))
        place += int(self.segments.firsts[g])
        return int(self.segments.starts[place]), int(self.segments.ends[place]), SHAPES[shape]

    @cached_property
    def races(self) -> Races:
        """The race of each group."""
        seen = self.segments
        step = self.step
        per_row = units_per_row(step.p, step.fine)
        targets = self._of_segments([target_units(n, step.p, step.fine) for n in seen.n])
        distrust = self._of_segments([step.distrust_of(n) for n in seen.n])
        before = seen.before * per_row - targets
        upto = seen.upto * per_row - targets
        depth = step.scores("even", before, upto, distrust)
        by_shape = [
            np.where(seen.known, step.scores(shape, before, upto, distrust), depth)
            for shape in SHAPES
        ]
        scores = np.concatenate(by_shape)[self._places]
        boosts = np.array([step.boost(shape) for shape in SHAPES], dtype=np.int64)
        segments = self._places % len(seen.starts)
        return Races(
            scores=scores,
            boosts=boosts[self._places // len(seen.starts)],
            known=seen.known[segments],
            sizes=self.grid.sizes(seen.starts, seen.ends)[segments],
            starts=self.segments.firsts * len(SHAPES),
        )

    def _of_segments(self, of_groups: Sequence[int]) -> Indexes:
        return np.repeat(np.array(of_groups, dtype=np.int64), self.segments.numbers)

    @cached_property
    def _places(self) -> Indexes:
        """The segment of each run, where those of all groups follow one another shape by shape."""
        segments = self.segments
        total = len(segments.starts)
        shapes = np.arange(len(SHAPES))
        firsts = (segments.firsts[:, None] + shapes * total).ravel()
        lengths = np.repeat(segments.numbers, len(SHAPES))
        ends = lengths.cumsum()
        return np.arange(ends[-1]) + np.repeat(firsts - (ends - lengths), lengths)


class _Outward(NamedTuple):
    """The places to one side of each value at which links may become deeper, from the value on.

    The places of a window are its atoms and the points next to them at its ends: place 0 is the
    point before the first atom, and place k + 1 the one after the last of k. `way` is 1 to the
    right and -1 to the left; the first place that is met would be `origin + way`, and there are
    `numbers` of them.
    """

    way: int
    origin: Indexes
    numbers: Indexes


class _Ranks(NamedTuple):
    """How many rows a side counts up to the value itself, as far as it is shown, and whether there
    may be others; and the same of the window's atoms.
    """

    shown: Indexes
    hidden: NDArray[np.bool_]
    of_atoms: Indexes


@dataclass(frozen=True)
class StackedLinks:
    """The links around the value of each group, of which there is at least one."""

    step: ClockStep
    links: Sequence[Links]
    stack: WindowStack

    def picked(self, words: Words) -> LinkNumbers:
        """The links that uniform numbers pick which begin with these words; IN_DOUBT where floats
        cannot tell.
        """
        left = self._side(self._to_left, self._before, self._lefts, self._left_ends)
        right = self._side(self._to_right, self._upto, self._rights, self._right_ends)
        picked = Clocks(self._readings, left, right, self.step.beta).links(words)
        far = self._is_far(self._to_left, self._lefts) | self._is_far(self._to_right, self._rights)
        return np.where(far, IN_DOUBT, picked)

    def _numbers(self, numbers: Iterable[int]) -> Indexes:
        return np.fromiter(numbers, np.int64, len(self.links))

    @cached_property
    def _values(self) -> Indexes:
        return self._numbers(each.index for each in self.links)

    @cached_property
    def _lefts(self) -> Indexes:
        return self._numbers(each.left for each in self.links)

    @cached_property
    def _rights(self) -> Indexes:
        return self._numbers(each.right for each in self.links)

    @cached_property
    def _left_ends(self) -> LinkNumbers:
        return self._numbers(each.left_end for each in self.links)

    @cached_property
    def _right_ends(self) -> LinkNumbers:
        return self._numbers(each.right_end for each in self.links)

    @cached_property
    def _readings(self) -> ManyReadings:
        scales = np.array([float(each.scale) for each in self.links])
        return ManyReadings.around(self.step, scales)

    @cached_property
    def _stretches(self) -> Slices:
        """The atoms that almost always decide: see `Links.half`."""
        step = self.step
        last = np.maximum(self._left_ends, self._right_ends)
        nats = step.log_odds + self._readings.readings(last) + ROOM
        rows = np.minimum(np.ceil(nats / float(step.nats_per_row)), FITS).tolist()
        halves = [
            1 + step.wanting_rows(n) + int(more) for n, more in zip(self.stack.n, rows, strict=True)
        ]
        return self.stack.cut(step.p, halves)

    @cached_property
    def _atoms(self) -> Indexes:
        """How many atoms each window has."""
        return self._stretches.ends - self._stretches.starts

    @cached_property
    def _some(self) -> NDArray[np.bool_]:
        """Whether a window has atoms."""
        return self._atoms > 0

    def _at(self, of_atoms: Indexes, places: Indexes) -> Indexes:
        """What the arrays of the stack have at these places of each window; 0 without atoms."""
        return np.where(self._some, _gathered(of_atoms, places), 0)

    @cached_property
    def _first_atoms(self) -> Indexes:
        return self._at(self.stack.indexes, self._stretches.starts)

    @cached_property
    def _last_atoms(self) -> Indexes:
        return self._at(self.stack.indexes, self._stretches.ends - 1)

    @cached_property
    def _below(self) -> Indexes:
        """How many rows lie before each window."""
        return self._at(self.stack.before, self._stretches.starts)

    @cached_property
    def _up_to_end(self) -> Indexes:
        """How many rows lie before the end of each window."""
        return self._at(self.stack.upto, self._stretches.ends - 1)

    @cached_property
    def _n(self) -> Indexes:
        return self._numbers(self.stack.n)

    @cached_property
    def _smaller(self) -> Indexes:
        """How many atoms of each window lie below the value."""
        indexes = self.stack.indexes
        starts, ends = (places.tolist() for places in self._stretches)
        return self._numbers(
            int(indexes[start:end].searchsorted(each.index))
            for start, end, each in zip(starts, ends, self.links, strict=True)
        )

    @cached_property
    def _not_larger(self) -> Indexes:
        """How many atoms of each window lie at the value or below it."""
        following = self._at(self.stack.indexes, self._stretches.starts + self._smaller)
        is_atom = (self._smaller < self._atoms) & (following == self._values)
        not_larger: Indexes = self._smaller + is_atom
        return not_larger

    def _rank(self, atoms: Indexes) -> Indexes:
        """How many rows lie before the atom of this number."""
        before = self._at(self.stack.before, self._stretches.starts + atoms)
        return np.where(atoms < self._atoms, before, self._up_to_end)

    # Where the value lies outside of the window, bounds are all that is known: `ranks_before` of
    # `RankWindow` says which. No sum here leaves 64 bits: one is added to what is below something.

    @cached_property
    def _is_before(self) -> NDArray[np.bool_]:
        """Whether the value lies before the window."""
        return self._some & (self._values < self._first_atoms)

    @cached_property
    def _is_after(self) -> NDArray[np.bool_]:
        return self._some & (self._values > self._last_atoms)

    @cached_property
    def _before(self) -> _Ranks:
        """How many rows lie before the value, at most."""
        exact = self._rank(self._smaller)
        beyond = self._is_after & (self._values - 1 > self._last_atoms)
        most = np.where(beyond, self._n, exact)
        fewest = np.where(self._is_before, 0, exact)
        return _Ranks(most, most != fewest, self.stack.before)

    @cached_property
    def _upto(self) -> _Ranks:
        """How many rows lie up to the value, at least."""
        exact = self._rank(self._not_larger)
        beyond = self._is_before & (self._values + 1 < self._first_atoms)
        fewest = np.where(beyond, 0, exact)
        most = np.where(self._is_after, self._n, exact)
        return _Ranks(fewest, most != fewest, self.stack.upto)

    @cached_property
    def _to_left(self) -> _Outward:
        """The places below the value that lie above the first grid point."""
        first = self.links[0].grid.first
        atoms = self._atoms
        beyond = self._is_after & (self._values - 1 > self._last_atoms)
        smaller = np.where(beyond, atoms + 2, 1 + self._smaller)
        smaller = np.where(self._some & ~self._is_before, smaller, 0)
        firsts = self._first_atoms
        outside = np.where(firsts == first, 2, 0) + ((firsts > first) & (firsts - 1 == first))
        numbers = np.where(self._left_ends > 0, np.maximum(smaller - outside, 0), 0)
        return _Outward(-1, smaller, numbers)

    @cached_property
    def _to_right(self) -> _Outward:
        """The places above the value that lie below the last grid point."""
        last = self.links[0].grid.last
        places = np.where(self._some, self._atoms + 2, 0)
        next_to = self._is_before & (self._values + 1 == self._first_atoms)
        passed = np.where(self._is_before, next_to, 1 + self._not_larger)
        passed = np.where(self._is_after, places, passed)
        lasts = self._last_atoms
        outside = np.where(lasts == last, 2, 0) + ((lasts < last) & (lasts + 1 == last))
        numbers = np.maximum(places - passed - outside, 0)
        numbers = np.where(self._some & (self._right_ends > 0), numbers, 0)
        return _Outward(1, passed - 1, numbers)

    def _is_far(self, outward: _Outward, lean: Indexes) -> NDArray[np.bool_]:
        """Whether the links to the farthest place have offsets of more than 62 bits."""
        far = self._last_atoms if outward.way > 0 else self._first_atoms
        distances = np.abs(far.astype(np.float64) - self._values.astype(np.float64)) + 1
        return (outward.numbers > 0) & (distances * lean >= FITS / 2)

    def _side(
        self, outward: _Outward, ranks: _Ranks, lean: Indexes, ends: LinkNumbers
    ) -> SideOfClocks:
        """How deep the links are to one side, if all that is hidden is as shallow as can be."""
        way, origin, numbers = outward
        # The value itself comes first, and the end of the side last.
        columns = np.arange(int(numbers.max()) + 2)
        places = self._places(outward, columns)
        indexes = _gathered(self.stack.indexes, places)
        counts = _gathered(ranks.of_atoms, places)
        hidden = np.zeros(counts.shape, dtype=bool)
        indexes[:, 0] = self._values
        counts[:, 0] = ranks.shown
        hidden[:, 0] = ranks.hidden

        # Before the first atom and after the last one.
        for place, index, count, more in (
            (np.zeros_like(origin), self._first_atoms - 1, self._below, self._below > 0),
            (self._atoms + 1, self._last_atoms + 1, self._up_to_end, self._up_to_end < self._n),
        ):
            column = (place - origin) * way
            rows = np.flatnonzero((column >= 1) & (column <= numbers))
            cells = (rows, column[rows])
            indexes[cells] = index[rows]
            counts[cells] = count[rows]
            # Links to the left are the deeper, the fewer rows lie there.
            hidden[cells] = more[rows] & ((place[rows] == 0) == (way < 0))

        offsets = (indexes - self._values[:, None]) * (way * lean[:, None])
        starts = np.where(columns <= numbers[:, None], links_reaching(offsets), ends[:, None])
        return SideOfClocks(starts, self._nats(counts, way), hidden, ends)

    def _places(self, outward: _Outward, columns: Indexes) -> Indexes:
        """The places of atoms in the arrays of the stack; any where there is none."""
        way, origin, _ = outward
        return (self._stretches.starts + origin - 1)[:, None] + way * columns

    def _nats(self, counts: Indexes, way: int) -> Floats:
        """How deep links are that reach to where so many rows lie before, or up to, a point."""
        step = self.step
        per_row = units_per_row(step.p, step.fine)
        targets = self._numbers(target_units(n, step.p, step.fine) for n in self.stack.n)
        wanting = self._numbers(step.wanting_units(n) for n in self.stack.n)
        depths = way * (counts * per_row - targets[:, None]) - wanting[:, None]
        return depths.astype(np.float64) * float(step.nats_per_unit)


def _gathered(of_atoms: Indexes, places: Indexes) -> Indexes:
    """What an array of the stack has at these places; any number where there is no such place."""
    if not len(of_atoms):
        return np.zeros(places.shape, np.int64)
    gathered: Indexes = of_atoms.take(places, mode="clip")
    return gathered
