"""`postri sql`: one question in SQL to a policy's datasets."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from postri.cli import options as o
from postri.cli.session import Analyst, Csv, Fresh, PriceOnly, Simultaneous, show_price, show_result

Sql = Annotated[
    str,
    typer.Argument(
        metavar="SQL",
        help='Such as "SELECT MEDIAN(x) FROM t"; - reads standard input.',
        show_default=False,
    ),
]


def sql(
    text: Sql,
    epsilon: o.Epsilon,
    confidence: o.Confidence = "0.95",
    simultaneous: Simultaneous = False,
    fresh: Fresh = False,
    price: PriceOnly = False,
    json: o.Json = False,
    csv: Csv = False,
    plot: o.Plot = None,
    analyst: Analyst = None,
    policy: o.Policy = "postri.toml",
) -> None:
    """Ask a question in SQL; the answer is paid for from the dataset's budget."""
    import postri
    from postri.cli.progress import shown_progress

    if plot is not None:
        from postri.answer.picture import check_file

        check_file(plot)
    question = sys.stdin.read() if text == "-" else text
    with postri.connect(policy, analyst=analyst) as session, shown_progress():
        if price:
            found = session.price(
                question,
                epsilon=epsilon,
                confidence=confidence,
                simultaneous=simultaneous,
                fresh=fresh,
            )
            show_price(found, json=json)
            return
        result = session.sql(
            question, epsilon=epsilon, confidence=confidence, simultaneous=simultaneous, fresh=fresh
        )
    show_result(result, json=json, csv=csv, plot=plot)
