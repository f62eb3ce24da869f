"""From a path to the engine of its format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from postri.columns import ColumnType
from postri.engines.base import CsvFormat, Engine
from postri.errors import InputError, nearest

CSV, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")


def file_engine(path: str, types: Mapping[str, ColumnType], csv: CsvFormat) -> Engine:
    """The engine of a file; its name tells the format."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path!r}" + _others(file))
    if found := set(path) & set("*?["):
        raise InputError(f"the name of a file may not hold {' or '.join(sorted(found))}, got {path!r}; rename it")
    suffix = file.suffix.lower()
    if suffix in PARQUET:
        from postri.engines.parquet import ParquetEngine

        if types:
            raise InputError("a Parquet file declares the types of its columns; leave out columns=...")
        return ParquetEngine([path])
    if suffix in CSV:
        from postri.engines.csv import CsvEngine

        return CsvEngine(path, types, csv)
    raise InputError(f"cannot tell the format of {path!r} by its name; it must end in one of {', '.join(CSV + PARQUET)}")


def _others(file: Path) -> str:
    """A hint: the files beside it that can be read."""
    names = sorted(other.name for other in file.parent.glob("*") if other.suffix.lower() in CSV + PARQUET) if file.parent.is_dir() else []
    return f" in {str(file.parent)!r}; {nearest(file.name, names)}" if names else ""
