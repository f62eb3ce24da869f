"""Every exception that postri raises.

    PostriError
    ├── InputError (also ValueError)   the request is wrong; nothing was read, nothing was spent
    ├── SourceError                    the data cannot be opened
    │   └── SourceChanged              the data changed while they were counted
    └── EngineError                    the engine failed while counting

A message carries parameters, file names and column names: never a cell, a rank or a probability.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PostriError(Exception):
    """The root of the tree."""


class InputError(PostriError, ValueError):
    """The request is wrong. Says what was wrong, what was given and what to do."""


class SourceError(PostriError):
    """The data cannot be opened."""


class SourceChanged(SourceError):  # noqa: N818  # users know it by this name
    """The data changed between two scans; nothing was drawn."""


class EngineError(PostriError):
    """The engine failed while counting. Names the engine and the kind of failure, never its message."""


def missing_extra(what: str, package: str, extra: str) -> PostriError:
    """The error for a feature whose optional package is not installed."""
    return PostriError(f"{what} needs {package}: pip install 'postri[{extra}]'")


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint that lists the names closest to a misspelt one."""
    known = list(names)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(match) for match in close) + "?"
    return "there are: " + ", ".join(repr(other) for other in known[:20]) + (", ..." if len(known) > 20 else "")
