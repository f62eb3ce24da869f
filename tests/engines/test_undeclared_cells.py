"""Cells that are not what their type declares: files, arrays and tables hold them, because nobody
checks. They fail no question, or their way of storing them is refused by its declaration.
"""

from __future__ import annotations

import struct
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import postri
from postri import Domain, SeededCoins, agg
from postri.engines.rows import Rows
from postri.engines.table import Table
from postri.errors import InputError
from postri.expressions import Predicate

pytestmark = pytest.mark.slow


def decimals(digits: int, scale: int, wholes: list[int]) -> pa.Array:
    """Decimals by their whole numbers, of however many digits."""
    data = b"".join(whole.to_bytes(16, "little", signed=True) for whole in wholes)
    return pa.Array.from_buffers(
        pa.decimal128(digits, scale), len(wholes), [None, pa.py_buffer(data)]
    )


def in_parquet(column: pa.Array, folder: Path, **how: Any) -> Table:
    path = folder / "cells.parquet"
    pq.write_table(pa.table({"x": column}), path, **how)
    return postri.open(path)


def in_duckdb(column: pa.Array, folder: Path) -> Table:
    connection = duckdb.connect()
    connection.register("given", pa.table({"x": column}))
    connection.execute("CREATE TABLE cells AS SELECT * FROM given")
    return postri.open(connection.table("cells"))


HOLDERS = {
    "Arrow": lambda column, folder: postri.open(pa.table({"x": column})),
    "Parquet": in_parquet,
    "DuckDB": in_duckdb,
}
PREDICATES = ("x IS NULL", "x > 0", "x = 1", "x + 1 > 2", "x * x > 5", "-x < 3", "x / 2 > 1")


def answered(table: Table) -> None:
    """Every kind of question has an answer, and nothing warns."""
    domain = Domain(-1_000, 1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for predicate in PREDICATES:
            table.sizes(None, table.bind(Rows(where=Predicate.parse(predicate))))
        aggregates = {
            "mid": agg.median("x", domain=domain),
            "mean": agg.mean("x", domain=domain),
            "sum": agg.sum("x", domain=domain),
        }
        postri.ask(table, aggregates, epsilon=3, coins=SeededCoins(1))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(("digits", "scale"), [(1, 0), (4, 2), (9, 2), (18, 0), (18, 9)])
def test_a_decimal_of_more_digits_than_declared_fails_nothing(tmp_path, holder, digits, scale):
    most = 10**digits - 1
    # As many as the machine number that holds them has room for.
    room = 2 ** (15 if digits <= 4 else 31 if digits <= 9 else 63) - 1
    table = HOLDERS[holder](decimals(digits, scale, [0, most, -most, room, -room - 1]), tmp_path)
    answered(table)
    postri.median(table, column="x", epsilon=1, coins=SeededCoins(1))
    assert table.sizes("x", table.bind(Rows())) == [5]


@pytest.mark.parametrize("holder", ["Parquet", "DuckDB"])
def test_such_a_decimal_counts_as_the_last_of_its_type(tmp_path, holder):
    table = HOLDERS[holder](decimals(4, 2, [1, 9_999, 12_345, -12_345]), tmp_path)
    matching = [Predicate.parse(text) for text in ("x = 99.99", "x = -99.99", "x > 99")]
    assert table.matching(matching) == [2, 1, 2]


def patched(path: Path, old: bytes, new: bytes) -> None:
    """Another declaration in the footer of a file, of the same length."""
    data = path.read_bytes()
    (size,) = struct.unpack("<i", data[-8:-4])
    footer = data[-8 - size : -8]
    assert old in footer and len(old) == len(new)
    path.write_bytes(data[: -8 - size] + footer.replace(old, new) + data[-8:])


@pytest.mark.parametrize("digits", [4, 9, 18])
@pytest.mark.parametrize("cell", ["1.00", "99999999999999999999.00"])
def test_decimals_in_more_bytes_than_they_need_are_refused_whatever_they_are(
    tmp_path, digits, cell
):
    """DuckDB fails on one that does not fit. In the footer, a number stands as twice itself."""
    path = tmp_path / "wide.parquet"
    column = pa.array([Decimal(cell)], pa.decimal128(38, 2))
    how: dict[str, Any] = {"store_schema": False, "write_statistics": False}
    pq.write_table(pa.table({"x": column}), path, **how)
    patched(path, b"\x15\x4c", bytes([0x15, 2 * digits]))
    with pytest.raises(InputError, match=f"16 bytes for {digits} digits"):
        postri.open(path).declared("x")


@pytest.mark.parametrize("cell", [0, 2**62])
def test_milliseconds_are_known_by_either_way_to_declare_them(tmp_path, cell):
    """Some programs write the newer one alone, and DuckDB goes by that. The older one says
    microseconds here, whose number is one more.
    """
    path = tmp_path / "moments.parquet"
    column = pa.array([cell], pa.int64()).view(pa.timestamp("ms"))
    pq.write_table(pa.table({"x": column}), path, store_schema=False, write_statistics=False)
    for declaration in ("both", "the newer one"):
        with pytest.raises(InputError, match="milliseconds"):
            postri.open(path).declared("x")
        if declaration == "both":
            patched(path, b"\x25\x12", b"\x25\x14")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("bits", [32, 64])
def test_a_nan_of_any_bits_warns_of_nothing(tmp_path, holder, bits):
    quiet, signalling = {
        32: (0x7FC00000, 0x7F800001),
        64: (0x7FF8 << 48, (0x7FF << 52) + 1),
    }[bits]
    numbers = np.array([quiet, signalling, 2**bits - 1, 0], f"uint{bits}").view(f"float{bits}")
    table = HOLDERS[holder](pa.array(numbers), tmp_path)
    answered(table)
    assert table.sizes("x", table.bind(Rows())) == [1]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Oslo"])
def test_moments_beyond_every_calendar_fail_nothing(tmp_path, holder, unit, zone):
    """DuckDB has a type of its own for zoned nanoseconds."""
    cells = pa.array([-(2**63) + 1, -1, 0, 1, 2**63 - 1, 2**62], pa.int64())
    table = HOLDERS[holder](cells.view(pa.timestamp(unit, zone)), tmp_path)
    assert table.declared("x").zoned is (zone is not None)
    offset = "+00" if zone else ""
    later = Predicate.parse(f"x > TIMESTAMP '1900-01-01 00:00:00{offset}'")
    assert table.sizes(None, table.bind(Rows(where=later))) == [5]
    postri.median(table, column="x", epsilon=1, coins=SeededCoins(1))
