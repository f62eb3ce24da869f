"""Questions to a policy through a session: asked, put in SQL, priced, recorded, refused."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import postri
from golden.book import Book
from postri import Session, agg

POLICY = """
[datasets.staff]
source = "{source}"
version = "1"
budget = "{budget}"
{dataset}
[datasets.staff.columns.salary]
type = "integer"
lower = 0
upper = 100000
[datasets.staff.columns.age]
type = "integer"
lower = 18
upper = 120
[datasets.staff.columns.rate]
type = "float"
lower = 0
upper = 10
step = "0.25"
[datasets.staff.columns.born]
type = "date"
lower = 1940-01-01
upper = 2019-12-31
[datasets.staff.columns.city]
type = "text"
keys = ["Oslo", "Bergen", "Nowhere"]
[datasets.staff.columns.vip]
type = "{truth}"
keys = {truths}
[datasets.staff.columns.rider]
type = "integer"
"""
ROWS = 'rows = 3000\nprotect = { change = "add-or-remove-rows", rows = 1 }'
UNITS = 'protect = { change = "add-or-remove-units", unit = "rider", rows = 2 }'
ZCDP = ROWS + '\naccountant = "zcdp"\ndelta = "1e-6"'
LIMITED = ROWS + '\nmax_epsilon_per_question = "2"\nallowances = { ann = "5/2", bob = 1 }'
TABLE = '\ntable = "main.staff"'

Question = Callable[[Session], Any]
QUESTIONS: dict[str, Question] = {
    "median": lambda db: db.median("staff", "salary", epsilon=1),
    "median again": lambda db: db.median("staff", "salary", epsilon="1.0"),
    "quantile": lambda db: db.quantile("staff", "rate", "0.9", epsilon="0.5", where="age < 40"),
    "median of dates": lambda db: db.median("staff", "born", epsilon=1, confidence="0.9"),
    "count": lambda db: db.count("staff", epsilon="1/3"),
    "count of cells": lambda db: db.count("staff", "salary", epsilon="1/3"),
    "sum": lambda db: db.sum("staff", "age", epsilon=1),
    "mean": lambda db: db.mean("staff", "rate", epsilon=1, fresh=True),
    "several": lambda db: db.ask(
        "staff",
        {"mid": agg.median("salary"), "n": agg.count(), "average": "mean(age)"},
        by=["city"],
        where="rate > 1 AND age BETWEEN 20 AND 60",
        epsilon=2,
        weights={"mid": 2, "n": 1, "average": 1},
    ),
    "several in other words": lambda db: db.ask(
        "staff",
        {"a": "mean(age)", "rows": "COUNT(*)", "m": "quantile(salary, 1/2)"},
        by=["city"],
        where="60 >= age AND 1 < rate AND age >= 20.0",
        epsilon="2.0",
        weights={"m": "0.5", "rows": "1/4", "a": "0.25"},
    ),
    "several, fresh": lambda db: db.ask("staff", {"n": "count()"}, epsilon="1/3", fresh=True),
    "retried": lambda db: db.ask("staff", {"n": "count()"}, epsilon="1/5", retry="key"),
    "retried again": lambda db: db.ask("staff", {"n": "count()"}, epsilon="1/5", retry="key"),
    "retried with another": lambda db: db.ask("staff", {"n": "sum(age)"}, epsilon=1, retry="key"),
    "two columns of keys": lambda db: db.ask(
        "staff", {"q": "quantile(age, 0.75)"}, by=["vip", "city"], epsilon=1, simultaneous=True
    ),
    "price": lambda db: db.price(
        "staff", {"mid": "median(salary)", "n": "count()", "m": "mean(age)"}, epsilon=1
    ),
    "price of groups": lambda db: db.price(
        "staff",
        {"s": "sum(age)", "m": "mean(rate)", "q": "quantile(born, 0.9)"},
        by=["city", "vip"],
        epsilon="1/2",
        simultaneous=True,
        weights={"s": 1, "m": 2, "q": 3},
    ),
    "price of what is recorded": lambda db: db.price("staff", {"n": "count()"}, epsilon="1/3"),
    "price of a fresh one": lambda db: db.price(
        "staff", {"n": "count()"}, epsilon="1/3", fresh=True
    ),
    "price beyond the budget": lambda db: db.price("staff", {"n": "count()"}, epsilon=1_000),
    "price of a text": lambda db: db.price(
        "SELECT city, MEDIAN(age) AS m, COUNT(*) / 2 AS n FROM staff GROUP BY city", epsilon=1
    ),
    "beyond the budget": lambda db: db.ask("staff", {"n": "count()"}, epsilon=1_000),
    "datasets": lambda db: db.describe(),
}

GROUPED = "SELECT city, COUNT(*) AS n, HIGH(n) AS up FROM staff GROUP BY city "
TEXTS = [
    "SELECT COUNT(*) FROM staff",
    "select median(Salary) as mid, count(*) from STAFF where age < 40;",
    "SELECT city, MEDIAN(salary) AS mid, COUNT(*) AS n FROM staff WHERE age < 40 "
    "GROUP BY city ORDER BY mid DESC",
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY rate DESC) AS low FROM staff",
    "SELECT QUANTILE_CONT(age, 1/4) AS q, QUANTILE(age, 0.75) AS r FROM staff",
    "SELECT vip, SUM(age) AS s, AVG(rate) AS a FROM staff GROUP BY vip",
    "SELECT vip, city, MEDIAN(born) AS m FROM staff GROUP BY city, vip",
    "SELECT COUNT(*) AS n, COUNT(*) * 3 AS thrice, 2 - COUNT(*) AS less FROM staff",
    "SELECT MEDIAN(salary) * 12 AS year, -MEDIAN(salary) / 4 AS quarter FROM staff",
    "SELECT SUM(age) / MEDIAN(age) AS ratio FROM staff",
    "SELECT MEDIAN(salary / 100) AS m, AVG(age + salary) AS a FROM staff",
    "SELECT SUM(CASE WHEN age < 40 THEN age ELSE 0 END) AS s FROM staff",
    "SELECT COUNT(COALESCE(salary, 0)) AS n, COUNT(salary) AS k FROM staff",
    "SELECT LOW(n), COUNT(*) AS n, HIGH(n) AS most FROM staff",
    "SELECT COUNT(*) AS n FROM staff HAVING n < 0",
    "SELECT COUNT(*) AS n FROM staff HAVING MEDIAN(age) > 30 AND NOT (n = 5 OR n <> 6)",
    "SELECT MEDIAN(born) AS day FROM staff HAVING day > DATE '1951-01-01'",
    "SELECT COUNT(*) AS n FROM staff WHERE (age < 40 OR rate > 2) AND born > DATE '1960-01-01'",
    "SELECT COUNT(*) AS n FROM staff WHERE city LIKE 'O%' AND salary IS NOT NULL AND rider < 500",
    GROUPED,
    GROUPED + "ORDER BY n",
    GROUPED + "ORDER BY n DESC LIMIT 2",
    GROUPED + "ORDER BY city LIMIT 1 OFFSET 1",
    GROUPED + "HAVING n > 100 ORDER BY 2, 1 DESC",
    GROUPED + "HAVING city <> 'Nowhere' AND n + 1 > n",
]
REFUSED_TEXTS = [
    "SELECT * FROM staff",
    "SELECT age FROM staff",
    "SELECT city FROM staff GROUP BY city",
    "SELECT 1 FROM staff",
    "SELECT age + 1 FROM staff",
    "SELECT COUNT(*) > 3 FROM staff",
    "SELECT MIN(age) FROM staff",
    "SELECT MAX(age) FROM staff",
    "SELECT STDDEV(age) FROM staff",
    "SELECT MODE(city) FROM staff",
    "SELECT ARRAY_AGG(age) FROM staff",
    "SELECT COUNT(DISTINCT age) FROM staff",
    "SELECT APPROX_COUNT_DISTINCT(age) FROM staff",
    "SELECT MEDIAN(age) OVER () FROM staff",
    "SELECT COUNT(*) FILTER (WHERE age < 3) FROM staff",
    "SELECT RANDOM() FROM staff",
    "SELECT MEDIAN(slary) FROM staff",
    "SELECT MEDIN(age) FROM staff",
    "SELECT COUNT(*) FROM stuff",
    "SELECT COUNT(*) FROM staff WHERE agee < 3",
    "SELECT COUNT(*) FROM staff GROUP BY cty",
    "SELECT COUNT(*) FROM staff GROUP BY age",
    "SELECT COUNT(*) FROM staff GROUP BY city, city",
    'SELECT MEDIAN("Age") FROM staff',
    "SELECT COUNT(*) AS n, LOW(m) FROM staff",
    "SELECT COUNT(*) AS n FROM staff ORDER BY m",
    "SELECT COUNT(*) AS n FROM staff HAVING m > 3",
    "SELECT MEDIAN(city) FROM staff",
    "SELECT SUM(born) FROM staff",
    "SELECT SUM(rider) FROM staff",
    "SELECT MEDIAN(born) + 1 FROM staff",
    "SELECT COUNT(*) n FROM staff HAVING n = 'x'",
    "SELECT COUNT(*) n FROM staff HAVING n > 1 AND 3",
    "SELECT COUNT(*) / SUM(age) FROM staff",
    "SELECT COUNT() FROM staff",
    "SELECT SUM(age, salary) FROM staff",
    "SELECT QUANTILE_CONT(age, 2) FROM staff",
    "SELECT PERCENTILE_CONT(0.5) FROM staff",
    "SELECT COUNT(*) AS n, 1 + LOW(n) FROM staff",
    "SELECT",
    "SELECT COUNT(*) FROM staff WHERE",
    "SELECT COUNT(*) FROM staff LIMIT 1.5",
    "SELECT COUNT(*) FROM staff GROUP BY city WHERE age < 3",
    "SELECT COUNT(*) a, COUNT(age) a FROM staff",
    "SELECT (COUNT(*) FROM staff",
    "SELECT COUNT(*) FROM staff JOIN x ON 1 = 1",
    "SELECT COUNT(*) FROM (SELECT * FROM staff)",
    "WITH t AS (SELECT 1) SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM staff UNION SELECT COUNT(*) FROM staff",
    "DROP TABLE staff",
    "SELECT COUNT(*) FROM staff; SELECT 1",
    "SELECT COUNT(*) -- all\nFROM staff",
    "SELECT COUNT(*) FROM staff WHERE sin(age) > 0",
    "SELECT COUNT(*) FROM staff WHERE age LIKE city",
    "SELECT COUNT(*) FROM staff WHERE age = 'x'",
    "SELECT COUNT(*) FROM staff WHERE city < 3",
    "SELECT MEDIAN(age / 0) FROM staff",
    "SELECT MEDIAN(city || 'x') FROM staff",
    7,
]
N = {"n": "count()"}
REFUSED: dict[str, Question] = {
    "dataset": lambda db: db.ask("stuff", N, epsilon=1),
    "column": lambda db: db.median("staff", "seen", epsilon=1),
    "count of a column": lambda db: db.count("staff", "secret", epsilon=1),
    "filter": lambda db: db.ask("staff", N, where="seen IS NULL", epsilon=1),
    "filter of another kind": lambda db: db.ask("staff", N, where="age = 'x'", epsilon=1),
    "by a column": lambda db: db.ask("staff", N, by=["secret"], epsilon=1),
    "by without keys": lambda db: db.ask("staff", N, by=["age"], epsilon=1),
    "by a text": lambda db: db.ask("staff", N, by="city", epsilon=1),
    "by keys": lambda db: db.ask("staff", N, by={"city": ["Oslo"]}, epsilon=1),
    "by twice": lambda db: db.ask("staff", N, by=["city", "city"], epsilon=1),
    "simultaneous": lambda db: db.ask("staff", N, simultaneous=1, epsilon=1),
    "epsilon": lambda db: db.ask("staff", N, epsilon=0),
    "confidence": lambda db: db.ask("staff", N, epsilon=1, confidence=1),
    "weights": lambda db: db.ask("staff", N, epsilon=1, weights={"m": 1}),
    "fresh": lambda db: db.ask("staff", N, epsilon=1, fresh="yes"),
    "retry": lambda db: db.ask("staff", N, epsilon=1, retry=""),
    "names": lambda db: db.ask("staff", {"city": "count()"}, by=["city"], epsilon=1),
    "no aggregates": lambda db: db.ask("staff", {}, epsilon=1),
    "an unknown aggregate": lambda db: db.ask("staff", {"a": "mode(age)"}, epsilon=1),
    "a domain": lambda db: db.ask(
        "staff", {"a": agg.median("age", domain=postri.Domain(0, 1))}, epsilon=1
    ),
    "a sum without bounds": lambda db: db.sum("staff", "rider", epsilon=1),
    "a sum of dates": lambda db: db.sum("staff", "born", epsilon=1),
    "a median of texts": lambda db: db.median("staff", "city", epsilon=1),
    "a parameter": lambda db: db.median("staff", "age", epsilon=1, wher="age < 3"),
    "budget": lambda db: db.budget("stuff"),
    "answers": lambda db: db.answers(limit=0),
    "answers before": lambda db: db.answers(before="x"),
}


def write_policy(folder: Path, kind: str, dataset: str = ROWS, budget: str = "100") -> Path:
    """A policy for the staff, with a ledger of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    # A CSV file holds no truths: they are texts there.
    truth, truths = ("text", '["true", "false"]') if kind == "csv" else ("boolean", "[true, false]")
    # By a link, so that the policy names no path.
    source = folder / f"staff.{kind}"
    if not source.exists():
        source.symlink_to(folder.parent / source.name)
    table = TABLE if kind == "duckdb" else ""
    text = POLICY.format(
        source=source.name, dataset=dataset + table, budget=budget, truth=truth, truths=truths
    )
    path = folder / "postri.toml"
    path.write_text(text)
    return path


