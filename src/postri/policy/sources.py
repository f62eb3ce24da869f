"""Where the rows of a dataset are, and how they are opened: what a source is, its engine knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime
from glob import escape
from hashlib import sha256

from postri.domain import Domain
from postri.engines.duckdb import PATTERN
from postri.engines.resolve import Opener, PolicySource, open_here, policy_source_of
from postri.engines.table import Table
from postri.errors import InputError, nearest
from postri.ledger.entries import canonical
from postri.policy.model import ColumnPolicy, Dataset, Policy
from postri.policy.public import joined_column

# What engines call by Python's names for it, and the keys of a policy that mean the same.
KEYS = (
    (re.compile(r"\bpostri\.open\(\.\.\., (delimiter|encoding)='([^']+)'\)"), r'\1 = "\2"'),
    (re.compile(r"\bdeclare columns with header=False\b"), "say header = false and names"),
)


def open_with(
    policy: Policy, dataset: Dataset, columns: Iterable[ColumnPolicy], opener: Opener = open_here
) -> Table:
    """The table of a dataset, where these columns are declared if the source declares none.

    Looks at names and types, at no row. `opener` says in which process.
    """
    kind = policy_source_of(dataset.source, dataset.table)
    declared: dict[str, str | None] = dict.fromkeys(dataset.names)
    wanted = list(columns)
    if not kind.declares_types:
        own = (column for column in wanted if column.public is None)
        declared.update({column.name: _declared_type(column) for column in own})
    place = _located(policy, dataset, kind)
    try:
        table = Table(opener(kind, place, dataset.table, declared, dataset.csv))
    except InputError as error:
        raise InputError(_in_keys(str(error))) from None
    return _joined(table.with_max_text(dataset.max_text), wanted)


def _joined(table: Table, columns: Iterable[ColumnPolicy]) -> Table:
    """The table with those of the columns that are public, which it holds the keys of."""
    found = {}
    for column in columns:
        if column.public is None:
            continue
        key = column.public.key
        if key not in table.columns:
            raise InputError(
                f"there is no column {key!r}, by which the public table "
                f"{column.public.table!r} is joined; {nearest(key, table.columns)}"
            )
        found[column.name] = joined_column(column, table.declared(key))
    return table.joined(found) if found else table


def _in_keys(message: str) -> str:
    """A message of an engine in the words of a policy.

    >>> _in_keys("say postri.open(..., delimiter=';')")
    'say delimiter = ";"'
    """
    for words, key in KEYS:
        message = words.sub(key, message)
    return message


def places_of(policy: Policy, dataset: Dataset) -> set[tuple[str, ...]]:
    """Where the rows lie: two datasets that share a place share rows. Empty if nothing is there."""
    kind = policy_source_of(dataset.source, dataset.table)
    return kind.places(_located(policy, dataset, kind), dataset.table)


def place_digests(policy: Policy, dataset: Dataset) -> frozenset[str]:
    """Where the rows lie, as the ledger keeps it: whether two places are one can be told, and not
    what they are called.
    """
    places = places_of(policy, dataset)
    return frozenset(sha256(canonical(place).encode()).hexdigest() for place in places)


def _located(policy: Policy, dataset: Dataset, kind: PolicySource) -> str:
    """The source; a path or a pattern is seen from the policy's folder."""
    if not kind.is_path:
        return dataset.source
    folder = str(policy.path.parent)
    if set(dataset.source) & PATTERN:
        # No sign in the folder's own name makes a pattern.
        folder = escape(folder)
    return os.path.join(folder, dataset.source)


def _declared_type(column: ColumnPolicy) -> str | None:
    """What a CSV column is declared as.

    Timestamps with a zone are read by their domain or keys: a declared one has none.
    """
    if is_zoned(column.domain, column.keys or ()):
        return None
    return column.type


def is_zoned(domain: Domain | None, keys: Iterable[object]) -> bool:
    """Whether bounds or keys are timestamps with a time zone."""
    if domain is not None and domain.zoned:
        return True
    return any(isinstance(key, datetime) and key.tzinfo is not None for key in keys)
