"""`postri open-again`, and what `postri check` and `postri budget` tell of questions without an
answer: the causes that no analyst may see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from postri.cli import options as o
from postri.errors import InputError, LedgerError, Problem

if TYPE_CHECKING:
    from postri.ledger import Ledger, Unanswered
    from postri.policy import Dataset, Policy

# What is said in the place of a cause where there is none.
NO_FATE = "cut off, or counted still"

Name = Annotated[
    str, typer.Argument(metavar="DATASET", help="Which dataset to open.", show_default=False)
]


def open_again(dataset: Name, policy: o.Policy = "postri.toml") -> None:
    """Open a dataset that was closed because questions failed: for the steward, who has looked
    why.
    """
    from postri.policy import read_policy
    from postri.session.remote import is_url
    from postri.session.session import check_dataset

    if is_url(policy):
        raise InputError(
            "a service's dataset is opened where its ledger lies: there, name the policy with "
            "--policy"
        )
    found = read_policy(policy)
    name = check_dataset(dataset, found.datasets)
    with found.open_ledger() as ledger:
        looked_at = ledger.open_again(name)
    if not looked_at:
        typer.echo(f"{name} is open: every question since it was last opened has its answer")
        return
    typer.echo(f"{name} is open again; what these questions cost stays spent:")
    for each in looked_at:
        typer.echo(f"  {_line(each)}")


def closing_problems(policy: Policy) -> tuple[list[Problem], list[Problem]]:
    """The datasets that are closed, as errors, and those of which some questions have no answer, as
    warnings, each with the causes.
    """
    errors: list[Problem] = []
    warnings: list[Problem] = []
    if not policy.has_ledger:
        return errors, warnings
    try:
        with policy.open_ledger(audit=True) as ledger:
            for dataset in policy.datasets.values():
                found = ledger.unanswered(dataset.name)
                if len(found) >= dataset.max_failures:
                    errors.append(Problem(dataset.line, _closed(dataset, found)))
                elif found:
                    warnings.append(Problem(dataset.line, _nearer(dataset, found)))
    except LedgerError as error:
        errors.append(Problem(policy.ledger_line, str(error)))
    return errors, warnings


def failure_lines(policy: Policy, ledger: Ledger) -> Iterator[str]:
    """What to say of questions without an answer below a table of budgets."""
    for dataset in policy.datasets.values():
        found = ledger.unanswered(dataset.name)
        if not found:
            continue
        state = f"closed at {dataset.max_failures}"
        if len(found) >= dataset.max_failures:
            state = f"closed until 'postri open-again {dataset.name}'"
        yield f"{dataset.name}: {_number(found)} without an answer since it was opened; {state}"
        for each in found:
            yield f"  {_line(each)}"


def _closed(dataset: Dataset, found: Sequence[Unanswered]) -> str:
    return (
        f"dataset {dataset.name!r} is closed: {_number(found)} without an answer since it was "
        f"opened, and max_failures is {dataset.max_failures}: {_causes(found)}; look why, then "
        f"'postri open-again {dataset.name}'"
    )


def _nearer(dataset: Dataset, found: Sequence[Unanswered]) -> str:
    return (
        f"dataset {dataset.name!r} has {_number(found)} without an answer since it was opened, and "
        f"is closed at {dataset.max_failures}: {_causes(found)}"
    )


def _causes(found: Sequence[Unanswered]) -> str:
    from postri.ledger.trail import to_the_second

    return ", ".join(f"{each.reason or NO_FATE} ({to_the_second(each.time)})" for each in found)


def _number(found: Sequence[Unanswered]) -> str:
    if len(found) == 1:
        return "1 question"
    return f"{len(found)} questions"


def _line(each: Unanswered) -> str:
    from postri.ledger.trail import to_the_second

    moment = to_the_second(each.time)
    return f"question {each.id} of {each.analyst}, {moment}: {each.reason or NO_FATE}"
