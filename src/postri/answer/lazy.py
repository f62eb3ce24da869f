"""Rows that are made when somebody looks at them: a result may have a hundred thousand, of which
most are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq
from typing import TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """A `number` of items, each made from its place whenever it is looked at.

    Whoever copies or pickles it gets a list of them all.

    >>> squares = LazySequence(4, lambda place: place**2)
    >>> squares[2], squares[-1], squares[1:3], list(squares)
    (4, 9, [1, 4], [0, 1, 4, 9])
    """

    def __init__(self, number: int, make: Callable[[int], T]) -> None:
        self._number = number
        self._make = make

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        places = range(self._number)
        if isinstance(place, slice):
            return [self._make(each) for each in places[place]]
        return self._make(places[place])

    def __len__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has the same items, as lists compare."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    # As with a list: what is equal may not stay so.
    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[list[T]], tuple[list[T]]]:
        return list, (list(self),)
