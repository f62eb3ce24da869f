"""How a CSV file is written: declared by the user, and never guessed from the file.

Numbers, dates and timestamps that are written in a declared way are rewritten into the forms that
the one grammar reads, or into nothing where they are not written so.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from postri.errors import InputError
from postri.exact import shown

ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
DECIMAL_MARKS = (".", ",")
# With a blank that no line is broken at, and a narrow one.
THOUSANDS_MARKS = ("", ",", ".", "'", "_", " ", "\u00a0", "\u202f", "\u2019")
# How a shell, which keeps what stands between quotes, writes a tab.
WRITTEN_TAB = "\\t"
TAB_ENDINGS = (".tsv", ".tsv.gz", ".tsv.zst")
NO_LINE_BREAKS = (
    "a cell with a line break cannot be read: a reader that follows quotes across lines takes all "
    "up to the next quote for one cell, so one person's unbalanced quote could make the rows of "
    "everybody after it vanish, and no protected change covers that; write such texts on one line "
    "first, or save the table as Parquet"
)

# The fields of a pattern: which characters each stands for.
FIELDS = {
    "%Y": r"(?P<year>[0-9]{4})",
    "%y": r"(?P<short_year>[0-9]{2})",
    "%m": r"(?P<month>[0-9]{1,2})",
    "%b": r"(?P<month_name>[A-Za-z]{3})",
    "%d": r"(?P<day>[0-9]{1,2})",
    "%H": r"(?P<hour>[0-9]{1,2})",
    "%I": r"(?P<half_hour>[0-9]{1,2})",
    "%p": r"(?P<half>[AaPp][Mm])",
    "%M": r"(?P<minute>[0-9]{1,2})",
    "%S": r"(?P<second>[0-9]{1,2})",
    "%f": r"(?P<fraction>[0-9]{1,6})",
    "%z": r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)",
}
YEARS = {"%Y", "%y"}
MONTHS = {"%m", "%b"}
HOURS = {"%H", "%I"}
OF_DATES = YEARS | MONTHS | {"%d"}
MONTH_NAMES = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
# Years of two digits from here on are of the last century, as in Python and POSIX.
LAST_CENTURY = 69


@dataclass(frozen=True)
class NumberFormat:
    """Which sign stands before the fraction, and which between groups of three digits, if any."""

    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in DECIMAL_MARKS:
            raise InputError(f"decimal must be '.' or ',', got {shown(self.decimal)}")
        if self.thousands not in THOUSANDS_MARKS:
            raise InputError(
                "thousands must be empty or one of , . ' _ and a blank, got "
                f"{shown(self.thousands)}"
            )
        if self.decimal == self.thousands:
            raise InputError(
                f"decimal and thousands must differ, got {shown(self.decimal)} for both"
            )

    @property
    def usual(self) -> bool:
        """Whether the grammar reads it as it is."""
        return self == NumberFormat()

    @cached_property
    def pattern(self) -> str:
        """The numbers that are written so, for Python's patterns and DuckDB's alike."""
        point = f"[{self.decimal}]"
        whole = "[0-9]+"
        if self.thousands:
            whole = f"(?:[0-9]{{1,3}}(?:[{self.thousands}][0-9]{{3}})+|[0-9]+)"
        digits = f"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)"
        return f"[+-]?{digits}(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"

    def plain(self, text: str) -> str:
        """A number as the grammar writes it; empty if the text is not written in this way."""
        if re.fullmatch(self.pattern, text) is None:
            return ""
        return text.replace(self.thousands, "").replace(self.decimal, ".")


@dataclass(frozen=True)
class MomentFormat:
    """A pattern of dates or timestamps, such as `%d.%m.%Y`.

    >>> MomentFormat("%d.%m.%Y %H:%M", "timestamp_format").plain("3.2.2024 17:05")
    '2024-02-03T17:05:00'
    """

    written: str
    what: str

    def __post_init__(self) -> None:
        if not isinstance(self.written, str):
            raise InputError(f"{self.what} must be a pattern, got {shown(self.written)}")
        for field in self.fields:
            if field not in FIELDS and field != "%%":
                raise InputError(
                    f"{self.what} knows {' '.join(FIELDS)}, got {shown(field)} in "
                    f"{shown(self.written)}"
                )
        if problem := self._problem():
            raise InputError(f"{self.what} {problem}, got {shown(self.written)}")

    @property
    def fields(self) -> list[str]:
        """The fields in their order."""
        return re.findall(r"%.?", self.written, re.DOTALL)

    def _problem(self) -> str | None:
        fields = [field for field in self.fields if field != "%%"]
        found = set(fields)
        if len(fields) > len(found) or any(
            len(found & each) > 1 for each in (YEARS, MONTHS, HOURS)
        ):
            return "must tell each part once"
        if not (found & YEARS and found & MONTHS and "%d" in found):
            return "must tell year, month and day, such as '%d.%m.%Y'"
        if self.what == "date_format" and found - OF_DATES:
            return "is for dates, which have no time of day"
        return _time_problem(found - OF_DATES)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = re.split(r"(%.)", self.written, flags=re.DOTALL)
        known = {**FIELDS, "%%": "%"}
        return re.compile("".join(known.get(part) or re.escape(part) for part in parts))

    def plain(self, text: str) -> str:
        """A moment as the grammar writes it, in ISO's form; empty if it does not fit the
        pattern.
        """
        found = self._pattern.fullmatch(text)
        if found is None:
            return ""
        parts = found.groupdict()
        day = f"{_year(parts)}-{_month(parts)}-{parts['day']:0>2}"
        hour = _hour(parts)
        if hour is None:
            return day
        minute = parts.get("minute") or "0"
        second = parts.get("second") or "0"
        time = f"{hour:0>2}:{minute:0>2}:{second:0>2}"
        fraction = parts.get("fraction")
        if fraction:
            time += f".{fraction}"
        return f"{day}T{time}{parts.get('zone') or ''}"


def _time_problem(fields: set[str]) -> str | None:
    """What is wrong with the fields of a time of day."""
    if fields and not fields & HOURS:
        return "must tell the hour, %H or %I, beside other parts of a time"
    if ("%I" in fields) != ("%p" in fields):
        return "must have %I and %p together, or %H"
    if ("%f" in fields and "%S" not in fields) or ("%S" in fields and "%M" not in fields):
        return "must tell minutes before seconds, and seconds before fractions"
    return None


def _year(parts: dict[str, str | None]) -> str:
    if year := parts.get("year"):
        return year
    short = str(parts["short_year"])
    century = "19" if int(short) >= LAST_CENTURY else "20"
    return century + short


def _month(parts: dict[str, str | None]) -> str:
    """The number of a month; one that there is not where the name is not one."""
    if month := parts.get("month"):
        return f"{month:0>2}"
    name = str(parts["month_name"]).lower()
    number = 0
    if name in MONTH_NAMES:
        number = MONTH_NAMES.index(name) + 1
    return f"{number:02}"


def _hour(parts: dict[str, str | None]) -> str | None:
    """The hour of the day; None where the pattern tells none."""
    half_hour = parts.get("half_hour")
    if half_hour is None:
        return parts.get("hour")
    hour = int(half_hour)
    if not 1 <= hour <= 12:
        # There is no such hour, and the grammar will say so.
        return "99"
    afternoon = 12 if str(parts["half"]).lower() == "pm" else 0
    return str(hour % 12 + afternoon)


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written. Nothing of it is guessed from the file.

    Without a delimiter it is the tab for files whose name ends in `.tsv`, else the comma.
    """

    delimiter: str | None = None
    quote: str = '"'
    header: bool = True
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    date_format: str | None = None
    timestamp_format: str | None = None
    line_breaks: bool = False

    def __post_init__(self) -> None:
        if self.delimiter == WRITTEN_TAB:
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and not _is_mark(self.delimiter):
            raise InputError(f"delimiter must be one ASCII character, got {shown(self.delimiter)}")
        if self.quote != "" and not _is_mark(self.quote):
            raise InputError(f"quote must be one ASCII character or empty, got {shown(self.quote)}")
        if self.delimiter == self.quote or (self.delimiter is None and self.quote == ","):
            raise InputError(f"delimiter and quote must differ, got {shown(self.quote)} for both")
        object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if self.line_breaks:
            raise InputError(NO_LINE_BREAKS)
        # Each checks itself.
        _ = self.numbers, self.dates, self.timestamps

    def separator(self, path: str) -> str:
        """What separates the cells of a file."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if path.lower().endswith(TAB_ENDINGS) else ","

    @property
    def formats(self) -> list[str]:
        """What is declared of the way in which cells are written."""
        named = ("encoding", "decimal", "thousands", "date_format", "timestamp_format")
        # The defaults of the fields.
        usual = type(self)
        return [name for name in named if getattr(self, name) != getattr(usual, name)]

    @property
    def numbers(self) -> NumberFormat:
        """How numbers are written."""
        return NumberFormat(self.decimal, self.thousands)

    @property
    def dates(self) -> MomentFormat | None:
        """How dates are written; None for ISO's form."""
        if self.date_format is None:
            return None
        return MomentFormat(self.date_format, "date_format")

    @property
    def timestamps(self) -> MomentFormat | None:
        """How timestamps are written; None for ISO's form."""
        if self.timestamp_format is None:
            return None
        return MomentFormat(self.timestamp_format, "timestamp_format")


def _known_encoding(name: object) -> str:
    """The name that an encoding has here, whatever else it is called, such as ISO-8859-1."""
    if isinstance(name, str):
        with suppress(LookupError, ValueError):
            found = codecs.lookup(name).name
            for known in ENCODINGS:
                if codecs.lookup(known).name == found:
                    return known
    raise InputError(f"encoding must be one of {', '.join(ENCODINGS)}, got {shown(name)}")


def _is_mark(mark: object) -> bool:
    if not isinstance(mark, str) or len(mark) != 1:
        return False
    return mark.isascii() and mark not in ("\r", "\n")
