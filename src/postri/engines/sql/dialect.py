"""What databases write differently: names, literals, whole-number arithmetic, and how a cell of
each declared type becomes raw.

A raw expression fails on no cell: cells are clamped before they are converted. It is null where the
cell is null. Each database has a `dialect.py`; what they share is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import pairwise
from math import inf, nextafter
from typing import TYPE_CHECKING, Protocol

from postri.columns import ColumnType
from postri.engines.reading import Raw
from postri.errors import InputError
from postri.expressions.plan import ExpressionDialect, Moments

if TYPE_CHECKING:
    from postri.expressions.pattern import Pattern

# A decimal of more digits does not fit a whole number of 64 bits.
MOST_DIGITS = 18
FURTHEST = 2**63 - 1
# A sum of whole numbers of 64 bits comes back in two parts: this many bits below, the rest above.
UNIT_BITS = 48
UNIT = 1 << UNIT_BITS
# How many bytes a character may take.
MOST_BYTES = 4
# The ends of the calendar.
DAYS = ("DATE '0001-01-01'", "DATE '9999-12-31'")
EPOCH = "DATE '1970-01-01'"
EPOCH_DAY = date(1970, 1, 1).toordinal()


def filled(template: str, **parts: object) -> str:
    """A statement from its template, on one line.

    White space is taken out of the template alone: a part may be a text of the user's, in which
    every blank counts.
    """
    return _on_one_line(template).format(**parts)


@cache
def _on_one_line(template: str) -> str:
    line = " ".join(template.split())
    return re.sub(r"(?<=\() | (?=\))", "", line)


@dataclass(frozen=True)
class Cells:
    """How a column is read: its declared type, and the expression of its raw cells, which no cell
    makes fail. A null is dropped.

    Where `literal` writes a raw number as one of the column's own type, cells can be compared as
    they stand in the table, in the same order: only the few that matter become raw. `present` is
    then the condition on which the cell `{}` counts, and `own` the cell within the range of its
    type, where a source may hold one that is not. `moments` are timestamps as they stand in the
    table, where expressions may compare them so.
    """

    type: ColumnType
    raw: str
    literal: Callable[[Raw], str] | None = None
    present: str = "{} IS NOT NULL"
    own: str = ""
    moments: Moments | None = None


@dataclass(frozen=True)
class BucketedCells:
    """Cells of a relation with their groups, and where they are cut into buckets.

    The bucket of a cell is the number of the `cuts` up to it, which are ascending and distinct; a
    `literal` writes one. Where cells are not `grouped`, all are of group 0. They may be compared as
    `whole` numbers.
    """

    relation: str
    cell: str
    grouped: bool
    cuts: Sequence[Raw]
    literal: Callable[[Raw], str]
    whole: bool

    @property
    def firsts(self) -> list[str]:
        """The least cell of each bucket but the first."""
        return [self.literal(cut) for cut in self.cuts]

    @property
    def lasts(self) -> list[str]:
        """The largest cell of each bucket but the last."""
        return [self.literal(_before(cut)) for cut in self.cuts]

    def outside(self, start: int, end: int) -> BucketedCells:
        """Without the cells from one cut on that lie below the one before another."""
        first, last = self.literal(self.cuts[start]), self.literal(self.cuts[end - 1])
        relation = filled(OUTSIDE, relation=self.relation, cell=self.cell, first=first, last=last)
        return replace(self, relation=relation)

    @property
    def step(self) -> int | None:
        """The distance between any two cuts that follow each other; None where they differ, or
        cells are no whole numbers, or no such number has room for the whole distance.
        """
        if not self.whole or len(self.cuts) < 2:
            return None
        if self.cuts[-1] - self.cuts[0] > FURTHEST:
            return None
        steps = {after - before for before, after in pairwise(self.cuts)}
        if len(steps) > 1:
            return None
        return int(steps.pop())


def _before(cut: Raw) -> Raw:
    if isinstance(cut, int):
        return cut - 1
    return nextafter(cut, -inf)


OUTSIDE = """
    (
        SELECT *
        FROM {relation}
        WHERE {cell} < {first} OR {cell} >= {last}
    ) AS others
