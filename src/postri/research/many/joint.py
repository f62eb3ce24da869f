"""JointExp: Gillenwater, Joseph and Kulesza, "Differentially Private Quantiles" (ICML 2021).

All m quantiles are one draw of the exponential mechanism. Its candidates are the rising m-tuples,
its utility is minus the sum over j of how far the number of rows between two neighbouring values
is from (p_j - p_(j-1))*n. Weights of tuples add up over the ranks of their values, one quantile
after the other, and a tuple is drawn from the last quantile backwards.

The weights are floating-point numbers, so the draw is the mathematical one but for rounding: it is
for measuring errors, not for a release. No user can call it on a session or through `postri.ask`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import count, pairwise

import numpy as np
from numpy.typing import NDArray

from postri.errors import InputError
from postri.mechanisms.coins import Coins, Draw, below
from postri.research.many.positions import Positions

Logs = NDArray[np.float64]


def sensitivity(ps: Sequence[Fraction]) -> Fraction:
    """How far one added or removed row moves the utility.

    It moves the number of rows of one gap by 1 and the aim of each gap by its share of the rows: by
    twice what is left of 1 without the share of its own gap.
    """
    return 2 * (1 - min(_shares(ps)))


def _shares(ps: Sequence[Fraction]) -> list[Fraction]:
    """Which share of the rows lies between each two neighbouring quantiles, and at both ends."""
    return [high - low for low, high in pairwise([Fraction(0), *ps, Fraction(1)])]


class JointWeights:
    """The logarithms of the weights of all tuples of some rows, for some rising quantiles.

    They do not depend on coins: many tuples are drawn from them.
    """

    def __init__(self, rows: Positions, ps: Sequence[Fraction], epsilon: Fraction) -> None:
        self._rows = rows
        self._slope = float(epsilon / (2 * sensitivity(ps)))
        self._aims = [float(share * rows.n) for share in _shares(ps)]
        # What it costs that no row lies between quantile j and the one before, j from 0.
        self._no_rows = [-self._slope * aim for aim in self._aims]
        with np.errstate(divide="ignore"):
            self._sizes: Logs = np.log(rows.sizes.astype(np.float64))
        self._entered: list[Logs] = []
        self._left: list[Logs] = []
        self._add_up(len(ps))

    @property
    def total(self) -> float:
        """The logarithm of the sum of all weights."""
        return float(np.logaddexp.reduce(self._last()))

    def draw(self, coins: Coins) -> list[int]:
        """A tuple, with coins that nobody may take for private ones."""
        if coins.private:
            raise InputError(
                "joint-exp draws with rounded weights, so it is not private: it takes "
                "coins=SeededCoins(seed) alone"
            )
        draw = coins.draw()
        drawn: list[int] = []
        missing = len(self._left)
        weights = self._last()
        while True:
            rank = _pick(weights, draw, ("rank", missing))
            repeats = 1 + _pick(self._repeats(missing, rank), draw, ("repeats", missing))
            drawn = self._candidates(rank, repeats, draw, ("candidates", missing)) + drawn
            missing -= repeats
            if missing == 0:
                return drawn
            gaps = rank - np.arange(rank)
            weights = self._left[missing - 1][:rank] + self._fit(missing, gaps)

    def _add_up(self, quantiles: int) -> None:
        """`entered[j]`: all that comes before quantile j, if it is the first with rank r;
        `left[j]`: all up to quantile j, if it is the last with rank r.
        """
        ranks = np.arange(self._rows.n + 1)
        entering = self._fit(0, ranks)
        # One line for each number of quantiles that share a rank so far, the smallest first; and by
        # what factor their number grows with one more.
        sharing: Logs = np.zeros((0, len(ranks)))
        growth: Logs = np.zeros((0, len(ranks)))
        for j in range(quantiles):
            self._entered.append(entering)
            longer = sharing + growth
            longer += self._no_rows[j]
            sharing = np.concatenate(([entering + self._sizes], longer))
            growth = np.concatenate((growth, [self._one_more(j + 2)]))
            left = _log_sums(sharing)
            self._left.append(left)
            entering = self._convolved(left, j + 1)

    def _one_more(self, length: int) -> Logs:
        """By what factor the number of rising k-tuples of w candidates, C(w + k - 1, k), exceeds
        that of those of k - 1.
        """
        sizes = self._rows.sizes.astype(np.float64)
        logs: Logs = np.log((sizes + length - 1) / length)
        # No candidate has the rank: there is no tuple, however long.
        logs[sizes == 0] = -np.inf
        return logs

    def _fit(self, j: int, gaps: NDArray[np.int64]) -> Logs:
        """What it costs that so many rows lie between quantile j and the one before."""
        fit: Logs = -self._slope * np.abs(gaps - self._aims[j])
        return fit

    def _convolved(self, left: Logs, j: int) -> Logs:
        """For each rank r the sum over all smaller ranks of what was left there, times the fit of
        the rows in between.

        The fit rises by one factor a row up to its aim, and then falls by it: so a sum over a
        window and a sum over everything before it suffice, and nothing is ever subtracted.
        """
        ranks = np.arange(len(left))
        reach = int(self._aims[j])
        tilt = self._slope * ranks
        aim = self._slope * self._aims[j]
        near = _window_sums(left - tilt, reach) + tilt - aim
        everything = np.logaddexp.accumulate(left + tilt)
        far = np.full(len(left), -np.inf)
        far[reach + 1 :] = everything[: max(0, len(left) - reach - 1)]
        convolved: Logs = np.logaddexp(near, far - tilt + aim)
        return convolved

    def _last(self) -> Logs:
        """The weight of all tuples whose last value has rank r."""
        rows = self._rows.n
        return self._left[-1] + self._fit(len(self._left), rows - np.arange(rows + 1))

    def _repeats(self, missing: int, rank: int) -> Logs:
        """The weights of 1, 2, ... quantiles of this rank, the last of them the last missing
        one.
        """
        size = int(self._rows.sizes[rank])
        shared = 0.0
        weights = []
        tuples = 0.0
        for length in range(1, missing + 1):
            tuples += float(np.log((size + length - 1) / length))
            first = missing - length
            weights.append(float(self._entered[first][rank]) + shared + tuples)
            shared += self._no_rows[first]
        return np.array(weights)

    def _candidates(self, rank: int, number: int, draw: Draw, key: tuple[object, ...]) -> list[int]:
        """Rising candidates of one rank, each tuple as likely as the others."""
        size = int(self._rows.sizes[rank])
        start = int(self._rows.starts[rank])
        # Numbers that may repeat are distinct ones among more, each lowered by its place.
        distinct: set[int] = set()
        for attempt in count():
            if len(distinct) == number:
                break
            distinct.add(below(draw, (*key, attempt), size + number - 1))
        return [start + each - place for place, each in enumerate(sorted(distinct))]


def _pick(weights: Logs, draw: Draw, key: tuple[object, ...]) -> int:
    """A place, by the logarithms of the weights: the largest of them with Gumbel noise."""
    words = draw.words(key, len(weights))
    uniforms = (words.astype(np.float64) + 0.5) / 2.0**64
    # The words next to 2^64 round up to it.
    uniforms = np.minimum(uniforms, 1 - 2.0**-53)
    return int(np.argmax(weights - np.log(-np.log(uniforms))))


def _log_sums(logs: Logs) -> Logs:
    """The logarithms of the sums over the lines."""
    largest = np.maximum(logs.max(axis=0), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):
        sums: Logs = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return sums


def _window_sums(logs: Logs, length: int) -> Logs:
    """For each place the sum over the `length` places before it, as a logarithm.

    Every window is the end of one block of `length` places and the beginning of the next.
    """
    size = len(logs)
    if length == 0:
        return np.full(size, -np.inf)
    blocks = -(-(size + length) // length)
    padded = np.full(blocks * length, -np.inf)
    padded[length : length + size] = logs
    shaped = padded.reshape(blocks, length)
    heads = np.logaddexp.accumulate(shaped, axis=1).ravel()
    tails = np.logaddexp.accumulate(shaped[:, ::-1], axis=1)[:, ::-1].ravel()
    first = np.arange(size)
    whole_block = first % length == 0
    rest = np.where(whole_block, -np.inf, heads[first + length - 1])
    sums: Logs = np.logaddexp(tails[first], rest)
    return sums
