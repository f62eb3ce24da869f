r"""The lines of CSV files as one column of text, whatever bytes stand in them.

DuckDB reads files in UTF-8 itself, and fails at the first byte that is not: its own way to go on
would leave out whole lines, and its readers of other encodings fail on cells. So such files, and
files in other encodings, are rewritten in UTF-8 first, into a file without a name that is gone when
the table is. There a byte that cannot be decoded stands as its escape, such as `\xe9`: it spoils
its own cell, and no two cells become alike by it.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from io import IncrementalNewlineDecoder
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import IO, Any, TypeVar, cast
from weakref import finalize

from postri import system
from postri.engines.csv_format import CsvFormat
from postri.engines.duckdb.csv_sample import LineSample, sample_lines
from postri.engines.duckdb.source import Database, literal
from postri.engines.progress import check_cancelled
from postri.engines.sql.dialect import filled
from postri.errors import EngineError, InputError, SourceError
from postri.exact import shown

Counted = TypeVar("Counted")

LONGEST_LINE = 2**21
# How many bytes are rewritten at a time.
CHUNK = 1 << 20
# Two code points that no text may hold: one that never separates cells, one that never stands for
# null.
NEVER = "\U0010ffff"
NOWHERE = "\U0010fffe"
# What DuckDB calls the ways in which it may read a file, by the ending of its name. It would read
# zstd too, but says nothing where a file was cut off.
COMPRESSIONS = {".gz": "gzip"}
# How Python decodes each encoding; a byte order mark at the start belongs to no name.
DECODERS = {"utf-8": "utf-8-sig", "latin-1": "latin-1", "cp1252": "cp1252", "utf-16": "utf-16"}
# Who can decompress zstd, and how a file is opened there: Python itself from 3.14 on. All of them
# notice a file that was cut off.
ZSTD: Sequence[tuple[str, Callable[[Any, str], IO[bytes]]]] = (
    ("compression.zstd", lambda library, path: library.open(path)),
    ("backports.zstd", lambda library, path: library.open(path)),
    ("pyarrow", lambda library, path: library.input_stream(path, compression="zstd")),
)
# What may separate the cells of a file whose header seems to have one name.
LIKELY_DELIMITERS = (";", "\t", "|", ",")

# The lines of the files as one column of text. Where errors are ignored, lines that are too long
# are left out; else they are an error, as are those that are not UTF-8.
LINES = """
    read_csv(
        {files},
        columns = {{'line': 'VARCHAR'}},
        skip = {skip},
        delim = {never},
        nullstr = {nowhere},
        new_line = '\\n',
        max_line_size = {longest},
        quote = '',
        escape = '',
        comment = '',
        encoding = 'utf-8',
        compression = '{compression}',
        ignore_errors = {ignore_errors},
        auto_detect = False,
        header = False,
        strict_mode = False,
        null_padding = False,
        store_rejects = False,
        hive_partitioning = False,
        union_by_name = False,
        filename = False
    )
"""


@dataclass(frozen=True)
class LineRelation:
    """A relation of lines, the database that can read it, and the files in which the lines stand as
    they are: none where these are compressed.
    """

    database: Database
    relation: str
    paths: Sequence[str] = ()

    @cached_property
    def sample(self) -> LineSample | None:
        """Some of the lines, if they are many."""
        return sample_lines(self.paths)


class CsvLines:
    """The lines of one file, or of several with the same header."""

    def __init__(self, paths: Sequence[str], style: CsvFormat) -> None:
        for path in paths:
            _check_decompression(path)
            if style.encoding == "utf-16":
                _check_byte_order(path)
        self._paths = paths
        self._style = style
        suffix = Path(paths[0]).suffix.lower()
        self._readable = style.encoding == "utf-8" and suffix != ".zst"
        plain = () if suffix in COMPRESSIONS else paths
        self.as_they_are = LineRelation(Database(paths), self._relation(), plain)
        self._rewritten: LineRelation | None = None
        self._lock = Lock()

    def names(self) -> list[str]:
        """The names in the header, which is public; InputError if the files differ in it."""
        first = self._paths[0]
        names = _header(first, self._style)
        for other in self._paths[1:]:
            if _header(other, self._style) != names:
                raise InputError(
                    f"{other!r} has other columns than {first!r}; files that are read "
                    "together must have the same header"
                )
        return names

    def read(self, count: Callable[[LineRelation], Counted]) -> Counted:
        """What is counted of the lines: as the files are, if DuckDB can read all of them."""
        if self._readable and self._rewritten is None:
            with suppress(EngineError):
                return count(self.as_they_are)
            check_cancelled()
        return count(self._rewrite())

    def handed_over(self) -> Iterator[bool]:
        """For each line of the file whether DuckDB hands it over: neither the header, nor an empty
        line, nor one that is too long. Nothing for several files.
        """
        if len(self._paths) > 1:
            return
        rest = ""
        is_header = self._style.header
        for text in chain(_texts(self._paths[0], self._style), ["\n"]):
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                yield not is_header and 0 < len(line.encode()) <= LONGEST_LINE
                is_header = False

    def _relation(self) -> str:
        suffix = Path(self._paths[0]).suffix.lower()
        return _lines(
            self._paths,
            skip=int(self._style.header),
            compression=COMPRESSIONS.get(suffix, "none"),
            ignore_errors=False,
        )

    def _rewrite(self) -> LineRelation:
        """The same lines in UTF-8, without their headers."""
        with self._lock:
            if self._rewritten is None:
                path = self._write()
                relation = _lines([path], skip=0, compression="none", ignore_errors=True)
                self._rewritten = LineRelation(Database([path]), relation, [path])
            return self._rewritten

    def _write(self) -> str:
        """The path of a copy of the lines, which is gone with the table."""
        with suppress(OSError):
            copy, path = system.unnamed_file()
            finalize(self, copy.close)
            _write_lines(copy, self._paths, self._style)
            return path
        raise SourceError(
            f"there is no room to rewrite {self._paths[0]!r} in UTF-8; make some in the folder of "
            "temporary files, or let TMPDIR name another"
        )


def _lines(paths: Sequence[str], *, skip: int, compression: str, ignore_errors: bool) -> str:
    return filled(
        LINES,
        files=f"[{', '.join(map(literal, paths))}]",
        skip=skip,
        never=literal(NEVER),
        nowhere=literal(NOWHERE),
        longest=LONGEST_LINE,
        compression=compression,
        ignore_errors=ignore_errors,
    )


# ---- files as bytes


def _check_decompression(path: str) -> None:
    """Refuse a file that nobody here can decompress, by its name alone."""
    if path.lower().endswith(".zst"):
        _zstd_library()


def _zstd_library() -> tuple[Any, Callable[[Any, str], IO[bytes]]]:
    for name, opened in ZSTD:
        with suppress(ImportError):
            return import_module(name), opened
    raise InputError("files that end in .zst need backports.zstd: pip install 'postri[zstd]'")


def _opened(path: str) -> IO[bytes]:
    suffix = Path(path).suffix.lower()
    if suffix == ".gz":
        import gzip

        return cast(IO[bytes], gzip.open(path))
    if suffix == ".zst":
        library, opened = _zstd_library()
        return opened(library, path)
    return Path(path).open("rb")


def _chunks(path: str, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file, decompressed.

    What a library says of a damaged file may carry some of it: that stays in here.
    """
    try:
        with _opened(path) as file:
            while chunk := file.read(size):
                yield chunk
        return
    except GeneratorExit:
        return
    except Exception:
        pass
    raise SourceError(f"cannot read {path!r}: the file is damaged, or not what its name says")


