"""Guesses by a sample are there for speed alone: without them, all windows are the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from contract_tables import large_table

from postri import Domain
from postri.engines import engine as windows
from postri.engines.rows import Groups, Rows
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import Target
from proving import sized
from services.real_tables import Place, loaded, marks

ENGINES = ["NumPy", "DuckDB", "DuckDB over Parquet", "Parquet", "CSV", "PostgreSQL"]
ENGINES += sized([], ["Spark"])
WIDE = Domain(-10_000, 10_000)
FINE = Domain(-100, 100, step="0.001")
TARGETS = [Target(Fraction(1, 2), 200), Target(Fraction(9, 10), 5)]
QUESTIONS = {
    "all rows": ("x", WIDE, Rows()),
    "floats": ("real", FINE, Rows()),
    "some rows": ("real", FINE, Rows(where=Predicate.parse("x < 1500"))),
    "groups": ("x", WIDE, Rows(groups=Groups.of({"block": range(0, 300, 20)}))),
}


# Each query takes Spark seconds: `make test` leaves it out, and its sampling stands in test_spark.
ASKED = {engine: list(QUESTIONS) for engine in ENGINES} | {"Spark": ["some rows"]}


def found(engine: str, opened: Table) -> dict[str, list]:
    """The windows of the questions, of a table that has kept none."""
    table = Table(opened._engine)
    answers = {}
    for name in ASKED[engine]:
        column, domain, rows = QUESTIONS[name]
        grid = grid_of(table.type_of(column), domain)
        groups = table.grouped_windows(column, grid, TARGETS, table.bind(rows))
        answers[name] = [[_plain(each(0)) for each in group] for group in groups]
    return answers


def _plain(window) -> tuple:
    return window.indexes.tolist(), window.counts.tolist(), window.below, window.n


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    [pytest.param(engine, marks=marks(engine)) for engine in ENGINES],
)
def test_without_guesses_the_windows_are_the_same(engine, tmp_path, request, monkeypatch):
    table = loaded(engine, large_table(), Place(tmp_path, request))
    guesses = []
    original = windows.guessed_brackets

    def counted(*given):
        for brackets in original(*given):
            guesses.append(brackets)
            yield brackets

    monkeypatch.setattr(windows, "guessed_brackets", counted)
    guessed = found(engine, table)
    assert guesses
    monkeypatch.setattr(windows, "guessed_brackets", lambda *_: iter(()))
    assert found(engine, table) == guessed