def ask_sessions(book: Book, folder: Path) -> None:
    """Everything in this file."""
    for kind in ("csv", "parquet", "duckdb"):
        path = write_policy(folder / f"session-{kind}", kind)
        with postri.connect(path, analyst="ann") as db:
            _ask(book, f"session/{kind}", db)
            for text in TEXTS:
                book.ask(f"sql/{kind}/{text}", lambda db=db, text=text: db.sql(text, epsilon=1))
        _keep_ledger(book, f"ledger/{kind}", path)
    path = write_policy(folder / "session-refused", "parquet", LIMITED, budget="3")
    with postri.connect(path, analyst="ann") as db:
        _refuse(book, db)
    for name, dataset in {"zcdp": ZCDP, "units": UNITS, "limited": LIMITED}.items():
        path = write_policy(folder / f"session-{name}", "parquet", dataset, budget="9")
        with postri.connect(path, analyst="ann") as db:
            _ask(book, f"session/{name}", db)
        with postri.connect(path, analyst="bob") as db:
            book.ask(f"session/{name}/bob", lambda db=db: db.count("staff", epsilon="3/2"))
            book.ask(f"session/{name}/bob's budget", lambda db=db: db.budget())
        _keep_ledger(book, f"ledger/{name}", path)


def _ask(book: Book, name: str, db: Session) -> None:
    for title, question in QUESTIONS.items():
        book.ask(f"{name}/{title}", lambda ask=question: ask(db))
    book.ask(f"{name}/budget", lambda: [db.budget(), str(db.budget("staff")["staff"])])
    book.ask(f"{name}/answers", lambda: [_past(past) for past in db.answers(limit=5)])
    book.ask(f"{name}/older answers", lambda: [_past(past) for past in db.answers("9", 2)])


