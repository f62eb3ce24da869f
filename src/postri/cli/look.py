"""`postri look`, and what `postri check --look` shows: exact counts, NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postri.cli import options as o
from postri.cli.files import Type
from postri.cli.output import shown_progress, wide_console
from postri.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from postri.engines.lost import Lost
    from postri.policy import ColumnLook, Look, UnitLook

NOT_PRIVATE = (
    "NOT PRIVATE: exact counts of the rows, for the steward alone. Show them to nobody, and "
    "choose no lower, upper or key by them."
)
UNREAD = {
    "integer": "not whole numbers",
    "decimal": "not numbers",
    "float": "not numbers",
    "date": "not dates",
    "timestamp": "not timestamps",
}
WIDTH = 130
NO_RECORDS = "lines are no records, and are lost in every column"

Data = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV or Parquet file, a DuckDB database file, a PostgreSQL or a Spark URL.",
        show_default=False,
    ),
]
TableName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The table of a database, such as main.trips or schema.table."
    ),
]
TypeOf = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="COLUMN=TYPE",
        help="What a CSV column holds; several are tried if left out. May be given several times.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of persons: shows which rows a bound on the rows of each would keep.",
    ),
]


def look(
    data: Data,
    table: TableName = None,
    types: TypeOf = None,
    unit: Unit = None,
    delimiter: o.Delimiter = None,
    quote: o.Quote = '"',
    header: o.Header = True,
    names: o.Names = None,
    encoding: o.Encoding = "utf-8",
    decimal: o.Decimal = ".",
    thousands: o.Thousands = "",
    date_format: o.DateFormat = None,
    timestamp_format: o.TimestampFormat = None,
    line_breaks: o.LineBreaks = False,
    json: o.Json = False,
) -> None:
    """Show the steward what is lost of a file: cells that cannot be read, and why. NOT PRIVATE."""
    from postri.engines.csv_format import CsvFormat
    from postri.policy import look_at_file

    style = CsvFormat(
        delimiter,
        quote,
        header,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=date_format,
        timestamp_format=timestamp_format,
        line_breaks=line_breaks,
    )
    listed: tuple[str, ...] = ()
    if names:
        listed = tuple(names.split(","))
    with shown_progress():
        seen = look_at_file(
            data,
            table,
            csv=style,
            names=listed,
            types=_types(types or ()),
            unit=unit,
        )
    if json:
        from json import dumps

        typer.echo(dumps({"private": False, "notice": NOT_PRIVATE, **readings_json(seen)}))
    else:
        print_looks([seen], of_policy=False)


def _types(given: Sequence[str]) -> dict[str, str]:
    types = {}
    for each in given:
        column, sign, declared = each.rpartition("=")
        known = [kind.value for kind in Type] + ["text"]
        if not sign or declared not in known:
            raise InputError(
                f"--type must name a column and its type ({', '.join(known)}), such as "
                f"--type age=integer; got {each!r}"
            )
        types[column] = declared
    return types


# ---- in words


def print_looks(looks: Sequence[Look], *, of_policy: bool) -> None:
    """Each look as a table, and where something is lost; at a policy, also what it may
    accept.
    """
    console = wide_console()
    # No count is broken over two lines.
    console.width = max(console.width, WIDTH)
    if looks:
        console.print(f"\n{NOT_PRIVATE}")
    for seen in looks:
        _print_columns(console, seen)
        _print_lines(console, seen)
        if seen.units is not None:
            _print_units(console, seen.units, seen.rows)
        if of_policy:
            _print_offers(console, seen)


def _print_columns(console: Console, seen: Look) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    counted: dict[str, list[int | None]] = {
        "read": [column.read for column in seen.columns],
        "empty": [column.empty.count for column in seen.columns],
        "unreadable": [column.unreadable.count for column in seen.columns],
        "below lower": [column.below for column in seen.columns],
        "above upper": [column.above for column in seen.columns],
        "unknown key": [column.unknown for column in seen.columns],
    }
    # What no column has, such as bounds, has no place in the table.
    heads = [head for head, counts in counted.items() if any(count is not None for count in counts)]
    # Names are texts of others: Text keeps them from being read as markup.
    table = Table(
        box=SIMPLE, title=Text(f"{seen.dataset}: {seen.rows:,} rows"), title_justify="left"
    )
    table.add_column("column")
    table.add_column("read as")
    for head in heads:
        table.add_column(head, justify="right")
    for place, column in enumerate(seen.columns):
        shares = [_count_in_words(counted[head][place], seen.rows) for head in heads]
        table.add_row(Text(column.name), column.type, *shares)
    console.print(table)


def _print_lines(console: Console, seen: Look) -> None:
    """Where something is lost: the first few of each kind."""
    if seen.no_record.count:
        words = f"{_count_in_words(seen.no_record.count, seen.rows)} {NO_RECORDS}"
        if seen.no_record.first:
            words += f": {_places_in_words(seen.no_record, seen.numbered)}"
        console.print(f"  {words}", markup=False, highlight=False)
    # A column that is read in several ways is empty once.
    told: dict[str, Lost] = {}
    for column in seen.columns:
        told[f"{column.name}: empty"] = column.empty
        told[f"{column.name}: {UNREAD.get(column.type, 'not read')}"] = column.unreadable
    for what, lost in told.items():
        if lost.first:
            places = _places_in_words(lost, seen.numbered)
            console.print(f"  {what}: {places}", markup=False, highlight=False)
    for name, reason in (seen.left_out or {}).items():
        console.print(f"  {name}: left out: {reason}", markup=False, highlight=False)


def _print_units(console: Console, units: UnitLook, rows: int) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=SIMPLE,
        title=Text(f"{units.unit}: {units.units:,} units; rows kept by a bound on those of each"),
        title_justify="left",
    )
    table.add_column("rows =")
    for bound in units.kept:
        table.add_column(f"{bound:,}", justify="right")
    table.add_row("kept", *(_share_in_words(kept, rows) for kept in units.kept.values()))
    console.print(table)
    console.print(f"  {recommendation(units, rows)}", markup=False, highlight=False)


def recommendation(units: UnitLook, rows: int) -> str:
    """Which bound to choose, and why."""
    if rows == 0:
        return "there is no row to choose a bound by"
    bound = units.recommended(rows)
    if bound is not None:
        return (
            f"rows = {bound} is the least of these that keeps 95% of the rows: answers are about "
            "the rows that are kept, and noise grows in proportion to the bound"
        )
    largest = max(units.kept)
    share = _share_in_words(units.kept[largest], rows)
    return (
        f"none of these keeps 95% of the rows, {largest} keeps {share}: answers are about the "
        "rows that are kept, so choose by what you want to know of people with many rows"
    )


def _print_offers(console: Console, seen: Look) -> None:
    """What a policy may accept."""
    offered = [column for column in seen.columns if column.type in UNREAD and column.lost_share]
    offered = [column for column in offered if column.accepted is None]
    if not offered:
        return
    console.print("  once you have looked, the policy may accept what is lost:", highlight=False)
    for column in offered:
        words = f'    {column.name}: unreadable = "up to {_percent(column.offer)}%"'
        console.print(words, markup=False, highlight=False)


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.10g}"


def _places_in_words(lost: Lost, numbered: str) -> str:
    words = ", ".join(f"{number:,}" for number in lost.first)
    if lost.count == 1:
        return f"{numbered} {words}"
    if lost.count > len(lost.first):
        words += ", ..."
    return f"{numbered}s {words}"


def _count_in_words(count: int | None, rows: int) -> str:
    if count is None:
        return ""
    if count == 0:
        return "none"
    if count == rows:
        return "all"
    return f"{count:,} ({_share_in_words(count, rows)})"


def _share_in_words(count: int, rows: int) -> str:
    """A share of the rows; never 0% where there is a row, nor 100% where one is missing."""
    if count == 0 or rows == 0:
        return "none"
    share = 100 * count / rows
    if share < 0.01:
        return "< 0.01%"
    if count < rows and share > 99.99:
        return "> 99.99%"
    return f"{share:.2f}%"


# ---- as JSON


def look_json(seen: Look) -> dict[str, Any]:
    """A look at a policy's dataset as plain values."""
    return _json(seen, {column.name: _column_json(column) for column in seen.columns})


