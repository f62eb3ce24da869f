"""What a ledger is asked to charge, and whether the limits allow it.

All here is public numbers and names: a `Charge` is what a question costs, `Limits` are what the
policy lets an analyst spend, `People` say whose budget that is, an `Attempt` is how a question
was put. What goes in is checked here, because entries are permanent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from math import ceil, isqrt

from postri.cost import Cost, check_amount, rho_of
from postri.errors import BudgetExceeded, DatasetClosed, InputError, QuestionsExceeded
from postri.exact import shown
from postri.ledger.accountants import EPSILON_PARTS, Accountant, Pure
from postri.privacy import ProtectedChange, check_protect

LONGEST_NAME = 200
LONGEST_QUESTION = 4_096
# Sums of fractions such as 1/3 + 1/7 + 1/11 + ... grow longer with every question; decimals never
# do.
LONGEST_DENOMINATOR = 1 << 1024


@dataclass(frozen=True)
class People:
    """Whom a dataset is about: what it protects, where its rows lie (each place as a SHA-256), and
    which other datasets are about the same people.

    Where it says nothing, a ledger keeps what it knows.
    """

    protect: ProtectedChange | None = None
    places: frozenset[str] = frozenset()
    same_people: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.protect is not None:
            check_protect(self.protect)
        if not all(map(_is_digest, self.places)):
            raise InputError("a place must be a SHA-256 in hexadecimal")
        for name in self.same_people:
            check_name(name, "dataset")


@dataclass(frozen=True)
class Limits:
    """The policy's limits for one analyst on one dataset: public numbers, checked in the one
    transaction that reserves.

    `questions` is how many questions the analyst may ask, `failures` how many of all analysts may
    be without an answer until the dataset is closed.
    """

    budget: Fraction
    accountant: Accountant = field(default_factory=Pure)
    per_question: Fraction | None = None
    allowance: Fraction | None = None
    questions: int | None = None
    failures: int | None = None
    people: People = field(default_factory=People)

    def __post_init__(self) -> None:
        check_amount(self.budget, "the budget")
        check_accountant(self.accountant)
        if self.per_question is not None:
            check_amount(self.per_question, "the most that one question may cost")
        if self.allowance is not None:
            check_amount(self.allowance, "an allowance")


@dataclass(frozen=True)
class Charge:
    """What a question is to pay for, and whose budget pays.

    `key` is the SHA-256 of the question's normal form, `normal` the normal form, with the analyst's
    words.
    """

    dataset: str
    version: str
    analyst: str
    key: str
    normal: str
    cost: Cost

    def __post_init__(self) -> None:
        check_name(self.dataset, "dataset")
        check_name(self.version, "version")
        check_name(self.analyst, "analyst")
        if not _is_digest(self.key):
            raise InputError("the key of a question must be a SHA-256 in hexadecimal")
        check_text(self.normal, "the question")
        if self.cost.epsilon == 0 or self.cost.rho == 0:
            raise InputError("a question must cost an epsilon above 0")

    def stored_question(self) -> str:
        """The normal form as an entry keeps it; a very long one is cut, and says so."""
        if len(self.normal) <= LONGEST_QUESTION:
            return self.normal
        mark = f"... [cut; {len(self.normal)} characters in all]"
        return self.normal[: LONGEST_QUESTION - len(mark)] + mark


@dataclass(frozen=True)
class Attempt:
    """How a question was put, as text; and the key under which it may be tried again without a
    second charge.
    """

    wording: str
    retry: str | None = None

    def __post_init__(self) -> None:
        check_text(self.wording, "the wording")
        if self.retry is not None:
            check_retry(self.retry)

    @property
    def digest(self) -> str:
        """The SHA-256 of the wording: a retry must be of the same one."""
        return sha256(self.wording.encode("utf-8", "surrogatepass")).hexdigest()


# ---- whether the limits allow a charge: pure functions of what was spent


def check_limits(charge: Charge, limits: Limits, on_dataset: Cost, by_analyst: Cost) -> None:
    """BudgetExceeded if the charge would pass a limit; names the limit.

    `on_dataset` is what everybody spent so far, `by_analyst` what this analyst did.
    """
    cost = charge.cost
    dataset = repr(charge.dataset)
    _check_delta(cost, on_dataset, limits.accountant, dataset)
    most = limits.per_question
    if most is not None and _passes(cost, most):
        name = f"the most that one question may cost on {dataset}"
        wanted = question_epsilon(cost)
        raise BudgetExceeded(wanted, most, wanted - most, name)
    if limits.allowance is not None:
        name = f"the allowance of {charge.analyst!r} on {dataset}"
        _check_total(cost, by_analyst, limits.allowance, limits.accountant, name)
    _check_total(cost, on_dataset, limits.budget, limits.accountant, f"the budget of {dataset}")
    for spent in (on_dataset, by_analyst):
        if spent.epsilon is not None and cost.epsilon is not None:
            _check_length(spent.epsilon, cost.epsilon)
        _check_length(spent.rho, cost.rho)
        _check_length(spent.delta, cost.delta)


def check_questions(charge: Charge, limits: Limits, asked: int) -> None:
    """QuestionsExceeded if the analyst has asked all questions that may be asked."""
    most = limits.questions
    if most is not None and asked >= most:
        raise QuestionsExceeded(
            f"{charge.analyst!r} has asked {asked:,} questions of {charge.dataset!r}, and the "
            f"policy allows {most:,}; nothing was spent; recorded answers stay free, and the "
            "steward can raise questions in the policy"
        )


def check_open(dataset: str, limits: Limits, unanswered: int, failed: int) -> None:
    """DatasetClosed if as many questions have no answer as may have none; `failed` are those that
    never get one.
    """
    most = limits.failures
    if most is None or unanswered < most:
        return
    if failed >= most:
        raise DatasetClosed(
            f"{dataset!r} is closed, for too many of its questions failed; nothing was spent; "
            f"the steward looks why, and opens it with 'postri open-again {dataset}'"
        )
    raise DatasetClosed(
        f"as many questions of {dataset!r} are without an answer as may be: they are counted "
        "still, failed, or were cut off; nothing was spent; ask again later, and if that does "
        f"not help, the steward looks why and opens it with 'postri open-again {dataset}'",
        running=True,
    )


def _passes(cost: Cost, most: Fraction) -> bool:
    """Whether one question costs more than an epsilon; with Gaussian noise, more than the rho of a
    question of that epsilon.
    """
    if cost.epsilon is None:
        return cost.rho > rho_of(most)
    return cost.epsilon > most


def question_epsilon(cost: Cost) -> Fraction:
    """The epsilon of a question; with Gaussian noise, of one that has the same rho, rounded up."""
    if cost.epsilon is not None:
        return cost.epsilon
    squared = 2 * cost.rho * EPSILON_PARTS**2
    return Fraction(isqrt(ceil(squared) - 1) + 1, EPSILON_PARTS)


def _check_total(
    cost: Cost, spent: Cost, limit: Fraction, accountant: Accountant, name: str
) -> None:
    total = spent + cost
    if accountant.allows(total, limit):
        return
    # What a question adds depends on what was spent before: the accountant's epsilon is no sum.
    before = accountant.epsilon(spent)
    after = accountant.epsilon(total)
    raise BudgetExceeded(after - before, limit - before, after - limit, name)


def _check_delta(cost: Cost, spent: Cost, accountant: Accountant, dataset: str) -> None:
    """BudgetExceeded if more of delta would be paid for keys than may be."""
    left = max(accountant.most_delta - spent.delta, Fraction(0))
    if cost.delta > left:
        name = f"the half of delta that finds keys on {dataset}"
        raise BudgetExceeded(cost.delta, left, cost.delta - left, name, unit="delta")


def _check_length(spent: Fraction, cost: Fraction) -> None:
    """InputError if the exact sum would be too long to keep: otherwise a few odd fractions could
    make the ledger slow for everybody.
    """
    if spent.denominator * cost.denominator <= LONGEST_DENOMINATOR:
        return
    # Powers of 2 and 5 are decimals, and do not count.
    rest = (spent + cost).denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > LONGEST_DENOMINATOR:
        raise InputError(
            "epsilon is a fraction that makes the exact sum of all spends too long: use a "
            "decimal, such as 0.1"
        )


# ---- what may be written


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def check_name(name: object, what: str) -> None:
    """InputError unless it can name a dataset, a version or an analyst."""
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(
            f"the name of the {what} must be 1 to {LONGEST_NAME} printable characters, got "
            f"{shown(name)}"
        )


def check_text(text: object, what: str) -> None:
    """InputError unless it is a text: what goes in must be what can be read again."""
    if not isinstance(text, str):
        raise InputError(f"{what} must be a text, got {shown(text)}")


def check_retry(retry: object, name: str = "the key of a retry") -> None:
    """InputError unless it can be the key of a retry, which the caller knows by this name."""
    if (
        not isinstance(retry, str)
        or not retry
        or not retry.isascii()
        or not retry.isprintable()
        or len(retry) > LONGEST_NAME
    ):
        raise InputError(
            f"{name} must be 1 to {LONGEST_NAME} printable ASCII characters, got {shown(retry)}"
        )


def check_accountant(accountant: object) -> None:
    """InputError unless it is an accountant."""
    if not isinstance(accountant, Accountant):
        raise InputError(f"the accountant must be Pure() or ZCDP(delta), got {shown(accountant)}")
