"""From the text of a policy to its values, or to every problem at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from postri.columns import MAX_TEXT
from postri.domain import Domain
from postri.engines.csv_format import CsvFormat
from postri.engines.resolve import PolicySource, policy_source_of
from postri.engines.rows import Groups, Key
from postri.errors import InputError, PolicyError, nearest
from postri.exact import plain, shown
from postri.ledger import is_database
from postri.policy import values as v
from postri.policy.model import (
    BOUNDED,
    LEDGER_FILE,
    TYPES,
    AccountantName,
    ColumnPolicy,
    Dataset,
    Policy,
    ServicePolicy,
)
from postri.policy.oidc import OIDC_NEEDS, read_oidc
from postri.policy.people import join_problems
from postri.policy.public import PublicTable, read_public_table
from postri.policy.section import TODO, Section, read_file
from postri.privacy import ROW_CHANGES, UNIT_CHANGES, ProtectedChange

ACCOUNTANTS: Mapping[str, AccountantName] = {"pure": "pure", "zcdp": "zcdp"}
CHANGES = (*ROW_CHANGES, *UNIT_CHANGES)

# The largest `max_text`: a row with such a text may take a hundred times as long as by default.
MOST_MAX_TEXT = 1_000_000

POLICY_KEYS = ("ledger", "ledger_head", "service", "datasets", "public")
PUBLIC_NEEDS = {
    "source": 'where the table is, a CSV file such as source = "planes.csv"',
    "key": 'the column by which its rows are found, such as key = "tailnum"',
}
PUBLIC_FORMAT = ("delimiter", "quote", "encoding")
PUBLIC_KEYS = (*PUBLIC_NEEDS, "columns", *PUBLIC_FORMAT)
PUBLIC_TYPES = tuple(name for name in TYPES if name != "boolean")
FORMAT_KEYS = (
    "encoding",
    "decimal",
    "thousands",
    "date_format",
    "timestamp_format",
    "line_breaks",
)
CSV_KEYS = ("delimiter", "quote", "header", "names", *FORMAT_KEYS)
DATASET_NEEDS = {
    "source": 'where the rows are, such as source = "bank.parquet"',
    "version": 'which rows these are, such as version = "1"',
    "budget": 'what all questions together may cost in epsilon, such as budget = "5"',
    "protect": (
        "what one person may change, which the steward must choose: "
        'protect = { change = "add-or-remove-rows", rows = 1 }'
    ),
}
DATASET_KEYS = (
    *DATASET_NEEDS,
    "table",
    "accountant",
    "delta",
    "rows",
    "units",
    "max_epsilon_per_question",
    "min_epsilon",
    "questions",
    "max_failures",
    "allowances",
    "same_people_as",
    "joins",
    "max_text",
    "discover_delta",
    "columns",
    "vouched",
    *CSV_KEYS,
)
# What stands in place of a list of keys that nobody knows, and of which types those can be found.
DISCOVER = "discover"
FINDABLE = ("text", "integer")
COLUMN_NEEDS = {"type": f"what the column holds: {', '.join(TYPES)}"}
COLUMN_KEYS = (*COLUMN_NEEDS, "lower", "upper", "step", "keys", "unreadable")
PROTECT_NEEDS = {
    "change": f"what neighbouring tables differ in: {', '.join(CHANGES)}",
    "rows": "how many rows belong to one person at most, such as rows = 1",
    "unit": 'the column whose values are persons, such as unit = "customer_id"',
}
SERVICE_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "host": v.a_name,
    "port": partial(v.a_whole_between, low=0, high=65_535),
    "time_grid": partial(v.some_seconds, high=60),
    "answers": v.answer_times,
    "max_body": partial(v.a_whole_between, low=1_024, high=16 * 1024 * 1024),
    "rate": v.a_count,
    "connections": partial(v.a_whole_between, low=1, high=10_000),
    "allowance": v.an_epsilon,
    "token_days": partial(v.a_whole_between, low=1, high=3_660),
    "scans": partial(v.a_whole_between, low=1, high=256),
    "waiting": partial(v.a_whole_between, low=0, high=100_000),
    "waiting_each": partial(v.a_whole_between, low=0, high=100_000),
    "memory": v.a_size,
    "scan_timeout": partial(v.some_seconds, low=Fraction(1, 100)),
    "shutdown_timeout": v.some_seconds,
    "metrics": v.an_address,
}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file, or PolicyError with every problem and its line."""
    file = Path(path)
    top = read_file(file)
    policy = _policy(top, file.absolute())
    problems = top.notes.problems
    if problems:
        raise PolicyError(str(file), sorted(problems, key=lambda problem: problem.line))
    return policy


