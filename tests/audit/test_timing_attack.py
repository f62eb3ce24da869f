"""The timing of replies: the distinguisher by hand, and services that it asks."""

from __future__ import annotations

from random import Random

import pytest

from postri.audit import timing
from postri.audit.attack import AttackNotes, Size
from postri.audit.timing import GRID, advantage, odds_of_luck
from proving import sized

pytestmark = pytest.mark.alone


def test_the_odds_of_luck_are_fishers():
    """The lady who tastes tea: four of four right, one in seventy (Fisher 1935)."""
    assert odds_of_luck(4, 0, 4) == pytest.approx(1 / 70)
    assert odds_of_luck(0, 4, 4) == 1


def test_replies_that_come_late_with_the_person_are_found():
    """24 of 25 late with the person, 4 of 25 without: what was seen of a service without care."""
    late = [2 * GRID] * 24 + [GRID]
    early = [2 * GRID] * 4 + [GRID] * 21
    random = Random(1)
    for times in (late, early):
        random.shuffle(times)
    found = advantage(late * 2, early * 2)
    assert found.found and found.measured > 0.5 and found.low > 0


def test_replies_that_come_early_with_the_person_are_found():
    found = advantage([GRID] * 60, [2 * GRID] * 60)
    assert found.found and found.measured == 1


def test_equal_times_tell_nothing():
    random = Random(3)
    one, other = ([GRID * random.randint(1, 2) for _ in range(200)] for _ in range(2))
    found = advantage(one, other)
    assert not found.found and found.low < 0 < found.high


@pytest.mark.slow
def test_two_services_are_asked_in_turns(monkeypatch):
    """A few times tell nothing: the verdict is looked at under `make prove`.

    It is wrong by luck with odds of one in a million at most.
    """
    if sized(True, False):
        monkeypatch.setattr(timing, "OFFSETS", timing.OFFSETS[-1:])
        monkeypatch.setattr(timing, "SCOUTED", 1)
    number = sized(1, 100)
    one, other = timing.measured(number, lambda words: None)
    assert len(one) == len(other) == number
    assert min(one + other) > 0
    if sized(False, True):
        assert not advantage(one, other).found


def test_the_attack_tells_what_it_found(monkeypatch):
    monkeypatch.setattr(timing, "measured", lambda number, tell: ([1.0] * 40, [2.0] * 40))
    notes = AttackNotes()
    timing.attempt(Size(0.1), notes)
    assert len(notes.findings) == 1 and "100.0%" in notes.findings[0]
    monkeypatch.setattr(timing, "measured", lambda number, tell: ([1.0] * 40, [1.0] * 40))
    notes = AttackNotes()
    timing.attempt(Size(0.1), notes)
    assert notes.findings == []
