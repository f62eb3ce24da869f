"""The methods by name, for the command line and the report."""

from __future__ import annotations

from postri.errors import InputError, nearest
from postri.methods.depth import Depth
from postri.methods.method import Method
from postri.methods.postri import PostRI, PostRISVT
from postri.methods.sun2023 import Sun2023, Sun2023SVT

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        PostRI(),
        PostRI("optimal"),
        PostRI("0.7"),
        PostRI("median-focused"),
        PostRISVT(),
        Sun2023(),
        Sun2023(4),
        Sun2023(9),
        Sun2023SVT(),
        Depth(),
        Depth("gumbel"),
    )
}

AS_RELEASED: dict[str, Method] = {
    "postri-default": PostRI(as_released=True),
    "postri-optimal": PostRI("optimal", as_released=True),
    "postri-7:3": PostRI("0.7", as_released=True),
    "postri-9:1": PostRI("median-focused", as_released=True),
    "sun2023": Sun2023(as_released=True),
}
"""The methods of the published results, with the slips of the code that made them."""


def method_named(name: str) -> Method:
    """The method of this name, or InputError."""
    known = METHODS | {method.name: method for method in AS_RELEASED.values()}
    if name not in known:
        raise InputError(f"there is no method {name!r}; {nearest(name, known)}")
    return known[name]
