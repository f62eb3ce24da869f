"""What holds for every table, searched for counterexamples by hypothesis."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import postri
from postri import AddOrRemoveRows, Depth, Domain, ReplaceRows, SeededCoins
from postri.domain import position
from postri.methods.method import Span
from postri.statistics.quantile import in_order, tightened
from proving import examples
from some_domains import DOMAINS, TIMES, answered


def numbers_of(answer: postri.Answer) -> tuple[Fraction, Fraction, Fraction]:
    """The value and the interval's two ends."""
    return position(answer.value), position(answer.interval.low), position(answer.interval.high)


quarters = st.integers(-400, 400).map(lambda number: number / 4)
ways = st.fixed_dictionaries(
    {
        "p": st.sampled_from(["0.5", "0.9", "1/3"]),
        "epsilon": st.sampled_from(["0.1", "1", "20"]),
        "method": st.sampled_from([Depth(), Depth(noise="gumbel")]),
        "protect": st.sampled_from([AddOrRemoveRows(1), ReplaceRows(2)]),
    }
)
seeds = st.integers(0, 10**6)


class TestEquivariance:
    """On a domain that the caller gives, shifting or scaling table and domain does the same to the
    answer.
    """

    @examples(60)
    @given(
        rows=st.lists(st.integers(-300, 300), max_size=40),
        shift=st.integers(-(10**15), 10**15),
        way=ways,
        seed=seeds,
    )
    def test_shifted_integers_shift_the_answer(self, rows, shift, way, seed):
        cells = np.array(rows, dtype=np.int64)
        # Readings bend at a distance that the value's own distance from 0 gives.
        way = {**way, "method": Depth(paces=(5,), knees=())}
        here = postri.quantile(cells, domain=Domain(-100, 100), coins=SeededCoins(seed), **way)
        there = postri.quantile(
            cells + shift, domain=Domain(shift - 100, shift + 100), coins=SeededCoins(seed), **way
        )
        assert numbers_of(there) == tuple(number + shift for number in numbers_of(here))

    @examples(60)
    @given(rows=st.lists(quarters, max_size=40), steps=st.integers(-50, 50), way=ways, seed=seeds)
    def test_shifted_floats_with_halves_shift_the_answer(self, rows, steps, way, seed):
        """Quarters on a step of one half: every other cell lies half-way between two points.

        An odd shift moves evenness with the grid.
        """
        cells, shift = np.array(rows, dtype=np.float64), steps / 2
        # Readings bend at a distance that the value's own distance from 0 gives.
        way = {**way, "method": Depth(paces=(5,), knees=())}
        here = postri.quantile(
            cells, domain=Domain(-50, 50, step="0.5"), coins=SeededCoins(seed), **way
        )
        moved = Domain(shift - 50, shift + 50, step="0.5")
        there = postri.quantile(cells + shift, domain=moved, coins=SeededCoins(seed), **way)
        assert numbers_of(there) == tuple(number + Fraction(shift) for number in numbers_of(here))

    @examples(60)
    @given(
        rows=st.lists(st.integers(-300, 300), max_size=40),
        factor=st.integers(1, 10**12),
        way=ways,
        seed=seeds,
    )
    def test_scaled_integers_scale_the_answer(self, rows, factor, way, seed):
        cells = np.array(rows, dtype=np.int64)
        here = postri.quantile(
            cells, domain=Domain(-100, 100, step=2), coins=SeededCoins(seed), **way
        )
        wide = Domain(-100 * factor, 100 * factor, step=2 * factor)
        there = postri.quantile(cells * factor, domain=wide, coins=SeededCoins(seed), **way)
        assert numbers_of(there) == tuple(number * factor for number in numbers_of(here))

    @examples(60)
    @given(rows=st.lists(quarters, max_size=40), power=st.integers(-20, 20), way=ways, seed=seeds)
    def test_scaled_floats_scale_the_answer(self, rows, power, way, seed):
        """By powers of two, which scale floats without rounding."""
        cells, factor = np.array(rows, dtype=np.float64), Fraction(2) ** power
        # Readings bend at a distance that the value's own distance from 0 gives.
        way = {**way, "method": Depth(paces=(5,), knees=())}
        here = postri.quantile(
            cells, domain=Domain(-50, 50, step="0.5"), coins=SeededCoins(seed), **way
        )
        scaled = Domain(-50 * factor, 50 * factor, step=factor / 2)
        there = postri.quantile(
            cells * float(factor), domain=scaled, coins=SeededCoins(seed), **way
        )
        assert numbers_of(there) == tuple(number * factor for number in numbers_of(here))

    @examples(30)
    @given(
        rows=st.lists(st.integers(0, 2_000), max_size=40),
        days=st.integers(-5_000, 5_000),
        way=ways,
        seed=seeds,
    )
    def test_shifted_dates_shift_the_answer(self, rows, days, way, seed):
        first, last = date(2020, 1, 1), date(2025, 1, 1)
        cells = np.datetime64("2020-01-01") + np.array(rows, dtype="m8[D]")
        here = postri.quantile(cells, domain=Domain(first, last), coins=SeededCoins(seed), **way)
        moved = Domain(first + timedelta(days), last + timedelta(days))
        there = postri.quantile(
            cells + np.timedelta64(days, "D"), domain=moved, coins=SeededCoins(seed), **way
        )
        assert there.value - here.value == there.interval.low - here.interval.low == timedelta(days)
        assert there.interval.high - here.interval.high == timedelta(days)


