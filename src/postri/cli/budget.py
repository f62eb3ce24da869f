"""`postri budget`: what each dataset has left, by analyst, and the audit of its ledger."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.cli.closing import failure_lines
from postri.cli.output import say_saved, show_plain
from postri.errors import InputError, LedgerError
from postri.exact import plain

if TYPE_CHECKING:
    from rich.table import Table

    from postri.ledger import Account, Ledger
    from postri.policy import Policy

# How many signs a bar has.
WIDTH = 20

Verify = Annotated[
    bool, typer.Option("--verify", help="Check the ledger: edits, gaps, an old copy.")
]
Export = Annotated[str | None, typer.Option(metavar="FILE", help="Write the audit trail as CSV.")]
Backup = Annotated[str | None, typer.Option(metavar="FILE", help="Write a copy of the ledger.")]
Head = Annotated[
    bool, typer.Option("--head", help="Print where the ledger ends now, to be kept elsewhere.")
]
Expected = Annotated[
    str | None, typer.Option(metavar="HEAD", help="With --verify: a head that was kept elsewhere.")
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept-restored", help="Accept an older copy of the ledger; what it lost is charged."
    ),
]
AcceptProtection = Annotated[
    str | None,
    typer.Option(
        metavar="DATASET",
        help="Accept that what was spent counts as it stands under a protect that tells nothing "
        "of it.",
    ),
]


@dataclass(frozen=True)
class BudgetLine:
    """One line of the table; a limit of None means that there is none."""

    name: str
    limit: Fraction | None
    spent: Fraction
    entries: int


def budget(
    json: o.Json = False,
    verify: Verify = False,
    export: Export = None,
    backup: Backup = None,
    head: Head = False,
    expected_head: Expected = None,
    accept_restored: Accept = False,
    accept_protection: AcceptProtection = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """What each dataset has left, by analyst; and the audit of the ledger."""
    from json import dumps

    import postri
    from postri.policy import read_policy
    from postri.session.remote import is_url

    if is_url(policy):
        accept = accept_restored or accept_protection
        if verify or export or backup or head or expected_head or accept:
            raise InputError(
                "a service's ledger is audited where it lies: there, name the policy with --policy"
            )
        with postri.connect(policy) as session:
            show_plain(session.budget(), json=json)
        return
    found = read_policy(policy)
    # An audit opens a ledger that does not fit its head too: it is what finds that out.
    audit = verify or accept_restored or export is not None
    with found.open_ledger(audit=audit) as ledger:
        if accept_restored:
            charged = ledger.accept_restored()
            typer.echo(f"accepted: entry {charged} charges what was lost", err=True)
        if accept_protection is not None:
            _accept_protection(found, ledger, accept_protection)
        if verify:
            check_ledger(ledger, expected_head)
        if export is not None:
            save_trail(ledger, export)
        if backup is not None:
            ledger.backup(backup)
            say_saved(backup)
        if head:
            typer.echo(ledger.head().line)
        elif json:
            typer.echo(dumps(as_json(_accounts(found), ledger)))
        else:
            show(_accounts(found), ledger)
            for line in failure_lines(found, ledger):
                typer.echo(line)


def _accounts(policy: Policy) -> list[Account]:
    from postri.ledger import Account
    from postri.policy import people_of
    from postri.session.facts import accountant_of

    return [
        Account(
            dataset.name,
            dataset.budget,
            accountant_of(dataset),
            dataset.allowances,
            people_of(policy, dataset),
        )
        for dataset in policy.datasets.values()
    ]


def _accept_protection(policy: Policy, ledger: Ledger, name: str) -> None:
    from postri.policy import people_of
    from postri.session.session import check_dataset

    dataset = policy.datasets[check_dataset(name, policy.datasets)]
    numbers = ledger.accept_protection(name, people_of(policy, dataset))
    entries = " and ".join(map(str, numbers))
    typer.echo(
        f"accepted: by entry {entries} of the ledger what was spent counts as it stands, and what "
        f"comes protects {dataset.protect}",
        err=True,
    )


def check_ledger(ledger: Ledger, expected_head: str | None) -> None:
    """Verify the ledger, and say every problem."""
    from postri.ledger import verify

    problems = verify(ledger, expected_head)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        count = "1 problem"
        if len(problems) > 1:
            count = f"{len(problems)} problems"
        raise LedgerError(f"the ledger is not good: {count}, see above")
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
    say_saved(file)


def as_json(accounts: Sequence[Account], ledger: Ledger) -> dict[str, dict[str, object]]:
    """Budget, spent and remaining as exact rationals, by dataset; and the questions without an
    answer since it was opened, if there are any.
    """
    from postri.ledger.trail import unanswered_fields

    found = {}
    for account, lines in _lines(accounts, ledger):
        fields: dict[str, object] = {
            "budget": str(account.budget),
            "spent": str(lines[0].spent),
            "remaining": str(account.budget - lines[0].spent),
            "entries": lines[0].entries,
        }
        unanswered = [unanswered_fields(each) for each in ledger.unanswered(account.dataset)]
        if unanswered:
            fields["unanswered"] = unanswered
        found[account.dataset] = fields
    return found


def show(accounts: Sequence[Account], ledger: Ledger) -> None:
    """A table with a bar of what is left: a line per dataset, and below it one per analyst."""
    from rich.console import Console

    ascii_only = not _can_draw(sys.stdout.encoding)
    Console().print(_table(_lines(accounts, ledger), ascii_only=ascii_only))


def _lines(
    accounts: Sequence[Account], ledger: Ledger
) -> Iterator[tuple[Account, list[BudgetLine]]]:
    """Each account with its line, then the lines of its analysts."""
    from postri.ledger import Usage

    for account in accounts:
        epsilon = account.accountant.epsilon
        usage = ledger.usage(account.dataset, account.people)
        lines = [BudgetLine(account.dataset, account.budget, epsilon(usage.cost), usage.entries)]
        for analyst in sorted({*account.allowances, *usage.analysts}):
            own = usage.analysts.get(analyst, Usage())
            allowance = account.allowances.get(analyst)
            lines.append(BudgetLine(analyst, allowance, epsilon(own.cost), own.entries))
        yield account, lines


def _table(accounts: Iterator[tuple[Account, list[BudgetLine]]], *, ascii_only: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    frame = box.SIMPLE_HEAD
    if ascii_only:
        frame = box.ASCII
    table = Table(box=frame, expand=False)
    for name in ("dataset, analyst", "what is left"):
        table.add_column(name, overflow="fold", no_wrap=name == "what is left")
    for name in ("left", "spent", "of", "entries"):
        table.add_column(name, justify="right", no_wrap=True)
    for account, (whole, *analysts) in accounts:
        title = whole.name
        if str(account.accountant) != "pure":
            title += f" ({account.accountant})"
        # Names are texts of others: Text keeps them from being read as markup.
        table.add_row(Text(title, style="bold"), *_cells(whole, ascii_only=ascii_only))
        for line in analysts:
            table.add_row(Text(f"  {line.name}"), *_cells(line, ascii_only=ascii_only))
    return table


def _cells(line: BudgetLine, *, ascii_only: bool) -> tuple[str, ...]:
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
    # A limit of 0 leaves nothing.
    share = Fraction(0)
    if limit:
        share = max(left, Fraction(0)) / limit
    filled = min(max(round(share * WIDTH), int(share > 0)), WIDTH - int(share < 1))
    full, empty = "█", "░"
    if ascii_only:
        full, empty = "#", "."
    return full * filled + empty * (WIDTH - filled)


def short(number: Fraction) -> str:
    """A number that fits a column: exact if it is a short decimal, else to four digits.

    >>> short(Fraction(9, 2)), short(Fraction(1, 3)), short(Fraction("1.660035732605"))
    ('4.5', '0.3333', '1.66')
    """
    text = plain(number)
    if len(text) <= 7 and "/" not in text:
        return text
    return f"{float(number):.4g}"


def _can_draw(encoding: str | None) -> bool:
    try:
        "█░".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
