"""Whole numbers in CSV files take a shorter way than other cells, and a sample of lines tells where
to look: neither shows in a window.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import postri
from postri import Domain
from postri.engines.duckdb import csv_lines, csv_sample
from postri.engines.duckdb.csv_sample import LineSample, sample_lines
from postri.engines.rows import Rows
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import RankWindow, Target

HALF = Fraction(1, 2)
SHORT = [
    "".join(signs)
    for length in range(1, 5)
    for signs in product("019-+.e_xb ", repeat=length)
    if length < 4 or signs[0] in "1-"
]
LONG = [
    *("0xFFFFFFFF", "0xFFFFFFFFFF", "0b11111111", "999_999", "1e17", "1e18", "-1e17", ".1e4"),
    *("9" * 17, "9" * 18, "9" * 19, "-" + "9" * 17, "-" + "9" * 18, "1" + "0" * 18, "0" * 17 + "1"),
    # Numbers of as many digits as the text has bytes, and of more, that are no row of digits.
    *("12e2", "12E2", "1_2e3", "1_2E4", "12_3e3", "1.5e4", "1.25e5", "1.2_5e6", "1e3 ", "12e3\t"),
    *("99.5", "999.", "9.99e2", "12e02", "12e+2", "100", "1200", "12001", "1200100", "1_200"),
    *(str(2**63 - 1), str(-(2**63)), str(2**63), "12\0", "\t7", "7\u0301", "\u0667", "٣"),
]
SPAN = 10**4


def window(
    table: Table, domain: Domain | None = None, half: int = 10**6, where: str | None = None
) -> RankWindow:
    grid = grid_of(table.type_of("x"), domain)
    rows = table.bind(Rows(Predicate.parse(where) if where else None))
    ((found,),) = table.grouped_windows("x", grid, [Target(HALF, half)], rows)
    return found(0)


def cells(seen: RankWindow) -> list[int]:
    return [int(cell) for cell in np.repeat(seen.indexes, seen.counts)]


def one_column(folder: Path, texts: list[str]) -> Path:
    path = folder / "one.csv"
    path.write_text("\n".join(["x", *texts]) + "\n", newline="")
    return path


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("declared", [None, "integer"])
@pytest.mark.parametrize(
    "domain", [None, Domain(-SPAN, SPAN), Domain(-SPAN, SPAN, "0.25"), Domain(-7, 7 * SPAN, 7)]
)
def test_every_short_cell_means_the_same_in_a_file_and_in_memory(tmp_path, domain, declared):
    texts = SHORT + LONG
    columns = {"x": declared} if declared else None
    expected = cells(window(postri.open({"x": texts}, columns=columns), domain))
    alone = one_column(tmp_path, texts)
    assert cells(window(postri.open(alone, columns=columns), domain)) == expected
    beside = tmp_path / "two.csv"
    beside.write_text("\n".join(["x,y", *(f"{text},{text}" for text in texts)]) + "\n", newline="")
    assert cells(window(postri.open(beside, columns=columns), domain)) == expected


def test_a_line_may_end_with_a_carriage_return_too(tmp_path):
    assert cells(window(postri.open(one_column(tmp_path, ["1\r", "22", "x\r"])))) == [1, 22]


def test_a_filter_on_the_same_column_reads_its_cells_too(tmp_path):
    path = one_column(tmp_path, ["1", "2", "07", "x", "30"])
    assert cells(window(postri.open(path), where="x > 1.5")) == [2, 7, 30]


def test_a_sign_of_numbers_may_separate_or_quote_cells(tmp_path):
    path = one_column(tmp_path, ["-5", "5", "151", "11", "1"])
    assert cells(window(postri.open(path, delimiter="-"))) == [1, 5, 11, 151]
    assert cells(window(postri.open(path, quote="1"))) == [-5, 5, 5]


def test_a_plain_number_may_be_too_long_a_text(tmp_path):
    path = one_column(tmp_path, ["1", "12345", "123456", "-1234", "-12345"])
    engine = postri.open(path)._engine.with_max_text(5)
    grid = grid_of(engine.type_of("x"), None)
    ((seen,),) = engine.windows("x", grid, [Target(HALF, 10)])
    assert cells(seen) == [-1234, 1, 12345]


# ---- samples of lines

ROWS = 30_000


@pytest.fixture
def few_are_many(monkeypatch):
    """A table of a thousand rows is worth a sample."""
    for module in ("duckdb.csv_sample", "sql.engine", "engine"):
        monkeypatch.setattr(f"postri.engines.{module}.SMALL", 1_000)


def shuffled() -> list[str]:
    return [str(cell) for cell in np.random.default_rng(1).integers(-SPAN, SPAN, ROWS)]


TABLES = {
    "in no order": shuffled(),
    "in order": [str(cell) for cell in range(ROWS)],
    "one value": ["7"] * ROWS,
    "two values": ["7", "8"] * (ROWS // 2),
    "decimals": [f"{cell}.5" for cell in range(ROWS)],
    "few can be read": ["x", "", "'", '"', "\\"] * (ROWS // 5) + shuffled()[:2_000],
    "lengths differ": ["1" * (1 + (i // 97) % 17) for i in range(ROWS)],
    "zeros between": ["12\0", "34"] * (ROWS // 2),
}


@pytest.mark.one_in(6)
@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("name", TABLES)
def test_a_window_by_a_sample_is_that_of_all_lines(name, tmp_path, monkeypatch):
    path = one_column(tmp_path, TABLES[name])
    domain = Domain(-SPAN * SPAN, SPAN * SPAN, "0.5")
    by_sample = window(postri.open(path), domain, half=50)
    monkeypatch.setattr(csv_lines, "sample_lines", lambda paths: None)
    every = window(postri.open(path), domain, half=50)
    assert cells(by_sample) == cells(every)
    assert (by_sample.below, by_sample.n) == (every.below, every.n)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("lines", [[b"x"], [b"-1"] * 500, [b"99999"] * 500, [b"0"]])
def test_a_sample_that_misleads_changes_no_window(lines, tmp_path, monkeypatch):
    path = one_column(tmp_path, shuffled())
    expected = window(postri.open({"x": shuffled()}), half=50)
    monkeypatch.setattr(csv_lines, "sample_lines", lambda paths: LineSample(lines, ROWS))
    seen = window(postri.open(path), half=50)
    assert (cells(seen), seen.below, seen.n) == (cells(expected), expected.below, expected.n)


@pytest.mark.usefixtures("few_are_many")
def test_a_sample_holds_whole_lines_of_all_files_and_tells_how_many_there_are(tmp_path):
    paths = []
    for i in range(3):
        path = tmp_path / f"{i}.csv"
        path.write_text("x\n" + "".join(f"{i}{line:06}\n" for line in range(ROWS)))
        paths.append(str(path))
    sample = sample_lines(paths)
    assert sample is not None
    assert {len(line) for line in sample.lines} == {7}
    assert {line[:1] for line in sample.lines} == {b"0", b"1", b"2"}
    assert abs(sample.rows - 3 * ROWS) < 10
    assert csv_sample.STRETCHES * csv_sample.LINES_EACH * 0.9 < len(sample.lines) < 3 * ROWS


def test_few_lines_and_lines_that_cannot_be_read_are_worth_no_sample(tmp_path):
    assert sample_lines([str(one_column(tmp_path, ["1"] * 1_000))]) is None
    assert sample_lines([str(tmp_path / "gone.csv")]) is None
    assert sample_lines([]) is None


def test_no_long_line_decides_how_much_of_a_file_is_sampled(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"x\n" + b"7" * csv_sample.FIRST_LOOK + b"\n" + b"1234567\n" * 200_000)
    sample = sample_lines([str(path)])
    assert sample is not None
    assert sum(map(len, sample.lines)) <= csv_sample.STRETCHES * csv_sample.BYTES_EACH
