"""What a predicate is on the columns of a table: names, kinds, and what is refused before a cell is
touched.
"""

from __future__ import annotations

import numpy as np
import pytest

from postri.columns import (
    BOOLEAN,
    DATE,
    TEXT,
    UNTYPED,
    decimal_type,
    float_type,
    integer_type,
    timestamp_type,
)
from postri.errors import InputError
from postri.expressions import Input, Predicate, Vector

TYPES = {
    **{
        "age": integer_type(32),
        "Age": integer_type(32),
        "income": decimal_type(18, 2),
        "score": float_type(64),
        "flag": BOOLEAN,
    },
    **{
        "job": TEXT,
        "born": DATE,
        "seen": timestamp_type("timestamp", 10**6),
        "logged": timestamp_type("timestamptz", 10**6, zoned=True),
    },
    **{
        "anything": UNTYPED,
        "other": UNTYPED,
        "Weird Name": integer_type(64),
        "big": integer_type(64, signed=False),
    },
}


def bind(text):
    return Predicate.parse(text).bind(list(TYPES), TYPES.__getitem__)


def mask(text, **columns):
    """The rows of some columns, each given as cells with None for null."""
    bound = bind(text)
    return bound.mask(
        {wanted: vector(columns[wanted.column], wanted) for wanted in bound.inputs}
    ).tolist()


def vector(cells, wanted):
    valid = np.array([cell is not None for cell in cells], np.bool_)
    if wanted.type.kind == "text":
        return Vector(np.array([*cells, None], object)[:-1], valid)
    kind = (
        np.float64
        if wanted.type.unit is None
        else np.uint64
        if wanted.type.high == 2**64 - 1
        else np.int64
    )
    return Vector(np.array([0 if cell is None else cell for cell in cells], kind), valid)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("age > 1", "age"),
        ("Age > 1", "Age"),
        ('"Age" > 1', "Age"),
        ("INCOME > 1", "income"),
        ('"Weird Name" > 1', "Weird Name"),
        ("job = 'a'", "job"),
    ],
)
def test_a_name_means_the_column_of_that_name_in_any_case_unless_it_is_quoted(text, column):
    assert [wanted.column for wanted in bind(text).inputs] == [column]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AGE > 1", "may mean 'age' or 'Age'; write one of them in double quotes"),
        ('"INCOME" > 1', "there is no column 'INCOME'"),
        ("incme > 1", "there is no column 'incme'; did you mean 'income'"),
        ("age > 1 OR (nothing = 2 AND flag)", "there is no column 'nothing'"),
    ],
)
def test_a_name_that_is_none_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        bind(text)


@pytest.mark.parametrize("text", ["'job' = 'a'", "'job' IN ('a', 'b')", "'age' > 5", "5 < 'age'"])
def test_a_column_in_single_quotes_is_no_column(text):
    with pytest.raises(InputError, match="is a text here; the column stands in double quotes or"):
        bind(text)


