"""Questions to the functions of the library: every source, every parameter, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import postri
from golden.book import Book
from golden.tables import CITIES, sources
from postri import (
    AddOrRemoveRows,
    AddOrRemoveUnits,
    Depth,
    Domain,
    ReplaceRows,
    ReplaceUnits,
    agg,
)

RATES = Domain(0, 10, step="0.25")
DAYS = Domain("1940-01-01", "2019-12-31")
MOMENTS = Domain("2024-01-01T00:00:00", "2025-12-31T00:00:00", step=60)
AGES = Domain(0, 120)
SALARIES = Domain(0, 100_000)

# Questions that every source is asked.
OF_EVERY_SOURCE: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda source, coins: postri.median(source, column="age", epsilon=1, coins=coins),
    "median with nulls": lambda source, coins: postri.median(
        source, column="salary", epsilon=1, domain=SALARIES, coins=coins
    ),
    "quantile of floats": lambda source, coins: postri.quantile(
        source, "0.9", column="rate", epsilon=1, domain=RATES, coins=coins
    ),
    "median of dates": lambda source, coins: postri.median(
        source, column="born", epsilon=1, domain=DAYS, coins=coins
    ),
    "median of timestamps": lambda source, coins: postri.median(
        source, column="seen", epsilon=1, domain=MOMENTS, coins=coins
    ),
    "median with a filter": lambda source, coins: postri.median(
        source,
        column="salary",
        epsilon=1,
        where="age < 40 AND city IN ('Oslo', 'Rome') AND rate IS NOT NULL",
        coins=coins,
    ),
    "quantiles": lambda source, coins: postri.quantiles(
        source, [0.75, 0.25, 0.5], column="age", epsilon=1, simultaneous=True, coins=coins
    ),
    "groups": lambda source, coins: postri.ask(
        source,
        {"mid": agg.median("age"), "high": agg.quantile("rate", "0.9", domain=RATES)},
        by={"city": ["Oslo", "Rome", "Nowhere"]},
        epsilon=1,
        coins=coins,
    ),
    "two columns of keys": lambda source, coins: postri.ask(
        source,
        {"n": agg.count(), "mid": agg.median("age")},
        by={"city": ["Bergen", "Oslo"], "age": [20, 30, 40]},
        where="salary > 30000",
        epsilon=2,
        coins=coins,
    ),
    "count, sum, mean": lambda source, coins: postri.ask(
        source,
        {
            "n": agg.count(),
            "known": agg.count("salary"),
            "total": agg.sum("age", domain=AGES),
            "average": agg.mean("rate", domain=RATES),
        },
        by={"city": list(CITIES)},
        epsilon=1,
        weights={"n": 1, "known": 1, "total": 2, "average": 3},
        coins=coins,
    ),
    "units": lambda source, coins: postri.median(
        source, column="age", epsilon=1, protect=AddOrRemoveUnits("rider", rows=2), coins=coins
    ),
    "units in groups": lambda source, coins: postri.ask(
        source,
        {"n": agg.count(), "high": agg.quantile("age", "0.9")},
        by={"city": ["Oslo", "Rome"]},
        protect=ReplaceUnits("rider", rows=3),
        epsilon=1,
        coins=coins,
    ),
}

# Sources of one column without a name.
COLUMNS: dict[str, Callable[[], Any]] = {
    "range": lambda: range(1_000),
    "list": lambda: [i * 7 % 1_000 for i in range(1_000)],
    "texts": lambda: [1, "2", " 3.0 ", 2.5, "4 EUR", None, True, float("nan")] * 200,
    "few rows": lambda: [3, 1, 2],
    "no rows": lambda: [],
    "ties": lambda: [5] * 600 + list(range(400)),
    "int8": lambda: (np.arange(1_000) % 90).astype(np.int8),
    "uint64": lambda: np.arange(1_000, dtype=np.uint64) * np.uint64(10**15),
    "bool": lambda: np.arange(1_000) % 3 == 0,
    "strided": lambda: np.arange(3_000)[::3],
    "days": lambda: np.datetime64("2020-01-01") + np.arange(1_000),
    "objects": lambda: np.array([Decimal("1.5"), Fraction(7, 2), 4, None] * 250, dtype=object),
}

PARAMETERS: dict[str, dict[str, Any]] = {
    "confidence 0.5": {"confidence": "0.5"},
    "confidence 0.999999": {"confidence": "0.999999"},
    "split 0.1": {"split": 0.1},
    "split 9/10": {"split": "9/10"},
    "epsilon 1/100": {"epsilon": "1/100"},
    "epsilon 1e-12": {"epsilon": "1e-12"},
    "epsilon 50": {"epsilon": 50},
    "AddOrRemoveRows(5)": {"protect": AddOrRemoveRows(5)},
    "ReplaceRows(1)": {"protect": ReplaceRows(1)},
    "ReplaceRows(3)": {"protect": ReplaceRows(3)},
    "AddOrRemoveUnits": {"protect": AddOrRemoveUnits("rider", rows=1)},
    "ReplaceUnits": {"protect": ReplaceUnits("rider", rows=4)},
    "Depth gumbel": {"method": Depth("gumbel")},
    "depth by name": {"method": "depth"},
    "a domain": {"domain": AGES},
    "a coarse domain": {"domain": Domain(0, 120, step=10)},
    "a domain that is too tight": {"domain": Domain(50, 52)},
    "a filter that nothing passes": {"where": "age < 0"},
    "arithmetic in a filter": {"where": "age * 2 - 1 > rate / 2 AND NOT city LIKE 'O%'"},
    "CASE in a filter": {"where": "CASE WHEN vip THEN age ELSE 0 END > 30 OR born IS NULL"},
    "dates in a filter": {"where": "born BETWEEN DATE '1960-01-01' AND DATE '1980-06-30'"},
    "moments in a filter": {"where": "seen < TIMESTAMP '2024-06-01 12:00:00'"},
}

ASKED: dict[str, dict[str, Any]] = {
    "weights": {"weights": {"mid": 3, "n": "1/2"}},
    "simultaneous": {"simultaneous": True, "by": {"city": list(CITIES)}},
    "confidence": {"confidence": "0.9", "by": {"vip": [True, False]}},
    "replaced rows in groups": {"protect": ReplaceRows(2), "by": {"city": list(CITIES)}},
    "keys of dates": {"by": {"born": [date(1950, 1, 1), date(1950, 1, 14)]}},
    "units and a filter": {
        "protect": AddOrRemoveUnits("rider", rows=2),
        "where": "rate > 2",
        "by": {"city": ["Oslo"]},
    },
}

PLANS: dict[str, dict[str, Any]] = {
    "usual": {"rows": 45_000, "epsilon": 1},
    "reach": {"rows": 45_000, "reach": "0.001"},
    "p": {"rows": 45_000, "epsilon": 1, "p": "0.9"},
    "groups": {"rows": 45_000, "epsilon": "1/2", "groups": 7},
    "replaced rows": {
        "rows": 9_000,
        "epsilon": 1,
        "protect": ReplaceRows(2),
        "groups": 2,
        "p": 0.1,
    },
    "domain": {"rows": 9_000, "epsilon": "0.1", "domain": RATES},
    "few rows": {"rows": 10, "epsilon": "0.1"},
    "no rows": {"rows": 0, "epsilon": 1},
    "confidence": {"rows": 9_000, "epsilon": 1, "confidence": "0.999"},
    "split": {"rows": 9_000, "epsilon": 1, "split": "0.2"},
    "reach of groups": {"rows": 9_000, "reach": "0.05", "groups": 3, "p": "1/4"},
}

NOT_NUMBERS: list[Any] = [None, "", "one", "nan", "1/0", [], True, 1j, float("inf"), Decimal("NaN")]
WRONG: dict[str, list[Any]] = {
    "epsilon": [*NOT_NUMBERS, 0, -0.5, "-1/3", 10**7, "1e300"],
    "confidence": [*NOT_NUMBERS, 0, 1, 95, "1"],
    "split": [None, "x", 0, 1, 2],
    "domain": [(0, 10), "0..10", 10, {"lower": 0}],
    "protect": [None, 1, "rows", AddOrRemoveRows],
    "method": [None, 3, "dept", "xyz", ""],
    "coins": [7, "seed"],
    "column": ["salry", "Age", "zzz", 5, None, "city"],
    "where": [
        "",
        "age <",
        "agee < 3",
        "age < 'x'",
        "abs(age) > 1",
        "age = 1; DROP TABLE x",
        "age = 1 -- comment",
        "age IN (SELECT 1)",
        "age LIKE 'x'",
        "city > 3",
        "city LIKE city",
        "born < DATE '2024-02-30'",
        "age",
        "age + 1",
        7,
    ],
}
WRONG_DOMAINS: list[tuple[Any, ...]] = [
    (10, 0),
    (5, 5),
    (0, 10, 3),
    (0, 2**64),
    (0, 10, 0),
    (0, float("inf")),
    (None, 10),
    (0, "ten"),
    (0, "2024-01-31"),
    ("2024-02-30", "2024-03-30"),
    (date(2024, 1, 1), date(2024, 1, 31), "0.5"),
]
WRONG_AGGREGATES: list[Any] = [
    {},
    ["median(age)"],
    {"": "median(age)"},
    {1: "median(age)"},
    {"a": "mode(age)"},
    {"a": "median"},
    {"a": "median()"},
    {"a": "quantile(age)"},
    {"a": "quantile(age, 2)"},
    {"a": 7},
    {"a": "median(aeg)"},
    {"a": "median(city)"},
    {"a": "median(rate)"},
    {"a": "sum(age)"},
    {"a": "mean(rate)"},
    {"city": "median(age)"},
    {"a": "median(age)", "a_low": "median(age)"},
]
WRONG_ASKED: list[dict[str, Any]] = [
    {"weights": {"a": 1}},
    {"weights": {"a": 1, "b": 0}},
    {"weights": [1, 1]},
    {"weights": {"a": 1, "b": "much"}},
    {"by": ["city"]},
    {"by": {"city": []}},
    {"by": {"cty": ["Oslo"]}},
    {"by": {"city": "Oslo"}},
    {"by": {"city": ["Oslo", "Oslo"]}},
    {"by": {"city": [3]}},
    {"by": {"age": [1.5]}},
    {"by": {}},
    {"simultaneous": 1},  # no refusal here today; a session refuses it
    {"protect": AddOrRemoveUnits("nobody", rows=2)},
    {"protect": AddOrRemoveUnits("rate", rows=2)},
]
WRONG_PLANS: list[dict[str, Any]] = [
    {"rows": -1, "epsilon": 1},
    {"rows": True, "epsilon": 1},
    {"rows": 100},
    {"rows": 100, "epsilon": 1, "reach": "0.1"},
    {"rows": 100, "reach": 1},
    {"rows": 100, "reach": "0.001"},
    {"rows": 100, "epsilon": 1, "groups": 0},
    {"rows": 100, "epsilon": 1, "domain": (0, 1)},
]
NO_SOURCES: dict[str, Any] = {
    "None": None,
    "a number": 5,
    "a set": {1, 2},
    "two dimensions": np.zeros((3, 2), np.int64),
    "texts": np.array(["a"]),
    "floats without a step": np.array([1.5]),
    "no file": "nowhere.csv",
    "an unknown format": "nowhere.xlsx",
}


def ask_library(book: Book, folder: Path) -> None:
    """Everything in this file."""
    with sources(folder) as found:
        _ask_sources(book, found)
        _ask_parameters(book, postri.open(found["arrow"]))
        _refused(book, postri.open(found["arrow"]))
    _ask_columns(book)
    for name, how in PLANS.items():
        book.ask(f"plan/{name}", lambda how=how: postri.plan(**how))
    _ask_methods(book)
    _duckdb_statements(book)


def _ask_sources(book: Book, found: dict[str, Any]) -> None:
    for kind, source in found.items():
        for title, question in OF_EVERY_SOURCE.items():
            name = f"source/{kind}/{title}"
            # The same coins for every source: the answers must be the same as well.
            coins = book.coins(title)
            book.ask(name, lambda ask=question, given=source, coins=coins: ask(given, coins))


def _ask_columns(book: Book) -> None:
    for kind, make in COLUMNS.items():
        for p in ("0.5", "0.9"):
            name = f"column/{kind}/{p}"
            coins = book.coins(name)
            book.ask(
                name,
                lambda: postri.quantile(make(), p, epsilon=1, coins=coins),  # noqa: B023
            )


def _ask_parameters(book: Book, table: postri.Table) -> None:
    for name, how in PARAMETERS.items():
        given = {"column": "age", "epsilon": 1, "coins": book.coins(name), **how}
        book.ask(f"median/{name}", lambda given=given: postri.median(table, **given))
    for name, how in ASKED.items():
        wanted = {"mid": "median(age)", "n": agg.count()}
        given = {"epsilon": 1, "coins": book.coins(name), **how}
        book.ask(f"ask/{name}", lambda given=given, w=wanted: postri.ask(table, w, **given))
    for apart in (False, True):
        ps = [Fraction(i, 20) for i in range(1, 20)]
        name = f"quantiles/nineteen, simultaneous {apart}"
        how = {"column": "salary", "epsilon": 3, "simultaneous": apart, "coins": book.coins(name)}
        book.ask(name, lambda how=how, ps=ps: postri.quantiles(table, ps, **how))


def _refused(book: Book, table: postri.Table) -> None:
    for parameter, values in WRONG.items():
        for place, value in enumerate(values):
            how = {"column": "age", "epsilon": 1, parameter: value}
            book.ask(
                f"refused/median/{parameter}/{place}", lambda how=how: postri.median(table, **how)
            )
    for place, p in enumerate([*NOT_NUMBERS, 0, 1, 50, "1"]):
        book.ask(
            f"refused/quantile/{place}",
            lambda p=p: postri.quantile(table, p, column="age", epsilon=1),
        )
    for place, ps in enumerate(["0.5", 0.5, None, [], [0.5, 2]]):
        book.ask(
            f"refused/quantiles/{place}",
            lambda ps=ps: postri.quantiles(table, ps, column="age", epsilon=1),
        )
    for place, bounds in enumerate(WRONG_DOMAINS):
        book.ask(f"refused/domain/{place}", lambda bounds=bounds: Domain(*bounds))
    for place, wanted in enumerate(WRONG_AGGREGATES):
        how = {"by": {"city": ["Oslo"]}, "epsilon": 1}
        book.ask(
            f"refused/aggregates/{place}", lambda w=wanted, how=how: postri.ask(table, w, **how)
        )
    for place, how in enumerate(WRONG_ASKED):
        two = {"a": "median(age)", "b": "count()"}
        book.ask(
            f"refused/ask/{place}", lambda how=how, w=two: postri.ask(table, w, epsilon=1, **how)
        )
    for place, how in enumerate(WRONG_PLANS):
        book.ask(f"refused/plan/{place}", lambda how=how: postri.plan(**how))
    for name, source in NO_SOURCES.items():
        book.ask(f"refused/source/{name}", lambda given=source: postri.median(given, epsilon=1))
    for change in (AddOrRemoveRows, ReplaceRows):
        for k in (0, 1.5, None, True):
            book.ask(f"refused/{change.__name__}/{k}", lambda change=change, k=k: change(k))


def published_methods() -> dict[str, Any]:
    """The methods of the papers, from the house that they live in."""
    try:
        from postri import PostRI, PostRISVT, Sun2023, Sun2023SVT  # type: ignore[attr-defined]
    except ImportError:
        from postri.research import PostRI, PostRISVT, Sun2023, Sun2023SVT
    return {
        "postri": PostRI(),
        "postri optimal": PostRI("optimal"),
        "postri 0.7": PostRI("0.7"),
        "postri median-focused": PostRI("median-focused"),
        "postri as released": PostRI(as_released=True),
        "postri optimal as released": PostRI("optimal", as_released=True),
        "postri svt": PostRISVT(),
        "sun": Sun2023(),
        "sun 4": Sun2023(4),
        "sun 9": Sun2023(9),
        "sun as released": Sun2023(as_released=True),
        "sun svt": Sun2023SVT(),
        "depth": Depth(),
        "depth gumbel": Depth("gumbel"),
    }


def _ask_methods(book: Book) -> None:
    """The numbers and the words of an answer apart: words may be mended without a number moving."""
    rows = [i * 7_919 % 40_009 for i in range(4_000)]
    ties = [i * i % 97 * 300 for i in range(4_000)]
    for name, method in published_methods().items():
        for shape, source in {"spread": rows, "ties": ties}.items():
            for epsilon in ("1/2", "4"):
                title = f"method/{name}/{shape}/{epsilon}"
                how = {
                    "method": method,
                    "epsilon": epsilon,
                    "domain": SALARIES,
                    "protect": ReplaceRows(1),
                    "confidence": "0.99",
                    "coins": book.coins(title),
                }
                found: list[postri.Answer] = []

                def numbers(source=source, how=how, found=found) -> Any:  # noqa: ANN001
                    found.append(postri.median(source, **how))
                    return found[0].to_dict()

                book.ask(title, numbers)
                book.ask(f"{title}/words", lambda found=found: found[0])
        book.ask(
            f"refused/method/{name}/change",
            lambda m=method: postri.median(rows, method=m, epsilon=1, domain=SALARIES).method,
        )
        how = {"method": method, "epsilon": 1, "protect": ReplaceRows(1)}
        book.ask(
            f"refused/method/{name}/no domain", lambda how=how: postri.median(rows, **how).method
        )


def _duckdb_statements(book: Book) -> None:
    """The texts that DuckDB ran for a question, by its own log."""
    for title, question in OF_EVERY_SOURCE.items():
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE staff AS FROM 'staff.parquet'")
            connection.execute("CALL enable_logging('QueryLog')")
            question(connection.table("staff"), book.coins(title))
            log = "SELECT message FROM duckdb_logs WHERE type = 'QueryLog'"
            texts = [row[0] for row in connection.execute(log).fetchall()]
        book.keep_statements(f"statements/duckdb/{title}", texts)
