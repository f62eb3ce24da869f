"""The parts of facts: amounts and texts as entries keep them, and whom a fact charges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from postri.cost import Cost
from postri.errors import LedgerError
from postri.privacy import ProtectedChange, protect_fields, read_protect

# What stands for the epsilon of draws that have none. A version that does not know it refuses.
NO_EPSILON = "none"

Fields = dict[str, Any]


@dataclass(frozen=True)
class Share:
    """A part in an entry: it counts for this dataset, and for this analyst if there is one, and
    charges them this cost.
    """

    dataset: str
    analyst: str | None
    cost: Cost


def rational(text: str) -> Fraction:
    """The number that was stored; LedgerError if it is not one of ours.

    >>> rational("1/3")
    Fraction(1, 3)
    """
    try:
        numerator, _, denominator = text.partition("/")
        if text.isascii() and numerator.isdigit() and (denominator or "1").isdigit():
            return Fraction(int(numerator), int(denominator or 1))
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        pass  # Whatever else stands there, the ledger did not write it.
    raise LedgerError(
        "the ledger holds an amount that is no number: verify it, and put back a backup"
    )


def epsilon_text(epsilon: Fraction | None) -> str:
    """An epsilon as it is stored: Gaussian noise has none."""
    if epsilon is None:
        return NO_EPSILON
    return str(epsilon)


def read_epsilon(text: str) -> Fraction | None:
    """The epsilon that was stored."""
    if text == NO_EPSILON:
        return None
    return rational(text)


def text_of(fields: Fields, name: str) -> str:
    text = fields[name]
    if not isinstance(text, str):
        raise TypeError(f"{name} is no text")
    return text


def texts_of(fields: Fields, name: str) -> tuple[str, ...]:
    texts = fields[name]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{name} are no texts")
    return tuple(texts)


def fields_of_protect(protect: ProtectedChange | None) -> dict[str, str | int] | None:
    if protect is None:
        return None
    return protect_fields(protect)


def protect_of(fields: Fields) -> ProtectedChange | None:
    if fields["protect"] is None:
        return None
    return read_protect(fields["protect"])


def cost_fields(cost: Cost) -> dict[str, str]:
    """A cost as entries keep it; a delta only where there is one, for entries of before have
    none.
    """
    fields = {"epsilon": epsilon_text(cost.epsilon), "rho": str(cost.rho)}
    if cost.delta:
        fields["delta"] = str(cost.delta)
    return fields


def read_cost(fields: Fields) -> Cost:
    delta = rational(fields.get("delta", "0"))
    return Cost(read_epsilon(fields["epsilon"]), rational(fields["rho"]), delta)
