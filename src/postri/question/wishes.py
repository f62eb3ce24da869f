"""The least epsilon for a wish, and how wishes divide epsilon: from public numbers alone.

Forecasts fall as epsilon grows, so the least epsilon at which one is within its wish is found by a
search among those of three digits. Quantiles of one column may have a draw each, or follow from one
release; whichever takes less is taken. Where rhos add up, what is drawn with Gaussian noise needs a
part of the question's rho, and what is drawn otherwise a part of its epsilon: both parts follow
from one quadratic equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, inf, isqrt, log, log10

from postri.answer.forecast import ExpectedRows, Plan, Reach, Unknown
from postri.cost import rho_of
from postri.errors import InputError
from postri.exact import plain
from postri.methods.method import Method
from postri.statistics.statistic import Asked, Batch

# Epsilons of three digits: 900 of them in each power of ten, and that of index 0 is 1.
DIGITS = 3
FIRST = 100
IN_DECADE = 9 * FIRST
# From a millionth, below which nobody asks, to a thousand, above which nothing is protected.
LOWEST = -6 * IN_DECADE
HIGHEST = 3 * IN_DECADE
# Where the search starts, and by how much it strides if it must: widths go with 1/epsilon, nearly.
START = 0
STRIDE = Fraction(4)
MARGIN = Fraction(101, 100)
NEARLY_MARGIN = Fraction(1005, 1000)
LEAST_SLOPE = 0.1
# After so many interpolations one step halves what is left: forecasts of whole numbers have steps.
INTERPOLATIONS = 2
# How near two splits of epsilon are that are taken as equally good.
SPLIT_TOLERANCE = 0.01
# A ratio that is as good as none.
NEGLIGIBLE = 1e-6
ROOT_PARTS = 10**15


def epsilon_at(index: int) -> Fraction:
    """The epsilon of an index.

    >>> [str(epsilon_at(index)) for index in (-1, 0, 1, 900)]
    ['999/1000', '1', '101/100', '10']
    """
    power, place = divmod(index, IN_DECADE)
    return (FIRST + place) * _ten_to(power - DIGITS + 1)


def index_from(epsilon: Fraction) -> int:
    """The index of the least epsilon of three digits that is no less.

    >>> index_from(Fraction("0.9991")), index_from(Fraction("10.01"))
    (0, 901)
    """
    power = floor(log10(epsilon))
    if _ten_to(power) > epsilon:
        power -= 1
    elif _ten_to(power + 1) <= epsilon:
        power += 1
    digits = ceil(epsilon * _ten_to(DIGITS - 1 - power))
    return power * IN_DECADE + digits - FIRST


def _ten_to(power: int) -> Fraction:
    if power < 0:
        return Fraction(1, 10**-power)
    return Fraction(10**power)


def rounded_up(epsilon: Fraction) -> Fraction:
    """The least epsilon of three digits that is no less."""
    return epsilon_at(index_from(epsilon))


@dataclass(frozen=True)
class Wisher:
    """An aggregate with a wish, by its name; `asked` has all its terms but for epsilon."""

    name: str
    asked: Asked
    rows: ExpectedRows | Unknown

    def refusal(self, asked: Asked, epsilon: Fraction) -> InputError:
        """Why no epsilon will do, if not even this one does."""
        wish = self.asked.statistic.within
        assert wish is not None
        start = f"{self.asked.statistic.written()} cannot be within {wish.words}"
        furthest: Plan | Reach | None = None
        for forecast in asked.forecasts(self.rows).values():
            if isinstance(forecast, Unknown):
                return self.unknown()
            if furthest is None or wish.met_ratio(forecast) > wish.met_ratio(furthest):
                furthest = forecast
        assert furthest is not None
        if isinstance(furthest, Plan) and not furthest.enough:
            return InputError(
                f"{start}: {furthest.rows // furthest.groups:,} rows are too few for an interval "
                "that stays off the domain's edges"
            )
        reached = wish.reached_words(furthest)
        return InputError(f"{start}: it reaches {reached} even at epsilon {plain(epsilon)}")

    def unknown(self) -> InputError:
        """That its forecast is not known."""
        if isinstance(self.rows, Unknown):
            return InputError(
                f"the epsilon of {self.asked.statistic.written()} is not known from within alone: "
                f"tell {self.rows.missing} (expect)"
            )
        return InputError(
            f"{self.asked.terms.method.name} has no forecast, so no epsilon follows from within: "
            "give epsilon"
        )


@dataclass
class Draws:
    """What is paid for together: one aggregate, or all that follow from one release.

    `met` says that the wishes are to be met: an interval on the domain's edge is not within
    anything, and the least epsilon is found to all its digits.
    """

    batch: type[Batch]
    wishers: Sequence[Wisher]
    method: Method
    concentrated: bool
    met: bool
    _ratios: dict[int, float] = field(default_factory=dict)

    def at(self, epsilon: Fraction) -> Sequence[Asked]:
        """The aggregates on their terms, if they have this epsilon and no others are asked."""
        answers = [len(each.asked.statistic.suffixes) for each in self.wishers]
        asked = []
        for each, number in zip(self.wishers, answers, strict=True):
            share = Fraction(number, sum(answers))
            rho = rho_of(epsilon) * share if self.concentrated else None
            terms = replace(each.asked.terms, epsilon=epsilon * share, rho=rho)
            asked.append(replace(each.asked, terms=terms))
        return self.batch.by_method(asked, self.method)

    @property
    def shares_rho(self) -> bool:
        """Whether its noise is Gaussian: it needs a part of the question's rho."""
        return self.concentrated and self.at(Fraction(1))[0].cost.epsilon is None

    def ratio(self, index: int) -> float:
        """How far the interval that is furthest from its wish reaches, in parts of that."""
        if index not in self._ratios:
            worst = 0.0
            for each, asked in zip(self.wishers, self.at(epsilon_at(index)), strict=True):
                ratio = asked.ratio(each.rows, met=self.met)
                if ratio is None:
                    raise each.unknown()
                worst = max(worst, ratio)
            self._ratios[index] = worst
        return self._ratios[index]

    def least(self, limit: float = 1.0) -> int | None:
        """The index of the least epsilon with a ratio of at most `limit`; None if there is none."""
        met = [index for index, ratio in self._ratios.items() if ratio <= limit]
        meets = min(met, default=None)
        failed = [index for index, ratio in self._ratios.items() if ratio > limit]
        if meets is not None:
            failed = [index for index in failed if index < meets]
        fails = max(failed, default=None)
        steps = 0
        while meets is None or not self._is_least(meets, fails):
            if fails == HIGHEST:
                return None
            here = self._next(fails, meets, limit, steps)
            if self.ratio(here) <= limit:
                meets = here
            else:
                fails = here
            steps += 1
        return meets

    def _is_least(self, meets: int, fails: int | None) -> bool:
        """Whether nothing of interest lies between one epsilon that fails and one that does not."""
        if meets == LOWEST:
            return True
        if fails is None:
            return False
        if meets - fails == 1:
            return True
        return not self.met and epsilon_at(meets) <= MARGIN * epsilon_at(fails)

    def _next(self, fails: int | None, meets: int | None, limit: float, steps: int) -> int:
        """Where to look next, between one epsilon that fails and one that does not."""
        if fails is None and meets is None:
            return START
        if meets is None:
            assert fails is not None
            times = self._times(self.ratio(fails) / limit, steps)
            return min(max(index_from(epsilon_at(fails) * times), fails + 1), HIGHEST)
        if fails is None:
            times = self._times(limit / max(self.ratio(meets), NEGLIGIBLE), steps)
            return max(min(index_from(epsilon_at(meets) / times), meets - 1), LOWEST)
        return self._between(fails, meets, limit, steps)

    def _times(self, ratio: float, steps: int) -> Fraction:
        """By how much another epsilon is larger or smaller."""
        if ratio == inf or steps >= INTERPOLATIONS:
            return STRIDE
        return Fraction(ratio) * MARGIN

    def _between(self, fails: int, meets: int, limit: float, steps: int) -> int:
        above = self.ratio(fails)
        below = self.ratio(meets)
        middle = (fails + meets) // 2
        if above == inf or below <= 0 or steps % (INTERPOLATIONS + 1) == INTERPOLATIONS:
            return middle
        part = log(above / limit) / log(above / below)
        start = log(epsilon_at(fails))
        power = start + part * (log(epsilon_at(meets)) - start)
        found = index_from(Fraction(10 ** (power / log(10))))
        return min(max(found, fails + 1), meets - 1)


