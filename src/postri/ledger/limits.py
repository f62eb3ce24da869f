"""Whether the limits allow a question: pure functions of what was spent."""

from __future__ import annotations

from fractions import Fraction

from postri.cost import Cost
from postri.errors import BudgetExceeded, InputError
from postri.ledger.accountants import Accountant
from postri.ledger.store import Limits, Request

# Sums of fractions such as 1/3 + 1/7 + 1/11 + ... grow longer with every question; decimals never
# do.
LONGEST_DENOMINATOR = 1 << 1024


def check_limits(request: Request, limits: Limits, on_dataset: Cost, by_analyst: Cost) -> None:
    """BudgetExceeded if the question would pass a limit; names the limit."""
    cost, dataset = request.cost, repr(request.dataset)
    most, allowance = limits.per_question, limits.allowance
    if most is not None and cost.epsilon > most:
        raise BudgetExceeded(
            cost.epsilon,
            most,
            cost.epsilon - most,
            f"the most that one question may cost on {dataset}",
        )
    if allowance is not None:
        _check_total(
            cost,
            by_analyst,
            allowance,
            limits.accountant,
            f"the allowance of {request.analyst!r} on {dataset}",
        )
    _check_total(cost, on_dataset, limits.budget, limits.accountant, f"the budget of {dataset}")
    for spent in (on_dataset, by_analyst):
        _check_length(spent.epsilon, cost.epsilon)
        _check_length(spent.rho, cost.rho)


def _check_total(
    cost: Cost, spent: Cost, limit: Fraction, accountant: Accountant, name: str
) -> None:
    total = spent + cost
    if accountant.allows(total, limit):
        return
    before, after = accountant.epsilon(spent), accountant.epsilon(total)
    raise BudgetExceeded(after - before, limit - before, after - limit, name)


def _check_length(spent: Fraction, cost: Fraction) -> None:
    """InputError if the exact sum would be too long to keep: otherwise a few odd fractions could
    make the ledger slow for everybody.
    """
    if spent.denominator * cost.denominator <= LONGEST_DENOMINATOR:
        return
    rest = (spent + cost).denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > LONGEST_DENOMINATOR:
        raise InputError(
            "epsilon is a fraction that makes the exact sum of all spends too long: use a "
            "decimal, such as 0.1"
        )
