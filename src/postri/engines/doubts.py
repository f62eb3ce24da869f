"""Sources that may fail on a row, as their catalogue tells: refused, unless somebody vouches.

A stored cell can be read, whatever it is. One that is computed while it is read may fail, as a
quotient does on a zero. Who makes such a failure depend on one person's row learns a bit of that
row by it, at the price of next to nothing. So a source whose cells are computed is known by what it
is, never by trying: a failure would come too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from postri.engines.engine import Engine
from postri.errors import InputError

Checked = TypeVar("Checked", bound=Engine)

DOUBT = (
    "{what}: a row on which {part} fails makes every question fail, which tells one bit of that row"
)
REFUSED = "the source is {doubt}; store its rows as a table, or say {how} if no row can fail"
IN_PYTHON = "vouched=True in postri.open, Table.from_duckdb or Table.from_postgres"
IN_POLICY = "vouched = true"


def doubt(what: str, part: str = "its expression") -> str:
    """What a source is, and what could happen.

    >>> doubt("a view")
    'a view: a row on which its expression fails makes every question fail, which tells one bit of \
that row'
    """
    return DOUBT.format(what=what, part=part)


def checked(engine: Checked, *, vouched: bool) -> Checked:
    """The engine, or InputError if it may fail on a row and the user does not vouch for it."""
    if engine.doubts and not vouched:
        raise refusal(engine.doubts)
    return engine


def refusal(doubts: Sequence[str], how: str = IN_PYTHON) -> InputError:
    """The error for a source with doubts that nobody vouches for."""
    return InputError(REFUSED.format(doubt="; it is ".join(doubts), how=how))
