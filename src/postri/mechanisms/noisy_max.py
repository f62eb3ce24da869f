"""The exact noisy max: picks the candidate whose score plus noise is largest, exactly as the
mathematics says.

Scores are whole numbers in some unit, `rate` is how many noise scales one unit is, and candidates
of equal score form runs. The largest of w independent noises has the log-CDF value ln(U)/w, with U
uniform. Here `surprise` is -ln(U), so a run's noise is a decreasing function of surprise/w, and
bounds on the coins of U give bounds on the noise.

Floats with a safe margin decide almost every draw. The rare hard ones are decided by ball
arithmetic on more coins. A run whose score is known only from above is opened, with the coins that
it has, when its bound could win.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, inf, log
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Coins, Draw, Key, below
from postri.mechanisms.uniforms import Floats, Uniform, ball, least_surprise, most_surprise_of

if TYPE_CHECKING:
    from flint import arb

Noise = Literal["exponential", "gumbel"]

# A bonus is a logarithm, rounded to this many bits once and for all.
BOOST_BITS = 40
# The logarithm is computed to so many digits, of which those up to the doubt are right.
BOOST_DIGITS = 60
BOOST_DOUBT = Decimal(10) ** -30
# Far above the error of the float path (about 1e-14 in the noise, an ulp or two of the score), and
# still hit by few draws.
NOISE_MARGIN = 1e-9
SCORE_MARGIN = 1e-12
# Under which key the first words of all runs are asked for.
WORDS: Key = ("words",)
# Above -inf, and nothing else.
LOWEST = float(np.finfo(np.float64).min)


class Runs(Protocol):
    """Runs of equal candidates.

    `boosts` are public bonuses in 2^-BOOST_BITS noise scales. Where `known` is false, `scores` is
    an upper bound. Candidates are numbered by copies: run j holds the copies `span(j)`.
    """

    @property
    def scores(self) -> NDArray[Any]:
        """Whole numbers, in the unit of the caller."""

    @property
    def boosts(self) -> NDArray[np.int64]:
        """The public bonus of each run."""

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the score is exact."""

    @property
    def sizes(self) -> Floats:
        """How many candidates each run holds, correct to a few ulps."""

    def span(self, j: int) -> tuple[int, int]:
        """The copies of run j: from the first to before the second."""

    def open(self, j: int) -> Self:
        """Run j, of unknown score, as runs of which more is known; their spans, in order, make up
        its span.
        """


R = TypeVar("R", bound=Runs)


class Winner(NamedTuple, Generic[R]):
    """The run that won, and the copy in it that did."""

    runs: R
    run: int
    copy: int


def noisy_max(runs: R, *, rate: Fraction, noise: Noise, coins: Coins) -> Winner[R]:
    """Draw the winner of score + noise over all candidates of all runs."""
    race = _Race(rate, noise, coins.draw())
    batches: list[_Batch[R]] = [_Batch(race, runs, ())]
    while True:
        contenders = _contenders(batches)
        hidden = [entry for entry in contenders if not entry.known]
        if not hidden:
            return _fastest(contenders).winner()
        # The parts of a run take its place, with the coins that it has: none are tossed again.
        batches += [entry.opened() for entry in hidden]


class _Race(NamedTuple):
    rate: Fraction
    noise: Noise
    draw: Draw


class _Heat(NamedTuple):
    """Where a run's noise comes from: surprises that add up, each divided by the number of
    candidates that it is for.
    """

    terms: tuple[tuple[Uniform, int], ...]
    low: float
    high: float


class _Batch(Generic[R]):
    """Runs that entered the race together, with their coins and the upper ends of their noisy
    scores.
    """

    def __init__(
        self,
        race: _Race,
        runs: R,
        key: Key,
        heat: _Heat | None = None,
        heir: int = -1,
        copy: int | None = None,
    ) -> None:
        self.race = race
        self.runs = runs
        self.key = key
        self.heat = heat
        self.heir = heir
        self.copy = copy
        self.words = race.draw.words((*key, *WORDS), len(runs.scores))
        self.scaled = _scaled(runs.scores, race.rate)
        self.scaled += runs.boosts * 2.0**-BOOST_BITS
        self.margins = np.abs(self.scaled)
        self.margins *= SCORE_MARGIN
        self.margins += NOISE_MARGIN
        self.least_heats = self._least_heats()
        self.tops = NOISES[race.noise](self.least_heats)
        self.tops += self.scaled
        self.tops += self.margins

    def _least_heats(self) -> Floats:
        """The least surprise per candidate that each run can have, for its largest noise."""
        heats = least_surprise(self.words)
        heats /= self.runs.sizes
        if self.heat is not None:
            # Parts of an opened run have its heat on top of their own; the heir has nothing else.
            heats += self.heat.low
            if self.heir >= 0:
                heats[self.heir] = self.heat.low
        return heats

    def _most_heat(self, j: int) -> float:
        """The most surprise per candidate that run j can have, for its smallest noise."""
        heat = most_surprise_of(int(self.words[j])) / float(self.runs.sizes[j])
        if self.heat is None:
            return heat
        if j == self.heir:
            return self.heat.high
        return heat + self.heat.high

    def bottom(self, j: int) -> float:
        """The lower end of the noisy score of a run of known score."""
        noise = _noise_at(self.race.noise, self._most_heat(j))
        return float(self.scaled[j]) - float(self.margins[j]) + noise

    def heat_of(self, j: int) -> _Heat:
        """The coins of run j."""
        inherited: tuple[tuple[Uniform, int], ...] = ()
        if self.heat is not None:
            if j == self.heir:
                return self.heat
            inherited = self.heat.terms
        first, end = self.runs.span(j)
        own = Uniform(self.race.draw, (*self.key, j), int(self.words[j]))
        low = float(self.least_heats[j])
        high = self._most_heat(j)
        return _Heat((*inherited, (own, end - first)), low, high)


