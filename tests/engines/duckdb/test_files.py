"""Files: what a CSV line means, and the same windows as from the same cells in memory."""

from __future__ import annotations

import os
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postri
from postri import Domain, EngineError, InputError, SeededCoins, SourceError
from postri.engines.duckdb.source import Database, quietly
from postri.engines.rows import Groups, Rows, Units
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import Target
from proving import sized

pytestmark = pytest.mark.slow

HALF = Fraction(1, 2)


def write(folder: Path, *lines: bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def window(source, column=None, domain=None, half=10**6, **how):
    """Everything that an engine says of a column: its window with all rows."""
    table = postri.open(source, **how)
    grid = grid_of(table.type_of(table.column(column)), domain)
    return table.windows(table.column(column), grid, [Target(HALF, half)])[0](0)


def cells(source, column=None, domain=None, **how):
    seen = window(source, column, domain, **how)
    return np.repeat(seen.indexes, seen.counts).tolist()


# ---- CSV: which lines are records


def test_lines_with_too_few_or_too_many_cells_are_dropped(tmp_path):
    path = write(tmp_path, b"a,b", b"1,1", b"2", b"3,3,3", b"4,4,", b"5,5")
    assert cells(path, "b") == [1, 5]


def test_a_byte_that_is_not_utf8_spoils_its_own_cell_and_no_row(tmp_path):
    path = write(tmp_path, b"a,b", b"1,1", b"\xff,2", b"3,\xc3\x28", b"4,4")
    assert cells(path, "b") == [1, 2, 4]
    assert cells(path, "a") == [1, 3, 4]


@pytest.mark.parametrize("damaged", [b'"3,3', b'3,"3', b'3,"3"x', b'"3"3,3', b'3,"', b'"""3,3'])
def test_an_unbalanced_quote_drops_its_own_line_and_no_other(tmp_path, damaged):
    path = write(tmp_path, b"a,b", b"1,1", damaged, b"4,4", b'"5","5"', damaged)
    assert cells(path, "b") == [1, 4, 5]


def test_a_quote_inside_an_unquoted_cell_drops_the_line(tmp_path):
    path = write(tmp_path, b"a,b", b'5"x,1', b'6"",2', b"7,7")
    assert cells(path, "b") == [7]


def test_quoted_cells_lose_their_quotes_and_may_hold_the_delimiter(tmp_path):
    path = write(tmp_path, b"a,b", b'"x, ""y""","7"', b'"",8')
    assert cells(path, "b") == [7, 8]


def test_a_cell_with_a_line_break_makes_two_lines_that_are_no_records(tmp_path):
    path = write(tmp_path, b"a,b", b'"x', b'y",7', b'8,"8', b'"', b"9,9")
    assert cells(path, "b") == [9]


def test_every_kind_of_line_end_ends_a_record(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_bytes(b"a,b\r\n1,1\r\n2,2\n3,3\r4,4")
    assert cells(path, "b") == [1, 2, 3, 4]


def test_a_line_of_two_megabytes_is_dropped_without_an_error(tmp_path):
    path = write(tmp_path, b"a,b", b"1,1", b"2," + b"2" * 3_000_000, b"3,3")
    assert cells(path, "b") == [1, 3]


def test_nul_bytes_and_other_controls_make_a_cell_no_number(tmp_path):
    path = write(tmp_path, b"a,b", b"1,\x001", b"2,2\x0b", b"3,\x1f3")
    assert cells(path, "b") == [2]


def test_empty_cells_and_blank_lines_are_dropped(tmp_path):
    path = write(tmp_path, b"a,b", b"1,", b"", b'2,""', b",3", b"4,  ")
    assert cells(path, "b") == [3]


def test_one_column_is_enough(tmp_path):
    assert cells(write(tmp_path, b"only", b"3", b"", b"1")) == [1, 3]


def test_an_empty_table_answers_like_any_other(tmp_path):
    assert cells(write(tmp_path, b"a,b"), "b") == []
    sources = (write(tmp_path, b"a,b"), {"b": []})
    answers = [
        postri.median(source, column="b", epsilon=1, coins=SeededCoins(7)) for source in sources
    ]
    assert answers[0].interval == answers[1].interval


# ---- CSV: the header, and how the file is written


def test_names_in_the_header_may_hold_quotes_commas_keywords_and_a_byte_order_mark(tmp_path):
    path = write(tmp_path, b'\xef\xbb\xbf"select","a ""b"", c","; drop table x"', b"1,2,3")
    table = postri.open(path)
    assert table.columns == ["select", 'a "b", c', "; drop table x"]
    assert [cells(path, name) for name in table.columns] == [[1], [2], [3]]


def test_a_name_that_stands_twice_in_the_header_is_refused(tmp_path):
    with pytest.raises(InputError, match="more than one column 'a'"):
        cells(write(tmp_path, b"a,a", b"1,2"), "a")


@pytest.mark.parametrize("header", [b"\xff,b", b'"a,b'])
def test_a_header_that_cannot_be_read_is_refused(tmp_path, header):
    with pytest.raises(InputError, match="not a header"):
        postri.open(write(tmp_path, header, b"1,2"))


def test_delimiter_and_quote_are_what_the_caller_says(tmp_path):
    path = write(tmp_path, b"a;b", b"1;'2'", b"3;4,5")
    assert cells(path, "b", delimiter=";", quote="'") == [2]


@pytest.mark.parametrize("delimiter", ["|", "\t", "^", "]", "\\", "-", "."])
def test_any_ascii_delimiter_splits_cells(tmp_path, delimiter):
    mark = delimiter.encode()
    assert cells(
        write(tmp_path, b"a" + mark + b"b", b"1" + mark + b"2"), "b", delimiter=delimiter
    ) == [2]


def test_without_quotes_a_quote_is_an_ordinary_character(tmp_path):
    assert cells(write(tmp_path, b"a,b", b'"1,2', b'3,"4"'), "b", quote="") == [2]


def test_without_a_header_the_caller_names_the_columns(tmp_path):
    path = write(tmp_path, b"1,2", b"3,4")
    assert cells(path, "y", columns={"x": None, "y": "integer"}, header=False) == [2, 4]
    with pytest.raises(InputError, match="names of all its columns"):
        postri.open(path, header=False)


@pytest.mark.parametrize(
    "how",
    [
        {"delimiter": ""},
        {"delimiter": ",,"},
        {"delimiter": "\n"},
        {"quote": "''"},
        {"quote": ","},
        {"delimiter": "é"},
    ],
)
def test_a_delimiter_or_quote_that_cannot_be_is_refused(tmp_path, how):
    with pytest.raises(InputError, match=r"delimiter|quote"):
        postri.open(write(tmp_path, b"a,b"), **how)


def test_what_is_not_a_file_or_not_of_a_known_format_is_refused(tmp_path):
    write(tmp_path, b"a", name="salaries.csv")
    with pytest.raises(InputError, match=r"there is no file .*did you mean 'salaries.csv'"):
        postri.open(tmp_path / "salary.csv")
    with pytest.raises(InputError, match="cannot tell the format"):
        postri.open(write(tmp_path, b"a", name="salaries.xls"))
    with pytest.raises(InputError, match="may not hold"):
        postri.open(write(tmp_path, b"a", name="salaries[1].csv"))


# ---- one grammar, the same in every source

NUMBERS = st.one_of(
    st.integers(-(10**22), 10**22).map(str),
    st.decimals(allow_nan=True, allow_infinity=True, places=3).map(str),
    st.floats().map(repr),
    st.from_regex(
        r"[ \t]?[+-]?[0-9]{0,20}\.?[0-9]{0,8}([eE][+-]?[0-9]{1,4})?[ \t]?", fullmatch=True
    ),
    st.sampled_from(
        [
            "1_000",
            "0x10",
            "١٢",
            "1e",
            ".",
            "+",
            "--1",
            "inf",
            "-Infinity",
            "nan",
            "1e999999999",
            "-1e-999999999",
            "True",
            "1 2",
            "12 ",
            "½",
        ]
    ),
)


@settings(
    max_examples=sized(10, 40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(NUMBERS, min_size=1, max_size=60),
    st.sampled_from([None, Domain(-500, 500, "0.1"), Domain(0, 14 * 10**18, 7 * 10**17)]),
)
def test_a_text_means_the_same_in_a_list_and_in_a_csv_file(tmp_path, texts, domain):
    path = tmp_path / "texts.csv"
    path.write_text("x,y\n" + "".join(f"{text},0\n" for text in texts), encoding="utf-8")
    assert cells(path, "x", domain) == cells(texts, domain=domain)
    if domain is None:
        whole = {"x": "integer"}
        assert cells(path, "x", columns=whole) == cells({"x": texts}, "x", columns=whole)


@pytest.fixture
def returned(monkeypatch):
    """How many rows each query returned."""
    found, original = [], Database.columns

    def columns(*given, **named):
        result = original(*given, **named)
        found.append(len(result[0]))
        return result

    monkeypatch.setattr(Database, "columns", columns)
    return found


FORMS = {
    "usual": lambda i: f"{i * 7919 % 200_003}.{i % 100:02}",
    "with exponents": lambda i: f"{i * 7919 % 200_003}{i % 100:02}e-2",
    "of many digits": lambda i: f"{i * 7919 % 200_003}.{i % 100:02}0000000000000000000000{i}",
    "of all sorts": lambda i: ["inf", f"{i:030}.00", f"{i}e0", f"{i}.", "n/a", "", "-"][i % 7],
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", ["0.01", "0.00000001"], ids=["coarse", "fine"])
def test_no_more_returns_from_a_csv_file_than_the_window_needs(tmp_path, returned, form, step):
    cells = [FORMS[form](i) for i in range(sized(20_000, 60_000))]
    domain = Domain(0, 300_000, step)
    seen = window(write(tmp_path, b"x", *(cell.encode() for cell in cells)), "x", domain, half=100)
    assert seen == window({"x": cells}, "x", domain, half=100)
    assert sum(returned) <= 3 * len(seen.indexes)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("lower", "step"), [("0", "0.1"), ("-7.7", "0.3"), ("1000000.1", "0.7")])
def test_texts_beside_halves_are_read_exactly(tmp_path, lower, step):
    """Of many digits: double precision alone would take many of them for their neighbours."""
    domain = Domain(lower, Fraction(lower) + 10**6 * Fraction(step), step)
    edges = [
        Fraction(lower) + (i + HALF) * Fraction(step)
        for i in [*range(300), *range(10**6 - 300, 10**6)]
    ]
    cells = [
        f"{(edge + shift) * 10**30}e-30"
        for edge in edges
        for shift in (-Fraction(1, 10**20), 0, Fraction(1, 10**20))
    ]
    decimals = [f"{int(edge * 10**25) + shift:+030}" for edge in edges for shift in (-1, 0, 1)]
    cells += [f"{text[:-25]}.{text[-25:]}" for text in decimals]
    path = write(tmp_path, b"x", *(cell.encode() for cell in cells))
    assert window(path, "x", domain, half=10**6) == window({"x": cells}, "x", domain, half=10**6)


ROWS = {
    "a filter": Rows(where=Predicate.parse("x > 20 AND city <> 'Rome'")),
    "groups": Rows(groups=Groups.of({"city": ["Oslo", "Rome", "Bergen"], "k": [1, 2, 30]})),
    "dates": Rows(groups=Groups.of({"day": [date(2024, 2, 29), date(2024, 3, 1)]})),
    "units": Rows(units=Units("who", 2)),
    "all of it": Rows(
        Predicate.parse("day >= DATE '2024-02-20'"), Groups.of({"k": [1, 2]}), Units("who", 3)
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ROWS)
def test_no_more_returns_from_the_chosen_rows_of_a_csv_file(tmp_path, returned, name):
    """Filters, groups and bounds are DuckDB's work, whatever cells look like: here keys and units
    are not written alike.
    """
    number = sized(20_000, 60_000)
    columns = {
        "x": [f"{i * 7919 % 60_013}" for i in range(number)],
        "city": [("Oslo", "Rome", "Lima", "")[i % 4] for i in range(number)],
        "k": [("1", "1.0", "2", "+2e0", "3", "03.0e1", "x")[i % 7] for i in range(number)],
        "day": [
            ("2024-02-29", "2024-03-01", "2024-02-30", "2024-01-01")[i % 4] for i in range(number)
        ],
        "who": [f"{i % (number // 3)}" for i in range(number)],
    }
    lines = [",".join(cells).encode() for cells in zip(*columns.values(), strict=True)]
    seen, same = (
        table.grouped_windows(
            "x",
            grid_of(table.type_of("x"), None),
            [Target(Fraction(1, 2), 50)],
            table.bind(ROWS[name]),
        )
        for table in (
            postri.open(write(tmp_path, ",".join(columns).encode(), *lines)),
            postri.open(
                {column: [cell or None for cell in cells] for column, cells in columns.items()}
            ),
        )
    )
    assert [group[0](0) for group in seen] == [group[0](0) for group in same]
    assert sum(returned) <= 3 * sum(len(group[0](0).indexes) for group in seen)


def test_dates_and_timestamps_mean_the_same_in_a_list_and_in_a_csv_file(tmp_path):
    texts = [
        "2024-02-29",
        "2023-02-29",
        "2024-1-1",
        "20240101",
        " 2024-03-01 ",
        "2024-03-01 12:30",
        "2024-03-01T12:30:00.5",
        "2024-03-01T00:00Z",
        "x",
    ]
    path = tmp_path / "dates.csv"
    path.write_text("x,y\n" + "".join(f"{text},0\n" for text in texts), encoding="utf-8")
    days, times = (
        Domain("2024-01-01", "2024-12-31"),
        Domain("2024-01-01T00:00:00", "2024-12-31T00:00:00"),
    )
    assert cells(path, "x", days) == cells(texts, domain=days) == [59, 60]
    assert cells(path, "x", times) == cells(texts, domain=times) != []
    assert cells(path, "x", columns={"x": "date"}) == [19782, 19783]


# ---- Parquet


def parquet(folder: Path, array: pa.Array) -> Path:
    path = folder / "table.parquet"
    pq.write_table(pa.table({"x": array, "other": pa.nulls(len(array), pa.string())}), path)
    return path


EXTREMES = {
    "int64": pa.array([2**63 - 1, -(2**63), 0, None, 5, 5]),
    "uint64": pa.array([2**64 - 1, 0, None, 7], pa.uint64()),
    "int8": pa.array([127, -128, None, 3, 3, 3], pa.int8()),
    "boolean": pa.array([True, False, None, True]),
    "decimal": pa.array([None, 1, -999999999999999], pa.decimal128(18, 3)),
    "date": pa.array([2**31 - 1, -(2**31) + 1, 0, None, 19000], pa.date32()),
    "timestamp": pa.array(
        [2**63 - 1, -(2**63) + 1, 0, None, 1_700_000_000_000_001], pa.timestamp("us")
    ),
    "zoned": pa.array([0, None, 1_700_000_000_000_001], pa.timestamp("us", tz="Europe/Oslo")),
    "nanoseconds": pa.array([2**63 - 1, 0, None, 1_700_000_000_000_001_500], pa.timestamp("ns")),
}


@pytest.mark.parametrize("kind", EXTREMES)
def test_a_parquet_column_gives_the_window_of_the_same_arrow_column(tmp_path, kind):
    assert window(parquet(tmp_path, EXTREMES[kind]), "x") == window(EXTREMES[kind])


@pytest.mark.parametrize("width", [pa.float32(), pa.float64()])
def test_a_parquet_column_of_floats_gives_the_window_of_the_same_arrow_column(tmp_path, width):
    array = pa.array(
        [
            0.1,
            0.15,
            0.25,
            -0.0,
            1e300 if width == pa.float64() else 1e30,
            float("nan"),
            float("inf"),
            float("-inf"),
            None,
            0.35,
        ],
        width,
    )
    domain = Domain(-1, 1, "0.1")
    assert window(parquet(tmp_path, array), "x", domain) == window(array, domain=domain)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", ["shuffled", "sorted", "clustered", "constant"])
def test_a_large_parquet_column_is_sampled_verified_and_widened_where_needed(tmp_path, order):
    generator = np.random.default_rng(3)
    data = (generator.standard_normal(400_000) * 10**6).astype(np.int64)
    data = {
        "shuffled": data,
        "sorted": np.sort(data),
        "clustered": np.repeat(data[:4000], 100),
        "constant": np.full(400_000, 7),
    }[order]
    assert window(parquet(tmp_path, pa.array(data)), "x", half=300) == window(data, half=300)


@pytest.mark.parametrize("stored", [pa.timestamp("ms"), pa.timestamp("ms", tz="UTC")])
def test_timestamps_whose_reading_can_fail_on_a_cell_are_refused_by_their_type(tmp_path, stored):
    for cell in (0, 2**63 - 1):
        with pytest.raises(InputError, match="milliseconds"):
            postri.median(parquet(tmp_path, pa.array([cell], stored)), column="x", epsilon=1)


def test_text_in_a_parquet_file_is_refused_by_its_type(tmp_path):
    with pytest.raises(InputError, match="declared type VARCHAR"):
        postri.median(parquet(tmp_path, pa.array(["1", "2"])), column="x", epsilon=1)


@pytest.mark.parametrize("cut", [0, 10, -8])
def test_a_damaged_parquet_file_raises_an_error_without_its_content(tmp_path, cut):
    path = parquet(tmp_path, pa.array([123454321]))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SourceError, match="damaged") as caught:
        postri.open(path)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_coins_decide_alike_on_every_source(tmp_path):
    data = np.random.default_rng(5).integers(0, 10_000, 3_000)
    path = write(tmp_path, b"x", *(str(cell).encode() for cell in data))
    whole = {"x": "integer"}
    typed = [
        {"x": data},
        {"x": pa.array(data)},
        parquet(tmp_path, pa.array(data)),
        postri.open(path, columns=whole),
        postri.open({"x": data.tolist()}, columns=whole),
    ]
    untyped = [{"x": data.tolist()}, path]
    answers, rounded = (
        [postri.median(each, column="x", epsilon=1, coins=SeededCoins(11)) for each in sources]
        for sources in (typed, untyped)
    )
    assert len({(answer.value, answer.interval) for answer in answers}) == 1
    assert len({(answer.value, answer.interval) for answer in rounded}) == 1
    # The same draw; nobody said that untyped cells are whole.
    exact, wider = answers[0].interval, rounded[0].interval
    assert answers[0].value == rounded[0].value
    assert (exact.low - wider.low, wider.high - exact.high) == (HALF, HALF)


# ---- DuckDB is locked


@pytest.mark.parametrize("width", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("statistics", [True, False])
def test_nan_in_parquet_is_dropped_whatever_the_footer_says(tmp_path, width, statistics):
    """A footer's least and largest value leave NaN out: a reader that trusts them takes a column
    for free of it.
    """
    path = tmp_path / "numbers.parquet"
    pq.write_table(
        pa.table({"x": pa.array([1.0, float("nan"), 2.0, 3.0, float("nan")], width)}),
        path,
        write_statistics=statistics,
    )
    assert cells(path, "x", Domain(0, 10)) == [1, 2, 3]
    assert window(path, "x", Domain(0, 10)).n == 3


def test_the_database_reads_its_file_and_nothing_else(tmp_path):
    mine, other = write(tmp_path, b"a", name="mine.csv"), write(tmp_path, b"a", name="other.csv")
    database = Database([os.fspath(mine)])
    assert database.columns(f"SELECT count(*) FROM read_csv('{mine}', header = true)")[0][0] == 0
    for query in (
        f"SELECT * FROM read_csv('{other}')",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        "INSTALL httpfs",
        "SET threads = 1",
    ):
        with pytest.raises(EngineError):
            database.columns(query)


def test_what_duckdb_says_never_leaves_the_engine(tmp_path):
    database = Database([os.fspath(write(tmp_path, b"a"))])
    with pytest.raises(EngineError) as caught:
        database.columns("SELECT CAST('secret-4711' AS INTEGER)")
    assert "4711" not in repr(caught.value) and caught.value.__context__ is None
    assert isinstance(caught.value, postri.PostriError) and not isinstance(
        caught.value, duckdb.Error
    )


def test_what_duckdb_says_while_rows_are_fetched_stays_inside_too():
    def fetch():
        raise duckdb.ConversionException("secret-4711")

    with pytest.raises(EngineError, match="told") as caught:
        quietly(fetch, EngineError("told"))
    assert caught.value.__context__ is None and caught.value.__cause__ is None


# ---- Parquet: files of several types


def test_parquet_files_of_several_types_are_refused_whatever_their_cells_are(tmp_path):
    """DuckDB converts cells to the type of the first file, which would fail on large ones alone."""
    for large in (5, 2**40):
        for name, kind, cell in (("a", pa.int32(), 1), ("b", pa.int64(), large)):
            rows = pa.table({"x": pa.array([cell], kind), "y": [1], "s": [{"x": "nested"}]})
            pq.write_table(rows, tmp_path / f"{name}.parquet")
        table = postri.open(f"{tmp_path}/*.parquet")
        refused = pytest.raises(InputError, match="'x' with several types, BIGINT and INTEGER")
        with refused:
            postri.count(table, "x", epsilon=1)
        with refused:
            postri.count(table, where="x = 1 OR y = 1", epsilon=1)
        with refused:
            postri.ask(table, {"n": postri.agg.count()}, by={"x": [1]}, epsilon=1)
        assert postri.count(table, "y", epsilon=1000).value == 2
