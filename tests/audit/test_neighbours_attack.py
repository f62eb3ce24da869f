"""Record and replay: neighbours look alike, and a difference of any kind is found."""

from __future__ import annotations

import logging
import sys
import warnings
from random import Random

import pytest

from postri.audit import neighbours
from postri.audit.attack import AttackNotes, Size
from postri.audit.neighbours import random_question, try_pair
from postri.audit.planted import rows_leaked_by_an_error
from postri.audit.scratch import plain_shape
from postri.ledger import SqliteLedger
from postri.statistics.statistic import RowBatch
from proving import sized

pytestmark = pytest.mark.slow

COUNT = {"aggregates": {"n": "count()"}, "where": None, "epsilon": "1/4", "fresh": True}


def found(kind: str, monkeypatch, number: int = 2) -> list[str]:
    """What comes of counting the rows of a pair of tables."""
    monkeypatch.setattr(neighbours, "random_question", lambda random: dict(COUNT))
    notes = AttackNotes()
    try_pair(notes, kind, number, Random(1), asked=1)
    return notes.findings


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["memory", "duckdb", "csv", "parquet"])
def test_neighbours_look_alike(kind):
    notes = AttackNotes()
    random = Random(5)
    for number in range(sized(1, 10)):
        assert try_pair(notes, kind, number + 2, random, asked=sized(3, 10)) >= 3
    assert notes.findings == []


def test_statements_are_seen(monkeypatch):
    """Of each kind that has any."""
    seen = []
    original = neighbours.Recorder.statement

    def statement(recorder, text):
        seen.append(text)
        original(recorder, text)

    monkeypatch.setattr(neighbours.Recorder, "statement", statement)
    for kind in ("duckdb", "csv"):
        seen.clear()
        assert found(kind, monkeypatch) == []
        assert any("count" in text.lower() for text in seen)


LEAKS = {
    "a log line": lambda rows: logging.getLogger("postri").info("%s rows", rows),
    "a warning": lambda rows: warnings.warn(f"{rows} rows", stacklevel=1),
    "a word on standard error": lambda rows: sys.stderr.write(f"{rows}"),
}


@pytest.mark.parametrize("channel", LEAKS)
def test_a_leak_of_the_number_of_rows_is_found(channel, monkeypatch):
    original = RowBatch.count

    def counted(batch, table, rows):
        sizes = original(batch, table, rows)
        LEAKS[channel](sizes[0])
        return sizes

    monkeypatch.setattr(RowBatch, "count", counted)
    assert found("memory", monkeypatch)


def test_a_failure_that_depends_on_the_rows_is_found(monkeypatch):
    """63 rows fail, 64 do not."""
    monkeypatch.setattr(neighbours, "SIZES", (63,))
    with rows_leaked_by_an_error():
        assert found("memory", monkeypatch, number=0)


def test_another_statement_on_one_side_is_found(monkeypatch):
    original = RowBatch.count

    def counted(batch, table, rows):
        sizes = original(batch, table, rows)
        if sizes[0] > 60:
            # A table that is held still counts the same once.
            table._engine.sizes(batch.column, rows)
        return sizes

    monkeypatch.setattr(RowBatch, "count", counted)
    assert found("duckdb", monkeypatch)


def test_another_charge_on_one_side_is_found(monkeypatch):
    spends = iter([1, 2])
    monkeypatch.setattr(neighbours, "spent", lambda ledger: next(spends))
    assert found("memory", monkeypatch)


def test_a_charge_is_read_from_the_ledger(monkeypatch):
    asked = []
    original = SqliteLedger.spent

    def spent(ledger, dataset, analyst=None):
        asked.append(dataset)
        return original(ledger, dataset, analyst)

    monkeypatch.setattr(SqliteLedger, "spent", spent)
    found("memory", monkeypatch)
    assert "people" in asked


def test_the_shape_of_a_body_is_without_what_was_drawn():
    body = {"value": 5, "low": 2.5, "edge": True, "notes": ["an edge"], "words": ["a", None]}
    expected = {"value": "number", "low": "number", "edge": "bool", "notes": "notes"}
    assert plain_shape(body) == {**expected, "words": ["str", "NoneType"]}


def test_random_questions_are_of_many_kinds():
    random = Random(2)
    questions = [random_question(random) for _ in range(200)]
    assert {bool(question.get("by")) for question in questions} == {True, False}
    assert len({question["where"] for question in questions}) == len(neighbours.PREDICATES)


def test_the_attack_counts_what_it_compared(monkeypatch):
    monkeypatch.setattr(neighbours, "KINDS", ())
    notes = AttackNotes()
    neighbours.attempt(Size(0.1), notes)
    assert notes.findings == []
    assert notes.figures["pairs of tables"] == "4"
