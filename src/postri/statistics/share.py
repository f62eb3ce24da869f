"""The share of the rows on which a condition holds.

It is the mean of 1 where the condition holds and 0 where it does not, and the two numbers of which
that is drawn are numbers of rows: those on which it holds, and the others (Theorem 28). A row on
which the condition is unknown is one of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from postri.answer.drawn import register_drawn
from postri.domain import Domain
from postri.errors import InputError
from postri.exact import shown
from postri.expressions import Predicate
from postri.expressions.tree import Boolean, Case, Expression, Number
from postri.statistics.mean import Mean, MeanFromEnds, MeanFromMiddle
from postri.statistics.registry import Form, Parameter, register, written
from postri.statistics.statistic import Fits

# What the condition is worth in a row.
WORTH = Domain(0, 1)
HOLDS = Number(Fraction(1))
FAILS = Number(Fraction(0))
ALWAYS = Predicate(Boolean(True))
UNKNOWN = "a condition that is unknown counted as one that does not hold"


class ShareFromBoth(MeanFromEnds):
    """The number of rows on which a condition holds, and that of the others."""

    names: ClassVar = ("holds", "fails")
    clamps: ClassVar = False


class ShareFromLead(MeanFromMiddle):
    """By how many rows those on which a condition holds are more than the others, halved, and the
    number of rows.
    """

    names: ClassVar = ("lead", "rows")
    clamps: ClassVar = False


@dataclass(frozen=True)
class RowShare(Mean):
    """The share of the rows on which a condition holds. Its column is computed from that."""

    condition: Predicate = ALWAYS

    title: ClassVar = "share"
    fits: ClassVar[Fits] = "any"
    from_ends: ClassVar = ShareFromBoth
    from_middle: ClassVar = ShareFromLead

    @classmethod
    def of_condition(cls, condition: Predicate) -> RowShare:
        """The share of a condition."""
        return cls(f"({condition})", WORTH, condition)

    @property
    def computed(self) -> Mapping[str, Expression]:
        """1 where the condition holds, and else 0."""
        return {str(self.column): Case(((self.condition.expression, HOLDS),), FAILS)}

    def normal(self, names: Sequence[str]) -> RowShare:
        """The same condition in normal form; a filter and a wish stay."""
        condition = self.condition.normal(names)
        return replace(self, column=f"({condition})", condition=condition)

    @property
    def about_grid(self) -> bool:
        """Nothing is clamped: there is nothing but 0 and 1."""
        return False

    @property
    def left_out(self) -> str | None:
        """Every row counts, also one on which nothing is known."""
        return UNKNOWN

    def written(self) -> str:
        """As text.

        >>> share("delay>15").written()
        'share(delay > 15)'
        """
        return written("share", None, self.condition)

    def fields(self) -> dict[str, Any]:
        """The condition."""
        return {"share": str(self.condition)}


def share(condition: str | Predicate) -> RowShare:
    """The share of the rows on which a condition in SQL holds.

    >>> share("delay > 15 AND carrier IN ('UA', 'DL')").condition.columns
    ('delay', 'carrier')
    """
    if not isinstance(condition, str | Predicate):
        raise InputError(
            f"a share is of a condition in SQL, such as share('delay > 15'), got {shown(condition)}"
        )
    found = condition
    if isinstance(found, str):
        found = Predicate.parse(found)
    if not found.columns:
        raise InputError(
            "the condition of a share must depend on a column, such as share('delay > 15'), got "
            f"{shown(str(found))}"
        )
    return RowShare.of_condition(found)


register_drawn("holds", ShareFromBoth)
register_drawn("lead", ShareFromLead)
register(
    Form(
        name="share",
        make=share,
        meaning="On which share of the rows a condition holds, as a number from 0 to 1.",
        parameters=(
            Parameter("condition", "condition", meaning="A condition in SQL, such as age < 40"),
        ),
        sql=("SHARE",),
        sql_usage="SHARE(x > 15): one condition on the columns of a row",
        examples=("share(x > 15)",),
        family="everyday",
        place=7,
    )
)