def _policy(top: Section, path: Path) -> Policy:
    top.refuse_others(POLICY_KEYS)
    place = partial(v.a_ledger_place, folder=path.parent)
    ledger = top.get("ledger", place) or path.with_name(LEDGER_FILE)
    head = top.get("ledger_head", place)
    if is_database(ledger) and head is None:
        head = path.with_name(f"{LEDGER_FILE}.heads")
    if is_database(head) and not is_database(ledger):
        top.note(
            "ledger_head is a database, and the ledger is a file; name a file for its head, or "
            "keep the ledger in a database too",
            "ledger_head",
        )
    # A head inside its own ledger would be put back with it.
    if head == ledger:
        top.note(
            "ledger_head is the ledger itself; keep the head of its chain in another place",
            "ledger_head",
        )
    if top.values.get("datasets", {}) == {}:
        top.note(
            "there is no dataset; add a table [datasets.NAME] with source, version, budget "
            "and protect"
        )
    publics = {
        name: _public(name, section, path.parent)
        for name, section in top.sections("public", PUBLIC_NEEDS).items()
    }
    datasets = {
        name: _dataset(name, section, publics)
        for name, section in top.sections("datasets", DATASET_NEEDS).items()
    }
    found = {name: dataset for name, dataset in datasets.items() if dataset is not None}
    for name, text in join_problems(found):
        top.note(text, "datasets", name, "same_people_as")
    service = _service(top.section("service", {}), path.parent, found)
    if service.tokens is not None and service.tokens in (ledger, head):
        top.note(
            "tokens is a file of the ledger; keep tokens in a file of their own",
            "service",
            "tokens",
        )
    return Policy(
        path=path,
        ledger=ledger,
        head=head,
        datasets=found,
        ledger_line=top.notes.line(("ledger",)),
        head_line=top.notes.line(("ledger_head",)),
        service=service,
    )


def _service(
    section: Section | None, folder: Path, datasets: Mapping[str, Dataset]
) -> ServicePolicy:
    """How to serve, with what is usual where the table says nothing."""
    if section is None:
        return ServicePolicy()
    readers: dict[str, Callable[[str, Any], Any]] = {
        "tokens": partial(v.a_file, folder=folder),
        **SERVICE_READERS,
    }
    section.refuse_others((*readers, "oidc"))
    found: dict[str, Any] = {key: section.get(key, read) for key, read in readers.items()}
    if inner := section.section("oidc", OIDC_NEEDS):
        found["oidc"] = read_oidc(inner, datasets)
    return ServicePolicy(**{key: value for key, value in found.items() if value is not None})


def _public(name: str, section: Section, folder: Path) -> PublicTable | None:
    """A public table, which is read here; None where something is wrong, which was noted."""
    section.refuse_others(PUBLIC_KEYS)
    if not name.isidentifier():
        section.note("a public table is named by a word: [public.NAME]")
    before = len(section.notes.problems)
    source = section.need("source", partial(v.a_file, folder=folder))
    key = section.need("key", v.a_name)
    formats: dict[str, Any] = {
        each: section.get(each, _a_format) for each in PUBLIC_FORMAT if section.has(each)
    }
    columns = {
        column: _column(column, inner, None, types=PUBLIC_TYPES)
        for column, inner in section.sections("columns", COLUMN_NEEDS).items()
    }
    if source is None or key is None or len(section.notes.problems) > before:
        return None
    known = {column: each for column, each in columns.items() if each is not None}
    try:
        return read_public_table(name, source, key, known, CsvFormat(**formats))
    except InputError as error:
        section.note(str(error), "source")
        return None


