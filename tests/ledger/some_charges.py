"""Charges and limits that the tests of the ledger reserve with."""

from __future__ import annotations

from fractions import Fraction
from hashlib import sha256

from postri.ledger import Charge, Cost, Limits, Pure, bounded_range

ENOUGH = Limits(Fraction(1_000), Pure())


def key(name: object) -> str:
    return sha256(str(name).encode()).hexdigest()


def charge(
    name: object = "median of balance",
    epsilon: str = "1/10",
    *,
    dataset: str = "bank",
    version: str = "1",
    analyst: str = "ann",
    cost: Cost | None = None,
) -> Charge:
    return Charge(
        dataset, version, analyst, key(name), str(name), cost or bounded_range(Fraction(epsilon))
    )


def limits(budget: object = 5, **others: object) -> Limits:
    return Limits(Fraction(budget), **others)