@pytest.mark.parametrize("text", ["job = 'age'", "'a' = 'b'", "job IN ('job', 'age')"])
def test_texts_beside_a_column_are_texts_whatever_they_say(text):
    assert bind(text) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job < 5", "job is a text and 5 is a number; they cannot be put side by side"),
        ("age = 'x'", "age is a number and 'x' is a text"),
        ("flag = 1", "a condition and 1 is a number"),
        ("flag + 1 > 0", "flag is a condition, where a number is expected"),
        ("born > 5", "born is a date and 5 is a number"),
        ("born > 'yesterday'", "'yesterday' is not a date"),
        ("seen > 'yesterday'", "'yesterday' is not a timestamp"),
        (
            "seen > TIMESTAMP '2024-01-01 00:00:00+00:00'",
            "without a time zone and .* with a time zone",
        ),
        ("logged > TIMESTAMP '2024-01-01 00:00:00'", "with a time zone and .* without a time zone"),
        ("logged > '2024-01-01'", "must be a timestamp with a time zone; add"),
        ("seen > '2024-01-01 00:00:00+00:00'", "must be a timestamp without a time zone"),
        ("logged > DATE '2024-01-01'", "a timestamp with a time zone and .* is a date"),
        ("born + 1 > 5", "born is a date, where a number is expected"),
        ("born - 1 > 5", "born is a date, where a number is expected"),
        ("-born > 5", "born is a date, where a number is expected"),
        ("seen - seen > 5", "a difference of timestamps is not allowed.*write DATE_DIFF"),
        ("seen - born > 5", "a difference of timestamps is not allowed.*write DATE_DIFF"),
        ("DATE_DIFF('day', age, born) > 1", "age is a number, where a date is expected"),
        ("DATE_DIFF('day', job, born) > 1", "job is a text, where a date is expected"),
        ("ABS(job) > 1", "job is a text, where a number is expected"),
        ("ROUND(born) > 1", "born is a date, where a number is expected"),
        ("LEAST(job, 'a') = 'a'", "LEAST takes numbers, dates or timestamps, got LEAST.job, 'a'."),
        ("GREATEST(flag, TRUE)", "GREATEST takes numbers, dates or timestamps"),
        ("LEAST(age, born) = 1", "age is a number and born is a date"),
        ("CAST(job AS INTEGER) = 1", "job is a text, which is not cast to INTEGER; declare"),
        ("CAST('5' AS INTEGER) = age", "'5' is a text, which is not cast to INTEGER"),
        ("CAST(job AS DATE) = born", "job is a text, which is not cast to DATE; declare"),
        ("CAST(age AS DATE) = born", "age is a number, which is not cast to DATE"),
        ("CAST(born AS INTEGER) = 1", "born is a date, which is not cast to INTEGER; write DATE_D"),
        ("CAST(logged AS TIMESTAMP) = seen", "with a time zone, which is not cast to TIMESTAMP"),
        ("CAST(flag AS DATE) = born", "flag is a condition, which is not cast to DATE"),
        ("CAST(born AS DATE) + 1 > 1", "is a date, where a number is expected"),
        ("CAST('x' AS DATE) = born", "'x' is not a date"),
        ("LEAST(age, 1e30) > 1", "too many digits"),
        ("age LIKE 'a%'", "age is a number, where a text is expected"),
        ("age", "age is a number, where a condition is expected; write for example x <> 0"),
        ("age AND flag", "age is a number, where a condition is expected"),
        ("NOT job", "job is a text, where a condition is expected"),
        ("5", "5 is a number, where a condition is expected"),
        ("age + 1", "where a condition is expected"),
        ("'a'", "where a condition is expected"),
        ("age < age < 5", "a condition"),
        ("CASE WHEN flag THEN 1 ELSE 'a' END = 1", "a number.*a text"),
        ("COALESCE(job, 1) = 'a'", "a text.*a number"),
        ("age IN (1, 'a')", "a number.*a text"),
        ("age BETWEEN 1 AND 'b'", "a number.*a text"),
        ("-job = 'a'", "a number"),
        ("anything = other", "nothing tells how to read 'anything' and 'other'.*declare it"),
        ("anything IS NULL", "nothing tells how to read 'anything'"),
        (
            "anything IS NULL OR anything > 1 OR anything = 'a'",
            "nothing tells how to read 'anything'",
        ),
        ("COALESCE(anything, NULL) IS NULL", "nothing tells how to read 'anything'"),
        (
            (
                "income * income * income * income * income * income * income * income * income "
                "* income > 1"
            ),
            "more than 18 decimal places",
        ),
        ("age + 1e-19 > 1", "more than 18 decimal places"),
        ("age + 1e30 > 1", "the number 1e30 has too many digits to compute with"),
        ("COALESCE(age, 1e30) > 1", "too many digits"),
        ("score * 1e200 > 1", "too large or too small to compute with"),
        ("score < 1e309", "beyond all floats"),
    ],
)
def test_what_does_not_fit_together_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        bind(text)


