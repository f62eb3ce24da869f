"""The options that commands share. Numbers stay text until the library reads them exactly."""

from __future__ import annotations

from typing import Annotated

import typer

from postri.cli.files import Covers, Protect, Type

File = Annotated[str, typer.Argument(help="A CSV or Parquet file.", show_default=False)]
Column = Annotated[str, typer.Argument(help="The column to ask about.", show_default=False)]
P = Annotated[
    str, typer.Argument(help="The quantile: 0.9 is the 90th percentile.", show_default=False)
]
Epsilon = Annotated[
    str,
    typer.Option(
        help="What value and interval may cost together, such as 1 or 0.5 or 1/3.",
        show_default=False,
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        help="What value and interval may cost together, such as 1 or 0.5 or 1/3; or give "
        "--within.",
        show_default=False,
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        metavar="WISH",
        help="How near the answer is wanted, by its forecast, such as 500, or for a quantile "
        "'1 percentile' or '75 rows': tells the epsilon.",
        show_default=False,
    ),
]
Expect = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="About how many rows match, in each group, a public number: for forecasts and "
        "--within.",
        show_default=False,
    ),
]
Lower = Annotated[
    str | None,
    typer.Option(help="The lowest value of the domain: a public bound. A number or a date."),
]
Upper = Annotated[
    str | None,
    typer.Option(help="The highest value of the domain: lower plus a whole number of steps."),
]
Step = Annotated[
    str | None, typer.Option(help="The step of the domain, such as 0.01; 1 if left out.")
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="PREDICATE", help="Which rows count, in SQL: \"age < 40 AND job = 'cook'\"."
    ),
]
Confidence = Annotated[
    str, typer.Option(help="With which probability the interval holds the true value.")
]
Protected = Annotated[Protect, typer.Option("--protect", help="What one person may change.")]
RowsPerPerson = Annotated[int, typer.Option(help="How many rows belong to one person at most.")]
Split = Annotated[
    str, typer.Option(help="The value's share of epsilon; the interval gets the rest.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How the interval is drawn: depth, or a published method such as postri-optimal.",
    ),
]
Covered = Annotated[
    Covers,
    typer.Option(
        "--covers",
        help="Whose quantile the interval holds: that of the rows, or of the population that they "
        "were drawn from.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Plot = Annotated[
    str | None, typer.Option(metavar="FILE", help="Save a picture (.png, .svg or .pdf).")
]
Declared = Annotated[
    Type | None, typer.Option("--type", help="What a CSV column holds; integers are never rounded.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates the cells of a CSV file: a comma, in .tsv a tab (\\t)."),
]
Quote = Annotated[str, typer.Option(help="What quotes the cells of a CSV file.")]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...", help="The names of all columns of a CSV file that has no header."
    ),
]
Encoding = Annotated[
    str, typer.Option(help="How a CSV file is encoded: utf-8, latin-1, cp1252 or utf-16.")
]
Decimal = Annotated[
    str, typer.Option(metavar="MARK", help="What stands before the fraction of a number: . or ,")
]
Thousands = Annotated[
    str, typer.Option(metavar="MARK", help="What stands between groups of three digits, if any.")
]
DateFormat = Annotated[
    str | None, typer.Option(metavar="PATTERN", help="How dates are written, such as %d.%m.%Y.")
]
TimestampFormat = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="How timestamps are written: '%m/%d/%Y %I:%M %p'."),
]
LineBreaks = Annotated[
    bool,
    typer.Option("--line-breaks", help="Quoted cells hold line breaks: refused, with the reason."),
]
Policy = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="FILE",
        envvar="POSTRI_POLICY",
        help="The steward's file, or a service's URL.",
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header", help="Whether the first line of a CSV file names the columns."
    ),
]
