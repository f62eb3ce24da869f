"""The command line: options in, an answer out.

Results go to standard output, words to standard error.
"""

from __future__ import annotations

import sys

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
from postri.cli.wording import in_options
from postri.errors import BudgetExceeded, InputError, PolicyError, PostriError, QuestionsExceeded

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


def main() -> None:
    """Run the program.

    Exit codes: 0 done, 2 the request is wrong, 3 refused for budget, 1 anything else.
    """
    try:
        app(prog_name="postri")
    except PolicyError as error:
        _stop(str(error), 2)
    except InputError as error:
        _stop(in_options(str(error)), 2)
    except (BudgetExceeded, QuestionsExceeded) as error:
        _stop(str(error), 3)
    except PostriError as error:
        _stop(in_options(str(error)), 1)
    except Exception as error:
        # The message of an exception that is not ours may carry a cell: only its kind is shown.
        kind = type(error).__name__
        _stop(
            f"failed with {kind}; please report it, with the command and the declared types of "
            "the data",
            1,
        )


def _stop(message: str, code: int) -> None:
    typer.echo(f"postri: {message}", err=True)
    sys.exit(code)
