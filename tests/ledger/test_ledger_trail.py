"""The audit trail as CSV."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from some_charges import ENOUGH, charge, limits

from postri.ledger import ZCDP, export_csv


def trail(ledger) -> list[dict[str, str]]:
    file = io.StringIO()
    export_csv(ledger, file)
    return list(csv.DictReader(io.StringIO(file.getvalue())))


def test_each_entry_has_its_parts(ledger):
    number = ledger.reserve(charge("median of x"), limits(5, accountant=ZCDP(Fraction(1, 10**6))))
    ledger.record(number, "secret answer text")
    ledger.fail(
        ledger.reserve(charge("q2"), limits(5, accountant=ZCDP(Fraction(1, 10**6)))), "EngineError"
    )
    ledger.reserve(charge("q3"), limits(5, accountant=ZCDP(Fraction(1, 10**6))))
    lines, entries = trail(ledger), list(ledger.entries())
    assert [line["hash"] for line in lines] == [entry.hash for entry in entries]
    assert [line["time"] for line in lines] == [entry.time for entry in entries]
    asked = lines[1]
    assert (
        asked["number"],
        asked["kind"],
        asked["dataset"],
        asked["version"],
        asked["analyst"],
    ) == ("2", "reserve", "bank", "1", "ann")
    assert (asked["epsilon"], asked["rho"], asked["key"]) == (
        "1/10",
        "1/800",
        charge("median of x").key,
    )
    assert asked["question (analyst's text)"] == "median of x"
    fates = [
        "budget 5, zCDP at delta 0.000001",
        "answered by entry 3",
        "answer of entry 2",
        "failed with EngineError",
    ]
    assert [line["fate"] for line in lines] == [
        *fates,
        "failure of entry 4",
        "unknown, counts as spent",
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "'"])
def test_no_cell_is_taken_for_a_formula(ledger, start):
    ledger.reserve(charge(f"{start}HYPERLINK(1)"), ENOUGH)
    cell = trail(ledger)[-1]["question (analyst's text)"]
    assert cell.startswith("'") and cell.endswith("HYPERLINK(1)")


def test_names_are_no_formulas_either(ledger):
    ledger.reserve(charge(analyst="=cmd"), ENOUGH)
    assert trail(ledger)[-1]["analyst"] == "'=cmd"


def test_a_question_of_several_lines_stays_on_one(ledger):
    ledger.reserve(charge("a\r\nb\x1b[31m"), ENOUGH)
    file = io.StringIO()
    export_csv(ledger, file)
    assert len(file.getvalue().splitlines()) == 3
    assert "a\\r\\nb\\x1b[31m" in file.getvalue()


def test_an_accepted_copy_is_one_line(store, ledger):
    for dataset in ("bank", "shop"):
        ledger.reserve(charge(dataset=dataset), ENOUGH)
    store.tamper("DELETE FROM entries", "DELETE FROM datasets", "DELETE FROM analysts")
    store.audit().accept_restored()
    line = trail(store.open())[-1]
    assert (line["dataset"], line["epsilon"], line["fate"]) == (
        "bank; shop",
        "1/10; 1/10",
        "an older ledger was accepted",
    )
