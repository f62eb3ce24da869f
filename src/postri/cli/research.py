"""`postri reproduce` and `postri compare`: the researcher's tools.

What they print is computed from raw data and is not private.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.cli.files import domain_of, open_table
from postri.cli.output import wide_console

if TYPE_CHECKING:
    from rich.table import Table

    from postri.research.compare import MethodLine, Study
    from postri.research.experiment import Outcome
    from postri.research.many.study import ManyLine, ManyStudy
    from postri.research.sampled.study import SampledLine, SampledStudy

DEFAULT_METHODS = "depth,postri-default,sun2023,sun2023-4"
DEFAULT_WAYS = "depth,tree,halving,joint-exp"
DEFAULT_SAMPLED = "depth,exp-mech,exp-mech-union,bin-search,not-private"

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
Methods = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help=f"The methods to compare, by name; default: {DEFAULT_METHODS}, with --quantiles "
        f"{DEFAULT_WAYS}, and with --sample {DEFAULT_SAMPLED}.",
        show_default=False,
    ),
]
Numbers = Annotated[
    str | None,
    typer.Option(
        metavar="M,N,...",
        help="Compare ways to so many evenly spaced quantiles, in place of the median: 9 are the "
        "deciles. Epsilon is for all of them, against one added or removed row.",
    ),
]
Sampled = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Compare intervals for a population: the column is one, and each run draws N rows "
        "from it. Against one replaced row.",
    ),
]


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
    methods: Methods = None,
    quantiles: Numbers = None,
    sample: Sampled = None,
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
    """Compare methods on a column of your own: its median, many quantiles at once, or intervals for
    a population. NOT PRIVATE: a researcher's tool.
    """
    from postri.errors import InputError
    from postri.privacy import check_epsilon, check_share
    from postri.research.compare import Study, check_methods
    from postri.research.many.study import ManyStudy, check_numbers, check_ways
    from postri.research.sampled.sampling import SampledMedian
    from postri.research.sampled.study import SampledStudy, check_sampled_ways

    if quantiles is not None and sample is not None:
        raise InputError("--sample is about the median: leave out --quantiles, or --sample")
    if sample is not None:
        sampled = check_sampled_ways(_given(methods, DEFAULT_SAMPLED))
    elif quantiles is None:
        chosen = check_methods(_given(methods, DEFAULT_METHODS))
    else:
        ways = check_ways(_given(methods, DEFAULT_WAYS))
        numbers = check_numbers(quantiles)
    spent = check_epsilon(epsilon)
    beta = 1 - check_share(confidence, "confidence")
    table = open_table(
        file,
        column,
        declared,
        names,
        delimiter=delimiter,
        quote=quote,
        header=header,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=date_format,
        timestamp_format=timestamp_format,
        line_breaks=line_breaks,
    )
    domain = domain_of(lower, upper, step)
    if sample is not None:
        asked = SampledMedian(sample, spent, beta)
        _show_sampled(SampledStudy(table, column, domain, sampled, asked, runs), json)
    elif quantiles is None:
        _show_medians(Study(table, column, domain, chosen, spent, beta, runs), json)
    else:
        study = ManyStudy(table, column, domain, ways, numbers, spent, beta, runs)
        _show_quantiles(study, json)


def _given(names: str | None, usual: str) -> str:
    if names is None:
        return usual
    return names


def _show_medians(study: Study, json: bool) -> None:
    if json:
        _print_json("methods", study.lines())
    else:
        _print_table(study)


def _show_quantiles(study: ManyStudy, json: bool) -> None:
    if json:
        _print_json("quantiles", study.lines())
    else:
        _print_quantiles(study)


def _show_sampled(study: SampledStudy, json: bool) -> None:
    if json:
        _print_json("sampled", study.lines())
    else:
        _print_sampled(study)


def _print_json(name: str, lines: Iterable[MethodLine | ManyLine | SampledLine]) -> None:
    from dataclasses import asdict
    from json import dumps

    from postri.research.compare import WARNING

    found = [asdict(line) for line in lines]
    typer.echo(dumps({"warning": WARNING, "private": False, name: found}))


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0), pad_edge=False
    )
    for head in names:
        table.add_column(head, no_wrap=True)
    for head in numbers:
        table.add_column(head, no_wrap=True, justify="right")
    return table


def _print_table(study: Study) -> None:
    from postri.research.compare import WARNING

    typer.echo(WARNING)
    median = study.subject.point(study.subject.median)
    title = f"{study.subject.rows:,} rows, true median {median:,.10g}; means of {study.runs:,} runs"
    heads = ("error", "half-width", "in rows", "coverage", "at least", "edge", "ms")
    table = _table(title, ["method"], heads)
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


def _print_quantiles(study: ManyStudy) -> None:
    from postri.research.compare import WARNING

    typer.echo(WARNING)
    title = f"{study.subject.rows:,} rows; means over all quantiles of {study.runs:,} runs, in rows"
    heads = ("quantiles", "error", "half-width", "coverage", "ms")
    table = _table(title, ["method"], heads)
    for line in study.lines():
        half_width = coverage = "-"
        if line.half_width_rows is not None and line.coverage is not None:
            half_width = f"{line.half_width_rows:.5g}"
            coverage = f"{line.coverage:.3f}"
        table.add_row(
            line.method,
            str(line.quantiles),
            f"{line.rank_error:.4g}",
            half_width,
            coverage,
            f"{line.milliseconds:.1f}",
        )
    wide_console().print(table)
    typer.echo(
        "error: by how many rows a value misses the rank of its quantile; coverage: the share of "
        "intervals that held it; -: values alone, without intervals",
        err=True,
    )


def _print_sampled(study: SampledStudy) -> None:
    from postri.research.compare import WARNING

    typer.echo(WARNING)
    population = study.population
    title = (
        f"samples of {study.asked.rows:,} rows; the population's median is "
        f"{population.point(population.median):,.10g}; means of {study.runs:,} runs"
    )
    heads = ("half-width", "in rows", "coverage", "at least", "edge")
    table = _table(title, ["method"], heads)
    for line in study.lines():
        table.add_row(
            line.method,
            f"{line.half_width:.4g}",
            f"{line.half_width_rows:.5g}",
            f"{line.coverage:.3f}",
            f"{line.coverage_low:.3f}",
            f"{line.at_edge:.0%}",
        )
    wide_console().print(table)
    typer.echo(
        "coverage: the share of intervals that held the median of the population; at least: the "
        "lower end of its exact 95% interval; noisy-cdf-gaussian protects by rho epsilon^2/2, "
        "which is less; not-private is what sampling alone takes",
        err=True,
    )
