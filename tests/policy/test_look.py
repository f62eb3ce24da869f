"""What the steward sees of the rows: the same exact counts from every kind of source."""

from __future__ import annotations

from fractions import Fraction

import duckdb
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

from postri import InputError
from postri import open as open_table
from postri.expressions import Predicate
from postri.policy import look, look_at_file, read_policy

UNITS = 'change = "add-or-remove-units", unit = "who", rows = 2'


def seen_in(path):
    policy = read_policy(path)
    return look(policy, policy.datasets["trips"])


def as_dict(seen):
    return {
        column.name: (column.dropped, column.below, column.above, column.unknown)
        for column in seen.columns
    }


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


class TestLines:
    """Where something is lost, by the numbers that lines have in an editor."""

    def test_lines_are_counted_as_they_stand_in_the_file(self, tmp_path):
        lines = ["age", "1", "", "x", "2.5", "  ", "", "3", "y"]
        column = '[datasets.trips.columns.age]\ntype = "integer"\n'
        for end in ("\n", "\r\n"):
            (tmp_path / "t.csv").write_bytes(end.join(lines).encode())
            seen = seen_in(write_policy(tmp_path, dataset("t.csv", None, column)))
            (age,) = seen.columns
            assert (seen.rows, age.read) == (5, 2)
            assert age.unreadable.first == (4, 5, 9)

    def test_only_the_first_few_are_told(self, tmp_path):
        (tmp_path / "t.csv").write_text("age\n" + "x\n" * 2_000)
        column = '[datasets.trips.columns.age]\ntype = "integer"\n'
        (age,) = seen_in(write_policy(tmp_path, dataset("t.csv", None, column))).columns
        assert (age.unreadable.count, age.unreadable.first) == (2_000, (2, 3, 4, 5, 6))

    def test_each_kind_of_loss_has_its_own(self, tmp_path):
        (tmp_path / "t.csv").write_text('a,b\n1,2\n,3\n4\n5,"6\n7,n/a\n')
        column = (
            '[datasets.trips.columns.a]\ntype = "integer"\n'
            '[datasets.trips.columns.b]\ntype = "float"\nlower = 0\nupper = 9\n'
        )
        seen = seen_in(write_policy(tmp_path, dataset("t.csv", None, column)))
        a, b = seen.columns
        assert (seen.no_record.count, seen.no_record.first) == (2, (4, 5))
        assert (a.empty.first, a.unreadable.first) == ((3,), ())
        assert (b.empty.first, b.unreadable.first) == ((), (6,))
        assert (a.dropped, b.dropped) == (3, 3)

    def test_a_parquet_file_has_rows(self, tmp_path):
        source = write_source("parquet", tmp_path, None)
        seen = seen_in(write_policy(tmp_path, dataset(*source, COLUMNS)))
        found = {column.name: column.empty.first for column in seen.columns}
        assert seen.numbered == "row"
        assert (found["age"], found["ratio"], found["id"]) == ((5, 6), (3, 6), ())

    def test_a_column_that_is_called_like_a_number_of_rows_tells_no_cell(self, tmp_path):
        path = tmp_path / "t.parquet"
        with duckdb.connect() as connection:
            connection.execute(
                "COPY (SELECT 777 AS file_row_number, NULL::INTEGER AS x) "
                f"TO '{path}' (FORMAT parquet)"
            )
        seen = look_at_file(str(path))
        assert [(column.empty.count, column.empty.first) for column in seen.columns] == [
            (0, ()),
            (1, ()),
        ]

    def test_several_files_have_no_lines_in_common(self, tmp_path):
        write_csv(tmp_path, ROWS[:3], "part-1.csv")
        write_csv(tmp_path, ROWS[3:], "part-2.csv")
        seen = seen_in(write_policy(tmp_path, dataset("part-*.csv", None, COLUMNS)))
        assert {column.empty.first for column in seen.columns} == {()}


