"""From the text of a policy to its values, or to every problem at once."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from postri.domain import Domain
from postri.engines.resolve import CsvFormat, PolicySource, policy_source_of
from postri.engines.rows import Groups, Key
from postri.errors import InputError, PolicyError, Problem, nearest
from postri.exact import shown
from postri.policy import values as v
from postri.policy.lines import locate
from postri.policy.model import Accountant, ColumnPolicy, Dataset, Policy
from postri.policy.section import TODO, Notes, Section
from postri.policy.service import read_service
from postri.policy.types import BOUNDED, TYPES
from postri.privacy import ROW_CHANGES, UNIT_CHANGES, ProtectedChange

ACCOUNTANTS: Mapping[str, Accountant] = {"pure": "pure", "zcdp": "zcdp"}
CHANGES = (*ROW_CHANGES, *UNIT_CHANGES)

POLICY_KEYS = ("ledger", "ledger_head", "service", "datasets")
CSV_KEYS = ("delimiter", "quote", "header", "names")
DATASET_NEEDS = {
    "source": 'where the rows are, such as source = "bank.parquet"',
    "version": 'which rows these are, such as version = "1"',
    "budget": 'what all questions together may cost in epsilon, such as budget = "5"',
    "protect": 'what one person may change, which the steward must choose: protect = { change = "add-or-remove-rows", rows = 1 }',
}
DATASET_KEYS = (
    *DATASET_NEEDS,
    *("table", "accountant", "delta", "rows", "max_epsilon_per_question", "allowances", "columns"),
    *CSV_KEYS,
)
COLUMN_NEEDS = {"type": f"what the column holds: {', '.join(TYPES)}"}
COLUMN_KEYS = (*COLUMN_NEEDS, "lower", "upper", "step", "keys")
PROTECT_NEEDS = {
    "change": f"what neighbouring tables differ in: {', '.join(CHANGES)}",
    "rows": "how many rows belong to one person at most, such as rows = 1",
    "unit": 'the column whose values are persons, such as unit = "customer_id"',
}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file, or PolicyError with every problem and its line."""
    file = Path(path)
    values, notes = _parsed(file)
    policy = _policy(Section(values, (), notes, {}), file.absolute())
    if notes.problems:
        raise PolicyError(str(file), sorted(notes.problems, key=lambda problem: problem.line))
    return policy


def _parsed(file: Path) -> tuple[dict[str, Any], Notes]:
    text = _text(file)
    try:
        return tomllib.loads(text), Notes(locate(text))
    except RecursionError:
        problem = Problem(0, "this is not a policy: it is nested too deep")
    except ValueError as error:
        problem = _syntax(str(error), text)
    raise PolicyError(str(file), [problem])


def _text(file: Path) -> str:
    try:
        raw = file.read_bytes()
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        problem = Problem(0, "there is no such file; postri init DATA writes one")
    except OSError as error:
        problem = Problem(0, f"the file cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        problem = Problem(
            error.object.count(b"\n", 0, error.start) + 1,
            "the file must be written in UTF-8, and this line is not",
        )
    raise PolicyError(str(file), [problem])


def _syntax(message: str, text: str) -> Problem:
    """A syntax error on the line that tomllib puts at the end of its message."""
    found = re.fullmatch(
        r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL
    )
    if found is None:
        return Problem(0, "this is not TOML: a number has too many digits")
    return Problem(int(found[2] or text.count("\n") + 1), f"this is not TOML: {found[1]}")


def _policy(top: Section, path: Path) -> Policy:
    top.refuse_others(POLICY_KEYS)
    file = partial(v.a_file, folder=path.parent)
    ledger = top.get("ledger", file) or path.parent / "postri.ledger"
    head = top.get("ledger_head", file)
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
    datasets = {
        name: _dataset(name, section)
        for name, section in top.sections("datasets", DATASET_NEEDS).items()
    }
    found = {name: dataset for name, dataset in datasets.items() if dataset is not None}
    service = read_service(top.section("service", {}), path.parent)
    if service.tokens is not None and service.tokens in (ledger, head):
        top.note(
            "tokens is a file of the ledger; keep tokens in a file of their own",
            "service",
            "tokens",
        )
    return Policy(
        path,
        ledger,
        head,
        found,
        top.notes.line(("ledger",)),
        top.notes.line(("ledger_head",)),
        service,
    )


def _dataset(name: str, section: Section) -> Dataset | None:
    section.refuse_others(DATASET_KEYS)
    if not name:
        section.note("a dataset needs a name: [datasets.NAME]")
    source, table = section.need("source", v.a_name), section.get("table", v.a_name)
    kind = _kind(section, source, table)
    version, budget = section.need("version", v.a_version), section.need("budget", v.an_epsilon)
    protect = _protect(section)
    accountant, delta = _accountant(section)
    rows, most = (
        section.get("rows", v.a_count),
        section.get("max_epsilon_per_question", v.an_epsilon),
    )
    allowances = _allowances(section)
    csv, names = _csv(section, kind)
    columns = _columns(section, kind, names)
    if source is None or version is None or budget is None or protect is None:
        return None
    line = section.line
    return Dataset(
        name,
        source,
        table,
        version,
        budget,
        accountant,
        delta,
        rows,
        most,
        allowances,
        protect,
        columns,
        csv,
        line,
        names,
    )


