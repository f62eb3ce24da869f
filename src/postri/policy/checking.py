"""A policy beside its sources: names and declared types are compared, no row is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from postri.columns import ColumnType
from postri.engines.doubts import IN_POLICY, refusal
from postri.engines.resolve import Opener, open_here
from postri.engines.rows import Groups, Rows, Units
from postri.engines.table import Table
from postri.errors import (
    InputError,
    PolicyError,
    PostriError,
    Problem,
    TermsRefused,
    nearest,
)
from postri.exact import plain, shown
from postri.expressions.grouping import Discovery
from postri.grid import grid_of
from postri.ledger import Ledger
from postri.policy.model import NUMBERS, ColumnPolicy, Dataset, Policy, agrees, type_name
from postri.policy.people import (
    joined_before,
    ledger_problems,
    located_people,
    source_problems,
    unknown_names,
)
from postri.policy.sources import open_with
from postri.privacy import AddOrRemoveUnits, ReplaceUnits

NOTHING_TO_VOUCH = (
    "the source of dataset {name!r} holds stored rows, which can be read: leave vouched out"
)
VOUCHED = "dataset {name!r} is vouched for, and nothing here can check that: its source is {doubt}"


class Vouched(Problem):
    """What a steward vouches for. Nobody can check it, and if it fails it tells a bit of a row."""


@dataclass(frozen=True)
class Findings:
    """What is wrong, and what may be."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def error(self, line: int, text: str) -> None:
        """One more thing that is wrong."""
        self.errors.append(Problem(line, text))

    def tried(self, line: int, work: Callable[[], object], hint: str = "") -> bool:
        """Whether the work could be done; an error is noted otherwise, with the hint before it."""
        try:
            work()
        except InputError as error:
            self.error(line, f"{hint}{error}")
        except PostriError as error:
            self.error(line, str(error))
        else:
            return True
        return False


def open_dataset(policy: Policy, dataset: Dataset, opener: Opener = open_here) -> Table:
    """The table of a dataset; `opener` says in which process.

    Looks at names and declared types, at no row; PolicyError if they are not what the policy says.
    """
    table = open_with(policy, dataset, dataset.columns.values(), opener)
    found = Findings()
    if table.doubts and not dataset.vouched:
        found.error(dataset.line, str(refusal(table.doubts, IN_POLICY)))
    for column in dataset.columns.values():
        found.tried(column.line, partial(_check_declared, table, column))
    if found.errors:
        raise PolicyError(str(policy.path), found.errors)
    return table


def _check_declared(table: Table, column: ColumnPolicy) -> None:
    table.column(column.name)
    _check_type(column, table.declared(column.name))


def check_policy(policy: Policy) -> tuple[list[Problem], list[Problem]]:
    """The errors and the warnings of a policy against its real sources, in the order of their
    lines.
    """
    found = Findings()
    found.errors.extend(_ledger_errors(policy))
    for dataset in policy.datasets.values():
        found.warnings.extend(_limit_warnings(dataset))
        _check_source(policy, dataset, found)
    _people(policy, found)
    return sorted(found.errors, key=_line), sorted(found.warnings, key=_line)


def _line(problem: Problem) -> int:
    return problem.line


def _ledger_errors(policy: Policy) -> Iterator[Problem]:
    files = (
        ("ledger", policy.ledger, policy.ledger_line),
        ("ledger_head", policy.head, policy.head_line),
    )
    for key, file, line in files:
        if not isinstance(file, Path):
            continue
        # The head of a ledger in a database is a folder, which is made with the first of them.
        reason = _unwritable(file, as_folder=not isinstance(policy.ledger, Path))
        if reason is not None:
            yield Problem(line, f"{key} cannot be written: {reason}")


def _unwritable(file: Path, *, as_folder: bool = False) -> str | None:
    folder = str(file.parent)
    if not file.parent.is_dir():
        return f"there is no folder {folder!r}; make it, or name another"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder!r} does not allow it; change its rights, or name another"
    if file.is_dir() and not as_folder:
        return f"{str(file)!r} is a folder; name a file"
    if file.exists() and not os.access(file, os.W_OK):
        return f"{str(file)!r} does not allow it; change its rights, or name another"
    return None


def _limit_warnings(dataset: Dataset) -> Iterator[Problem]:
    """Limits that the budget makes idle, and a dataset that offers next to nothing."""
    limits = {f"the allowance of {name!r}": epsilon for name, epsilon in dataset.allowances.items()}
    if dataset.max_epsilon_per_question is not None:
        limits["max_epsilon_per_question"] = dataset.max_epsilon_per_question
    for what, epsilon in limits.items():
        if epsilon > dataset.budget:
            yield Problem(
                dataset.line,
                f"{what} is {plain(epsilon)}, more than the budget {plain(dataset.budget)}: "
                "it limits nothing",
            )
    for name, epsilon in dataset.allowances.items():
        if epsilon < dataset.least_epsilon:
            yield Problem(
                dataset.line,
                f"the allowance of {name!r} is {plain(epsilon)}, less than the "
                f"{plain(dataset.least_epsilon)} that a question costs at least (min_epsilon): "
                f"{name!r} can ask nothing",
            )
    if dataset.units is not None and not isinstance(
        dataset.protect, AddOrRemoveUnits | ReplaceUnits
    ):
        yield Problem(
            dataset.line,
            f"units of dataset {dataset.name!r} is for protect with a unit: nothing uses it",
        )
    if not dataset.columns:
        yield Problem(
            dataset.line,
            f"dataset {dataset.name!r} has no columns: nothing but the number of rows can be asked",
        )


