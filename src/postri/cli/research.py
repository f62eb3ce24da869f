"""`postri reproduce` and `postri compare`: the researcher's tools.

What they print is computed from raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.cli.output import wide_console

if TYPE_CHECKING:
    from postri.research.compare import Study
    from postri.research.experiment import Outcome

DEFAULT_METHODS = "depth,postri-default,sun2023,sun2023-4"

Data = Annotated[
    Path | None,
    typer.Option(
        help="A folder with bank.csv, adult.csv, airplane.csv; default: $POSTRI_DATA, else a "
        "download."
    ),
]
Runs = Annotated[
    int,
    typer.Option(help="How often each method answers; everything in the report scales with it."),
]
Out = Annotated[Path, typer.Option(help="Where to write the report, its figures and every run.")]
Methods = Annotated[str, typer.Option(metavar="A,B,...", help="The methods to compare, by name.")]


def reproduce(data: Data = None, runs: Runs = 100, out: Out = Path("reproduction")) -> None:
    """Run the paper's experiments with every method, and write a report: tables, figures,
    findings.
    """
    from postri.research.reproduce import draw_results, write_report

    results, outcomes = draw_results(data, runs, _progress)
    for words in results.missing:
        typer.echo(f"left out: {words}", err=True)
    files = write_report(results, outcomes, out)
    typer.echo(f"{files.html}\n{files.markdown}\n{files.runs}\n{files.figures}")


def _progress(outcomes: Iterable[Outcome], total: int) -> Iterator[Outcome]:
    from rich.console import Console
    from rich.progress import track

    yield from track(outcomes, "drawing", total=total, console=Console(stderr=True))


def compare(
    file: o.File,
    column: o.Column,
    epsilon: o.Epsilon,
    methods: Methods = DEFAULT_METHODS,
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    confidence: o.Confidence = "0.95",
    runs: Annotated[int, typer.Option(help="How often each method answers.")] = 100,
    json: o.Json = False,
    declared: o.Declared = None,
    delimiter: o.Delimiter = None,
    quote: o.Quote = '"',
    header: o.Header = True,
    names: o.Names = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    thousands: o.Thousands = "",
    date_format: o.DateFormat = None,
    timestamp_format: o.TimestampFormat = None,
    line_breaks: o.LineBreaks = False,
) -> None:
    """Compare methods on a column of your own, median only. NOT PRIVATE: a researcher's tool."""
    from dataclasses import asdict
    from json import dumps

    from postri.privacy import check_epsilon, check_share
    from postri.research.compare import WARNING, Study, check_methods

    chosen = check_methods(methods)
    spent = check_epsilon(epsilon)
    beta = 1 - check_share(confidence, "confidence")
    table = o.open_table(
        file,
        column,
        declared,
        delimiter,
        quote,
        header,
        names,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=date_format,
        timestamp_format=timestamp_format,
        line_breaks=line_breaks,
    )
    study = Study(table, column, o.domain_of(lower, upper, step), chosen, spent, beta, runs)
    if json:
        lines = [asdict(line) for line in study.lines()]
        typer.echo(dumps({"warning": WARNING, "private": False, "methods": lines}))
    else:
        typer.echo(WARNING)
        _print_table(study)


def _print_table(study: Study) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    median = study.subject.point(study.subject.median)
    title = f"{study.subject.rows:,} rows, true median {median:,.10g}; means of {study.runs:,} runs"
    table = Table(
        title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("method", no_wrap=True)
    for head in ("error", "half-width", "in rows", "coverage", "at least", "edge", "ms"):
        table.add_column(head, no_wrap=True, justify="right")
    for line in study.lines():
        table.add_row(
            line.method,
            f"{line.error:.4g}",
            f"{line.half_width:.4g}",
            f"{line.half_width_rows:.5g}",
            f"{line.coverage:.3f}",
            f"{line.coverage_low:.3f}",
            f"{line.at_edge:.0%}",
            f"{line.milliseconds:.1f}",
        )
    wide_console().print(table)
    typer.echo(
        "coverage: the share of intervals that held the true median; at least: the lower end of "
        "its exact 95% interval",
        err=True,
    )
