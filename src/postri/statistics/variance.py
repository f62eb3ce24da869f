"""The variance and the standard deviation of a column, clamped to its domain.

Three numbers are drawn. With u from 0 to 1 for a cell's place between the ends of the domain, they
are the sums of (1-u)^2, 2u(1-u) and u^2: what a row adds to them is 1 in all, so each has the whole
epsilon. Where rows are replaced and there is one group, they are those of the squared distances
from the middle, of the distances, and the number of rows (Theorem 29). The number of rows, the mean
and the variance follow from them. The interval holds the variances that they leave open, for all
means that they leave open.

Of the population, which is all rows that count, the sum of squared distances from the mean is
divided by n; of a sample, by n - 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isqrt, log10
from typing import Any, ClassVar, Self

from flint import fmpq

from postri.answer import Answer
from postri.answer.drawn import Interval, Noisy, register_drawn
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.answer.words import register_words
from postri.cost import Cost
from postri.domain import Domain, check_domain
from postri.errors import InputError
from postri.exact import as_decimal, decimal_places
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.noise import DiscreteLaplace, Noise
from postri.privacy import most_rows, moved_ends, moved_ends_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    check_total,
    drawn_noise,
    ends,
    noise_of,
    released,
)
from postri.statistics.contrast import left_open, quick, reach, slow, spread_of, units_for
from postri.statistics.mean import counts_rows
from postri.statistics.registry import Form, Parameter, check_column, register, written
from postri.statistics.statistic import Batch, Countable, Fits, Statistic, Terms
from postri.statistics.sum import CLAMPED
from postri.window import MOST_STEPS, SquareTotal

# Which share of beta goes to the mean: how far off it may be hardly matters to the variance.
MEANS_SHARE = Fraction(1, 20)
# Ranges of answers are divided until a noisy number changes by this part of its spread in them.
FINENESS = 256
# Into how many ranges means are divided at most, and those of the whole domain.
MOST_RANGES = 16
RANGES = 64
# By how much smaller a beta is tried where nothing is left open, and how often.
SELDOMER = 4
MOST_TRIES = 20
# How many digits a variance has at least beyond those of the squared step. Rounding moves it by no
# more than its noise over ROUNDED.
FINER = 3
ROUNDED = 100
# At how many places of half a domain a forecast looks.
LOOKED_AT = 8

# What a row at an end of the domain adds to the sums from the middle, and the number of rows with
# each noise: small whole numbers for which all moves of a row cost about the same (Theorem 29).
SQUARE = 64
DISTANCE = 48
ROWS_LAPLACE = 41
ROWS_GAUSSIAN = 76
# By how much a row moves the three together, and the sum of the squares of that.
MOVED_FROM_MIDDLE = 121
MOVED_FROM_MIDDLE_SQUARED = 96**2

ZERO = fmpq(0)
ONE = fmpq(1)
HALF = fmpq(1, 2)
QUARTER = fmpq(1, 4)
THREE_HALVES = fmpq(3, 2)
DISTANCES = fmpq(SQUARE, DISTANCE)


@dataclass(frozen=True)
class Sums(ABC):
    """Three noisy numbers with the same noise, from which the number of rows, the sum of u and that
    of u^2 follow, in units of which `row` is one row. A variance is of u, and is divided by
    n - `less`.
    """

    one: int
    two: int
    three: int
    noise: Noise
    row: int
    less: int

    @property
    @abstractmethod
    def all(self) -> fmpq:
        """The number of rows, in these units."""

    @property
    @abstractmethod
    def distances(self) -> fmpq:
        """The sum of u."""

    @property
    @abstractmethod
    def from_lower(self) -> fmpq:
        """The sum of u^2."""

    @abstractmethod
    def mean_weights(self, low: fmpq, high: fmpq) -> list[fmpq]:
        """The largest sizes of the three numbers' weights in the sum of u less the mean times the
        number of rows, for means from low to high.
        """

    @abstractmethod
    def weights(self, means: MeanRange, low: fmpq, high: fmpq) -> list[fmpq]:
        """The same in the sum of (u - mean)^2 less the variance times the number of rows, for a
        range of means and variances from low to high.
        """

    @property
    def divisor(self) -> fmpq:
        """What the sum of squared distances is divided by, in these units."""
        return self.all - self.less * self.row

    @property
    def largest(self) -> fmpq:
        """No variance is larger: that of two ends with as many rows each; of a sample of two rows,
        twice as much.
        """
        return fmpq(1 + self.less, 4)

    @property
    def variance(self) -> Fraction:
        """The one that the numbers give."""
        one_row = fmpq(self.row)
        mean = min(max(self.distances / max(self.all, one_row), ZERO), ONE)
        # There is a variance only if there is a row.
        found = self.squares(mean) / max(self.divisor, one_row)
        most = mean * (1 - mean) * (1 + self.less)
        return slow(min(max(found, ZERO), most))

    def squares(self, mean: fmpq) -> fmpq:
        """The sum of (u - mean)^2."""
        return self.all * mean * mean - 2 * mean * self.distances + self.from_lower

    def left_open(self, beta: Fraction) -> tuple[Fraction, Fraction]:
        """The least and the largest variance that the numbers leave open. It is among them with
        probability at least 1 - beta, if there are rows enough to have one.

        Where they leave none open, which happens no more often, those that they leave open at a
        smaller beta. The variance that the numbers give is always among them.
        """
        found = None
        for _ in range(MOST_TRIES):
            if found is None and self.divisor > 0:
                found = self._left_open(beta)
                beta = beta / SELDOMER
        low, high = found or (ZERO, self.largest)
        given = self.variance
        return min(slow(low), given), max(slow(high), given)

    def _left_open(self, beta: Fraction) -> tuple[fmpq, fmpq] | None:
        means = self._means(beta * MEANS_SHARE)
        if means is None:
            return None
        ranges = [MeanRange.of(self, *each) for each in _divided(*means)]
        own = beta * (1 - MEANS_SHARE)

        def is_open(low: fmpq, high: fmpq) -> bool:
            return any(each.leaves_open(low, high, own) for each in ranges)

        return left_open(ZERO, self.largest, is_open, self._fine(self.divisor))

    def _means(self, beta: Fraction) -> tuple[fmpq, fmpq] | None:
        """The least and the largest mean of u that the numbers leave open: for the true one, the
        sum of u is the mean times the number of rows.
        """
        distances = self.distances
        rows = self.all

        def is_open(low: fmpq, high: fmpq) -> bool:
            far = reach(self.noise, self.mean_weights(low, high), beta)
            return bool(distances - low * rows >= -far and distances - high * rows <= far)

        return left_open(ZERO, ONE, is_open, self._fine(rows))

    def _fine(self, rise: fmpq) -> fmpq:
        """In how short a range of answers a number that rises so fast hardly changes."""
        return quick(spread_of(self.noise)) / (FINENESS * rise)


class SumsFromEnds(Sums):
    """The sums of (1-u)^2, 2u(1-u) and u^2: a row adds `row` to them together."""

    @property
    def all(self) -> fmpq:
        """All three together."""
        return fmpq(self.one + self.two + self.three)

    @property
    def distances(self) -> fmpq:
        """By u = u^2 + u(1-u)."""
        return fmpq(2 * self.three + self.two, 2)

    @property
    def from_lower(self) -> fmpq:
        """The third."""
        return fmpq(self.three)

    def mean_weights(self, low: fmpq, high: fmpq) -> list[fmpq]:
        """By u - t = -t(1-u)^2 + (1/2-t)2u(1-u) + (1-t)u^2."""
        return [high, max(abs(HALF - low), abs(HALF - high)), 1 - low]

    def weights(self, means: MeanRange, low: fmpq, high: fmpq) -> list[fmpq]:
        """(u-t)^2 - v = (t^2-v)(1-u)^2 - (t(1-t)+v)2u(1-u) + ((1-t)^2-v)u^2."""
        from_low, from_high = 1 - means.low, 1 - means.high
        return [
            max(means.high * means.high - low, high - means.low * means.low),
            means.widest + high,
            max(from_low * from_low - low, high - from_high * from_high),
        ]


class SumsFromMiddle(Sums):
    """With y = 2u - 1: the sums of `SQUARE` times y^2 - 1/2, of `DISTANCE` times y, and the number
    of rows times what `rows_part` says; a `row` is SQUARE.
    """

    @property
    def all(self) -> fmpq:
        """The third."""
        return self.three * self._rows

    @property
    def _rows(self) -> fmpq:
        return fmpq(SQUARE, rows_part(self.noise))

    @property
    def distances(self) -> fmpq:
        """By u = (1 + y)/2."""
        return (self.all + self.two * DISTANCES) / 2

    @property
    def from_lower(self) -> fmpq:
        """u^2 = (1 + 2y + y^2)/4."""
        return (self.one + self.all * THREE_HALVES + 2 * self.two * DISTANCES) / 4

    def mean_weights(self, low: fmpq, high: fmpq) -> list[fmpq]:
        """By u - t = (y - (2t-1))/2."""
        return [ZERO, DISTANCES / 2, _furthest(low, high) * self._rows / 2]

    def weights(self, means: MeanRange, low: fmpq, high: fmpq) -> list[fmpq]:
        """(u-t)^2 - v = ((y^2-1/2) - 2(2t-1)y + ((2t-1)^2+1/2-4v))/4."""
        furthest = _furthest(means.low, means.high)
        nearest = fmpq(1) - 4 * means.widest
        left = max(abs(furthest * furthest + HALF - 4 * low), abs(nearest + HALF - 4 * high))
        return [QUARTER, furthest * DISTANCES / 2, left * self._rows / 4]


def _furthest(low: fmpq, high: fmpq) -> fmpq:
    """How far the middle of the domain is from the further end of a range, in halves of it."""
    return max(abs(2 * low - 1), abs(2 * high - 1))


def rows_part(noise: Noise) -> int:
    """How much a row adds to the third number of `SumsFromMiddle`."""
    if isinstance(noise, DiscreteLaplace):
        return ROWS_LAPLACE
    return ROWS_GAUSSIAN


@dataclass(frozen=True)
class MeanRange:
    """A range of means, the largest of u(1-u) that goes with one of them, and between which numbers
    the sum of squared distances from them lies.
    """

    sums: Sums
    low: fmpq
    high: fmpq
    widest: fmpq
    least: fmpq
    most: fmpq

    @classmethod
    def of(cls, sums: Sums, low: fmpq, high: fmpq) -> MeanRange:
        """The range. The sum is a parabola, whose lowest point is at the mean of the numbers."""
        lowest = min(max(sums.distances / sums.all, low), high)
        nearest = min(max(HALF, low), high)
        return cls(
            sums,
            low,
            high,
            nearest * (1 - nearest),
            sums.squares(lowest),
            max(sums.squares(low), sums.squares(high)),
        )

    def leaves_open(self, low: fmpq, high: fmpq, beta: Fraction) -> bool:
        """Whether one of these means may go with a variance from low to high."""
        sums = self.sums
        if low > self.widest * (1 + sums.less):
            return False
        far = reach(sums.noise, sums.weights(self, low, high), beta)
        divisor = sums.divisor
        return bool(self.most - low * divisor >= -far and self.least - high * divisor <= far)


def _divided(low: fmpq, high: fmpq) -> list[tuple[fmpq, fmpq]]:
    """A range of means in some ranges."""
    number = min(max(int(((high - low) * RANGES).ceil()), 1), MOST_RANGES)
    step = (high - low) / number
    return [(low + place * step, low + (place + 1) * step) for place in range(number)]


@dataclass(frozen=True)
class DrawnVariance(ABC):
    """Three noisy numbers of a column, and the domain. `sample` says that the divisor is n - 1,
    `root` that the answer is the root: the standard deviation.
    """

    one: Noisy
    two: Noisy
    three: Noisy
    lower: Fraction
    upper: Fraction
    step: Fraction
    sample: bool = False
    root: bool = False

    names: ClassVar[tuple[str, str, str]]
    """What records call the three numbers."""
    sums: ClassVar[type[Sums]]
    """What they are the sums of."""
    row: ClassVar[int]
    """What a row is in units of the squared width of the domain."""

    @property
    def noise(self) -> Noise:
        """That of each number."""
        return self.one.noise

    @property
    def value(self) -> Decimal:
        """The variance that the numbers give, or its root, rounded."""
        return self._written(self._scaled(self._sums.variance, up=False))

    def interval(self, beta: Fraction) -> Interval:
        """Holds it with probability at least 1 - beta: all that the numbers leave open."""
        least, most = self._sums.left_open(beta)
        return Interval(
            self._written(self._scaled(least, up=False)),
            self._written(self._scaled(most, up=True)),
        )

    @property
    def _sums(self) -> Sums:
        row = self.row * (self.upper - self.lower) ** 2 / self.one.unit
        return self.sums(
            self.one.drawn,
            self.two.drawn,
            self.three.drawn,
            self.noise,
            int(row),
            int(self.sample),
        )

    @property
    def _places(self) -> int:
        """Three digits beyond those of the step, or as many as tell a hundredth of the noise."""
        sums = self._sums
        width = float(self.upper - self.lower)
        noise = self.noise.spread / float(slow(max(sums.all, fmpq(sums.row))))
        size = noise * width if self.root else noise * width**2
        digits = decimal_places(self.step) or 0
        usual = digits if self.root else 2 * digits
        return max(usual + FINER, ceil(-log10(size / ROUNDED)))

    def _scaled(self, variance: Fraction, *, up: bool) -> int:
        """A variance of u as one of the column, or its root, in units of the last digit that is
        written; rounded down, or up.
        """
        exact = variance * (self.upper - self.lower) ** 2
        if not self.root:
            scaled = exact * Fraction(10) ** self._places
            return ceil(scaled) if up else floor(scaled)
        scaled = exact * Fraction(100) ** self._places
        if not up:
            return isqrt(floor(scaled))
        whole = ceil(scaled)
        root = isqrt(whole)
        return root if root * root == whole else root + 1

    def _written(self, scaled: int) -> Decimal:
        return as_decimal(Fraction(scaled, 10**self._places), self._places)

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        numbers = (self.one, self.two, self.three)
        return {
            **{name: each.to_fields() for name, each in zip(self.names, numbers, strict=True)},
            "lower": str(self.lower),
            "upper": str(self.upper),
            "step": str(self.step),
            "sample": self.sample,
            "root": self.root,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        one, two, three = (Noisy.from_fields(fields[name]) for name in cls.names)
        return cls(
            one,
            two,
            three,
            Fraction(fields["lower"]),
            Fraction(fields["upper"]),
            Fraction(fields["step"]),
            sample=fields["sample"],
            root=fields["root"],
        )


class VarianceFromEnds(DrawnVariance):
    """The sums of squared distances from both ends of the domain, and of twice their products."""

    names: ClassVar = ("squares", "products", "other_squares")
    sums: ClassVar = SumsFromEnds
    row: ClassVar = 1


class VarianceFromMiddle(DrawnVariance):
    """The sums of squared distances from the middle of the domain and of distances, and the number
    of rows.
    """

    names: ClassVar = ("middle_squares", "middle_distances", "middle_rows")
    sums: ClassVar = SumsFromMiddle
    row: ClassVar = SQUARE


def square_noise(steps: int, terms: Terms) -> tuple[int, Noise]:
    """Into how many parts a squared step is divided, and the noise of each of the three sums in
    these parts, on a domain of so many steps: both follow from public numbers.
    """
    parts = units_for(_square_noise(steps, 1, terms).spread)
    return parts, _square_noise(steps, parts, terms)


def _square_noise(steps: int, parts: int, terms: Terms) -> Noise:
    row = steps**2 * parts
    moved, squared = moved_squares(terms)
    return noise_of(terms, moved * row, squared * row**2)


def moved_squares(terms: Terms) -> tuple[Fraction, Fraction]:
    """By how much one person moves the three sums together, in all groups, and the sum of the
    squares of that, as multiples of the squared number of steps.

    From the ends, a row adds 1 in all, and one that is replaced takes as much away.
    """
    if counts_rows(terms):
        rows = most_rows(terms.protect)
        return Fraction(rows * MOVED_FROM_MIDDLE), Fraction(rows**2 * MOVED_FROM_MIDDLE_SQUARED)
    return moved_ends(terms.protect), moved_ends_squared(terms.protect)


class SquareBatch(Batch):
    """Statistics of the squares of a column."""

    def count(self, table: Countable, rows: Any) -> list[SquareTotal]:
        """How many cells count, the sum of their places, and that of the squares."""
        assert self.grid is not None
        return table.square_totals(self.column, self.grid, rows)


class Variance(Statistic):
    """The variance of a column, clamped to its domain: of all rows that count, divided by n."""

    title = "variance"
    name: ClassVar[str] = "variance"
    sample: ClassVar[bool] = False
    root: ClassVar[bool] = False
    fits: ClassVar[Fits] = "bounded"
    batch = SquareBatch
    needs_indexes: ClassVar = True

    def written(self) -> str:
        """As text."""
        return written(self.name, self.column)

    def fields(self) -> dict[str, Any]:
        """The column and its domain."""
        return {self.name: self.column, "domain": self.domain}

    def check_grid(self, column: str | None, grid: Grid) -> None:
        """Only numbers with public bounds have a private variance, and not too many of them."""
        check_total(self.title, column, grid)
        _check_steps(self.title, grid.last - grid.first)

    def check_domain(self) -> None:
        """The same before there is a table."""
        if self.domain is not None:
            _check_steps(self.title, self.domain.points - 1)

    def draw(self, counted: SquareTotal, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        """Three draws of noise."""
        assert grid is not None
        steps = grid.last - grid.first
        parts, noise = square_noise(steps, terms)
        kind: type[DrawnVariance] = VarianceFromEnds
        exact = _from_ends(counted, steps)
        if counts_rows(terms):
            kind = VarianceFromMiddle
            exact = _from_middle(counted, steps, rows_part(noise))
        unit = grid.step**2 / parts
        one, two, three = (
            Noisy(number * parts + drawn_noise(noise, coins), unit, noise) for number in exact
        )
        lower, upper = ends(grid)
        drawn = kind(one, two, three, lower, upper, grid.step, sample=self.sample, root=self.root)
        return released(self.title, drawn, terms, coins)

    def draw_fields(self, terms: Terms) -> dict[str, str]:
        """Which noise is drawn."""
        return additive_fields(terms)

    def cost(self, terms: Terms) -> Cost:
        """That of all draws together."""
        return additive_cost(terms)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        """For the mean and the variance with which the interval is longest, a mean at an end of the
        domain, and for as many rows as a group has, less what their number may be off by. Of a
        standard deviation, for one of 0, where the interval of a root is longest.
        """
        if isinstance(rows, Unknown):
            return rows
        assert self.domain is not None
        lower, upper, step = self.domain.bounds
        steps = int((upper - lower) / step)
        parts, noise = square_noise(steps, terms)
        group_rows = rows.rows // terms.groups
        kind: type[DrawnVariance] = VarianceFromEnds
        if counts_rows(terms):
            kind = VarianceFromMiddle
        row = kind.row * steps**2 * parts
        sums = kind.sums(0, 0, 0, noise, row, int(self.sample))
        share = _forecast(sums, group_rows, terms.beta)
        confidence = float(terms.confidence)
        found = share * (upper - lower) ** 2
        if self.root:
            found = Fraction(float(found) ** 0.5)
        return Reach(self.title, found, confidence, group_rows, terms.groups)


def _from_ends(counted: SquareTotal, steps: int) -> tuple[int, int, int]:
    """The sums of squared distances from the upper end, of twice the products of both distances,
    and of squared distances from the lower end, in squared steps.
    """
    products = counted.places * steps - counted.squares
    from_upper = counted.n * steps**2 - 2 * counted.places * steps + counted.squares
    return from_upper, 2 * products, counted.squares


def _from_middle(counted: SquareTotal, steps: int, rows: int) -> tuple[int, int, int]:
    """The sums from the middle of the domain, and the number of rows times what a row adds."""
    # Twice the distances from the middle, in steps: their sum, and that of their squares.
    distances = 2 * counted.places - counted.n * steps
    squares = 4 * counted.squares - 4 * counted.places * steps + counted.n * steps**2
    half = SQUARE // 2
    return (
        SQUARE * squares - half * counted.n * steps**2,
        DISTANCE * steps * distances,
        rows * counted.n * steps**2,
    )


def _forecast(sums: Sums, rows: int, beta: Fraction) -> Fraction:
    """How far the interval of a variance of u reaches to one side at most."""
    own = beta * (1 - MEANS_SHARE)
    noise = sums.noise
    most = ZERO
    for number in range(LOOKED_AT + 1):
        mean = fmpq(number, 2 * LOOKED_AT)
        place = MeanRange(sums, mean, mean, mean * (1 - mean), ZERO, ZERO)
        for variance in (ZERO, place.widest):
            most = max(most, reach(noise, sums.weights(place, variance, variance), own))
    # What the number of rows may be off by.
    fewer = reach(noise, [ONE, ONE, ONE], own) / sums.row
    left = max(rows - sums.less - fewer, ONE)
    mean_off = reach(noise, sums.mean_weights(ZERO, ZERO), beta * MEANS_SHARE) / (sums.row * left)
    # Ranges are rounded outward, and so are the ends.
    off = most * fmpq(ROUNDED + 2, ROUNDED) / (sums.row * left) + mean_off * mean_off
    return slow(min(off, sums.largest))


def _check_steps(title: str, steps: int) -> None:
    if steps >= MOST_STEPS:
        raise InputError(
            f"a {title} needs a domain of fewer than 2^62 steps, got {steps:,}; give a larger "
            "step, or nearer bounds"
        )


class StandardDeviation(Variance):
    """The root of the variance."""

    title = "standard deviation"
    name: ClassVar = "std"
    root: ClassVar = True


class SampleVariance(Variance):
    """The variance that estimates the one of whatever the rows were drawn from: divided by
    n - 1.
    """

    title = "sample variance"
    name: ClassVar = "sample_variance"
    sample: ClassVar = True


class SampleDeviation(SampleVariance):
    """The root of the sample variance."""

    title = "sample standard deviation"
    name: ClassVar = "sample_std"
    root: ClassVar = True


def variance(column: str, *, domain: Domain | None = None) -> Variance:
    """The variance of a column on a domain, divided by n."""
    return Variance(check_column(column), check_domain(domain))


def std(column: str, *, domain: Domain | None = None) -> StandardDeviation:
    """The standard deviation of a column on a domain: the root of its variance."""
    return StandardDeviation(check_column(column), check_domain(domain))


def sample_variance(column: str, *, domain: Domain | None = None) -> SampleVariance:
    """The variance of a column on a domain, divided by n - 1."""
    return SampleVariance(check_column(column), check_domain(domain))


def sample_std(column: str, *, domain: Domain | None = None) -> SampleDeviation:
    """The root of the sample variance of a column on a domain."""
    return SampleDeviation(check_column(column), check_domain(domain))


FORMS: Sequence[tuple[type[Variance], Any, str, tuple[str, ...]]] = (
    (
        Variance,
        variance,
        "How far values lie from their mean, squared, on average: divided by n.",
        ("VAR_POP",),
    ),
    (
        StandardDeviation,
        std,
        "The root of the variance: how far values lie from their mean.",
        ("STDDEV_POP",),
    ),
    (
        SampleVariance,
        sample_variance,
        "The variance of a sample: divided by n - 1.",
        ("VAR_SAMP", "VARIANCE"),
    ),
    (
        SampleDeviation,
        sample_std,
        "The root of the sample variance.",
        ("STDDEV_SAMP", "STDDEV"),
    ),
)

register_drawn("products", VarianceFromEnds)
register_drawn("middle_squares", VarianceFromMiddle)
for place, (kind, make, meaning, functions) in enumerate(FORMS):
    register_words(kind.title, explanation=CLAMPED)
    register(
        Form(
            name=kind.name,
            make=make,
            meaning=f"{meaning} Each value is clamped to the column's bounds.",
            parameters=(Parameter("column", "column", fits="bounded"),),
            sql=functions,
            examples=(f"{kind.name}(x)",),
            called=kind.title,
            family="spread",
            place=8 + place,
        )
    )