def _check_byte_order(path: str) -> None:
    """Refuse a file that cannot be in UTF-16, before its rows are taken for a header."""
    start = next(_chunks(path, LONGEST_LINE), b"")
    if not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            f"{path!r} is not in UTF-16: it does not begin with a byte order mark; say how it is "
            "encoded, such as postri.open(..., encoding='utf-8')"
        )


# ---- lines in UTF-8


def _write_lines(copy: IO[bytes], paths: Sequence[str], style: CsvFormat) -> None:
    for path in paths:
        texts = _texts(path, style)
        if style.header:
            texts = _without_first_line(texts)
        last = "\n"
        for text in texts:
            check_cancelled()
            copy.write(text.encode("utf-8"))
            last = text or last
        if not last.endswith("\n"):
            copy.write(b"\n")
    copy.flush()


def _without_first_line(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        _, end, rest = text.partition("\n")
        if end:
            yield rest
            break
    yield from texts


def _texts(path: str, style: CsvFormat) -> Iterator[str]:
    """The text of a file, with a line feed for every kind of line end, and escapes for what is no
    text.
    """
    decoder = codecs.getincrementaldecoder(DECODERS[style.encoding])("backslashreplace")
    ends = IncrementalNewlineDecoder(decoder, translate=True)
    for chunk in _chunks(path):
        yield ends.decode(chunk)
    yield ends.decode(b"", final=True)


# ---- the header


def _header(path: str, style: CsvFormat) -> list[str]:
    """The names in the first line, which is public."""
    names: list[str] | None = None
    line = ""
    # What Python says of bytes that it cannot decode holds all of them, and in a file without a
    # header these are cells.
    with suppress(ValueError, csv.Error):
        line = _first_line(path, style.encoding)
        # A quote that cannot occur in the line quotes nothing.
        (names,) = csv.reader(
            [line],
            delimiter=style.separator(path),
            quotechar=style.quote or "\x00",
            strict=True,
        )
    if names is None:
        raise InputError(
            f"the first line of {path!r} is not a header of names in {style.encoding.upper()}; "
            "say how the file is encoded, such as postri.open(..., encoding='latin-1'), or "
            "declare columns with header=False"
        )
    if len(names) == 1:
        _check_delimiter(line, style.separator(path), style.quote)
    return names


def _first_line(path: str, encoding: str) -> str:
    """The first line, or ValueError: whether it can be decoded depends on no other line."""
    start = next(_chunks(path, LONGEST_LINE), b"")
    if encoding != "utf-16":
        line = (start.splitlines() or [b""])[0]
        return line.decode(DECODERS[encoding])
    # The byte of a line end may be half of another sign, so more than the line is decoded.
    decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
    return re.split("\r|\n", decoder.decode(start), maxsplit=1)[0]


def _check_delimiter(line: str, delimiter: str, quote: str) -> None:
    """Refuse a header that has one name with another delimiter in it; a name in quotes is one."""
    if quote and line.startswith(quote):
        return
    for mark in LIKELY_DELIMITERS:
        if mark in line and mark != delimiter:
            raise InputError(
                f"the header has one column {shown(line)}: is the delimiter {mark!r}? Then say "
                f"postri.open(..., delimiter={mark!r})"
            )
