"""Cells of CSV files in every form, as values, keys, units and inputs of predicates: the same
inside DuckDB as in memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import postri
from postri import Domain
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.expressions import Predicate
from postri.grid import grid_of
from postri.window import Target
from proving import sized

ROWS = 200
ODD = [
    "inf",
    "-Infinity",
    "nan",
    "1e999999999",
    "-1e-999999999",
    "x",
    "--1",
    "1 2",
    "0x1",
    "1_0",
    "9" * 2_000,
    "0." + "0" * 500 + "1",
]
MOMENTS = [
    *(
        "2024-02-29",
        "2024-02-30",
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "2024-2-9",
        "-0001-01-01",
        "x",
    ),
    *(
        "2024-02-29 12:00:00",
        "2024-02-29T23:59:59.999999",
        "2024-02-29 24:00:00",
        "2024-02-29 12:00",
        "2024-02-29 12:00:60",
    ),
    *(
        "2024-02-29 12:00:00+02:00",
        "2024-02-29 12:00Z",
        "2024-02-29 12:00:00.1234567",
        "2024-02-29 00:00:00.5",
        "2024-02-29 12",
    ),
]
DECLARED: list[dict[str, str]] = [
    *(
        {},
        {"y": "integer", "d": "date"},
        {"y": "float", "u": "integer"},
        {"d": "timestamp"},
        {"y": "decimal", "k": "integer"},
    ),
]
WHERE = [
    *(
        None,
        "y > -2.5",
        "y = 1",
        "y > 0 OR y IS NULL",
        "s = 'a' OR s LIKE '%b'",
        "y + x > 3.75",
        "y BETWEEN -2 AND 2",
    ),
    *(
        "d < DATE '1000-01-01'",
        "d >= DATE '2024-02-29'",
        "d < TIMESTAMP '1000-01-01 12:00:00'",
        "d >= TIMESTAMP '2024-02-29 12:00:00'",
    ),
]
BY: list[dict[str, Any] | None] = [
    *(
        None,
        {"k": [1, 2, -3]},
        {"s": ["a", "é", "zz"]},
        {"u": [1, 2], "s": ["a"]},
        {"k": [2**63, 2**63 + 1]},
    ),
    *(
        {"k": [Decimal("0.5"), Decimal(2)]},
        {"d": [date(2024, 2, 29), date(1, 1, 1)]},
        {"d": [datetime(2024, 2, 29, 12)]},
    ),
]
UNITS = [None, Units("u", 2), Units("u", 20), Units("s", 5)]
DOMAINS = [None, Domain(-10, 10, "0.25"), Domain("-7.7", "8992.3", "0.3")]


def number(chance: random.Random) -> str:
    def digits(most: int, least: int = 1) -> str:
        return "".join(chance.choices("0123456789", k=chance.randint(least, most)))

    sign = chance.choice(["", "+", "-"])
    forms: list[Callable[[], str]] = [
        *(
            lambda: sign + digits(20),
            lambda: sign + digits(5) + ".",
            lambda: f"{sign}.{digits(5)}",
            lambda: repr(chance.uniform(-9, 9)),
        ),
        *(
            lambda: f"{sign}{digits(45)}.{digits(45, 0)}",
            lambda: f"{sign}{digits(2)}{chance.choice('eE')}{chance.choice('+-')}{digits(4)}",
        ),
        *(
            lambda: chance.choice(ODD),
            lambda: f"{sign}{2**63 + chance.randint(-2, 2)}",
            lambda: f" {chance.randint(-3, 3)}\t",
        ),
        *[lambda: f"{chance.randint(-5, 5)}{chance.choice(['', '.0', '.50'])}"] * 3,
    ]
    return chance.choice(forms)()


def outcome(table: Table, rows: Rows, domain: Domain | None) -> Any:
    """What is counted, or the words in which that is refused: by names and declared types alone."""
    try:
        grid, bound = grid_of(table.type_of("x"), domain), table.bind(rows)
    except postri.InputError as refused:
        return str(refused)
    windows = [
        [each(0) for each in group]
        for group in table.grouped_windows("x", grid, [Target(Fraction(1, 2), 30)], bound)
    ]
    return (
        windows,
        table.sizes("y", bound),
        table.sizes(None, bound),
        table.totals("x", grid, bound),
    )


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(sized(12, 100)))
def test_cells_mean_the_same_in_a_file_and_in_memory_however_they_are_used(seed, tmp_path):
    chance = random.Random(seed)
    columns = {name: [number(chance) for _ in range(ROWS)] for name in "xyk"}
    columns["u"] = [
        chance.choice([number(chance), "7", "07", "+7", "7.0", "70e-1"]) for _ in range(ROWS)
    ]
    columns |= {
        "d": chance.choices(MOMENTS, k=ROWS),
        "s": chance.choices(["a", "B", "é", "a b"], k=ROWS),
    }
    declared, where, by = chance.choice(DECLARED), chance.choice(WHERE), chance.choice(BY)
    rows = Rows(
        Predicate.parse(where) if where else None,
        Groups.of(by) if by else None,
        chance.choice(UNITS),
    )
    path, domain = tmp_path / "cells.csv", chance.choice(DOMAINS)
    path.write_text(
        "\n".join(
            [",".join(columns), *(",".join(cells) for cells in zip(*columns.values(), strict=True))]
        )
        + "\n"
    )
    assert outcome(postri.open(path, columns=declared), rows, domain) == outcome(
        postri.open(columns, columns=declared), rows, domain
    )
