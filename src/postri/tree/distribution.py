"""What users get of a released tree: every quantile, share, count and histogram, for nothing more.

Nothing here sees the table. Each answer follows from the noisy counts that were released, so it
costs no budget, whatever and however often is asked (Theorem 22).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from postri.answer import Answer, Answers, Result
from postri.answer.bins import ENDS, Bin
from postri.answer.drawn import QUARTILES, Interval, range_between
from postri.answer.forms import json_text, read_sent, sent_answer
from postri.answer.words import JOINT, line, name
from postri.answer.words import shown as in_words
from postri.domain import Point, kind_of, position, read_point
from postri.errors import InputError
from postri.exact import Number, as_decimal, decimal_places, shown
from postri.grid import Grid
from postri.privacy import (
    Spend,
    check_outer,
    check_share,
    check_shares,
    protect_fields,
    read_protect,
)
from postri.tree.drawn_tree import DrawnTree
from postri.tree.estimates import Estimate
from postri.tree.shape import bar_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORM = 1
# Questions with more points or edges than this are refused.
MOST_POINTS = 10_000
# How many bars a histogram has if nobody says.
USUAL_BARS = 50
# The quantiles that a release is made for, and how many digits a share has.
PERCENTILES = tuple(Fraction(k, 100) for k in range(1, 100))
DIGITS = 6
# At how many quantiles the mean of those between two is looked at, and how many digits it has
# beyond those of the grid's step.
LEVELS = 256
FINER = 3
# How many times the ends of a share's interval are halved.
HALVINGS = 30


class Stretch(NamedTuple):
    """Whole nodes of a tree, from one boundary up to another, and the part of beta that a statement
    about their rows has: it depends on what was drawn which nodes they are.
    """

    start: int
    end: int
    chance: Fraction


@dataclass(frozen=True, eq=False)
class Distribution:
    """The whole distribution of a column, released once.

    Every method answers from the release alone: nothing more is spent. Intervals hold with the
    probability `confidence` of the release unless another one is asked for, which is free too.

    >>> import postri
    >>> pay = postri.distribution(range(10_000), epsilon=1, coins=postri.SeededCoins(7))
    >>> 4_999 in pay.median.interval, pay.quantile(0.9).epsilon
    (True, Fraction(0, 1))
    """

    answer: Answer

    def __post_init__(self) -> None:
        if not isinstance(self.answer.drawn, DrawnTree):
            raise InputError("this answer is no release of a distribution; ask for one")

    @property
    def drawn(self) -> DrawnTree:
        """What was released."""
        assert isinstance(self.answer.drawn, DrawnTree)
        return self.answer.drawn

    @property
    def grid(self) -> Grid:
        """The grid of the column."""
        return self.drawn.grid

    @property
    def epsilon(self) -> Fraction:
        """What the release cost."""
        return self.answer.epsilon

    @property
    def spend(self) -> Spend:
        """What the release cost, in full."""
        return self.answer.spend

    @property
    def confidence(self) -> float:
        """The probability with which an interval holds, if no other is asked for."""
        return self.answer.confidence

    @property
    def population(self) -> str:
        """The rows that it is about, in words."""
        return self.answer.population

    @property
    def boundaries(self) -> list[Point]:
        """The finest boundaries of the release: a count or a share between two of them is told as
        well as it can be; one at another point has a wider interval.
        """
        inner = [node.first for node in self.drawn.finest()[1:]]
        return [self.grid.value(index) for index in inner]

    @property
    def median(self) -> Answer:
        """The median."""
        return self.quantile(Fraction(1, 2))

    def quantile(self, p: Number, *, confidence: Number | None = None) -> Answer:
        """The p-quantile."""
        share = check_share(p, "p")
        sure = self._sure(confidence)
        interval = self.drawn.interval_of(share, 1 - sure)
        return self._answer("quantile", self.drawn.value_of(share), interval, sure, p=share)

    def quantiles(
        self,
        ps: Sequence[Number],
        *,
        confidence: Number | None = None,
        simultaneous: bool = False,
    ) -> Answers:
        """Several quantiles, in the order of `ps`: values do not fall as the quantile rises, and no
        end lies beyond that of a larger quantile. With `simultaneous`, all intervals hold at once.
        """
        checked = check_shares(ps, "ps")
        _check_number(len(checked))
        sure = self._sure(confidence)
        beta = 1 - sure
        notes: tuple[str, ...] = ()
        if simultaneous:
            beta /= len(checked)
            notes = (JOINT,)
        order = sorted(range(len(checked)), key=lambda place: checked[place])
        # All at once: that is quicker.
        self.drawn.tree.intervals(checked, [beta] * len(checked))
        found = {place: self.drawn.interval_of(checked[place], beta) for place in order}
        values = sorted(self.drawn.value_of(checked[place]) for place in order)
        lows = list(accumulate((found[place].low for place in reversed(order)), min))[::-1]
        highs = list(accumulate((found[place].high for place in order), max))
        answers = {}
        for place, value, low, high in zip(order, values, lows, highs, strict=True):
            interval = replace(
                found[place],
                low=min(low, value),
                high=max(high, value),
                low_is_edge=min(low, value) == self._first,
                high_is_edge=max(high, value) == self._last,
            )
            answers[place] = self._answer(
                "quantile", value, interval, sure, p=checked[place], notes=notes
            )
        return Answers([answers[place] for place in range(len(checked))])

    def table(self, ps: Sequence[Number], *, confidence: Number | None = None) -> Result:
        """Several quantiles as a table, the smallest first."""
        answers = self.quantiles(sorted(check_shares(ps, "ps")), confidence=confidence)
        groups = [((name(answer.p or Fraction(0)),), [answer]) for answer in answers]
        return Result(("quantile",), ("value",), groups)

    def trimmed_mean(self, p: Number, *, confidence: Number | None = None) -> Answer:
        """The mean of a column of numbers without a share p of its rows at each end."""
        return self._middle("trimmed mean", p, Fraction(0), confidence)

    def winsorized_mean(self, p: Number, *, confidence: Number | None = None) -> Answer:
        """The mean of a column of numbers in which a share p of the rows at each end is moved
        inwards, to the quantile there.
        """
        return self._middle("winsorized mean", p, check_outer(p), confidence)

    def iqr(self, *, confidence: Number | None = None) -> Answer:
        """The interquartile range of a column of numbers: its third quartile less its first."""
        self._check_numbers("interquartile range")
        sure = self._sure(confidence)
        quartiles = self.quantiles(QUARTILES, confidence=sure, simultaneous=True)
        first, third = quartiles
        interval = range_between(first.interval, third.interval)
        value = third.value - first.value
        return self._answer("interquartile range", value, interval, sure)

    def _middle(
        self, title: str, p: Number, at_ends: Fraction, confidence: Number | None
    ) -> Answer:
        """The mean of the quantiles from p to 1 - p, of which those at both ends count for a share
        of the rows besides: all their intervals hold at once (Theorem 38).
        """
        self._check_numbers(title)
        outer = check_outer(p)
        sure = self._sure(confidence)
        ps = [outer + (1 - 2 * outer) * Fraction(k, LEVELS) for k in range(LEVELS + 1)]
        answers = self.quantiles(ps, confidence=sure, simultaneous=True)
        values, lows, highs = (
            [position(each) for each in told]
            for told in (
                [answer.value for answer in answers],
                [answer.interval.low for answer in answers],
                [answer.interval.high for answer in answers],
            )
        )

        def mean(inner: Sequence[Fraction], ends: Sequence[Fraction]) -> Fraction:
            middle = sum(inner, start=Fraction(0)) / len(inner)
            return (1 - 2 * at_ends) * middle + at_ends * (ends[0] + ends[-1])

        # Between two levels a quantile is no lower than at the one, no higher than at the other.
        low, high = mean(lows[:-1], lows), mean(highs[1:], highs)
        digits = (decimal_places(self.grid.step) or 0) + FINER
        interval = Interval(
            _to_digits(low, digits, floor),
            _to_digits(high, digits, ceil),
            answers[0].interval.low_is_edge,
            answers[-1].interval.high_is_edge,
        )
        value = min(max(mean(values, values), low), high)
        return self._answer(title, _to_digits(value, digits, round), interval, sure)

    def _check_numbers(self, title: str) -> None:
        if self.grid.kind != "number":
            raise InputError(
                f"there is no {title} of a column of {self.grid.kind}s; ask for its quantiles"
            )

    def share(self, *, below: Any, confidence: Number | None = None) -> Answer:
        """The share of the rows that lie below a point of the domain."""
        sure = self._sure(confidence)
        low, high = self._indexes(below, "below")
        tree = self.drawn.tree
        lower, upper = tree.located(low), tree.located(high)
        beta = 1 - sure
        value = (
            _ratio(lower.below_low, lower.all_rows) + _ratio(upper.below_high, upper.all_rows)
        ) / 2
        chances = [float(beta / 2 * each.chance) for each in (lower, upper)]
        least = _end_of_share(lower.below_low, lower.all_rows, chances[0], value, 0.0)
        most = _end_of_share(upper.below_high, upper.all_rows, chances[1], value, 1.0)
        interval = Interval(_written(least, floor), _written(most, ceil))
        words = f"share below {words_of(below)}"
        return self._answer(words, _written(value, round), interval, sure)

    def count(
        self, low: Any = None, high: Any = None, *, confidence: Number | None = None
    ) -> Answer:
        """How many rows lie from `low` on and below `high`; without an end, all rows to that side.

        The last point of the domain counts as below itself: rows there may lie beyond it.
        """
        sure = self._sure(confidence)
        value, interval = self._count(low, high, 1 - sure)
        return self._answer(_count_words(low, high), value, interval, sure)

    def histogram(
        self,
        edges: int | Sequence[Any] = USUAL_BARS,
        *,
        confidence: Number | None = None,
        simultaneous: bool = False,
    ) -> Result:
        """How many rows lie between each two edges, which go from low to high; a number of bars
        divides a domain that was given evenly.
        """
        sure = self._sure(confidence)
        ends = self._edges(edges)
        beta = 1 - sure
        notes: tuple[str, ...] = ()
        if simultaneous:
            beta /= len(ends) - 1
            notes = (JOINT,)
        groups = []
        for number, (low, high) in enumerate(pairwise(ends)):
            value, interval = self._count(low, high, beta)
            answer = self._answer("histogram", value, interval, sure, notes=notes)
            closed = self._place(high, "an edge") == self.grid.last
            own = Bin(low, high, number, closed=closed)
            groups.append(((low, high), [replace(answer, bin=own)]))
        return Result(ENDS, ("count",), groups)

    def cdf(
        self,
        points: Sequence[Any],
        *,
        confidence: Number | None = None,
        simultaneous: bool = False,
    ) -> Result:
        """The share of the rows that lie below each point."""
        listed = _listed(points, "points")
        sure = self._sure(confidence)
        each = sure
        if simultaneous:
            each = 1 - (1 - sure) / len(listed)
        groups = []
        for point in listed:
            answer = self.share(below=point, confidence=each)
            if simultaneous:
                answer = replace(answer, confidence=float(sure), notes=(*answer.notes, JOINT))
            groups.append(((point,), [answer]))
        return Result(("below",), ("share",), groups)

    def plot(self, ax: Axes | None = None, *, bars: bool = False, title: str | None = None) -> Axes:
        """Draw the cumulative curve with its band, or a histogram's bars with whiskers. Needs the
        extra `plot`.
        """
        from postri.answer.picture import draw_curve

        if bars:
            return self.histogram().plot(ax=ax, title=title)
        return draw_curve(self.quantiles(PERCENTILES), self.epsilon, ax, title)

    def to_json(self) -> str:
        """The release as JSON, from which `from_json` makes it again."""
        return json_text(
            {
                "form": FORM,
                "protect": protect_fields(self.answer.protect),
                "answer": dict(sent_answer(self.answer)),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote; InputError if the text is of another form."""
        try:
            fields = json.loads(text)
            if fields["form"] != FORM:
                raise ValueError("another form")
            answer = read_sent(fields["answer"], read_protect(fields["protect"]))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
            raise InputError(
                "the text is no distribution; give what Distribution.to_json wrote"
            ) from None
        return cls(answer)

    def __str__(self) -> str:
        return f"distribution: {line(self.answer)}"

    def _repr_html_(self) -> str:
        from postri.answer.notebook import curve_html

        return curve_html(self.drawn.shown_quantiles(self.answer), str(self))

    @property
    def _first(self) -> Point:
        return self.grid.low_end(self.grid.first)

    @property
    def _last(self) -> Point:
        return self.grid.high_end(self.grid.last)

    def _sure(self, confidence: Number | None) -> Fraction:
        if confidence is None:
            return check_share(self.answer.confidence, "confidence")
        return check_share(confidence, "confidence")

    def _answer(
        self,
        statistic: str,
        value: Any,
        interval: Interval,
        sure: Fraction,
        *,
        p: Fraction | None = None,
        notes: tuple[str, ...] = (),
    ) -> Answer:
        """What follows from the release costs nothing more."""
        spend = self.spend
        release = spend.release or spend.rho or spend.epsilon
        rho = None
        if spend.rho is not None:
            rho = Fraction(0)
        return replace(
            self.answer,
            value=value,
            interval=interval,
            confidence=float(sure),
            spend=Spend(Fraction(0), Fraction(0), rho, release),
            p=p,
            statistic=statistic,
            drawn=None,
            notes=(*self.answer.notes, *notes),
        )

    def _indexes(self, point: Any, name: str) -> tuple[int, int]:
        """Between which grid indexes the rows below a point end: one, unless cells are rounded and
        some of those next to the point may have come from either side.
        """
        place = self._place(point, name)
        grid = self.grid
        if not grid.first < place <= grid.last:
            raise InputError(
                f"{name} must lie inside the domain, above {grid.value(grid.first)} and up to "
                f"{grid.value(grid.last)}, got {shown(point)}: cells beyond are counted as on its "
                "edge"
            )
        if not grid.rounded:
            return ceil(place), ceil(place)
        middle = place + Fraction(1, 2)
        low, high = floor(middle), ceil(middle)
        if low == high and low % 2 == 1:
            # The point lies half-way, and cells there went down, to the even index: they are not
            # below it.
            low -= 1
        return low, high

    def _place(self, point: Any, name: str) -> Fraction:
        """Where a point lies, in steps of the grid."""
        grid = self.grid
        try:
            # A domain reads numbers, texts, dates and times; its own rules need a second bound.
            bound = read_point(point, name)
            if kind_of(bound) != grid.kind:
                raise InputError("another kind")
        except InputError:
            raise InputError(
                f"{name} must be a {grid.kind} like those of the column, got {shown(point)}"
            ) from None
        return (position(bound) - grid.base) / grid.step

    def _count(self, low: Any, high: Any, beta: Fraction) -> tuple[int, Interval]:
        """How many rows lie between two points, and the interval of that."""
        least, most = self._range(low, high)
        inner, inner_reach = self._between(least, beta)
        outer, outer_reach = inner, inner_reach
        if most != least:
            outer, outer_reach = self._between(most, beta)
        bottom = max(0, ceil(inner - inner_reach))
        top = max(bottom, floor(outer + outer_reach))
        value = min(max(round((inner + outer) / 2), bottom), top)
        return value, Interval(bottom, top)

    def _range(self, low: Any, high: Any) -> tuple[Stretch, Stretch]:
        """The narrowest and the widest stretch of whole tree nodes that the rows between two points
        may fill.
        """
        grid = self.grid
        from_low, from_high = grid.first, grid.first
        to_low, to_high = grid.last + 1, grid.last + 1
        if low is not None and self._place(low, "low") > grid.first:
            from_low, from_high = self._indexes(low, "low")
        if high is not None and self._place(high, "high") < grid.last:
            to_low, to_high = self._indexes(high, "high")
        if low is not None and high is not None:
            if self._place(low, "low") >= self._place(high, "high"):
                raise InputError(f"low must be below high, got {shown(low)} and {shown(high)}")
            if from_low >= to_high:
                # No cell can lie between them.
                nothing = Stretch(from_low, from_low, Fraction(1))
                return nothing, nothing
        tree = self.drawn.tree
        start, end = tree.located(from_low), tree.located(to_high)
        inner_start, inner_end = tree.located(from_high), tree.located(to_low)
        return (
            Stretch(
                inner_start.high_index, inner_end.low_index, inner_start.chance * inner_end.chance
            ),
            Stretch(start.low_index, end.high_index, start.chance * end.chance),
        )

    def _between(self, stretch: Stretch, beta: Fraction) -> tuple[float, float]:
        """The rows between two boundaries of the tree: an estimate, and how far it may be off."""
        if stretch.start >= stretch.end:
            return 0.0, 0.0
        tree = self.drawn.tree
        start, end = (tree.located(index).below_low for index in (stretch.start, stretch.end))
        difference = end.minus(start)
        reach = difference.noise.reach(float(beta / 2 * stretch.chance)) + difference.rounding
        return difference.value, reach

    def _edges(self, edges: object) -> list[Any]:
        if isinstance(edges, int) and not isinstance(edges, bool):
            if not 1 <= edges <= MOST_POINTS:
                raise InputError(f"a histogram has 1 to {MOST_POINTS:,} bars, got {edges}")
            return self._even_edges(edges)
        listed = _listed(edges, "edges")
        if len(listed) < 2:
            raise InputError("a histogram needs at least two edges, such as [0, 10, 100]")
        places = [self._place(edge, "an edge") for edge in listed]
        for place, edge in zip(places, listed, strict=True):
            if not self.grid.first <= place <= self.grid.last:
                raise InputError(
                    f"an edge must lie inside the domain, {self.grid.value(self.grid.first)} to "
                    f"{self.grid.value(self.grid.last)}, got {shown(edge)}"
                )
        if any(one >= other for one, other in pairwise(places)):
            raise InputError("edges must rise, each above the one before it")
        return listed

    def _even_edges(self, bars: int) -> list[Any]:
        """Evenly spaced points of a given domain. They are public: were they chosen by what was
        drawn, intervals would hold less often than they say.
        """
        grid = self.grid
        if grid.anchor is not None:
            raise InputError(
                "a default domain has no edges of its own; give those of the bars, such as "
                "histogram([0, 10_000, 50_000])"
            )
        return [grid.value(index) for index in bar_edges(grid, bars)]


