"""The three tables of the paper: from a folder, or from the UCI Machine Learning Repository.

None of them is part of this package.
"""

from __future__ import annotations

import csv
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from postri.domain import Domain
from postri.errors import InputError, SourceError
from postri.research.subjects import Subject
from postri.window import Indexes

SIZE = 10**8
TIMEOUT = 60
UCI = "https://archive.ics.uci.edu/static/public"


@dataclass(frozen=True)
class TableFile:
    """Where a table's column comes from.

    `digest` is the SHA-256 of its values, one a line, in the order of the file.
    """

    column: str
    digest: str
    url: str | None = None
    unpack: Callable[[zipfile.ZipFile], Iterator[str]] | None = None
    # The paper shifts negative data to begin at 0.
    shift: int = 0

    @property
    def domain(self) -> Domain:
        """The paper's domain, 0 to 1e8 after the shift."""
        return Domain(-self.shift, SIZE - self.shift)


def _bank(archive: zipfile.ZipFile) -> Iterator[str]:
    """The full set lies in an archive inside the archive, separated by semicolons."""
    with zipfile.ZipFile(io.BytesIO(archive.read("bank.zip"))) as inner:
        text = inner.read("bank-full.csv").decode("utf-8")
    return (row["balance"] for row in csv.DictReader(text.splitlines(), delimiter=";"))


def _adult(archive: zipfile.ZipFile) -> Iterator[str]:
    """Training and test set without headers; the test set begins with a remark."""
    for name in ("adult.data", "adult.test"):
        lines = archive.read(name).decode("utf-8").splitlines()
        for row in csv.reader(lines, skipinitialspace=True):
            if len(row) > 2:
                yield row[2]


SOURCES = {
    "bank": TableFile(
        "balance",
        "6a9b6dae83964863a18278d1150a6e56db7d7a7c4685f75ef949a0ab3c67750d",
        f"{UCI}/222/bank+marketing.zip",
        _bank,
        8_019,
    ),
    "adult": TableFile(
        "fnlwgt",
        "0819df1ea53c6a80d81c334e1e11289c930d142e88fdf5c8c61cd7bc7228cc7e",
        f"{UCI}/2/adult.zip",
        _adult,
    ),
    "airplane": TableFile(
        "capacity", "091309ed665b9e4fb87805236585a2e082a86cc1ae7df73a7d770561e7b9dbfb"
    ),
}


def data_folder(given: Path | None) -> Path | None:
    """The folder that was given, else the one that POSTRI_DATA names; None means that tables are to
    be downloaded.
    """
    folder = given
    if folder is None and os.environ.get("POSTRI_DATA"):
        folder = Path(os.environ["POSTRI_DATA"])
    if folder is not None and not folder.is_dir():
        files = ", ".join(f"{name}.csv" for name in SOURCES)
        raise InputError(f"there is no folder {folder}; give one with {files}, or leave it out")
    return folder


def load_tables(folder: Path | None) -> tuple[dict[str, Subject], list[str]]:
    """The subjects that can be had, and a sentence for each that cannot.

    Without a folder, the two UCI tables are downloaded.
    """
    subjects: dict[str, Subject] = {}
    missing: list[str] = []
    for name, source in SOURCES.items():
        try:
            if folder is None:
                values = _from_uci(name, source)
            else:
                values = _from_folder(name, source, folder)
        except SourceError as error:
            missing.append(str(error))
        else:
            subjects[name] = Subject.of_values(name, values, source.domain)
    if not subjects:
        raise SourceError(" ".join(missing))
    return subjects, missing


def _from_folder(name: str, source: TableFile, folder: Path) -> Indexes:
    file = folder / f"{name}.csv"
    if not file.is_file():
        raise SourceError(f"{name}: there is no {file.name} in {folder}.")
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            if source.column not in (reader.fieldnames or ()):
                raise SourceError(f"{name}: {file.name} has no column {source.column}.")
            return _checked(name, source, (row[source.column] for row in reader))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SourceError(f"{name}: {file.name} cannot be read as a CSV file in UTF-8.") from None


def _from_uci(name: str, source: TableFile) -> Indexes:
    if source.url is None or source.unpack is None:
        raise SourceError(
            f"{name}: its public page is gone, so it cannot be downloaded; put {name}.csv "
            "into a folder and give --data."
        )
    try:
        with urlopen(source.url, timeout=TIMEOUT) as answer:
            archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    except (OSError, HTTPException, zipfile.BadZipFile) as error:
        reason = type(error).__name__
        raise SourceError(
            f"{name}: {source.url} did not give it ({reason}); put {name}.csv into a folder "
            "and give --data."
        ) from None
    try:
        return _checked(name, source, source.unpack(archive))
    except (KeyError, zipfile.BadZipFile, zlib.error, UnicodeDecodeError, csv.Error):
        raise SourceError(
            f"{name}: what {source.url} gives is not laid out as it was; put {name}.csv into "
            "a folder."
        ) from None


def _checked(name: str, source: TableFile, cells: Iterable[str | None]) -> Indexes:
    """The column as whole numbers, if it is the one of the paper to the last digit."""
    texts = list(cells)
    lines = "\n".join(map(str, texts))
    if sha256(lines.encode()).hexdigest() != source.digest:
        raise SourceError(
            f"{name}: its column {source.column} is not the paper's (the checksum differs)."
        )
    return np.array(texts, dtype=np.int64)
