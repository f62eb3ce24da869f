"""The exact AboveThreshold (sparse vector): walks counts in their order and stops at the first that
a noisy threshold does not exceed.

All noise is discrete Laplace: one draw of scale 2*sensitivity/epsilon for the threshold, one of
twice that for each count. Stopping costs epsilon, however many counts were passed. Counts of equal
value form runs: the failures before the first success in a run are geometric, so a run takes one
uniform number, whatever its length. Floats with a safe margin pass almost every run, ball
arithmetic the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from postri.mechanisms.coins import Coins, Draw, Key
from postri.mechanisms.uniforms import Floats, Uniform, ball, least_surprise
from postri.window import Indexes

if TYPE_CHECKING:
    from flint import arb

# Far above the relative error of the float path.
MARGIN = 1e-9


def above_threshold(
    counts: Indexes,
    sizes: Indexes,
    threshold: int,
    *,
    epsilon: Fraction,
    sensitivity: Fraction,
    coins: Coins,
) -> tuple[int, int] | None:
    """The run, and the place in it, of the first count that reaches the threshold by its noise;
    None if none does.

    Run j is `sizes[j]` counts of the value `counts[j]`; one person moves each count by at most
    `sensitivity`.
    """
    draw = coins.draw()
    # One over the scale of a count's noise; the threshold's noise has half that scale.
    rate = epsilon / (4 * sensitivity)
    noise = _geometric(draw, ("up",), 2 * rate) - _geometric(draw, ("down",), 2 * rate)
    tries = _Tries(threshold + noise - counts, rate)
    words = draw.words(("words",), len(counts))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        fewest = least_surprise(words) / tries.chances() * (1 - MARGIN)
    # Runs that fail for certain are passed by floats; a NaN is not certain.
    for j in np.flatnonzero(~(fewest >= sizes)):
        failures = tries.failures(int(j), Uniform(draw, (int(j),), int(words[j])))
        if failures < sizes[j]:
            return int(j), failures
    return None


@dataclass(frozen=True)
class _Tries:
    """Counts that lack `gaps` to the noisy threshold; `rate` is one over the scale of each one's
    noise X.

    With q = e^-rate, P(X >= g) is q^g/(1+q) for g >= 0, and P(X < g) is q^(1-g)/(1+q) for g <= 0.
    """

    gaps: Indexes
    rate: Fraction

    def chances(self) -> Floats:
        """-ln P(failure) of each count."""
        rate = float(self.rate)
        rest = np.log1p(np.exp(-rate))
        beyond = np.exp(-rate * np.maximum(self.gaps, 0) - rest)
        far = -np.log1p(-beyond)
        near = rate * (1.0 - self.gaps) + rest
        chances: Floats = np.where(self.gaps > 0, far, near)
        return chances

    def failures(self, j: int, uniform: Uniform) -> int:
        """How many counts of run j fail before the first success, if the run is long enough: a
        geometric number.
        """
        gap = int(self.gaps[j])

        def chance() -> arb:
            rest = (-ball(self.rate)).exp().log1p()
            if gap <= 0:
                return ball(self.rate * (1 - gap)) + rest
            beyond = (-ball(self.rate * gap) - rest).exp()
            return -(-beyond).log1p()

        return _whole_part(uniform, chance)


def _geometric(draw: Draw, key: Key, rate: Fraction) -> int:
    """A geometric number: k or more with probability e^(-rate*k)."""
    return _whole_part(Uniform(draw, key, int(draw.words(key, 1)[0])), lambda: ball(rate))


def _whole_part(uniform: Uniform, divisor: Callable[[], arb]) -> int:
    """The whole part of the uniform's surprise over a divisor, from as many coins as that takes."""
    import flint

    precision = 128
    # The quotient is a whole number with probability 0: enough coins settle its whole part.
    while True:
        with flint.ctx.workprec(precision):
            part = (uniform.surprise_ball() / divisor()).floor()
            if part.is_exact():
                return int(part.fmpz())
        uniform.refine()
        precision += 64