"""
# How many cells there are in each bucket.
BUCKET_COUNTS = """
    SELECT 0 AS grp, {told}, count(*) AS number
    FROM (
        SELECT {bucket} AS bucket
        FROM {relation}
    ) AS placed
    GROUP BY bucket
"""
BUCKET_COUNTS_OF_GROUPS = """
    SELECT grp, {told}, count(*) AS number
    FROM (
        SELECT grp, {bucket} AS bucket
        FROM {relation}
    ) AS placed
    GROUP BY grp, bucket
"""
EVEN_BUCKET = """
    CASE
        WHEN {cell} < {first} THEN 0
        WHEN {cell} >= {last} THEN {number}
        ELSE {quotient} + 1
    END
"""


class Dialect(ExpressionDialect, Protocol):
    """What a database writes in its own way."""

    def name(self, identifier: str) -> str:
        """A name, quoted."""

    def cells(self, column: str, declared: str, cell: str | None = None) -> Cells:
        """How a column of this type is read: by its name, or where `cell` stands for it."""

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above a number of double precision, in double
        precision.
        """

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""

    def is_number(self, expression: str) -> str:
        """Whether a number of double precision is one: neither null nor NaN.

        No statistics of the database may decide it.
        """

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""

    def total(self, whole: str) -> tuple[str, str]:
        """The sum of whole numbers of 64 bits over the rows, as two of 64 bits: in units of 2^48,
        and the rest.
        """

    def as_double(self, expression: str) -> str:
        """A whole number of 64 bits in double precision, the nearest one."""

    def listed_rows(self, columns: Mapping[str, Sequence[str]], name: str) -> str:
        """A relation of this name whose cells are the literals of each column.

        There may be thousands: planning must not suffer.
        """

    def numbered_places(self, firsts: Sequence[int], length: int) -> str | None:
        """A relation `places` of all whole numbers `spot` from each of these on, numbered one after
        the other by `place`; None if rows are not found faster by them than by divisions.
        """

    def buckets_raw(self, declared: ColumnType) -> bool:
        """Whether cells of this type are put into buckets as raw numbers, not as they stand in the
        table.
        """

    def bucket_counts(self, cells: BucketedCells) -> str:
        """A query for `grp`, `bucket` and `number`: how many cells each group has in each bucket.

        A bucket without cells may be left out.
        """

    def order_statistics(
        self, cell: str, shares: Sequence[float]
    ) -> tuple[dict[str, str], list[str]]:
        """Aggregates by name, which share one pass; in their terms, for each share the cell below
        which about that share of them lies.
        """

    def list_between(self, cell: str, low: str, last: str) -> str:
        """The cells from one to another, gathered."""

    def unnested(self, expression: str) -> str:
        """A row for each value of such a list."""

    def text_literal(self, text: str) -> str:
        """A text as a literal."""

    def sent_text(self, text: str) -> str:
        """A text as it leaves the database, which fails on none."""

    def short_text(self, text: str, most: int) -> str:
        """A text, null where it has more characters."""

    def text_of_integer(self, expression: str, shift: int = 0) -> str:
        """The decimal digits of a whole number of 64 bits plus `shift`."""

    def joined_text(self, parts: Sequence[str]) -> str:
        """Texts with colons between them."""

    def md5(self, expression: str) -> str:
        """The md5 of a text's UTF-8 bytes, as lower-case digits."""


def bucket_counts_by(bucket: str, cells: BucketedCells, told: str = "bucket") -> str:
    """How many cells each group has in each bucket, by an expression of its number; what is `told`
    may be another one, which follows from it.
    """
    template = BUCKET_COUNTS
    if cells.grouped:
        template = BUCKET_COUNTS_OF_GROUPS
    return filled(template, bucket=bucket, told=told, relation=cells.relation)


