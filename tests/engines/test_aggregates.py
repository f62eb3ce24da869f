"""The same question with the same coins has the same answer on every engine: every aggregate,
groups, filters, units; and in a session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import postri
from bank import bank, in_duckdb, seeded, write_policy
from postri import AddOrRemoveRows, AddOrRemoveUnits, Domain, ReplaceRows, SeededCoins, agg
from postri.engines.table import Table
from proving import sized
from services.real_tables import SERVICES, SOME_ENGINES, Place, loaded

pytestmark = pytest.mark.slow

BALANCES = Domain(-1_000, 9_000)
WANTED = {
    "rows": agg.count(),
    "named": agg.count("job"),
    "total": agg.sum("balance", domain=BALANCES),
    "average": agg.mean("balance", domain=BALANCES),
    "rates": agg.mean("rate", domain=Domain(0, 10, step="0.01")),
    "mid": agg.median("balance", domain=BALANCES),
    "young": agg.share("age < 30 OR job = 'services'"),
    "spread": agg.std("balance", domain=BALANCES),
}
QUESTIONS = {
    "all rows": {},
    "a filter": {"where": "age < 30 OR job = 'services'"},
    "groups": {"by": {"job": ["admin.", "nobody", "services"]}, "protect": ReplaceRows(2)},
    "units": {"by": {"job": ["admin.", "nobody"]}, "protect": AddOrRemoveUnits("age", rows=5)},
}


@pytest.fixture(scope="module")
def opened(request, tmp_path_factory) -> Callable[[str], Table]:
    place = Place(tmp_path_factory.mktemp("aggregates"), request)
    return cache(lambda engine: loaded(engine, bank(), place))


@pytest.fixture(scope="module")
def in_memory(opened) -> Callable[[str], list]:
    """The answers of a table in memory, asked once."""
    return cache(lambda name: answers(opened("Arrow"), name))


def answers(table: Table, name: str) -> list:
    result = postri.ask(
        table,
        WANTED,
        **{"epsilon": 5, "protect": AddOrRemoveRows(1), "coins": SeededCoins(8), **QUESTIONS[name]},
    )
    return [(answer.statistic, answer.value, answer.interval) for answer in result.answers]


# A question takes Spark a while: `make test` asks it every fourth one.
@pytest.mark.one_in(4, each="engine")
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        pytest.param(engine, name, marks=[pytest.mark.slow] if engine in SERVICES else [])
        for engine in SOME_ENGINES
        for name in list(QUESTIONS)[:: sized(4, 1) if engine == "Spark" else 1]
    ],
)
def test_the_same_coins_give_the_same_answers(engine, name, opened, in_memory):
    assert answers(opened(engine), name) == in_memory(name)


def in_parquet(folder: Path, _: pytest.FixtureRequest) -> Path:
    return write_policy(folder)


def in_csv(folder: Path, _: pytest.FixtureRequest) -> Path:
    folder.mkdir(exist_ok=True)
    bank().to_pandas().to_csv(folder / "bank.csv", index=False)
    path = write_policy(folder, source="bank.csv")
    path.write_text(
        path.read_text().replace(
            'type = "boolean"\nkeys = [true, false]', 'type = "text"\nkeys = ["True", "False"]'
        )
    )
    return path


def in_postgres(folder: Path, request: pytest.FixtureRequest) -> Path:
    server = request.getfixturevalue("postgres")
    server.run(
        "DROP TABLE IF EXISTS accounts",
        (
            "CREATE TABLE accounts (balance bigint, age bigint, since date, rate double "
            "precision, job text, vip boolean, secret bigint)"
        ),
    )
    with (
        server.connect() as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY accounts FROM STDIN") as copy,
    ):
        for row in zip(*(column.to_pylist() for column in bank().columns), strict=True):
            copy.write_row(row)
    return write_policy(folder, source=server.url(), name="public.accounts")


SOURCES = {
    "Parquet": in_parquet,
    "DuckDB": lambda folder, _: in_duckdb(folder),
    "CSV": in_csv,
    "PostgreSQL": in_postgres,
}
ASKED = {
    "several": (
        {name: f"{name}(balance)" for name in ("count", "sum", "mean", "median")},
        {"by": ["job"], "where": "age < 60"},
    ),
    "dates and decimals": (
        {
            "day": "median(since)",
            "rate": "quantile(rate, 0.9)",
            "mean": "mean(rate)",
            "rows": "count()",
        },
        {},
    ),
    "truths": ({"rows": "count()"}, {"by": ["vip", "job"]}),
}


# A CSV file has no truths: their keys are texts there.
EVERYWHERE = [
    pytest.param(source, name, marks=[pytest.mark.slow] if source in SERVICES else [])
    for source in SOURCES
    for name in ASKED
    if (source, name) != ("CSV", "truths")
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("source", "name"), EVERYWHERE)
def test_a_session_answers_the_same_wherever_its_rows_are(source, name, tmp_path, request):
    wanted, how = ASKED[name]
    with (
        seeded(write_policy(tmp_path / "reference")) as reference,
        seeded(SOURCES[source](tmp_path / "other", request)) as db,
    ):
        assert (
            db.ask("bank", wanted, epsilon=4, **how).rows
            == reference.ask("bank", wanted, epsilon=4, **how).rows
        )
