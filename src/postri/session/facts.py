"""What is public of a dataset: all that an analyst may know of it before the first question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from postri.domain import Domain
from postri.engines.rows import Key
from postri.policy import ColumnPolicy, Dataset
from postri.privacy import ProtectedChange, protect_fields, read_protect

KEYS: Mapping[str, Callable[[Any], Key]] = {
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "decimal": Decimal,
}


@dataclass(frozen=True)
class ColumnFacts:
    """A column that may be asked about, with its domain and its public keys if it has them."""

    name: str
    type: str
    domain: Domain | None
    keys: tuple[Key, ...] | None

    def to_fields(self) -> dict[str, Any]:
        """As plain values."""
        ends = (
            (None, None, None)
            if self.domain is None
            else (self.domain.lower, self.domain.upper, str(self.domain.step))
        )
        keys = None if self.keys is None else list(self.keys)
        return {
            "name": self.name,
            "type": self.type,
            **dict(zip(("lower", "upper", "step"), ends, strict=True)),
            "keys": keys,
        }


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset as analysts know it. Where its data are is not a part of it."""

    name: str
    version: str
    rows: int | None
    budget: Fraction
    accountant: str
    delta: Fraction | None
    max_epsilon_per_question: Fraction | None
    protect: ProtectedChange
    columns: Mapping[str, ColumnFacts]

    def to_fields(self) -> dict[str, Any]:
        """As plain values: rationals as text."""
        rationals = {
            name: _text(getattr(self, name))
            for name in ("budget", "delta", "max_epsilon_per_question")
        }
        return {
            "name": self.name,
            "version": self.version,
            "rows": self.rows,
            "accountant": self.accountant,
            **rationals,
            "protects": str(self.protect),
            "protect": protect_fields(self.protect),
            "columns": [column.to_fields() for column in self.columns.values()],
        }


def facts_of(dataset: Dataset) -> DatasetFacts:
    """What is public of it."""
    return DatasetFacts(
        dataset.name,
        dataset.version,
        dataset.rows,
        dataset.budget,
        dataset.accountant,
        dataset.delta,
        dataset.max_epsilon_per_question,
        dataset.protect,
        {name: _column_facts(column) for name, column in dataset.columns.items()},
    )


def read_facts(fields: Mapping[str, Any]) -> DatasetFacts:
    """The facts that were written.

    ValueError, KeyError or TypeError if they are of another form.
    """
    columns = [_read_column(column) for column in fields["columns"]]
    return DatasetFacts(
        fields["name"],
        fields["version"],
        fields["rows"],
        Fraction(fields["budget"]),
        fields["accountant"],
        _rational(fields["delta"]),
        _rational(fields["max_epsilon_per_question"]),
        read_protect(fields["protect"]),
        {column.name: column for column in columns},
    )


def _column_facts(column: ColumnPolicy) -> ColumnFacts:
    return ColumnFacts(column.name, column.type, column.domain, column.keys)


def _read_column(fields: Mapping[str, Any]) -> ColumnFacts:
    domain = (
        None if fields["step"] is None else Domain(fields["lower"], fields["upper"], fields["step"])
    )
    read = KEYS.get(fields["type"])
    keys = (
        None
        if fields["keys"] is None
        else tuple(key if read is None else read(key) for key in fields["keys"])
    )
    return ColumnFacts(fields["name"], fields["type"], domain, keys)


def _text(number: Fraction | None) -> str | None:
    return None if number is None else str(number)


def _rational(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
