"""Five bugs that were made on purpose: an audit that does not catch them all is worth nothing.

Each is put into the running package for the time of a block, and tried by the attack that is to
find it. Nothing of it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from postri import privacy
from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.black_box import function_subjects
from postri.audit.faults import try_faults
from postri.audit.swapped import swapped
from postri.errors import InputError
from postri.mechanisms import coins as coins_module
from postri.mechanisms.coins import Coins, Draw, Key, SystemCoins, Words, below
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, R, Winner
from postri.methods import depth
from postri.session.local import LocalSession
from postri.statistics import count
from postri.statistics.statistic import RowBatch

# How fine the choice by weights is in the planted bug.
FINE = 1 << 53
# A table of fewer rows is told to be too small, by the bug that leaks them.
TOO_FEW = 64


@contextmanager
def sensitivity_halved() -> Iterator[None]:
    """One person moves a count by half of what is true: the noise is half as wide."""
    original = privacy.moved_rows

    def halved(*given: Any) -> Fraction:
        return original(*given) / 2

    with swapped(count, "moved_rows", halved):
        yield


@contextmanager
def seed_reused() -> Iterator[None]:
    """Every draw has the coins of the one before."""
    repeated = coins_module.SeededCoins(7).draw()

    def words(coins: SystemCoins, key: Key, number: int) -> Words:
        return repeated.words(key, number)

    with swapped(SystemCoins, "words", words):
        yield


@contextmanager
def weights_that_underflow() -> Iterator[None]:
    """The value of a quantile is chosen by weights in half precision: small ones become 0."""
    with swapped(depth, "noisy_max", _by_short_weights):
        yield


def _by_short_weights(runs: R, *, rate: Fraction, noise: Noise, coins: Coins) -> Winner[R]:
    """The exponential mechanism as it is written first: weights, and a choice in proportion."""
    logs = runs.scores.astype(np.float64) * float(rate) + runs.boosts * 2.0**-BOOST_BITS
    with np.errstate(under="ignore"):
        weights = np.exp(logs - logs.max()).astype(np.float16).astype(np.float64)
    shares = np.cumsum(weights * runs.sizes)
    draw = coins.draw()
    place = _uniform(draw) * shares[-1]
    run = int(np.searchsorted(shares, place, side="right"))
    first, end = runs.span(run)
    return Winner(runs, run, first + below(draw, ("copy",), end - first))


def _uniform(draw: Draw) -> float:
    return below(draw, ("place",), FINE) / FINE


@contextmanager
def rows_leaked_by_an_error() -> Iterator[None]:
    """A table of few rows is refused, in words that tell how many there are."""
    original = RowBatch.count

    def checked(batch: RowBatch, table: Any, rows: Any) -> list[int]:
        counted = original(batch, table, rows)
        if sum(counted) < TOO_FEW:
            raise InputError(f"{sum(counted)} rows are too few")
        return counted

    with swapped(RowBatch, "count", checked):
        yield


@contextmanager
def refund_on_failure() -> Iterator[None]:
    """A question that fails is not paid for: data are touched before the reservation."""
    original = LocalSession._answer

    def answer(session: LocalSession, question: Any, attempt: Any, *, fresh: bool) -> Any:
        dataset = session._dataset(question.dataset.name)
        question.bound(session._open(dataset)).answers()
        return original(session, question, attempt, fresh=fresh)

    with swapped(LocalSession, "_answer", answer):
        yield


@dataclass(frozen=True)
class Bug:
    """A planted bug, and the part of an attack that is to catch it: returns what it finds."""

    name: str
    plant: Callable[[], AbstractContextManager[None]]
    attack: Callable[[], list[str]]

    def caught(self) -> list[str]:
        """What the attack finds while the bug is there."""
        with self.plant():
            return self.attack()


def _by_draws(name: str, draws: int) -> Callable[[], list[str]]:
    """Tell the tables of a subject of the black box apart by `draws` draws of each."""

    def attack() -> list[str]:
        (subject,) = (each for each in function_subjects() if each.name == name)
        fewer = replace(subject, least=draws, is_tight=False)
        problem = fewer.problem(fewer.attacked(until=0))
        return [] if problem is None else [problem]

    return attack


def _by_faults() -> list[str]:
    """Let a few questions fail."""
    notes = AttackNotes()
    try_faults(notes, kinds=("duckdb",))
    return notes.findings


BUGS = (
    Bug("sensitivity halved", sensitivity_halved, _by_draws("count", 1_000)),
    Bug("seed reused", seed_reused, _by_draws("count", 240)),
    Bug(
        "weights that underflow",
        weights_that_underflow,
        _by_draws("median of a long domain", 500),
    ),
    Bug("the number of rows in an error", rows_leaked_by_an_error, _by_draws("count", 240)),
    Bug("a refund on failure", refund_on_failure, _by_faults),
)


def attempt(size: Size, notes: AttackNotes) -> None:
    """Every bug must be caught."""
    for bug in BUGS:
        notes.tell(bug.name)
        caught = bug.caught()
        if caught:
            notes.figures[bug.name] = f"caught: {caught[0]}"
        else:
            notes.findings.append(f"{bug.name}: planted, and not caught")


SELF_TEST = Attack(
    name="self-test",
    tried="whether the audit catches five bugs that are planted for the time of the test",
    attempt=attempt,
)