def _check_source(policy: Policy, dataset: Dataset, found: Findings) -> None:
    try:
        # Columns that are not there would be refused: their names are looked up first.
        names = open_with(policy, dataset, ()).columns
        known = [
            column
            for column in dataset.columns.values()
            if column.name in names or column.public is not None
        ]
        table = open_with(policy, dataset, known)
    except PostriError as error:
        found.error(
            dataset.line, f"the source of dataset {dataset.name!r} cannot be opened: {error}"
        )
        return
    _check_doubts(dataset, table, found)
    for column in dataset.columns.values():
        if column not in known:
            found.error(
                column.line,
                f"the source has no column {shown(column.name)}; {nearest(column.name, names)}",
            )
    if isinstance(dataset.protect, AddOrRemoveUnits | ReplaceUnits):
        units = Units(dataset.protect.unit, dataset.protect.rows)
        found.tried(dataset.line, partial(table.bind, Rows(units=units)), "protect: ")
    for column in known:
        _check_column(table, column, found)


def _check_doubts(dataset: Dataset, table: Table, found: Findings) -> None:
    """Whether the source may fail on a row, and whether the steward vouches that it does not."""
    if not dataset.vouched:
        if table.doubts:
            found.error(dataset.line, str(refusal(table.doubts, IN_POLICY)))
        return
    for each in table.doubts:
        found.warnings.append(Vouched(dataset.line, VOUCHED.format(name=dataset.name, doubt=each)))
    if not table.doubts:
        found.warnings.append(Problem(dataset.line, NOTHING_TO_VOUCH.format(name=dataset.name)))


def _check_column(table: Table, column: ColumnPolicy, found: Findings) -> None:
    name = column.name
    if not found.tried(column.line, lambda: _check_type(column, table.declared(name))):
        return
    declared = table.declared(name)
    if column.domain is not None:
        hint = f"the bounds of {name!r}: "
        found.tried(column.line, partial(grid_of, declared, column.domain), hint)
    if column.keys is not None:
        keys = column.keys
        found.tried(column.line, lambda: table.bind(Rows(groups=Groups.of({name: keys}))))
    if column.discover:
        unknown = Discovery(name, Fraction(0))
        found.tried(column.line, lambda: table.bind(Rows(groups=Groups.of({name: unknown}))))
    found.warnings.extend(_bound_warnings(column, declared))


def _check_type(column: ColumnPolicy, declared: ColumnType) -> None:
    if agrees(column.type, declared):
        return
    found = type_name(declared)
    instead = f'write type = "{found}"'
    if found == "text":
        instead += f", or store its cells as {column.type}s: a stored text stays a text"
    raise InputError(
        f"column {column.name!r} has type {column.type!r} in the policy, and the source "
        f"declares {shown(declared.name)}; {instead}"
    )


def _bound_warnings(column: ColumnPolicy, declared: ColumnType) -> Iterator[Problem]:
    if column.domain is not None or column.type not in NUMBERS or column.public is not None:
        return
    try:
        grid_of(declared, None)
        text = "quantiles only: a sum or a mean of it needs lower and upper"
    except InputError:
        text = "no quantile, sum or mean of it can be asked: they need lower, upper and step"
    yield Problem(column.line, f"column {column.name!r} has no bounds, so {text}")


def _people(policy: Policy, found: Findings) -> None:
    """Datasets about the same people whose spends nobody would add up."""
    errors: list[Problem] = []
    for dataset in policy.datasets.values():
        errors.extend(source_problems(policy, dataset))
    # Each of two is told of the other, in the same words.
    found.errors.extend(dict.fromkeys(errors))
    # A ledger that cannot be written was told already.
    if errors or any(_ledger_errors(policy)):
        return
    # One that is still empty knows nothing.
    if not policy.has_ledger:
        for dataset in policy.datasets.values():
            found.errors.extend(unknown_names(policy, dataset, ()))
        return
    found.tried(policy.ledger_line, partial(_beside_ledger, policy, found))


def _beside_ledger(policy: Policy, found: Findings) -> None:
    with policy.open_ledger(audit=True) as ledger:
        found.warnings.extend(Problem(policy.ledger_line, text) for text in ledger.warnings())
        errors: list[Problem] = []
        for dataset in policy.datasets.values():
            errors.extend(ledger_problems(policy, dataset, ledger))
            try:
                found.warnings.extend(_ledger_warnings(policy, dataset, ledger))
            except TermsRefused as refused:
                errors.append(Problem(dataset.line, str(refused)))
        # What is wrong with one is told of all that are joined with it.
        found.errors.extend(dict.fromkeys(errors))


def _ledger_warnings(policy: Policy, dataset: Dataset, ledger: Ledger) -> Iterator[Problem]:
    """What counts for more than the policy says; TermsRefused if questions will be."""
    people = located_people(policy, dataset)
    now = ledger.spent(dataset.name, people=people)
    if now != ledger.spent(dataset.name, people=replace(people, protect=None)):
        yield Problem(
            dataset.line,
            f"dataset {dataset.name!r} protects more than it did: by group privacy, what was spent "
            "before counts for more from its next question on",
        )
    if before := joined_before(policy, dataset, ledger):
        names = " and ".join(map(repr, before))
        yield Problem(
            dataset.line,
            f"by the ledger dataset {dataset.name!r} is about the same people as {names}: what was "
            "spent on them still counts",
        )
