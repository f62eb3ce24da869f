"""The rows of the comparison: what each is called and what it asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compare.tables import TABLES
from postri.errors import InputError

# The usual one first: a slow library is asked at no other.
EPSILONS = (1.0, 0.1, 4.0)
CONFIDENCE = 0.95
SINGLE = (0.25, 0.75, 0.9, 0.95, 0.99)
MANY = (9, 19, 99)
PLAIN = ("count", "sum", "mean", "std")
SIZES = {"1e5": 10**5, "1e6": 10**6, "1e7": 10**7, "1e8": 10**8}


@dataclass(frozen=True)
class Row:
    """One line of the comparison, which can be run by itself.

    `kind` says what is looked at: the error and interval of a statistic, what odd inputs do, time,
    or a part with a program of its own.
    """

    name: str
    kind: str
    table: str = ""
    statistic: str = ""
    ps: tuple[float, ...] = ()
    size: int = 0

    @property
    def label(self) -> str:
        """What is asked, without the table."""
        return self.name.removeprefix(f"{self.table}-")


def table_rows(table: str) -> list[Row]:
    """All statistics of one table."""
    found = [Row(f"{table}-median", "error", table, "median", (0.5,))]
    found += [Row(f"{table}-quantile-{p}", "error", table, "quantile", (p,)) for p in SINGLE]
    for number in MANY:
        ps = tuple(round(k / (number + 1), 2) for k in range(1, number + 1))
        found.append(Row(f"{table}-quantiles-{number}", "error", table, "quantiles", ps))
    found += [Row(f"{table}-{name}", "error", table, name) for name in PLAIN]
    return found


def all_rows() -> list[Row]:
    """Every row, in the order of the report."""
    found = [row for table in TABLES for row in table_rows(table)]
    found.append(Row("odd-inputs", "odd", statistic="median", ps=(0.5,)))
    found += [
        Row(f"time-{name}", "time", statistic="median", ps=(0.5,), size=size)
        for name, size in SIZES.items()
    ]
    found += [
        Row("time-parquet", "time", statistic="parquet", size=10**7),
        Row("time-grouped", "time", statistic="grouped", size=10**7),
        Row("unknown-keys", "unknown-keys"),
    ]
    return found


def chosen(only: str | None, rows: Sequence[Row]) -> list[Row]:
    """The rows that are named: whole names, a table, a statistic or `time`, with commas between.

    >>> [row.name for row in chosen("adult-median, time-1e6", all_rows())]
    ['adult-median', 'time-1e6']
    """
    if not only:
        return list(rows)
    found: list[Row] = []
    for word in (part.strip() for part in only.split(",")):
        matching = [row for row in rows if word in {row.name, row.table, row.kind, row.label}]
        if not matching:
            raise InputError(
                f"there is no row {word!r}; rows are named like adult-median, lognormal-mean, "
                "odd-inputs, time-1e6, or a whole table, statistic or kind: adult, median, time"
            )
        found += [row for row in matching if row not in found]
    return found
