"""How answers, tables and budgets show themselves in a notebook: HTML with small pictures, drawn
here, so that no plotting library is loaded.

Colours are those of the notebook, light or dark, but for one accent. What is shown was released, or
is public; texts of keys and columns are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from postri.answer.extents import extent, place
from postri.answer.words import about, cell_texts, footing, line, percent, reach, shown, titles

if TYPE_CHECKING:
    from postri.answer.answer import Answer
    from postri.answer.forecast import Plan
    from postri.answer.result import Result

ACCENT = "#2563eb"
PALE = "#9ca3af"
# Pixels of a picture in a row, and of the curve of a distribution.
WIDTH, HEIGHT = 260, 20
SIDE = 12
CURVE_WIDTH, CURVE_HEIGHT = 420, 200
LEFT, FOOT = 40, 18
# An axis of this length has ends without a fraction, a shorter one with some digits.
LONG, FEW = 20, 3
# More rows than this have no pictures: a notebook would be slow to show them.
MOST = 200


def table(head: Sequence[str], rows: Iterable[Sequence[str]], foot: Sequence[str] = ()) -> str:
    """A table of texts, each escaped; a `Markup` among the cells stays as it is."""
    titles_row = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    words = "<br>".join(map(escape, foot))
    return f"<table><thead><tr>{titles_row}</tr></thead><tbody>{body}</tbody></table><p>{words}</p>"


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def _cell(text: str) -> str:
    if isinstance(text, Markup):
        return f"<td>{text}</td>"
    return f"<td>{escape(text)}</td>"


def answer_html(answer: Answer) -> str:
    """An answer: its value, its bar, and its line."""
    bar = bar_of(answer, extent([answer]))
    ends = f"{escape(about(answer))} [{escape(reach(answer.interval))}]"
    return (
        f'<div><b style="font-size:1.4em">{escape(shown(answer.value))}</b> &nbsp; {ends}'
        f"<br>{bar}<br>{escape(line(answer))}</div>"
    )


def result_html(result: Result) -> str:
    """A result as a table; groups of one aggregate have their bars beside them, on one axis."""
    head = list(titles(result))
    rows: list[list[str]] = [list(row) for row in cell_texts(result)]
    if 0 < len(rows) <= MOST:
        for number, name in enumerate(result.names):
            answers = [answers[number] for _, answers in result.groups]
            if len(result.names) > 1 and len(answers) == 1:
                continue
            limits = extent(answers)
            head.append(_axis_title(name, answers, limits))
            for row, answer in zip(rows, answers, strict=True):
                row.append(bar_of(answer, limits))
    return table(head, rows, list(footing(result)))


def _axis_title(name: str, answers: Sequence[Answer], limits: tuple[float, float]) -> str:
    """What stands above bars: the aggregate, and from where to where its axis goes."""
    if any(isinstance(answer.value, date) for answer in answers):
        return name
    low, high = limits
    digits = 0 if high - low > LONG else FEW
    return f"{name}, from {low:,.{digits}f} to {high:,.{digits}f}"


def bar_of(answer: Answer, limits: tuple[float, float]) -> Markup:
    """A dot with its bar on an axis; an arrow is an end that means "or beyond"."""
    interval = answer.interval
    ends = [
        _across(point, limits, SIDE, WIDTH - SIDE)
        for point in (interval.low, answer.value, interval.high)
    ]
    low, value, high = ends
    colour = PALE if interval.is_whole_domain else ACCENT
    name = f"{about(answer)} {shown(answer.value)} [{reach(answer.interval)}]"
    parts = [
        f'<rect x="{low:.1f}" y="6" width="{max(high - low, 1):.1f}" height="8" fill="{colour}" '
        'fill-opacity="0.4"/>',
        _end(low, colour, is_edge=interval.low_is_edge, side=-1),
        _end(high, colour, is_edge=interval.high_is_edge, side=1),
    ]
    if limits[0] <= place(answer.value) <= limits[1]:
        parts.append(f'<circle cx="{value:.1f}" cy="10" r="5" fill="{colour}"/>')
    return _svg(WIDTH, HEIGHT, name, parts)


def _end(x: float, colour: str, *, is_edge: bool, side: int) -> str:
    if is_edge:
        return f'<path d="M {x + side * 9:.1f} 10 L {x:.1f} 3 L {x:.1f} 17 Z" fill="{colour}"/>'
    return f'<rect x="{x - 1:.1f}" y="3" width="2" height="14" fill="{colour}"/>'


def _across(point: object, limits: tuple[float, float], left: float, right: float) -> float:
    """Where a value stands, in pixels; what lies beyond is put on the picture's end."""
    low, high = limits
    inside = min(max(place(point), low), high)
    return left + (inside - low) / (high - low or 1) * (right - left)


