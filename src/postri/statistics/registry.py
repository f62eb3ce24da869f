"""The registry: every statistic by the names under which it can be asked.

A statistic registers its forms when its module loads, and all modules of this folder load when the
first name is looked up. So a new statistic is one file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal, NotRequired, TypedDict

from postri.answer.within import Within
from postri.errors import InputError, nearest
from postri.exact import Number, shown
from postri.expressions import Predicate
from postri.statistics.keys import read_keys, split_list
from postri.statistics.statistic import Fits, Statistic

CALL = re.compile(r"\s*(?P<name>\w+)\s*\(\s*(?P<inside>.*?)\s*\)\s*", re.DOTALL)
QUOTED = re.compile(r'"((?:[^"]|"")+)"')
# A call, whose names are in quotes where they hold parentheses, and the filter behind it.
FILTERED = re.compile(
    r'(?P<call>\s*\w+\s*\((?:[^()"]|"(?:[^"]|"")*")*\)\s*)\bwhere\b(?P<where>.+)',
    re.DOTALL | re.IGNORECASE,
)
# A wish behind all that: a number, or ranks.
WISHED = re.compile(
    r"(?P<rest>.+?)\bwithin\b\s*(?P<within>[0-9.][^()'\"]*)", re.DOTALL | re.IGNORECASE
)
WISH = re.compile(r"\bwithin\s+[0-9.][0-9.e]*(?:\s+(?:percentiles?|rows?)\b)?", re.IGNORECASE)
# What nobody can answer privately, and a quantile near it.
EXTREMES = {"min": "0.01", "max": "0.99"}
FIRST = re.compile(r'(?P<column>"(?:[^"]|"")+"|[^",]+)\s*(?:,(?P<rest>.*))?', re.DOTALL)


ParameterKind = Literal["column", "condition", "share", "shares", "edges", "number", "keys"]
"""A column; a condition in SQL; a number between 0 and 1, or several; the edges of bins; a whole
number; public keys of the column, which are those of the policy where none are given.
"""


Family = Literal[
    "everyday",
    "spread",
    "keys and persons",
    "means without extremes",
    "the population behind the rows",
    "others",
]
"""Under which heading lists show a statistic. The everyday ones are those of a first question."""


class ParameterFields(TypedDict):
    """A parameter of a statistic, from which a form can be built.

    A column that `fits` is of any type, of one that has an order, or a number with bounds. `shares`
    and `edges` are lists, whose parts are separated by commas.
    """

    name: str
    kind: ParameterKind
    fits: NotRequired[Fits]
    optional: NotRequired[bool]
    meaning: NotRequired[str]
    default: NotRequired[str]


class StatisticFields(TypedDict):
    """A statistic: `text` and `sql` are the forms of its aggregate, with parameters in braces.

    `words` is what people call it, and `family` the heading under which lists show it.
    """

    name: str
    meaning: str
    parameters: list[ParameterFields]
    text: str
    sql: str | None
    sql_without_column: NotRequired[str]
    words: str
    family: Family


@dataclass(frozen=True)
class Parameter:
    """What a form takes: a column that fits, a number, or as the last one a list of numbers or
    dates. `usual` stands in the page's field.
    """

    name: str
    kind: ParameterKind
    fits: Fits = "any"
    optional: bool = False
    meaning: str = ""
    usual: str = ""

    @property
    def is_list(self) -> bool:
        """Whether it takes all values that are left, as a list."""
        return self.kind in ("edges", "shares", "keys")

    def described(self) -> ParameterFields:
        """As plain values."""
        fields: ParameterFields = {"name": self.name, "kind": self.kind}
        if self.kind == "column":
            fields["fits"] = self.fits
            fields["optional"] = self.optional
        else:
            fields["meaning"] = self.meaning
            fields["default"] = self.usual
            if self.optional:
                fields["optional"] = True
        return fields


@dataclass(frozen=True)
class Form:
    """A way to ask for a statistic: its name in `agg`, in texts and over HTTP, and those in SQL.

    `also` are other names in `agg` and in texts, which lists do not show. `make` takes the values
    of the parameters in their order, as they were given, and checks them. `sql_ordered` are names
    of functions that take the column behind WITHIN GROUP, `sql_distinct` of those that take it
    behind DISTINCT. `called` is what people call it, if that is not its name. Lists show it among
    its `family`, and there the lowest `place` first.
    """

    name: str
    make: Callable[..., Statistic]
    meaning: str
    parameters: tuple[Parameter, ...] = ()
    also: tuple[str, ...] = ()
    sql: tuple[str, ...] = ()
    sql_usage: str = ""
    sql_ordered: tuple[str, ...] = ()
    sql_distinct: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    called: str = ""
    family: Family = "others"
    place: int = 100

    @property
    def takes_column(self) -> bool:
        """Whether the first parameter is a column."""
        return bool(self.parameters) and self.parameters[0].kind == "column"

    @property
    def takes_list(self) -> bool:
        """Whether the last parameter is a list."""
        return bool(self.parameters) and self.parameters[-1].is_list

    @property
    def takes_keys(self) -> bool:
        """Whether that list is one of keys."""
        return self.takes_list and self.parameters[-1].kind == "keys"

    @property
    def usage(self) -> str:
        """How it is written in SQL, in words."""
        return self.sql_usage or "{function}(x): one column or expression"

    def asked(
        self,
        *values: Any,
        where: str | Predicate | None = None,
        within: Number | Within | None = None,
        **named: Any,
    ) -> Statistic:
        """The statistic with these parameters, of those rows alone on which `where` holds, and as
        near as `within` says.
        """
        return self.make(*values, **named).filtered(where).wished(within)

    def described(self) -> StatisticFields:
        """As plain values: what a page needs to offer it and to write it."""
        inside = ", ".join(f"{{{parameter.name}}}" for parameter in self.parameters)
        sql = None
        if self.sql:
            sql = f"{self.sql[0]}({inside})"
        elif self.sql_distinct:
            sql = f"{self.sql_distinct[0]}(DISTINCT {{{self.parameters[0].name}}})"
        fields: StatisticFields = {
            "name": self.name,
            "meaning": self.meaning,
            "parameters": [parameter.described() for parameter in self.parameters],
            "text": f"{self.name}({inside})",
            "sql": sql,
            "words": self.called or self.name.replace("_", " "),
            "family": self.family,
        }
        if sql is not None and self.takes_column and self.parameters[0].optional:
            fields["sql_without_column"] = f"{self.sql[0]}(*)"
        return fields


_forms: dict[str, Form] = {}


def register(form: Form) -> None:
    """Add a form under its name; no other may have it."""
    taken = {name for other in _forms.values() for name in _names(other)}
    twice = taken & set(_names(form))
    if twice:
        raise ValueError(f"there is another statistic or SQL function of the name {twice}")
    _forms[form.name] = form


def _names(form: Form) -> tuple[str, ...]:
    """All names of a form; those in SQL are in capitals."""
    return (form.name, *form.also, *form.sql, *form.sql_ordered)


@contextmanager
def registered(form: Form) -> Iterator[None]:
    """The form is known inside the block, and forgotten after it."""
    register(form)
    try:
        yield
    finally:
        del _forms[form.name]


@cache
def load() -> None:
    """Import every module of this folder, so that all its statistics are known.

    Also what they drew can then be read back from a ledger or from a service.
    """
    from pkgutil import iter_modules

    package = import_module("postri.statistics")
    for module in iter_modules(package.__path__):
        import_module(f"postri.statistics.{module.name}")


def forms() -> list[Form]:
    """Every form, in the order in which lists show them."""
    load()
    return sorted(_forms.values(), key=lambda form: form.place)


def form_named(name: str) -> Form | None:
    """The form of a name, if there is one."""
    for form in forms():
        if name in (form.name, *form.also):
            return form
    return None


def sql_functions() -> Mapping[str, Form]:
    """Every form by its names in SQL."""
    return {name: form for form in forms() for name in (*form.sql, *form.sql_ordered)}


def distinct_functions() -> Mapping[str, Form]:
    """Every form that is asked in SQL by DISTINCT in a function, by the name of that."""
    return {name: form for form in forms() for name in form.sql_distinct}


def described() -> list[StatisticFields]:
    """Every form as plain values: what a service tells its page."""
    return [form.described() for form in forms()]


def read(given: object) -> Statistic:
    """A statistic, or the text of one.

    >>> read("quantile(fare, 0.9)").written()
    'quantile("fare", 9/10)'

    A filter of its own may stand behind it.

    >>> read("count() where delay > 15").text
    'count() WHERE delay > 15'

    So may a wish how near it is to be, at the end.

    >>> read("median(fare) within 1 percentile").text
    'median("fare") WITHIN 1 percentile'
    """
    if isinstance(given, Statistic):
        return given
    wished = WISHED.fullmatch(given) if isinstance(given, str) else None
    if wished is not None:
        return read(wished["rest"]).wished(wished["within"].strip())
    filtered = FILTERED.fullmatch(given) if isinstance(given, str) else None
    if filtered is not None:
        return read(filtered["call"]).filtered(filtered["where"].strip())
    found = None
    if isinstance(given, str):
        found = CALL.fullmatch(given)
    if found is None:
        raise InputError(_no_call(given))
    name = found["name"].lower()
    form = form_named(name)
    if name in EXTREMES:
        near = f"quantile({found['inside'] or 'x'}, {EXTREMES[name]})"
        raise InputError(
            f"{found['name']!r} is one person's value, so no private answer can be near it; ask "
            f"for a quantile close to it, such as {near!r}"
        )
    if form is None:
        names = [name for each in forms() for name in (each.name, *each.also)]
        raise InputError(f"there is no aggregate {found['name']!r}; {nearest(name, names)}")
    values = _values(form, found["inside"])
    if values is None:
        raise InputError(f"write {_examples()}, got {shown(given)}")
    return form.make(*values)


def _no_call(given: object) -> str:
    """What is wrong with an aggregate that is no name with parentheses."""
    if not isinstance(given, str):
        # Whoever writes an object writes Python.
        wanted = f"one of postri.agg, or a text such as {_examples()}"
        return f"an aggregate must be {wanted}, got {shown(given)}"
    form = form_named(given.strip().lower())
    if form is not None and form.examples:
        return f"an aggregate has parentheses: write {form.examples[0]!r}, got {shown(given)}"
    return f"an aggregate must be a text such as {_examples()}, got {shown(given)}"


def _examples() -> str:
    examples = [repr(example) for form in forms() for example in form.examples]
    return " or ".join(examples)


def _values(form: Form, inside: str) -> list[Any] | None:
    """What stands for each parameter; None if there are too many or too few.

    Only a column's name can hold a comma, so what follows it is cut off from the right. Before a
    list it must then stand in double quotes.
    """
    if not form.parameters:
        return None if inside else []
    if inside in ("", "*"):
        return [] if form.parameters[0].optional else None
    if form.takes_keys:
        return _column_and_keys(form, inside)
    if form.takes_list:
        return _column_and_list(inside)
    parts = [part.strip() for part in inside.rsplit(",", len(form.parameters) - 1)]
    if len(parts) < len(form.parameters):
        return None
    if form.takes_column:
        parts[0] = _column(parts[0])
    return [*parts]


def _column_and_keys(form: Form, inside: str) -> list[Any] | None:
    """A column, what stands by itself after it, and keys, which may be left out."""
    found = FIRST.fullmatch(inside)
    if found is None:
        return None
    parts = split_list((found["rest"] or "").strip())
    alone = len(form.parameters) - 2
    if len(parts) < alone:
        return None
    keys = read_keys(", ".join(parts[alone:])) or None
    return [_column(found["column"].strip()), *parts[:alone], keys]


def _column_and_list(inside: str) -> list[str | list[str]] | None:
    found = FIRST.fullmatch(inside)
    if found is None:
        return None
    listed = [part.strip() for part in (found["rest"] or "").split(",")]
    return [_column(found["column"].strip()), [part for part in listed if part]]


def _column(text: str) -> str:
    """A name as it is, or in double quotes."""
    quoted = QUOTED.fullmatch(text)
    if quoted is None:
        return text
    return quoted[1].replace('""', '"')


def written(name: str, column: str | None, *more: object) -> str:
    """The text of a form with its parameters, which `read` reads.

    >>> written("quantile", "fare", "9/10")
    'quantile("fare", 9/10)'
    """
    inside = [str(each) for each in more]
    if column is not None:
        escaped = column.replace('"', '""')
        inside.insert(0, f'"{escaped}"')
    return f"{name}({', '.join(inside)})"


def check_column(column: object) -> str:
    """The name of a column, or InputError if it is something else."""
    if not isinstance(column, str):
        raise InputError(
            f"name the column of an aggregate, such as median('fare'), got {shown(column)}"
        )
    return column


def usual_name(text: str) -> str:
    """The name of an aggregate that has none: the words of its text.

    >>> usual_name("MEDIAN(balance)"), usual_name("COUNT(*)"), usual_name("quantile(fare, 0.9)")
    ('median_balance', 'count', 'quantile_fare_0.9')

    What a list holds tells its answers from one another, and is no part of the name.

    >>> usual_name("histogram(fare, 0, 10, 100)")
    'histogram_fare'

    Nor is a wish.

    >>> usual_name("MEDIAN(balance) WITHIN 1 PERCENTILE")
    'median_balance'
    """
    text = WISH.sub(" ", text)
    call = CALL.fullmatch(text)
    if call is not None:
        form = form_named(call["name"].lower()) or sql_functions().get(call["name"].upper())
        inside = FIRST.fullmatch(call["inside"])
        if form is not None and form.takes_list and inside is not None:
            text = f"{call['name']}({inside['column']})"
    return "_".join(re.findall(r"[\w.]+", text)).lower() or text
