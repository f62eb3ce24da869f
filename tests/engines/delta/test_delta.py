"""Delta tables: which rows a version has, and what is refused by what its log says."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from bank import dataset_text
from postri import Domain, InputError, SeededCoins, SourceError
from postri.engines.csv_format import CsvFormat
from postri.engines.process.worker import Desk
from postri.engines.resolve import policy_source_of
from postri.engines.table import Table
from postri.grid import grid_of
from postri.policy import check_policy, read_policy
from postri.window import Target
from services.delta_tables import add, commit, meta, protocol, remove, url, vector, write_delta

pytestmark = pytest.mark.slow

DOMAIN = Domain(0, 1000)


def cells(source: object, column: str = "x", domain: Domain = DOMAIN) -> list[int]:
    """All cells of a column, by their places on the grid, in order."""
    table = source if isinstance(source, Table) else postri.open(source)
    grid = grid_of(table.type_of(table.column(column)), domain)
    seen = table.windows(table.column(column), grid, [Target(Fraction(1, 2), 10**6)])[0](0)
    return np.repeat(seen.indexes, seen.counts).tolist()


def by_name(table: Table, names: list[str], column: str = "p") -> list[int]:
    """How many rows have each name; the noise is below one but once in e^400."""
    result = postri.ask(table, {"n": postri.agg.count()}, by={column: names}, epsilon=1000)
    return [row["n"] for row in result.rows]


def numbers(*xs: int | None) -> pa.Table:
    return pa.table({"x": pa.array(xs, pa.int64())})


def begin(folder: Path, rows: pa.Table, *features: str, **told: object) -> None:
    """A table of one file, of which the log tells something more."""
    added = add(folder, "a.parquet", rows)
    commit(folder, 0, protocol(*features), meta(rows.schema), {"add": {**added["add"], **told}})


# ---- Which rows a version has


def test_a_version_has_the_files_that_were_added_and_not_removed(tmp_path):
    first, second = (add(tmp_path, f"{i}.parquet", numbers(i)) for i in (1, 2))
    commit(tmp_path, 0, protocol(), meta(numbers(0).schema), first)
    commit(tmp_path, 1, second)
    commit(tmp_path, 2, remove(first))
    commit(tmp_path, 3, first, remove(second))
    assert [cells(url(tmp_path, version)) for version in range(4)] == [[1], [1, 2], [2], [1]]
    assert cells(url(tmp_path)) == [1]


def test_a_table_that_is_open_keeps_its_version(tmp_path):
    old = add(tmp_path, "old.parquet", numbers(1, 2))
    commit(tmp_path, 0, protocol(), meta(numbers(0).schema), old)
    table = postri.open(url(tmp_path))
    commit(tmp_path, 1, remove(old), add(tmp_path, "new.parquet", numbers(3)))
    assert cells(table) == [1, 2]
    assert cells(url(tmp_path)) == [3]


@pytest.mark.parametrize("rows", [[], [numbers()], [numbers(), numbers()]])
def test_a_table_without_rows_is_one_whatever_files_it_has(tmp_path, rows):
    files = [add(tmp_path, f"{i}.parquet", each) for i, each in enumerate(rows)]
    schema = pa.schema({"x": pa.int64(), "name": pa.string()})
    commit(tmp_path, 0, protocol(), meta(schema, ["name"]), *files)
    table = postri.open(url(tmp_path))
    assert cells(table) == []
    answers = [
        postri.count(source, where="name = 'a'", epsilon=1, coins=SeededCoins(1))
        for source in (table, pa.table({"x": [], "name": pa.array([], pa.string())}))
    ]
    assert answers[0].value == answers[1].value


def test_what_a_log_says_of_the_cells_of_a_file_is_not_read(tmp_path):
    """Another reader fails on these: half of a pair of UTF-16, and numbers beyond their type."""
    for i, stats in enumerate(['{"maxValues":{"x":"\\ud800"}}', '{"minValues":{"x":1e99}}', "{"]):
        folder = tmp_path / str(i)
        begin(folder, numbers(1, None, 3), stats=stats)
        assert cells(url(folder)) == [1, 3]


def test_signs_of_a_pattern_in_the_name_of_a_file_are_none(tmp_path):
    files = {"a*b.parquet": 1, "aXb.parquet": 2, "[a]?.parquet": 3, "a b%é.parquet": 4}
    added = [add(tmp_path, name, numbers(x)) for name, x in files.items()]
    commit(tmp_path, 0, protocol(), meta(numbers(0).schema), *added)
    assert cells(url(tmp_path)) == [1, 2, 3, 4]


def test_a_text_that_is_no_utf8_is_dropped(tmp_path):
    unchecked = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff?")]
    )
    rows = pa.table({"x": [1, 2], "s": unchecked})
    begin(tmp_path, rows)
    for where, expected in (("s = 'a'", 1), ("s IS NULL", 1), ("s LIKE '%?%'", 0)):
        assert postri.count(url(tmp_path), where=where, epsilon=1000).value == expected


# ---- Columns that are not in every file


def test_a_column_that_came_later_has_no_cells_in_older_files(tmp_path):
    later = pa.table({"y": [7, 8], "x": [2, 3]})
    commit(tmp_path, 0, protocol(), meta(numbers(0).schema), add(tmp_path, "a.parquet", numbers(1)))
    schema = pa.schema(
        {"x": pa.int64(), "y": pa.int64(), "z": pa.date32(), "w": pa.list_(pa.int8())}
    )
    commit(tmp_path, 1, meta(schema), add(tmp_path, "b.parquet", later))
    table = postri.open(url(tmp_path))
    assert table.columns == ["x", "y", "z", "w"]
    assert (cells(table), cells(table, "y")) == ([1, 2, 3], [7, 8])
    assert postri.count(table, where="z IS NULL AND y IS NULL", epsilon=1000).value == 1
    with pytest.raises(InputError, match="array"):
        cells(table, "w")


def test_cells_of_partitions_are_those_of_the_log(tmp_path):
    """Whatever the folders are called. One that is none of its type is dropped, and no failure."""
    schema = pa.schema({"x": pa.int64(), "day": pa.date32(), "name": pa.string(), "n": pa.int16()})
    parts = [
        {"day": "2020-01-02", "name": "x y/é", "n": "5"},
        {"day": "0001-01-01", "name": "?", "n": "99999"},
        {"day": None, "name": "", "n": "abc"},
        {"day": "12000-01-01", "name": "\ud800", "n": " "},
        {"day": "abc", "name": "a'b", "n": None},
    ]
    added = [add(tmp_path, f"n=0/{i}.parquet", numbers(i), part) for i, part in enumerate(parts)]
    commit(tmp_path, 0, protocol(), meta(schema, ["day", "name", "n"]), *added)
    table = postri.open(url(tmp_path))
    assert cells(table, "n") == [5]
    names = ["x y/é", "?", "a'b", ""]
    assert by_name(table, names, "name") == [1, 1, 1, 0]
    days = Domain(date(1, 1, 1), date(9999, 12, 31))
    assert postri.count(table, "day", epsilon=1000).value in (2, 3)
    assert cells(table, "day", days)[:2] == [0, 737425]
    assert postri.count(table, where="name IS NULL", epsilon=1000).value == 2


def test_a_partition_by_moments_is_refused_by_its_type(tmp_path):
    schema = pa.schema({"x": pa.int64(), "t": pa.timestamp("us", "UTC"), "u": pa.timestamp("us")})
    shared = {"t": "2020-01-01 00:00:00", "u": "2020-01-01 00:00:00.5"}
    added = add(tmp_path, "a.parquet", numbers(1), shared)
    commit(tmp_path, 0, protocol("timestampNtz"), meta(schema, ["t", "u"]), added)
    table = postri.open(url(tmp_path))
    with pytest.raises(InputError, match="timestamp in the names of partitions"):
        postri.count(table, "t", epsilon=1)
    moments = Domain(datetime(2020, 1, 1), datetime(2020, 1, 2), step="0.5")
    assert cells(table, "u", moments) == [1]


# ---- Rows that are deleted

# Few in a container, many in one, in several containers, in stretches, and all of them.
DELETED = {
    "few": ([0, 5, 69_999], False),
    "many": ([*range(0, 60_000, 3), 69_998], False),
    "stretches": ([*range(10, 5_000), *range(65_530, 65_540)], True),
    "single ones in stretches": ([3, 65_536], True),
    "all": (range(70_000), True),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", DELETED)
def test_rows_that_a_deletion_vector_marks_are_not_there(tmp_path, name):
    rows, runs = DELETED[name]
    kept = sorted(set(range(70_000)) - set(rows))
    numbered = pa.table({"x": range(70_000), "s": ["a", "b"] * 35_000})
    told = {"stats": '{"numRecords":70000}'}
    begin(tmp_path, numbered, "deletionVectors", deletionVector=vector(rows, runs=runs))
    assert cells(url(tmp_path), domain=Domain(0, 70_000)) == kept
    beside = vector(rows, tmp_path, runs=runs)
    begin(tmp_path, numbered, "deletionVectors", deletionVector=beside, **told)
    even = sum(row % 2 == 0 for row in kept)
    assert by_name(postri.open(url(tmp_path)), ["a", "b"], "s") == [even, len(kept) - even]
    deltalake = pytest.importorskip("deltalake")
    (mask,) = pa.table(deltalake.DeltaTable(tmp_path).deletion_vectors())[1].to_pylist()
    # Rows after the last one that is deleted may be left out of it.
    assert [row for row in range(70_000) if row >= len(mask) or mask[row]] == kept


def test_an_action_replaces_the_one_with_its_path_and_vector(tmp_path):
    begin(tmp_path, numbers(1, 2, 3, 4), "deletionVectors")
    plain = add(tmp_path, "a.parquet", numbers(1, 2, 3, 4))
    first, second = ({**plain["add"], "deletionVector": vector(rows)} for rows in ([0], [0, 3]))
    commit(tmp_path, 1, {"add": first}, remove(plain))
    commit(tmp_path, 2, {"remove": first}, {"add": second})
    found = [cells(url(tmp_path, version)) for version in range(3)]
    assert found == [[1, 2, 3, 4], [2, 3, 4], [2, 3]]
    deltalake = pytest.importorskip("deltalake")
    deltalake.DeltaTable(tmp_path).create_checkpoint()
    for commits in (tmp_path / "_delta_log").glob("*.json"):
        commits.unlink()
    assert cells(url(tmp_path)) == [2, 3]


def test_a_vector_that_cannot_be_read(tmp_path):
    good = vector([1, 2], tmp_path)
    file = next((tmp_path / "ab").iterdir())
    whole = file.read_bytes()
    inline = vector([1, 2])
    broken = [
        {**good, "cardinality": 3},
        {**good, "sizeInBytes": 5},
        {**inline, "pathOrInlineDv": "00000"},
        {**inline, "pathOrInlineDv": "\\"},
        {**good, "pathOrInlineDv": "ac" + good["pathOrInlineDv"][2:]},
    ]
    for each in broken:
        begin(tmp_path, numbers(1, 2, 3), "deletionVectors", deletionVector=each)
        with pytest.raises(SourceError, match="damaged"):
            postri.open(url(tmp_path))
    begin(tmp_path, numbers(1, 2, 3), "deletionVectors", deletionVector=good)
    assert cells(url(tmp_path)) == [1]
    for damaged in (b"\x02" + whole[1:], whole[:-1] + b"?", whole[:20]):
        file.write_bytes(damaged)
        with pytest.raises(SourceError, match="damaged"):
            postri.open(url(tmp_path))
    rows = pa.table({"File_row_number": [1]})
    begin(tmp_path, rows, "deletionVectors", deletionVector=inline)
    with pytest.raises(InputError, match="must have no column file_row_number"):
        postri.open(url(tmp_path))


# ---- What is refused, by the log and the footers


REFUSED = {
    "a feature that is not known": (
        ("typeWidening", "timestampNtz"),
        {},
        {},
        "the feature typeWidening, which cannot be read",
    ),
    "column mapping": (
        ("columnMapping",),
        {"delta.columnMapping.mode": "name"},
        {},
        "maps columns to other names",
    ),
    "a deletion vector elsewhere": (
        ("deletionVectors",),
        {},
        {"deletionVector": {"storageType": "p", "pathOrInlineDv": "file:///v", "sizeInBytes": 1}},
        "deletion vectors outside of its own folder",
    ),
    "a file elsewhere": ((), {}, {"path": "../other.parquet"}, "outside of its own folder"),
    "a file by its URL": ((), {}, {"path": "s3://b/a.parquet"}, "outside of its own folder"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_its_name(tmp_path, name):
    features, configuration, told, message = REFUSED[name]
    added = add(tmp_path, "a.parquet", numbers(1))["add"]
    table = meta(numbers(0).schema, configuration=configuration)
    commit(tmp_path, 0, protocol(*features), table, {"add": {**added, **told}})
    with pytest.raises(InputError, match=message):
        postri.open(url(tmp_path))


def test_a_feature_that_is_not_used_refuses_nothing(tmp_path):
    begin(tmp_path, numbers(1), "columnMapping", "deletionVectors", deletionVector=None)
    assert cells(url(tmp_path)) == [1]


def test_a_reader_of_a_later_version_is_asked_for(tmp_path):
    commit(tmp_path, 0, {"protocol": {"minReaderVersion": 4}}, meta(numbers(0).schema))
    with pytest.raises(InputError, match="needs a reader of version 4; versions up to 3"):
        postri.open(url(tmp_path))


def test_files_of_other_types_than_the_log_declares_are_refused(tmp_path):
    for name, first in {"small": pa.array([1], pa.int32()), "text": pa.array(["1"])}.items():
        folder = tmp_path / name
        other = add(folder, "b.parquet", pa.table({"x": first}))
        commit(folder, 0, protocol(), meta(numbers(0).schema), other)
        commit(folder, 1, add(folder, "a.parquet", numbers(1)))
        with pytest.raises(InputError, match="declares the column 'x' as long, and its files hold"):
            postri.open(url(folder))


def test_a_log_that_cannot_be_read_tells_nothing_of_itself(tmp_path):
    begin(tmp_path, numbers(1))
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    whole = log.read_text()
    for text in (whole[:-20], whole + '{"add": {"secret": 1}}', '{"metaData": {"secret": 1}}', ""):
        log.write_text(text)
        with pytest.raises(SourceError, match="damaged") as caught:
            postri.open(url(tmp_path))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def test_versions_and_files_that_are_gone(tmp_path):
    begin(tmp_path, numbers(1))
    commit(tmp_path, 1, add(tmp_path, "b.parquet", numbers(2)))
    with pytest.raises(InputError, match="has no version 2; its last one is 1"):
        postri.open(url(tmp_path, 2))
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(InputError, match="no longer holds version 1"):
        postri.open(url(tmp_path))
    with pytest.raises(InputError, match="there is no Delta table"):
        postri.open(url(tmp_path / "nowhere"))
    begin(tmp_path, numbers(1))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(SourceError, match=r"files of version 1 .* are gone"):
        postri.open(url(tmp_path))
    for wrong in ("delta:trips", "delta://trips", "delta:///trips?version=x", "DELTA:///trips"):
        if wrong != "delta:///trips?version=x":
            with pytest.raises(InputError, match="named by its whole path"):
                postri.open(wrong)
    with pytest.raises(InputError, match=r"leave out columns"):
        postri.open(url(tmp_path), columns={"x": "integer"})


# ---- The log of another writer


def test_rows_are_those_that_another_implementation_reads(tmp_path):
    """Appended, deleted, overwritten, packed, with a checkpoint in one part or in two, and without
    the commits before it.
    """
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path / "table")
    rows = pa.table({"x": range(20), "p": ["a", "b/ é", None, "c=d"] * 5})
    deltalake.write_deltalake(path, rows, partition_by=["p"])
    more = rows.append_column("new", pa.array(range(20), pa.int32()))
    deltalake.write_deltalake(path, more, mode="append", schema_mode="merge")
    table = deltalake.DeltaTable(path)
    table.delete("x % 3 = 0")
    table.create_checkpoint()
    deltalake.write_deltalake(path, more[:3], mode="append")
    table = deltalake.DeltaTable(path)
    table.optimize.compact()
    last = deltalake.DeltaTable(path).version()
    log = Path(path, "_delta_log")

    def agree(versions):
        for version in versions:
            opened = deltalake.DeltaTable(path, version=version)
            expected = opened.to_pyarrow_table()
            ours = postri.open(opened if version == last else f"delta://{path}?version={version}")
            assert ours.columns == expected.column_names
            assert cells(ours) == sorted(expected["x"].to_pylist())
            keys = expected["p"].to_pylist()
            assert by_name(ours, ["a", "b/ é", "c=d"]) == [
                keys.count(key) for key in ("a", "b/ é", "c=d")
            ]

    agree(range(last + 1))
    for version in range(3):
        (log / f"{version:020}.json").unlink()
    agree(range(2, 4))
    whole = next(log.glob("*.checkpoint.parquet"))
    actions = pq.read_table(whole)
    start = whole.name.split(".")[0]
    for i, part in enumerate((actions[:3], actions[3:]), start=1):
        pq.write_table(part, log / f"{start}.checkpoint.{i:010}.{2:010}.parquet")
    whole.unlink()
    assert cells(f"delta://{path}") == sorted(
        deltalake.DeltaTable(path).to_pyarrow_table()["x"].to_pylist()
    )


# ---- In a policy


def test_a_policy_names_a_delta_table(tmp_path):
    source = write_delta(tmp_path / "t", numbers(*range(100)))
    columns = {"x": 'type = "integer"\nlower = 0\nupper = 99'}
    file = tmp_path / "postri.toml"
    file.write_text(dataset_text("dice", source=source, rows=None, columns=columns))
    policy = read_policy(file)
    assert check_policy(policy) == ([], [])
    with postri.connect(file) as session:
        assert 30 < session.median("dice", "x", epsilon=1).value < 70
    with pytest.raises(InputError, match="leave table out"):
        policy_source_of(source, "main.x")
    delta = policy_source_of(source, None)
    assert delta.written(source, tmp_path) == (source, "")
    parquet = policy_source_of("first.parquet", None)
    first = parquet.places(str(tmp_path / "t" / "first.parquet"), None)
    assert first < delta.places(source, None)
    assert delta.places(url(tmp_path / "nowhere"), None) == set()
    names, doubts = Desk().open(0, "delta", source, None, {}, CsvFormat())
    assert (list(names or ()), list(doubts)) == (["x"], [])


def test_the_log_is_json_and_nothing_of_it_is_kept(tmp_path):
    """A line ends with a line feed alone: texts in it may hold other signs of an end."""
    begin(tmp_path, numbers(1), tags={"note": "a\u2028b\x85c"})
    log = tmp_path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().split("\n") if line]
    log.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in actions))
    assert cells(url(tmp_path)) == [1]
