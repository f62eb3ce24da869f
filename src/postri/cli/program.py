"""All commands, as typer reads them."""

from __future__ import annotations

import typer

from postri.cli.audit import audit
from postri.cli.budget import budget
from postri.cli.closing import open_again
from postri.cli.demo import demo
from postri.cli.distribution import distribution
from postri.cli.ledger import ledger
from postri.cli.look import look
from postri.cli.policy import check, init
from postri.cli.quantile import median, plan, quantile
from postri.cli.questions import ask, sql
from postri.cli.research import compare, reproduce
from postri.cli.service import serve, token
from postri.cli.shell import shell

app = typer.Typer(
    name="postri",
    help="Private medians and quantiles, each with an error bar that you can trust.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: the rich one loads a Markdown renderer and takes twice as long.
    rich_markup_mode=None,
    # A rich traceback would print local variables, and with them cells.
    pretty_exceptions_enable=False,
)
# In the order in which help lists them.
FOR_FILES = (median, quantile, distribution, plan, demo)
FOR_POLICIES = (look, init, check, ask, sql, shell, budget, open_again, serve)
FOR_RESEARCH = (reproduce, compare, audit)
for command in (*FOR_FILES, *FOR_POLICIES, *FOR_RESEARCH):
    app.command()(command)
app.add_typer(token, name="token")
app.add_typer(ledger, name="ledger")


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Options of the program itself."""
    if version:
        from postri import __version__

        typer.echo(__version__)
        raise typer.Exit
