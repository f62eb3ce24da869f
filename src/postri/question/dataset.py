"""What a question may know of a policy's dataset, and what the policy makes of its statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from postri.answer.words import UNREADABLE, accepted_loss
from postri.domain import Domain
from postri.engines.rows import Key, Keys, group_column
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.expressions import Predicate
from postri.privacy import ProtectedChange
from postri.statistics.statistic import Statistic

if TYPE_CHECKING:
    from postri.expressions.grouping import Discovery, Grouping, MomentRange
    from postri.expressions.tree import Expression

By = Mapping[str, "str | Grouping"]
"""What divides rows, by name: a column, the text of an expression, or what `postri.by` makes."""

# What tells an expression from the name of a column that is not there.
EXPRESSION = re.compile(r"[\s('\"]")
KINDS = {"text": "texts", "boolean": "truths", "date": "dates", "timestamp": "timestamps"}


@dataclass(frozen=True)
class PublicPart:
    """Where a column stands that is no part of the private rows: in a public table, found by a
    key. The digest tells one content of it from another.
    """

    table: str
    key: str
    digest: str


class KnownColumn(Protocol):
    """A column that analysts may ask about, with its domain and its public keys.

    `parsed` says that its cells are texts, some of which may not be of its type; `unreadable` is
    the share of such cells that the steward has accepted. Keys that nobody declared may be found if
    it says `discover`.
    """

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def domain(self) -> Domain | None: ...
    @property
    def keys(self) -> tuple[Key, ...] | None: ...
    @property
    def parsed(self) -> bool: ...
    @property
    def unreadable(self) -> Fraction | None: ...
    @property
    def public(self) -> PublicPart | None: ...
    @property
    def discover(self) -> bool: ...


class KnownDataset(Protocol):
    """A dataset as the policy describes it; `rows` and `units` are its public, approximate numbers
    of rows and of persons, and `key_delta` is what a question costs of delta that finds keys.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def units(self) -> int | None: ...
    @property
    def protect(self) -> ProtectedChange: ...
    @property
    def accountant(self) -> str: ...
    @property
    def max_text(self) -> int: ...
    @property
    def key_delta(self) -> Fraction | None: ...
    @property
    def columns(self) -> Mapping[str, KnownColumn]: ...


@dataclass(frozen=True)
class Computed:
    """An expression that statistics name as a column, and the public domain of its parts."""

    expression: Expression
    domain: Domain


def on_dataset(
    statistic: Statistic, dataset: KnownDataset, computed: Mapping[str, Computed]
) -> Statistic:
    """The statistic on the policy's domain, or on that of an expression; InputError if the policy
    does not allow it.
    """
    if statistic.where is not None:
        normal_where = statistic.where.normal(list(dataset.columns))
        statistic = replace(statistic, where=normal_where)
    if not statistic.needs_column and statistic.column is None:
        return statistic
    check_no_domain(statistic)
    if statistic.computed or statistic.is_of_units(dataset.protect):
        return statistic
    expression = computed.get(str(statistic.column))
    if expression is not None:
        if statistic.fits == "any":
            return statistic
        return _with_domain(replace(statistic, domain=expression.domain))
    column = column_of(statistic.column, dataset)
    check_fits(statistic, column)
    if statistic.fits == "any":
        return replace(statistic, column=column.name).with_keys(column.keys)
    return _with_domain(replace(statistic, column=column.name, domain=column.domain))


def _with_domain(statistic: Statistic) -> Statistic:
    """The statistic, if it can be asked on its domain."""
    statistic.check_domain()
    return statistic


def cautions(
    statistic: Statistic, dataset: KnownDataset, computed: Mapping[str, Computed]
) -> tuple[str, ...]:
    """What an answer must say of cells that may be lost, by the policy alone."""
    # A column that a statistic brings itself has a value in every row: none is left out.
    if statistic.column is None or statistic.computed:
        return ()
    names: tuple[str, ...] = (statistic.column,)
    if statistic.column in computed:
        from postri.expressions.tree import columns_of

        names = columns_of(computed[statistic.column].expression)
    columns = [dataset.columns[name] for name in names if name in dataset.columns]
    lossy = [column.unreadable for column in columns if column.parsed and column.unreadable != 0]
    accepted = [share for share in lossy if share is not None]
    if len(accepted) < len(lossy):
        return (UNREADABLE,)
    if not accepted:
        return ()
    # A row is left out for any of its cells.
    return (accepted_loss(min(sum(accepted, start=Fraction(0)), Fraction(1))),)


def check_no_domain(statistic: Statistic) -> None:
    """InputError if a statistic brings a domain for a column of the policy: bounds are the
    steward's. Those of a column that it brings itself are its own.
    """
    if statistic.domain is not None and not statistic.computed:
        raise InputError(
            f"the domain of {shown(statistic.column)} is the policy's; leave it out of the "
            "aggregate"
        )


