"""Results as the tables of other libraries, which load only when they are asked for."""

from __future__ import annotations

import csv
from datetime import date, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any

from postri.errors import PostriError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from postri.answer.result import Result


def _columns(result: Result) -> dict[str, list[Any]]:
    rows = result.rows
    return {name: [row[name] for row in rows] for name in result.columns}


def csv_text(result: Result) -> str:
    """Lines with a header; dates in ISO form, decimals with all their digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows([[_text(cell) for cell in row.values()] for row in result.rows])
    return text.getvalue()


def _text(cell: Any) -> str:
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def to_pandas(result: Result) -> pandas.DataFrame:
    """A pandas data frame."""
    try:
        import pandas
    except ImportError:
        raise _missing("pandas") from None
    return pandas.DataFrame(_columns(result))


def to_polars(result: Result) -> polars.DataFrame:
    """A Polars data frame."""
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    return polars.DataFrame(_columns(result))


def to_arrow(result: Result) -> pyarrow.Table:
    """An Arrow table."""
    try:
        import pyarrow
    except ImportError:
        raise _missing("pyarrow") from None
    return pyarrow.table(_columns(result))


def _missing(package: str) -> PostriError:
    return PostriError(f"this needs {package}: pip install {package}")
