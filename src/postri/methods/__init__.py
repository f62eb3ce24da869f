"""How a value and the interval around it are drawn: one file a method, and the table of names.

A method's file is loaded when the method is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from postri.errors import InputError, nearest
from postri.methods.depth import Depth
from postri.methods.method import Method

if TYPE_CHECKING:
    from postri.methods.postri import PostRI
    from postri.methods.postri_svt import PostRISVT
    from postri.methods.sun2023 import Sun2023
    from postri.methods.sun2023_svt import Sun2023SVT
    from postri.methods.tree import Tree

_HOME_OF = {
    "Depth": "postri.methods.depth",
    "PostRI": "postri.methods.postri",
    "PostRISVT": "postri.methods.postri_svt",
    "Sun2023": "postri.methods.sun2023",
    "Sun2023SVT": "postri.methods.sun2023_svt",
    "Tree": "postri.methods.tree",
}
# The class of each name, and what it is made with.
_OFFERED: dict[str, tuple[Any, ...]] = {
    "depth": ("Depth",),
    "depth-gumbel": ("Depth", "gumbel"),
    "tree": ("Tree",),
    "postri-default": ("PostRI",),
    "postri-optimal": ("PostRI", "optimal"),
    "postri-7:3": ("PostRI", "0.7"),
    "postri-9:1": ("PostRI", "median-focused"),
    "postri-svt": ("PostRISVT",),
    "sun2023": ("Sun2023",),
    "sun2023-4": ("Sun2023", 4),
    "sun2023-9": ("Sun2023", 9),
    "sun2023-svt": ("Sun2023SVT",),
    "postri": ("PostRI",),
}


class _Methods(Mapping[str, Method]):
    """Every method that is offered by name; `postri` is short for `postri-default`."""

    def __getitem__(self, name: str) -> Method:
        return _method(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_OFFERED)

    def __len__(self) -> int:
        return len(_OFFERED)


@cache
def _method(name: str) -> Method:
    kind, *arguments = _OFFERED[name]
    method = _class(kind)(*arguments)
    assert isinstance(method, Method)
    return method


def _class(name: str) -> Any:
    return getattr(import_module(_HOME_OF[name]), name)


METHODS: Mapping[str, Method] = _Methods()


def method_named(name: str) -> Method:
    """The method of this name, or InputError with the names that come nearest."""
    if name not in _OFFERED:
        raise InputError(f"there is no method {name!r}; {nearest(name, METHODS)}")
    return METHODS[name]


def __getattr__(name: str) -> Any:
    """A class of the package, loaded when it is first asked for."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _class(name)


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