def even_bucket(cells: BucketedCells, step: int, dialect: Dialect) -> str:
    """The bucket of a cell where all but the first and the last are alike, by a division."""
    first = cells.literal(cells.cuts[0])
    bucket = filled(
        EVEN_BUCKET,
        cell=cells.cell,
        first=first,
        last=cells.literal(cells.cuts[-1]),
        number=len(cells.cuts),
        quotient=dialect.divided(f"({cells.cell} - {first})", step),
    )
    return dialect.integer(bucket, unsigned=False)


def between(cell: str, low: str, high: str) -> str:
    """The cell, clamped. Unlike `least` and `greatest`, this leaves a null alone."""
    return f"CASE WHEN {cell} > {high} THEN {high} WHEN {cell} < {low} THEN {low} ELSE {cell} END"


def short_text(text: str, number_of_bytes: str, characters: str, most: int) -> str:
    """A text, null where it has more characters, by the functions that count.

    Its bytes are counted first, at no cost: only what may be short enough is read.
    """
    few_bytes = f"{number_of_bytes}({text}) <= {MOST_BYTES * most}"
    return (
        f"CASE WHEN {few_bytes} THEN CASE WHEN {characters}({text}) <= {most} THEN {text} END END"
    )


def like(text: str, literal: str) -> str:
    """A comparison with a pattern that uses the escape character of all patterns."""
    from postri.expressions.pattern import ESCAPE

    return f"({text} LIKE {literal} ESCAPE '{ESCAPE}')"


def regular(pattern: Pattern, escaped: Callable[[str], str], start: str, end: str) -> str:
    """A pattern as a regular expression between the signs of a text's start and end.

    An automaton matches it in one pass, if no part after a `%` has gaps: then it has few states.
    """
    parts = [segment.regular(escaped) for segment in pattern.segments]
    return f"{start}{'.*'.join(parts)}{end}"


def by_code_points(text: str) -> str:
    """A text that stands for itself in a regular expression of RE2 or Java."""
    return "".join(rf"\x{{{ord(character):x}}}" for character in text)


def check_digits(declared: str, digits: int, scale: int) -> tuple[int, int]:
    if digits > MOST_DIGITS:
        raise InputError(
            f"the column has the declared type {declared}; cast it to a decimal of at most "
            f"{MOST_DIGITS} digits"
        )
    return digits, scale


def power(number: int, exponent: int) -> str:
    """A whole number times a power of ten, as an exact literal."""
    if exponent >= 0:
        return str(number * 10**exponent)
    digits = str(number).rjust(1 - exponent, "0")
    return f"{digits[:exponent]}.{digits[exponent:]}"


def decimal_text(raw: Raw, digits: int, scale: int) -> str:
    """A raw number of DECIMAL(digits, scale) as a decimal; one beyond its digits as the nearest
    within.
    """
    most = 10**digits - 1
    number = int(min(max(raw, -most), most))
    sign = "-" if number < 0 else ""
    return sign + power(abs(number), -scale)


def date_literal(raw: Raw) -> str:
    """A day by its number since 1970-01-01.

    What lies outside the calendar is as good as infinite, as cells are that do.
    """
    if not date.min.toordinal() <= raw + EPOCH_DAY <= date.max.toordinal():
        return "DATE 'infinity'" if raw > 0 else "DATE '-infinity'"
    return f"DATE '{date.fromordinal(int(raw) + EPOCH_DAY).isoformat()}'"


def qualified_name(table: str, schema: str) -> str:
    """The name of a table with its schema, by which two names of it can be told to be one.

    >>> qualified_name("Trips", "main"), qualified_name('city."main"."trips"', "main")
    ('main.trips', 'main.trips')
    """
    # A name in front of the schema's is that of the database, which the source names already.
    *before, bare = table.replace('"', "").lower().split(".")
    return f"{[schema, *before][-1]}.{bare}"
