"""`postri audit`: attack this installation, and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.cli.output import say_saved, wide_console

if TYPE_CHECKING:
    from postri.audit.report import Report

Minutes = Annotated[
    float,
    typer.Option(help="For fuzzing and black-box draws together; from 30 on all is at full size."),
]
Only = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="The attacks to try, by name; default: all.")
]
SelfTest = Annotated[
    bool,
    typer.Option("--self-test", help="Also plant five bugs, and see that the audit finds them."),
]
Seed = Annotated[int, typer.Option(help="The seed of the attackers' own choices.")]
Out = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the report as Markdown to this file.")
]


def audit(
    minutes: Minutes = 1.5,
    only: Only = None,
    self_test: SelfTest = False,
    seed: Seed = 1,
    json: o.Json = False,
    out: Out = None,
) -> None:
    """Attack this installation on tables of its own, and print what was found. Exit code 1 if
    anything was.
    """
    from json import dumps

    from postri.audit.attack import Size, chosen, run_all
    from postri.audit.planted import SELF_TEST
    from postri.audit.report import Report

    size = Size(minutes, seed)
    which = chosen(only)
    if self_test:
        which = [*which, SELF_TEST]
    with _progress(len(which)) as tell:
        outcomes = list(run_all(which, size, tell))
    report = Report(datetime.now(UTC), size, outcomes)
    if out is not None:
        out.write_text(report.to_markdown(), encoding="utf-8")
        say_saved(str(out))
    if json:
        typer.echo(dumps(report.to_dict()))
    else:
        _print(report)
    if not report.passed:
        raise typer.Exit(1)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str, str], None]]:
    """A bar on standard error, with the attack that is being tried."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        seen: list[str] = []

        def tell(attack: str, words: str) -> None:
            if attack not in seen:
                seen.append(attack)
            progress.update(task, completed=len(seen) - 1, description=f"{attack} {words}")

        yield tell


def _print(report: Report) -> None:
    """The table of all attacks with their figures, and what was found."""
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(title=report.circumstances, title_justify="left", box=SIMPLE, pad_edge=False)
    table.add_column("attack", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("figures")
    for outcome in report.outcomes:
        figures = "\n".join(f"{name}: {figure}" for name, figure in outcome.figures.items())
        style = "green" if outcome.passed else "bold red"
        verdict = Text(outcome.verdict, style=style)
        table.add_row(outcome.name, verdict, f"{outcome.seconds:.0f}", Text(figures))
    console = wide_console()
    console.print(table)
    for outcome in report.outcomes:
        for finding in outcome.findings:
            console.print(Text(f"{outcome.name}: {finding}"), soft_wrap=True)
    console.print(Text(report.summary))