class TestOrderOfRows:
    """The order of the rows does not show."""

    @examples(60)
    @given(
        data=st.data(),
        rows=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), max_size=60),
        way=ways,
        seed=seeds,
    )
    def test_permuted_rows_give_the_same_answer(self, data, rows, way, seed):
        shuffled = data.draw(st.permutations(rows))
        one, other = (
            postri.quantile(np.array(cells, dtype=np.int64), coins=SeededCoins(seed), **way)
            for cells in (rows, shuffled)
        )
        assert one == other

    @examples(40)
    @given(rows=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40), way=ways, seed=seeds)
    def test_a_list_an_array_and_texts_give_the_same_numbers(self, rows, way, seed):
        sources = [
            np.array(rows, dtype=np.int64),
            rows,
            tuple(map(str, rows)),
            np.array([*rows, None], dtype=object),
        ]
        answers = [
            numbers_of(postri.quantile(source, coins=SeededCoins(seed), **way))
            for source in sources
        ]
        assert len(set(answers)) == 1


@st.composite
def views(draw, dtypes, **elements):
    """An array of such a dtype as somebody may hold it: strided, reversed, read-only, masked, or
    plain.
    """
    array = draw(hnp.arrays(draw(dtypes), st.integers(0, 30), **elements))
    look = draw(
        st.sampled_from(["plain", "reversed", "strided", "read-only", "masked", "big-endian"])
    )
    if look == "reversed":
        return array[::-1]
    if look == "strided":
        return np.repeat(array, 3)[1::3]
    if look == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    if look == "masked":
        return np.ma.array(array, mask=np.arange(len(array)) % 3 == 0)
    array.flags.writeable = look != "read-only"
    return array


WHOLE_NUMBERS = hnp.integer_dtypes() | hnp.unsigned_integer_dtypes() | hnp.boolean_dtypes()


class TestNoCrash:
    """Whatever the cells are, there is an answer."""

    @examples(100)
    @given(array=views(WHOLE_NUMBERS), domain=st.sampled_from([None, *DOMAINS]))
    def test_whole_numbers(self, array, domain):
        answered(array, domain)

    @examples(100)
    @given(array=views(hnp.floating_dtypes(sizes=(16, 32, 64))), domain=st.sampled_from(DOMAINS))
    @example(
        np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308]),
        Domain(-(10**300), 10**300, step=10**290),
    )
    def test_floats_with_nan_and_infinities(self, array, domain):
        answered(array, domain)

    @examples(40)
    @given(array=views(st.just(np.dtype(np.longdouble))), domain=st.sampled_from(DOMAINS))
    @example(np.array(["1e4000", "-1e4000", "1e-4000"], dtype=np.longdouble), Domain(0, 10))
    @example(np.longdouble(0.5) + np.longdouble(2) ** -60 * np.arange(-3, 4), Domain(0, 10))
    def test_long_floats(self, array, domain):
        answered(array, domain)

    @examples(80)
    @given(array=views(hnp.datetime64_dtypes(max_period="Y", min_period="as")))
    def test_dates_and_timestamps(self, array):
        answered(array, None)

    @examples(60)
    @given(data=st.data(), domain=st.sampled_from(TIMES))
    def test_dates_and_timestamps_on_a_domain(self, data, domain):
        assume(not domain.zoned)
        units = st.sampled_from(
            "YMWD" if domain.kind == "date" else ["h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
        )
        answered(data.draw(views(units.map(lambda unit: np.dtype(f"M8[{unit}]")))), domain)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "10s", "s", "ms", "us"])
def test_times_beyond_the_calendar_are_clamped_to_its_end(unit, sign):
    """As far as the unit goes, and half as far: NumPy's own conversions wrap around there."""
    for far in (2**63 - 1, 2**62 + 5):
        interval = postri.median(np.full(200, sign * far).view(f"M8[{unit}]"), epsilon=1).interval
        assert (interval.low_is_edge, interval.high_is_edge) == (sign < 0, sign > 0)


