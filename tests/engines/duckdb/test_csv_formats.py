"""CSV files whose cells are written in a declared way: read inside DuckDB as the format says, the
same as rewritten cells in memory.
"""

from __future__ import annotations

import gzip
import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import postri
from postri import Domain, InputError
from postri.engines.csv_format import NumberFormat
from postri.engines.rows import Groups, Rows, Units
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.policy import check_policy, read_policy
from postri.policy.skeleton import skeleton
from postri.window import Target
from program import run
from proving import sized

CENTS = Domain(-2_000, 2_000, step="0.01")
DAYS = Domain("2024-01-01", "2024-12-31")
HOURS = Domain("2024-01-01T00:00", "2024-12-31T00:00", step=3600)


def write(folder: Path, *lines: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def cells(source, column, domain=None, **how) -> list[int]:
    table = postri.open(source, **how)
    grid = grid_of(table.type_of(column), domain)
    window = table.windows(column, grid, [Target(Fraction(1, 2), 10**6)])[0](0)
    return np.repeat(window.indexes, window.counts).tolist()


# ---- numbers

GERMAN = {"delimiter": ";", "decimal": ",", "thousands": "."}
TEXTS = st.from_regex(
    r"[ ]?[+-]?[0-9]{0,5}[.,' ]?[0-9]{0,3}[.,]?[0-9]{0,4}(e-?[0-9])?", fullmatch=True
)


@pytest.mark.slow
@settings(max_examples=sized(15, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=50),
    marks=st.sampled_from([(",", ""), (",", "."), (".", ","), (",", " "), (".", "'")]),
    domain=st.sampled_from([None, CENTS]),
)
def test_numbers_mean_what_the_marks_say_as_rewritten_cells_do_in_memory(
    tmp_path, texts, marks, domain
):
    path = write(tmp_path, "x;y", *(f"{text};0" for text in texts))
    decimal, thousands = marks
    rewritten = [NumberFormat(*marks).plain(text.strip()) for text in texts]
    how = {"delimiter": ";", "decimal": decimal, "thousands": thousands}
    assert cells(path, "x", domain, **how) == cells({"x": rewritten}, "x", domain)


def test_marks_hold_for_predicates_keys_units_and_declared_types(tmp_path):
    lines = ["x;k;who", "1,5;1.000;7", "2.000,25;1000;07", "3;2;1.0", "x;1,000.0;8"]
    table = postri.open(
        write(tmp_path, *lines), columns={"x": "decimal", "who": "integer"}, **GERMAN
    )
    rows = Rows(Predicate.parse("x > 1.25"), Groups.of({"k": [1_000, 2]}))
    assert table.sizes(None, table.bind(rows)) == [2, 1]
    # Of the units 7, 07, 1.0 and 8 the third is not written as was declared.
    assert table.sizes(None, table.bind(Rows(units=Units("who", 9)))) == [3]
    assert table.sizes("x", table.bind(Rows())) == [3]


def test_a_decimal_comma_may_stand_in_quotes_between_commas(tmp_path):
    path = write(tmp_path, "x,y", '"1,25",a', '"1.250,5",b')
    assert cells(path, "x", CENTS, decimal=",", thousands=".") == [200_125, 325_050]


def test_the_command_line_takes_the_marks(tmp_path):
    """At epsilon 40, off by a hundred rows once in e^1000 runs."""
    path = write(tmp_path, "x;y", *(f"1.{i:03},5;0" for i in range(1_000)))
    marks = ("--delimiter", ";", "--decimal", ",", "--thousands", ".")
    bounds = ("--lower", 0, "--upper", 5_000, "--step", "0.1", "--epsilon", 40, "--json")
    answer = json.loads(run("median", path, "x", *bounds, *marks)[0])
    assert 1_400 < answer["low"] <= answer["value"] <= answer["high"] < 1_600


# ---- dates and timestamps


def test_dates_follow_their_pattern_and_no_other(tmp_path):
    path = write(tmp_path, "d", "31.01.2024", "1.2.2024", "2024-03-01", "31.02.2024", "02/03/2024")
    assert cells(path, "d", DAYS, date_format="%d.%m.%Y") == [30, 31]
    assert cells(path, "d", columns={"d": "date"}, date_format="%m/%d/%Y") == [19_756]


def test_patterns_hold_for_predicates_and_keys(tmp_path):
    path = write(tmp_path, "d,x", "31.01.2024,1", "1.2.2024,2", "1.2.2024,3", "2024-02-01,4")
    table = postri.open(path, date_format="%d.%m.%Y")
    by_day = Rows(groups=Groups.of({"d": [date(2024, 1, 31), date(2024, 2, 1)]}))
    assert table.sizes(None, table.bind(by_day)) == [1, 2]
    late = Rows(Predicate.parse("d > DATE '2024-01-31'"))
    assert table.sizes(None, table.bind(late)) == [2]


def test_timestamps_follow_their_pattern(tmp_path):
    path = write(tmp_path, "t", "1/1/2024 12:00 AM", "1/1/2024 1:00 PM", "2024-01-01 05:00")
    assert cells(path, "t", HOURS, timestamp_format="%m/%d/%Y %I:%M %p") == [0, 13]
    zoned = write(tmp_path, "t", "01.01.2024 05:00 +0200", "01.01.2024 05:00 Z")
    assert cells(zoned, "t", HOURS, timestamp_format="%d.%m.%Y %H:%M %z") == [3, 5]


def test_the_command_line_takes_patterns(tmp_path):
    """At epsilon 40, off by a hundred rows once in e^1000 runs."""
    path = write(tmp_path, "d", *(f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(1_008)))
    options = ("--type", "date", "--date-format", "%d.%m.%Y", "--epsilon", 40, "--json")
    answer = json.loads(run("median", path, "d", *options)[0])
    assert "2024-05-01" < answer["value"] < "2024-08-31"


# ---- delimiters and the header


@pytest.mark.slow
@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_header_with_another_delimiter_says_which(tmp_path, mark):
    path = write(tmp_path, f"a{mark}b{mark}c", f"1{mark}2{mark}3")
    with pytest.raises(InputError, match=r"the header has one column 'a.*: is the delimiter"):
        postri.open(path)
    _, err = run("median", path, "a", "--epsilon", 1, code=2)
    written = "\\t" if mark == "\t" else mark
    assert f"--delimiter '{written}'" in err
    assert cells(path, "b", delimiter=written) == [2]


def test_only_the_header_tells_of_another_delimiter(tmp_path):
    """Rows may hold what they like."""
    assert cells(write(tmp_path, "a", "1;2", "3"), "a") == [3]
    assert cells(write(tmp_path, '"a;b"', "3"), "a;b") == [3]
    assert cells(write(tmp_path, "a;b", "3"), "x", header=False, columns={"x": None}) == [3]


def test_a_tsv_file_is_separated_by_tabs_without_a_word(tmp_path):
    path = write(tmp_path, "a\tb", "1\t2", name="table.tsv")
    assert cells(path, "b") == [2]
    with pytest.raises(InputError, match="is the delimiter ','"):
        postri.open(write(tmp_path, "a,b", name="other.tsv"))


def test_line_breaks_are_refused_with_the_reason(tmp_path):
    path = write(tmp_path, "a,b", '"x', 'y",1')
    _, err = run("median", path, "b", "--epsilon", 1, "--line-breaks", code=2)
    assert "unbalanced quote could make the rows of everybody after it vanish" in " ".join(
        err.split()
    )


@pytest.mark.parametrize(
    "how", [{"encoding": "latin-1"}, {"decimal": ","}, {"date_format": "%d.%m.%Y"}]
)
def test_formats_are_for_csv_files(how):
    with pytest.raises(InputError, match=f"only a CSV file has {next(iter(how))}"):
        postri.open({"x": ["1,5"]}, **how)


# ---- policies

STYLE = """
delimiter = "\\\\t"
encoding = "cp1252"
decimal = ","
thousands = "."
date_format = "%d.%m.%Y"
timestamp_format = "%d.%m.%Y %H:%M"
"""
POLICY = f"""
[datasets.d]
source = "d.csv"
version = "1"
budget = "9"
protect = {{ change = "add-or-remove-rows", rows = 1 }}
{STYLE}
[datasets.d.columns.x]
type = "decimal"
lower = 0
upper = 5000
step = "0.1"
"""


def test_a_policy_declares_the_same(tmp_path):
    """Off by two hundred rows at epsilon 4 once in e^300 runs."""
    lines = ["x\tnäme", *(f"1.{i:03},5\té" for i in range(1_000))]
    (tmp_path / "d.csv").write_bytes("\n".join(lines).encode("cp1252"))
    (tmp_path / "postri.toml").write_text(POLICY)
    policy = read_policy(tmp_path / "postri.toml")
    assert policy.datasets["d"].csv.formats == [
        "encoding",
        "decimal",
        "thousands",
        "date_format",
        "timestamp_format",
    ]
    assert check_policy(policy) == ([], [])
    with postri.connect(tmp_path / "postri.toml") as session:
        answer = session.median("d", "x", epsilon=4)
    assert 1_300 < answer.value < 1_700


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('encoding = "klingon"', "encoding must be one of"),
        ("encoding = 7", "encoding must be one of"),
        ('decimal = "."\nthousands = "."', "decimal and thousands must differ"),
        ('date_format = "%d"', "must tell year, month and day"),
        ("timestamp_format = 7", "must be a pattern"),
        ("line_breaks = true", "unbalanced quote"),
        ('line_breaks = "yes"', "line_breaks must be true or false"),
    ],
)
def test_a_wrong_format_in_a_policy_is_told_with_its_line(tmp_path, line, words):
    (tmp_path / "postri.toml").write_text(POLICY.replace(STYLE, f"\n{line}\n"))
    with pytest.raises(postri.PolicyError) as caught:
        read_policy(tmp_path / "postri.toml")
    (problem,) = caught.value.problems
    assert words in problem.text
    # What clashes is told of the second.
    assert problem.line == 8 + line.count("\n")


def test_formats_in_a_policy_are_for_csv_files(tmp_path):
    text = POLICY.replace("d.csv", "d.parquet")
    (tmp_path / "postri.toml").write_text(text)
    with pytest.raises(postri.PolicyError) as caught:
        read_policy(tmp_path / "postri.toml")
    assert "encoding is for CSV files; leave it out" in [
        problem.text for problem in caught.value.problems
    ]


def test_init_writes_the_formats_that_were_given(tmp_path):
    (tmp_path / "d.csv").write_bytes("x;näme\n1,5;é\n".encode("latin-1"))
    marks = ("--delimiter", ";", "--encoding", "latin-1", "--decimal", ",")
    run("init", "d.csv", *marks, folder=tmp_path)
    text = (tmp_path / "postri.toml").read_text(encoding="utf-8")
    assert 'delimiter = ";"\nencoding = "latin-1"\ndecimal = ","\n' in text
    assert "thousands" not in text


def test_init_names_the_dataset_of_a_compressed_file_after_it(tmp_path):
    path = tmp_path / "trips.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert "[datasets.trips]" in skeleton(str(path))
