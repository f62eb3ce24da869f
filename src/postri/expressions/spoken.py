"""Expressions as people read them: plain names without quotes, and what is compared on the left."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from postri.expressions import tree
from postri.expressions.tree import Expression

# A literal, which stays as it is, or a plain name in quotes.
QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?P<name>[A-Za-z_]\w*)\"""")
PLAIN = re.compile(r"[A-Za-z_]\w*")
MIRRORED: dict[str, tree.Comparison] = {"<": ">", "<=": ">=", "=": "=", "<>": "<>"}


def spoken(expression: Expression) -> str:
    """The text for a sentence; it need not read back as the same expression.

    >>> from postri.expressions import Predicate
    >>> normal = Predicate.parse("age >= 40 AND job = 'cook'").normal(["age", "job"])
    >>> print(normal)
    "job" = 'cook' AND 40 <= "age"
    >>> spoken(normal.expression)
    "job = 'cook' AND age >= 40"
    """
    return str(_plain(expression))


def plain_names(text: str) -> str:
    """A text in SQL with plain names without quotes.

    >>> print(plain_names('CASE WHEN "vip" THEN "net pay" END'))
    CASE WHEN vip THEN "net pay" END
    """
    return QUOTED.sub(lambda found: found["name"] or found[0], text)


def _plain(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(map(_plain, part))
    if isinstance(part, tree.Column):
        return tree.Column(part.name, quoted=PLAIN.fullmatch(part.name) is None)
    if not isinstance(part, Expression):
        return part
    found = replace(part, **{each.name: _plain(getattr(part, each.name)) for each in fields(part)})
    if not isinstance(found, tree.Compare) or found.operator not in MIRRORED:
        return found
    if isinstance(found.left, tree.LITERALS) and not isinstance(found.right, tree.LITERALS):
        return tree.Compare(MIRRORED[found.operator], found.right, found.left)
    return found
