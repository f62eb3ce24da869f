"""The exact attack: no chance, no estimate. On every small table and every neighbour of it the
chances of all outputs are computed, and the largest log ratio is compared with epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.exact_additive import AdditiveCase, additive_statistics, largest_loss
from postri.audit.exact_chances import BITS
from postri.audit.exact_quantiles import QuantileCase, measure
from postri.audit.tiny_tables import all_tables, neighbours, plain_grid
from postri.domain import Domain
from postri.mechanisms.noisy_max import Noise
from postri.privacy import AddOrRemoveRows, ProtectedChange, ReplaceRows

EPSILONS = (Fraction(1, 2), Fraction(2))
CHANGES: tuple[ProtectedChange, ...] = (AddOrRemoveRows(1), ReplaceRows(1))
# A quantile below the middle and the middle itself; at full size one that is far up too.
PS = (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10))
NOISES: tuple[Noise, ...] = ("exponential", "gumbel")
DOMAINS = (Domain(-1, 2), Domain(10, 12))


def additive_cases(size: Size) -> Iterator[tuple[str, AdditiveCase]]:
    """Each statistic that adds noise, of one group and of two, with its name."""
    domains = DOMAINS[: 1 + size.full]
    statistics = [
        (form, statistic, domain)
        for domain in domains
        for form, statistic in additive_statistics(domain)
    ]
    options = product(statistics, CHANGES, EPSILONS, (False, True))
    for (form, statistic, domain), protect, epsilon, gaussian in options:
        name = form.name
        if statistic.column is not None:
            name = f"{form.name}(x)"
        yield name, AdditiveCase(statistic, protect, epsilon, gaussian, domain)
        if size.full:
            case = AdditiveCase(statistic, protect, epsilon, gaussian, domain, ("a", "b"))
            yield name, case


def quantile_cases(size: Size) -> Iterator[QuantileCase]:
    """Quantiles by the default method and by its other noise."""
    points, rows = 3, 2
    if size.full:
        points, rows = 5, 3
    for p, protect, noise, epsilon in product(PS[: 2 + size.full], CHANGES, NOISES, EPSILONS):
        case = QuantileCase(p, protect, noise, epsilon, plain_grid(points), rows)
        yield case
        if noise == NOISES[0]:
            # Scores are the same for both noises.
            yield replace(case, covers="population")


def attempt(size: Size, notes: AttackNotes) -> None:
    """All cases."""
    pairs = _try_additive(size, notes)
    pairs += _try_quantiles(size, notes)
    notes.figures["pairs of neighbours"] = f"{pairs:,}"


def _try_additive(size: Size, notes: AttackNotes) -> int:
    """Counts, sums, means and histograms; returns how many pairs there were."""
    largest: dict[str, Fraction] = {}
    total = 0
    for name, case in additive_cases(size):
        notes.tell(name)
        found, pairs = largest_loss(case)
        total += pairs
        share = found / case.budget
        largest[name] = max(largest.get(name, Fraction(0)), share)
        if share > 1:
            budget = "rho" if case.gaussian else "epsilon"
            notes.findings.append(
                f"{name}, {case.protect}, {budget} {case.budget}: one person moves it by "
                f"{float(found):.4g}"
            )
    for name, share in largest.items():
        notes.figures[f"{name}: largest loss"] = f"{float(share):.4f} of the budget"
    return total


def _try_quantiles(size: Size, notes: AttackNotes) -> int:
    """Quantiles, by the chances of every value and interval; returns how many pairs there were."""
    largest = 0.0
    total = 0
    for case in quantile_cases(size):
        notes.tell(f"quantile {case}")
        found = measure(case)
        total += len(neighbours(all_tables(case.grid, case.most_rows), case.protect))
        largest = max(largest, found.joint / (1 << BITS) / float(case.epsilon))
        if not found.private(case):
            notes.findings.append(f"quantile {case}: {found.told(case)}")
        if not found.covers():
            notes.findings.append(f"quantile {case} misses too often: {found.told(case)}")
    notes.figures["quantile: largest loss"] = f"{largest:.4f} of the budget"
    return total


ATTACK = Attack(
    name="exact",
    tried=(
        "the exact chances of every output on all small tables and their neighbours, for every "
        "statistic, noise and protected change, at epsilon 1/2 and 2"
    ),
    attempt=attempt,
)
