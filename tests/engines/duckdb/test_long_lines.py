"""A line of a CSV file that is too long to be a record is not split into cells: what it costs has a
bound that follows from the number of columns and from `max_text`.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import postri
from expressions.costs_of_rows import InMemory
from postri.columns import MAX_TEXT
from postri.engines.table import Table
from postri.expressions import Predicate
from proving import sized

COLUMNS = 3
# What a line of so few columns may always have.
LONGEST = 2**18
PLAIN = "1,2,3"
EVERY_RECORD = Predicate.parse("a = 1")
LINES = sized(10, 40)
MILLISECOND = 1e-3


def line_of(length: int, fill: str = "x") -> str:
    """A line with the number 1 in its first cell, of at most `length` bytes."""
    start = "1,2,"
    rest = (length - len(start)) // len(fill.encode())
    return start + fill * rest


def opened(folder: Path, *lines: str) -> Table:
    path = folder / "lines.csv"
    path.write_text("\n".join(["a,b,c", *lines]) + "\n", encoding="utf-8")
    return postri.open(path)


def records(table: Table) -> int:
    return table.matching([EVERY_RECORD])[0]


def test_a_line_counts_up_to_its_limit_and_touches_no_other(tmp_path):
    for length, found in [(LONGEST, 3), (LONGEST + 1, 2), (2_000_000, 2)]:
        assert records(opened(tmp_path, PLAIN, line_of(length), PLAIN)) == found


def test_every_line_whose_cells_can_be_read_is_below_the_limit(tmp_path):
    """With all that a readable text may have: signs of four bytes, or a quote in every place."""
    most = 3 * MAX_TEXT
    for text in "\U0001f600" * most, '""' * most:
        table = opened(tmp_path, ",".join([f'"{text}"'] * COLUMNS)).with_max_text(most)
        (found,) = table.matching([Predicate.parse("a > '' AND b > '' AND c > ''")])
        assert found == 1


@pytest.mark.parametrize("max_text", [1, MAX_TEXT, 3 * MAX_TEXT])
def test_a_larger_max_text_allows_longer_lines_and_a_smaller_one_loses_none(max_text, tmp_path):
    """Each cell may be a text in signs of four bytes, in quotes."""
    limit = max(LONGEST, COLUMNS * (4 * max_text + 4))
    table = opened(tmp_path, line_of(limit), line_of(limit + 1), PLAIN).with_max_text(max_text)
    assert records(table) == 2


def test_a_look_counts_such_lines_as_no_records(tmp_path):
    table = opened(tmp_path, PLAIN, line_of(LONGEST + 1), "1,,3")
    texts = postri.open(tmp_path / "lines.csv", columns={"b": "text"})
    for each in table, texts:
        lost = each.lost({"b": Predicate.parse("b > ''")}, 3)
        assert (lost.rows, lost.no_record.first) == (3, (3,))
        assert (lost.empty["b"].first, lost.unreadable["b"].count) == ((4,), 0)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("fill", ["x", ",", '""', " ", "\U0001f600"])
def test_no_line_costs_more_than_a_few_milliseconds(fill, tmp_path, figures):
    """Of three columns, 3 ms at the limit and 4.3 ms at 2 MB were seen, to which the time for
    reading 2 MB belongs; 20 ms before lines had a limit. It may take 10 ms of a processor, by the
    least of many times, and more on a slower machine.
    """
    plain = seconds(opened(tmp_path, *[PLAIN] * LINES))
    for length in LONGEST, 2_000_000:
        table = opened(tmp_path, *[PLAIN] * LINES, *[line_of(length, fill)] * LINES)
        for _ in range(30):
            cost = (seconds(table) - plain) / LINES
            if cost <= 10 * MILLISECOND * InMemory().slowness():
                break
        else:
            pytest.fail(f"a line of {length} bytes takes {1e3 * cost:.1f} ms")
        figures(f"{fill!r}, {length:,} bytes: {1e3 * cost:.2f} ms")


def seconds(table: Table) -> float:
    """What a question takes of the processor: the less of two times."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        table.matching([EVERY_RECORD])
        taken.append(time.process_time() - start)
    return min(taken)
