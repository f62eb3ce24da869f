"""`postri shell`: questions in SQL, one after the other, with the price before each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postri import system
from postri.cli import options as o
from postri.cli.output import shown_progress
from postri.cli.questions import Analyst
from postri.cli.wording import in_options
from postri.errors import InputError, PostriError, nearest

if TYPE_CHECKING:
    from postri.answer import Result
    from postri.session import Session

PROMPT = "postri> "
MORE = "   ...> "
WELCOME = "Questions in SQL end with a semicolon. \\? shows what else there is, \\q leaves."
HELP = """\
SELECT ... FROM ... ;     a question; its price is shown first
\\d                        the datasets; \\d NAME the columns of one
\\budget                   what is left
\\epsilon E                what each question may cost (now {epsilon}), if it has no WITHIN
\\expect N                 about how many rows match, for forecasts; \\expect alone forgets it
\\plot FILE                the last result as a picture: .png, .svg or .pdf
\\q                        leave; so does Ctrl-D. Ctrl-C cancels"""
KEYWORDS = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "AS",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "IN",
    "DESC",
    "FILTER",
    "WITHIN",
)
# The functions of released values and of rows; those of statistics are in their registry.
FUNCTIONS = (
    "LOW",
    "HIGH",
    "COALESCE",
    "LEAST",
    "GREATEST",
    "ABS",
    "ROUND",
    "FLOOR",
    "CEIL",
    "CAST",
    "COUNTIF",
    "DATE_DIFF",
    "DATE_TRUNC",
    "EXTRACT",
    "WIDTH_BUCKET",
    "BINS",
)
COMMANDS = ("\\d", "\\budget", "\\epsilon", "\\expect", "\\plot", "\\q", "\\?")
HISTORY = "POSTRI_HISTORY"
LONGEST_HISTORY = 1_000
# The digits of a number of rows that is worth reading.
LONGEST_NUMBER = 18

Cost = Annotated[
    str, typer.Option("--epsilon", help="What each question may cost; \\epsilon changes it.")
]


def shell(epsilon: Cost = "0.1", analyst: Analyst = None, policy: o.Policy = "postri.toml") -> None:
    """Ask questions in SQL, one after the other."""
    import postri
    from postri.privacy import check_epsilon

    check_epsilon(epsilon)
    with postri.connect(policy, analyst=analyst) as session:
        Shell(session, epsilon).run()


class Shell:
    """A session at a terminal."""

    def __init__(self, session: Session, epsilon: str) -> None:
        self._session = session
        self._epsilon = epsilon
        self._expect: int | None = None
        self._last: Result | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "\\d": self._describe,
            "\\budget": lambda _: typer.echo(str(self._session.budget())),
            "\\epsilon": self._set_epsilon,
            "\\expect": self._set_expect,
            "\\plot": self._plot,
            "\\?": lambda _: typer.echo(HELP.format(epsilon=self._epsilon)),
        }

    def run(self) -> None:
        """Read and answer until the end."""
        typer.echo(WELCOME, err=True)
        with line_editing(self._words()):
            while (text := self._read()) is not None:
                if text:
                    self._answer(text)

    def _read(self) -> str | None:
        """A whole question or command; empty if it was cancelled, None at the end."""
        lines: list[str] = []
        try:
            while True:
                lines.append(input(self._prompt(lines)))
                text = "\n".join(lines).strip()
                if text == "\\q":
                    return None
                # A command needs no semicolon, and an empty line begins anew.
                if not text or text.endswith(";") or text.startswith("\\"):
                    return text
        except EOFError:
            typer.echo("", err=True)
            return "\n".join(lines).strip() or None
        except KeyboardInterrupt:
            typer.echo("", err=True)
            return ""

    def _prompt(self, before: list[str]) -> str:
        if not sys.stdin.isatty():
            return ""
        if before:
            return MORE
        return PROMPT

    def _answer(self, text: str) -> None:
        try:
            if text.startswith("\\"):
                self._command(text)
            else:
                self._ask(text)
        except PostriError as error:
            typer.echo(in_options(str(error)), err=True)
        except KeyboardInterrupt:
            typer.echo("cancelled; if the question had begun, it is paid for", err=True)
        except Exception as error:
            # The message of an exception that is not ours may carry a cell: only its kind is shown.
            typer.echo(f"failed with {type(error).__name__}", err=True)

    def _ask(self, text: str) -> None:
        """The price first, then the answer."""
        from postri.statistics.registry import WISH

        terms: dict[str, Any] = {"epsilon": self._epsilon, "expect": self._expect}
        if WISH.search(text):
            # What it costs follows from its wishes.
            terms["epsilon"] = None
        price = self._session.price(text, **terms)
        typer.echo(price.told("\\expect 30000"), err=True)
        if not self._agreed():
            return
        with shown_progress():
            self._last = self._session.sql(text, **terms)
        typer.echo(str(self._last))

    def _agreed(self) -> bool:
        """Whether to go on; what is not typed by a person needs no second word."""
        if not sys.stdin.isatty():
            return True
        try:
            return input("ask? [Y/n] ").strip().lower() in ("", "y", "yes")
        except EOFError:
            return False

    def _command(self, text: str) -> None:
        name, _, rest = text.rstrip(";").partition(" ")
        if name not in self._commands:
            raise InputError(f"there is no command {name}; \\? shows those that there are")
        self._commands[name](rest.strip())

    def _describe(self, name: str) -> None:
        datasets = self._session.describe()
        if not name:
            for each in datasets.values():
                typer.echo(f"{each.name}: {len(each.columns)} columns, version {each.version}")
            return
        if name not in datasets:
            raise InputError(f"there is no dataset {name!r}; {nearest(name, datasets)}")
        for column in datasets[name].columns.values():
            typer.echo(str(column))

    def _set_epsilon(self, text: str) -> None:
        from postri.exact import plain
        from postri.privacy import check_epsilon

        number = check_epsilon(text)
        self._epsilon = text
        typer.echo(f"each question may cost epsilon {plain(number)}")

    def _set_expect(self, text: str) -> None:
        from postri.question.rules import check_expect

        if not text:
            self._expect = None
            typer.echo("nothing is expected of the number of rows")
            return
        number: int | str = text
        if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER:
            number = int(text)
        self._expect = check_expect(number)
        typer.echo(f"about {self._expect:,} rows are expected to match")

    def _plot(self, file: str) -> None:
        from postri.answer.picture import check_file, save_result

        if self._last is None:
            raise InputError("there is no result yet; ask a question first")
        check_file(file)
        save_result(self._last, file)
        typer.echo(f"saved {file}")

    def _words(self) -> list[str]:
        """What can be completed."""
        from postri.statistics.registry import sql_functions

        functions = [f"{name}(" for name in (*sql_functions(), *FUNCTIONS)]
        datasets = self._session.describe()
        columns = {column for each in datasets.values() for column in each.columns}
        return [*KEYWORDS, *functions, *COMMANDS, *datasets, *sorted(columns)]


@contextmanager
def line_editing(words: list[str]) -> Iterator[None]:
    """History and completion, where Python was built with them."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(text: str, state: int) -> str | None:
        matches = [word for word in words if word.lower().startswith(text.lower())]
        if state >= len(matches):
            return None
        return matches[state]

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,;()<>=+-*/")
    readline.parse_and_bind("tab: complete")
    history = _history()
    with suppress(OSError):
        readline.read_history_file(history)
    try:
        yield
    finally:
        readline.set_history_length(LONGEST_HISTORY)
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            # Questions are nobody else's business.
            system.ensure(history)
            readline.write_history_file(history)


def _history() -> Path:
    if named := os.environ.get(HISTORY):
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "postri" / "history"