def test_types_are_looked_at_and_cells_are_not():
    asked = []
    bound = Predicate.parse("age > 1 AND job = 'a'").bind(
        list(TYPES), lambda name: asked.append(name) or TYPES[name]
    )
    assert set(asked) == {"age", "job"}
    assert bound.inputs == (Input("age", TYPES["age"]), Input("job", TEXT))
    assert hash(bound) == hash(bind("age > 1 AND job = 'a'"))


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("anything > 5", float_type(64)),
        ("anything + 1 > age", float_type(64)),
        ("anything = 'a'", TEXT),
        ("anything LIKE 'a%'", TEXT),
        ("anything > DATE '2024-01-31'", DATE),
        ("anything > TIMESTAMP '2024-01-31 00:00:00'", timestamp_type("timestamp", 10**6)),
        (
            "anything > TIMESTAMP '2024-01-31 00:00:00Z'",
            timestamp_type("timestamp", 10**6, zoned=True),
        ),
        ("anything = TRUE", BOOLEAN),
        ("anything", BOOLEAN),
        ("anything IS NULL OR anything > 5", float_type(64)),
        ("COALESCE(anything, 0) > 5", float_type(64)),
        ("CAST(anything AS INTEGER) > 5", float_type(64)),
        ("ABS(anything) > 5", float_type(64)),
        ("LEAST(anything, 3) > 2", float_type(64)),
        ("CAST(anything AS DATE) > '2024-01-31'", DATE),
        ("CAST(anything AS TIMESTAMP) > seen", timestamp_type("timestamp", 10**6)),
        ("DATE_DIFF('day', anything, born) > 1", DATE),
        ("anything - DATE '2024-01-31' > 1", DATE),
        ("LEAST(anything, born) = born", DATE),
        ("CASE WHEN flag THEN anything END LIKE 'a'", TEXT),
    ],
)
def test_a_column_without_a_type_is_read_as_what_it_is_used_as(text, reading):
    assert Input("anything", reading) in bind(text).inputs


def test_each_use_of_a_column_without_a_type_is_read_by_itself():
    assert [wanted.type for wanted in bind("anything > 5 OR anything LIKE 'a%'").inputs] == [
        float_type(64),
        TEXT,
    ]


def test_a_comparison_with_a_finer_literal_is_exact():
    cells = [-1, 0, 1, None]
    assert mask("age > 0.005", age=cells) == [False, False, True, False]
    assert mask("age >= -0.5", age=cells) == [False, True, True, False]
    assert mask("age = 0.5 OR age <> 0.5", age=cells) == [True, True, True, False]
    assert mask("income = 0.01", income=cells) == [False, False, True, False]
    assert mask("income < age", income=[99, 100, 101], age=[1, 1, 1]) == [True, False, False]


def test_neighbours_beyond_double_precision_are_told_apart():
    far = [2**53, 2**53 + 1]
    assert mask("age = 9007199254740993", age=far) == [False, True]
    assert mask("age > Age", age=far, Age=[2**53, 2**53]) == [False, True]
    assert mask("big > 18446744073709551614", big=[2**64 - 2, 2**64 - 1, None]) == [
        False,
        True,
        False,
    ]
    assert mask("big > age", big=[2**64 - 1, 0], age=[-1, -1]) == [True, True]


def test_what_is_beyond_64_bits_becomes_null():
    cells = [2**63 - 1, -(2**63), 0, None]
    assert mask("age + 1 IS NULL", age=cells) == [True, False, False, True]
    assert mask("-age IS NULL", age=cells) == [False, True, False, True]
    assert mask("age * age IS NULL", age=cells) == [True, True, False, True]
    assert mask("big + 0 IS NULL", big=[2**63 - 1, 2**63]) == [False, True]
    assert mask("COALESCE(big, 7) IS NULL", big=[2**63 - 1, 2**63, None]) == [False, True, False]
    assert mask("COALESCE(age, income) IS NULL", age=[10**17, 10**16, None], income=[1, 1, 1]) == [
        True,
        False,
        False,
    ]


