"""Domains of all kinds, and what every source must do on each of them."""

from __future__ import annotations

from fractions import Fraction

import postri
from postri import Domain

DOMAINS = [
    Domain(0, 10),
    Domain(-5, 5, step="0.25"),
    Domain("-0.3", "0.7", step="0.1"),
    Domain(-(2**63), 2**63 - 1),
    Domain(0, 2**64 - 1),
    Domain(-(10**300), 10**300, step=10**290),
    Domain(0, Fraction(1, 2**60), step=Fraction(1, 2**100)),
    Domain(10**18, 10**18 + 7),
]
TIMES = [
    Domain("2020-01-01", "2020-12-31"),
    Domain("0001-01-01", "9999-12-31"),
    Domain("2020-01-01T00:00:00", "2021-01-01T00:00:00"),
    Domain("2020-01-01T00:00:00", "2020-01-01T00:00:01", step="0.000001"),
    Domain("2020-01-01T00:00:00+00:00", "2021-01-01T00:00:00+00:00", step=86_400),
]


def answered(source: object, domain: Domain | None) -> None:
    """The median of a source, whatever its cells are: it must not raise, its value lies in its
    interval, and both can be written.
    """
    answer = postri.median(source, epsilon=1, domain=domain)
    assert answer.interval.low <= answer.value <= answer.interval.high
    assert answer.to_json()
