"""From a path to the engine of its format."""

from __future__ import annotations

from collections.abc import Mapping
from glob import glob
from pathlib import Path

from postri.columns import ColumnType
from postri.engines.base import CsvFormat, Engine
from postri.errors import InputError, nearest

PATTERN = set("*?[")
CSV, PARQUET = (".csv", ".tsv", ".txt"), (".parquet", ".pq")


def file_engine(path: str, types: Mapping[str, ColumnType], csv: CsvFormat) -> Engine:
    """The engine of a file, or of all files that a pattern such as `trips/*.parquet` matches; their
    names tell the format.
    """
    paths = matching_files(path)
    suffix = Path(paths[0]).suffix.lower()
    if any(Path(other).suffix.lower() != suffix for other in paths):
        raise InputError(
            f"the files of {path!r} have several formats by their names; choose one, such as "
            f"{path.rstrip('*')}*{suffix}"
        )
    if suffix in PARQUET:
        from postri.engines.parquet import ParquetEngine

        if types:
            raise InputError(
                "a Parquet file declares the types of its columns; leave out columns=..."
            )
        return ParquetEngine(paths)
    if suffix in CSV:
        from postri.engines.csv import CsvEngine

        return CsvEngine(paths, types, csv)
    raise InputError(
        f"cannot tell the format of {path!r} by its name; it must end in one of "
        f"{', '.join(CSV + PARQUET)}"
    )


def matching_files(path: str) -> list[str]:
    """The files that a path means, in the order of their names."""
    if Path(path).is_file():
        paths = [path]
    elif set(path) & PATTERN:
        paths = sorted(found for found in glob(path, recursive=True) if Path(found).is_file())
    else:
        raise InputError(f"there is no file {path!r}" + _others(Path(path)))
    if not paths:
        raise InputError(f"no file matches {path!r}")
    for found in paths:
        if marks := set(found) & PATTERN:
            raise InputError(
                f"the name of a file may not hold {' or '.join(sorted(marks))}, got "
                f"{found!r}; rename it"
            )
    return paths


def _others(file: Path) -> str:
    """A hint: the files beside it that can be read."""
    names = (
        sorted(
            other.name for other in file.parent.glob("*") if other.suffix.lower() in CSV + PARQUET
        )
        if file.parent.is_dir()
        else []
    )
    return f" in {str(file.parent)!r}; {nearest(file.name, names)}" if names else ""
