"""CSV files in other encodings, and with bytes that are none: no row is lost, and no error depends
on a cell.
"""

from __future__ import annotations

import gzip
import json
import os
from fractions import Fraction
from io import BytesIO
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pytest

import postri
from postri import EngineError, InputError, SeededCoins, SourceError
from postri.columns import UNTYPED
from postri.engines.duckdb.csv_lines import CHUNK
from postri.engines.duckdb.source import Database
from postri.engines.rows import EVERY_ROW, Groups, Rows, Units
from postri.grid import grid_of
from postri.window import Target
from program import run
from proving import sized

# Most people with a high income have an accent in their names: if their lines vanished, the median
# would be another.
NAMES = ["Ann", "Björn", "Łukasz", "Zoë", "Noël", "Bob"]
PEOPLE = [
    (NAMES[i % 6] if i % 6 != 2 else "Luc", 1_000 + 10 * i if i % 3 else 9_000 - i)
    for i in range(900)
]
TRUE_MEDIAN = median(income for _, income in PEOPLE)
# Every encoding with every compression and end of lines. A step of five meets each of them.
WRITTEN = list(
    product(["utf-8", "latin-1", "cp1252", "utf-16"], ["", ".gz", ".zst"], ["\n", "\r\n", "\r"])
)


def text_of(delimiter: str = ",", end: str = "\n") -> str:
    lines = [f"name{delimiter}income", *(f"{name}{delimiter}{x}" for name, x in PEOPLE)]
    return "".join(line + end for line in lines)


def write(folder: Path, text: bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text)
    return path


def cells(path: Path, column: str, **how) -> list[int]:
    table = postri.open(path, **how)
    window = table.windows(column, grid_of(UNTYPED, None), [Target(Fraction(1, 2), 10**6)])[0](0)
    return np.repeat(window.indexes, window.counts).tolist()


def group_sizes(table: postri.Table, column: str, keys: list[str]) -> list[int]:
    return table.sizes(None, table.bind(Rows(groups=Groups.of({column: keys}))))


INCOMES = sorted(income for _, income in PEOPLE)


def test_a_latin_1_file_loses_no_row_even_where_nothing_is_declared(tmp_path):
    path = write(tmp_path, text_of().encode("latin-1"))
    assert cells(path, "income") == INCOMES
    answer = postri.median(path, column="income", epsilon=4, coins=SeededCoins(3))
    assert TRUE_MEDIAN in answer.interval


def test_the_command_line_holds_the_true_median_of_a_latin_1_file(tmp_path):
    """At epsilon 40 an interval of 95% fails once in twenty runs by a row or so: a hundred more to
    each side never does (below e^-1000).
    """
    path = write(tmp_path, text_of().encode("latin-1"))
    for options in ([], ["--encoding", "latin-1"], ["--encoding", "ISO-8859-1"]):
        answer = json.loads(run("median", path, "income", "--epsilon", 40, "--json", *options)[0])
        assert answer["low"] - 400 < TRUE_MEDIAN < answer["high"] + 400


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "packed", "end"), WRITTEN[:: sized(5, 1)], ids=repr)
def test_texts_and_numbers_are_the_same_in_every_encoding(tmp_path, encoding, packed, end):
    raw = text_of(end=end).encode(encoding)
    if packed == ".gz":
        raw = gzip.compress(raw)
    elif packed == ".zst":
        raw = pa.compress(raw, codec="zstd", asbytes=True)
    path = write(tmp_path, raw, f"people.csv{packed}")
    table = postri.open(path, encoding=encoding)
    assert table.columns == ["name", "income"]
    assert cells(path, "income", encoding=encoding) == INCOMES
    assert group_sizes(table, "name", ["Björn", "Zoë", "Bob"]) == [150, 150, 150]


def test_cp1252_knows_the_signs_that_latin_1_does_not(tmp_path):
    path = write(tmp_path, "name,x\n€,1\n“,2\n".encode("cp1252"))
    assert group_sizes(postri.open(path, encoding="cp1252"), "name", ["€", "“"]) == [1, 1]


