"""Synthetic columns of known shapes, and resamples of a column: what methods are compared on when
no table is at hand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from postri.domain import Domain
from postri.mechanisms.coins import Coins, Draw, SeededCoins
from postri.research.subject import Subject
from postri.window import Indexes

Numbers = NDArray[np.float64]

LARGEST = 10**8
DISTINCT = 12
RANKS = 1_000
USUAL = 40_000


def _uniforms(draw: Draw, number: int, *key: str) -> Numbers:
    """So many numbers strictly between 0 and 1, from the upper 52 bits of a word each."""
    words = draw.words(("shape", *key), number)
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) / 2**52


def _normals(draw: Draw, number: int) -> Numbers:
    """By Box and Muller: a radius and an angle each."""
    radii = np.sqrt(-2 * np.log(_uniforms(draw, number)))
    normals: Numbers = radii * np.cos(2 * np.pi * _uniforms(draw, number, "angle"))
    return normals


def _whole(numbers: Numbers) -> Indexes:
    """Rounded and clamped onto the domain."""
    return np.clip(np.rint(numbers), 0, LARGEST).astype(np.int64)


def normal(coins: Coins, n: int) -> Indexes:
    """A bell in the middle of the domain."""
    return _whole(5e7 + 5e6 * _normals(coins.draw(), n))


def lognormal(coins: Coins, n: int) -> Indexes:
    """Incomes: a median of 30,000 and a long right tail."""
    return _whole(3e4 * np.exp(_normals(coins.draw(), n)))


def uniform(coins: Coins, n: int) -> Indexes:
    """Spread evenly over the whole domain."""
    return _whole(LARGEST * _uniforms(coins.draw(), n))


def exponential(coins: Coins, n: int) -> Indexes:
    """Waiting times: a mean of 50,000, most dense at 0."""
    return _whole(-5e4 * np.log(_uniforms(coins.draw(), n)))


def bimodal(coins: Coins, n: int) -> Indexes:
    """Two far clusters of n/2 rows each: an even number of rows has a gap at its median."""
    centres = np.where(np.arange(n) < n // 2, 2e7, 8e7)
    return _whole(centres + 1e6 * _normals(coins.draw(), n))


def ties(coins: Coins, n: int) -> Indexes:
    """A dozen values hold everything; which ones, and how much each, is drawn as well."""
    draw = coins.draw()
    values, shares = (_uniforms(draw, DISTINCT, key) for key in ("values", "shares"))
    ends = np.cumsum(shares) / shares.sum()
    return np.sort(_whole(values * 1e6))[np.searchsorted(ends[:-1], _uniforms(draw, n))]


def zipf(coins: Coins, n: int) -> Indexes:
    """The k-th of a thousand words: twice as frequent as the 2k-th."""
    ends = np.cumsum(1 / np.arange(1, RANKS + 1))
    return 1 + np.searchsorted(ends[:-1] / ends[-1], _uniforms(coins.draw(), n)).astype(np.int64)


def constant(coins: Coins, n: int) -> Indexes:
    """Nearly constant: about 95 % of the rows hold one value, the rest is spread over the domain."""
    draw = coins.draw()
    usual = _uniforms(draw, n, "usual") < 0.95
    return np.where(usual, USUAL, _whole(LARGEST * _uniforms(draw, n)))


SHAPES: dict[str, Callable[[Coins, int], Indexes]] = {
    shape.__name__: shape
    for shape in (normal, lognormal, uniform, exponential, bimodal, ties, zipf, constant)
}
"""Whole numbers in 0..10^8, by the name of their shape."""


def shape_subject(name: str, n: int, seed: int) -> Subject:
    """A column of `n` rows of this shape. Each shape, size and seed has coins of its own."""
    own = int.from_bytes(f"{name}/{n}/{seed}".encode())
    return Subject.of_values(name, SHAPES[name](SeededCoins(own), n), Domain(0, LARGEST))


def bootstrap(subject: Subject, coins: Coins) -> Subject:
    """As many rows, drawn from the subject's with replacement."""
    rows = np.floor(subject.rows * _uniforms(coins.draw(), subject.rows, "rows")).astype(np.int64)
    atoms = np.searchsorted(subject.whole.ranks[1:], rows, side="right")
    return subject.with_counts(
        np.bincount(atoms, minlength=len(subject.whole.indexes)).astype(np.int64)
    )
