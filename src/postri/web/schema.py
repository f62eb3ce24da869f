"""JSON schemas from types: the wire's shapes are typed dictionaries, and the OpenAPI description is
derived from them.
"""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Mapping, Sequence
from inspect import cleandoc
from typing import Any, NotRequired, Required, get_args, get_origin, get_type_hints, is_typeddict

SIMPLE: Mapping[Any, Mapping[str, Any]] = {
    Any: {},
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


class Schemas:
    """Makes schemas, and keeps those of typed dictionaries in `named`, by their names.

    A `closed` typed dictionary takes no other names than its own. Annotated adds to a schema: a
    text is a description, a pair is another member, as in `Annotated[str, ("maxLength", 200)]`.
    """

    def __init__(self, closed: Sequence[type] = ()) -> None:
        self._closed = closed
        self.named: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type: a typed dictionary, a Literal, a union, a list, a dict, or a plain
        one.

        >>> Schemas().of(dict[str, int | None])["additionalProperties"]
        {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}
        """
        if kind in SIMPLE:
            return dict(SIMPLE[kind])
        if is_typeddict(kind):
            return self._named(kind)
        return self._composed(get_origin(kind), *get_args(kind))

    def _composed(self, origin: Any, first: Any, *others: Any) -> dict[str, Any]:
        match origin:
            case typing.Annotated:
                return {**self.of(first), **dict(map(_member, others))}
            case typing.Required | typing.NotRequired:
                return self.of(first)
            case typing.Literal:
                return {"type": "string", "enum": [first, *others]}
            case typing.Union | types.UnionType:
                return {"anyOf": [self.of(kind) for kind in (first, *others)]}
            case builtins.list:
                return {"type": "array", "items": self.of(first)}
            case builtins.dict:
                return {"type": "object", "additionalProperties": self.of(others[0])}
        raise TypeError(f"{origin} has no schema")

    def _named(self, kind: Any) -> dict[str, Any]:
        name = kind.__name__.removesuffix("Fields")
        if name not in self.named:
            # Entered before its parts are looked at: a shape may hold itself.
            shape = self.named[name] = {"type": "object", "title": name}
            shape.update(self._members(kind))
        return {"$ref": f"#/components/schemas/{name}"}

    def _members(self, kind: Any) -> dict[str, Any]:
        hints = get_type_hints(kind, include_extras=True)
        members: dict[str, Any] = {
            "description": cleandoc(kind.__doc__),
            "properties": {name: self.of(hint) for name, hint in hints.items()},
            "required": [name for name, hint in hints.items() if _is_required(kind, name, hint)],
        }
        if kind in self._closed:
            members["additionalProperties"] = False
        return members


def _member(told: str | tuple[str, Any]) -> tuple[str, Any]:
    if isinstance(told, str):
        return "description", told
    return told


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    # A typed dictionary does not know its marks where annotations are texts.
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint) is Required
    return name in kind.__required_keys__