@dataclass(frozen=True)
class Needed:
    """What some draws need: the epsilon of each if no others are asked, and of all together."""

    draws: tuple[tuple[Draws, Fraction], ...]

    @property
    def total(self) -> Fraction:
        """The least epsilon of the question.

        A draw that shares the rho `total^2/2` gets a part of it that is in proportion to its part
        of epsilon. It needs `e^2/2`, so its part of epsilon is `e^2/total`, and the parts must
        add up to the total.
        """
        alone = self._alone
        if not self._squares:
            return alone
        root = ceil(_root(alone**2 + 4 * self._squares) * ROOT_PARTS)
        return rounded_up((alone + Fraction(root, ROOT_PARTS)) / 2)

    @property
    def _alone(self) -> Fraction:
        parts = (epsilon for draws, epsilon in self.draws if not draws.shares_rho)
        return sum(parts, start=Fraction(0))

    @property
    def _squares(self) -> Fraction:
        parts = (epsilon**2 for draws, epsilon in self.draws if draws.shares_rho)
        return sum(parts, start=Fraction(0))

    def divided(self, total: Fraction) -> dict[str, Fraction]:
        """The part of each aggregate in a total, by name."""
        weights = {}
        for draws, epsilon in self.draws:
            weight = epsilon
            if draws.shares_rho:
                weight = epsilon**2 / self.total
            answers = {each.name: len(each.asked.statistic.suffixes) for each in draws.wishers}
            for name, number in answers.items():
                weights[name] = weight * Fraction(number, sum(answers.values()))
        whole = sum(weights.values(), start=Fraction(0))
        return {name: weight / whole * total for name, weight in weights.items()}

    def __add__(self, other: Needed) -> Needed:
        return Needed((*self.draws, *other.draws))


