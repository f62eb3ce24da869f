"""What can be asked of a column, for `ask`: as functions, or as text such as "median(fare)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from postri.domain import Domain
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.privacy import check_share

CALL = re.compile(r"\s*(?P<name>\w+)\s*\(\s*(?P<inside>.*?)\s*\)\s*", re.DOTALL)
FORMS = ("median(x)", "quantile(x, 0.9)")


@dataclass(frozen=True)
class Quantile:
    """A quantile of a column, with the domain that it is asked on."""

    column: str
    p: Fraction
    domain: Domain | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise InputError(f"name the column of an aggregate, such as median('fare'), got {shown(self.column)}")
        if self.domain is not None and not isinstance(self.domain, Domain):
            raise InputError(f"domain must be a Domain, such as Domain(0, 1000, step='0.01'), got {shown(self.domain)}")


def median(column: str, *, domain: Domain | None = None) -> Quantile:
    """The median of a column.

    >>> median("fare").p
    Fraction(1, 2)
    """
    return Quantile(column, Fraction(1, 2), domain)


def quantile(column: str, p: Number, *, domain: Domain | None = None) -> Quantile:
    """The p-quantile of a column: `quantile("fare", 0.9)` is the 90th percentile."""
    return Quantile(column, check_share(p, "p"), domain)


def read(text: object) -> Quantile:
    """An aggregate, or the text of one.

    >>> read("quantile(fare, 0.9)") == quantile("fare", 0.9)
    True
    """
    if isinstance(text, Quantile):
        return text
    found = CALL.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InputError(f"an aggregate must be one of postri.agg, or a text such as {' or '.join(map(repr, FORMS))}, got {shown(text)}")
    name, inside = found["name"].lower(), found["inside"]
    if name == "median" and inside:
        return median(_column(inside))
    if name == "quantile" and "," in inside:
        column, _, p = inside.rpartition(",")
        return quantile(_column(column.strip()), p.strip())
    if name in ("median", "quantile"):
        raise InputError(f"write {' or '.join(map(repr, FORMS))}, got {shown(text)}")
    raise InputError(f"there is no aggregate {found['name']!r}; {nearest(name, ('median', 'quantile'))}")


def _column(text: str) -> str:
    """A name as it is, or in double quotes."""
    quoted = re.fullmatch(r'"((?:[^"]|"")+)"', text)
    return quoted[1].replace('""', '"') if quoted else text
