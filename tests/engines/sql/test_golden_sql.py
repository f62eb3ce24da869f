"""The statements that each database runs, as files that its administrator can review.

Compared up to white space. Where a change is meant, `POSTRI_REWRITE_GOLDEN=1` with these tests
writes the files anew: read the difference before it is committed.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from readable_sql import readable

from postri import Domain
from postri.engines.clickhouse.source import ClickHouseSource
from postri.engines.duckdb.source import RelationSource
from postri.engines.postgres.source import PostgresSource
from postri.engines.rows import Groups, Rows, Units, bind
from postri.engines.spark.source import SparkSource
from postri.engines.sql.engine import SqlEngine
from postri.engines.stretches import Stretches
from postri.expressions import Predicate
from postri.expressions.grouping import Discovery
from postri.grid import grid_of
from postri.window import Target

GOLDEN = Path(__file__).parent / "golden"
LARGE = 10_000_000
SMALL = 1_000
COLUMNS = ("fare", "tip", "day", "city", "rider")
TIPS = Domain(0, 100, step="0.01")
EVEN = np.arange(100, 1000, 100)
BINARY = np.arange(64, 1000, 64)
UNEVEN = np.array([1, 2, 4, 8, 16, 32, 64])
COARSE = Stretches(np.array([128, 320, 384]), 64, 8)
SINGLE = Stretches(np.array([128, 320, 384]), 64, 1)
ENDS = [(100, 900), (200, 800), (300, 700)]
MEDIAN = Target(Fraction(1, 2), 50)


class RecordedError(Exception):
    """A scan would have run."""


class Recording:
    """A table that runs nothing: a sample is as smooth as can be, and a scan ends the question."""

    def start(self, rows: int) -> None:
        self.statements: list[str] = []
        self.rows = rows

    def snapshot(self):
        return nullcontext(self)

    def estimate(self) -> int:
        return self.rows

    def columns(self, query: str) -> list[np.ndarray]:
        self.statements.append(query)
        if query.startswith("SELECT DISTINCT raw"):
            return [np.array([12.345])]
        if query.startswith("WITH limits"):
            # What the second statement of many groups follows from.
            return [np.arange(3), np.full(3, 1_000_000), np.full(3, 499_990)]
        if " AS raw0" not in query or "AS size" not in query:
            raise RecordedError
        groups = np.arange(3 if "key0" in query else 1)
        marks = query.count(" AS raw")
        return [
            groups,
            np.full(len(groups), 60_000),
            *_marks(groups, marks - query.count("AS raw ")),
        ]


def _marks(groups: np.ndarray, number: int) -> list[np.ndarray]:
    """Cells around 500: below it from near to far, then above."""
    steps = np.arange(1, number // 2 + 1)
    return [500 + side * step + 0 * groups for side in (-1, 1) for step in steps]


class DuckDB(Recording, RelationSource):
    declared = ("BIGINT", "DOUBLE", "DATE", "VARCHAR", "VARCHAR")
    _is_table = True
    _own_name = '"taxis"."main"."trips"'

    def __init__(self) -> None:
        pass


class Postgres(Recording, PostgresSource):
    declared = ("bigint", "double precision", "date", "text", "text")
    relation = '"public"."trips"'
    samplable = True

    def __init__(self) -> None:
        pass

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _pages(self) -> int:
        return 80_000


class Spark(Recording, SparkSource):
    declared = ("bigint", "double", "date", "string", "string")

    def __init__(self) -> None:
        pass


class ClickHouse(Recording, ClickHouseSource):
    declared = ("Int64", "Float64", "Date32", "String", "LowCardinality(String)")
    relation = "`default`.`trips`"

    def __init__(self) -> None:
        pass


ENGINES = {"clickhouse": ClickHouse, "duckdb": DuckDB, "postgres": Postgres, "spark": Spark}


FARES = Domain(0, 1000)


@dataclass(frozen=True)
class Question:
    """What is counted of a column: the window of a quantile, the total, or cells below points."""

    column: str
    rows: Rows
    size: int = SMALL
    what: str = "window"
    domain: Domain = FARES


OSLO = Predicate.parse("city = 'Oslo' AND day >= DATE '2024-01-01'")
CITIES = Groups.of({"city": ["Oslo", "Bergen", "Bodø"]})
UNKNOWN = Groups.of({"city": Discovery("city", Fraction(1, 10**6))})
QUESTIONS = {
    "median": Question("fare", Rows()),
    "median_of_many_rows": Question("fare", Rows(), LARGE),
    "filtered_median": Question("tip", Rows(where=OSLO)),
    "filtered_median_of_many_rows": Question("tip", Rows(where=OSLO), LARGE),
    "groups": Question("fare", Rows(groups=CITIES)),
    "groups_of_many_rows": Question("fare", Rows(groups=CITIES), LARGE),
    "units": Question("fare", Rows(units=Units("rider", 3))),
    "units_of_floats": Question("tip", Rows(units=Units("rider", 3))),
    "totals": Question("fare", Rows(groups=CITIES), what="totals"),
    "totals_of_floats": Question("tip", Rows(), what="totals"),
    "totals_of_columns": Question("fare", Rows(where=OSLO), what="totals of columns"),
    "totals_of_columns_and_groups": Question("fare", Rows(groups=CITIES), what="totals of columns"),
    "totals_of_units": Question("fare", Rows(units=Units("rider", 3)), what="totals"),
    "squares": Question("fare", Rows(groups=CITIES), what="squares"),
    "squares_of_many_steps": Question("fare", Rows(), what="squares", domain=Domain(0, 2**40)),
    "squares_of_floats": Question("tip", Rows(), what="squares"),
    "squares_of_units": Question("fare", Rows(units=Units("rider", 3)), what="squares"),
    "middles": Question("fare", Rows(groups=CITIES), what="middles"),
    "middles_of_floats": Question("tip", Rows(), what="middles"),
    "middles_of_units": Question("fare", Rows(units=Units("rider", 3)), what="middles"),
    "even_points": Question("fare", Rows(where=OSLO), what="even points"),
    "binary_points": Question("fare", Rows(), what="binary points"),
    "uneven_points": Question("fare", Rows(), what="uneven points"),
    "points_of_groups": Question("fare", Rows(groups=CITIES), what="uneven points"),
    "points_of_floats": Question("tip", Rows(), what="even points"),
    "points_of_units": Question("fare", Rows(units=Units("rider", 3)), what="uneven points"),
    "parts": Question("fare", Rows(where=OSLO), what="parts"),
    "single_points": Question("fare", Rows(), what="single points"),
    "single_points_of_groups": Question("fare", Rows(groups=CITIES), what="single points"),
    "numbers_of_units": Question(
        "fare", Rows(where=OSLO, groups=CITIES, units=Units("rider", 3)), what="units"
    ),
    "numbers_of_rows": Question("fare", Rows(where=OSLO, groups=CITIES), what="sizes"),
    "unknown_keys": Question("fare", Rows(where=OSLO, groups=UNKNOWN), what="keys"),
    "unknown_keys_of_units": Question(
        "fare", Rows(groups=UNKNOWN, units=Units("rider", 3)), what="keys"
    ),
}


def statements(engine_name: str, question: Question) -> list[str]:
    """All statements of a question, up to its first scan."""
    source = ENGINES[engine_name]()
    source.start(question.size)
    engine = SqlEngine(source, dict(zip(COLUMNS, source.declared, strict=True)))
    domain = TIPS if question.column == "tip" else question.domain
    grid = grid_of(engine.type_of(question.column), domain)
    rows = bind(question.rows, engine.names, engine.type_of)
    counts = {
        "window": lambda: engine.windows(question.column, grid, [MEDIAN], rows),
        "totals": lambda: engine.totals(question.column, grid, rows),
        "totals of columns": lambda: engine.totals_together(
            [(question.column, grid), ("tip", grid_of(engine.type_of("tip"), TIPS))], rows
        ),
        "squares": lambda: engine.square_totals(question.column, grid, rows),
        "middles": lambda: engine.middle_totals(question.column, grid, ENDS[: rows.number], rows),
        "even points": lambda: engine.counts_below(question.column, grid, EVEN, rows),
        "binary points": lambda: engine.counts_below(question.column, grid, BINARY, rows),
        "uneven points": lambda: engine.counts_below(question.column, grid, UNEVEN, rows),
        "parts": lambda: engine.counts_inside(question.column, grid, COARSE, rows),
        "single points": lambda: engine.counts_inside(question.column, grid, SINGLE, rows),
        "sizes": lambda: engine.sizes(question.column, rows),
        "units": lambda: engine.unit_counts(rows),
        "keys": lambda: engine.key_sizes(rows),
    }
    with pytest.raises(RecordedError):
        counts[question.what]()
    return source.statements


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_statements_are_those_that_were_reviewed(engine, question):
    found = statements(engine, QUESTIONS[question])
    laid_out = [readable(each) for each in found]
    for statement, text in zip(found, laid_out, strict=True):
        assert text.split() != [] and "".join(text.split()) == "".join(statement.split())
    path = GOLDEN / engine / f"{question}.sql"
    text = ";\n\n".join(each.rstrip("\n") for each in laid_out) + ";\n"
    if os.environ.get("POSTRI_REWRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text().split() == text.split()


def test_no_file_is_left_of_a_question_that_is_gone():
    known = {f"{engine}/{question}.sql" for engine in ENGINES for question in QUESTIONS}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.sql")} == known