def _ratio(below: Estimate, rows: Estimate) -> float:
    """A share, by two estimates."""
    if rows.value <= 0:
        return 0.5
    return min(max(below.value / rows.value, 0.0), 1.0)


def _end_of_share(
    below: Estimate, rows: Estimate, chance: float, start: float, end: float
) -> float:
    """The share nearest to `start` from which on, up to `end`, all are surely wrong; `end` if none
    is.

    A share p is wrong if the rows below, less p times all rows, are more than noise explains
    (Theorem 25).
    """
    kept, left_out = start, end
    if not _surely_wrong(below, rows, chance, end, end):
        return end
    for _ in range(HALVINGS):
        middle = (kept + left_out) / 2
        if _surely_wrong(below, rows, chance, middle, end):
            left_out = middle
        else:
            kept = middle
    return left_out


def _surely_wrong(below: Estimate, rows: Estimate, chance: float, share: float, end: float) -> bool:
    """Whether one tilt tells of a share, and of the end too, that it is wrong: then so are all
    between.
    """
    one = below.less(share, rows)
    other = below.less(end, rows)
    sign = 1.0
    if end == 1.0:
        sign = -1.0
    return one.noise.tilted_together(
        sign * one.value - one.rounding, other.noise, sign * other.value - other.rounding, chance
    )


