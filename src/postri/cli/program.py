"""All commands, as typer reads them."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

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


class Commands(TyperGroup):
    """The commands; whoever takes another statistic for one is told where it is asked."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of these words."""
        if self.get_command(ctx, args[0]) is None:
            _tell_statistic(args[0])
        return super().resolve_command(ctx, args)


def _tell_statistic(name: str) -> None:
    from postri.errors import InputError
    from postri.statistics.registry import form_named

    form = form_named(name)
    if form is not None and form.examples:
        raise InputError(
            f"there is no command {name!r}: of a file, commands tell a median, a quantile and a "
            f"distribution. Ask {form.examples[0]!r} of a policy: postri init FILE, then postri ask"
        )


app = typer.Typer(
    name="postri",
    cls=Commands,
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
# What the list of commands says of those whose help begins with a longer sentence.
SHORT = {
    "quantile": "A private quantile of a column, with its interval.",
    "distribution": "The private distribution of a column, for one epsilon.",
    "plan": "How far the interval will reach, before anything is spent.",
    "demo": "Ask for the median of a made-up table at three budgets.",
    "look": "Show the steward what cannot be read of a file.",
    "check": "Say what is wrong with a policy.",
    "ask": "Ask a dataset of a policy.",
    "sql": "Ask a dataset of a policy in SQL.",
    "budget": "What each dataset has left, by analyst.",
    "open-again": "Open a dataset that was closed because questions failed.",
    "reproduce": "Run the paper's experiments with every method.",
    "compare": "Compare methods on a column of your own; not private.",
    "audit": "Attack this installation, and report.",
}
for command in (*FOR_FILES, *FOR_POLICIES, *FOR_RESEARCH):
    name = command.__name__.replace("_", "-")
    app.command(short_help=SHORT.get(name))(command)
app.add_typer(token, name="token")
app.add_typer(ledger, name="ledger", short_help="A ledger in a database: make one, move one there.")


@app.callback(invoke_without_command=True)
def root(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    """Options of the program itself."""
    if version:
        from postri import __version__

        typer.echo(__version__)
        raise typer.Exit
