"""What a question returns: frozen, printable, plottable. Nothing here has seen the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from postri.answer.bins import Bin
from postri.answer.drawn import Drawn, Interval
from postri.answer.population import ALL_ROWS, Covers, Population
from postri.answer.words import line, paragraph
from postri.errors import InputError
from postri.exact import Number
from postri.privacy import ProtectedChange, Spend, check_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The value of a statistic with its randomization interval.

    With probability `confidence` over the coins, the interval holds the true value of the rows that
    the answer is about: `population` names them. If it `covers` "population", then it holds that of
    the population from which these rows were drawn, over the coins and the draw of the rows.
    `spend` is what it cost, `protect` what it protects, and `private` is False if it was drawn with
    coins that somebody can foresee. `notes` say what else a reader must know; like everything here
    they follow from public numbers and from the answer itself. A quantile has its `p`, any other
    statistic what was `drawn` for it, a bar of a histogram its `bin`, and what tells of one of some
    keys that `key`.
    """

    value: Any
    interval: Interval
    confidence: float
    spend: Spend
    protect: ProtectedChange
    method: str
    p: Fraction | None = None
    private: bool = True
    notes: tuple[str, ...] = ()
    statistic: str = "quantile"
    drawn: Drawn | None = field(default=None, repr=False)
    rows: Population = field(default=ALL_ROWS, repr=False)
    bin: Bin | None = None
    key: Any = None
    covers: Covers = "table"

    @classmethod
    def told_by(cls, drawn: Drawn, beta: Fraction, **fields: Any) -> Answer:
        """One that tells what was drawn. Its value, and its interval for this beta, are made when
        somebody looks at them: a release in each of a thousand groups may tell nobody its median.
        """
        answer = object.__new__(cls)
        vars(answer).update(fields, drawn=drawn, _beta=beta)
        return answer

    if not TYPE_CHECKING:  # else every name would be taken for that of a field

        def __getattr__(self, name: str) -> Any:
            """Called for fields that are not there yet. Nothing is drawn: both follow from what
            was.
            """
            if name not in ("value", "interval") or "_beta" not in vars(self):
                raise AttributeError(f"an answer has no {name}")
            found = self.drawn.value if name == "value" else self.drawn.interval(self._beta)
            vars(self)[name] = found
            return found

    def about(self, rows: Population) -> Answer:
        """The same, about these rows."""
        answer = object.__new__(Answer)
        vars(answer).update(vars(self), rows=rows)
        return answer

    @property
    def population(self) -> str:
        """What it is about, in words: "all rows", "rows where age < 40", "the population behind
        all rows".
        """
        return str(self.rows)

    @property
    def epsilon(self) -> Fraction:
        """What the value and its interval cost together."""
        return self.spend.epsilon

    def at(self, confidence: Number) -> Answer:
        """The same count, sum or mean with the interval of another confidence, which costs nothing:
        its noise is public.

        The interval of a quantile was drawn for its own confidence, and another one is another
        question.
        """
        share = check_share(confidence, "confidence")
        if self.drawn is None:
            raise InputError(
                "the interval of a quantile is drawn for its confidence; ask again with another one"
            )
        return replace(self, interval=self.drawn.interval(1 - share), confidence=float(share))

    @property
    def distribution(self) -> Any:
        """All that follows from the release of a distribution: its quantiles, shares, counts and
        histograms.
        """
        follow = getattr(self.drawn, "distribution", None)
        if follow is None:
            raise InputError(
                f"a {self.statistic} is no release of a distribution; ask for distribution(x)"
            )
        return follow(self)

    def __str__(self) -> str:
        return line(self)

    def explain(self) -> str:
        """A paragraph: how to read the answer, what the interval covers and what it does not."""
        return paragraph(self)

    def to_dict(self) -> dict[str, Any]:
        """The public fields, as Python values."""
        # The forms read answers too, so they import this file.
        from postri.answer.forms import plain_answer

        return dict(plain_answer(self))

    def to_json(self) -> str:
        """The public fields as JSON: dates as text, epsilon as a rational, decimals with the step's
        digits.
        """
        from postri.answer.forms import json_text

        return json_text(self.to_dict())

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Draw the answer as a dot with its bar. Needs the extra `plot`.

        `answer.plot().figure.savefig("answer.png")` keeps the picture.
        """
        from postri.answer.picture import draw

        return draw([self], ax, title=title)

    def _repr_html_(self) -> str:
        from postri.answer.notebook import answer_html

        return answer_html(self)


class Answers(Sequence[Answer]):
    """Several answers about one column, in the order of the question."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = tuple(answers)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Answers: ...
    def __getitem__(self, place: int | slice) -> Answer | Answers:
        if isinstance(place, slice):
            return Answers(self._answers[place])
        return self._answers[place]

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def epsilon(self) -> Fraction:
        """What all of them cost together."""
        return sum((answer.epsilon for answer in self), start=Fraction(0))

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"Answers({list(self._answers)!r})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answers as dots with bars, one below the other. Needs the extra `plot`."""
        from postri.answer.picture import draw

        return draw(self, ax)

    def _repr_html_(self) -> str:
        from postri.answer.notebook import answer_html

        return "".join(map(answer_html, self))