def _joined(
    section: Section, own: Mapping[str, ColumnPolicy], publics: Mapping[str, PublicTable | None]
) -> tuple[tuple[str, ...], dict[str, ColumnPolicy]]:
    """The public tables that a dataset is joined with, and their columns."""
    names = section.get("joins", _names) or ()
    found: dict[str, ColumnPolicy] = {}
    for name in names:
        if name not in publics:
            section.note(
                f"there is no public table {shown(name)}; {nearest(name, publics)}. Write a table "
                f"[public.{name}] with source and key",
                "joins",
            )
            continue
        # One that could not be read was noted.
        table = publics[name]
        columns = table.columns if table is not None else {}
        for column in filter(own.__contains__, columns):
            section.note(
                f"a column of the public table is called {column!r} too", "columns", column
            )
        found |= columns
    return names, found


def _dataset(
    name: str, section: Section, publics: Mapping[str, PublicTable | None]
) -> Dataset | None:
    section.refuse_others(DATASET_KEYS)
    if not name:
        section.note("a dataset needs a name: [datasets.NAME]")
    source = section.need("source", v.a_name)
    table = section.get("table", v.a_name)
    kind = _kind(section, source, table)
    version = section.need("version", v.a_version)
    budget = section.need("budget", v.an_epsilon)
    protect = _protect(section)
    accountant, delta = _accountant(section)
    rows = section.get("rows", v.a_count)
    units = section.get("units", v.a_count)
    most = section.get("max_epsilon_per_question", v.an_epsilon)
    rules = _question_rules(section, most or budget)
    allowances = _allowances(section)
    same_people_as = section.get("same_people_as", v.a_name)
    vouched = section.get("vouched", v.a_truth)
    csv, names = _csv(section, kind)
    columns = _columns(section, kind, names)
    joins, joined = _joined(section, columns, publics)
    discover_delta = _discover_delta(section, columns, delta)
    max_text = section.get("max_text", partial(v.a_whole_between, low=1, high=MOST_MAX_TEXT))
    # Whatever is missing was noted, so the policy is refused in the end.
    if source is None or version is None or budget is None or protect is None:
        return None
    return Dataset(
        name=name,
        source=source,
        table=table,
        version=version,
        budget=budget,
        accountant=accountant,
        delta=delta,
        rows=rows,
        units=units,
        max_epsilon_per_question=most,
        allowances=allowances,
        protect=protect,
        columns={**columns, **joined},
        csv=csv,
        line=section.line,
        names=names,
        same_people_as=same_people_as,
        vouched=vouched is True,
        joins=joins,
        max_text=max_text or MAX_TEXT,
        discover_delta=discover_delta,
        **rules,
    )


def _question_rules(section: Section, most: Fraction | None) -> dict[str, Any]:
    """What keeps side channels from being sampled for nothing, as far as the section says so;
    `most` is what one question may cost.
    """
    least = section.get("min_epsilon", v.an_epsilon)
    if least is not None and most is not None and least > most:
        section.note(
            f"min_epsilon is {plain(least)}, more than the {plain(most)} that one question may "
            "cost: nothing could be asked",
            "min_epsilon",
        )
    found = {
        "min_epsilon": least,
        "questions": section.get("questions", v.a_count),
        "max_failures": section.get("max_failures", v.a_count),
    }
    return {key: value for key, value in found.items() if value is not None}


def _kind(section: Section, source: str | None, table: str | None) -> PolicySource | None:
    # A table that is itself wrong was noted already.
    if source is None or (table is None and section.has("table")):
        return None
    return section.get("source", lambda _, source: policy_source_of(source, table))


def _accountant(section: Section) -> tuple[AccountantName, Fraction | None]:
    accountant = section.get("accountant", partial(v.a_choice, known=ACCOUNTANTS))
    delta = section.get("delta", v.a_delta)
    if accountant == "zcdp" and not section.has("delta"):
        section.note(
            'accountant = "zcdp" needs delta, a number of at most 0.01 such as delta = "1e-6"',
            "accountant",
        )
    if section.has("delta") and (accountant == "pure" or not section.has("accountant")):
        section.note(
            'delta goes with accountant = "zcdp"; leave it out, or write that accountant', "delta"
        )
    return ACCOUNTANTS[accountant or "pure"], delta


