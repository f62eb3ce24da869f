"""`postri init` and `postri check`: the steward's commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postri.cli import options as o
from postri.cli.closing import closing_problems
from postri.cli.look import NOT_PRIVATE, look_json, print_looks
from postri.cli.output import shown_progress
from postri.errors import InputError, PolicyError, Problem

if TYPE_CHECKING:
    from postri.policy import Look, Policy

NEXT = """\
What is to be done next, in this order:
  1. fill in budget and protect, which are marked TODO
  2. {types}
  3. give columns of numbers and dates their lower and upper, and columns of text their keys: \
from public knowledge, never from the rows
  4. postri check            says what is still wrong, with its line
  5. postri check --look     shows how many rows types and bounds would drop or move; \
not private, for you alone"""
TYPES = "delete the columns that nobody may ask about"
CSV_TYPES = (
    "say what each column holds (a CSV file does not tell), and delete the columns that nobody "
    "may ask about"
)

Data = Annotated[
    str,
    typer.Argument(
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
Out = Annotated[Path, typer.Option(metavar="FILE", help="Where to write the policy.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there already.")]
LookAt = Annotated[
    bool,
    typer.Option(
        "--look",
        help="Show how many cells types, bounds, keys and units drop or move. NOT PRIVATE.",
    ),
]


def init(
    data: Data,
    table: TableName = None,
    out: Out = Path("postri.toml"),
    force: Force = False,
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
) -> None:
    """Write a first policy from the schema of the data. No row is read."""
    from postri.engines.csv_format import CsvFormat
    from postri.engines.resolve import policy_source_of
    from postri.policy import skeleton

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
    text = skeleton(data, table, csv=style, names=listed, folder=out.absolute().parent)
    _write(out, text, force=force)
    typer.echo(str(out))
    types = CSV_TYPES
    if policy_source_of(data, table).declares_types:
        types = TYPES
    typer.echo(NEXT.format(types=types), err=True)


def _write(out: Path, text: str, *, force: bool) -> None:
    mode = "x"
    if force:
        mode = "w"
    try:
        with out.open(mode, encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            f"there is a file {str(out)!r} already; --force writes over it, --out names another"
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot write {str(out)!r}: {error.strerror}; choose another place with --out"
        ) from None


def check(policy: o.Policy = "postri.toml", look: LookAt = False, json: o.Json = False) -> None:
    """Check a policy and compare it with the schemas of its sources. No row is read, unless you
    --look.
    """
    from postri.policy import check_policy, read_policy

    try:
        found = read_policy(policy)
        errors, warnings = check_policy(found)
        closed, nearly = closing_problems(found)
        errors = [*errors, *closed]
        warnings = [*warnings, *nearly]
    except PolicyError as error:
        found = None
        errors = list(error.problems)
        warnings = []
    seen: list[Look] = []
    if look and found is not None and not errors:
        seen = _looks(found)
        warnings = [*warnings, *(excess for each in seen for excess in each.excesses)]
    if json and look:
        _print_json(errors, warnings, seen)
    elif json:
        _print_json(errors, warnings, None)
    else:
        _print_problems(policy, errors, warnings)
        print_looks(seen, of_policy=True)
    if errors:
        raise typer.Exit(2)


def _looks(policy: Policy) -> list[Look]:
    from postri.policy import look

    with shown_progress():
        return [look(policy, dataset) for dataset in policy.datasets.values()]


def _print_problems(policy: str, errors: Sequence[Problem], warnings: Sequence[Problem]) -> None:
    from rich.console import Console

    from postri.policy import Vouched

    console = Console(soft_wrap=True)
    for kind, problems in ("", errors), ("warning: ", warnings):
        for problem in problems:
            place = policy
            if problem.line:
                place += f":{problem.line}"
            text = f"{place}: {kind}{problem.text}"
            if kind and not isinstance(problem, Vouched):
                typer.echo(text)
            else:
                console.print(text, style="red", markup=False, highlight=False)
    if errors:
        return
    if not warnings:
        outcome = ": all is well"
    elif len(warnings) == 1:
        outcome = ", 1 warning"
    else:
        outcome = f", {len(warnings)} warnings"
    typer.echo(f"{policy}: no errors{outcome}")


def _print_json(
    errors: Sequence[Problem], warnings: Sequence[Problem], looks: Iterable[Look] | None
) -> None:
    from dataclasses import asdict
    from json import dumps

    said: dict[str, Any] = {
        "errors": [asdict(each) for each in errors],
        "warnings": [asdict(each) for each in warnings],
    }
    if looks is not None:
        said |= {
            "private": False,
            "notice": NOT_PRIVATE,
            "look": {seen.dataset: look_json(seen) for seen in looks},
        }
    typer.echo(dumps(said))