class _Entry(NamedTuple, Generic[R]):
    """One run of a batch."""

    batch: _Batch[R]
    j: int

    @property
    def known(self) -> bool:
        return bool(self.batch.runs.known[self.j])

    @property
    def key(self) -> Key:
        return (*self.batch.key, self.j)

    def copy(self) -> int:
        """The candidate of the run that has the run's noise: each is as likely as the others."""
        if self.j == self.batch.heir and self.batch.copy is not None:
            return self.batch.copy
        first, end = self.batch.runs.span(self.j)
        return first + below(self.batch.race.draw, (*self.key, "copy"), end - first)

    def winner(self) -> Winner[R]:
        return Winner(self.batch.runs, self.j, self.copy())

    def opened(self) -> _Batch[R]:
        """The run's parts: the one with the run's best copy keeps its noise, the others have
        less.
        """
        # Each copy is as likely to have the run's noise. Given that noise, the noises of the others
        # are independent draws below it.
        copy = self.copy()
        parts = self.batch.runs.open(self.j)
        # The last that does not begin after the copy.
        heir = bisect_right(range(len(parts.scores)), copy, key=lambda i: parts.span(i)[0]) - 1
        self.batch.tops[self.j] = -np.inf
        return _Batch(self.batch.race, parts, self.key, self.batch.heat_of(self.j), heir, copy)

    def noisy(self, heat: _Heat) -> arb:
        """The noisy score as far as its coins tell it."""
        runs = self.batch.runs
        race = self.batch.race
        boost = Fraction(int(runs.boosts[self.j]), 1 << BOOST_BITS)
        score = race.rate * int(runs.scores[self.j]) + boost
        return ball(score) + _noise_ball(race.noise, heat)


def _contenders(batches: list[_Batch[R]]) -> list[_Entry[R]]:
    """The runs that may have won, among them always the winner.

    A leader of unknown score stands alone: it must be opened.
    """
    leader = batches[0]
    if len(batches) > 1:
        leader = max(batches, key=lambda batch: batch.tops.max())
    j = int(leader.tops.argmax())
    if not leader.runs.known[j]:
        return [_Entry(leader, j)]
    # Opened runs stand at -inf, and the float bound of a known one may be as low.
    floor = max(leader.bottom(j), LOWEST)
    return [_Entry(batch, int(i)) for batch in batches for i in (batch.tops >= floor).nonzero()[0]]


def _fastest(contenders: list[_Entry[R]]) -> _Entry[R]:
    """The one whose noisy score is above all others', from as many coins as that takes."""
    if len(contenders) == 1:
        return contenders[0]
    import flint

    heats = [entry.batch.heat_of(entry.j) for entry in contenders]
    uniforms = {id(uniform): uniform for heat in heats for uniform, _ in heat.terms}
    precision = 128
    # Two noisy scores are equal with probability 0, so more coins tell them apart in the end.
    while True:
        with flint.ctx.workprec(precision):
            noisy = [entry.noisy(heat) for entry, heat in zip(contenders, heats, strict=True)]
            for entry, score in zip(contenders, noisy, strict=True):
                if all(score > other for other in noisy if other is not score):
                    return entry
        for uniform in uniforms.values():
            uniform.refine()
        precision += 64


def _scaled(scores: NDArray[Any], rate: Fraction) -> Floats:
    # Scores that leave int64 are Python's integers; so may their products with the rate be.
    if scores.dtype == object:
        return np.array([float(rate * int(score)) for score in scores], dtype=np.float64)
    return scores * float(rate)


def _exponential(heats: Floats) -> Floats:
    noise = np.negative(heats)
    np.expm1(noise, out=noise)
    np.negative(noise, out=noise)
    with np.errstate(divide="ignore"):
        np.log(noise, out=noise)
    return np.negative(noise, out=noise)


def _gumbel(heats: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        noise: Floats = -np.log(heats)
    return noise


def _noise_at(noise: Noise, heat: float) -> float:
    """The same of one heat."""
    if noise == "exponential":
        heat = -expm1(-heat)
    if heat == 0:
        return inf
    return -log(heat)


NOISES: dict[Noise, Callable[[Floats], Floats]] = {"exponential": _exponential, "gumbel": _gumbel}


def _noise_ball(noise: Noise, heat: _Heat) -> arb:
    total = ball(Fraction(0))
    for uniform, size in heat.terms:
        total += uniform.surprise_ball() / size
    if noise == "gumbel":
        return -total.log()
    return -(-(-total).expm1()).log()


@lru_cache(maxsize=4096)
def boost(number: Fraction) -> int:
    """ln(number) in units of 2^-BOOST_BITS, rounded up, or one more: a bonus, fixed once and for
    all.
    """
    # Decimals take no time to load. They are off by less than the doubt unless the number is huge.
    with localcontext(prec=BOOST_DIGITS):
        scaled = (Decimal(number.numerator) / number.denominator).ln() * (1 << BOOST_BITS)
        least = ceil(scaled - BOOST_DOUBT)
        if least == ceil(scaled + BOOST_DOUBT):
            return least
    return _boost_by_balls(number)


def _boost_by_balls(number: Fraction) -> int:
    from flint import arb, ctx, fmpq

    with ctx.workprec(256):
        scaled = arb(fmpq(number.numerator, number.denominator)).log() * (1 << BOOST_BITS)
        top = scaled.upper().fmpq()
    return ceil(Fraction(int(top.p), int(top.q)))