def test_a_sum_is_exact_where_double_precision_is_not():
    assert mask("income + income = 0.3", income=[15]) == [True]
    assert mask("score + score = 0.6", score=[0.3]) == [True]
    assert mask("score + 0.1 = 0.3", score=[0.2]) == [False]
    assert mask("income + 0.1 = 0.3", income=[20]) == [True]


def test_least_and_greatest_are_null_where_one_is():
    assert mask("LEAST(age, 5) = 5", age=[4, 6, None]) == [False, True, False]
    assert mask("LEAST(age, 5) IS NULL", age=[4, 6, None]) == [False, False, True]
    assert mask("GREATEST(score, 0) = 0", score=[np.nan, -np.inf, np.inf]) == [False, True, False]


def test_halves_are_rounded_away_from_zero():
    halves = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, None]
    found = [-3, -2, -1, 1, 2, 3, 0]
    for number, cell in zip(found, halves, strict=False):
        assert mask(f"ROUND(score) = {number}", score=[cell]) == [True]
        assert mask(f"CAST(score AS INTEGER) = {number}", score=[cell]) == [True]
    assert mask("ROUND(income, 1) = 0.1", income=[4, 5, 14, 15]) == [False, True, True, False]
    assert mask("ROUND(income, 1) = -0.1", income=[-4, -5, -14, -15]) == [False, True, True, False]


def test_no_cast_fails():
    far = [2.0**63, -(2.0**63), 1e300, np.inf, np.nan, None]
    assert mask("CAST(score AS INTEGER) IS NULL", score=far) == [
        True,
        False,
        True,
        True,
        True,
        True,
    ]
    assert mask("CAST(big AS INTEGER) IS NULL", big=[2**63 - 1, 2**63]) == [False, True]
    assert mask("CAST(age AS DECIMAL(2, 0)) IS NULL", age=[99, 100, -99, -100]) == [
        False,
        True,
        False,
        True,
    ]


def test_days_lie_between_midnights():
    hour = 3_600 * 10**6
    assert mask(
        "DATE_DIFF('day', seen, DATE '1970-01-02') = 1", seen=[0, 23 * hour, 24 * hour]
    ) == [
        True,
        True,
        False,
    ]
    assert mask("DATE_DIFF('day', seen, DATE '1970-01-01') = 1", seen=[0, -1, -24 * hour]) == [
        False,
        True,
        True,
    ]
    # Beyond the calendar lies its last day.
    assert mask("born - DATE '9999-12-31' = 0", born=[2_932_896, 10**7]) == [True, True]


def test_a_quotient_is_a_float_and_null_by_zero():
    assert mask("age / 2 = 0.5", age=[1, 2]) == [True, False]
    assert mask("1 / age IS NULL", age=[0, 1, None]) == [True, False, True]
    assert mask("age / 0 IS NULL", age=[0, 1, None]) == [True, True, True]
    assert mask("income / 3 = 0.01", income=[3, 4]) == [True, False]


def test_floats_that_cannot_be_computed_with_become_null():
    odd = [np.nan, np.inf, -np.inf, 1e151, 1e-151, 5e-324, 1e150, 1e-150, 0.0, -0.0, None]
    assert mask("score + 0 IS NULL", score=odd) == [True] * 6 + [False] * 4 + [True]
    assert mask("1 / score IS NULL", score=odd) == [True] * 6 + [False, False, True, True, True]


def test_nan_is_null_and_infinities_are_numbers():
    odd = [np.nan, np.inf, -np.inf, 0.0]
    assert mask("score IS NULL", score=odd) == [True, False, False, False]
    assert mask("score > 5", score=odd) == [False, True, False, False]
    assert mask("NOT score > 5", score=odd) == [False, False, True, True]
    assert mask("score IN (0)", score=[-0.0, 0.0, np.nan]) == [True, True, False]