def _kind(section: Section, source: str | None, table: str | None) -> PolicySource | None:
    # A table that is itself wrong was noted already.
    if source is None or (table is None and section.has("table")):
        return None
    return section.get("source", lambda _, source: policy_source_of(source, table))


def _accountant(section: Section) -> tuple[Accountant, Fraction | None]:
    accountant = section.get("accountant", partial(v.a_choice, known=ACCOUNTANTS))
    delta = section.get("delta", v.a_share)
    if accountant == "zcdp" and not section.has("delta"):
        section.note(
            'accountant = "zcdp" needs delta, a number between 0 and 1 such as delta = "1e-6"',
            "accountant",
        )
    if section.has("delta") and (accountant == "pure" or not section.has("accountant")):
        section.note(
            'delta goes with accountant = "zcdp"; leave it out, or write that accountant', "delta"
        )
    return ACCOUNTANTS[accountant or "pure"], delta


def _allowances(outer: Section) -> dict[str, Fraction]:
    section = outer.section("allowances", {})
    read = {name: section.get(name, _allowance) for name in section.values} if section else {}
    return {name: epsilon for name, epsilon in read.items() if epsilon is not None}


def _allowance(name: str, value: object) -> Fraction:
    return v.an_epsilon(f"the allowance of {name!r}", value)


def _protect(outer: Section) -> ProtectedChange | None:
    outer.need("protect", v.a_table)
    section = (
        outer.section("protect", PROTECT_NEEDS)
        if isinstance(outer.values.get("protect"), dict)
        else None
    )
    if section is None:
        return None
    section.refuse_others(PROTECT_NEEDS)
    change = section.need("change", partial(v.a_choice, known=CHANGES))
    rows = section.need("rows", v.a_count)
    if change in ROW_CHANGES and section.has("unit"):
        section.note(
            (
                f"unit goes with {' or '.join(UNIT_CHANGES)}, got change = {change!r}; leave unit "
                "out, or write such a change"
            ),
            "unit",
        )
    unit = section.need("unit", v.a_name) if change in UNIT_CHANGES else None
    if change is None or rows is None:
        return None
    if change in ROW_CHANGES:
        return ROW_CHANGES[change](rows)
    return None if unit is None else UNIT_CHANGES[change](unit, rows)


def _csv(section: Section, kind: PolicySource | None) -> tuple[CsvFormat, tuple[str, ...]]:
    """How a CSV file is written, and the names of its columns if it does not tell them."""
    if kind is not None and kind.declares_types:
        for key in filter(section.has, CSV_KEYS):
            section.note(f"{key} is for CSV files; leave it out", key)
        return CsvFormat(), ()
    delimiter = section.get("delimiter", lambda _, value: CsvFormat(value, "").delimiter)
    quote = section.get("quote", lambda _, value: CsvFormat("\0", value).quote)
    header, names = section.get("header", v.a_truth), section.get("names", _names)
    if header is False and not section.has("names"):
        section.note(
            'a file without a header needs the names of all its columns, in order: names = ["first", "second"]',
            "header",
        )
    if header is not False and section.has("names"):
        section.note(
            "names are for a file without a header; leave them out, or write header = false",
            "names",
        )
    usual = CsvFormat()
    try:
        marks = (
            usual.delimiter if delimiter is None else delimiter,
            usual.quote if quote is None else quote,
        )
        return CsvFormat(*marks, header is not False), names or ()
    except InputError as error:
        section.note(str(error), "delimiter" if section.has("delimiter") else "quote")
        return usual, names or ()


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


def _column(name: str, section: Section, kind: PolicySource | None) -> ColumnPolicy | None:
    section.refuse_others(COLUMN_KEYS)
    declared = section.need("type", partial(v.a_choice, known=TYPES))
    if declared is None:
        return None
    if declared == "boolean" and kind is not None and not kind.declares_types:
        section.note(
            'a CSV file holds no booleans; write type = "text" and keys = ["true", "false"], as the cells are written',
            "type",
        )
    return ColumnPolicy(
        name, declared, _domain(section, declared), _keys(name, section, declared), section.line
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
            (
                f"{' and '.join(missing)} must stand beside {' and '.join(stated)}: a domain has "
                "both bounds, or none"
            ),
            stated[0],
        )
        return None
    read = partial(v.a_bound, declared=declared)
    lower, upper, step = (
        section.get("lower", read),
        section.get("upper", read),
        section.get("step", _step),
    )
    if lower is None or upper is None or (step is None and section.has("step")):
        return None
    return section.get("lower", lambda _, __: Domain(lower, upper, 1 if step is None else step))


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
    listed, keys = section.get("keys", v.a_list) or [], []
    for number, value in enumerate(listed):
        try:
            keys.append(_key(declared, value))
        except InputError as error:
            section.note(str(error), "keys", number)
    if not keys or len(keys) < len(listed):
        return None
    return section.get("keys", lambda _, __: Groups.of({name: keys}).columns[0][1])


def _key(declared: str, value: object) -> Key:
    if value == TODO:
        raise InputError(
            "the keys are still to be filled in: write them in place of TODO, or leave keys out"
        )
    return v.a_key(declared, value)
