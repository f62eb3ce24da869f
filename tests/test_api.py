"""`ask`: several aggregates, group by group, and the table that they come back as."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import postri
from postri import AddOrRemoveRows, Domain, InputError, ReplaceRows, SeededCoins, agg
from result_columns import RESULT_KEYS, columns_of

ROWS = 6_000
CITIES = ["Oslo", "Bergen", "Rome"]
TABLE = {
    "city": [CITIES[i % 3] for i in range(ROWS)],
    "fare": np.array([10 * (i % 3) + (i % 7) for i in range(ROWS)]),
    "tip": np.array([(i % 100) / 4 for i in range(ROWS)]),
    "day": np.array(["2024-01-01"] * ROWS, dtype="datetime64[D]") + np.arange(ROWS) % 30,
}
TIPS = Domain(0, 100, step="0.25")


def asked(aggregates=None, *, source=TABLE, epsilon=10, seed=1, **how):
    return postri.ask(
        source,
        aggregates or {"mid": agg.median("fare")},
        epsilon=epsilon,
        coins=SeededCoins(seed),
        **how,
    )


class TestGroups:
    def test_there_is_one_row_for_each_key_in_the_order_of_the_keys(self):
        result = asked(by={"city": ["Rome", "Oslo"]})
        assert [row["city"] for row in result.rows] == ["Rome", "Oslo"]
        assert result.columns == ["city", *columns_of("mid")]
        assert [row["mid"] for row in result.rows] == [23, 3]

    def test_keys_that_no_row_has_answer_too(self):
        row = asked(by={"city": ["Nowhere"]}).rows[0]
        assert (row["mid_low"], row["mid_high"]) == (-(2**63), 2**63 - 1)

    def test_several_columns_give_all_combinations(self):
        table = {**TABLE, "even": [i % 2 == 0 for i in range(ROWS)]}
        result = asked(source=table, by={"city": ["Oslo", "Rome"], "even": [True, False]})
        assert [(row["city"], row["even"]) for row in result.rows] == [
            ("Oslo", True),
            ("Oslo", False),
            ("Rome", True),
            ("Rome", False),
        ]

    def test_each_group_costs_the_whole_of_epsilon_and_all_together_no_more(self):
        result = asked(by={"city": CITIES}, epsilon="1/2")
        assert result.epsilon == Fraction(1, 2)
        assert {answer.epsilon for answer in result.answers} == {Fraction(1, 2)}

    def test_a_median_in_groups_is_the_median_of_those_rows(self):
        grouped = asked(by={"city": ["Bergen"]}, seed=9).answer("mid", "Bergen")
        alone = postri.median(
            TABLE, column="fare", where="city = 'Bergen'", epsilon=10, coins=SeededCoins(9)
        )
        assert (grouped.value, grouped.interval) == (alone.value, alone.interval)

    def test_replaced_rows_need_more_noise_away_from_the_median_if_there_are_groups(self):
        wide = [agg.quantile("fare", "0.9"), ReplaceRows(1)]
        one, two = (
            asked({"q": wide[0]}, by={"city": keys}, protect=wide[1], epsilon="0.05")
            .answer("q", "Oslo")
            .interval
            for keys in (["Oslo"], ["Oslo", "Rome"])
        )
        assert two.width > one.width

    def test_all_intervals_at_once_are_wider(self):
        apart, joint = (
            asked(by={"city": CITIES}, epsilon="0.05", simultaneous=joint)
            for joint in (False, True)
        )
        assert all(
            b["mid_high"] - b["mid_low"] >= a["mid_high"] - a["mid_low"]
            for a, b in zip(apart.rows, joint.rows, strict=True)
        )
        assert joint.rows != apart.rows
        assert "all intervals of this question hold at once" in str(joint)


class TestAggregates:
    def test_several_aggregates_divide_epsilon_evenly(self):
        result = asked(
            {"mid": agg.median("fare"), "high": agg.quantile("tip", 0.9, domain=TIPS)}, epsilon=1
        )
        assert [answer.epsilon for answer in result.answers] == [Fraction(1, 2)] * 2
        assert [answer.p for answer in result.answers] == [Fraction(1, 2), Fraction(9, 10)]

    def test_weights_divide_it_otherwise(self):
        result = asked(
            {"mid": agg.median("fare"), "high": "quantile(fare, 0.9)"},
            epsilon=1,
            weights={"high": 3, "mid": 1},
        )
        assert [answer.epsilon for answer in result.answers] == [Fraction(1, 4), Fraction(3, 4)]

    def test_the_values_of_quantiles_of_one_column_do_not_cross(self):
        result = asked(
            {f"q{i}": agg.quantile("fare", Fraction(i, 20)) for i in range(1, 20)}, epsilon="0.1"
        )
        (row,) = result.rows
        values = [row[f"q{i}"] for i in range(1, 20)]
        assert values == sorted(values)
        for i in range(1, 20):
            assert row[f"q{i}_low"] <= row[f"q{i}"] <= row[f"q{i}_high"]

    @pytest.mark.parametrize(
        ("text", "meaning"),
        [
            ("median(fare)", agg.median("fare")),
            (" MEDIAN ( fare ) ", agg.median("fare")),
            ("quantile(fare, 0.9)", agg.quantile("fare", "0.9")),
            ('quantile("a, b", 1/3)', agg.quantile("a, b", "1/3")),
            ('median("say ""x""")', agg.median('say "x"')),
        ],
    )
    def test_a_text_means_an_aggregate(self, text, meaning):
        assert agg.read(text) == meaning

    @pytest.mark.parametrize(
        ("aggregates", "words"),
        [
            ({}, "aggregates must map names"),
            (["median(fare)"], "aggregates must map names"),
            ({"": "median(fare)"}, "name of an aggregate"),
            ({1: "median(fare)"}, "name of an aggregate"),
            ({"a": "modus(fare)"}, "there is no aggregate 'modus'"),
            ({"a": "median"}, "an aggregate has parentheses: write 'median(x)'"),
            ({"a": "median()"}, "write 'median(x)'"),
            ({"a": "quantile(fare)"}, "write 'median(x)'"),
            ({"a": "quantile(fare, 2)"}, "p must lie strictly between 0 and 1"),
            ({"a": 7}, "an aggregate must be one of postri.agg"),
            ({"a": "median(fairy)"}, "did you mean 'fare'"),
            ({"a": "median(city)"}, "choose a column of numbers"),
            ({"a": "median(tip)"}, "needs a domain with a step"),
            ({"city": "median(fare)"}, "two columns of the result would have the name 'city'"),
            (
                {"a": "median(fare)", "a_low": "median(fare)"},
                "two columns of the result would have the name 'a_low'",
            ),
        ],
    )
    def test_what_cannot_be_asked_is_refused_by_name(self, aggregates, words):
        table = postri.open({**TABLE, "city": np.array(TABLE["city"])})
        with pytest.raises(InputError, match=words.replace("(", r"\(").replace(")", r"\)")):
            postri.ask(table, aggregates, by={"city": ["Oslo"]}, epsilon=1)

    @pytest.mark.parametrize(
        "weights",
        [{"a": 1}, {"a": 1, "b": 0}, {"a": 1, "b": 1, "c": 1}, [1, 1], {"a": 1, "b": "much"}],
    )
    def test_weights_that_are_none_are_refused(self, weights):
        with pytest.raises(InputError, match="weight"):
            asked({"a": "median(fare)", "b": "quantile(fare, 0.9)"}, weights=weights)


