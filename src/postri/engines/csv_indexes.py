"""The grid indexes of CSV cells, computed inside DuckDB where a cell has one of the usual forms.

Numbers of up to 18 digits are whole multiples of 1 or of 10^-6, 10^-12 or 10^-16, and days are days: from there on whole-number arithmetic
is exact. A cell that is a number in some other form (an exponent, more digits) is *rare*: only the grammar can tell its index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from postri.columns import BOOLEAN
from postri.engines.base import Bracket
from postri.engines.dialects.duckdb import DuckDialect
from postri.engines.keys import keys_of
from postri.engines.reading import Reading
from postri.engines.rows import KeyColumn, Selection
from postri.grid import Grid

DIGITS, SCALES, RARE = 18, (6, 12, 16), -1
NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
# The table that cells become, and its two groups: those with an index, and the rare ones.
COLUMNS = {"index": "BIGINT", "rare": "BOOLEAN"}
USUAL_AND_RARE = Selection(keys=(KeyColumn("rare", BOOLEAN, (0, 1)),))


@dataclass(frozen=True)
class Form:
    """A usual form of cells: the pattern that they match, the whole number that they mean, and of which unit."""

    pattern: str
    number: str
    unit: Fraction


def indexes_of(cells: str, grid: Grid, *, whole: bool) -> str | None:
    """A relation of indexes from one of texts; None on a grid that suits no form. `whole` reads whole numbers only: others are dropped."""
    forms = [(form, index) for form in _forms(grid, whole=whole) if (index := _index(form, grid))]
    if not forms:
        return None
    kinds = [f"WHEN regexp_full_match(cell, '{form.pattern}') THEN {i}" for i, (form, _) in enumerate(forms)]
    if grid.kind == "number":
        kinds.append(f"WHEN regexp_full_match(cell, '{NUMBER}') THEN {RARE}")
    numbers = " ".join(f"WHEN {i} THEN {form.number}" for i, (form, _) in enumerate(forms))
    indexes = " ".join(f"WHEN {i} THEN {index}" for i, (_, index) in enumerate(forms))
    named = f"SELECT cell, CASE {' '.join(kinds)} END AS kind FROM ({cells}) AS texts"
    numbered = f"SELECT kind, CASE kind {numbers} END AS raw FROM ({named}) AS named"
    indexed = f'SELECT CASE kind {indexes} WHEN {RARE} THEN 0 END AS "index", kind = {RARE} AS rare FROM ({numbered}) AS numbered'
    return f'(SELECT "index", rare FROM ({indexed}) AS indexed WHERE "index" IS NOT NULL)'


def _forms(grid: Grid, *, whole: bool) -> Iterator[Form]:
    if grid.kind == "date":
        # DuckDB knows a year before the first.
        yield Form(DAY, "CASE WHEN cell >= '0001' THEN date_diff('day', DATE '1970-01-01', TRY_CAST(cell AS DATE)) END", Fraction(1))
        return
    yield Form(f"[+-]?[0-9]{{1,{DIGITS}}}", "TRY_CAST(cell AS BIGINT)", Fraction(1))
    for scale in SCALES:
        scaled = f"CAST(TRY_CAST(cell AS DECIMAL({DIGITS},{scale})) AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL(38,0))"
        number, unit = f"TRY_CAST({scaled} AS BIGINT)", Fraction(1, 10**scale)
        if whole:
            number, unit = f"CASE WHEN {number} % {10**scale} = 0 THEN {number} // {10**scale} END", Fraction(1)
        yield Form(f"[+-]?[0-9]{{1,{DIGITS - scale}}}[.][0-9]{{1,{scale}}}", number, unit)


def _index(form: Form, grid: Grid) -> str | None:
    """The index of a raw number of this form; None if whole numbers of 64 bits cannot tell it on this grid."""
    keys = keys_of(Reading(grid, form.unit), Bracket(grid.first, grid.last), DuckDialect())
    return None if keys.shift is None else f"CAST(CAST({keys.key} AS HUGEINT) + {keys.shift} AS BIGINT)"