def _count_words(low: Any, high: Any) -> str:
    """What a count counts."""
    words = "count"
    if low is not None:
        words += f" from {words_of(low)}"
    if high is not None:
        words += f" to below {words_of(high)}"
    return words


def words_of(point: Any) -> str:
    """A point as it was given, as people write it."""
    if isinstance(point, str):
        return point
    return in_words(read_point(point, "a point"))


def _listed(points: object, name: str) -> list[Any]:
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise InputError(f"{name} must be a list, such as [0, 10, 100], got {shown(points)}")
    listed = list(points)
    if not listed:
        raise InputError(f"{name} must hold at least one point, got none")
    _check_number(len(listed))
    return listed


def _check_number(number: int) -> None:
    if number > MOST_POINTS:
        raise InputError(f"at most {MOST_POINTS:,} points can be asked for at once, got {number:,}")


def _written(share: float, rounded: Callable[[float], int]) -> Any:
    """A share with some digits, rounded this way."""
    return as_decimal(Fraction(rounded(share * 10**DIGITS), 10**DIGITS), DIGITS)


def _to_digits(number: Fraction, digits: int, rounded: Callable[[Fraction], int]) -> Any:
    """A number with some digits, rounded this way."""
    return as_decimal(Fraction(rounded(number * 10**digits), 10**digits), digits)
