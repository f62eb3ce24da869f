"""`postri ask` and `postri sql`: questions to a policy's datasets."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer

from postri.cli import options as o
from postri.cli.output import check_picture, show_price, show_result, shown_progress
from postri.errors import InputError

NAMED = re.compile(r"\s*(?P<name>[^\s()=]+)\s*=\s*(?P<text>.+)", re.DOTALL)

DatasetName = Annotated[str, typer.Argument(help="A dataset of the policy.", show_default=False)]
Aggregates = Annotated[
    list[str],
    typer.Argument(
        help='What to ask: "median(x)", "count()", or with a name "mid=median(x)", or with a wish '
        '"count() within 50".',
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="A column with public keys to divide by, or an expression, such as "
        "\"month=DATE_TRUNC('month', t)\"; may be given several times.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="2,1,...", help="How epsilon is divided over the aggregates; evenly if left out."
    ),
]
Simultaneous = Annotated[bool, typer.Option("--simultaneous", help="All intervals hold at once.")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Pay for a new draw, even if the answer is recorded.")
]
PriceOnly = Annotated[
    bool,
    typer.Option(
        "--price", help="Say what it would cost and how far the intervals will reach, and stop."
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Analyst = Annotated[
    str | None,
    typer.Option(envvar="POSTRI_ANALYST", help="Who asks; the user of this machine if left out."),
]
Sql = Annotated[
    str,
    typer.Argument(
        metavar="SQL",
        help='Such as "SELECT MEDIAN(x) FROM t"; - reads standard input.',
        show_default=False,
    ),
]


def ask(
    dataset: DatasetName,
    aggregates: Aggregates,
    epsilon: o.Cost = None,
    within: o.Within = None,
    by: By = None,
    where: o.Where = None,
    weights: Weights = None,
    confidence: o.Confidence = "0.95",
    simultaneous: Simultaneous = False,
    fresh: Fresh = False,
    price: PriceOnly = False,
    expect: o.Expect = None,
    json: o.Json = False,
    csv: Csv = False,
    plot: o.Plot = None,
    analyst: Analyst = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """Ask a dataset of a policy; the answer is paid for from its budget."""
    import postri

    check_picture(plot)
    wanted = named(aggregates)
    shares = None
    if weights is not None:
        shares = _weights(weights, wanted)
    terms: dict[str, Any] = {
        "epsilon": epsilon,
        "within": within,
        "by": divided(by or []),
        "where": where,
        "weights": shares,
        "confidence": confidence,
        "simultaneous": simultaneous,
        "fresh": fresh,
        "expect": expect,
    }
    with postri.connect(policy, analyst=analyst) as session, shown_progress():
        if price:
            show_price(session.price(dataset, wanted, **terms), json=json)
            return
        result = session.ask(dataset, wanted, **terms)
    show_result(result, json=json, csv=csv, plot=plot)


def sql(
    text: Sql,
    epsilon: o.Cost = None,
    within: o.Within = None,
    confidence: o.Confidence = "0.95",
    simultaneous: Simultaneous = False,
    fresh: Fresh = False,
    price: PriceOnly = False,
    expect: o.Expect = None,
    json: o.Json = False,
    csv: Csv = False,
    plot: o.Plot = None,
    analyst: Analyst = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """Ask a question in SQL; the answer is paid for from the dataset's budget."""
    import postri

    check_picture(plot)
    # As other programs of a shell have it.
    if text == "-":
        text = sys.stdin.read()
    terms: dict[str, Any] = {
        "epsilon": epsilon,
        "within": within,
        "confidence": confidence,
        "simultaneous": simultaneous,
        "fresh": fresh,
        "expect": expect,
    }
    with postri.connect(policy, analyst=analyst) as session, shown_progress():
        if price:
            show_price(session.price(text, **terms), json=json)
            return
        result = session.sql(text, **terms)
    show_result(result, json=json, csv=csv, plot=plot)


def named(aggregates: list[str]) -> dict[str, str]:
    """The aggregates by name: the one that is given, or one made of their text.

    >>> named(["count()", "mid = median(fare)", "quantile(fare, 0.9)"])
    {'count': 'count()', 'mid': 'median(fare)', 'quantile_fare_0.9': 'quantile(fare, 0.9)'}
    """
    from postri.statistics.registry import usual_name

    found: dict[str, str] = {}
    for aggregate in aggregates:
        name, text = usual_name(aggregate), aggregate
        if given := NAMED.fullmatch(aggregate):
            name, text = given["name"], given["text"]
        if name in found:
            raise InputError(
                f'two aggregates have the name {name!r}; name them, such as "first={text}"'
            )
        found[name] = text
    return found


def divided(by: list[str]) -> list[str | dict[str, str]]:
    """What divides rows: columns, and expressions with a name before them.

    >>> divided(["job", "month=DATE_TRUNC('month', t)"])
    ['job', {'month': "DATE_TRUNC('month', t)"}]
    """
    found: list[str | dict[str, str]] = []
    for each in by:
        given = NAMED.fullmatch(each)
        found.append({given["name"]: given["text"]} if given else each)
    return found


def _weights(text: str, wanted: dict[str, str]) -> dict[str, str]:
    parts = text.split(",")
    if len(parts) != len(wanted):
        raise InputError(
            f"give each of the {len(wanted)} aggregates its weight, such as --weights "
            f"{','.join('1' * len(wanted))}; got {text!r}"
        )
    return dict(zip(wanted, (part.strip() for part in parts), strict=True))
