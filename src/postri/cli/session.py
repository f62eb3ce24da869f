"""`postri ask` and `postri budget`: questions to a policy's datasets, and what they left."""

from __future__ import annotations

import json as texts
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postri.cli import options as o
from postri.errors import InputError

if TYPE_CHECKING:
    from postri.answer import Result
    from postri.ledger import Account
    from postri.policy import Policy
    from postri.session import Price

NAMED = re.compile(r"\s*(?P<name>[^\s()=]+)\s*=\s*(?P<text>.+)", re.DOTALL)

DatasetName = Annotated[str, typer.Argument(help="A dataset of the policy.", show_default=False)]
Aggregates = Annotated[
    list[str],
    typer.Argument(
        help='What to ask: "median(x)", "count()", or with a name "mid=median(x)".',
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by", help="A column with public keys to divide by; may be given several times."
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
Verify = Annotated[
    bool, typer.Option("--verify", help="Check the ledger: edits, gaps, an old copy.")
]
Export = Annotated[str | None, typer.Option(metavar="FILE", help="Write the audit trail as CSV.")]
Backup = Annotated[str | None, typer.Option(metavar="FILE", help="Write a copy of the ledger.")]
Head = Annotated[
    bool, typer.Option("--head", help="Print where the ledger ends now, to be kept elsewhere.")
]
Expected = Annotated[
    str | None, typer.Option(metavar="HEAD", help="With --verify: a head that was kept elsewhere.")
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept-restored", help="Accept an older copy of the ledger; what it lost is charged."
    ),
]


def ask(
    dataset: DatasetName,
    aggregates: Aggregates,
    epsilon: o.Epsilon,
    by: By = None,
    where: o.Where = None,
    weights: Weights = None,
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
    """Ask a dataset of a policy; the answer is paid for from its budget."""
    import postri
    from postri.cli.progress import shown_progress

    if plot is not None:
        from postri.answer.picture import check_file

        check_file(plot)
    wanted = named(aggregates)
    shares = None if weights is None else _weights(weights, wanted)
    how: dict[str, Any] = {
        "epsilon": epsilon,
        "by": by or (),
        "where": where,
        "weights": shares,
        "confidence": confidence,
        "simultaneous": simultaneous,
        "fresh": fresh,
    }
    with postri.connect(policy, analyst=analyst) as session, shown_progress():
        if price:
            show_price(session.price(dataset, wanted, **how), json=json)
            return
        result = session.ask(dataset, wanted, **how)
    show_result(result, json=json, csv=csv, plot=plot)


def named(aggregates: list[str]) -> dict[str, str]:
    """The aggregates by name: the one that is given, or one made of their text.

    >>> named(["count()", "mid = median(fare)", "quantile(fare, 0.9)"])
    {'count': 'count()', 'mid': 'median(fare)', 'quantile_fare_0.9': 'quantile(fare, 0.9)'}
    """
    from postri.statistics.registry import usual_name

    found: dict[str, str] = {}
    for aggregate in aggregates:
        given = NAMED.fullmatch(aggregate)
        name, text = (given["name"], given["text"]) if given else (usual_name(aggregate), aggregate)
        if name in found:
            raise InputError(
                f'two aggregates have the name {name!r}; name them, such as "first={text}"'
            )
        found[name] = text
    return found


def _weights(text: str, wanted: dict[str, str]) -> dict[str, str]:
    parts = text.split(",")
    if len(parts) != len(wanted):
        raise InputError(
            f"give each of the {len(wanted)} aggregates its weight, such as --weights "
            f"{','.join('1' * len(wanted))}; got {text!r}"
        )
    return dict(zip(wanted, (part.strip() for part in parts), strict=True))


def show_price(price: Price, *, json: bool) -> None:
    """A price on standard output."""
    typer.echo(texts.dumps(price.to_dict()) if json else str(price))


def show_result(result: Result, *, json: bool, csv: bool, plot: str | None) -> None:
    """A result on standard output, and as a picture if one is wanted."""
    typer.echo(result.to_json() if json else result.to_csv().rstrip("\n") if csv else str(result))
    if plot is not None:
        from postri.answer.picture import save_result

        save_result(result, plot)
        typer.echo(f"saved {plot}", err=True)


def budget(
    json: o.Json = False,
    verify: Verify = False,
    export: Export = None,
    backup: Backup = None,
    head: Head = False,
    expected_head: Expected = None,
    accept_restored: Accept = False,
    policy: o.Policy = "postri.toml",
) -> None:
    """What each dataset has left, by analyst; and the audit of the ledger."""
    from postri.cli.accounts import as_json, check, save_trail, show
    from postri.ledger import SqliteLedger
    from postri.policy import read_policy
    from postri.session.remote import is_url

    if is_url(policy):
        if verify or export or backup or head or expected_head or accept_restored:
            raise InputError(
                "a service's ledger is audited where it lies: there, name the policy with --policy"
            )
        _show_budget(policy, json=json)
        return
    found = read_policy(policy)
    audit = verify or accept_restored or export is not None
    with SqliteLedger(found.ledger, found.head, audit=audit) as ledger:
        if accept_restored:
            typer.echo(
                f"accepted: entry {ledger.accept_restored()} charges what was lost", err=True
            )
        if verify:
            check(ledger, expected_head)
        if export is not None:
            save_trail(ledger, export)
        if backup is not None:
            ledger.backup(backup)
            typer.echo(f"saved {backup}", err=True)
        if head:
            typer.echo(ledger.head().line)
        elif json:
            typer.echo(texts.dumps(as_json(_accounts(found), ledger)))
        else:
            show(_accounts(found), ledger)


def _show_budget(url: str, *, json: bool) -> None:
    """What a service says of the budgets."""
    import postri

    with postri.connect(url) as session:
        found = session.budget()
    typer.echo(texts.dumps(found.to_dict()) if json else str(found))


def _accounts(policy: Policy) -> list[Account]:
    from postri.ledger import Account
    from postri.session.facts import accountant_of

    return [
        Account(dataset.name, dataset.budget, accountant_of(dataset), dataset.allowances)
        for dataset in policy.datasets.values()
    ]
