"""What an answer says: in a line, in a paragraph, as data, in a notebook and in a picture."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.markers import CARETLEFTBASE, CARETRIGHTBASE

import postri
from postri import (
    AddOrRemoveRows,
    Answer,
    Answers,
    Depth,
    Domain,
    Interval,
    ReplaceRows,
    SeededCoins,
    Spend,
)
from result_columns import ANSWER_KEYS

SALARY = Answer(
    value=41_300,
    interval=Interval(40_900, 41_850),
    confidence=0.95,
    spend=Spend(Fraction(3, 10), Fraction(1, 5)),
    protect=AddOrRemoveRows(1),
    method="depth",
    p=Fraction(1, 2),
)
EDGE = replace(SALARY, interval=Interval(0, 41_850, low_is_edge=True))
WHOLE = replace(SALARY, interval=Interval(0, 10**6, low_is_edge=True, high_is_edge=True))


def rows_named(words: str) -> int:
    """The number of rows that advice names: "about 1,200 rows"."""
    return int(re.search(r"about ([\d,]+) rows", words)[1].replace(",", ""))


class TestLine:
    """str(answer): value, interval, confidence, what is protected."""

    def test_it_is_one_line_with_all_that_counts(self):
        for part in (
            "median",
            "41,300",
            "40,900",
            "41,850",
            "95%",
            "adding or removing any one row",
            "epsilon 0.5",
        ):
            assert part in str(SALARY)
        assert "\n" not in str(SALARY)

    def test_an_end_on_the_edge_is_here_or_beyond(self):
        assert "0 or below and 41,850 with" in str(EDGE)
        upper = replace(SALARY, interval=Interval(40_900, 10**6, high_is_edge=True))
        assert "40,900 and 1,000,000 or above" in str(upper)

    def test_a_whole_domain_claims_no_bounds(self):
        assert "anywhere in the domain" in str(WHOLE)

    @pytest.mark.parametrize(
        ("p", "name"),
        [
            ("1/2", "median"),
            ("0.9", "90th percentile"),
            ("0.01", "1st percentile"),
            ("0.125", "12.5th percentile"),
            ("1/3", "quantile 1/3"),
        ],
    )
    def test_the_quantile_has_its_name(self, p, name):
        assert str(replace(SALARY, p=Fraction(p))).startswith(f"{name} 41,300")

    def test_several_rows_per_person_are_named(self):
        assert "protects replacing any 3 rows" in str(replace(SALARY, protect=ReplaceRows(3)))

    def test_dates_and_decimals_are_written_as_people_do(self):
        day = replace(
            SALARY, value=date(2024, 1, 31), interval=Interval(date(2024, 1, 30), date(2024, 2, 2))
        )
        assert "2024-01-31, between 2024-01-30 and 2024-02-02" in str(day)
        price = replace(
            SALARY,
            value=Decimal("1234.50"),
            interval=Interval(Decimal("1234.00"), Decimal("1235.25")),
        )
        assert "1,234.50, between 1,234.00 and 1,235.25" in str(price)

    def test_several_answers_are_several_lines(self):
        assert str(Answers([SALARY, EDGE])) == f"{SALARY}\n{EDGE}"


class TestExplanation:
    """explain(): how to read it, what the interval covers and what it does not."""

    def test_it_says_how_to_read_the_interval_and_what_it_leaves_out(self):
        words = SALARY.explain()
        for part in (
            "41,300",
            "40,900 and 41,850",
            "95%",
            "does not cover sampling error",
            "adding or removing any one row",
            "e^0.5",
        ):
            assert part in words

    def test_it_tells_the_price_of_each_part(self):
        assert "0.3 for the value, 0.2 for the interval" in SALARY.explain()

    def test_it_explains_an_edge(self):
        assert "lower end is the edge of the domain" in EDGE.explain()
        assert "edge" not in SALARY.explain()
        assert "upper end is the edge of the domain" in WHOLE.explain()


class TestData:
    """to_dict and to_json: the shape of CONTRACT.md."""

    def test_a_dictionary_has_the_stable_keys_and_values(self):
        assert SALARY.to_dict() == {
            "value": 41_300,
            "low": 40_900,
            "high": 41_850,
            "low_is_edge": False,
            "high_is_edge": False,
            "confidence": 0.95,
            "epsilon": "1/2",
            "method": "depth",
            "protects": "adding or removing any one row",
            "population": "all rows",
            "covers": "table",
            "private": True,
            "notes": [],
        }

    def test_json_is_the_same_in_the_same_order(self):
        assert json.loads(SALARY.to_json()) == SALARY.to_dict()
        assert list(json.loads(SALARY.to_json())) == ANSWER_KEYS

    def test_integers_stay_integers_however_large(self):
        large = replace(SALARY, value=2**63 - 1, interval=Interval(-(2**63), 2**64))
        assert (
            '"value": 9223372036854775807, "low": -9223372036854775808, '
            '"high": 18446744073709551616,' in large.to_json()
        )

    def test_decimals_are_numbers_with_the_digits_of_the_step(self):
        answer = postri.median(np.full(1_000, 12.3), epsilon=1, domain=Domain(0, 100, step="0.01"))
        assert answer.value == Decimal("12.30")
        assert '"value": 12.30,' in answer.to_json()

    def test_decimals_never_come_with_an_exponent(self):
        tiny = replace(
            SALARY,
            value=Decimal("0.000000001"),
            interval=Interval(Decimal("0.000000000"), Decimal("0.000000002")),
        )
        assert '"value": 0.000000001, "low": 0.000000000,' in tiny.to_json()

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (date(2024, 1, 31), "2024-01-31"),
            (datetime(2024, 1, 31, 12), "2024-01-31T12:00:00"),
            (datetime(2024, 1, 31, 12, tzinfo=UTC), "2024-01-31T12:00:00+00:00"),
        ],
    )
    def test_dates_are_iso_texts(self, value, text):
        loaded = json.loads(replace(SALARY, value=value, interval=Interval(value, value)).to_json())
        assert loaded["value"] == loaded["low"] == loaded["high"] == text

    def test_epsilon_is_a_rational_text(self):
        assert json.loads(postri.median([1], epsilon="1/3").to_json())["epsilon"] == "1/3"
        assert json.loads(postri.median([1], epsilon=2).to_json())["epsilon"] == "2"

    @pytest.mark.parametrize(
        "domain",
        [
            None,
            Domain(0, 10),
            Domain("0.5", "10.5", step="0.25"),
            Domain("2024-01-01", "2024-12-31"),
        ],
    )
    def test_ends_are_always_finite(self, domain):
        loaded = json.loads(postri.median([], epsilon=1, domain=domain).to_json())
        assert None not in loaded.values()
        assert not {"Infinity", "NaN"} & set(map(str, loaded.values()))


class TestNotebook:
    """The display in a notebook."""

    def test_it_is_html_with_the_line_in_it(self):
        html = SALARY._repr_html_()
        assert ">41,300</b>" in html
        assert "between 40,900 and 41,850 with 95% confidence" in html

    def test_what_a_note_holds_is_escaped(self):
        assert "<script>" not in replace(SALARY, notes=("<script>",))._repr_html_()

    def test_several_answers_show_all(self):
        assert Answers([SALARY, WHOLE])._repr_html_() == SALARY._repr_html_() + WHOLE._repr_html_()


class TestWarnings:
    """What a reader must know besides."""

    def test_seeded_coins_say_not_private_everywhere(self):
        answer = postri.median(range(100), epsilon=1, coins=SeededCoins(7))
        assert not answer.private
        assert json.loads(answer.to_json())["private"] is False
        for words in (
            str(answer),
            answer.explain(),
            answer._repr_html_(),
            answer.plot().get_xlabel(),
        ):
            assert "NOT PRIVATE" in words
        plt.close("all")

    def test_real_coins_say_nothing_of_the_kind(self):
        answer = postri.median(range(100), epsilon=1)
        assert answer.private
        assert "NOT PRIVATE" not in str(answer) + answer.explain() + answer._repr_html_()

    @pytest.mark.parametrize(
        "source",
        [[1, 2, 3], np.array([1, 2, 3], dtype=object), ("1", "2"), []],
        ids=["list", "object", "texts", "none"],
    )
    def test_cells_without_type_and_domain_are_rounded_to_whole_numbers_and_say_so(self, source):
        answer = postri.median(source, epsilon=1)
        assert "rounded to whole numbers" in str(answer)
        assert "rounded to whole numbers" in answer.explain()

    def test_typed_cells_and_given_domains_say_nothing_of_the_kind(self):
        typed = postri.median(np.array([1, 2, 3]), epsilon=1)
        given = postri.median([1, 2, 3], epsilon=1, domain=Domain(0, 10))
        declared = postri.median(postri.open({"x": [1, 2]}, columns={"x": "integer"}), epsilon=1)
        assert not any("whole numbers" in str(answer) for answer in (typed, given, declared))

    def test_simultaneous_intervals_say_so(self):
        joint = postri.quantiles(range(100), [0.2, 0.8], epsilon=1, simultaneous=True)
        assert all("at once" in str(answer) for answer in joint)
        assert not any(
            "at once" in str(answer)
            for answer in postri.quantiles(range(100), [0.2, 0.8], epsilon=1)
        )

    @pytest.mark.parametrize("domain", [None, Domain(0, 1_000)])
    def test_a_whole_domain_says_how_many_rows_or_which_epsilon_would_help(self, domain):
        answer = next(
            answer
            for seed in range(100)
            if (
                answer := postri.median(
                    [5, 6], epsilon="0.1", domain=domain, coins=SeededCoins(seed)
                )
            ).interval.low_is_edge
            and answer.interval.high_is_edge
        )
        needed = postri.plan(rows=2, epsilon="0.1", domain=domain).rows_needed
        for words in (str(answer), answer.explain()):
            assert rows_named(words) == pytest.approx(needed, rel=0.1)
        assert "epsilon" in answer.notes[-1]

    def test_an_interval_within_the_domain_needs_no_advice(self):
        answer = postri.median(np.arange(10_000), epsilon=1)
        assert answer.notes == ()


class TestInterval:
    """Which numbers an interval holds."""

    @pytest.mark.parametrize("value", [2, 5, 3, 2.0, 4.5, Fraction(5), Decimal("2.0"), np.int64(3)])
    def test_it_holds_its_ends_and_all_between(self, value):
        assert value in Interval(2, 5)

    @pytest.mark.parametrize(
        "value", [1, 6, 1.999, 5.001, float("nan"), float("inf"), Fraction(26, 5)]
    )
    def test_it_holds_nothing_else(self, value):
        assert value not in Interval(2, 5)

    def test_decimals_and_floats_compare_exactly(self):
        assert 0.1 not in Interval(Decimal("0.0"), Decimal("0.1"))  # The float is a little larger.
        assert Decimal("0.1") in Interval(Decimal("0.0"), Decimal("0.1"))

    def test_dates_have_a_width_in_days(self):
        interval = Interval(date(2024, 1, 1), date(2024, 1, 31))
        assert interval.width == timedelta(30)
        assert date(2024, 1, 15) in interval

    def test_numbers_have_a_width(self):
        assert Interval(2, 5).width == 3
        assert Interval(Decimal("1.25"), Decimal("2.50")).width == Decimal("1.25")

    def test_it_says_from_where_to_where(self):
        assert str(Interval(2, 5)) == "2 to 5"

    @pytest.mark.parametrize("rows", [[-3], [12], [0, 10]])
    def test_an_end_is_flagged_just_where_it_is_the_edge(self, rows):
        """On an interval of 0..10 as well as by the value itself: both ends are looked at in many
        draws.
        """
        for seed in range(20):
            interval = postri.median(
                rows * 50, epsilon=1, domain=Domain(0, 10), coins=SeededCoins(seed)
            ).interval
            assert interval.low_is_edge == (interval.low == 0)
            assert interval.high_is_edge == (interval.high == 10)

    def test_rounded_cells_widen_it_by_half_a_step_but_not_past_the_edge(self):
        """A constant column at epsilon 1000: the interval is one grid point, if not for the
        rounding.
        """
        how = {"epsilon": 1_000, "domain": Domain(0, 10)}
        inner = postri.median(np.full(500, 5.2), **how).interval
        assert (inner.low, inner.high) == (Decimal("4.5"), Decimal("5.5"))
        edge = postri.median(np.full(500, 12.5), **how).interval
        assert (edge.low, edge.high, edge.high_is_edge) == (Decimal("9.5"), 10, True)

    def test_cells_that_are_never_rounded_do_not_widen_it(self):
        """Whole numbers on whole steps, whatever the type; DESIGN.md 3.3."""
        for source in (np.full(500, 5), postri.open({"x": ["5"] * 500}, columns={"x": "integer"})):
            interval = postri.median(source, epsilon=1_000, domain=Domain(0, 10)).interval
            assert (interval.low, interval.high) == (5, 5)


class TestValues:
    """Answers are frozen values, not tuples."""

    def test_an_answer_cannot_be_unpacked(self):
        with pytest.raises(TypeError):
            _value, _interval = SALARY
        with pytest.raises(TypeError):
            _low, _high = SALARY.interval

    @pytest.mark.parametrize(
        "thing",
        [SALARY, SALARY.interval, SALARY.spend, SALARY.protect, Domain(0, 10), Depth()],
        ids=lambda it: type(it).__name__,
    )
    def test_nothing_can_be_changed(self, thing):
        name = next(iter(thing.__dataclass_fields__))
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, 0)

    def test_a_spend_adds_up(self):
        answer = postri.median(range(10), epsilon="0.3", split="0.25")
        assert (answer.spend.value, answer.spend.interval) == (Fraction(3, 40), Fraction(9, 40))
        assert answer.epsilon == answer.spend.epsilon == Fraction(3, 10)

    def test_several_quantiles_share_epsilon_evenly(self):
        answers = postri.quantiles(range(10), [0.25, 0.5, 0.75], epsilon=1)
        assert [answer.epsilon for answer in answers] == [Fraction(1, 3)] * 3
        assert answers.epsilon == 1

    def test_answers_are_a_sequence(self):
        answers = Answers([SALARY, EDGE, WHOLE])
        assert len(answers) == 3
        assert answers[-1] is WHOLE
        assert list(answers[:2]) == [SALARY, EDGE]
        assert isinstance(answers[:2], Answers)
        assert EDGE in answers

    def test_an_answer_knows_its_question(self):
        answer = postri.quantile(
            range(10),
            "0.9",
            epsilon=1,
            method=Depth(noise="gumbel"),
            protect=ReplaceRows(2),
            confidence="0.99",
        )
        assert (answer.p, answer.confidence, answer.protect) == (
            Fraction(9, 10),
            0.99,
            ReplaceRows(2),
        )
        assert answer.method == "depth-gumbel"


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


class TestPicture:
    """plot(): a dot for the value, a bar for the interval, an arrow for an end that means "or
    beyond".
    """

    def drawn(self, ax) -> list[tuple[str, list, list]]:
        return [
            (line.get_marker(), list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines
        ]

    def test_it_draws_the_numbers_of_the_answer(self, ax):
        assert SALARY.plot(ax) is ax
        assert self.drawn(ax) == [
            ("None", [40_900, 41_850], [0, 0]),
            ("o", [41_300], [0]),
            ("|", [40_900], [0]),
            ("|", [41_850], [0]),
        ]

    def test_it_writes_them_too(self, ax):
        SALARY.plot(ax)
        text = ax.texts[0].get_text()
        assert all(number in text for number in ("median", "41,300", "40,900", "41,850"))
        assert ax.get_title(loc="left") == "Median"
        assert "95%" in ax.get_xlabel()
        assert "epsilon 0.5" in ax.get_xlabel()
        assert "beyond" not in ax.get_xlabel()

    def test_an_arrow_is_said_to_mean_or_beyond(self, ax):
        WHOLE.plot(ax)
        assert ax.get_xlabel().replace("\n", " ").count('An arrow means "or beyond".') == 1

    def test_an_edge_is_an_arrow(self, ax):
        WHOLE.plot(ax)
        assert [marker for marker, *_ in self.drawn(ax)] == [
            "None",
            "o",
            CARETLEFTBASE,
            CARETRIGHTBASE,
        ]

    def test_several_answers_stand_below_one_another(self, ax):
        answers = Answers([SALARY, replace(EDGE, p=Fraction(9, 10))])
        answers.plot(ax)
        assert [ys for marker, _, ys in self.drawn(ax) if marker == "o"] == [[0], [1]]
        assert ax.yaxis_inverted()
        assert [text.get_text().split(":")[0] for text in ax.texts] == ["median", "90th percentile"]
        assert "epsilon 1" in ax.get_xlabel()

    def test_dates_are_drawn_as_dates(self, ax):
        first, last = date(2024, 1, 30), date(2024, 2, 2)
        replace(SALARY, value=date(2024, 1, 31), interval=Interval(first, last)).plot(ax)
        assert list(ax.lines[0].get_xdata()) == [first, last]

    def test_decimals_are_drawn_as_numbers(self, ax):
        replace(
            SALARY, value=Decimal("1.50"), interval=Interval(Decimal("1.25"), Decimal("2.00"))
        ).plot(ax)
        assert list(ax.lines[0].get_xdata()) == [1.25, 2.0]

    def test_without_axes_it_makes_its_own(self):
        made = SALARY.plot()
        assert made.figure.axes == [made]
        plt.close(made.figure)
