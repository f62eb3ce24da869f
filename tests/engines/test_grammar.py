"""Cells without a declared type, in lists and object arrays: what cannot be read is dropped, and
nothing raises.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from math import isinf

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import postri
from postri import Domain
from postri.columns import UNTYPED
from postri.engines.csv_format import CsvFormat
from postri.engines.resolve import engine_of
from postri.grid import Grid, grid_of
from postri.window import RankWindow, Target
from proving import examples, sized
from some_domains import DOMAINS, TIMES, answered


class Strange(str):
    """A text that cannot be shown."""

    __slots__ = ()

    def __repr__(self):
        raise RuntimeError("nobody shall look")


class Colour(IntEnum):
    """Whole numbers with names."""

    RED = 3


HUGE = 10**5_000
FAR_EAST, FAR_WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-14))

ODD = [
    *(
        "",
        ".",
        "e",
        "+",
        "--1",
        "1.5.2",
        "1_000",
        "0x10",
        "nan",
        "inf",
        "-Infinity",
        " 7 ",
        "\u00a07",
        "7\n",
        "\ud800",
        "\0",
        "٣",
    ),
    *(
        "1e999999999",
        "-1e999999999",
        "1e-999999999",
        "9" * 5_000,
        "0." + "0" * 5_000 + "1",
        "1e" + "9" * 5_000,
    ),
    *(
        "2024-02-30",
        "0000-01-01",
        "2024-01-31T24:00",
        "2024-06-30T23:59:60",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59-14:00",
        "24:00",
    ),
    *(
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        Decimal((0, (1,), 10**17)),
    ),
    *(
        HUGE,
        -HUGE,
        Fraction(HUGE, 3),
        Fraction(1, HUGE),
        1e308,
        5e-324,
        -0.0,
        float("nan"),
        float("inf"),
        Colour.RED,
        True,
        1j,
    ),
    *(
        date.min,
        date.max,
        datetime.min,
        datetime.max,
        datetime.max.replace(tzinfo=UTC),
        time(1),
        timedelta(5),
    ),
    *(
        datetime.min.replace(tzinfo=FAR_EAST),
        datetime.max.replace(tzinfo=FAR_WEST),
        datetime(2020, 6, 1, tzinfo=tzinfo()),
    ),
    *(
        pd.NaT,
        pd.NA,
        pd.Timestamp.max,
        pd.Timestamp(1),
        pd.Timedelta(5),
        pd.Period("2024"),
        pd.Interval(0, 1),
    ),
    *(
        np.int8(-5),
        np.uint64(2**64 - 1),
        np.float16("nan"),
        np.longdouble("1e4000"),
        np.complex64(1),
        np.bool_(True),
    ),
    *(np.str_("12"), np.bytes_(b"12"), np.void(b"12"), np.ma.masked, np.array([1, 2]), np.array(5)),
    *(
        np.datetime64("NaT", "us"),
        np.datetime64(2**62, "h"),
        np.datetime64(2**62, "Y"),
        np.datetime64("2020-06-01"),
        np.datetime64(1, "fs"),
    ),
    *(np.timedelta64(5, "D"), np.timedelta64("NaT", "us")),
    *(
        None,
        Ellipsis,
        NotImplemented,
        object(),
        int,
        len,
        Strange("12"),
        Strange("no"),
        b"12",
        {1, 2},
        [1],
        (1,),
        {"a": 1},
    ),
]

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones() | st.just(timezone(timedelta(hours=23, minutes=59)))),
    st.times(),
    st.timedeltas(),
    st.lists(st.integers(), max_size=2),
    st.from_regex(r"[+-]?\d{0,5}\.?\d{0,5}([eE][+-]?\d{0,12})?", fullmatch=True),
    st.from_regex(
        r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,7})?)?(Z|[+-]\d{2}:\d{2})?)?",
        fullmatch=True,
    ),
)


def window_of(rows: list, grid: Grid) -> RankWindow:
    """Everything that is counted of a list."""
    return engine_of(rows, None, CsvFormat()).windows(None, grid, [Target(Fraction(1, 2), 10**6)])[
        0
    ][0]


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(ODD))[:: sized(3, 1)])
def test_an_odd_cell_is_read_or_dropped(place):
    """Alone in a list, and among whole numbers in an object array."""
    array = np.empty(3, dtype=object)
    array[:] = 1
    array[1] = ODD[place]
    for domain in (None, *DOMAINS, *TIMES):
        answered([ODD[place]], domain)
        answered(array, domain)


@pytest.mark.slow
@examples(120)
@given(rows=st.lists(cells, max_size=12), domain=st.sampled_from([None, *DOMAINS, *TIMES]))
def test_any_list_has_an_answer(rows, domain):
    answered(rows, domain)


@examples(60)
@given(rows=st.lists(cells, max_size=12), domain=st.sampled_from([None, *DOMAINS, *TIMES]))
def test_any_object_array_has_an_answer(rows, domain):
    array = np.empty(len(rows), dtype=object)
    for i, cell in enumerate(rows):
        array[i] = cell
    answered({"x": array}, domain)


ALIKE = {
    "int": st.integers(-(2**65), 2**65),
    "bool": st.booleans(),
    "float": st.floats(),
    "text": st.from_regex(r"-?\d{1,20}(\.\d{1,3})?", fullmatch=True),
    "Decimal": st.decimals(),
    "Fraction": st.fractions(),
    "IntEnum": st.just(Colour.RED),
    "int8": st.integers(-128, 127).map(np.int8),
    "uint64": st.integers(0, 2**64 - 1).map(np.uint64),
    "float16": st.floats(width=16).map(np.float16),
    "float32": st.floats(width=32).map(np.float32),
    "longdouble": st.floats().map(np.longdouble),
    "timedelta64": st.integers(-9, 9).map(lambda days: np.timedelta64(days, "D")),
    "datetime64": st.integers(-9, 9).map(lambda days: np.datetime64(18_414 + days, "D")),
    "date": st.dates(),
    "datetime": st.datetimes(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALIKE)
@examples(20)
@given(data=st.data(), domain=st.sampled_from([None, *DOMAINS, *TIMES]))
def test_cells_of_one_kind_are_read_like_cells_among_others(kind, data, domain):
    """A list of cells that are all alike may be read at once; None among them is dropped and
    changes nothing else.
    """
    rows = data.draw(st.lists(ALIKE[kind], max_size=12))
    grid = grid_of(UNTYPED, domain)
    assert window_of(rows, grid) == window_of([None, *rows], grid)


@pytest.mark.slow
@pytest.mark.parametrize("declared", ["integer", "decimal", "float", "date", "timestamp"])
@examples(25)
@given(rows=st.lists(cells, max_size=12))
def test_any_list_of_a_declared_type_has_an_answer(declared, rows):
    table = postri.open({"x": rows}, columns={"x": declared})
    answered(table, Domain(0, 100, step="0.5") if declared in ("decimal", "float") else None)


@examples(100)
@given(
    rows=st.lists(
        st.fractions(max_denominator=50)
        | st.integers(-(2**70), 2**70)
        | st.floats()
        | st.decimals(allow_nan=False)
    )
)
def test_numbers_count_by_their_exact_value(rows):
    """Dropped is NaN; infinities are clamped; the rest is rounded half to even and clamped, as
    Fraction's round does.
    """
    grid = grid_of(UNTYPED, Domain(-5, 5, step="0.25"))
    expected = Counter()
    for row in rows:
        if row == row:  # noqa: PLR0124 - not NaN
            infinite = isinstance(row, float | Decimal) and isinf(row)
            expected[
                (40 if row > 0 else 0)
                if infinite
                else min(max(round((Fraction(row) + 5) * 4), 0), 40)
            ] += 1
    window = window_of(rows, grid)
    assert dict(zip(window.indexes.tolist(), window.counts.tolist(), strict=True)) == dict(expected)
