"""What a wrong input is answered, in every place where one can ask: one page to review.

`docs/wrong-inputs.md` is compared exactly. Where a change is meant, `POSTRI_REWRITE_GOLDEN=1` with
these tests writes it anew: read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from serving import Served, in_thread

import postri
import wrong_inputs as wrong
from postri import agg, by
from postri.errors import BudgetExceeded, InputError, PolicyError, SourceError
from postri.policy import read_policy
from program import run

PAGE = Path(__file__).parent.parent / "docs" / "wrong-inputs.md"
ROWS = 40
# Cells that no message could hold by chance; those of `team` are public keys.
PRIVATE = {
    "name": [f"Quorra{row}x" for row in range(ROWS)],
    "salary": [4_711_000 + 37 * row for row in range(ROWS)],
    "rate": [float(f"0.81{row:02}7") for row in range(ROWS)],
    "since": [date(2017, 3, 9) + timedelta(days=row) for row in range(ROWS)],
}
UNREADABLE = "Zyzzyva"
INTRODUCTION = """\
# Wrong inputs

What users plausibly get wrong, and what they are told. A message names what was wrong and
what to do, in the words of the place where it appears: Python names its parameters, the command
line its options, a policy its keys with their lines, the service the keys of its JSON. No message
depends on a cell of the data, and what is refused costs nothing.

The tests ask every line of this page, and compare what comes back word by word. Some messages end
with the text and a mark below the place that is meant; here the marked part is given instead.
"""
TEAMS = ["blue", "red"] * (ROWS // 2)
CELLS = [UNREADABLE, *(str(cell) for cells in PRIVATE.values() for cell in cells)]
# What says that the input is wrong, and not that something broke.
ASKED_WRONG = (InputError, SourceError, PolicyError, BudgetExceeded)
# How click begins what it says of a misused command, and the line that tells what was wrong.
USAGE = "Usage:"
ERROR = "Error:"


def code(text: str) -> str:
    """As code in a cell of a table."""
    fence = "`"
    if "`" in text:
        fence = "``"
    lines = (line.replace("|", r"\|") for line in text.splitlines())
    return "<br>".join(f"{fence}{line}{fence}" for line in lines)


def said(message: str) -> str:
    """A message as a cell: where it ends with a text and a mark below it, what is marked."""
    lines = message.strip("\n").split("\n")
    if re.fullmatch(r" *\^+", lines[-1]):
        *lines, text, marks = lines
        marked = text[marks.index("^") : len(marks)]
        lines.append(f"marked: {marked or 'the end'}")
    return code("\n".join(line.strip() for line in lines))


@dataclass(frozen=True)
class Place:
    """Where one can ask, in words, with what is asked there and how."""

    name: str
    words: str
    columns: tuple[str, ...]
    cases: tuple[Any, ...]
    ask: Callable[[Desk, Any], tuple[str, ...]]


@dataclass(frozen=True)
class Answered:
    """A line of the page: the cells of its table, with what came back at the end."""

    cells: tuple[str, ...]
    spent: object


class Desk:
    """Where it is asked: a folder with the files, sessions on its policy, and a service of it."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._tokens = {"ann": served.ann, "sue": served.sue, "a wrong token": "ptr_wrong"}
        self._names = {
            **{name: getattr(postri, name) for name in postri.__all__},
            "postri": postri,
            "duckdb": duckdb,
            "agg": agg,
            "by": by,
            "df": data_frame(),
            "pay": postri.distribution(data_frame(), column="salary", epsilon=1),
            "db": postri.connect("postri.toml", analyst="ann"),
            "bob": postri.connect("postri.toml", analyst="bob"),
        }

    def close(self) -> None:
        for name in ("db", "bob"):
            self._names[name].close()

    def spent(self) -> object:
        """What the ledger of the sessions, the commands and the service knows of."""
        return self._served.service.ledger.summary()

    def python(self, text: str) -> tuple[str, ...]:
        with pytest.raises(ASKED_WRONG) as caught:
            eval(text, dict(self._names))
        return code(text), said(f"{type(caught.value).__name__}: {caught.value}")

    def sql(self, text: str) -> tuple[str, ...]:
        with pytest.raises(InputError) as caught:
            self._names["db"].sql(text, epsilon=1)
        return code(text), said(str(caught.value))

    def command(self, case: tuple[str, int]) -> tuple[str, ...]:
        text, exit_code = case
        assert exit_code in (2, 3)
        out, err = run(*shlex.split(text)[1:], code=exit_code)
        # What `postri check` finds is its result; everything else is said on standard error.
        assert (out == "") != ("check" in text)
        if err.startswith(USAGE):
            err = err[err.index(ERROR) :]
        return code(text), str(exit_code), said(out + err)

    def policy(self, case: tuple[str, str]) -> tuple[str, ...]:
        old, new = case
        assert wrong.POLICY.count(old) >= 1
        Path("other.toml").write_text(wrong.POLICY.replace(old, new, 1))
        with pytest.raises(PolicyError) as caught:
            read_policy("other.toml")
        _, problems = str(caught.value).split("\n", 1)
        return code(old), code(new or "(nothing)"), said(problems)

    def request(self, case: tuple[str, str, str]) -> tuple[str, ...]:
        who, request, body = case
        method, path = request.split()
        reply = self._served.send(method, path, body.encode() or None, self._tokens.get(who))
        assert 400 <= reply.status < 500
        outcome = f"{reply.status} {reply.code}"
        return who, code(request), code(body), outcome, said(reply.json["detail"])


