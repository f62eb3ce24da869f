"""`postri median` and `postri quantile`: one answer from one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from postri.cli import options as o

if TYPE_CHECKING:
    from postri.answer import Answer


def median(
    file: o.File,
    column: o.Column,
    epsilon: o.Epsilon,
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    where: o.Where = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = o.Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    method: o.Method = "depth",
    json: o.Json = False,
    plot: o.Plot = None,
    declared: o.Declared = None,
    delimiter: o.Delimiter = ",",
    quote: o.Quote = '"',
    header: o.Header = True,
    names: o.Names = None,
) -> None:
    """The private median of a column, with its interval."""
    bounds, who = (lower, upper, step), (protect, rows_per_person)
    quantile(
        file,
        column,
        "1/2",
        epsilon,
        *bounds,
        where,
        confidence,
        *who,
        split,
        method,
        json,
        plot,
        declared,
        delimiter,
        quote,
        header,
        names,
    )


def quantile(
    file: o.File,
    column: o.Column,
    p: o.P,
    epsilon: o.Epsilon,
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    where: o.Where = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = o.Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    method: o.Method = "depth",
    json: o.Json = False,
    plot: o.Plot = None,
    declared: o.Declared = None,
    delimiter: o.Delimiter = ",",
    quote: o.Quote = '"',
    header: o.Header = True,
    names: o.Names = None,
) -> None:
    """A private quantile of a column, with its interval: P is 0.9 for the 90th percentile."""
    import postri
    from postri.cli.progress import shown_progress

    if plot is not None:
        from postri.answer.picture import check_file

        check_file(plot)
    domain, protected = o.domain_of(lower, upper, step), o.change_of(protect, rows_per_person)
    table = o.open_table(file, column, declared, delimiter, quote, header, names)
    with shown_progress():
        answer = postri.quantile(
            table,
            p,
            epsilon=epsilon,
            column=column,
            domain=domain,
            where=where,
            confidence=confidence,
            protect=protected,
            split=split,
            method=method,
        )
    _show(answer, json=json, plot=plot)


def _show(answer: Answer, *, json: bool, plot: str | None) -> None:
    typer.echo(answer.to_json() if json else str(answer))
    if plot is not None:
        from postri.answer.picture import save

        save([answer], plot)
        typer.echo(f"saved {plot}", err=True)
