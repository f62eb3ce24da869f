"""What the steward sees of the rows: the same exact counts from every kind of source."""

from __future__ import annotations

import pytest
from policy_tables import (
    COLUMNS,
    EVERY_SOURCE,
    FLAG,
    ROWS,
    SEEN,
    TEXT_FLAG,
    dataset,
    write_csv,
    write_policy,
    write_source,
)

from postri import open as open_table
from postri.expressions import Predicate
from postri.policy import look, read_policy

UNITS = 'change = "add-or-remove-units", unit = "who", rows = 2'


def seen_in(path):
    policy = read_policy(path)
    return look(policy, policy.datasets["trips"])


def as_dict(seen):
    return {
        column.name: (column.dropped, column.below, column.above, column.unknown)
        for column in seen.columns
    }


@pytest.mark.parametrize("kind", EVERY_SOURCE)
def test_dropped_clamped_and_unknown_rows_are_counted(kind, tmp_path, request):
    source = write_source(kind, tmp_path, request)
    seen = seen_in(
        write_policy(
            tmp_path, dataset(*source, COLUMNS + (TEXT_FLAG if kind == "csv" else FLAG), UNITS)
        )
    )
    assert (seen.dataset, seen.rows) == ("trips", 8)
    assert as_dict(seen) == SEEN


@pytest.mark.parametrize("kind", EVERY_SOURCE)
def test_an_empty_table_has_nothing_to_show(kind, tmp_path, request):
    source = write_source(kind, tmp_path, request, rows=())
    seen = seen_in(write_policy(tmp_path, dataset(*source, COLUMNS, UNITS)))
    assert seen.rows == 0
    assert {count for counts in as_dict(seen).values() for count in counts} == {0, None}


def test_a_wrong_type_of_a_csv_column_shows(tmp_path):
    source = write_csv(tmp_path)
    column = (
        '[datasets.trips.columns.fare]\ntype = "integer"\n'
        '[datasets.trips.columns.city]\ntype = "date"\n'
    )
    assert as_dict(seen_in(write_policy(tmp_path, dataset(*source, column)))) == {
        "fare": (5, None, None, None),  # 0.00, 5.00 and 10.00 are whole
        "city": (8, None, None, None),
    }


def test_a_line_that_is_no_record_is_dropped_in_every_column(tmp_path):
    name, table = write_csv(tmp_path)
    with (tmp_path / name).open("a") as file:
        file.write('1,2\n\n \n"open,1,1,1,1,Oslo,,,\n')
    seen = seen_in(write_policy(tmp_path, dataset(name, table, COLUMNS)))
    assert seen.rows == 10
    assert as_dict(seen)["age"] == (4, 1, 2, None) and as_dict(seen)["id"] == (2, None, None, 6)


def test_a_wrong_delimiter_drops_every_row(tmp_path):
    (tmp_path / "one.csv").write_text("a;b\n1;2\n3;4\n")
    text = dataset(
        "one.csv",
        None,
        'header = false\nnames = ["a", "b"]\n[datasets.trips.columns.a]\ntype = "integer"\n',
    )
    assert as_dict(seen_in(write_policy(tmp_path, text))) == {"a": (3, None, None, None)}
    right = text.replace("header", 'delimiter = ";"\nheader')
    assert as_dict(seen_in(write_policy(tmp_path, right))) == {"a": (1, None, None, None)}


def test_timestamps_with_a_zone_are_read_from_a_csv_file(tmp_path):
    (tmp_path / "t.csv").write_text(
        "t\n2024-05-01 12:00+02:00\n2024-05-01 12:00\n2020-01-01T00:00Z\nx\n"
    )
    column = (
        '[datasets.trips.columns.t]\ntype = "timestamp"\n'
        "lower = 2024-01-01T00:00:00Z\nupper = 2025-01-01T00:00:00Z\n"
    )
    assert as_dict(seen_in(write_policy(tmp_path, dataset("t.csv", None, column)))) == {
        "t": (1, 1, 0, None)
    }


def test_all_files_of_a_pattern_count(tmp_path):
    write_csv(tmp_path, ROWS[:3], "part-1.csv")
    write_csv(tmp_path, ROWS[3:], "part-2.csv")
    assert as_dict(seen_in(write_policy(tmp_path, dataset("part-*.csv", None, COLUMNS)))) == {
        name: counts for name, counts in SEEN.items() if name not in ("flag", "who")
    }


def test_more_keys_than_a_predicate_may_be_long(tmp_path):
    source = write_csv(tmp_path)
    keys = ", ".join(f'"town {i}"' for i in range(5_000))
    column = f'[datasets.trips.columns.city]\ntype = "text"\nkeys = [{keys}, "Oslo"]\n'
    assert as_dict(seen_in(write_policy(tmp_path, dataset(*source, column)))) == {
        "city": (1, None, None, 4)
    }


def test_rows_of_arrays_are_matched_as_well():
    table = open_table(
        {"x": [1, None, 3, "n/a"], "y": ["a", "b", None, "a"]},
        columns={"x": "integer", "y": "text"},
    )
    tests = ("TRUE", "x IS NOT NULL", "x > 1", "y = 'a'", "y = 'a' AND x < 2", "FALSE")
    assert table.matching([Predicate.parse(test) for test in tests]) == [4, 2, 1, 2, 1, 0]
