"""How DuckDB writes."""

from __future__ import annotations

import re

from postri.columns import BOOLEAN, DATE, decimal_type, float_type, integer_type, timestamp_type
from postri.engines.dialects.common import DAYS, EPOCH, FURTHEST, between, check_digits, no_order
from postri.engines.scans import Cells


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

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN. Where a Parquet footer shows no NaN, which it never does, `NOT isnan` would be optimized away."""
        return f"(isfinite({expression}) OR isinf({expression}))"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds: much faster than a filtered count."""
        return f"count_if({condition})"

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
            return Cells(DATE, f"date_diff('day', {EPOCH}, {between(cell, *DAYS)})")
        if declared.startswith("TIMESTAMP"):
            return self._timestamp(declared, cell)
        if found := self.DECIMAL.fullmatch(declared):
            digits, scale = check_digits(declared, int(found[1]), int(found[2]))
            # With 38 digits to compute with, no product of two numbers of 18 digits overflows.
            return Cells(
                decimal_type(digits, scale), f"CAST(CAST({cell} AS DECIMAL(38,{scale})) * CAST({10**scale} AS DECIMAL(38,0)) AS BIGINT)"
            )
        raise no_order(column, declared)

    def _timestamp(self, declared: str, cell: str) -> Cells:
        """Microseconds (nanoseconds where declared so). An infinity lies beyond all others."""
        unit, reader = (10**9, "epoch_ns") if declared == "TIMESTAMP_NS" else (10**6, "epoch_us")
        zoned = declared == "TIMESTAMP WITH TIME ZONE"
        middle = f"{declared} '2000-01-01 00:00:00{'+00' if zoned else ''}'"
        beyond = f"CASE WHEN {cell} > {middle} THEN {FURTHEST} WHEN {cell} < {middle} THEN {-FURTHEST} END"
        return Cells(timestamp_type(declared, unit, zoned=zoned), f"coalesce(TRY({reader}({cell})), {beyond})")
