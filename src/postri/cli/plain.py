"""Commands that are so plain that they are read without typer, which takes longer to load than
their answer takes.

Those are `postri median` and `postri quantile` with options that take a text, each given once.
Everything else is typer's: other commands and options, help, and whatever is wrong with a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# The arguments of each command; a median is the quantile 1/2.
ARGUMENTS = {"median": ("file", "column"), "quantile": ("file", "column", "p")}
# Options by the names of what they mean: to an answer, and to how a CSV file is written.
ASKED = {
    "--epsilon": "epsilon",
    "--within": "within",
    "--lower": "lower",
    "--upper": "upper",
    "--step": "step",
    "--where": "where",
    "--confidence": "confidence",
    "--split": "split",
    "--method": "method",
    "--plot": "plot",
    "--names": "names",
}
FORMATS = {
    "--delimiter": "delimiter",
    "--quote": "quote",
    "--encoding": "encoding",
    "--decimal": "decimal",
    "--thousands": "thousands",
    "--date-format": "date_format",
    "--timestamp-format": "timestamp_format",
}
TYPES = ("integer", "decimal", "float", "date", "timestamp")


def plain_request(words: Sequence[str]) -> dict[str, Any] | None:
    """What `show_quantile` is to be asked for; None if the command is not plain.

    >>> plain_request(["median", "trips.csv", "fare", "--epsilon", "1"])
    {'epsilon': '1', 'formats': {}, 'file': 'trips.csv', 'column': 'fare', 'p': '1/2'}
    >>> plain_request(["median", "--help"])
    """
    if not words or words[0] not in ARGUMENTS:
        return None
    arguments: list[str] = []
    asked: dict[str, Any] = {}
    formats: dict[str, Any] = {}
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-"):
            arguments.append(word)
            continue
        into = formats if word in FORMATS else asked
        name = FORMATS.get(word) or ASKED.get(word)
        value: str | bool | None = True
        if word == "--type":
            name, value = "declared", next(rest, None)
            if value not in TYPES:
                return None
        elif word == "--json":
            name = "json"
        elif name is not None:
            value = next(rest, None)
        # A value that looks like an option may be a mistake.
        if name is None or name in into or value is None or str(value).startswith("-"):
            return None
        into[name] = value
    names = ARGUMENTS[words[0]]
    if len(arguments) != len(names):
        return None
    request = {**asked, "formats": formats, **dict(zip(names, arguments, strict=True))}
    request.setdefault("p", "1/2")
    return request
