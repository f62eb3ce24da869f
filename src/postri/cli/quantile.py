"""`postri median` and `postri quantile`: one answer from one file. `postri plan`: how far its
interval will reach, before anything is spent.
"""

from __future__ import annotations

from typing import Annotated

import typer

from postri.cli import options as o
from postri.cli.files import Covers, Protect, change_of, domain_of, show_quantile
from postri.cli.output import show_plain
from postri.cli.questions import Analyst
from postri.errors import InputError

Questions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SQL]...",
        help='Questions to a policy, such as "SELECT COUNT(*) WITHIN 50 FROM t": what they cost '
        "together, in place of --rows.",
        show_default=False,
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(help="About how many rows the table has: a public number.", show_default=False),
]
Delta = Annotated[
    str | None,
    typer.Option(help="For questions: at which delta zCDP is told; the policy's if left out."),
]
MayCost = Annotated[
    str | None,
    typer.Option(help="What the answer may cost: tells how far its interval will reach."),
]
MayReach = Annotated[
    str | None,
    typer.Option(
        help="How far it may reach to each side, as a share of the rows: tells the epsilon."
    ),
]
Several = Annotated[int, typer.Option(help="How many quantiles share epsilon.")]
Groups = Annotated[int, typer.Option(help="Into how many groups of equal size the rows fall.")]


def median(
    file: o.File,
    column: o.Column,
    epsilon: o.Cost = None,
    within: o.Within = None,
    expect: o.Expect = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    where: o.Where = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    method: o.Method = "depth",
    covers: o.Covered = Covers.TABLE,
    json: o.Json = False,
    plot: o.Plot = None,
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
    """The private median of a column, with its interval."""
    quantile(
        file,
        column,
        "1/2",
        epsilon,
        within,
        expect,
        lower=lower,
        upper=upper,
        step=step,
        where=where,
        confidence=confidence,
        protect=protect,
        rows_per_person=rows_per_person,
        split=split,
        method=method,
        covers=covers,
        json=json,
        plot=plot,
        declared=declared,
        delimiter=delimiter,
        quote=quote,
        header=header,
        names=names,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=date_format,
        timestamp_format=timestamp_format,
        line_breaks=line_breaks,
    )


def quantile(
    file: o.File,
    column: o.Column,
    p: o.P,
    epsilon: o.Cost = None,
    within: o.Within = None,
    expect: o.Expect = None,
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    where: o.Where = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    method: o.Method = "depth",
    covers: o.Covered = Covers.TABLE,
    json: o.Json = False,
    plot: o.Plot = None,
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
    """A private quantile of a column, with its interval: P is 0.9 for the 90th percentile."""
    show_quantile(
        file,
        column,
        p,
        lower=lower,
        upper=upper,
        step=step,
        protect=protect,
        rows_per_person=rows_per_person,
        json=json,
        plot=plot,
        declared=declared,
        names=names,
        formats={
            "delimiter": delimiter,
            "quote": quote,
            "header": header,
            "encoding": encoding,
            "decimal": decimal,
            "thousands": thousands,
            "date_format": date_format,
            "timestamp_format": timestamp_format,
            "line_breaks": line_breaks,
        },
        epsilon=epsilon,
        within=within,
        expect=expect,
        where=where,
        confidence=confidence,
        split=split,
        method=method,
        covers=covers.value,
    )


def plan(
    questions: Questions = None,
    rows: Rows = None,
    epsilon: MayCost = None,
    reach: MayReach = None,
    p: Annotated[str, typer.Option(help="The quantile.")] = "0.5",
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    groups: Groups = 1,
    quantiles: Several = 1,
    covers: o.Covered = Covers.TABLE,
    delta: Delta = None,
    json: o.Json = False,
    analyst: Analyst = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """How far the interval will reach, or what questions to a policy cost together, from public
    numbers alone. Touches no data and costs nothing.
    """
    import postri
    from postri.question import Wording

    if (rows is None) == (not questions):
        raise InputError(
            "give either --rows, to learn how far an interval will reach, or questions in SQL, to "
            "learn what they cost together"
        )
    if questions:
        wordings = [Wording(sql=text, epsilon=epsilon, confidence=confidence) for text in questions]
        with postri.connect(policy, analyst=analyst) as session:
            show_plain(session.plan(wordings, delta=delta), json=json)
        return
    assert rows is not None
    forecast = postri.plan(
        rows=rows,
        epsilon=epsilon,
        reach=reach,
        p=p,
        domain=domain_of(lower, upper, step),
        confidence=confidence,
        protect=change_of(protect, rows_per_person),
        split=split,
        groups=groups,
        quantiles=quantiles,
        covers=covers.value,
    )
    show_plain(forecast, json=json)
