"""How answers speak. Every sentence that a user reads about an answer stands here."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from html import escape
from math import ceil, log10
from typing import TYPE_CHECKING, Any

from postri.exact import plain

if TYPE_CHECKING:
    from postri.answer.answer import Answer
    from postri.answer.interval import Interval
    from postri.answer.plan import Plan
    from postri.answer.result import Result

NOT_PRIVATE = "NOT PRIVATE: drawn with seeded coins"
READ_AS_WHOLE = "read as whole numbers, other cells are dropped"
JOINT = "all intervals of this question hold at once"
_explanations: dict[str, str] = {}


def register_words(statistic: str, *, explanation: str) -> None:
    """What a paragraph about this statistic says besides."""
    _explanations[statistic] = explanation


def line(answer: Answer) -> str:
    """One line for everybody: value, interval, confidence, what is protected."""
    cost = f"protects {answer.protect} at epsilon {plain(answer.epsilon)}"
    notes = [*(() if answer.private else (NOT_PRIVATE,)), *answer.notes]
    if answer.interval.low_is_edge and answer.interval.high_is_edge:
        words = (
            f"{about(answer)} {shown(answer.value)}, but it may be anywhere in the domain; {cost}"
        )
    else:
        words = (
            f"{about(answer)} {shown(answer.value)}, between {ends(answer.interval)} with "
            f"{percent(answer.confidence)} confidence; {cost}"
        )
    return words + "".join(f" [{note}]" for note in notes)


def paragraph(answer: Answer) -> str:
    """How to read the answer."""
    statistic, spend = about(answer), answer.spend
    parts = [
        (
            f"The released {statistic} is {shown(answer.value)}. Noise was added to protect "
            f"people, so it is not the exact {statistic} of the"
        ),
        (
            f"table. The exact one lies between {ends(answer.interval)}: of all draws, at least "
            f"{percent(answer.confidence)} give an interval"
        ),
        "that holds it.",
        *([_explanations[answer.statistic]] if answer.statistic in _explanations else []),
        (
            "The interval covers the error that privacy added. It does not cover sampling error, "
            "which is how far the table itself is from the"
        ),
        "people whom it stands for.",
        (
            f"What is protected is {answer.protect}: whoever sees the answer can hardly tell "
            "whether that happened, since the odds change by a"
        ),
        (
            f"factor of at most e^{plain(spend.epsilon)}. Value and interval cost epsilon "
            f"{plain(spend.epsilon)} together:"
        ),
        f"{plain(spend.value)} for the value, {plain(spend.interval)} for the interval.",
        *_edges(answer.interval),
        *(f"Note: {note}." for note in answer.notes),
        *(
            ()
            if answer.private
            else (f"{NOT_PRIVATE}. Whoever knows the seed can undo the noise.",)
        ),
    ]
    return " ".join(parts)


def about(answer: Answer) -> str:
    """What the answer tells: "median", "90th percentile", "count", "sum" or "mean"."""
    return answer.statistic if answer.p is None else name(answer.p)


def _edges(interval: Interval) -> list[str]:
    sides = (("lower", "below", interval.low_is_edge), ("upper", "above", interval.high_is_edge))
    return [
        f"The {side} end is the edge of the domain: the exact value lies there or {beyond} it."
        for side, beyond, edge in sides
        if edge
    ]


def notebook(answer: Answer) -> str:
    """The answer as a line of HTML."""
    return f"<p><b>{escape(shown(answer.value))}</b> &nbsp; {escape(line(answer))}</p>"


def whole_domain(rows: int, epsilon: Fraction) -> str:
    """Why an interval is the whole domain, and what would help."""
    return (
        "the interval is the whole domain; if that is for lack of rows: at epsilon "
        f"{plain(epsilon)} it takes {_about(rows)} rows, "
        f"and with half as many twice the epsilon"
    )


def _about(rows: int) -> str:
    """A number of rows that is good to two digits.

    >>> _about(31_408)
    'about 32,000'
    """
    if rows >= 10**15:
        return "more than 10^15"
    unit = 10 ** max(0, len(str(rows)) - 2)
    return f"about {-(-rows // unit) * unit:,}"


def name(p: Fraction) -> str:
    """What people call a quantile.

    >>> name(Fraction(1, 2)), name(Fraction(9, 10)), name(Fraction(1, 3))
    ('median', '90th percentile', 'quantile 1/3')
    """
    if p == Fraction(1, 2):
        return "median"
    percentile = plain(100 * p)
    return f"quantile {p}" if "/" in percentile else f"{percentile}{_suffix(percentile)} percentile"


def _suffix(number: str) -> str:
    if number[-2:] in ("11", "12", "13") and "." not in number:
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")


def percent(share: float) -> str:
    """A share as a percentage.

    >>> percent(0.95)
    '95%'
    """
    return f"{share * 100:.10g}%"


def ends(interval: Interval) -> str:
    """The interval in words; an end on the edge is "or beyond"."""
    low = shown(interval.low) + (" or below" if interval.low_is_edge else "")
    return f"{low} and {shown(interval.high)}" + (" or above" if interval.high_is_edge else "")


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else f"{value:,}"


def table(result: Result) -> str:
    """A result as lines of text: a table, and what holds for all of it."""
    cells = [result.columns, *([_cell(cell) for cell in row.values()] for row in result.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    return "\n".join([*lines, *footing(result)])


def footing(result: Result) -> list[str]:
    """What holds for all answers of a result, and what a reader must know."""
    first = result.about
    about: dict[str, list[str]] = {}
    for label, answer in result.labels(result.names):
        for note in answer.notes:
            about.setdefault(note, []).append(label)
    notes = [
        note if len(labels) == len(result.answers) else f"{', '.join(labels)}: {note}"
        for note, labels in about.items()
    ]
    words = (
        f"{percent(first.confidence)} confidence in each interval; protects {first.protect} at "
        f"epsilon {plain(result.epsilon)}"
    )
    return [words, *([] if result.private else [NOT_PRIVATE]), *notes]


def from_ledger(answer_id: str | None) -> str:
    """That an answer was given before, and costs nothing now."""
    return f"from the ledger: answer {answer_id} was asked before, and costs nothing now"


def table_notebook(result: Result) -> str:
    """A result as an HTML table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(cell))}</td>" for cell in row.values()) + "</tr>"
        for row in result.rows
    )
    words = "<br>".join(map(escape, footing(result)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{words}</p>"


def _cell(cell: Any) -> str:
    return cell if isinstance(cell, str) else str(cell) if isinstance(cell, bool) else shown(cell)


def plan_words(plan: Plan) -> str:
    """A forecast in words."""
    rows = (
        f"{plan.rows:,} rows"
        if plan.groups == 1
        else f"{plan.rows // plan.groups:,} rows in each of {plan.groups:,} groups"
    )
    if not plan.enough:
        return (
            f"at epsilon {plain(plan.epsilon)} the interval of the {name(plan.p)} of {rows} "
            "will end on the domain's edge: "
            f"it takes {_about(plan.rows_needed)} rows, and with half as many twice the epsilon"
        )
    return (
        f"at epsilon {plain(plan.epsilon)} the {percent(plan.confidence)} interval of the "
        f"{name(plan.p)} of {rows} will reach from about "
        f"the {_percentile(plan.low, plan.reach)} to the {_percentile(plan.high, plan.reach)} "
        "percentile, if the data are smooth there "
        f"(many equal values or a gap change that)"
    )


def _percentile(share: float, reach: float) -> str:
    """A percentile with digits enough to tell it from the quantile.

    >>> _percentile(0.4990, 0.0010)
    '49.9th'
    """
    text = f"{100 * share:.{max(0, ceil(-log10(max(100 * reach, 1e-12))))}f}"
    return text + _suffix(text)
