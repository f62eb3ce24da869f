"""How a value and the interval around it are drawn: one file a method, and the table of names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from postri.errors import InputError, nearest
from postri.methods.depth import Depth
from postri.methods.method import Method
from postri.methods.postri import PostRI
from postri.methods.postri_svt import PostRISVT
from postri.methods.sun2023 import Sun2023
from postri.methods.sun2023_svt import Sun2023SVT
from postri.methods.tree import Tree

_OFFERED: tuple[Method, ...] = (
    Depth(),
    Depth("gumbel"),
    Tree(),
    PostRI(),
    PostRI("optimal"),
    PostRI("0.7"),
    PostRI("median-focused"),
    PostRISVT(),
    Sun2023(),
    Sun2023(4),
    Sun2023(9),
    Sun2023SVT(),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in _OFFERED} | {"postri": PostRI()}
)
"""Every method that is offered by name; `postri` is short for `postri-default`."""


def method_named(name: str) -> Method:
    """The method of this name, or InputError with the names that come nearest."""
    if name not in METHODS:
        raise InputError(f"there is no method {name!r}; {nearest(name, METHODS)}")
    return METHODS[name]


__all__ = [
    "METHODS",
    "Depth",
    "Method",
    "PostRI",
    "PostRISVT",
    "Sun2023",
    "Sun2023SVT",
    "Tree",
    "method_named",
]
