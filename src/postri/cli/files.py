"""What commands ask of one file, in the words of their options: nothing here loads the library that
reads options, so a plain command need not wait for it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from postri.cli.output import check_picture, show_answer, shown_progress
from postri.errors import InputError

if TYPE_CHECKING:
    from postri.domain import Domain
    from postri.engines.table import Table
    from postri.privacy import ProtectedChange


class Protect(StrEnum):
    """What neighbouring tables may differ in."""

    ADD_OR_REMOVE_ROWS = "add-or-remove-rows"
    REPLACE_ROWS = "replace-rows"


class Covers(StrEnum):
    """Whose quantile an interval holds."""

    TABLE = "table"
    POPULATION = "population"


class Type(StrEnum):
    """What a CSV column may be declared as."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    DATE = "date"
    TIMESTAMP = "timestamp"


def domain_of(lower: str | None, upper: str | None, step: str | None) -> Domain | None:
    """The domain, if bounds were given."""
    if lower is None and upper is None and step is None:
        return None
    if lower is None or upper is None:
        raise InputError("a domain needs both --lower and --upper; --step is 1 if left out")
    from postri.domain import Domain

    if step is None:
        step = "1"
    return Domain(lower, upper, step)


def open_table(
    file: str, column: str, declared: str | None, names: str | None, **formats: Any
) -> Table:
    """The file, with what the options say of its columns and of how it is written."""
    import postri

    types: dict[str, str | None] = {}
    if names:
        types.update(dict.fromkeys(names.split(",")))
    if declared is not None:
        types[column] = str(declared)
    return postri.open(file, columns=types, **formats)


def change_of(protect: str, rows: int) -> ProtectedChange:
    """The protected change."""
    from postri.privacy import AddOrRemoveRows, ReplaceRows

    if protect == Protect.ADD_OR_REMOVE_ROWS:
        return AddOrRemoveRows(rows)
    return ReplaceRows(rows)


def show_quantile(
    file: str,
    column: str,
    p: str,
    *,
    lower: str | None = None,
    upper: str | None = None,
    step: str | None = None,
    protect: str = Protect.ADD_OR_REMOVE_ROWS,
    rows_per_person: int = 1,
    json: bool = False,
    plot: str | None = None,
    declared: str | None = None,
    names: str | None = None,
    formats: dict[str, Any],
    **how: Any,
) -> None:
    """One answer from one file; `how` it is asked for is in the words of `postri.quantile`."""
    import postri

    check_picture(plot)
    domain = domain_of(lower, upper, step)
    protected = change_of(protect, rows_per_person)
    table = open_table(file, column, declared, names, **formats)
    with shown_progress():
        answer = postri.quantile(table, p, column=column, domain=domain, protect=protected, **how)
    show_answer(answer, json=json, plot=plot)
