"""The fuzz attack: SQL, policies, CSV files and requests that nobody would write.

Whatever comes in is answered, or refused by an error of ours with a message. No other exception, no
failure that was paid for, no hang, and over HTTP no status from 500 on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import postri
from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.fuzz_http import HTTP_SEEDS, HTTP_WORDS, http_attempt
from postri.audit.fuzzing import Fuzzer, FuzzTarget
from postri.audit.scratch import opened, scratch_folder, some_rows, table_in_memory, write_policy
from postri.errors import (
    BudgetExceeded,
    InputError,
    LedgerError,
    PolicyError,
    PostriError,
    QuestionFailed,
    SourceError,
)
from postri.policy import read_policy

# Errors that say what is wrong with what was given.
REFUSALS = (InputError, PolicyError, SourceError, BudgetExceeded)
# How many inputs are tried at least, however little time there is.
LEAST = 60

SQL_SEEDS = (
    b"SELECT MEDIAN(x) FROM people",
    b"SELECT g, COUNT(*) AS n, AVG(y) FROM people WHERE x > 5 GROUP BY g ORDER BY n DESC LIMIT 2",
    b"SELECT SUM(y) / COUNT(*) AS average FROM people WHERE g LIKE 'a%' OR y BETWEEN 1 AND 2.5",
    b"SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x DESC) FROM people AS p WHERE p.g = 'a'",
    b"SELECT g, MEDIAN(x * 2 + 1) AS m FROM people GROUP BY 1 HAVING LOW(m) > 5",
    b"SELECT COUNT(x) FROM people WHERE CASE WHEN x > 0 THEN COALESCE(y, 0) / x > 1 ELSE FALSE END",
    b"SELECT MEDIAN(x) FROM people WHERE g IN ('a', 'b') AND NOT (y IS NULL) AND -x < 10",
)
SQL_WORDS = tuple(
    word.encode()
    for word in (
        *("SELECT ", " FROM people", " WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT ", " HAVING "),
        *("MEDIAN(", "COUNT(*)", "SUM(y)", "AVG(x)", "QUANTILE(x, 0.5)", "MIN(x)", "LOW(", "HIGH("),
        *("(", ")", ",", "'", '"', "''", ";", "--", "/*", "*/", "%", "_", "\\", "\x00", "é", "雪"),
        *(" AND ", " OR ", " NOT ", " IN (", " LIKE '", " BETWEEN ", " IS NULL", " CASE WHEN "),
        *(" THEN ", " ELSE ", " END", " AS ", " DISTINCT ", " UNION ", " JOIN ", " OVER ()", "::"),
        *("x", "y", "g", "who", "1", "-", "+", "*", "/", "<", "=", "<>", "DATE '2024-02-30'"),
        *("CAST(x AS INT)", "COALESCE(", "NULLIF(", "ABS(", "ROUND(x, 2)", "EXTRACT(YEAR FROM x)"),
    )
)
POLICY_WORDS = tuple(
    word.encode()
    for word in (
        *('"', "'", '"""', "[", "]", "[[", "{ ", " }", "=", ".", "\n", "#", "\\u0000", "\\", "é"),
        *("true", "false", "nan", "inf", "2024-02-30", "1979-05-27T07:32:00Z", "[1, 2]", "{}"),
        *(
            "[datasets.people]\n",
            "[service]\n",
            "[datasets.people.columns.x]\n",
            "budget = ",
            "ledger",
        ),
        *("accountant = 'zcdp'\n", "delta = 1e-9\n", "header = false\n", "names = ['x']\n"),
        *(
            "keys = ['a', 1]\n",
            "step = 0\n",
            "lower = 9\n",
            "date_format = '%Y'\n",
            "tokens = 'x'\n",
        ),
        *("max_failures = 0\n", "questions = 1\n", "allowances = { ann = 1 }\n", "rows = -1\n"),
    )
)
CSV_SEEDS = (
    b"0x,y,g,who\n1,2.5,a,1\n-7,0.25,b,2\n,,c,\n",
    b'1x;y;g;who\n1;2,5;"a;b";1\n',
    b"2x\ty\tg\twho\r\n1\t2.5\ta\t1\r\n",
    b"3\xff\xfex\x00,\x00y\x00,\x00g\x00,\x00w\x00h\x00o\x00\n\x001\x00,\x002\x00,\x00a\x00,\x001\x00",
    b'4x,y,g,who\n1.000,2,"a""b",1\n2024-01-31,31.01.2024,\xe9,9\n',
)
CSV_TEXTS = (
    *("\n", "\r\n", "\r", ",", ";", "\t", '"', '""', '"""', "'", "\\", "\x00", "\ufeff", "é"),
    *("x", "x,y,g,who\n", "nan", "inf", "-0", "1e308", "1e-400", "0x1f", "1_000", "1,5", " "),
    *("2024-02-30", "true", "NULL", "#", "=cmd|x", "9" * 300, "\u2028", "\u0085", "\x1a"),
)
# Bytes that are no text in UTF-8 too.
CSV_WORDS = (
    *(word.encode() for word in CSV_TEXTS),
    *(b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80"),
)
CSV_STYLES: tuple[dict[str, str], ...] = (
    {},
    {"delimiter": ";", "decimal": ","},
    {"delimiter": "\t"},
    {"encoding": "utf-16"},
    {"encoding": "latin-1", "thousands": "'"},
    {"encoding": "cp1252", "quote": "'"},
)


def refused_or_done(work: Callable[[], object]) -> None:
    """Do it, or be refused with a message; whatever else comes out is a finding."""
    try:
        work()
    except (QuestionFailed, LedgerError):
        raise
    except REFUSALS as refusal:
        if not str(refusal).strip():
            raise AssertionError(f"{type(refusal).__name__} without a message") from None
    except PostriError:
        raise


@contextmanager
def sql_target() -> Iterator[FuzzTarget]:
    """Texts in SQL: the price first, which looks at no cell, and then an answer."""
    with scratch_folder() as folder:
        rows = some_rows(20)
        # A failure is a finding of its own; it must not close the dataset for what comes after.
        path = write_policy(folder, "csv", rows, more="max_failures = 1000000")
        with opened(path, in_memory=table_in_memory(rows)) as (session, _):

            def attempt(given: bytes) -> None:
                text = given.decode(errors="replace")

                def ask() -> None:
                    session.price(text, epsilon="1/100")
                    session.sql(text, epsilon="1/100")

                refused_or_done(ask)

            yield FuzzTarget("SQL", attempt, SQL_SEEDS, SQL_WORDS)


@contextmanager
def policy_target() -> Iterator[FuzzTarget]:
    """Files of a steward."""
    with scratch_folder() as folder:
        seeds = []
        for kind in ("csv", "duckdb"):
            seeds.append(write_policy(folder / kind, kind, some_rows(2)).read_bytes())
        file = folder / "fuzzed.toml"

        def attempt(given: bytes) -> None:
            file.write_bytes(given)
            refused_or_done(lambda: read_policy(file))

        yield FuzzTarget("policy", attempt, tuple(seeds), POLICY_WORDS)


@contextmanager
def csv_target() -> Iterator[FuzzTarget]:
    """Files of cells. The first byte chooses how they are said to be written."""
    with scratch_folder() as folder:
        file = folder / "fuzzed.csv"

        def attempt(given: bytes) -> None:
            style = CSV_STYLES[(given[:1] or b"0")[0] % 8 % len(CSV_STYLES)]
            file.write_bytes(given[1:])
            refused_or_done(lambda: _ask_file(file, style))

        yield FuzzTarget("CSV", attempt, CSV_SEEDS, CSV_WORDS)


def _ask_file(file: Path, style: dict[str, str]) -> None:
    types = {"x": "integer", "y": "float", "g": None}
    table = postri.open(file, columns=types, **style)  # type: ignore[arg-type]  # texts alone
    aggregates = {"mid": "median(x)", "n": "count(y)"}
    postri.ask(table, aggregates, where="g LIKE 'a%' OR y < 2", epsilon=1)


@contextmanager
def http_target() -> Iterator[FuzzTarget]:
    """Requests to the application that `postri serve` runs."""
    with scratch_folder() as folder:
        more = "max_failures = 1000000"
        service = "time_grid = 0\nrate = 1000000000"
        path = write_policy(folder, "csv", some_rows(20), more=more, service=service)
        with http_attempt(path) as attempt:
            yield FuzzTarget("HTTP", attempt, HTTP_SEEDS, HTTP_WORDS)


TARGETS: tuple[Callable[[], AbstractContextManager[FuzzTarget]], ...] = (
    sql_target,
    policy_target,
    csv_target,
    http_target,
)


def fuzz(
    make: Callable[[], AbstractContextManager[FuzzTarget]],
    size: Size,
    notes: AttackNotes,
    least: int = LEAST,
) -> None:
    """One target, for its share of the time."""
    with make() as target:
        found = Fuzzer(target, size.seed).run(size.fuzz_seconds, least, notes.tell)
        notes.figures[target.name] = (
            f"{found.inputs:,} inputs reached {found.lines:,} lines of postri, "
            f"{found.lines_of_seeds:,} of them by the first {len(target.seeds)}; "
            f"{found.kept:,} kept"
        )
        for crash in found.crashes.values():
            notes.findings.append(f"{target.name}: {crash.told()}")


def attempt(size: Size, notes: AttackNotes) -> None:
    """All four."""
    for make in TARGETS:
        fuzz(make, size, notes)
    notes.figures["seconds for each"] = f"{size.fuzz_seconds:.0f}"
    notes.figures["seed"] = str(size.seed)


ATTACK = Attack(
    name="fuzz",
    tried=(
        "SQL, policies, CSV files and requests changed at random, guided by the lines that "
        "they reach: answered or refused with a message, never anything else"
    ),
    attempt=attempt,
)
