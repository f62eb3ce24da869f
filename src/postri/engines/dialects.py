"""What databases write differently: names, literals, whole-number arithmetic, and how a cell of each declared type becomes raw.

A raw expression fails on no cell: cells are clamped before they are converted. It is null where the cell is null.
"""

from __future__ import annotations

import re

from postri.columns import BOOLEAN, DATE, NO_ORDER, decimal_type, float_type, integer_type, timestamp_type
from postri.engines.scans import Cells
from postri.errors import InputError

MOST_DIGITS = 18
FURTHEST = 2**63 - 1
DAYS = ("DATE '0001-01-01'", "DATE '9999-12-31'")
EPOCH = "DATE '1970-01-01'"


class DuckDialect:
    """DuckDB."""

    BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}  # noqa: RUF012
    DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        return '"' + identifier.replace('"', '""') + '"'

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"'{number!r}'::DOUBLE"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""
        return f"({dividend} // {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above, in double precision."""
        return f"floor({expression})"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits."""
        return f"CAST({expression} AS {'UBIGINT' if unsigned else 'BIGINT'})"

    def is_nan(self, expression: str) -> str:
        """Whether a number of double precision is none."""
        return f"isnan({expression})"

    def cells(self, column: str, declared: str) -> Cells:
        """How a column of this declared type is read."""
        cell, bare = self.name(column), declared.removeprefix("U")
        if bare in self.BITS:
            raw = cell if declared == "UBIGINT" else f"CAST({cell} AS BIGINT)"
            return Cells(integer_type(self.BITS[bare], signed=bare == declared), raw)
        if declared == "BOOLEAN":
            return Cells(BOOLEAN, f"CAST({cell} AS BIGINT)")
        if declared in ("FLOAT", "DOUBLE"):
            return Cells(float_type(32 if declared == "FLOAT" else 64), f"CAST({cell} AS DOUBLE)")
        if declared == "DATE":
            return Cells(DATE, f"date_diff('day', {EPOCH}, {_between(cell, *DAYS)})")
        if declared.startswith("TIMESTAMP"):
            return self._timestamp(declared, cell)
        if found := self.DECIMAL.fullmatch(declared):
            digits, scale = _digits(declared, int(found[1]), int(found[2]))
            # With 38 digits to compute with, no product of two numbers of 18 digits overflows.
            return Cells(
                decimal_type(digits, scale), f"CAST(CAST({cell} AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL(38,0)) AS BIGINT)"
            )
        raise _no_order(column, declared)

    def _timestamp(self, declared: str, cell: str) -> Cells:
        """Microseconds (nanoseconds where declared so). An infinity lies beyond all others."""
        unit, reader = (10**9, "epoch_ns") if declared == "TIMESTAMP_NS" else (10**6, "epoch_us")
        zoned = declared == "TIMESTAMP WITH TIME ZONE"
        middle = f"{declared} '2000-01-01 00:00:00{'+00' if zoned else ''}'"
        beyond = f"CASE WHEN {cell} > {middle} THEN {FURTHEST} WHEN {cell} < {middle} THEN {-FURTHEST} END"
        return Cells(timestamp_type(declared, unit, zoned=zoned), f"coalesce(TRY({reader}({cell})), {beyond})")


def _between(cell: str, low: str, high: str) -> str:
    """The cell, clamped. Unlike `least` and `greatest`, this leaves a null alone."""
    return f"CASE WHEN {cell} > {high} THEN {high} WHEN {cell} < {low} THEN {low} ELSE {cell} END"


def _digits(declared: str, digits: int, scale: int) -> tuple[int, int]:
    if digits > MOST_DIGITS:
        raise InputError(f"the column has the declared type {declared}; cast it to a decimal of at most {MOST_DIGITS} digits")
    return digits, scale


def _no_order(column: str, declared: str) -> InputError:
    return InputError(f"the column {column!r} has the declared type {declared}, {NO_ORDER}")