def _discover_delta(
    section: Section, columns: Mapping[str, ColumnPolicy], delta: Fraction | None
) -> Fraction | None:
    """What a question that finds keys costs of delta, which must be there if one may."""
    found = section.get("discover_delta", v.a_delta)
    finds = [name for name, column in columns.items() if column.discover]
    if finds and not section.has("delta"):
        section.note(
            f'keys = "{DISCOVER}" of {finds[0]!r} needs accountant = "zcdp" with a delta: a key '
            "that one person alone has is told with a small chance, which no pure epsilon allows; "
            "write them, or declare the keys",
            "columns",
            finds[0],
            "keys",
        )
    if found is not None and not finds:
        section.note(
            f'discover_delta goes with a column that has keys = "{DISCOVER}"; leave it out, or '
            "write those",
            "discover_delta",
        )
    if found is not None and delta is not None and found > delta / 2:
        section.note(
            f"discover_delta is {plain(found)}, more than half of delta, which is all that may be "
            "spent on keys: nothing could be found",
            "discover_delta",
        )
    return found


def _allowances(outer: Section) -> dict[str, Fraction]:
    section = outer.section("allowances", {})
    if section is None:
        return {}
    read = {name: section.get(name, _allowance) for name in section.values}
    return {name: epsilon for name, epsilon in read.items() if epsilon is not None}


def _allowance(name: str, value: object) -> Fraction:
    return v.an_epsilon(f"the allowance of {name!r}", value)


def _protect(outer: Section) -> ProtectedChange | None:
    outer.need("protect", v.a_table)
    # What is no table was noted by the line above: one problem is told once.
    if not isinstance(outer.values.get("protect"), dict):
        return None
    section = outer.section("protect", PROTECT_NEEDS)
    if section is None:
        return None
    section.refuse_others(PROTECT_NEEDS)
    change = section.need("change", partial(v.a_choice, known=CHANGES))
    rows = section.need("rows", v.a_count)
    unit = None
    if change in UNIT_CHANGES:
        unit = section.need("unit", v.a_name)
    elif change in ROW_CHANGES and section.has("unit"):
        section.note(
            f"unit goes with {' or '.join(UNIT_CHANGES)}, got change = {change!r}; leave unit "
            "out, or write such a change",
            "unit",
        )
    if change is None or rows is None:
        return None
    if change in ROW_CHANGES:
        return ROW_CHANGES[change](rows)
    if unit is None:
        return None
    return UNIT_CHANGES[change](unit, rows)


def _csv(section: Section, kind: PolicySource | None) -> tuple[CsvFormat, tuple[str, ...]]:
    """How a CSV file is written, and the names of its columns if it does not tell them."""
    if kind is not None and kind.declares_types:
        for key in filter(section.has, CSV_KEYS):
            section.note(f"{key} is for CSV files; leave it out", key)
        return CsvFormat(), ()
    delimiter = section.get("delimiter", lambda _, value: CsvFormat(value, "").delimiter)
    quote = section.get("quote", lambda _, value: CsvFormat("\0", value).quote)
    header = section.get("header", v.a_truth)
    names = section.get("names", _names) or ()
    if header is False and not section.has("names"):
        section.note(
            "a file without a header needs the names of all its columns, in order: "
            'names = ["first", "second"]',
            "header",
        )
    if header is not False and section.has("names"):
        section.note(
            "names are for a file without a header; leave them out, or write header = false",
            "names",
        )
    usual = CsvFormat()
    if quote is None:
        quote = usual.quote
    formats = _formats(section)
    try:
        return CsvFormat(delimiter, quote, header is not False, **formats), names
    except InputError as error:
        # Each is right alone, and two are the same sign: the one that was written is at fault.
        clashing = ["delimiter", "quote"]
        if "thousands" in str(error):
            clashing = ["thousands", "decimal"]
        section.note(str(error), next(filter(section.has, clashing)))
        return usual, names


def _formats(section: Section) -> dict[str, Any]:
    """How cells are written, as far as the section says so and each is right alone."""
    found: dict[str, Any] = {}
    for key in filter(section.has, FORMAT_KEYS):
        value = section.get(key, _a_format)
        if value is not None:
            found[key] = value
    return found


