"""`postri ledger`: making a ledger in a database, moving one there, and the trail for auditors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from postri.cli import options as o
from postri.cli.budget import save_trail
from postri.errors import InputError

ledger = typer.Typer(
    help="Make a ledger in a database, move one there, write its trail.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Url = Annotated[
    str | None,
    typer.Argument(
        metavar="URL",
        help="The database, as its owner; the policy's ledger if none is named.",
        show_default=False,
    ),
]
Role = Annotated[str, typer.Option(metavar="NAME", help="The role that a service connects as.")]
Heads = Annotated[
    bool, typer.Option("--heads", help="Make the tables of a ledger's heads, in another database.")
]
From = Annotated[str, typer.Argument(metavar="FROM", help="A ledger's file.", show_default=False)]
To = Annotated[
    str,
    typer.Argument(
        metavar="TO", help="The URL of a database with a new ledger.", show_default=False
    ),
]
FromHead = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The head of FROM, if it does not lie beside it."),
]
Head = Annotated[
    str,
    typer.Option(
        metavar="PLACE", help="Where the heads of TO go: a folder, or another database's URL."
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="As CSV, a line for each entry.")]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write to a file, not to standard output.")
]


@ledger.command()
def init(
    url: Url = None,
    role: Role = "postri_service",
    heads: Heads = False,
    policy: o.Policy = "postri.toml",
) -> None:
    """Make the tables of a ledger in a database, and print what its service must be granted."""
    from postri.ledger import is_database
    from postri.ledger.postgres import HEADS_SCHEMA, SCHEMA, grants, init_heads, init_ledger
    from postri.policy import read_policy

    place = url
    if place is None:
        found = read_policy(policy)
        named = found.ledger
        if heads and found.head is not None:
            named = found.head
        place = str(named)
    if not is_database(place):
        raise InputError(
            "a ledger is made in a PostgreSQL database: name its URL, such as "
            "postgresql://owner@host/database; one in a file makes itself"
        )
    make, schema = init_ledger, SCHEMA
    if heads:
        make, schema = init_heads, HEADS_SCHEMA
    words = "was there already, and is as it should be"
    if make(place):
        words = "is made"
    typer.echo(f"the schema {schema} {words}; run these as its owner:", err=True)
    needed = grants(role, schema)
    if not heads:
        from postri.web.database import init_service, service_grants

        # Tokens and limits, which all services on the ledger share.
        init_service(place)
        needed += service_grants(role)
    for grant in needed:
        typer.echo(grant)


@ledger.command()
def copy(
    source: From,
    target: To,
    from_head: FromHead = None,
    head: Head = "postri.ledger.heads",
) -> None:
    """Move a ledger from a file to a database, entry by entry, verified by hash."""
    from postri.ledger import SqliteLedger, copy_ledger, is_database, open_ledger

    if is_database(source) or not is_database(target):
        raise InputError(
            "a ledger is copied from a file to a PostgreSQL database: postri ledger copy "
            "postri.ledger postgresql://owner@host/database"
        )
    if not Path(source).is_file():
        raise InputError(f"there is no ledger {source!r}")
    with SqliteLedger(source, from_head) as old, open_ledger(target, head) as new:
        count = copy_ledger(old, new)
        line = new.head().line
    typer.echo(line)
    typer.echo(
        f"copied and verified: {count} entries; name the database as ledger in the policy, start "
        "all services again, and put the old file where nothing opens it: what is spent there "
        "from now on is not known here",
        err=True,
    )


@ledger.command()
def export(csv: Csv = False, out: Out = None, policy: o.Policy = "postri.toml") -> None:
    """Write the audit trail: who spent what on which question, and what became of it."""
    from postri.ledger import export_csv
    from postri.policy import read_policy
    from postri.session.remote import is_url

    if not csv:
        raise InputError("say how: postri ledger export --csv")
    if is_url(policy):
        raise InputError(
            "a service's ledger is audited where it lies: there, name the policy with --policy"
        )
    with read_policy(policy).open_ledger(audit=True) as book:
        if out is not None:
            save_trail(book, out)
            return
        export_csv(book, sys.stdout)
