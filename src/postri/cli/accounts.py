"""How `postri budget` shows what was spent and what is left, by dataset and analyst."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from postri.errors import LedgerError
from postri.exact import plain

if TYPE_CHECKING:
    from rich.table import Table

    from postri.ledger import Account, Ledger

WIDTH = 20


@dataclass(frozen=True)
class Line:
    """One line of the table; a limit of None means that there is none."""

    name: str
    limit: Fraction | None
    spent: Fraction
    entries: int


def check(ledger: Ledger, expected_head: str | None = None) -> None:
    """Verify the ledger, and say every problem."""
    from postri.ledger import verify

    problems = verify(ledger, expected_head)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise LedgerError(
            f"the ledger is not good: {len(problems)} problem{'s' * (len(problems) > 1)}, see above"
        )
    typer.echo(
        "the ledger is good: its chain is whole, its totals are right, and it fits its head",
        err=True,
    )


def save_trail(ledger: Ledger, file: str) -> None:
    """Write the audit trail to a CSV file."""
    from postri.ledger import export_csv

    try:
        with open(file, "w", encoding="utf-8", newline="") as target:
            export_csv(ledger, target)
    except OSError as error:
        raise LedgerError(
            f"the trail cannot be written to {file!r} ({error.strerror}): name another file"
        ) from None
    typer.echo(f"saved {file}", err=True)


def as_json(accounts: Sequence[Account], ledger: Ledger) -> dict[str, dict[str, str | int]]:
    """Budget, spent and remaining as exact rationals, by dataset."""
    return {
        account.dataset: {
            "budget": str(account.budget),
            "spent": str(lines[0].spent),
            "remaining": str(account.budget - lines[0].spent),
            "entries": lines[0].entries,
        }
        for account, lines in _accounts(accounts, ledger)
    }


def show(accounts: Sequence[Account], ledger: Ledger) -> None:
    """A table with a bar of what is left: a line per dataset, and below it one per analyst."""
    from rich.console import Console

    console = Console()
    console.print(
        _table(_accounts(accounts, ledger), ascii_only=not _can_draw(sys.stdout.encoding))
    )


def _accounts(accounts: Sequence[Account], ledger: Ledger) -> Iterator[tuple[Account, list[Line]]]:
    """Each account with its line, then the lines of its analysts."""
    from postri.ledger import DatasetUsage, Usage

    summary = ledger.summary()
    for account in accounts:
        usage, epsilon = summary.get(account.dataset, DatasetUsage()), account.accountant.epsilon
        lines = [Line(account.dataset, account.budget, epsilon(usage.cost), usage.entries)]
        for analyst in sorted({*account.allowances, *usage.analysts}):
            own = usage.analysts.get(analyst, Usage())
            lines.append(
                Line(analyst, account.allowances.get(analyst), epsilon(own.cost), own.entries)
            )
        yield account, lines


def _table(accounts: Iterator[tuple[Account, list[Line]]], *, ascii_only: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.ASCII if ascii_only else box.SIMPLE_HEAD, expand=False)
    for name in ("dataset, analyst", "what is left"):
        table.add_column(name, overflow="fold", no_wrap=name == "what is left")
    for name in ("left", "spent", "of", "entries"):
        table.add_column(name, justify="right", no_wrap=True)
    for account, (whole, *analysts) in accounts:
        note = "" if str(account.accountant) == "pure" else f" ({account.accountant})"
        # Names are texts of others: Text keeps them from being read as markup.
        table.add_row(Text(whole.name + note, style="bold"), *_cells(whole, ascii_only=ascii_only))
        for line in analysts:
            table.add_row(Text(f"  {line.name}"), *_cells(line, ascii_only=ascii_only))
    return table


def _cells(line: Line, *, ascii_only: bool) -> tuple[str, ...]:
    """The bar, what is left, what was spent, the limit, the number of entries."""
    if line.limit is None:
        return ("", "", short(line.spent), "", str(line.entries))
    left = line.limit - line.spent
    return (
        bar(left, line.limit, ascii_only=ascii_only),
        short(left),
        short(line.spent),
        short(line.limit),
        str(line.entries),
    )


def bar(left: Fraction, limit: Fraction, *, ascii_only: bool = False) -> str:
    """What is left of a limit; not full once anything was spent, and not empty while anything is
    left.

    >>> bar(Fraction(9, 2), Fraction(5), ascii_only=True)
    '##################..'
    """
    share = max(left, Fraction(0)) / limit if limit else Fraction(0)
    filled = min(max(round(share * WIDTH), int(share > 0)), WIDTH - int(share < 1))
    full, empty = ("#", ".") if ascii_only else ("█", "░")
    return full * filled + empty * (WIDTH - filled)


def short(number: Fraction) -> str:
    """A number that fits a column: exact if it is a short decimal, else to four digits.

    >>> short(Fraction(9, 2)), short(Fraction(1, 3)), short(Fraction("1.660035732605"))
    ('4.5', '0.3333', '1.66')
    """
    text = plain(number)
    return text if len(text) <= 7 and "/" not in text else f"{float(number):.4g}"


def _can_draw(encoding: str | None) -> bool:
    try:
        "█░".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