def _refuse(book: Book, db: Session) -> None:
    for title, question in REFUSED.items():
        book.ask(f"refused/session/{title}", lambda ask=question: ask(db))
    for text in REFUSED_TEXTS:
        book.ask(f"refused/sql/{text}", lambda text=text: db.sql(text, epsilon=1))
    book.ask("refused/session/nothing was spent", db.budget)
    book.ask("refused/connect/policy", lambda: postri.connect("nowhere.toml"))
    book.ask("refused/connect/analyst", lambda: postri.connect("postri.toml", analyst=" "))
    book.ask("refused/connect/token", lambda: postri.connect("postri.toml", token="x"))
    book.ask("refused/connect/no token", lambda: postri.connect("https://localhost"))


def _past(past: Any) -> dict[str, Any]:
    return {
        "answer_id": past.answer_id,
        "dataset": past.dataset,
        "question": past.question.to_fields(),
        "epsilon": str(past.epsilon),
        "status": past.status,
        "reason": past.reason,
        "result": None if past.result is None else str(past.result),
    }


def _keep_ledger(book: Book, name: str, policy: Path) -> None:
    """The entries of a ledger as they lie in its file, without their times and hashes."""
    with sqlite3.connect(policy.with_name("postri.ledger")) as connection:
        entries = connection.execute("SELECT kind, body FROM entries ORDER BY number").fetchall()
        asked = "SELECT analyst, wording FROM wordings ORDER BY reservation, analyst"
        wordings = connection.execute(asked).fetchall()
    connection.close()
    book.ask(f"{name}/entries", lambda: entries)
    book.ask(f"{name}/wordings", lambda: wordings)


def without_clock(text: str) -> list[dict[str, str]]:
    """The rows of a ledger's trail in CSV; the book leaves out times and hashes."""
    return list(csv.DictReader(text.splitlines()))
