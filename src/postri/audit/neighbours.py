"""The neighbours attack: the same questions with the same coins to two neighbouring tables, and
everything that can be seen from outside is written down: statements, charges, errors, log lines.

What was drawn may differ, and nothing else. Numbers in statements are the brackets of a scan, which
follow from a sample and decide its speed alone: they are left out.
"""

from __future__ import annotations

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

from postri.audit.attack import Attack, AttackNotes, Size
from postri.audit.scratch import (
    KINDS,
    Row,
    opened,
    plain_shape,
    scratch_folder,
    some_rows,
    spent,
    table_in_memory,
    write_policy,
)
from postri.audit.swapped import swapped
from postri.engines.duckdb import source as duckdb_source
from postri.errors import PostriError
from postri.ledger import StoredLedger
from postri.mechanisms.coins import SeededCoins
from postri.session.local import LocalSession

# What one more person's row may hold.
ODD: tuple[Row, ...] = (
    (5, 1.5, "a", 1),
    (2**62, 1e308, "a", 2**62),
    (-(2**62), -1e308, "z", -1),
    (None, None, None, None),
    (0, float("nan"), "", 0),
    (1000, float("inf"), "a'b\"c;--", 7),
    (-1000, float("-inf"), "x" * 5000, 7),
    (999, 0.125, "\x1f é 雪", 3),
    (1, 5e-324, "b", 4),
    (3, 10.0, "c", 2),
)
SIZES = (0, 1, 60, 400)
CHANGES = (
    'change = "add-or-remove-rows", rows = 1',
    'change = "add-or-remove-units", unit = "who", rows = 1',
)
AGGREGATES = (
    "median(x)",
    "quantile(x, 0.9)",
    "quantile(y, 0.01)",
    "count()",
    "count(g)",
    "sum(y)",
    "mean(x)",
    # Refused: another name, a column without an order, no such number.
    "median(secret)",
    "median(g)",
    "quantile(x, 2)",
)
PREDICATES = (
    None,
    "x > 5",
    "y / x > 1 OR g LIKE 'a%'",
    "x * 1000000000 > 5",
    "g IN ('a', 'b') AND NOT y < 3",
    "g IS NULL OR y BETWEEN 0 AND 5",
    "CASE WHEN x > 0 THEN y / x > 0 ELSE FALSE END",
    # Refused.
    "x > 'a'",
    "pg_sleep(9) > 0",
)
EPSILONS = ("1/4", "2", "1/2000", "9999999")


class Recorder(logging.Handler):
    """All that is seen while questions are asked."""

    def __init__(self) -> None:
        super().__init__(level=logging.NOTSET)
        self.seen: list[Any] = []
        self.statements = 0

    def emit(self, record: logging.LogRecord) -> None:
        """A log line, without its time."""
        self.seen.append(("log", record.name, record.levelname, record.getMessage()))

    def statement(self, text: str) -> None:
        """A statement without its numbers, however many."""
        self.statements += 1
        bare = re.sub(r"-?\b\d[\d.e+]*\b", "0", text)
        bare = re.sub(r"\(0(, 0)*\)(, \(0(, 0)*\))*", "(0)", bare)
        self.seen.append(("statement", bare))


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Everything that happens inside the block is written down."""
    root = logging.getLogger()
    level = root.level
    out = io.StringIO()
    with ExitStack() as stack:
        for owner in (duckdb_source.Database, duckdb_source.RelationSource):
            stack.enter_context(swapped(owner, "columns", _told(owner.columns, recorder)))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(out))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        root.addHandler(recorder)
        root.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            root.removeHandler(recorder)
            root.setLevel(level)
    recorder.seen.append(("said", out.getvalue()))
    recorder.seen.append(("warnings", [str(each.message) for each in warned]))


def _told(original: Any, recorder: Recorder) -> Any:
    """The same function; its statement is written down first."""

    def columns(source: Any, query: str, *given: Any, **named: Any) -> Any:
        recorder.statement(query)
        return original(source, query, *given, **named)

    return columns


def random_question(random: Random) -> dict[str, Any]:
    """A question, right or wrong."""
    number = random.choice((1, 1, 2))
    asked: dict[str, Any] = {
        "aggregates": {f"a{i}": random.choice(AGGREGATES) for i in range(number)},
        "where": random.choice(PREDICATES),
        "epsilon": random.choice(EPSILONS[:1] * 6 + EPSILONS),
        "fresh": random.random() < 0.5,
    }
    if random.random() < 0.3:
        asked["by"] = ["g"]
    return asked


def replay(
    session: LocalSession, ledger: StoredLedger, questions: list[dict[str, Any]]
) -> list[Any]:
    """Ask all questions, and return all that was seen."""
    recorder = Recorder()
    for question in questions:
        given = dict(question)
        with recording(recorder):
            try:
                result = session.ask("people", given.pop("aggregates"), **given)
            except PostriError as error:
                recorder.seen.append(("error", type(error).__name__, str(error), error.spent))
            else:
                recorder.seen.append(("answer", plain_shape(json.loads(result.to_json()))))
        recorder.seen.append(("spent", spent(ledger)))
    entries = [type(entry).__name__ for entry in ledger.entries()]
    recorder.seen.append(("entries", entries))
    return recorder.seen


def seen_on(
    folder: Path, kind: str, rows: list[Row], protect: str, questions: list[dict[str, Any]]
) -> list[Any]:
    """All that is seen of a table of this kind."""
    file_kind = "csv" if kind == "memory" else kind
    path = write_policy(folder, file_kind, rows, budget="40", protect=protect)
    seeds = iter(range(10**6))
    table = None
    if kind == "memory":
        table = table_in_memory(rows)
    with opened(path, lambda: SeededCoins(next(seeds)), in_memory=table) as (session, ledger):
        return replay(session, ledger, questions)


def try_pair(notes: AttackNotes, kind: str, number: int, random: Random, asked: int) -> int:
    """One pair of neighbours of a kind; returns how many things were compared."""
    odd = ODD[number % len(ODD)]
    base = some_rows(SIZES[number % len(SIZES)])
    protect = CHANGES[number % len(CHANGES)]
    questions = [random_question(random) for _ in range(asked)]
    with scratch_folder() as folder:
        one, other = (
            seen_on(folder / str(side), kind, rows, protect, questions)
            for side, rows in enumerate((base, [*base, odd]))
        )
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            notes.findings.append(
                f"{kind}, {len(base)} rows and row {number % len(ODD)}: {mine} or {theirs}"
            )
            break
    else:
        if len(one) != len(other):
            notes.findings.append(f"{kind}, {len(base)} rows: {len(one)} or {len(other)} events")
    return len(one)


def attempt(size: Size, notes: AttackNotes) -> None:
    """Pairs of every kind of source that needs no server."""
    random = Random(size.seed)
    pairs, asked = 4, 4
    if size.full:
        pairs, asked = 40, 10
    compared = 0
    for kind in ("memory", *KINDS):
        for number in range(pairs):
            notes.tell(f"{kind}, pair {number + 1} of {pairs}")
            compared += try_pair(notes, kind, number, random, asked)
    notes.figures["pairs of tables"] = f"{pairs * (1 + len(KINDS))}"
    notes.figures["questions on each side"] = f"{pairs * (1 + len(KINDS)) * asked}"
    notes.figures["statements, charges, errors, log lines compared"] = f"{compared:,}"


ATTACK = Attack(
    name="neighbours",
    tried=(
        "the same random questions with the same coins on neighbouring tables: statements, "
        "charges, errors, log lines and shapes of answers must be identical"
    ),
    attempt=attempt,
)
