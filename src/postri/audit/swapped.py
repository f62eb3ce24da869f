"""One name of a module or class stands for something else, for the time of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def swapped(owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """Inside the block `owner.name` is the stand-in; afterwards it is what it was."""
    original = getattr(owner, name)
    setattr(owner, name, stand_in)
    try:
        yield
    finally:
        setattr(owner, name, original)