class TestOneNumber:
    """`count`, `sum` and `mean` ask for one aggregate, as `median` does."""

    FARES = Domain(0, 2_000)

    def test_each_is_the_answer_of_the_question_with_that_aggregate(self):
        how = {"where": "fare >= 0", "epsilon": 2, "confidence": "0.9"}
        domain = {"domain": self.FARES}
        alone = {
            "count()": postri.count(TABLE, coins=SeededCoins(3), **how),
            "count(fare)": postri.count(TABLE, "fare", coins=SeededCoins(3), **how),
            agg.sum("fare", **domain): postri.sum(
                TABLE, "fare", coins=SeededCoins(3), **domain, **how
            ),
            agg.mean("fare", **domain): postri.mean(
                TABLE, "fare", coins=SeededCoins(3), **domain, **how
            ),
        }
        for aggregate, answer in alone.items():
            asked = postri.ask(TABLE, {"a": aggregate}, coins=SeededCoins(3), **how)
            assert answer == asked.answers[0]

    def test_a_source_of_one_column_needs_no_name(self):
        answer = postri.mean(range(100), domain=Domain(0, 100), epsilon=100)
        assert 49.5 in answer.interval
        assert postri.sum(range(100), domain=Domain(0, 100), epsilon=100).statistic == "sum"

    def test_a_sum_needs_bounds(self):
        with pytest.raises(InputError, match="needs a domain, such as domain=Domain"):
            postri.sum(range(100), epsilon=1)

    def test_the_column_may_be_the_second_word(self):
        coins = {"coins": SeededCoins(3), "epsilon": 1}
        named = postri.median(TABLE, column="fare", **coins)
        assert postri.median(TABLE, "fare", **coins) == named
        assert postri.quantile(TABLE, "0.5", "fare", **coins) == named
        assert list(postri.quantiles(TABLE, ["0.5"], "fare", **coins)) == [named]


