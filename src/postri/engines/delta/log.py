"""The log of a Delta table: which files hold the rows of a version, by the protocol of
https://github.com/delta-io/delta/blob/master/PROTOCOL.md.

Only what names files is read. Beside each file the log keeps its least and largest cells; they are
never parsed, so that no cell makes a table fail to open. What this reader does not know is refused
by its name in the protocol of the table.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from postri.engines.delta.vectors import deleted_rows
from postri.errors import InputError, SourceError

LOG = "_delta_log"
COMMIT = re.compile(r"(\d{20})\.json")
# Whole, or in parts. Those of another form belong to a feature that is refused.
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
# The first version in which a table names its features one by one.
NAMED_FEATURES = 3
# What a reader must know, and this one does: where it matters, each is looked at below.
KNOWN_FEATURES = {"columnMapping", "deletionVectors", "timestampNtz", "vacuumProtocolCheck"}
MAPPING = "delta.columnMapping.mode"
UNMAPPED = ("", "none")
DAMAGED = "the log of the Delta table cannot be read: it is damaged, or was written by no protocol"

Action = Mapping[str, Any]
ReadCheckpoint = Callable[[Sequence[str]], Iterable[Action]]
"""From the paths of a checkpoint to its actions: `protocol`, `metaData` and `add`."""


@dataclass(frozen=True)
class DataFile:
    """A Parquet file, the texts of the cells that all its rows share, and the numbers of those of
    its rows that are deleted.
    """

    path: str
    shared: Mapping[str, str | None]
    deleted: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class DeltaVersion:
    """One version of a table: its columns with the types that Delta declares, those by which it is
    partitioned, whose cells are in the log and not in the files, and its files.
    """

    number: int
    columns: Mapping[str, str]
    partitioned_by: Sequence[str]
    files: Sequence[DataFile]


def delta_version(folder: str, wanted: int | None, read_checkpoint: ReadCheckpoint) -> DeltaVersion:
    """A version of the table in a folder; the newest if none is wanted."""
    files = _listed(folder)
    checkpoint, commits, number = _needed(files, wanted)
    replay = _Replay()
    try:
        for action in read_checkpoint(checkpoint) if checkpoint else ():
            replay.add(action)
        for commit in commits:
            for action in _actions(commit):
                replay.add(action)
        version = replay.version(folder, number)
    except (KeyError, TypeError, AttributeError, ValueError, OSError, struct.error) as error:
        if isinstance(error, InputError):
            raise
        version = None
    # Raised outside that block: what Python says may carry a cell.
    if version is None:
        raise SourceError(DAMAGED)
    return version


def _listed(folder: str) -> list[Path]:
    log = Path(folder, LOG)
    if not log.is_dir():
        raise InputError(f"there is no Delta table in {folder!r}: it has no folder {LOG}")
    return sorted(log.iterdir())


def _needed(files: Iterable[Path], wanted: int | None) -> tuple[list[str], list[Path], int]:
    """The parts of the last checkpoint that is whole, and the commits after it."""
    commits: dict[int, Path] = {}
    parts: dict[tuple[int, int], list[str]] = {}
    for file in files:
        if found := COMMIT.fullmatch(file.name):
            commits[int(found[1])] = file
        if found := CHECKPOINT.fullmatch(file.name):
            parts.setdefault((int(found[1]), int(found[3] or 1)), []).append(str(file))
    whole = {version: paths for (version, number), paths in parts.items() if len(paths) == number}
    known = {*commits, *whole}
    if not known:
        raise SourceError("the log of the Delta table has no version")
    last = max(known)
    number = last if wanted is None else wanted
    if number > last:
        raise InputError(f"the Delta table has no version {number}; its last one is {last}")
    start = max((version for version in whole if version <= number), default=-1)
    after = range(start + 1, number + 1)
    if any(version not in commits for version in after):
        raise InputError(
            f"the log of the Delta table no longer holds version {number}; open a newer one"
        )
    return whole.get(start, []), [commits[version] for version in after], number


def _actions(commit: Path) -> Iterator[Action]:
    # A path may have bytes of any kind. A line ends with a line feed alone: texts in it may hold
    # the other signs that Python takes for an end.
    text = commit.read_bytes().decode("utf-8", "surrogateescape")
    for line in text.split("\n"):
        if line.strip():
            yield json.loads(line)


class _Replay:
    """What a log says after all actions so far."""

    def __init__(self) -> None:
        self._protocol: Action = {}
        self._table: Action = {}
        # By its path and its deletion vector, under which an action takes the place of another.
        self._files: dict[tuple[str, str], Action] = {}

    def add(self, action: Action) -> None:
        if protocol := action.get("protocol"):
            self._protocol = protocol
        if table := action.get("metaData"):
            self._table = table
        if file := action.get("add"):
            self._files[_key(file)] = file
        if file := action.get("remove"):
            self._files.pop(_key(file), None)

    def version(self, folder: str, number: int) -> DeltaVersion:
        """The version that the actions lead to; InputError if it needs what is not known here."""
        _check_protocol(self._protocol)
        _check_table(self._table)
        fields = json.loads(self._table["schemaString"])["fields"]
        by = list(self._table.get("partitionColumns") or ())
        return DeltaVersion(
            number,
            {str(field["name"]): _type(field["type"]) for field in fields},
            by,
            [_data_file(folder, file, by) for file in self._files.values()],
        )


def _key(file: Action) -> tuple[str, str]:
    vector = file.get("deletionVector") or {}
    identity = [vector.get(part) for part in ("storageType", "pathOrInlineDv", "offset")]
    return unquote(file["path"]), json.dumps(identity)


def _check_protocol(protocol: Action) -> None:
    reader = int(protocol["minReaderVersion"])
    features = set(protocol.get("readerFeatures") or ())
    if reader > NAMED_FEATURES:
        raise InputError(
            f"the Delta table needs a reader of version {reader}; versions up to {NAMED_FEATURES} "
            "can be read"
        )
    unknown = sorted(features - KNOWN_FEATURES)
    if unknown:
        raise InputError(
            f"the Delta table has the feature {', '.join(unknown)}, which cannot be read; copy its "
            "rows to a table without that"
        )


def _check_table(table: Action) -> None:
    mode = (table.get("configuration") or {}).get(MAPPING, "")
    if mode not in UNMAPPED:
        raise InputError(
            f"the Delta table maps columns to other names in its files ({MAPPING} is {mode!r}), "
            "which cannot be read; copy its rows to a table without that"
        )


def _type(declared: str | Mapping[str, Any]) -> str:
    """What Delta declares; of what is nested, its kind alone."""
    if isinstance(declared, str):
        return declared
    return str(declared["type"])


def _data_file(folder: str, file: Action, by: Sequence[str]) -> DataFile:
    """A file of the table's own folder. No message names one: its path may hold cells."""
    relative = unquote(file["path"], errors="surrogateescape")
    root = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(root, relative))
    if urlsplit(file["path"]).scheme or os.path.commonpath([root, path]) != root:
        raise InputError(
            "the Delta table has files outside of its own folder, as a shallow clone has; "
            "copy its rows to a table of their own"
        )
    cells = file.get("partitionValues") or {}
    vector = file.get("deletionVector")
    deleted = deleted_rows(folder, vector) if vector else None
    return DataFile(path, {column: _text(cells.get(column)) for column in by}, deleted)


def _text(cell: str | None) -> str | None:
    """The text of a cell; an empty one is a null by the protocol, and so is what is no text."""
    if not cell or cell != cell.encode("utf-8", "ignore").decode():
        return None
    return cell
