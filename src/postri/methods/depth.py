"""The depth method: a value with a shape, then an interval from a chain of nested candidates around
it.

The proofs of privacy and coverage are in docs/theory.md; the theorems that comments name are those.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

from postri.errors import InputError
from postri.exact import shown
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.noisy_max import BOOST_BITS, Noise, noisy_max
from postri.methods.chain import Chain
from postri.methods.method import Question, Span
from postri.methods.value import SHAPES, ValueStep
from postri.window import Windows

# A draw asks for a wider window with a probability of about 2^-40.
PATIENCE = 40 * log(2)


@dataclass(frozen=True)
class Depth:
    """The default method: any quantile, any number of rows, ties and all.

    `noise` is "exponential" (permute-and-flip) or "gumbel" (the exponential mechanism). The other
    numbers are public constants: the chain's growth and weight, and the margin, bonus and lean of
    the lopsided shapes.
    """

    noise: Noise = "exponential"
    growth: Fraction = Fraction(6, 5)
    weight: int = 10
    margin: int = 15
    bonus: int = 20
    lean: int = 16

    def __post_init__(self) -> None:
        if self.noise not in ("exponential", "gumbel"):
            raise InputError(f"noise must be 'exponential' or 'gumbel', got {shown(self.noise)}")
        if self.growth <= 1 or min(self.weight, self.margin, self.bonus, self.lean) < 1:
            raise InputError(
                "a chain's growth must be above 1, and the other constants of Depth at least 1"
            )

    @property
    def name(self) -> str:
        """How answers call it."""
        return "depth" if self.noise == "exponential" else "depth-gumbel"

    def value_step(self, question: Question) -> ValueStep:
        """The first draw: a grid point and a shape."""
        return ValueStep(
            question.p, question.sensitivity, question.spend.value, self.margin, self.bonus
        )

    def chain(self, question: Question) -> Chain:
        """The second draw: an interval around the point."""
        return Chain(
            question.p,
            question.sensitivity,
            question.spend.interval,
            question.beta,
            self.noise,
            self.growth,
            self.weight,
            self.lean,
        )

    def half(self, question: Question, grid: Grid) -> int:
        """Rows per side beyond which a candidate wins with a probability of about 2^-40 at most."""
        value, chain = self.value_step(question), self.chain(question)
        candidates = (
            len(SHAPES) * self.bonus * (grid.copies(grid.last + 1) - grid.copies(grid.first))
        )
        links = len(chain.offsets(grid))
        heaviest = float(chain.boosts(links)[-1]) / (1 << BOOST_BITS)
        needs = (
            (value.scale, log(candidates) + PATIENCE),
            (chain.scale, float(chain.log_odds) + heaviest + log(links) + PATIENCE),
        )
        return 1 + max(ceil(scale * Fraction(units)) for scale, units in needs)

    def draw(self, windows: Windows, question: Question, grid: Grid, coins: Coins) -> Span:
        """The value with its shape costs `spend.value`; the interval around it costs
        `spend.interval`.
        """
        value, chain = self.value_step(question), self.chain(question)
        picked = noisy_max(
            value.runs(windows, grid), rate=value.rate, noise=self.noise, coins=coins
        )
        index = grid.at(picked.copy)
        links = chain.links(windows, grid, index, picked.runs.shape(picked.run))
        link = noisy_max(links, rate=chain.rate, noise=self.noise, coins=coins)
        return Span(index, *link.runs.ends(link.run))
