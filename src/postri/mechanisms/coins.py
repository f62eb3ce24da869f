"""The only source of randomness.

A draw asks for 64-bit words by a key, the path of the candidate that they are for. The operating
system's coins ignore the key; seeded coins derive the words from it, so that the same candidate
gets the same coins whatever else was drawn. No word is kept between two requests: there is no
buffer that a fork could copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from postri.errors import InputError
from postri.exact import shown

Words = NDArray[np.uint64]
Key = tuple[object, ...]


class Draw(Protocol):
    """The coins of one noisy max."""

    def words(self, key: Key, number: int) -> Words:
        """Independent uniform 64-bit words, `number` of them."""


class Coins(Protocol):
    """Where draws come from."""

    @property
    def private(self) -> bool:
        """Whether nobody can foresee them."""

    def draw(self) -> Draw:
        """Fresh coins for one noisy max."""


class SystemCoins:
    """Coins of the operating system's generator: the default, and the only private ones."""

    private = True

    def draw(self) -> Draw:
        """The generator itself: it has no state of ours."""
        return self

    def words(self, key: Key, number: int) -> Words:
        """Fresh words, whatever the key."""
        return np.frombuffer(os.urandom(8 * number), dtype=np.uint64)


class SeededCoins:
    """Repeatable coins for tests and experiments.

    An answer drawn with them says that it is not private.
    """

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InputError(f"a seed must be a whole number, got {shown(seed)}")
        self._seed = seed
        self._draws: Iterator[int] = count()

    def draw(self) -> Draw:
        """The coins of the next draw: another draw, other coins."""
        return _SeededDraw(f"{self._seed}/{next(self._draws)}")


class _SeededDraw:
    def __init__(self, name: str) -> None:
        self._name = name

    def words(self, key: Key, number: int) -> Words:
        from hashlib import shake_128

        digest = shake_128(f"{self._name}/{key!r}".encode()).digest(8 * number)
        return np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class BegunDraw:
    """Coins for one draw, some of whose words were tossed together with those of other draws: they
    are its coins for their keys, and no others are tossed in their place.
    """

    rest: Draw
    known: Mapping[Key, Words]
    private: bool

    def draw(self) -> Draw:
        """Itself: there is one draw."""
        return self

    def words(self, key: Key, number: int) -> Words:
        """Those that are known, or further ones of the draw."""
        if key not in self.known:
            return self.rest.words(key, number)
        words = self.known[key]
        assert len(words) == number
        return words


class Wanted(NamedTuple):
    """Words that are wanted: their number, and for which key of which draw."""

    draw: Draw
    key: Key
    number: int


@dataclass(frozen=True, eq=False)
class ManyWanted(Sequence[Wanted]):
    """Words that are wanted for many keys: how many for each, and of which of some draws.

    A key is made from its place where somebody needs it. The operating system's coins need none.
    """

    draws: Sequence[Draw]
    draw_of: NDArray[np.intp]
    numbers: NDArray[np.intp]
    key_at: Callable[[int], Key]

    @classmethod
    def of(cls, wanted: Sequence[Wanted]) -> ManyWanted:
        """Those that are listed."""
        return cls(
            [each.draw for each in wanted],
            np.arange(len(wanted)),
            np.array([each.number for each in wanted], np.intp),
            lambda place: wanted[place].key,
        )

    def words(self, times: int = 1) -> Words:
        """So many times as are wanted for each, one after the other; those of the operating system
        at once.
        """
        if all(isinstance(draw, SystemCoins) for draw in self.draws):
            return SystemCoins().words((), times * int(self.numbers.sum()))
        return np.concatenate([draw.words(key, times * number) for draw, key, number in self])

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Wanted: ...
    @overload
    def __getitem__(self, place: slice) -> list[Wanted]: ...
    def __getitem__(self, place: int | slice) -> Wanted | list[Wanted]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        draw = self.draws[self.draw_of[place]]
        return Wanted(draw, self.key_at(place), int(self.numbers[place]))


def words_of(wanted: Sequence[Wanted]) -> Words:
    """The words of several keys, one after the other."""
    return ManyWanted.of(wanted).words()


def secret_bytes(number: int) -> bytes:
    """Bytes that nobody can foresee, for tokens and keys."""
    return os.urandom(number)


def below(draw: Draw, key: Key, bound: int) -> int:
    """A uniform whole number in `0..bound-1`, by rejection: no modulo, no bias."""
    bits = (bound - 1).bit_length()
    for attempt in count():
        # As many bits as the bound has: more than half of the attempts succeed.
        words = draw.words((*key, attempt), max(1, -(-bits // 64)))
        number = int.from_bytes(words.tobytes(), "little") & ((1 << bits) - 1)
        if number < bound:
            return number
    raise AssertionError("unreachable")