def readings_json(seen: Look) -> dict[str, Any]:
    """A look at a file as plain values: a column may have been read in several ways."""
    columns: dict[str, list[dict[str, Any]]] = {}
    for column in seen.columns:
        columns.setdefault(column.name, []).append(_column_json(column))
    return _json(seen, {name: {"readings": each} for name, each in columns.items()})


def _json(seen: Look, columns: Mapping[str, Any]) -> dict[str, Any]:
    units = None
    if seen.units is not None:
        units = {
            "unit": seen.units.unit,
            "units": seen.units.units,
            "kept": {
                str(bound): _numbers(kept, seen.rows) for bound, kept in seen.units.kept.items()
            },
            "recommended": seen.units.recommended(seen.rows),
        }
    return {
        "rows": seen.rows,
        "numbered": seen.numbered,
        "no_record": _lost_json(seen.no_record, seen.rows),
        "columns": columns,
        "units": units,
    }


def _column_json(column: ColumnLook) -> dict[str, Any]:
    accepted = None
    if column.accepted is not None:
        accepted = float(column.accepted)
    return {
        "type": column.type,
        "read": _numbers(column.read, column.rows),
        "dropped": _numbers(column.dropped, column.rows),
        "empty": _lost_json(column.empty, column.rows),
        "unreadable": _lost_json(column.unreadable, column.rows),
        "below": _numbers(column.below, column.rows),
        "above": _numbers(column.above, column.rows),
        "unknown_keys": _numbers(column.unknown, column.rows),
        "accepted": accepted,
    }


def _lost_json(lost: Lost, rows: int) -> dict[str, Any]:
    return {**(_numbers(lost.count, rows) or {}), "first": list(lost.first)}


def _numbers(count: int | None, rows: int) -> dict[str, Any] | None:
    if count is None:
        return None
    share = None
    if rows:
        share = count / rows
    return {"rows": count, "share": share}