PLACES: tuple[Place, ...] = (
    Place(
        "Python",
        "`df` is a data frame with the columns `name`, `team`, `salary`, `rate` and `since`; "
        "`staff.csv` holds the same.",
        ("written", "answered"),
        wrong.PYTHON,
        Desk.python,
    ),
    Place(
        "Sessions",
        "`db` is a session of ann on the [policy below](#policies); `bob` is one of bob, whose "
        "allowance is 1/2.",
        ("written", "answered"),
        wrong.SESSION,
        Desk.python,
    ),
    Place(
        "SQL",
        "Asked by `db.sql(..., epsilon=1)`.",
        ("written", "answered"),
        wrong.SQL,
        Desk.sql,
    ),
    Place(
        "The command line",
        "The exit code is 2 where the request is wrong, and 3 where the budget does not allow it. "
        "Where an option is missing or unknown, the usage of the command stands above the message.",
        ("written", "exit code", "answered"),
        wrong.COMMANDS,
        Desk.command,
    ),
    Place(
        "Policies",
        "Said by `postri check` and by whatever else reads a policy. What is written stands in "
        f"place of a part of this one:\n\n```toml\n{wrong.POLICY}```",
        ("in place of", "written", "answered"),
        wrong.POLICY_LINES,
        Desk.policy,
    ),
    Place(
        "The service",
        "The message is the `detail` of the reply. Ann has the token of an analyst, sue that of a "
        "steward.",
        ("who", "request", "body", "status and code", "answered"),
        wrong.REQUESTS,
        Desk.request,
    ),
)
EVERY = [(place, case) for place in PLACES for case in place.cases]
NAMES = [f"{place.name} {place.cases.index(case) + 1}" for place, case in EVERY]


@pytest.fixture(scope="module")
def answered(tmp_path_factory) -> dict[object, Answered]:
    """Every wrong input with what came back, each asked once."""
    folder = tmp_path_factory.mktemp("wrong")
    write_files(folder)
    with chdir(folder), in_thread(folder / "served.toml") as served:
        desk = Desk(served)
        found = {}
        for place, case in EVERY:
            cells = place.ask(desk, case)
            found[place.name, case] = Answered(cells, desk.spent())
        desk.close()
    return found


def data_frame() -> pd.DataFrame:
    frame = pd.DataFrame({**PRIVATE, "team": TEAMS})
    # Types that every version of pandas calls the same.
    return frame.astype({"name": "string", "team": "string", "since": "datetime64[us]"})


def write_files(folder: Path) -> None:
    (folder / "postri.toml").write_text(wrong.POLICY)
    (folder / "semicolons.toml").write_text(wrong.POLICY.replace("staff.csv", "semicolons.csv"))
    copied = wrong.POLICY.replace("datasets.staff", "datasets.copied").partition("[datasets")
    (folder / "copied.toml").write_text(wrong.POLICY + "".join(copied[1:]))
    (folder / "same-as-stuff.toml").write_text(
        wrong.POLICY.replace("rows = 1000", 'rows = 1000\nsame_people_as = "stuff"')
    )
    # The same ledger, for both policies lie in one folder.
    (folder / "served.toml").write_text(
        wrong.POLICY + "[service]\nport = 0\ntime_grid = 0\nrate = 1000000\n"
    )
    columns = {**PRIVATE, "team": TEAMS}
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    lines.append((UNREADABLE,) * len(columns))
    for name, mark in (("staff.csv", ","), ("semicolons.csv", ";")):
        (folder / name).write_text("".join(mark.join(map(str, line)) + "\n" for line in lines))
    (folder / "latin.csv").write_bytes("år;løn\n2024;7\n".encode("latin-1"))
    (folder / "staff.xlsx").write_bytes(b"PK")


def page(answered: dict[object, Answered]) -> str:
    parts = [INTRODUCTION]
    for place in PLACES:
        rows = [answered[place.name, case].cells for case in place.cases]
        lines = [place.columns, ("---",) * len(place.columns), *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        parts.append(f"## {place.name}\n\n{place.words}\n\n{table}")
    return "\n".join(parts)


@pytest.mark.slow
def test_the_answers_are_those_that_were_reviewed(answered):
    text = page(answered)
    if os.environ.get("POSTRI_REWRITE_GOLDEN"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text


def test_there_are_more_than_a_hundred():
    assert len(EVERY) == len({(place.name, case) for place, case in EVERY}) > 100


@pytest.mark.slow
@pytest.mark.parametrize(("place", "case"), EVERY, ids=NAMES)
def test_a_wrong_input_costs_nothing_and_tells_no_cell(place, case, answered):
    found = answered[place.name, case]
    assert found.spent == {}
    message = found.cells[-1]
    assert "Traceback" not in message and "please report it" not in message
    for cell in CELLS:
        assert cell not in message
    assert len(message) > 20


# How other places say it.
PYTHON_WORDS = re.compile(
    r"\b(domain|columns?|delimiter|method|protect|fresh|by)=|Domain\(|\bagg\."
)
OPTIONS = re.compile(r"(?<![\w-])--\w")
FOREIGN = {
    "Python": OPTIONS,
    "Sessions": re.compile(rf"{OPTIONS.pattern}|GROUP BY|COUNT\("),
    "SQL": re.compile(rf"{OPTIONS.pattern}|{PYTHON_WORDS.pattern}"),
    "The command line": PYTHON_WORDS,
    "Policies": re.compile(rf"{OPTIONS.pattern}|{PYTHON_WORDS.pattern}"),
    "The service": re.compile(rf"{OPTIONS.pattern}|{PYTHON_WORDS.pattern}|\b(True|False|None)\b"),
}


def test_messages_have_the_words_of_their_place(answered):
    messages = {(place.name, answered[place.name, case].cells[-1]) for place, case in EVERY}
    assert [each for place, each in messages if FOREIGN[place].search(each)] == []
