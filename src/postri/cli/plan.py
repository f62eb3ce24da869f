"""`postri plan`: how far an interval will reach, before anything is spent."""

from __future__ import annotations

import json as texts
from typing import Annotated

import typer

from postri.cli import options as o


def plan(
    rows: Annotated[
        int,
        typer.Option(
            help="About how many rows the table has: a public number.", show_default=False
        ),
    ],
    epsilon: Annotated[
        str | None,
        typer.Option(help="What the answer may cost: tells how far its interval will reach."),
    ] = None,
    reach: Annotated[
        str | None,
        typer.Option(
            help="How far it may reach to each side, as a share of the rows: tells the epsilon."
        ),
    ] = None,
    p: Annotated[str, typer.Option(help="The quantile.")] = "0.5",
    lower: o.Lower = None,
    upper: o.Upper = None,
    step: o.Step = None,
    confidence: o.Confidence = "0.95",
    protect: o.Protected = o.Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: o.RowsPerPerson = 1,
    split: o.Split = "0.5",
    groups: Annotated[
        int, typer.Option(help="Into how many groups of equal size the rows fall.")
    ] = 1,
    json: o.Json = False,
) -> None:
    """How far the interval will reach, from public numbers alone.

    Touches no data and costs nothing.
    """
    import postri

    domain, protected = o.domain_of(lower, upper, step), o.change_of(protect, rows_per_person)
    forecast = postri.plan(
        rows=rows,
        epsilon=epsilon,
        reach=reach,
        p=p,
        domain=domain,
        confidence=confidence,
        protect=protected,
        split=split,
        groups=groups,
    )
    typer.echo(texts.dumps(forecast.to_dict()) if json else str(forecast))