class TestResult:
    RESULT = asked(
        {"mid": agg.median("tip", domain=TIPS), "last": agg.quantile("day", "0.9")},
        by={"city": ["Oslo", "Rome"]},
        epsilon=50,
        where="fare >= 0",
    )

    def test_its_columns_are_keys_values_and_ends(self):
        assert self.RESULT.columns == ["city", *columns_of("mid", "last")]
        row = self.RESULT.rows[0]
        assert row["city"] == "Oslo"
        assert isinstance(row["mid"], Decimal) and isinstance(row["last"], date)
        assert (
            row["mid_low"] <= row["mid"] <= row["mid_high"]
            and row["last_low"] <= row["last"] <= row["last_high"]
        )

    def test_json_has_columns_rows_and_epsilon(self):
        read = json.loads(self.RESULT.to_json())
        assert list(read) == RESULT_KEYS
        assert read["columns"] == self.RESULT.columns and read["epsilon"] == "50"
        assert [list(row) for row in read["rows"]] == [self.RESULT.columns] * 2
        assert read["rows"][1]["last"] == self.RESULT.rows[1]["last"].isoformat()
        assert f'"mid": {self.RESULT.rows[0]["mid"]},' in self.RESULT.to_json()

    def test_csv_has_a_header_and_a_line_for_each_group(self):
        lines = self.RESULT.to_csv().splitlines()
        assert lines[0] == ",".join([*self.RESULT.columns, "population"])
        cells = [str(cell) for cell in self.RESULT.rows[0].values()]
        cells = [cell.replace("True", "true").replace("False", "false") for cell in cells]
        assert lines[1] == ",".join([*cells, self.RESULT.population])
        assert len(lines) == 3

    def test_it_becomes_the_table_of_other_libraries(self):
        frame = self.RESULT.to_pandas()
        assert isinstance(frame, pd.DataFrame) and frame["mid"].tolist() == [
            row["mid"] for row in self.RESULT.rows
        ]
        polars = self.RESULT.to_polars()
        assert isinstance(polars, pl.DataFrame) and polars["last"].to_list() == [
            row["last"] for row in self.RESULT.rows
        ]
        arrow = self.RESULT.to_arrow()
        assert arrow.column_names == self.RESULT.columns and arrow["city"].to_pylist() == [
            "Oslo",
            "Rome",
        ]

    def test_an_answer_is_found_by_its_name_and_keys(self):
        assert self.RESULT.answer("mid", "Rome").value == self.RESULT.rows[1]["mid"]
        with pytest.raises(InputError, match="did you mean 'mid'"):
            self.RESULT.answer("midd", "Rome")
        with pytest.raises(InputError, match="there is no group"):
            self.RESULT.answer("mid", "Paris")

    def test_it_prints_as_a_table_with_what_it_protects(self):
        text = str(self.RESULT)
        shown = [name for name in self.RESULT.columns if not name.endswith("_is_edge")]
        assert text.splitlines()[0].split() == shown
        assert len(text.splitlines()[0]) == len(text.splitlines()[1]) == len(text.splitlines()[2])
        assert "protects adding or removing any one row at epsilon 50" in text
        assert "NOT PRIVATE" in text

    def test_a_note_names_the_group_that_it_is_about(self):
        text = str(asked(by={"city": ["Oslo", "Nowhere"]}))
        assert (
            "Nowhere: the interval is the whole domain" in text and "Oslo: the interval" not in text
        )

    def test_a_notebook_shows_a_table_without_a_word_of_markup_from_keys(self):
        shown = asked(by={"city": ["<b>Oslo</b>"]})._repr_html_()
        assert "<table>" in shown and "&lt;b&gt;Oslo" in shown and "<b>Oslo" not in shown

    def test_it_draws_one_row_for_each_answer(self):
        ax = self.RESULT.plot("mid")
        words = [text.get_text() for text in ax.texts]
        assert [word.split(":")[0] for word in words] == ["Oslo", "Rome"]
        assert len(self.RESULT.plot().texts) == 4
        assert ax.get_title(loc="left") == "mid by city"
        assert "epsilon 50" in ax.get_xlabel()

    @pytest.mark.slow
    def test_many_groups_are_drawn_closely_and_too_many_not_at_all(self):
        ax = asked(by={"fare": list(range(40))}, aggregates={"mid": agg.median("fare")}).plot()
        assert [label.get_text() for label in ax.get_yticklabels()] == [str(i) for i in range(40)]
        assert not ax.texts
        with pytest.raises(InputError, match="at most 200"):
            asked(by={"fare": list(range(201))}).plot()