@pytest.mark.parametrize(("unit", "per_microsecond"), [("ns", 10**3), ("ps", 10**6), ("fs", 10**9)])
def test_an_interval_of_times_finer_than_a_microsecond_holds_them(unit, per_microsecond):
    """Two and a quarter microseconds lie between two whole ones."""
    cells = np.full(200, 9 * per_microsecond // 4).view(f"M8[{unit}]")
    interval = postri.median(cells, epsilon=1).interval
    assert interval.low <= datetime(1970, 1, 1, microsecond=2)
    assert interval.high >= datetime(1970, 1, 1, microsecond=3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [60, 100, 10**3, 10**6])
@pytest.mark.parametrize("rows", [1_000, 1_001])
def test_with_little_noise_an_interval_is_even_and_reaches_at_most_two_rows(rows, epsilon):
    """Where every value is one row, no lopsided shape may win by its bonus alone.

    Of an odd number of rows the middle one is the median by most definitions, not by all: an
    interval of it alone is bad, and drawn with a chance of beta.
    """
    for seed in range(20):
        answer = postri.median(range(rows), epsilon=epsilon, coins=SeededCoins(seed))
        below, above = answer.value - answer.interval.low, answer.interval.high - answer.value
        assert below == above and 1 - rows % 2 <= below <= 2


spans = (
    st.tuples(*[st.integers(-50, 50)] * 3)
    .map(sorted)
    .map(lambda ends: Span(ends[1], ends[0], ends[2]))
)


class TestSeveralQuantiles:
    """Larger quantiles have larger values, and no interval loses what it held."""

    drawn = st.lists(st.tuples(spans, st.fractions("0.01", "0.99")), min_size=1, max_size=8)

    @examples(80)
    @given(drawn=drawn)
    def test_values_are_sorted_and_each_interval_stays_its_own(self, drawn):
        before, ps = [span for span, _ in drawn], [p for _, p in drawn]
        after = in_order(before, ps)
        by_p = [span for _, span in sorted(zip(ps, after, strict=True), key=lambda pair: pair[0])]
        assert sorted(span.value for span in before) == [span.value for span in by_p]
        for old, new in zip(before, after, strict=True):
            assert new.low == min(old.low, new.value)
            assert new.high == max(old.high, new.value)

    @examples(80)
    @given(drawn=drawn, truths=st.lists(st.integers(-60, 60), min_size=8, max_size=8))
    def test_what_holds_at_once_is_tightened_and_still_holds(self, drawn, truths):
        """Whatever the quantiles are: if every interval held its own, every one still does."""
        ps = [p for _, p in drawn]
        order = sorted(range(len(ps)), key=lambda place: ps[place])
        quantiles = dict(zip(order, sorted(truths[: len(ps)]), strict=True))
        before = []
        for place, (span, _) in enumerate(drawn):
            low = min(span.low, quantiles[place])
            high = max(span.high, quantiles[place])
            before.append(Span(span.value, low, high))
        after = tightened(before, ps)
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            assert old.low <= new.low <= quantiles[place] <= new.high <= old.high
        by_p = [after[place] for place in order]
        assert [span.low for span in by_p] == sorted(span.low for span in by_p)
        assert [span.high for span in by_p] == sorted(span.high for span in by_p)

    @examples(80)
    @given(drawn=drawn)
    def test_what_contradicts_is_left_as_it_was_drawn(self, drawn):
        before, ps = [span for span, _ in drawn], [p for _, p in drawn]
        contradicts = any(
            one.low > other.high and p <= q
            for one, p in zip(before, ps, strict=True)
            for other, q in zip(before, ps, strict=True)
        )
        after = tightened(before, ps)
        assert all(span.low <= span.high for span in after)
        # Equal quantiles are put in some order, so only those that differ must contradict.
        if contradicts and len(set(ps)) == len(ps):
            assert after == before

    @examples(40)
    @given(
        rows=st.lists(st.integers(-100, 100), max_size=50),
        ps=st.lists(st.fractions("0.01", "0.99"), min_size=1, max_size=6),
        seed=seeds,
    )
    def test_answers_come_in_the_order_of_the_question(self, rows, ps, seed):
        found = postri.quantiles(rows, ps, epsilon=len(ps), coins=SeededCoins(seed))
        assert [answer.p for answer in found] == ps
        ordered = sorted(found, key=lambda answer: answer.p)
        assert [answer.value for answer in ordered] == sorted(answer.value for answer in found)
        assert found.epsilon == len(ps)

    def test_a_hundred_quantiles_are_answered(self):
        found = postri.quantiles(
            range(1_000), [Fraction(k, 101) for k in range(1, 101)], epsilon=100
        )
        assert len(found) == 100


class TestTable:
    """A table that is opened once answers like its source."""

    @examples(30)
    @given(rows=st.lists(st.integers(-50, 50), max_size=50), way=ways, other=ways, seed=seeds)
    def test_what_was_asked_before_does_not_show(self, rows, way, other, seed):
        table = postri.open(rows)
        postri.quantile(table, **other)
        assert postri.quantile(table, coins=SeededCoins(seed), **way) == postri.quantile(
            rows, coins=SeededCoins(seed), **way
        )