def test_null_is_neither_in_a_list_nor_out_of_it():
    assert mask("age IN (1, NULL)", age=[1, 2, None]) == [True, False, False]
    assert mask("age NOT IN (1, NULL)", age=[1, 2, None]) == [False, False, False]
    assert mask("age NOT IN (1)", age=[1, 2, None]) == [False, True, False]
    assert mask("age IN (0.5)", age=[1, None]) == [False, False]
    assert mask("NOT age IN (0.5, 1e30)", age=[1, None]) == [True, False]
    assert mask("(age = NULL) IS NULL", age=[1]) == [True]


def test_dates_before_year_1_and_after_9999_count_as_the_calendars_ends():
    assert mask("born = DATE '9999-12-31'", born=[2_932_896, 2_932_897, 10**7, None]) == [
        True,
        True,
        True,
        False,
    ]
    assert mask("born < DATE '0001-01-01'", born=[-(10**8), -719_162]) == [False, False]
    assert mask("born = '0001-01-01'", born=[-(10**8), -719_162, 0]) == [True, True, False]
    assert mask("born > DATE '2024-01-31'", born=[19_753, 19_754, 10**8]) == [False, True, True]


def test_a_date_beside_a_timestamp_is_its_first_moment():
    day = 86_400 * 10**6
    assert mask("seen >= DATE '1970-01-02'", seen=[day - 1, day]) == [False, True]
    assert mask("seen = born", seen=[day, day + 1], born=[1, 1]) == [True, False]
    assert mask("seen = '1970-01-02'", seen=[day, 0]) == [True, False]
    assert mask("born < TIMESTAMP '1970-01-02 00:00:01'", born=[1, 2]) == [True, False]


def test_timestamps_with_zones_are_moments():
    hour = 3_600 * 10**6
    assert mask("logged = TIMESTAMP '1970-01-01 02:00:00+01:00'", logged=[hour, 0]) == [True, False]
    assert mask("logged > '1970-01-01T00:00:00Z'", logged=[hour, 0]) == [True, False]


def test_texts_compare_by_code_points():
    cells = ["a", "B", "é", "\U0001f600", "\uffff", "", None]
    assert mask("job < 'a'", job=cells) == [False, True, False, False, False, True, False]
    assert mask("job > '\uffff'", job=cells) == [False, False, False, True, False, False, False]
    assert mask("job = ''", job=cells) == [False, False, False, False, False, True, False]


def test_a_predicate_without_columns_has_one_truth_value_for_all_rows():
    assert bind("1 = 1 OR FALSE").mask({}).tolist() == [True]
    assert bind("anything = NULL").mask({}).tolist() == [False]


def test_a_table_without_rows_has_an_empty_mask():
    assert (
        mask(
            "age + 1 > 2 AND job LIKE 'a%' AND score IN (1) AND COALESCE(flag, TRUE)",
            age=[],
            job=[],
            score=[],
            flag=[],
        )
        == []
    )


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "uint8", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_whole_numbers_of_any_width_are_read(kind):
    bound = Predicate.parse(
        "age * 1000 > 99000 AND age < 300 AND age > -70000 AND age IN (100, 1000)"
    ).bind(["age"], TYPES.__getitem__)
    assert bound.mask({bound.inputs[0]: Vector(np.array([99, 100], kind))}).tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats_of_any_width_are_compared_in_double_precision(kind):
    bound = Predicate.parse("score > 0.1 AND score + 1 < 2").bind(["score"], TYPES.__getitem__)
    cells = np.array([0.1, 0.5, np.nan, 2], kind)
    assert bound.mask({bound.inputs[0]: Vector(cells)}).tolist() == [
        bool(float(cells[0]) > 0.1),
        True,
        False,
        False,
    ]