class TestUnits:
    def test_a_unit_is_protected_with_all_its_rows(self):
        table = {**TABLE, "who": np.arange(ROWS) // 10}
        answer = postri.median(
            table,
            column="fare",
            protect=postri.AddOrRemoveUnits("who", rows=2),
            epsilon=10,
            coins=SeededCoins(2),
        )
        assert str(answer.protect) == "adding or removing all rows of any one who (at most 2 count)"
        assert 5 <= answer.value <= 20

    @pytest.mark.parametrize("make", [postri.AddOrRemoveUnits, postri.ReplaceUnits])
    @pytest.mark.parametrize(
        ("column", "rows"), [("", 1), (7, 1), ("who", 0), ("who", True), ("who", "3")]
    )
    def test_a_unit_without_a_column_or_a_bound_is_refused(self, make, column, rows):
        with pytest.raises(InputError):
            make(column, rows=rows)

    def test_a_plan_knows_of_groups(self):
        one, two = (
            postri.plan(
                rows=1_000 * groups, epsilon=1, p="0.9", protect=ReplaceRows(1), groups=groups
            ).reach
            for groups in (1, 2)
        )
        assert two > 1.5 * one
        assert postri.plan(
            rows=2_000, epsilon=1, protect=AddOrRemoveRows(1), groups=2
        ).reach == pytest.approx(postri.plan(rows=1_000, epsilon=1).reach)


COLUMNS_OF_MANY_KINDS = (
    np.arange(1_000),
    np.arange(200, dtype=np.uint8),
    np.ma.masked_less(np.arange(1_000), 10),
    list(range(1_000)),
    {"x": np.arange(1_000)},
    {"y": np.arange(1_000)},
    {"y": pl.Series([date(2020, 1, 1), None])},
)


def test_the_same_words_mean_on_each_table_what_they_mean_on_it_alone():
    """What is kept of a question fits columns of one name and type, and is not taken for others."""

    def answers(sources, ask):
        return [ask(each, epsilon=1, coins=SeededCoins(5)).to_json() for each in sources]

    alone = []
    for source in COLUMNS_OF_MANY_KINDS:
        postri.api._QUESTIONS.clear()
        alone += answers([source], postri.median)
    postri.api._QUESTIONS.clear()
    assert answers(COLUMNS_OF_MANY_KINDS * 2, postri.median) == alone * 2
    assert len(postri.api._QUESTIONS) == 1
    # Machine integers of a thousand rows are told in the same words, whatever the column is called.
    assert len(set(alone)) == 5


def test_coins_of_one_question_are_not_kept_for_the_next():
    numbers = np.arange(1_000)
    seeded = postri.median(numbers, epsilon=1, coins=SeededCoins(5))
    assert not seeded.private
    assert postri.median(numbers, epsilon=1).private
    assert postri.median(numbers, epsilon=1, coins=SeededCoins(5)) == seeded
