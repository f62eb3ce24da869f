"""Bad input raises InputError before a cell is read, and says what was given and what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import postri
from postri import AddOrRemoveRows, Depth, Domain, InputError, PostriError, ReplaceRows, SeededCoins
from postri.engines.table import Table

HUGE = 10**5_000  # Python refuses to print it.


def named(value: object) -> str | None:
    """How pytest names a case: it cannot print the huge ones either."""
    return f"{'-' * (value < 0)}huge" if isinstance(value, int) and abs(value) == HUGE else None


class Untouchable:
    """A source that cannot even be looked at."""

    def __getattribute__(self, name):
        if name == "__class__":  # isinstance asks for it.
            return object.__getattribute__(self, name)
        raise AssertionError(f"the data was touched: {name}")


UNTOUCHABLE = Untouchable()

NOT_NUMBERS = [
    None,
    "",
    "one",
    "nan",
    "inf",
    "1/0",
    "1e5000",
    "9" * 300,
    [],
    {},
    True,
    1j,
    b"1",
    float("nan"),
    float("inf"),
    -float("inf"),
]
NOT_NUMBERS += [
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    np.float64("nan"),
    np.True_,
    np.array([1.0]),
    object(),
    date(2024, 1, 31),
]


def refused(ask: Callable[[], object], *fragments: str) -> None:
    """Asking raises InputError, and its message holds the fragments."""
    with pytest.raises(InputError) as caught:
        ask()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, PostriError)
    message = str(caught.value)
    for fragment in fragments:
        assert fragment in message
    assert len(message) < 400
    assert "\n" not in message


# A parameter, values that are wrong for it, and what the message says they must be.
PARAMETERS = [
    ("epsilon", [each for each in NOT_NUMBERS if each is not None], "a finite number"),
    ("epsilon", [0, -1, -0.5, "0", "-1/3", Decimal(0), -HUGE], "positive"),
    ("epsilon", [10**7, "1e300", HUGE], "at most"),
    ("confidence", NOT_NUMBERS, "a finite number"),
    ("confidence", [0, 1, 95, -0.1, 1.5, "1", Fraction(3, 2), HUGE], "strictly between 0 and 1"),
    ("split", NOT_NUMBERS, "a finite number"),
    ("split", [0, 1, 2, -0.1, "1", HUGE], "strictly between 0 and 1"),
    ("domain", [(0, 10), [0, 10], "0..10", 10, {"lower": 0}, range(10)], "Domain("),
    ("protect", [None, 1, "rows", AddOrRemoveRows, object()], "AddOrRemoveRows(k), ReplaceRows(k)"),
    ("method", [3, Depth, object()], "or a method object"),
    ("coins", [7, "seed", object(), np.random.default_rng(1)], "SeededCoins(seed)"),
]
WRONG = [(name, value, words) for name, values, words in PARAMETERS for value in values]


@pytest.mark.parametrize(
    "ask",
    [postri.median, lambda source, **how: postri.quantiles(source, [0.1, 0.9], **how)],
    ids=["one", "several"],
)
@pytest.mark.parametrize(("name", "value", "words"), WRONG, ids=named)
def test_a_wrong_parameter_is_refused_by_name(ask, name, value, words):
    refused(lambda: ask(UNTOUCHABLE, **({"epsilon": 1} | {name: value})), name, "got", words)


@pytest.mark.parametrize(
    "ask",
    [
        postri.median,
        postri.count,
        lambda source, **how: postri.quantiles(source, [0.1, 0.9], **how),
        lambda source, **how: postri.ask(source, {"n": "count()"}, **how),
    ],
)
def test_without_epsilon_and_without_a_wish_nothing_is_asked(ask):
    refused(lambda: ask(UNTOUCHABLE), "give epsilon, or within")
    refused(lambda: ask(UNTOUCHABLE, within=-1), "within must be positive", "got")
    refused(lambda: ask(UNTOUCHABLE, within=1, expect="many"), "expect", "got")


@pytest.mark.parametrize("p", [0, 1, 50, -0.1, 1.5, "1", HUGE, *NOT_NUMBERS], ids=named)
def test_a_wrong_quantile_is_refused(p):
    refused(lambda: postri.quantile(UNTOUCHABLE, p, epsilon=1), "p must", "got")
    refused(lambda: postri.quantiles(UNTOUCHABLE, [0.5, p], epsilon=1), "p must", "got")


@pytest.mark.parametrize("ps", ["0.5", 0.5, None, Fraction(1, 2)])
def test_quantiles_must_be_a_list(ps):
    refused(lambda: postri.quantiles(UNTOUCHABLE, ps, epsilon=1), "[0.25, 0.5, 0.75]", "got")


def test_quantiles_must_be_some():
    refused(lambda: postri.quantiles(UNTOUCHABLE, [], epsilon=1), "at least one")


@pytest.mark.parametrize(
    ("value", "shows"),
    [(-0.5, "-0.5"), ("-1/3", "'-1/3'"), (Fraction(-1, 3), "Fraction(-1, 3)"), (True, "True")],
)
def test_a_message_shows_what_was_given(value, shows):
    refused(lambda: postri.median(UNTOUCHABLE, epsilon=value), f"got {shows}")


@pytest.mark.slow
def test_a_number_with_a_huge_exponent_is_refused_at_once():
    """As a fraction it would have a hundred million digits."""
    code = (
        "import postri\nfrom decimal import Decimal\npostri.median([1], "
        "epsilon=Decimal('1e99999999'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert "InputError" in done.stderr


@pytest.mark.parametrize(
    ("given", "hint"), [("dept", "did you mean 'depth'"), ("xyz", "'depth'"), ("", "'depth'")]
)
def test_an_unknown_method_is_refused_with_the_known_ones(given, hint):
    refused(lambda: postri.median(UNTOUCHABLE, epsilon=1, method=given), repr(given), hint)


ZONE = timezone(timedelta(hours=1))
DOMAINS = [
    ((10, 0), "lower must be below upper", "10", "0"),
    (("2024-12-31", "2024-01-01"), "lower must be below upper", "2024-12-31"),
    ((HUGE, 0), "lower must be below upper"),
    ((5, 5), "lower must be below upper", "5"),
    ((0, 10, 3), "whole number of steps", "0", "10", "3"),
    ((0, 1, "0.3"), "whole number of steps", "0.3"),
    ((0, 2**64), "2^64 points", "larger step"),
    ((0, 1, "1e-30"), "2^64 points", "larger step"),
    ((0, 10**301, 10**300), "300 digits"),
    ((0, HUGE, HUGE), "300 digits"),
    ((0, 10, 0), "step must be positive", "got 0"),
    ((0, 10, -1), "step must be positive", "got -1"),
    ((0, 10, None), "step", "None"),
    ((0, 10, timedelta(1)), "number", "timedelta"),
    ((0, float("inf")), "upper must be a finite number", "inf"),
    ((float("nan"), 0), "lower must be a finite number", "nan"),
    ((None, 10), "lower", "None"),
    ((0, "ten"), "upper", "'ten'"),
    ((0, True), "upper", "True"),
    ((0, Fraction(1, 3), Fraction(1, 3)), "finite decimals", "1/3"),
    ((0, "2024-01-31"), "one kind", "2024-01-31"),
    ((date(2024, 1, 1), datetime(2024, 1, 31)), "one kind"),
    ((datetime(2024, 1, 1), datetime(2024, 1, 31, tzinfo=UTC)), "one kind"),
    ((date(2024, 1, 1), date(2024, 1, 31), "0.5"), "whole days", "0.5"),
    ((datetime(2024, 1, 1), datetime(2024, 1, 31), "1e-7"), "whole microseconds", "1e-7"),
    ((datetime(1, 1, 1, tzinfo=ZONE), datetime(2024, 1, 31, tzinfo=ZONE)), "lower"),
    (("2024-02-30", "2024-03-30"), "lower", "2024-02-30"),
]


@pytest.mark.parametrize(
    ("bounds", "fragments"), [(case[0], case[1:]) for case in DOMAINS], ids=lambda _: ""
)
def test_a_wrong_domain_is_refused(bounds, fragments):
    refused(lambda: Domain(*bounds), *fragments)


@pytest.fixture
def unread(monkeypatch):
    """Fails the test if anything is counted: column names and declared types may be looked at,
    cells may not.
    """

    def explode(*_):
        raise AssertionError("the data was read")

    monkeypatch.setattr(Table, "windows", explode)


FLOATS = {
    "numpy": np.array([1.5]),
    "numpy float32": np.array([1.5], dtype=np.float32),
    "pandas": pd.Series([1.5]),
    "pandas nullable": pd.Series([1.5], dtype="Float64"),
    "polars": pl.Series([1.5]),
    "arrow": pa.array([1.5]),
    "declared": postri.open({"x": [1.5]}, columns={"x": "float"}),
}


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("kind", FLOATS)
def test_a_typed_float_column_without_a_step_is_refused(kind):
    refused(lambda: postri.median(FLOATS[kind], epsilon=1), "float", "domain=Domain(", "step")


TEXTS = {
    "numpy": np.array(["a"]),
    "numpy bytes": np.array([b"a"]),
    "numpy durations": np.array([1], dtype="m8[s]"),
    "numpy complex": np.array([1j]),
    "numpy void": np.array([b"a"], dtype="V3"),
    "pandas": pd.Series(["a"], dtype="str"),
    "pandas category": pd.Series([1]).astype("category"),
    "pandas arrow": pd.Series(["a"], dtype="string[pyarrow]"),
    "polars": pl.Series(["a"]),
    "polars category": pl.Series(["a"], dtype=pl.Categorical),
    "arrow": pa.array(["a"]),
    "arrow list": pa.array([[1]]),
    "arrow dictionary": pa.array(["a"]).dictionary_encode(),
}


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("kind", TEXTS)
def test_a_typed_column_without_an_order_of_numbers_is_refused(kind):
    refused(
        lambda: postri.median(TEXTS[kind], epsilon=1), "declared type", "choose a column of numbers"
    )


TIMES = Domain("2024-01-01T00:00:00", "2024-01-31T00:00:00")
ZONED = Domain("2024-01-01T00:00:00Z", "2024-01-31T00:00:00Z")
KINDS = [
    (np.array([1]), Domain("2024-01-01", "2024-01-31"), ("int64", "numbers")),
    (np.array([1.5]), TIMES, ("float64", "numbers")),
    (np.array(["2024-01-01"], dtype="M8[D]"), Domain(0, 10), ("date", "dates")),
    (np.array(["2024-01-01"], dtype="M8[D]"), TIMES, ("date", "dates")),
    (
        np.array(["2024-01-01"], dtype="M8[s]"),
        Domain("2024-01-01", "2024-01-31"),
        ("datetime64", "timestamps"),
    ),
    (np.array(["2024-01-01"], dtype="M8[s]"), ZONED, ("no time zone",)),
    (pd.Series(pd.date_range("2024", periods=2, tz="UTC")), TIMES, ("time zone",)),
]


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(("source", "domain", "fragments"), KINDS)
def test_a_domain_of_another_kind_is_refused(source, domain, fragments):
    refused(lambda: postri.median(source, epsilon=1, domain=domain), *fragments)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 2), np.int64),
        np.zeros((1, 1)),
        np.array(5),
        np.zeros((2, 2, 2)),
        np.empty((0, 2), object),
    ],
)
def test_an_array_must_have_one_dimension(array):
    refused(lambda: postri.median(array, epsilon=1), "one-dimensional", f"{array.ndim} dimensions")


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(
    "source",
    [None, 5, {1, 2}, (i for i in [1]), b"12", object(), int, memoryview(b"12")],
    ids=lambda source: type(source).__name__,
)
def test_what_is_no_source_is_refused_by_its_type(source):
    refused(lambda: postri.median(source, epsilon=1), type(source).__name__, "a NumPy array")


COLUMNS = {"salary": UNTOUCHABLE, "age": UNTOUCHABLE, "start_date": UNTOUCHABLE}


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("salry", "did you mean 'salary'?"),
        ("Age", "'age'"),
        ("zzz", "'start_date'"),
        (5, "'salary'"),
    ],
)
def test_an_unknown_column_is_refused_with_the_nearest_names(given, hint):
    refused(lambda: postri.median(COLUMNS, column=given, epsilon=1), repr(given), hint)


def test_one_of_several_columns_must_be_chosen():
    refused(lambda: postri.median(COLUMNS, epsilon=1), "column=", "'salary'", "'age'")


@pytest.mark.usefixtures("unread")
def test_a_source_without_names_has_no_column_to_choose():
    refused(lambda: postri.median([1, 2], column="age", epsilon=1), "'age'", "leave column out")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"salary": [1], "age": [2]}),
        pl.DataFrame({"salary": [1], "age": [2]}),
        pa.table({"salary": [1], "age": [2]}),
    ],
)
@pytest.mark.usefixtures("unread")
def test_an_unknown_column_of_a_table_is_refused_with_the_nearest_names(frame):
    refused(
        lambda: postri.median(frame, column="salry", epsilon=1), "'salry'", "did you mean 'salary'?"
    )


def test_a_lazy_table_is_refused():
    """It has columns, but none that can be read without being collected first."""
    refused(
        lambda: postri.median(pl.LazyFrame({"salary": [1]}), column="salary", epsilon=1),
        "LazyFrame",
    )


def test_an_unknown_file_is_refused_with_the_nearest_names(tmp_path):
    (tmp_path / "salaries.csv").touch()
    refused(
        lambda: postri.median(tmp_path / "salarys.csv", epsilon=1),
        "salarys.csv",
        "did you mean 'salaries.csv'?",
    )
    refused(lambda: postri.median(str(tmp_path / "nowhere" / "x.csv"), epsilon=1), "x.csv")


def test_a_file_of_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    (tmp_path / "salaries.xlsx").touch()
    refused(
        lambda: postri.median(tmp_path / "salaries.xlsx", epsilon=1),
        "salaries.xlsx",
        ".csv",
        ".parquet",
    )


OPENED = [
    ({"columns": {"salary": "number"}}, ("'salary'", "integer", "'number'")),
    ({"columns": {"salary": 5}}, ("'salary'", "integer", "got 5")),
    ({"columns": {"salry": "integer"}}, ("'salry'", "did you mean 'salary'?")),
    ({"columns": ["salary"]}, ("columns", "got")),
    ({"delimiter": ";;"}, ("delimiter", "';;'")),
    ({"delimiter": ""}, ("delimiter", "''")),
    ({"quote": "\n"}, ("quote",)),
    ({"delimiter": '"'}, ("differ",)),
]


@pytest.mark.parametrize(("how", "fragments"), OPENED)
def test_what_is_wrong_with_opening_is_refused(how, fragments):
    refused(lambda: postri.open(COLUMNS, **how), *fragments)


@pytest.mark.parametrize("k", [0, -1, 1.5, "1", None, True])
@pytest.mark.parametrize("change", [AddOrRemoveRows, ReplaceRows])
def test_rows_per_person_are_a_whole_number_of_at_least_one(change, k):
    refused(lambda: change(k), "rows per person", f"got {k!r}")


@pytest.mark.parametrize("noise", ["laplace", None, 1, ""])
def test_an_unknown_noise_is_refused(noise):
    refused(lambda: Depth(noise=noise), "'exponential' or 'gumbel'", f"got {noise!r}")


@pytest.mark.parametrize("seed", [None, "7", 1.5, True])
def test_a_seed_is_a_whole_number(seed):
    refused(lambda: SeededCoins(seed), "seed", f"got {seed!r}")


PLANS = [
    ({"rows": -1, "epsilon": 1}, ("rows", "-1")),
    ({"rows": 1.5, "epsilon": 1}, ("rows", "1.5")),
    ({"rows": True, "epsilon": 1}, ("rows", "True")),
    ({"rows": 100}, ("epsilon", "reach")),
    ({"rows": 100, "epsilon": 1, "reach": "0.1"}, ("epsilon", "reach")),
    ({"rows": 100, "reach": 0}, ("reach", "strictly between 0 and 1")),
    ({"rows": 100, "reach": 1}, ("reach", "strictly between 0 and 1")),
    ({"rows": 100, "reach": "0.001"}, ("0.001", "100 rows")),
    ({"rows": 0, "reach": "0.1"}, ("reach",)),
    ({"rows": 100, "epsilon": 0}, ("epsilon", "positive")),
    ({"rows": 100, "epsilon": 1, "p": 1}, ("p must",)),
    ({"rows": 100, "epsilon": 1, "confidence": 1}, ("confidence",)),
    ({"rows": 100, "epsilon": 1, "groups": 0}, ("groups", "0")),
    ({"rows": 100, "epsilon": 1, "domain": (0, 1)}, ("Domain(",)),
]


@pytest.mark.parametrize(("how", "fragments"), PLANS)
def test_a_wrong_plan_is_refused(how, fragments):
    refused(lambda: postri.plan(**how), *fragments)


def test_an_epsilon_that_is_too_small_for_any_interval_is_no_error():
    answer = postri.median(range(1_000), epsilon="1e-12")
    assert answer.epsilon == Fraction("1e-12")
    assert answer.explain()


TINY = ["0.9e-12", "1e-100", "1e-300", "1e-399", Fraction(1, 10**400), Decimal("1e-400"), 5e-324]
LONG = [
    "0." + "1" * 100,
    "1" * 61 + "/" + "2" * 60 + "3",
    Fraction(10**500 + 1, 10**500),
    "1e-401",
    "1" * 201,
]


@pytest.mark.parametrize("epsilon", TINY)
def test_an_epsilon_that_tells_nothing_is_refused(epsilon):
    refused(lambda: postri.median(range(1_000), epsilon=epsilon), "epsilon", "at least 1e-12")


@pytest.mark.parametrize("epsilon", LONG)
def test_an_epsilon_of_too_many_digits_is_refused(epsilon):
    refused(lambda: postri.median(range(1_000), epsilon=epsilon), "epsilon", "digits")


@pytest.mark.parametrize(
    "how",
    [
        {"confidence": "0." + "9" * 190},
        {"confidence": 1 - Fraction(1, 10**350)},
        {"split": "1e-350"},
        {"protect": ReplaceRows(10**350)},
    ],
)
def test_other_extreme_parameters_are_no_error(how):
    assert postri.median(range(100), epsilon=1, **how).to_json()


@pytest.mark.parametrize("p", ["1e-30", "1e-350", 1 - Fraction(1, 10**350)])
def test_an_extreme_quantile_is_no_error(p):
    assert postri.quantile(range(100), p, epsilon=1).to_json()


def test_numbers_may_come_as_text_fractions_decimals_and_numpy_scalars():
    for half in ("0.5", "1/2", Fraction(1, 2), Decimal("0.5"), 0.5, np.float32(0.5), np.array(0.5)):
        answer = postri.quantile(range(10), half, epsilon=half, confidence=half, split=half)
        assert answer.epsilon == answer.p == Fraction(1, 2)


def test_a_float_means_the_decimal_that_it_prints_as():
    """CONTRACT.md: epsilon=0.1 is 1/10, so ten questions at 0.1 spend exactly 1."""
    assert 10 * postri.median(range(10), epsilon=0.1).epsilon == 1