def _svg(width: int, height: int, name: str, parts: Iterable[str]) -> Markup:
    return Markup(
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def curve_html(quantiles: Sequence[Answer], words: str) -> str:
    """A distribution: the share of the rows below each value, in the band that the intervals of
    some quantiles make; and these in a table.
    """
    limits = extent(quantiles)
    right, floor = CURVE_WIDTH - SIDE, CURVE_HEIGHT - FOOT

    def x(point: object) -> float:
        return _across(point, limits, LEFT, right)

    def corner(point: object, answer: Answer) -> str:
        share = float(answer.p or 0)
        return f"{x(point):.1f},{floor - share * (floor - 6):.1f}"

    steps = list(pairwise(quantiles))
    # Between two quantiles a value lies no lower than the lower end of the one, and no higher than
    # the upper end of the other.
    lower = [corner(one.interval.low, each) for one, after in steps for each in (one, after)]
    upper = [corner(after.interval.high, each) for one, after in steps for each in (one, after)]
    line_points = " ".join(corner(each.value, each) for each in quantiles)
    ticks = [
        _label(LEFT - 6, floor - share * (floor - 6) + 4, percent(share), "end")
        for share in (0.0, 0.5, 1.0)
    ]
    parts = [
        f'<polygon points="{" ".join([*lower, *reversed(upper)])}" fill="{ACCENT}" '
        'fill-opacity="0.35"/>',
        f'<polyline points="{line_points}" fill="none" stroke="{ACCENT}" stroke-width="1.5"/>',
        f'<path d="M {LEFT} 6 V {floor} H {right}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.5"/>',
        *ticks,
        _label(LEFT, CURVE_HEIGHT - 3, shown(quantiles[0].value), "start"),
        _label(right, CURVE_HEIGHT - 3, shown(quantiles[-1].value), "end"),
    ]
    name = "; ".join(f"{about(each)} {shown(each.value)}" for each in quantiles)
    picture = _svg(CURVE_WIDTH, CURVE_HEIGHT, f"share of the rows below: {name}", parts)
    rows = [(about(each), shown(each.value), reach(each.interval)) for each in quantiles]
    listed = table(("quantile", "value", "interval"), rows)
    fold = f"<details><summary>{len(rows)} quantiles</summary>{listed}</details>"
    return f"<div>{picture}{fold}{escape(words)}</div>"


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" '
        f'fill="currentColor">{escape(text)}</text>'
    )


def plan_html(plan: Plan) -> str:
    """A forecast: which part of the rows the interval will span, and the line."""
    left, right = SIDE, WIDTH - SIDE
    low, high = (left + end * (right - left) for end in (plan.low, plan.high))
    middle = left + float(plan.p) * (right - left)
    parts = [
        f'<rect x="{left}" y="9" width="{right - left}" height="2" fill="currentColor" '
        'fill-opacity="0.4"/>',
        f'<rect x="{low:.1f}" y="5" width="{max(high - low, 2):.1f}" height="10" fill="{ACCENT}" '
        'fill-opacity="0.4"/>',
        f'<circle cx="{middle:.1f}" cy="10" r="5" fill="{ACCENT}"/>',
    ]
    name = f"from the {percent(plan.low)} to the {percent(plan.high)} point of all rows"
    picture = _svg(WIDTH, HEIGHT, name, parts)
    return f"<div>lowest row {picture} highest row<br>{escape(str(plan))}</div>"


def spent_bar(budget: Fraction, spent: Fraction, cost: Fraction = Fraction(0)) -> Markup:
    """A budget as a bar: what is spent, and what a question would take."""
    whole = WIDTH - 2 * SIDE
    used = min(float(spent / budget), 1.0) * whole
    taken = min(float(cost / budget) * whole, whole - used)
    parts = [
        f'<rect x="{SIDE}" y="5" width="{whole}" height="10" fill="none" stroke="currentColor" '
        'stroke-opacity="0.5"/>',
        f'<rect x="{SIDE}" y="5" width="{used:.1f}" height="10" fill="{PALE}"/>',
        f'<rect x="{SIDE + used:.1f}" y="5" width="{taken:.1f}" height="10" fill="{ACCENT}"/>',
    ]
    return _svg(WIDTH, HEIGHT, f"{percent(float(spent / budget))} is spent", parts)
