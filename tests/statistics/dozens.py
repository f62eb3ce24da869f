"""A statistic in one file: the number of rows in dozens, rounded down."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from postri.answer import Answer
from postri.answer.drawn import Noisy
from postri.answer.forecast import ExpectedRows, Forecast, Reach, Unknown
from postri.cost import Cost, pure_draw
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.mechanisms.laplace import discrete_laplace
from postri.noise import DiscreteLaplace
from postri.privacy import moved_rows
from postri.statistics.additive import released
from postri.statistics.registry import Form, written
from postri.statistics.statistic import RowBatch, Statistic, Terms

DOZEN = 12


class Dozens(Statistic):
    """How many whole dozens of rows there are. One row moves it by one dozen at most."""

    title = "dozens"
    batch = RowBatch
    needs_column: ClassVar = False

    def written(self) -> str:
        return written("dozens", None)

    def fields(self) -> dict[str, Any]:
        return {"dozens": None}

    def draw(self, counted: int, grid: Grid | None, terms: Terms, coins: Coins) -> Answer:
        noise = self._noise(terms)
        dozens = counted // DOZEN + discrete_laplace(noise, coins)
        return released(self.title, Noisy(dozens, Fraction(1), noise, negative=False), terms, coins)

    def cost(self, terms: Terms) -> Cost:
        return pure_draw(terms.epsilon)

    def forecast(self, terms: Terms, rows: ExpectedRows | Unknown) -> Forecast:
        reach = self._noise(terms).reach(terms.beta)
        return Reach(self.title, Fraction(reach), float(terms.confidence))

    def _noise(self, terms: Terms) -> DiscreteLaplace:
        return DiscreteLaplace(moved_rows(terms.protect, terms.groups) / terms.epsilon)


def dozens() -> Dozens:
    """The number of rows in dozens."""
    return Dozens()


FORM = Form(
    name="dozens",
    make=dozens,
    meaning="How many whole dozens of rows there are.",
    sql=("DOZENS",),
    examples=("dozens()",),
)