def _a_format(what: str, value: object) -> Any:
    """One way in which cells are written, checked beside the usual others."""
    if what == "line_breaks":
        v.a_truth(what, value)
    beside = {"decimal": ","} if value == "." and what == "thousands" else {}
    return getattr(CsvFormat(**{**beside, what: value}), what)  # type: ignore[arg-type]


def _names(what: str, value: object) -> tuple[str, ...]:
    names = [v.a_text("each of names", name) for name in v.a_list(what, value)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"names must differ from one another, got {shown(twice[0])} more than once"
        )
    return tuple(names)


def _columns(
    section: Section, kind: PolicySource | None, names: tuple[str, ...]
) -> dict[str, ColumnPolicy]:
    found = {}
    for name, inner in section.sections("columns", COLUMN_NEEDS).items():
        if names and name not in names:
            inner.note(f"there is no column {shown(name)} among names; {nearest(name, names)}")
        if column := _column(name, inner, kind):
            found[name] = column
    return found


def _column(
    name: str, section: Section, kind: PolicySource | None, types: Sequence[str] = TYPES
) -> ColumnPolicy | None:
    section.refuse_others(COLUMN_KEYS)
    declared = section.need("type", partial(v.a_choice, known=types))
    if declared is None:
        return None
    if declared == "boolean" and kind is not None and not kind.declares_types:
        section.note(
            'a CSV file holds no booleans; write type = "text" and keys = ["true", "false"], as '
            "the cells are written",
            "type",
        )
    domain = _domain(section, declared)
    discover = section.values.get("keys") == DISCOVER
    keys = None
    if not discover:
        keys = _keys(name, section, declared)
    elif declared not in FINDABLE or types is not TYPES:
        section.note(
            f"the keys of a column of type {' or '.join(FINDABLE)} can be found, if it is none of "
            "a public table; declare those of this one, or leave keys out",
            "keys",
        )
    parsed = kind is not None and not kind.declares_types and declared in BOUNDED
    unreadable = section.get("unreadable", v.an_accepted_share)
    if section.has("unreadable") and kind is not None and not parsed:
        section.note(
            "every cell of such a column can be read, unless it is null; leave unreadable out",
            "unreadable",
        )
    return ColumnPolicy(
        name, declared, domain, keys, section.line, parsed, unreadable, discover=discover
    )


def _domain(section: Section, declared: str) -> Domain | None:
    stated = [key for key in ("lower", "upper", "step") if section.has(key)]
    if not stated:
        return None
    if declared not in BOUNDED:
        section.note(
            f"a column of type {declared} has no bounds; leave {' and '.join(stated)} out",
            stated[0],
        )
        return None
    if missing := [key for key in ("lower", "upper") if key not in stated]:
        section.note(
            f"{' and '.join(missing)} must stand beside {' and '.join(stated)}: a domain has "
            "both bounds, or none",
            stated[0],
        )
        return None
    read = partial(v.a_bound, declared=declared)
    lower = section.get("lower", read)
    upper = section.get("upper", read)
    step: Any = 1
    if section.has("step"):
        step = section.get("step", _step)
    if lower is None or upper is None or step is None:
        return None
    # Through the section, so that what is wrong with the domain is noted at its lower bound.
    return section.get("lower", lambda _, __: Domain(lower, upper, step))


def _step(what: str, value: object) -> object:
    if v.a_number(what, value) <= 0:
        raise InputError(f"{what} must be positive, got {v.given(value)}")
    return value


def _keys(name: str, section: Section, declared: str) -> tuple[Key, ...] | None:
    if declared == "float" and section.has("keys"):
        section.note(
            "a column of floats has no keys, because floats are rounded; leave keys out", "keys"
        )
        return None
    listed = section.get("keys", v.a_list) or []
    keys = []
    for number, value in enumerate(listed):
        try:
            keys.append(_key(declared, value))
        except InputError as error:
            section.note(str(error), "keys", number)
    if not keys or len(keys) < len(listed):
        return None
    # The engines' own check of keys: no two are equal, and all can be compared.
    return section.get("keys", lambda _, __: Groups.of({name: keys}).columns[0].keys)


def _key(declared: str, value: object) -> Key:
    if value == TODO:
        raise InputError(
            "the keys are still to be filled in: write them in place of TODO, or leave keys out"
        )
    return v.a_key(declared, value)
