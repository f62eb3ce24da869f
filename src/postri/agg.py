"""What can be asked of a table, for `ask`: as functions, or as text such as "median(fare)"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from postri.domain import Domain
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.privacy import check_share

CALL = re.compile(r"\s*(?P<name>\w+)\s*\(\s*(?P<inside>.*?)\s*\)\s*", re.DOTALL)
FORMS = ("count()", "count(x)", "sum(x)", "mean(x)", "median(x)", "quantile(x, 0.9)")


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column, with the domain that it is asked on.

    A source of one column needs no name for it.
    """

    column: str | None
    p: Fraction
    domain: Domain | None = None


@dataclass(frozen=True)
class Count:
    """The number of rows; with a column, of those in which it has a cell that can be read."""

    column: str | None = None


@dataclass(frozen=True)
class Sum:
    """The sum of a column, clamped to its domain."""

    column: str | None
    domain: Domain | None = None


@dataclass(frozen=True)
class Mean:
    """The mean of a column, clamped to its domain."""

    column: str | None
    domain: Domain | None = None


Aggregate = Quantile | Count | Sum | Mean


def count(column: str | None = None) -> Count:
    """The number of rows, or of those in which a column has a cell that can be read.

    >>> count()
    Count(column=None)
    """
    return Count(None if column is None else _checked(column))


def sum(column: str, *, domain: Domain | None = None) -> Sum:
    """The sum of a column on a domain."""
    return Sum(_checked(column), check_domain(domain))


def mean(column: str, *, domain: Domain | None = None) -> Mean:
    """The mean of a column on a domain."""
    return Mean(_checked(column), check_domain(domain))


def median(column: str, *, domain: Domain | None = None) -> Quantile:
    """The median of a column.

    >>> median("fare").p
    Fraction(1, 2)
    """
    return Quantile(_checked(column), Fraction(1, 2), check_domain(domain))


def quantile(column: str, p: Number, *, domain: Domain | None = None) -> Quantile:
    """The p-quantile of a column: `quantile("fare", 0.9)` is the 90th percentile."""
    return Quantile(_checked(column), check_share(p, "p"), check_domain(domain))


OF_COLUMN: dict[str, Callable[[str], Aggregate]] = {"sum": sum, "mean": mean, "median": median}


def read(text: object) -> Aggregate:
    """An aggregate, or the text of one.

    >>> read("quantile(fare, 0.9)") == quantile("fare", 0.9)
    True
    """
    if isinstance(text, Aggregate):
        return text
    found = CALL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InputError(
            "an aggregate must be one of postri.agg, or a text such as "
            f"{' or '.join(map(repr, FORMS))}, got {shown(text)}"
        )
    name, inside = found["name"].lower(), found["inside"]
    if name == "count":
        return count(None if inside in ("", "*") else _column(inside))
    if name in OF_COLUMN and inside:
        return OF_COLUMN[name](_column(inside))
    if name == "quantile" and "," in inside:
        column, _, p = inside.rpartition(",")
        return quantile(_column(column.strip()), p.strip())
    if name in OF_COLUMN or name == "quantile":
        raise InputError(f"write {' or '.join(map(repr, FORMS))}, got {shown(text)}")
    raise InputError(
        f"there is no aggregate {found['name']!r}; "
        f"{nearest(name, ('count', 'quantile', *OF_COLUMN))}"
    )


def written(aggregate: Aggregate) -> str:
    """An aggregate as text that reads back as the same; its domain is not a part of it.

    >>> written(quantile("fare", 0.9)), written(count()), written(sum("a,b"))
    ('quantile("fare", 9/10)', 'count()', 'sum("a,b")')
    """
    column = "" if aggregate.column is None else '"' + aggregate.column.replace('"', '""') + '"'
    if isinstance(aggregate, Quantile):
        return (
            f"median({column})"
            if aggregate.p == Fraction(1, 2)
            else f"quantile({column}, {aggregate.p})"
        )
    return f"{type(aggregate).__name__.lower()}({column})"


def usual_name(text: str) -> str:
    """The name of an aggregate that has none: the words of its text.

    >>> usual_name("MEDIAN(balance)"), usual_name("COUNT(*)"), usual_name("quantile(fare, 0.9)")
    ('median_balance', 'count', 'quantile_fare_0.9')
    """
    return "_".join(re.findall(r"[\w.]+", text)).lower() or text


def check_domain(domain: object) -> Domain | None:
    """The domain, or InputError if it is something else."""
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(
            f"domain must be a Domain, such as Domain(0, 1000, step='0.01'), got {shown(domain)}"
        )
    return domain


def _checked(column: object) -> str:
    if not isinstance(column, str):
        raise InputError(
            f"name the column of an aggregate, such as median('fare'), got {shown(column)}"
        )
    return column


def _column(text: str) -> str:
    """A name as it is, or in double quotes."""
    quoted = re.fullmatch(r'"((?:[^"]|"")+)"', text)
    return quoted[1].replace('""', '"') if quoted else text
