"""Whom the datasets of a policy are about: which share their people, and so their spends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from postri.errors import PolicyError, Problem, nearest
from postri.exact import plain
from postri.ledger import Ledger, People
from postri.policy.model import Dataset, Policy
from postri.policy.sources import place_digests, places_of


def people_of(policy: Policy, dataset: Dataset) -> People:
    """What the policy alone says of it; where its rows lie is not looked up."""
    return People(dataset.protect, same_people=joined_with(policy.datasets, dataset.name))


def located_people(policy: Policy, dataset: Dataset) -> People:
    """The same with the places of its rows."""
    return replace(people_of(policy, dataset), places=place_digests(policy, dataset))


def joined_with(datasets: Mapping[str, Dataset], name: str) -> tuple[str, ...]:
    """The other datasets that `same_people_as` joins with one, over any number of steps; some may
    be known to the ledger alone.
    """
    pairs = [{each.name, each.same_people_as} for each in datasets.values() if each.same_people_as]
    found: set[str | None] = {name}
    while more := {other for pair in pairs if found & pair for other in pair} - found:
        found |= more
    return tuple(sorted(other for other in found if other is not None and other != name))


def join_problems(datasets: Mapping[str, Dataset]) -> Iterator[tuple[str, str]]:
    """What is wrong with `same_people_as`, by the text of the policy: the dataset, and words."""
    for name, dataset in datasets.items():
        if dataset.same_people_as is None:
            continue
        if dataset.same_people_as == name:
            yield name, "same_people_as must name another dataset, got this one's own name"
            continue
        for other in joined_with(datasets, name):
            if other in datasets and (text := _difference(dataset, datasets[other])):
                yield name, text
                break


def _difference(one: Dataset, other: Dataset) -> str | None:
    """Why the spends of two datasets cannot be added up; None if they can."""
    both = f"datasets {one.name!r} and {other.name!r} are about the same people"
    if one.protect != other.protect:
        return (
            f"{both}, so their spends add up only under the same protect: {one.name!r} protects "
            f"{one.protect}, {other.name!r} {other.protect}; write the same in both"
        )
    if (one.accountant, one.delta) != (other.accountant, other.delta):
        return (
            f"{both}, so their spends add up only under the same accountant and delta: "
            f"{one.name!r} has {_accounting(one)}, {other.name!r} {_accounting(other)}; write the "
            "same in both"
        )
    return None


def _accounting(dataset: Dataset) -> str:
    if dataset.delta is None:
        return f'"{dataset.accountant}"'
    return f'"{dataset.accountant}" with delta {plain(dataset.delta)}'


# ---- beside the sources, and beside the ledger


def check_people(policy: Policy, dataset: Dataset, ledger: Ledger) -> None:
    """PolicyError if the spends of a dataset would not be added up as they must.

    What the ledger finds out by itself, it refuses when a question is reserved.
    """
    problems = [*source_problems(policy, dataset), *ledger_problems(policy, dataset, ledger)]
    if problems:
        raise PolicyError(str(policy.path), problems)


def source_problems(policy: Policy, dataset: Dataset) -> Iterator[Problem]:
    """Datasets of the policy that read the same rows and are not joined."""
    joined = joined_with(policy.datasets, dataset.name)
    others = [
        other
        for name, other in policy.datasets.items()
        if name != dataset.name and name not in joined
    ]
    if not others:
        return
    here = places_of(policy, dataset)
    for other in others:
        if here & places_of(policy, other):
            first, second = sorted((dataset, other), key=lambda each: each.line)
            yield Problem(
                second.line,
                f"datasets {first.name!r} and {second.name!r} read the same source, so what is "
                f'asked of both adds up: write same_people_as = "{first.name}" in the table of '
                f"{second.name!r}, or leave one of them out",
            )


def ledger_problems(policy: Policy, dataset: Dataset, ledger: Ledger) -> Iterator[Problem]:
    """Names that nobody knows, and datasets that were joined earlier and differ now."""
    joined = joined_with(policy.datasets, dataset.name)
    if any(name not in policy.datasets for name in joined):
        known = ledger.datasets()
        for name in (dataset.name, *joined):
            if name in policy.datasets:
                yield from unknown_names(policy, policy.datasets[name], known)
    for name in joined_before(policy, dataset, ledger):
        other = policy.datasets.get(name)
        if other is not None and (text := _difference(dataset, other)):
            yield Problem(dataset.line, f"by the ledger {text}")


def joined_before(policy: Policy, dataset: Dataset, ledger: Ledger) -> list[str]:
    """The datasets that the ledger has joined with one, and the policy does not."""
    joined = joined_with(policy.datasets, dataset.name)
    known = ledger.same_people(dataset.name, joined)
    return [name for name in known if name != dataset.name and name not in joined]


def unknown_names(policy: Policy, dataset: Dataset, known: Iterable[str]) -> Iterator[Problem]:
    """A name in `same_people_as` that is neither of the policy nor known to the ledger."""
    named = dataset.same_people_as
    names = [name for name in dict.fromkeys((*policy.datasets, *known)) if name != dataset.name]
    if named is None or named in names:
        return
    hint = "leave it out"
    if names:
        hint = nearest(named, names)
    yield Problem(
        dataset.line,
        f"same_people_as of dataset {dataset.name!r} names {named!r}, which neither the policy "
        f"nor the ledger knows; {hint}",
    )
