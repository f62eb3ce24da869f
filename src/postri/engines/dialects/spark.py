"""How Spark writes. Its queries are format strings, in which `{source}` stands for the data frame: a brace in a name is doubled."""

from __future__ import annotations

import re

from postri.columns import BOOLEAN, DATE, decimal_type, float_type, integer_type, timestamp_type
from postri.engines.dialects.common import between, check_digits, no_order
from postri.engines.scans import Cells
from postri.errors import InputError

# Stands for the declared type of columns whose names Spark does not tell apart.
AMBIGUOUS = "ambiguous"
LOCAL_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
LOCAL_TIMES = ("TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'")


class SparkDialect:
    """Spark's SQL, with or without its ANSI mode."""

    BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # noqa: RUF012
    DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
    VARIABLE = re.compile(r"\$\{[^}$ ]+\}")

    def name(self, identifier: str) -> str:
        """A name, quoted."""
        if self.VARIABLE.search(identifier):
            raise InputError(f"the column {identifier!r} has a name in which Spark replaces a variable; rename it")
        return "`" + identifier.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"

    def double(self, number: float) -> str:
        """A number as a literal of double precision."""
        return f"{float(number)!r}D"

    def divided(self, dividend: str, divisor: int) -> str:
        """The whole part of a quotient of whole numbers that are not negative."""
        return f"({dividend} DIV {divisor})"

    def floored(self, expression: str) -> str:
        """The largest whole number that is not above. Spark's own `floor` is one of 64 bits and fails beyond them; `rint` never fails."""
        return f"(rint({expression}) - CASE WHEN rint({expression}) > {expression} THEN 1D ELSE 0D END)"

    def integer(self, expression: str, *, unsigned: bool) -> str:
        """An expression as a whole number of 64 bits, for which Spark has no type without a sign."""
        return f"CAST({expression} AS {'DECIMAL(20,0)' if unsigned else 'BIGINT'})"

    def is_number(self, expression: str) -> str:
        """Neither null nor NaN, which to Spark is larger than all numbers."""
        return f"({expression} IS NOT NULL AND NOT isnan({expression}))"

    def count_of(self, condition: str) -> str:
        """The number of rows on which a condition holds."""
        return f"count_if({condition})"

    def cells(self, column: str, declared: str) -> Cells:
        """How a column of this declared type is read."""
        if declared == AMBIGUOUS:
            raise InputError(f"the data frame has more than one column that Spark takes for {column!r}; rename them")
        cell = self.name(column)
        if declared in self.BITS or declared == "boolean":
            return Cells(BOOLEAN if declared == "boolean" else integer_type(self.BITS[declared]), f"CAST({cell} AS BIGINT)")
        if declared in ("float", "double"):
            return Cells(float_type(32 if declared == "float" else 64), f"CAST({cell} AS DOUBLE)")
        if declared == "date":
            # This one and `unix_micros` hand over the number that Spark stores: they fail on none, however far off.
            return Cells(DATE, f"CAST(unix_date({cell}) AS BIGINT)")
        if declared in ("timestamp", "timestamp_ntz"):
            zoned = declared == "timestamp"
            return Cells(timestamp_type(declared, 10**6, zoned=zoned), f"unix_micros({cell})" if zoned else _local_micros(cell))
        if found := self.DECIMAL.fullmatch(declared):
            digits, scale = check_digits(declared, int(found[1]), int(found[2]))
            # The product has at most 38 digits, which no cell exceeds.
            return Cells(decimal_type(digits, scale), f"CAST({cell} * CAST({10**scale} AS DECIMAL({scale + 1},0)) AS BIGINT)")
        raise no_order(column, declared)


def _local_micros(cell: str) -> str:
    """Microseconds of a timestamp without a zone. A difference of two such ones, unlike a conversion, looks at no session's time zone."""
    since = f"({between(cell, *LOCAL_TIMES)} - {LOCAL_EPOCH})"
    return f"CAST(CAST(CAST({since} AS INTERVAL SECOND) AS DECIMAL(20,6)) * CAST(1000000 AS DECIMAL(7,0)) AS BIGINT)"
