"""The depth method: a value with a shape, then an interval from the nested links around it.

The proofs of privacy and coverage are in docs/theory.md; the theorems that comments name are those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, log, log10, sqrt
from typing import ClassVar

from postri.answer import Plan
from postri.answer.words import whole_domain
from postri.cost import Cost, bounded_range, pure_draw
from postri.domain import Domain
from postri.errors import InputError
from postri.exact import ceiling, plain, shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.noisy_max import Noise, noisy_max
from postri.methods.forecast import (
    mean_reach,
    rounded,
    with_irregular_rows,
    without_irregular_rows,
)
from postri.methods.leeway import needed_rows
from postri.methods.links import ClockStep
from postri.methods.method import QuantileTerms, Span, WindowMethod
from postri.methods.value import SHAPES, Shape, ValueStep
from postri.privacy import split_spend
from postri.window import RankWindow, Windows, beginning_with, trim

# A value step asks for a wider window with a probability of about 2^-40. Theorem 9 says when a
# clock does.
PATIENCE = 40 * log(2)
# The first rows of a value step are so many nats more than what they hide could make up for. Of
# 24,000 draws on six shapes none opened it.
ROOM = 10
# Fewer groups are faster one by one.
FEWEST_TOGETHER = 4
# Arrays of groups that are drawn together have a row for each, as long as the longest one needs:
# about so many cells, for larger ones are no faster. A row has so many at least.
MOST_CELLS = 1 << 16
FEWEST_CELLS = 1 << 4
# At this epsilon privacy adds no error to speak of.
LARGE_EPSILON = Fraction(1_000)
# An epsilon that is found by trial is within this factor of the least.
CLOSE = Fraction(101, 100)
# A larger table needs wider windows for the quantile of a population, and they are asked for.
MANY_ROWS = 10**8
# On a default domain every octave has the same weight, whatever its size: 128 of them compete with
# the data's own.
DEFAULT_CHOICES = 128
DEFAULT_POINTS = 2**64


@dataclass(frozen=True)
class Depth(WindowMethod):
    """The default method: any quantile, any number of rows, ties and all.

    `noise` is that of the value: "exponential" (permute-and-flip) or "gumbel" (the exponential
    mechanism). The other numbers are public constants: the paces of the clock, between the knees
    at which they change, and the margin, bonus and lean of the lopsided shapes.
    """

    noise: Noise = "exponential"
    paces: tuple[Fraction, ...] = (Fraction(5), Fraction(2), Fraction(5, 4))
    knees: tuple[int, ...] = (2, 2_000)
    margin: int = 15
    bonus: int = 20
    lean: int = 32

    covers_population: ClassVar[bool] = True

    def __hash__(self) -> int:
        # Fractions take long, and hardly anybody has paces of their own.
        return hash((self.noise, self.knees, self.margin, self.bonus, self.lean))

    def __post_init__(self) -> None:
        if self.noise not in ("exponential", "gumbel"):
            raise InputError(f"noise must be 'exponential' or 'gumbel', got {shown(self.noise)}")
        if min(self.paces) <= 0 or len(self.paces) != len(self.knees) + 1:
            raise InputError("paces of Depth must be positive, and one more than there are knees")
        if list(self.knees) != sorted({knee for knee in self.knees if knee >= 1}):
            raise InputError("knees of Depth must be whole numbers that rise from 1 on")
        if min(self.margin, self.bonus, self.lean) < 1:
            raise InputError("margin, bonus and lean of Depth must be at least 1")

    @property
    def name(self) -> str:
        """How answers and the command line call it."""
        if self.noise == "gumbel":
            return "depth-gumbel"
        return "depth"

    def value_step(self, terms: QuantileTerms) -> ValueStep:
        """The first draw: a grid point and a shape."""
        return ValueStep(
            terms.p,
            terms.sensitivity,
            terms.spend.value,
            self.margin,
            self.bonus,
            terms.leeway,
        )

    def clock_step(self, terms: QuantileTerms) -> ClockStep:
        """The second draw: an interval around the point."""
        return ClockStep(
            terms.p,
            terms.sensitivity,
            terms.spend.interval,
            terms.beta,
            self.paces,
            self.knees,
            self.lean,
            terms.leeway,
        )

    def steps(self, terms: QuantileTerms, grid: Grid) -> DepthSteps:
        """What is public of both draws."""
        return _steps(self, terms, grid)

    def half(self, terms: QuantileTerms, grid: Grid) -> int:
        """Rows per side beyond which a wider window is hardly ever asked for."""
        return self.steps(terms, grid).half

    def draw(self, windows: Windows, terms: QuantileTerms, grid: Grid, coins: Coins) -> Span:
        """The value with its shape costs `spend.value`; the interval around it costs
        `spend.interval`.
        """
        steps = self.steps(terms, grid)
        index, shape = self.draw_value(windows, steps, coins)
        low, high = steps.clock.draw(windows, grid, index, shape, coins)
        return Span(index, low, high)

    def draw_groups(
        self,
        counted: Iterable[Sequence[Windows]],
        terms: Sequence[QuantileTerms],
        grid: Grid,
        coins: Coins,
    ) -> Iterator[list[Span]]:
        """All groups of a chunk at once: each as it would be drawn alone, with the same coins."""
        for chunk in _chunks(counted):
            if len(chunk) < FEWEST_TOGETHER:
                yield from super().draw_groups(chunk, terms, grid, coins)
                continue
            from postri.methods.groups import GroupDraws, ManyGroups

            # In the order in which they are asked for one by one.
            draws = [[GroupDraws(coins.draw(), coins.draw()) for _ in terms] for _ in chunk]
            spans = [
                ManyGroups(self, self.steps(each, grid), windows, of_term, coins.private).spans()
                for each, windows, of_term in zip(
                    terms, zip(*chunk, strict=True), zip(*draws, strict=True), strict=True
                )
            ]
            yield from map(list, zip(*spans, strict=True))

    def draw_value(self, windows: Windows, steps: DepthSteps, coins: Coins) -> tuple[int, Shape]:
        """The value and its shape."""
        candidates = steps.value.runs(steps.value_windows(windows), steps.grid)
        picked = noisy_max(candidates, rate=steps.value.rate, noise=self.noise, coins=coins)
        return steps.grid.at(picked.copy), picked.runs.shape(picked.run)

    def cost(self, terms: QuantileTerms) -> Cost:
        """One draw for the value, one for the interval."""
        draw = pure_draw
        if self.noise == "gumbel":
            draw = bounded_range
        return draw(terms.spend.value) + pure_draw(terms.spend.interval)

    def forecast(
        self,
        terms: QuantileTerms,
        *,
        rows: int,
        groups: int,
        domain: Domain | None,
        reach: Fraction | None = None,
    ) -> Plan:
        """How far the interval will reach, for smooth data."""
        each = rows // groups
        if reach is not None:
            if each * reach <= 2:
                raise InputError(
                    f"reach {plain(reach)} of {each:,} rows is less than two rows; ask for more "
                    f"than {plain(Fraction(2, max(each, 1)))}"
                )
            terms = self._reaching(rounded(each * reach), terms, each)
        reached = self.reach_in_rows(terms, domain, each)
        return Plan(
            rows=rows,
            epsilon=terms.spend.epsilon,
            reach=float(Fraction(reached) / max(each, 1)),
            p=terms.p,
            confidence=float(1 - terms.beta),
            protect=terms.protect,
            groups=groups,
            rows_needed=self.rows_needed(terms, domain),
            covers=terms.covers,
        )

    def advice(
        self, span: Span, terms: QuantileTerms, grid: Grid, domain: Domain | None
    ) -> tuple[str, ...]:
        """How many rows it takes, where the interval is the whole domain."""
        if (span.low, span.high) != (grid.first, grid.last):
            return ()
        return (whole_domain(self.rows_needed(terms, domain), terms.spend.epsilon),)

    def reach_in_rows(
        self, terms: QuantileTerms, domain: Domain | None = None, rows: int | None = None
    ) -> float:
        """How many rows the interval reaches to each side of the target rank on average, on smooth
        data, however many rows and on whatever domain.

        The rows matter where the population is to be covered: of more rows it is that of more.
        """
        nats_per_row = terms.spend.interval / terms.sensitivity
        rows_per_nat = rounded(1 / nats_per_row)
        if terms.covers == "table":
            return with_irregular_rows(1 + self._mean_reach(terms) * rows_per_nat)
        leeway = needed_rows(terms.p, terms.beta, nats_per_row, rows or 0)
        return with_irregular_rows(self._mean_reach(terms, leeway / rows_per_nat) * rows_per_nat)

    def rows_needed(self, terms: QuantileTerms, domain: Domain | None) -> int:
        """About how many rows it takes before value and interval stay off the domain's edges."""
        needed = self._rows_needed(terms, domain, 0)
        if terms.covers == "table":
            return needed
        # More rows have a larger error of sampling, but less than in proportion: this ends.
        while (more := self._rows_needed(terms, domain, needed)) > needed:
            needed = more
        return needed

    def _rows_needed(self, terms: QuantileTerms, domain: Domain | None, rows: int) -> int:
        """The same if the error of sampling is that of so many rows."""
        choices = DEFAULT_CHOICES
        points = DEFAULT_POINTS
        if domain is not None:
            choices = points = domain.points
        value = self.value_step(terms)
        value_rows = rounded(value.scale) * (log(choices) + 3)
        # Past the data the depth stays where it is while the clock goes on, to the edge.
        clock = self.clock_step(terms)
        clock_nats = clock.log_odds + clock.nats_to_the_edge(points)
        clock_rows = clock.wanting_rows(rows) + clock_nats * rounded(1 / clock.nats_per_row)
        most = max(value_rows, clock_rows, self.reach_in_rows(terms, domain, rows))
        return ceil(Fraction(most) / min(terms.p, 1 - terms.p))

    def _reaching(self, reach_rows: float, terms: QuantileTerms, rows: int) -> QuantileTerms:
        """The terms at the epsilon whose interval reaches `reach_rows` of the rows."""
        if terms.covers == "table":
            return _at(terms, self.epsilon_for(reach_rows, terms))
        sampling = self.reach_in_rows(_at(terms, LARGE_EPSILON), rows=rows)
        if sampling >= reach_rows:
            raise InputError(
                f"the error of sampling alone reaches about {sampling / rows:.2g} of {rows:,} rows "
                "to each side, whatever epsilon is; ask for a larger reach, or for covers='table'"
            )
        # What the rows alone would take is too little, for sampling takes a part of the reach.
        least = self.epsilon_for(reach_rows, replace(terms, covers="table"))
        most = LARGE_EPSILON
        while most > least * CLOSE:
            middle = in_three_digits(sqrt(float(least) * float(most)))
            if self.reach_in_rows(_at(terms, middle), rows=rows) > reach_rows:
                least = middle
            else:
                most = middle
        return _at(terms, most)

    def epsilon_for(self, reach_rows: float, terms: QuantileTerms) -> Fraction:
        """The epsilon whose interval reaches `reach_rows` rows, at the split of the terms; rounded
        up to three digits.
        """
        share = terms.spend.interval / terms.spend.epsilon
        nats = self._mean_reach(terms)
        rows = without_irregular_rows(reach_rows) - 1
        return in_three_digits(rounded(terms.sensitivity) * nats / (rows * float(share)))

    def _mean_reach(self, terms: QuantileTerms, leeway: float = 0.0) -> float:
        """The mean reach in nats of the clock; the value's noise scale tells how far off it
        starts.
        """
        error = 2 * rounded(terms.spend.interval / terms.spend.value)
        return mean_reach(self.paces[0], terms.beta, error, leeway)


