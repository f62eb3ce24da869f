"""`postri distribution`: the whole distribution of a column for one epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.cli.files import Protect, change_of, domain_of, open_table
from postri.cli.output import check_picture, say_saved, shown_progress

if TYPE_CHECKING:
    from postri.tree.distribution import Distribution

Quantiles = Annotated[
    str,
    typer.Option(
        metavar="P,P,...", help="Which quantiles to print; all of them follow from one release."
    ),
]
Release = Annotated[
    bool, typer.Option("--json", help="Print the release as JSON: Distribution.from_json reads it.")
]
Bars = Annotated[bool, typer.Option("--bars", help="Draw a histogram in place of the curve.")]


def distribution(
    file: o.File,
    column: o.Column,
    epsilon: o.Cost = None,
    within: o.Within = None,
    expect: o.Expect = None,
    quantiles: Quantiles = "0.05,0.1,0.25,0.5,0.75,0.9,0.95",
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    where: o.Where = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    json: Release = False,
    plot: o.Plot = None,
    bars: Bars = False,
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
    """The private distribution of a column: any number of quantiles for one epsilon, each with its
    interval.
    """
    import postri
    from postri.privacy import check_shares

    check_picture(plot)
    wanted = check_shares([each.strip() for each in quantiles.split(",")], "quantiles")
    domain = domain_of(lower, upper, step)
    protected = change_of(protect, rows_per_person)
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
    with shown_progress():
        found = postri.distribution(
            table,
            column=column,
            epsilon=epsilon,
            within=within,
            expect=expect,
            domain=domain,
            where=where,
            confidence=confidence,
            protect=protected,
        )
    if json:
        typer.echo(found.to_json())
    else:
        typer.echo(str(found.table(wanted)))
    if plot is not None:
        _save(found, plot, bars=bars)


def _save(found: Distribution, file: str, *, bars: bool) -> None:
    from postri.answer.picture import saving

    with saving(file):
        found.plot(bars=bars)
    say_saved(file)
