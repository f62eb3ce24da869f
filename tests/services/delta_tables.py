"""Delta tables, written by their protocol: a log of JSON beside Parquet files."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {
    **{"int8": "byte", "int16": "short", "int32": "integer", "int64": "long"},
    **{"float": "float", "double": "double", "bool": "boolean", "string": "string"},
    **{"date32[day]": "date", "timestamp[us]": "timestamp_ntz"},
    "timestamp[us, tz=UTC]": "timestamp",
}

Action = Mapping[str, Any]


def delta_type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        element = delta_type(kind.value_type)
        return {"type": "array", "elementType": element, "containsNull": True}
    return TYPES[str(kind)]


def protocol(*features: str) -> Action:
    if not features:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    named = {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}


def meta(
    schema: pa.Schema, by: Sequence[str] = (), configuration: Mapping[str, str] | None = None
) -> Action:
    fields = [
        {"name": field.name, "type": delta_type(field.type), "nullable": True, "metadata": {}}
        for field in schema
    ]
    return {
        "metaData": {
            "id": "1",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": list(by),
            "configuration": dict(configuration or {}),
        }
    }


def add(
    folder: Path, name: str, rows: pa.Table, shared: Mapping[str, str | None] | None = None
) -> Action:
    """Write the rows of a file, and say so; `shared` are the cells of its partition."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=20_000, store_schema=False)
    file = {"path": quote(name, safe="/="), "partitionValues": dict(shared or {}), "size": 1}
    return {"add": {**file, "modificationTime": 1, "dataChange": True}}


def remove(added: Action) -> Action:
    return {"remove": {"path": added["add"]["path"], "deletionTimestamp": 1, "dataChange": True}}


def commit(folder: Path, version: int, *actions: Action) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, actions)) + "\n"
    (log / f"{version:020}.json").write_text(text)


def url(folder: Path, version: int | None = None) -> str:
    return f"delta://{folder}" + ("" if version is None else f"?version={version}")


def write_delta(folder: Path, table: pa.Table) -> str:
    """A table in two commits: the first has a file that the second removes, and a file whose first
    row is deleted.
    """
    half = len(table) // 2
    gone = add(folder, "gone.parquet", table[:1])
    first = add(folder, "first.parquet", pa.concat_tables([table[:1], table[:half]]))
    last = add(folder, "last.parquet", table[half:])
    deleted = [0] if len(table) else []
    marked = {"add": {**first["add"], "deletionVector": vector(deleted)}}
    features = protocol("deletionVectors", "timestampNtz")
    commit(folder, 0, features, meta(table.schema), gone, marked)
    commit(folder, 1, remove(gone), last)
    return url(folder)


# ---- Deletion vectors, by the specification of Roaring bitmaps

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def base85(written: bytes) -> str:
    padded = written + bytes(-len(written) % 4)
    letters = []
    for (word,) in struct.iter_unpack(">I", padded):
        letters += [LETTERS[word // 85**power % 85] for power in reversed(range(5))]
    return "".join(letters)


def bitmap(rows: Sequence[int], *, runs: bool) -> bytes:
    """One bitmap of 32 bits; with runs, each container is one of them."""
    groups: dict[int, list[int]] = {}
    for row in sorted(rows):
        groups.setdefault(row >> 16, []).append(row & 0xFFFF)
    written = [container(lows, runs=runs) for lows in groups.values()]
    number = len(groups)
    head = struct.pack("<II", 12346, number)
    if runs:
        flags = np.packbits([True] * number, bitorder="little").tobytes()
        head = struct.pack("<I", 12347 | (number - 1) << 16) + flags
    keys = b"".join(struct.pack("<HH", key, len(lows) - 1) for key, lows in groups.items())
    offsets = b""
    if not runs or number >= 4:
        places = np.cumsum([len(head) + 8 * number, *map(len, written)])[:-1]
        offsets = places.astype("<u4").tobytes()
    return head + keys + offsets + b"".join(written)


def container(lows: list[int], *, runs: bool) -> bytes:
    if runs:
        known = set(lows)
        starts = [low for low in lows if low - 1 not in known]
        ends = [low for low in lows if low + 1 not in known]
        pairs = [
            struct.pack("<HH", first, last - first)
            for first, last in zip(starts, ends, strict=True)
        ]
        return struct.pack("<H", len(pairs)) + b"".join(pairs)
    if len(lows) <= 4096:
        return np.array(lows, "<u2").tobytes()
    bits = np.zeros(1 << 16, np.bool_)
    bits[lows] = True
    return np.packbits(bits, bitorder="little").tobytes()


def vector(rows: Sequence[int], folder: Path | None = None, *, runs: bool = False) -> Action:
    """Rows that are deleted: written in the log, or in a file of a folder."""
    written = struct.pack("<iqI", 1681511377, 1, 0) + bitmap(rows, runs=runs)
    told: dict[str, Any] = {"sizeInBytes": len(written), "cardinality": len(rows)}
    if folder is None:
        return {**told, "storageType": "i", "pathOrInlineDv": base85(written)}
    number = uuid4()
    (folder / "ab").mkdir(exist_ok=True)
    before = b"\x01" + b"another"
    framed = struct.pack(">i", len(written)) + written + struct.pack(">I", zlib.crc32(written))
    (folder / "ab" / f"deletion_vector_{number}.bin").write_bytes(before + framed)
    path = "ab" + base85(number.bytes)
    return {**told, "storageType": "u", "pathOrInlineDv": path, "offset": len(before)}