class TestUnits:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", EVERY_SOURCE)
    def test_the_rows_that_each_bound_keeps(self, kind, tmp_path, request):
        """Three units have two rows each (7, 8, 9), two rows have none."""
        source = write_source(kind, tmp_path, request)
        seen = seen_in(write_policy(tmp_path, dataset(*source, COLUMNS, UNITS)))
        assert dict(seen.units.kept) == {1: 3, 2: 6, 5: 6, 10: 6, 20: 6, 50: 6, 100: 6}
        assert (seen.units.unit, seen.units.units) == ("who", 3)
        # Six of eight rows are less than 95 %.
        assert seen.units.recommended(seen.rows) is None
        assert seen.units.recommended(6) == 2

    def test_the_bound_of_the_policy_is_among_them(self, tmp_path):
        source = write_csv(tmp_path)
        seen = seen_in(write_policy(tmp_path, dataset(*source, COLUMNS, UNITS.replace("2", "3"))))
        assert list(seen.units.kept) == [1, 2, 3, 5, 10, 20, 50, 100]

    def test_without_units_there_is_nothing_to_keep(self, tmp_path):
        assert seen_in(write_policy(tmp_path, dataset(*write_csv(tmp_path), COLUMNS))).units is None


class TestAccepted:
    LOSSY = "age\n" + "1\n" * 97 + "x\n\ny\n,\n"

    def seen(self, folder, share):
        """Of 100 lines two cannot be read, and one is no record."""
        (folder / "t.csv").write_text(self.LOSSY)
        column = f'[datasets.trips.columns.age]\ntype = "integer"\nunreadable = "up to {share}%"\n'
        return seen_in(write_policy(folder, dataset("t.csv", None, column)))

    def test_more_than_was_accepted_is_told_with_its_line(self, tmp_path):
        seen = self.seen(tmp_path, "2.9")
        (age,) = seen.columns
        assert age.lost_share == Fraction(3, 100)
        (excess,) = seen.excesses
        assert excess.line == age.line and "2.9% that unreadable accepts" in excess.text
        assert self.seen(tmp_path, "3").excesses == []

    def test_an_empty_cell_is_not_lost(self, tmp_path):
        (tmp_path / "t.csv").write_text("age,b\n1,1\n,1\n")
        column = '[datasets.trips.columns.age]\ntype = "integer"\nunreadable = "up to 0%"\n'
        seen = seen_in(write_policy(tmp_path, dataset("t.csv", None, column)))
        assert seen.columns[0].dropped == 1 and seen.excesses == []

    def test_a_round_share_is_offered(self, tmp_path):
        (age,) = self.seen(tmp_path, "0").columns
        assert age.offer == Fraction(5, 100)


class TestFiles:
    @pytest.mark.slow
    def test_a_column_is_tried_as_what_it_may_hold(self, tmp_path):
        (tmp_path / "t.csv").write_text(
            "whole,part,day,moment,name,mixed\n"
            "1,1.5,2024-01-31,2024-01-31 10:00,ann,1\n"
            "2,2,2024-02-01,2024-02-01 11:30,bob,x\n"
            "3,3.25,2024-02-02,2024-02-02,,2\n"
        )
        seen = look_at_file(str(tmp_path / "t.csv"))
        found = [(column.name, column.type, column.read) for column in seen.columns]
        assert found == [
            ("whole", "integer", 3),
            ("part", "integer", 1),
            ("part", "decimal", 3),
            ("day", "date", 3),
            ("moment", "date", 1),
            ("moment", "timestamp", 3),
            ("name", "text", 2),
            ("mixed", "integer", 2),
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["parquet", "duckdb"])
    def test_a_source_with_types_is_read_as_it_declares(self, kind, tmp_path, request):
        name, table = write_source(kind, tmp_path, request)
        seen = look_at_file(str(tmp_path / name), table, unit="who")
        found = {column.name: (column.type, column.dropped) for column in seen.columns}
        assert found["age"] == ("integer", 2) and found["ratio"] == ("float", 2)
        assert found["flag"] == ("boolean", 1) and seen.units.units == 3
        with pytest.raises(InputError, match="leave out --type"):
            look_at_file(str(tmp_path / name), table, types={"age": "integer"})

    @pytest.mark.slow
    def test_a_column_that_the_header_has_twice_is_left_out_with_the_reason(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b,a\n1,2,3\n")
        seen = look_at_file(str(tmp_path / "t.csv"))
        assert [column.name for column in seen.columns] == ["b"]
        assert "more than one column" in seen.left_out["a"]
