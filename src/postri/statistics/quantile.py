"""Private quantiles: a pure function of windows, public numbers and coins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from postri.answer import Answer, Interval
from postri.domain import Domain
from postri.grid import Grid
from postri.mechanisms.coins import Coins
from postri.methods.method import Method, QuantileTerms, Span
from postri.window import Windows


@dataclass(frozen=True)
class Terms:
    """What the answers to several questions about one column share: public numbers only."""

    grid: Grid
    domain: Domain | None
    method: Method
    confidence: Fraction
    notes: tuple[str, ...] = ()


def quantile_answers(
    questions: Sequence[QuantileTerms], windows: Sequence[Windows], terms: Terms, coins: Coins
) -> list[Answer]:
    """One answer to each question, drawn one after the other, then put in order."""
    drawn = [
        terms.method.draw(each, question, terms.grid, coins)
        for question, each in zip(questions, windows, strict=True)
    ]
    spans = in_order(drawn, [question.p for question in questions])
    return [
        _released(span, question, terms, coins.private)
        for span, question in zip(spans, questions, strict=True)
    ]


def in_order(spans: Sequence[Span], ps: Sequence[Fraction]) -> list[Span]:
    """Larger quantiles get larger values: values sorted, lows the least of those that follow, highs
    the largest of those before.

    An interval can only grow by this, so it holds what it held.
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    values = sorted(span.value for span in spans)
    lows = list(accumulate((spans[i].low for i in reversed(order)), min))[::-1]
    highs = list(accumulate((spans[i].high for i in order), max))
    ends = dict(zip(order, zip(values, lows, highs, strict=True), strict=True))
    return [Span(*ends[i], span.spend) for i, span in enumerate(spans)]


def _released(span: Span, question: QuantileTerms, terms: Terms, private: bool) -> Answer:
    grid = terms.grid
    return Answer(
        value=grid.value(span.value),
        interval=Interval(
            grid.low_end(span.low),
            grid.high_end(span.high),
            span.low == grid.first,
            span.high == grid.last,
        ),
        confidence=float(terms.confidence),
        spend=span.spend or question.spend,
        protect=question.protect,
        method=terms.method.name,
        p=question.p,
        private=private,
        notes=(
            *terms.notes,
            *terms.method.notes,
            *terms.method.advice(span, question, grid, terms.domain),
        ),
    )
