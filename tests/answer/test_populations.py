"""Every answer names the rows that it is about, wherever it is shown, and claims nothing of others.

A bound on the rows of each person, a filter, groups and cells that cannot be read all make these
fewer than the rows of the table.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from io import StringIO
from typing import ClassVar

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

mpl.use("Agg")

import matplotlib.pyplot as plt

import postri
import program
from bank import session
from flights import flights, write_flights
from postri import AddOrRemoveUnits, Domain, ReplaceRows, Result, Session, agg
from postri.answer.forms import read_result, result_text
from postri.answer.population import Population
from proving import examples

READ = "rows on which dep_delay can be read, at most 20 of each tailnum"
COUNTED = "rows of each carrier, at most 20 of each tailnum over all groups"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return write_flights(tmp_path_factory.mktemp("flights"))


@pytest.fixture
def db(policy) -> Iterator[Session]:
    with session(policy) as db:
        yield db


def sent(result: Result) -> Result:
    """Through a service."""
    return read_result(json.loads(result_text(result)))


def words_of(axes) -> str:
    """The headline of a picture and its caption."""
    return f"{axes.get_title(loc='left')} {axes.get_xlabel()}"


def forms(result: Result) -> dict[str, str]:
    """Everything in which a result is shown, as text."""
    table = result.to_arrow()
    shown = {
        "text": str(result),
        "notebook": result._repr_html_(),
        "dictionary": str(result.to_dict()),
        "json": result.to_json(),
        "csv": result.to_csv(),
        "service": result_text(result),
        "pandas": result.to_pandas().attrs["population"],
        "arrow": table.schema.metadata[b"population"].decode(),
    }
    if len(result):
        first = result.answers[0]
        shown["picture"] = words_of(result.plot(result.names[0]))
        shown["answer"] = str(first)
        shown["explanation"] = first.explain()
        shown["answer's picture"] = words_of(first.plot())
        plt.close("all")
    return shown


class TestAMedianUnderABoundOnRows:
    """The median of all flights is negative; that of 20 flights of each plane is not."""

    def test_the_answer_is_far_from_the_median_of_all_rows(self, db):
        answer = db.median("flights", "dep_delay", epsilon=50)
        delays = flights()["dep_delay"].to_numpy()
        assert np.median(delays) < 0 < answer.interval.low

    def test_every_form_says_which_rows_count(self, db):
        result = db.ask("flights", {"mid": agg.median("dep_delay")}, epsilon=50)
        assert (result.population, result.populations) == (READ, {"mid": READ})
        assert result.answers[0].population == READ
        for form, text in forms(result).items():
            flat = " ".join(text.split())
            assert READ in flat, form
            assert "of the table" not in flat, form

    def test_a_recorded_answer_and_one_from_a_service_say_the_same(self, db):
        first = db.ask("flights", {"mid": "median(dep_delay)"}, epsilon=40)
        again = db.ask("flights", {"mid": "median(dep_delay)"}, epsilon=40)
        past = db.answers(limit=1)[0].result
        assert again.recorded
        for other in (again, past, sent(first)):
            assert other.population == READ
            assert [each.population for each in other.answers] == [READ]

    def test_the_command_line_says_it_in_every_form(self, policy):
        words = ("ask", "flights", "median(dep_delay)", "--epsilon", 30)
        printed = program.run(*words, folder=policy.parent)[0]
        assert f"about {READ}" in printed
        data = json.loads(program.run(*words, "--json", folder=policy.parent)[0])
        assert data["population"] == READ
        text = program.run(*words, "--csv", folder=policy.parent)[0]
        (row,) = csv.DictReader(StringIO(text))
        assert row["population"] == READ

    def test_the_explanation_says_that_other_rows_do_not_count(self, db):
        words = db.median("flights", "dep_delay", epsilon=50).explain()
        assert "Of each tailnum at most 20 rows count, however many there are" in words
        assert "claims nothing about rows that do not count" in words


class TestCountsUnderABoundOnRows:
    """B6 has ten times as many flights as count."""

    def test_a_count_by_carrier_says_that_it_counts_at_most_20_of_each(self, db):
        result = db.ask("flights", {"n": "count()"}, by=["carrier"], epsilon=50)
        b6 = result.answer("n", "B6")
        exact = flights()["carrier"].to_pylist().count("B6")
        assert b6.interval.high < exact / 10
        assert result.population == COUNTED
        expected = "rows with carrier = B6, at most 20 of each tailnum over all groups"
        assert b6.population == expected
        for form, text in forms(result).items():
            flat = " ".join(text.split())
            assert "at most 20 of each tailnum over all groups" in flat, form

    @pytest.mark.parametrize("aggregate", ["count()", "sum(hour)", "mean(hour)"])
    def test_every_sum_says_it_in_its_line(self, db, aggregate):
        (answer,) = db.ask("flights", {"a": aggregate}, epsilon=50).answers
        assert "at most 20 of each tailnum" in str(answer)

    def test_sql_says_it_too(self, db):
        text = "SELECT carrier, COUNT(*) AS n FROM flights WHERE hour >= 3 GROUP BY carrier"
        result = db.sql(text, epsilon=50)
        assert result.population == (
            "rows of each carrier where hour >= 3, at most 20 of each tailnum over all groups"
        )
        assert sent(result).population == db.sql(text, epsilon=50).population == result.population


class TestWords:
    """Each part of a population, alone and with others."""

    TABLE = pa.table({"x": [1, None, 3] * 100, "age": [30, 50, 20] * 100, "who": [1, 2, 3] * 100})
    DOMAIN = Domain(0, 10)

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            (lambda t: postri.ask(t, {"n": "count()"}, epsilon=1), "all rows"),
            (
                lambda t: postri.ask(t, {"n": "count()"}, where="age<40", epsilon=1),
                "rows where age < 40",
            ),
            (
                lambda t: postri.ask(
                    t, {"n": "count()"}, protect=AddOrRemoveUnits("who", rows=20), epsilon=1
                ),
                "rows that count: at most 20 of each who",
            ),
            (
                lambda t: postri.ask(t, {"n": "count(x)"}, epsilon=1),
                "rows on which x can be read",
            ),
            (
                lambda t: postri.ask(
                    t,
                    {"mid": "median(x)"},
                    where="age < 40 AND who > 1",
                    protect=AddOrRemoveUnits("who", rows=20),
                    epsilon=1,
                ),
                "rows where age < 40 AND who > 1 on which x can be read, at most 20 of each who",
            ),
            (
                lambda t: postri.ask(
                    t, {"a": agg.mean("x", domain=Domain(0, 10, "0.5"))}, epsilon=1
                ),
                "rows on which x can be read, cells clamped to 0 to 10",
            ),
            (
                lambda t: postri.ask(t, {"mid": "median(x)"}, by={"age": [30, 50]}, epsilon=1),
                "rows of each age on which x can be read",
            ),
        ],
    )
    def test_they_are_put_together(self, asked: Callable[[pa.Table], Result], words):
        assert asked(self.TABLE).population == words

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (np.arange(100), "all rows"),
            (np.arange(100) > 50, "all rows"),
            (np.ma.masked_array(np.arange(100), np.arange(100) > 50), "rows that can be read"),
            (np.arange(0, 100).astype("datetime64[D]"), "rows that can be read"),
            (list(range(100)), "rows whose cell is a number"),
            ({"x": ["1"] * 100}, "rows whose x is a number"),
        ],
        ids=["integers", "truths", "masked", "days", "list", "texts"],
    )
    def test_all_rows_count_just_where_no_cell_can_be_missing(self, source, words):
        assert postri.median(source, epsilon=1).population == words

    def test_missing_cells_of_floats_are_left_out(self):
        cells = np.array([1.0, np.nan] * 50)
        assert postri.median(cells, domain=self.DOMAIN, epsilon=1).population == (
            "rows that can be read"
        )

    @pytest.mark.parametrize("method", ["postri", "sun2023"])
    def test_a_method_with_a_public_number_of_rows_counts_all(self, method):
        how = {"domain": self.DOMAIN, "method": method, "protect": ReplaceRows(1), "epsilon": 50}
        whole = postri.median(np.full(1_000, 5), **how)
        assert whole.population == "all rows"
        floats = postri.median(np.full(1_000, 5.0), **how)
        assert floats.population == (
            "all rows, a cell that cannot be read counted as the lower end of the domain"
        )

    def test_columns_that_are_about_different_rows_say_so_each(self):
        wanted = {"n": agg.count(), "mid": agg.median("x")}
        result = postri.ask(self.TABLE, wanted, where="age < 40", epsilon=1)
        assert result.populations == {
            "n": "rows where age < 40",
            "mid": "rows where age < 40 on which x can be read",
        }
        assert result.population == "rows where age < 40 (mid: those on which x can be read)"

    def test_a_group_names_its_keys(self):
        keys = {"age": [30, 50], "who": [1]}
        result = postri.ask(self.TABLE, {"n": "count()"}, by=keys, epsilon=1)
        populations = [answer.population for answer in result.answers]
        assert populations == [
            "rows with age = 30 and who = 1",
            "rows with age = 50 and who = 1",
        ]

    def test_a_value_that_is_computed_from_several_names_the_rows_of_each(self, db):
        (answer,) = db.sql("SELECT SUM(hour) / COUNT(*) AS a FROM flights", epsilon=5).answers
        assert answer.population == (
            "rows that count: at most 20 of each tailnum "
            "(sum_hour: those on which hour can be read, cells clamped to 0 to 23)"
        )

    def test_an_expression_of_rows_says_that_its_columns_are_clamped(self, db):
        """Of two columns no end of the interval tells that one of them was."""
        (answer,) = db.sql("SELECT MEDIAN(distance + hour) AS m FROM flights", epsilon=5).answers
        assert answer.interval.high < 3_500
        assert not answer.interval.high_is_edge
        assert answer.population == (
            "rows on which distance + hour has a value, at most 20 of each tailnum, "
            "its columns clamped to their domains first"
        )

    def test_a_result_without_rows_is_still_about_some(self, db):
        text = "SELECT COUNT(*) AS n FROM flights WHERE hour < 9 HAVING n < 0"
        result = db.sql(text, epsilon=5)
        assert result.population == "rows where hour < 9, at most 20 of each tailnum"
        assert sent(result).population == result.population

    def test_a_column_called_population_stays(self):
        csv_text = postri.ask(self.TABLE, {"population": "count()"}, epsilon=1).to_csv()
        assert csv_text.splitlines()[0].split(",")[-1] == "population_"


class TestTruth:
    """The words are about the rows that were counted: at so large an epsilon the noise is 0, but
    for a chance of exp(-1000) or less, and the answer must be what the named rows say.
    """

    FILTERS: ClassVar = {"age < 3": lambda row: row["age"] < 3, None: lambda row: True}
    ROWS = st.lists(
        st.fixed_dictionaries(
            {
                "x": st.none() | st.integers(0, 30),
                "age": st.integers(0, 5),
                "who": st.none() | st.integers(1, 3),
                "city": st.sampled_from(["Oslo", "Rome", "Bergen"]),
            }
        ),
        max_size=12,
    )

    @pytest.mark.slow
    @examples(400, 80)
    @given(ROWS, st.sampled_from(list(FILTERS)), st.sampled_from([0, 1, 2]), st.booleans())
    def test_the_named_rows_give_the_answer(self, rows, where, most, grouped):
        types = {"x": pa.int64(), "age": pa.int64(), "who": pa.int64(), "city": pa.string()}
        table = pa.Table.from_pylist(rows, pa.schema(list(types.items())))
        wanted = {
            "n": agg.count(),
            "read": agg.count("x"),
            "sum": agg.sum("x", domain=Domain(5, 9)),
        }
        how = {"protect": AddOrRemoveUnits("who", rows=most)} if most else {}
        if grouped:
            how["by"] = {"city": ["Oslo", "Rome"]}
        result = postri.ask(table, wanted, where=where, epsilon=900_000, **how)
        for place, name in enumerate(result.names):
            answers = [group[place] for _, group in result.groups]
            self.check(name, rows, answers)

    def check(self, name: str, rows: list[dict], answers: list[postri.Answer]) -> None:
        """The rows by the words of each answer; those of a person by their number alone, for which
        of them count is not a part of the words.
        """
        named = [self.named(rows, answer.rows) for answer in answers]
        words = answers[0].rows
        if words.unit is None:
            for answer, found in zip(answers, named, strict=True):
                assert answer.value == self.value(name, found)
                assert answer.value in answer.interval
        elif name != "sum":
            units = Counter(row[words.unit] for found in named for row in found)
            del units[None]
            total = sum(min(number, words.most) for number in units.values())
            assert sum(answer.value for answer in answers) == total

    def named(self, rows: list[dict], words: Population) -> list[dict]:
        found = [row for row in rows if self.FILTERS[words.where](row)]
        for column, key in zip(words.by, words.keys, strict=True):
            found = [row for row in found if row[column] == key]
        if words.cells is not None:
            assert words.cells == "on which x can be read"
            found = [row for row in found if row["x"] is not None]
        return found

    def value(self, name: str, rows: list[dict]) -> int:
        if name != "sum":
            return len(rows)
        return sum(min(max(row["x"], 5), 9) for row in rows)

    def test_a_sum_names_its_bounds(self):
        (answer,) = postri.ask(
            pa.table({"x": [1, 100, None]}), {"a": agg.sum("x", domain=Domain(5, 9))}, epsilon=1
        ).answers
        assert answer.rows.taken == "cells clamped to 5 to 9"
