"""The black box: it finds what is there, no more than what is promised, and every planted bug.

On the product a subject fails by luck with odds below one in a million: the bounds are exact with
odds of 5e-8 each, and the number of draws leaves five deviations to half of epsilon.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import pytest

from postri.audit import planted
from postri.audit.attack import AttackNotes, Size
from postri.audit.black_box import function_subjects, session_subject
from postri.audit.distinguisher import best_event, certain_ratio, distinguish
from postri.audit.planted import BUGS
from postri.errors import InputError
from postri.mechanisms.coins import SystemCoins
from postri.methods import depth
from postri.session.local import LocalSession
from postri.statistics import count
from postri.statistics.statistic import RowBatch
from proving import WITH_SYSTEM_COINS, sized

pytestmark = [*WITH_SYSTEM_COINS, pytest.mark.slow]

SUBJECTS = {subject.name: subject for subject in function_subjects()}


@pytest.mark.parametrize("name", sized(["count"], list(SUBJECTS)))
def test_draws_find_at_least_half_of_epsilon_and_never_more_than_it(name):
    subject = SUBJECTS[name]
    assert subject.problem(subject.attacked(until=0)) is None


def test_a_session_keeps_its_promise():
    """Tight only at full size: its ledger takes time."""
    with session_subject() as subject:
        fewer = replace(subject, least=sized(60, subject.least), is_tight=sized(False, True))
        assert fewer.problem(fewer.attacked(until=0)) is None


def swapped_names() -> list[object]:
    """All that the planted bugs put something else for."""
    return [
        count.moved_rows,
        depth.noisy_max,
        SystemCoins.words,
        RowBatch.count,
        LocalSession._answer,
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_and_gone_afterwards(bug):
    before = swapped_names()
    with bug.plant():
        assert swapped_names() != before
    assert bug.caught()
    assert swapped_names() == before


def test_the_self_test_fails_if_a_bug_is_not_caught(monkeypatch):
    blind = planted.Bug("a bug", BUGS[0].plant, lambda: [])
    monkeypatch.setattr(planted, "BUGS", (blind,))
    notes = AttackNotes()
    planted.attempt(Size(), notes)
    assert notes.findings == ["a bug: planted, and not caught"]


def test_an_attack_that_is_too_weak_is_told():
    subject = SUBJECTS["count"]
    found = distinguish([0] * 50, [0] * 50)
    assert "too weak" in subject.problem(found)


def test_the_bound_is_that_of_clopper_and_pearson():
    """All hits of n and none of n: the n-th root of half of alpha, in closed form."""
    n = 100
    root = (5e-8 / 2) ** (1 / n)
    assert certain_ratio(n, 0, n) == pytest.approx(log(root / (1 - root)), rel=1e-6)
    assert certain_ratio(0, 5, n) < 0


def test_the_event_is_what_one_table_shows_more_often():
    one, other = Counter(a=500, b=300, c=200), Counter(a=100, b=300, c=600)
    assert best_event(one, other, 1_000) == {"a"}
    assert best_event(other, one, 1_000) == {"c"}


def test_an_error_is_an_outcome_like_others(monkeypatch):
    def refused(*given, **how):
        raise InputError("no")

    subject = function_subjects()[0]
    monkeypatch.setattr("postri.count", refused)
    assert subject.draws[0]() == ("InputError", "no")
