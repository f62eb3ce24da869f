"""Faults after the reservation: one face on the product, and each way to get it wrong is found."""

from __future__ import annotations

import pytest

from postri.audit import faults
from postri.audit.attack import AttackNotes, Size
from postri.audit.faults import try_faults
from postri.errors import QuestionFailed
from postri.session import local
from postri.session.local import LocalSession
from proving import sized

pytestmark = pytest.mark.slow


def findings(monkeypatch, causes: int = 2) -> list[str]:
    """What a few faults find, on one kind of source."""
    monkeypatch.setattr(faults, "CAUSES", faults.CAUSES[:causes])
    notes = AttackNotes()
    try_faults(notes, kinds=("duckdb",))
    return notes.findings


def test_failures_have_one_face_on_the_product(monkeypatch):
    if sized(True, False):
        monkeypatch.setattr(faults, "CAUSES", faults.CAUSES[::4])
    notes = AttackNotes()
    faults.attempt(Size(0.1), notes)
    assert notes.findings == []
    assert notes.figures["faults injected"] == sized("27", "81")


def test_a_message_that_depends_on_the_cause_is_found(monkeypatch):
    causes = iter(range(100))

    def failed(number, charged):
        error = QuestionFailed(number, charged)
        error.args = (f"question {number} failed, case {chr(97 + next(causes))}",)
        return error

    monkeypatch.setattr(local, "QuestionFailed", failed)
    assert any("faces" in words for words in findings(monkeypatch))


def test_a_cause_in_the_chain_is_found(monkeypatch):
    original = LocalSession._paid_for

    def paid_for(session, *given):
        try:
            return original(session, *given)
        except QuestionFailed as error:
            raise error from ValueError("a cell")

    monkeypatch.setattr(LocalSession, "_paid_for", paid_for)
    assert any("carries its cause" in words for words in findings(monkeypatch))


def test_failures_that_are_not_counted_are_found(monkeypatch):
    monkeypatch.setattr("postri.ledger.SqliteLedger.unanswered", lambda ledger, dataset: [])
    assert any("not counted" in words for words in findings(monkeypatch))


def test_an_exception_of_somebody_else_is_found(monkeypatch):
    def answer(session, question, attempt, *, fresh):
        raise ZeroDivisionError

    monkeypatch.setattr(LocalSession, "_answer", answer)
    assert any("in place of QuestionFailed" in words for words in findings(monkeypatch, 1))
