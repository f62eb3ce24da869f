"""The variance and the standard deviation of a column, clamped to its domain.

Three numbers are drawn. With u from 0 to 1 for a cell's place between the ends of the domain, they
are the sums of (1-u)^2, 2u(1-u) and u^2: what a row adds to them is 1 in all, so each has the whole
epsilon (Theorem 29). The number of rows, the mean and the variance follow from them. The interval
holds the variances that they leave open, for all means that they leave open.

Of the population, which is all rows that count, the sum of squared distances from the mean is
divided by n; of a sample, by n - 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, isqrt, log10
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
from postri.noise import Noise
from postri.privacy import moved_ends, moved_ends_squared
from postri.statistics.additive import (
    additive_cost,
    additive_fields,
    check_total,
    drawn_noise,
    noise_of,
    released,
)
from postri.statistics.contrast import left_open, quick, reach, slow, spread_of, units_for
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

ZERO = fmpq(0)
ONE = fmpq(1)
HALF = fmpq(1, 2)


@dataclass(frozen=True)
class Sums:
    """The three noisy numbers: the sums of (1-u)^2, 2u(1-u) and u^2, in units of which `row` is
    what one row adds to them together. A variance is of u, and is divided by n - `less`.
    """

    lower: int
    between: int
    upper: int
    noise: Noise
    row: int
    less: int

    @property
    def all(self) -> int:
        """The number of rows, in these units."""
        return self.lower + self.between + self.upper

    @property
    def divisor(self) -> int:
        """What the sum of squared distances is divided by, in these units."""
        return self.all - self.less * self.row

    @property
    def distances(self) -> fmpq:
        """The sum of u."""
        return fmpq(2 * self.upper + self.between, 2)

    @property
    def largest(self) -> fmpq:
        """No variance is larger: that of two ends with as many rows each; of a sample of two rows,
        twice as much.
        """
        return fmpq(1 + self.less, 4)

    @property
    def variance(self) -> Fraction:
        """The one that the numbers give."""
        mean = min(max(self.distances / max(self.all, self.row), ZERO), ONE)
        # There is a variance only if there is a row.
        found = self.squares(mean) / max(self.divisor, self.row)
        most = mean * (1 - mean) * (1 + self.less)
        return slow(min(max(found, ZERO), most))

    def squares(self, mean: fmpq) -> fmpq:
        """The sum of (u - mean)^2."""
        return self.all * mean * mean - 2 * mean * self.distances + self.upper

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
            far = reach(self.noise, mean_weights(low, high), beta)
            return bool(distances - low * rows >= -far and distances - high * rows <= far)

        return left_open(ZERO, ONE, is_open, self._fine(rows))

    def _fine(self, rise: int) -> fmpq:
        """In how short a range of answers a number that rises so fast hardly changes."""
        return quick(spread_of(self.noise) / (FINENESS * rise))


def mean_weights(low: fmpq, high: fmpq) -> list[fmpq]:
    """The largest weights that the three numbers have where the mean is tested."""
    return [high, max(abs(HALF - low), abs(HALF - high)), 1 - low]


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
        far = reach(sums.noise, self.weights(low, high), beta)
        divisor = sums.divisor
        return bool(self.most - low * divisor >= -far and self.least - high * divisor <= far)

    def weights(self, low: fmpq, high: fmpq) -> list[fmpq]:
        """The largest weights that the three numbers have in these ranges: the sizes of what is
        left of their parts of (u - mean)^2 less the variance.
        """
        from_lower, from_upper = 1 - self.low, 1 - self.high
        return [
            max(self.high * self.high - low, high - self.low * self.low),
            self.widest + high,
            max(from_lower * from_lower - low, high - from_upper * from_upper),
        ]


def _divided(low: fmpq, high: fmpq) -> list[tuple[fmpq, fmpq]]:
    """A range of means in some ranges."""
    number = min(max(int(((high - low) * RANGES).ceil()), 1), MOST_RANGES)
    step = (high - low) / number
    return [(low + place * step, low + (place + 1) * step) for place in range(number)]


@dataclass(frozen=True)
class DrawnVariance:
    """The three noisy numbers of a column, and the domain. `sample` says that the divisor is n - 1,
    `root` that the answer is the root: the standard deviation.
    """

    one: Noisy
    products: Noisy
    other: Noisy
    lower: Fraction
    upper: Fraction
    step: Fraction
    sample: bool = False
    root: bool = False

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
        row = (self.upper - self.lower) ** 2 / self.one.unit
        return Sums(
            self.one.drawn,
            self.products.drawn,
            self.other.drawn,
            self.noise,
            int(row),
            int(self.sample),
        )

    @property
    def _places(self) -> int:
        """Three digits beyond those of the step, or as many as tell a hundredth of the noise."""
        sums = self._sums
        width = float(self.upper - self.lower)
        noise = self.noise.spread / max(sums.all, sums.row)
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
            scaled = exact * 10**self._places
            return ceil(scaled) if up else scaled.numerator // scaled.denominator
        scaled = exact * 100**self._places
        if not up:
            return isqrt(scaled.numerator // scaled.denominator)
        whole = ceil(scaled)
        root = isqrt(whole)
        return root if root * root == whole else root + 1

    def _written(self, scaled: int) -> Decimal:
        return as_decimal(Fraction(scaled, 10**self._places), self._places)

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "squares": self.one.to_fields(),
            "products": self.products.to_fields(),
            "other_squares": self.other.to_fields(),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "step": str(self.step),
            "sample": self.sample,
            "root": self.root,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """What `to_fields` wrote."""
        return cls(
            Noisy.from_fields(fields["squares"]),
            Noisy.from_fields(fields["products"]),
            Noisy.from_fields(fields["other_squares"]),
            Fraction(fields["lower"]),
            Fraction(fields["upper"]),
            Fraction(fields["step"]),
            sample=fields["sample"],
            root=fields["root"],
        )


def square_noise(steps: int, terms: Terms) -> tuple[int, Noise]:
    """Into how many parts a squared step is divided, and the noise of each of the three sums in
    these parts, on a domain of so many steps: both follow from public numbers.

    A row adds what the squared number of steps comes to, in all; one that is replaced takes as much
    away.
    """
    parts = units_for(_square_noise(steps, 1, terms).spread)
    return parts, _square_noise(steps, parts, terms)


def _square_noise(steps: int, parts: int, terms: Terms) -> Noise:
    row = steps**2 * parts
    return noise_of(
        terms, moved_ends(terms.protect) * row, moved_ends_squared(terms.protect) * row**2
    )


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
        crossed = counted.places * steps - counted.squares
        from_upper = counted.n * steps**2 - 2 * counted.places * steps + counted.squares
        one, products, other = (
            Noisy(exact * parts + drawn_noise(noise, coins), grid.step**2 / parts, noise)
            for exact in (from_upper, 2 * crossed, counted.squares)
        )
        lower = grid.base + grid.first * grid.step
        upper = grid.base + grid.last * grid.step
        drawn = DrawnVariance(
            one, products, other, lower, upper, grid.step, sample=self.sample, root=self.root
        )
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
        row = steps**2 * parts
        share = _forecast(noise, row, group_rows, terms.beta, int(self.sample))
        confidence = float(terms.confidence)
        found = share * (upper - lower) ** 2
        if self.root:
            found = Fraction(float(found) ** 0.5)
        return Reach(self.title, found, confidence, group_rows, terms.groups)


def _forecast(noise: Noise, row: int, rows: int, beta: Fraction, less: int) -> Fraction:
    """How far the interval of a variance of u reaches to one side at most."""
    own = beta * (1 - MEANS_SHARE)
    sums = Sums(0, 0, row, noise, row, less)
    most = ZERO
    for number in range(LOOKED_AT + 1):
        mean = fmpq(number, 2 * LOOKED_AT)
        place = MeanRange.of(sums, mean, mean)
        for variance in (ZERO, place.widest):
            most = max(most, reach(noise, place.weights(variance, variance), own))
    # Each of the three numbers may be off.
    fewer = reach(noise, [ONE, ONE, ONE], own) / row
    left = max(rows - less - fewer, ONE)
    mean_off = reach(noise, mean_weights(ZERO, ZERO), beta * MEANS_SHARE) / (row * left)
    # Ranges are rounded outward, and so are the ends.
    off = most * fmpq(ROUNDED + 2, ROUNDED) / (row * left) + mean_off * mean_off
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

register_drawn("products", DrawnVariance)
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
            place=8 + place,
        )
    )