@dataclass
class Ways:
    """The ways in which statistics of one column may be drawn, each with what is paid together."""

    ways: Sequence[Sequence[Draws]]

    def needed(self, limit: float = 1.0) -> Needed:
        """What the cheapest way needs; InputError if none will do."""
        found = []
        for way in self.ways:
            indexes = [draws.least(limit) for draws in way]
            known = tuple(
                (draws, epsilon_at(index))
                for draws, index in zip(way, indexes, strict=True)
                if index is not None
            )
            if len(known) == len(way):
                found.append(Needed(known))
        if not found:
            raise self._refusal(limit)
        return min(found, key=lambda needed: needed.total)

    def _refusal(self, limit: float) -> InputError:
        """Of the first wish that cannot be met."""
        most = epsilon_at(HIGHEST)
        draws = next(each for each in self.ways[0] if each.least(limit) is None)
        for each, asked in zip(draws.wishers, draws.at(most), strict=True):
            ratio = asked.ratio(each.rows, met=draws.met)
            if ratio is None or ratio > limit:
                return each.refusal(asked, most)
        raise AssertionError("unreachable")


def least_epsilons(
    together: Sequence[tuple[type[Batch], Sequence[Wisher]]],
    *,
    fixed: bool,
    concentrated: bool,
    least: Fraction = Fraction(0),
) -> dict[str, Fraction]:
    """For each aggregate the least epsilon at which its forecast is within its wish, by name.

    `together` are the aggregates that are answered from the same counts. All of them cost `least`
    at least.
    """
    ways = [
        _ways(batch, wishers, fixed=fixed, concentrated=concentrated, met=True)
        for batch, wishers in together
    ]
    needed = _needed(ways, 1.0)
    return needed.divided(max(needed.total, least))


def divided_epsilons(
    together: Sequence[tuple[type[Batch], Sequence[Wisher]]],
    epsilon: Fraction,
    *,
    fixed: bool,
    concentrated: bool,
) -> dict[str, Fraction]:
    """An epsilon divided so that the one that is furthest from its wish is as near as it can be.

    All wishes are made wider or narrower by one factor, the least with which what they need
    together is no more than epsilon.
    """
    ways = [
        _ways(batch, wishers, fixed=fixed, concentrated=concentrated, met=False)
        for batch, wishers in together
    ]
    low, high = _bracket(ways, epsilon)
    best = _needed(ways, high)
    while best.total > epsilon:
        # What is rounded up may be a little more.
        high *= 2
        best = _needed(ways, high)
    # What is needed goes with 1/factor, nearly: by how much the total falls between both ends.
    slope = 1.0
    while log(high / low) > SPLIT_TOLERANCE and best.total < epsilon / MARGIN:
        factor = high * float(best.total / epsilon * NEARLY_MARGIN) ** (1 / slope)
        if not low < factor < high:
            factor = (low * high) ** 0.5
        needed = _needed(ways, factor)
        slope = log(needed.total / best.total) / log(high / factor)
        if needed.total > epsilon:
            low = factor
        else:
            best = needed
            high = factor
        slope = max(slope, LEAST_SLOPE)
    return best.divided(epsilon)


def _needed(ways: Sequence[Ways], factor: float) -> Needed:
    """What all need together, if each wish is so many times as wide."""
    needed = Needed(())
    for each in ways:
        needed += each.needed(factor)
    return needed


def _bracket(ways: Sequence[Ways], epsilon: Fraction) -> tuple[float, float]:
    """Between which factors the best one lies: with an even division all do as well as the one that
    is furthest then, and none does better than with the whole epsilon.
    """
    draws = [each for way in ways for each in way.ways[0]]
    even = min(max(index_from(epsilon / len(draws)) - 1, LOWEST), HIGHEST)
    whole = min(max(index_from(epsilon), LOWEST), HIGHEST)
    high = max(each.ratio(even) for each in draws)
    low = max(min(max(each.ratio(whole) for each in way) for way in each.ways) for each in ways)
    return max(low, NEGLIGIBLE), max(high, 2 * NEGLIGIBLE)


def _ways(
    batch: type[Batch],
    wishers: Sequence[Wisher],
    *,
    fixed: bool,
    concentrated: bool,
    met: bool,
) -> Ways:
    ways = []
    for method in batch.methods([each.asked for each in wishers], fixed=fixed):
        paid: list[Sequence[Wisher]] = [[each] for each in wishers]
        if method.shared:
            paid = [wishers]
        ways.append([Draws(batch, each, method, concentrated, met) for each in paid])
    return Ways(ways)


def _root(number: Fraction) -> Fraction:
    """The square root, rounded up."""
    scaled = ceil(number * ROOT_PARTS**2)
    return Fraction(isqrt(scaled) + 1, ROOT_PARTS)