def in_three_digits(number: float) -> Fraction:
    """The number, rounded up to three digits.

    >>> in_three_digits(0.12301)
    Fraction(31, 250)
    """
    unit = Fraction(10) ** (floor(log10(number)) - 2)
    return ceil(Fraction(number) / unit) * unit


def _chunks(counted: Iterable[Sequence[Windows]]) -> Iterator[list[Sequence[Windows]]]:
    """Groups that are drawn together, one after the other: as many as fit."""
    chunk: list[Sequence[Windows]] = []
    longest = FEWEST_CELLS
    for windows in counted:
        atoms = max(len(each(0).indexes) for each in windows)
        longest = max(longest, atoms)
        if chunk and longest * (len(chunk) + 1) > MOST_CELLS:
            yield chunk
            chunk = []
            longest = max(FEWEST_CELLS, atoms)
        chunk.append(windows)
    if chunk:
        yield chunk


def _at(terms: QuantileTerms, epsilon: Fraction) -> QuantileTerms:
    """The terms at another epsilon, split as before."""
    share = terms.spend.value / terms.spend.epsilon
    return replace(terms, spend=split_spend(epsilon, share))


@dataclass(frozen=True)
class DepthSteps:
    """What is public of a draw."""

    value: ValueStep
    clock: ClockStep
    grid: Grid

    @cached_property
    def log_candidates(self) -> float:
        """As many candidates compete as if each shape had its bonus in copies."""
        points = self.grid.copies(self.grid.last + 1) - self.grid.copies(self.grid.first)
        return log(len(SHAPES) * self.value.bonus * points)

    @cached_property
    def half(self) -> int:
        """Rows per side that both steps need."""
        # Theorem 9: links that are so deep have E beyond 2^40, whatever lies after them.
        clock_nats = self.clock.log_odds + self.clock.last_reading(self.grid) + PATIENCE
        clock_rows = Fraction(clock_nats) / self.clock.nats_per_row
        clock_rows += self.clock.wanting_rows(MANY_ROWS)
        return 1 + max(self.value_half, ceil(clock_rows))

    @cached_property
    def value_half(self) -> int:
        """Rows per side that the value step needs."""
        return ceiling(self.log_candidates + PATIENCE, self.value.scale)

    def value_windows(self, windows: Windows) -> Windows:
        """The windows of the value step: the first shows few rows, for each atom takes coins, and
        what it hides hardly ever wins.
        """
        first = self._first_half(windows(0))
        return beginning_with(windows, self.value.p, first, self.value_half)

    def _first_half(self, window: RankWindow) -> int:
        """Rows per side that the value step looks at first."""
        near = trim(window, self.value.p, self.near_rows)
        if not len(near.indexes):
            return 0
        return self.telling_half(int(near.indexes[0]), int(near.indexes[-1]))

    @cached_property
    def near_rows(self) -> int:
        """Rows per side whose candidates score about as well as the best."""
        return floor(self.value.scale)

    def telling_half(self, start: int, end: int) -> int:
        """Rows per side beyond which all candidates together hardly win against those next to the
        target rank, from one grid point to another.
        """
        copies = self.grid.copies(end + 1) - self.grid.copies(start)
        nats = self.log_candidates - log(copies) + ROOM
        return min(ceiling(nats, self.value.scale), self.value_half)


# Groups are many, and what is public of their draws is the same for all.
@lru_cache(maxsize=64)
def _steps(method: Depth, terms: QuantileTerms, grid: Grid) -> DepthSteps:
    return DepthSteps(method.value_step(terms), method.clock_step(terms), grid)