def check_fits(statistic: Statistic, column: KnownColumn) -> None:
    """InputError if a column of this type cannot be asked for this statistic."""
    if statistic.fits == "any":
        return
    if column.type in ("text", "boolean"):
        raise InputError(
            f"{column.name!r} holds {KINDS[column.type]}, which have no order of numbers; count "
            "them, or group by them"
        )
    # Nothing else tells how fine such numbers are.
    if column.domain is None and (column.type == "float" or _is_parsed_decimal(column)):
        raise InputError(
            f"there is no {statistic.title} of {column.name!r}: the policy gives it no lower, "
            "upper and step, which the steward can add; count it, or ask about another column"
        )
    if statistic.fits != "bounded":
        return
    if column.type in ("date", "timestamp"):
        raise InputError(
            f"there is no {statistic.title} of {KINDS[column.type]}; ask for the median"
        )
    if column.domain is None:
        raise InputError(
            f"there is no {statistic.title} of {column.name!r}: the policy gives it no lower and "
            "upper; ask for its median"
        )


def _is_parsed_decimal(column: KnownColumn) -> bool:
    return column.type == "decimal" and column.parsed


def column_of(name: object, dataset: KnownDataset) -> KnownColumn:
    """The column of a name, or InputError: what is not in the policy does not exist."""
    if not isinstance(name, str) or name not in dataset.columns:
        hint = nearest(str(name), dataset.columns)
        # The reader of SQL takes a while to load: only for a message.
        from postri.expressions.reader import is_computed

        if is_computed(str(name), dataset.columns):
            hint = "what is computed from columns is asked in SQL, such as SELECT AVG(x - y)"
        raise InputError(f"{dataset.name!r} has no column {shown(name)}; {hint}")
    return dataset.columns[name]


def keys_of(by: By, dataset: KnownDataset, where: Predicate | None = None) -> dict[str, Keys]:
    """What divides rows, by the name that the result has for it, with public keys.

    Those of dates and timestamps follow from the column's domain, and from what the filter leaves
    of it.
    """
    found: dict[str, Keys] = {}
    sources = set()
    for name, divides in by.items():
        grouping = as_grouping(divides, dataset)
        if grouping.column is None:
            found[name] = grouping.keyed(_limits(grouping, dataset, where))
        elif (unknown := _discovery(grouping, dataset)) is not None:
            found[name] = unknown
        else:
            found[name] = replace(grouping, listed=_column_keys(grouping, dataset))
        source = group_column(name, found[name]).source
        if source in sources:
            from postri.expressions.spoken import plain_names

            raise InputError(f"by names {plain_names(source)!r} twice")
        sources.add(source)
    return found


def as_grouping(divides: str | Grouping, dataset: KnownDataset) -> Grouping:
    """A column of the policy, or an expression of its columns, in normal form."""
    from postri.expressions.binding import column_named
    from postri.expressions.grouping import Grouping, read_grouping
    from postri.expressions.normal import normal
    from postri.expressions.tree import Column

    names = list(dataset.columns)
    if isinstance(divides, str):
        if divides in dataset.columns or not EXPRESSION.search(divides):
            return Grouping(Column(column_of(divides, dataset).name, quoted=True))
        divides = read_grouping(divides)
    return divides.named(lambda each: normal(each, lambda column: column_named(column, names)))


def _discovery(grouping: Grouping, dataset: KnownDataset) -> Discovery | None:
    """A column whose keys are to be found by the policy, unless some are listed."""
    from postri.expressions.grouping import Discovery

    assert grouping.column is not None
    column = column_of(grouping.column.name, dataset)
    if not column.discover or dataset.key_delta is None:
        return None
    if grouping.listed is not None:
        raise InputError(
            f"the keys of {column.name!r} are found, so none can be listed; select rows by a filter"
        )
    return Discovery(column.name, dataset.key_delta)


def _column_keys(grouping: Grouping, dataset: KnownDataset) -> tuple[Key, ...]:
    """The keys of a column in the policy, or those of them that are listed."""
    assert grouping.column is not None
    column = column_of(grouping.column.name, dataset)
    if column.keys is None:
        instead = _with_keys(dataset)
        if column.type in ("date", "timestamp"):
            instead = (
                "divide by a part of it, whose keys follow from its limits, such as "
                f"DATE_TRUNC('month', {column.name})"
            )
        raise InputError(
            f"{column.name!r} has no public keys in the policy, so rows cannot be divided by it; "
            f"{instead}"
        )
    if grouping.listed is None:
        return column.keys
    unknown = [key for key in grouping.listed if key not in column.keys]
    if unknown:
        raise InputError(f"{shown(unknown[0])} is no key of {column.name!r} in the policy")
    return grouping.listed


def _limits(grouping: Grouping, dataset: KnownDataset, where: Predicate | None) -> MomentRange:
    """What is public of the column from whose limits the keys follow."""
    from postri.expressions.calendar import in_utc
    from postri.expressions.grouping import MomentRange, limits_in

    column = grouping.moments
    if column is None:
        return MomentRange()
    limits = MomentRange()
    domain = column_of(column.name, dataset).domain
    if domain is not None and domain.kind != "number":
        limits = MomentRange(in_utc(domain.lower), in_utc(domain.upper))
    if where is None:
        return limits
    return limits.within(limits_in(where.expression, column))


def _with_keys(dataset: KnownDataset) -> str:
    names = [
        name
        for name, column in dataset.columns.items()
        if column.keys is not None or column.discover
    ]
    if not names:
        return "no column has keys"
    return f"columns with keys: {', '.join(map(repr, names))}"