UNDECODABLE = {
    "utf-8": (b"name,x\n", b"a\xff,1\n", b"\xe9\xe9,2\n\xc3,3\n\xf0\x9f,4\n", "\\xe9\\xe9"),
    "cp1252": (b"name,x\n", b"a\x81,1\n", b"\x8d,2\nc,3\nd,4\n", "\\x8d"),
    "utf-16": (
        "\ufeffname,x\n".encode("utf-16-le"),
        "a".encode("utf-16-le") + b"\x00\xd8" + ",1\n".encode("utf-16-le"),
        b"\x00\xdc" + ",2\nc,3\nd,4\n".encode("utf-16-le"),
        "\\x00\\xdc",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", UNDECODABLE)
def test_what_cannot_be_decoded_spoils_its_cell_and_no_row(tmp_path, encoding):
    header, first, others, spoilt = UNDECODABLE[encoding]
    table = postri.open(write(tmp_path, header + first + others), encoding=encoding)
    assert table.sizes(None, EVERY_ROW) == [4]
    assert cells(tmp_path / "people.csv", "x", encoding=encoding) == [1, 2, 3, 4]
    # It stands there as its escape: two persons do not become one.
    assert group_sizes(table, "name", [spoilt]) == [1]


def test_units_whose_bytes_differ_stay_apart(tmp_path):
    rows = b"".join(b"%b,%d\n" % (who, i) for i in range(3) for who in (b"\xe9", b"\xe8", b"e"))
    table = postri.open(write(tmp_path, b"who,x\n" + rows))
    bound = table.bind(Rows(units=Units("who", 1)))
    assert table.sizes(None, bound) == [3]


@pytest.mark.slow
def test_a_bad_byte_anywhere_gives_the_rows_of_a_file_without_it(tmp_path):
    """Also where a chunk that is rewritten ends in the middle of a character or of a line end."""
    for shift in range(4):
        # Lines that are no records, and the beginning of one.
        whole, rest = divmod(CHUNK - 20 + shift, 1_000)
        filler = (b"x" * 999 + b"\n") * whole + b'"' + b"x" * rest
        lines = [b"name,x", filler + b'",1', b"\xc3\xa9\xf0\x9f\x98\x80\r", b"e,2\r", b"f,3"]
        path = write(tmp_path, b"\n".join(lines) + b"\n\xff,4")
        assert cells(path, "x") == [1, 2, 3, 4]
        table = postri.open(path)
        assert group_sizes(table, "name", ["e", "f", "\\xff"]) == [1, 1, 1]


def test_files_of_a_pattern_are_rewritten_without_their_headers(tmp_path):
    write(tmp_path, b"name,x\n1,1\n\xff,2", "a.csv")
    write(tmp_path, b"name,x\r\n3,3\r\n", "b.csv")
    write(tmp_path, b"name,x", "c.csv")
    path = tmp_path / "*.csv"
    assert cells(path, "x") == [1, 2, 3]
    assert cells(path, "name") == [1, 3]


def test_files_without_a_header_lose_no_line(tmp_path):
    path = write(tmp_path, "\ufeffé,1\nb,2\n".encode("utf-16"))
    names = {"name": None, "x": None}
    assert cells(path, "x", columns=names, header=False, encoding="utf-16") == [1, 2]
    path = write(tmp_path, b"\xff,1\nb,2\n")
    assert cells(path, "x", columns=names, header=False) == [1, 2]


# ---- the fast way stays


@pytest.fixture
def databases(monkeypatch):
    """Which files each database may read."""
    found = []
    original = Database.__init__

    def opened(self, paths):
        found.append(list(paths))
        original(self, paths)

    monkeypatch.setattr(Database, "__init__", opened)
    return found


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_file_in_utf_8_is_read_where_it_lies(tmp_path, databases, packed):
    raw = text_of().encode()
    path = write(tmp_path, gzip.compress(raw) if packed else raw, f"people.csv{packed}")
    assert cells(path, "income") == INCOMES
    assert databases == [[os.fspath(path)]]


def test_a_rewritten_copy_has_no_name_and_is_made_once(tmp_path, databases):
    path = write(tmp_path, text_of().encode("latin-1"))
    table = postri.open(path, encoding="latin-1")
    for name in NAMES[:3]:
        group_sizes(table, "name", [name])
    assert len(databases) == 2
    (copy,) = databases[1]
    assert os.path.realpath(copy).endswith("(deleted)") or copy.startswith("/dev/fd/")
    assert [each.name for each in tmp_path.iterdir()] == ["people.csv"]


# ---- errors depend on the file as a whole, or on its header


def damaged(folder: Path, packed: str, cell: bytes) -> Path:
    rows = b"".join(b"%d,%d\n" % (i, i * 7919 % 100_003) for i in range(300_000))
    raw = b"name,x\n" + cell + b",1\n" + rows
    if packed == ".gz":
        whole = gzip.compress(raw, 1)
    else:
        whole = pa.compress(raw, codec="zstd", asbytes=True)
    return write(folder, whole[: len(whole) * 3 // 4], f"cut.csv{packed}")


@pytest.mark.slow
@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("cell", [b"secret-4711", b"\xff"], ids=["text", "bad byte"])
def test_a_compressed_file_that_was_cut_off_is_an_error_without_a_cell(tmp_path, packed, cell):
    table = postri.open(damaged(tmp_path, packed, cell))
    with pytest.raises((EngineError, SourceError), match="damaged") as caught:
        table.sizes(None, EVERY_ROW)
    assert "4711" not in repr(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_full_disk_is_an_error_that_says_so(tmp_path, monkeypatch):
    class Full(BytesIO):
        def write(self, _):
            raise OSError("no space left")

    monkeypatch.setattr("postri.system.unnamed_file", lambda: (Full(), "none"))
    table = postri.open(write(tmp_path, text_of().encode("latin-1")), encoding="latin-1")
    with pytest.raises(SourceError, match=r"no room to rewrite .*people.csv"):
        table.sizes(None, EVERY_ROW)


def test_a_file_that_is_not_compressed_as_its_name_says_is_refused(tmp_path):
    with pytest.raises(SourceError, match="not what its name says"):
        postri.open(write(tmp_path, b"name,x\n1,2\n", "people.csv.gz"))


@pytest.mark.parametrize(
    ("header", "how"),
    [
        (b"caf\xe9,x\n", {}),
        ("\ufeffname,x\n".encode("utf-16-le"), {}),
        (b"caf\x81,x\n", {"encoding": "cp1252"}),
    ],
)
def test_a_header_in_another_encoding_says_what_to_declare(tmp_path, header, how):
    with pytest.raises(InputError, match=r"not a header of names in .*encoding='latin-1'"):
        postri.open(write(tmp_path, header + b"1,2\n"), **how)


def test_utf_16_needs_its_mark_before_rows_are_taken_for_a_header(tmp_path):
    with pytest.raises(InputError, match="does not begin with a byte order mark") as caught:
        postri.open(write(tmp_path, b"name,x\nsecret-4711,2\n"), encoding="utf-16")
    assert "4711" not in str(caught.value)


def test_a_header_in_utf_16_is_read_whatever_stands_below_it(tmp_path):
    raw = "\ufeffnäme,x\n".encode("utf-16-le") + b"\x00\xd8" + ",1\n".encode("utf-16-le")
    assert postri.open(write(tmp_path, raw), encoding="utf-16").columns == ["näme", "x"]


def test_an_unknown_encoding_is_refused_by_name(tmp_path):
    path = write(tmp_path, b"name,x\n")
    with pytest.raises(InputError, match="one of utf-8, latin-1, cp1252, utf-16, got 'klingon'"):
        postri.open(path, encoding="klingon")
    _, err = run("median", path, "x", "--epsilon", 1, "--encoding", "koi8-r", code=2)
    assert "one of utf-8, latin-1, cp1252, utf-16" in err


def test_zstd_without_a_library_names_the_one_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("postri.engines.duckdb.csv_lines.ZSTD", ())
    with pytest.raises(InputError, match=r"pip install 'postri\[zstd\]'"):
        postri.open(write(tmp_path, b"", "people.csv.zst"))
