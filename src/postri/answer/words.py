"""How answers speak. Every sentence that a user reads about an answer stands here; a statistic may
register more that is particular to it.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from postri.answer.population import Covers, listed
from postri.cost import rho_of
from postri.exact import plain
from postri.keeping import KeepingLaw
from postri.noise import DiscreteGaussian, DiscreteLaplace
from postri.privacy import Spend

if TYPE_CHECKING:
    from postri.answer.answer import Answer
    from postri.answer.drawn import Interval
    from postri.answer.result import Result, ResultColumn

NOT_PRIVATE = "NOT PRIVATE: drawn with seeded coins"
ROUNDED_TO_WHOLE = "rounded to whole numbers: give a domain with a step for more digits"
# Letters of a table with one row that stands in one line.
WIDEST = 120
UNREADABLE = "cells that cannot be read are left out"
# The noise of counts, sums and means, by the method that answers name.
NOISES = {
    DiscreteLaplace.name: "discrete Laplace noise",
    DiscreteGaussian.name: "discrete Gaussian noise",
    KeepingLaw.name: "truncated geometric noise, given that the key is told",
}
JOINT = "all intervals of this question hold at once"
FOUND = (
    "keys are told that have a noisy number of rows of at least {threshold:,}; that protects a "
    "person but for a chance of {delta}"
)
SELECTED = "intervals hold among the rows shown: widened for the selection"
# How the note begins that tells a wish.
WISHED = "wanted within "
WHOLE_RANGE = (
    "the interval is the whole range: what this is computed from may lie beyond its domain"
)

# Which errors an interval covers.
_COVERED: dict[Covers, tuple[str, ...]] = {
    "table": (
        "The interval covers the error that privacy added.",
        "It does not cover sampling error, which is how far these rows are from the people whom",
        "they stand for.",
    ),
    "population": (
        "The interval covers the error that privacy added, and sampling error, which is how far",
        "these rows are from the population.",
        "That holds if the rows were drawn from it at random and independently of one another;",
        "it does not cover what another choice of rows brings.",
    ),
}

# The sentence of each statistic that has one of its own, by the statistic's name.
_EXPLANATIONS: dict[str, str] = {}


def register_words(statistic: str, *, explanation: str) -> None:
    """Let `explain` say a sentence that is particular to a statistic."""
    _EXPLANATIONS[statistic] = explanation


def line(answer: Answer) -> str:
    """One line for everybody: value, interval, confidence, what is protected."""
    interval = answer.interval
    label = about(answer)
    if answer.p is None and label[-1].isdigit():
        # A number after a number would read as one.
        label += ":"
    released = f"{label} {shown(answer.value)}"
    if interval.is_whole_domain:
        promise = "but it may be anywhere in the domain or beyond"
    else:
        promise = f"{between(interval)} with {percent(answer.confidence)} confidence"
    cost = f"protects {answer.protect} at {spent(answer.spend)}"
    notes = list(answer.notes)
    if not answer.private:
        notes.insert(0, NOT_PRIVATE)
    sentence = f"{released}, {promise}; about {answer.population}; {cost}"
    return sentence + "".join(f" [{note}]" for note in notes)


def paragraph(answer: Answer) -> str:
    """How to read the answer."""
    statistic = about(answer)
    spend = answer.spend
    parts = [
        f"The released {statistic} is {shown(answer.value)}.",
        "It was drawn with noise, which protects people.",
        f"It is about {answer.population}.",
    ]
    whose = "of the rows that count"
    draws = "of all draws"
    if answer.covers == "population":
        whose = "of the population that these rows were drawn from"
        draws = "of all samples and draws"
    if answer.rows.rule is not None:
        parts += [answer.rows.rule, "The answer claims nothing about rows that do not count."]
    parts += [
        f"The exact {statistic} {whose} {_lies(answer.interval)}:",
        f"{draws}, at least {percent(answer.confidence)} give an interval that holds it.",
    ]
    if answer.statistic in _EXPLANATIONS:
        parts.append(_EXPLANATIONS[answer.statistic])
    parts += [
        *_COVERED[answer.covers],
        f"What is protected is {answer.protect}:",
        "whoever sees the answer can hardly tell whether that happened,",
        *_promise(spend),
        *_noise(answer.method),
        *_edges(answer.interval),
        *(f"Note: {note}." for note in answer.notes),
    ]
    if not answer.private:
        parts.append(f"{NOT_PRIVATE}. Whoever knows the seed can undo the noise.")
    return " ".join(parts)


def spent(spend: Spend) -> str:
    """What protects people: the epsilon of an answer, or the rho of Gaussian noise, which has none.

    >>> spent(Spend(Fraction(1), Fraction(0), rho=Fraction(1, 2)))
    'rho 0.5 (zCDP)'
    >>> spent(Spend(Fraction(1, 9), Fraction(0), release=Fraction(1)))
    'epsilon 1, paid once for all that follows from one release'
    """
    together = ""
    if spend.release is not None:
        together = ", paid once for all that follows from one release"
    if spend.rho is None:
        return f"epsilon {plain(protection(spend))}{together}"
    return f"rho {plain(protection(spend))} (zCDP){together}"


def protection(spend: Spend) -> Fraction:
    """The epsilon or rho by which an answer protects: that of the whole release of which it is a
    part, if it is one.
    """
    if spend.release is not None:
        return spend.release
    if spend.rho is not None:
        return spend.rho
    return spend.epsilon


def _promise(spend: Spend) -> list[str]:
    """How little the answer tells, and what that cost."""
    if spend.release is not None:
        return _promise_of_release(spend)
    if spend.rho is None:
        return [
            f"since the odds change by a factor of at most e^{plain(spend.epsilon)}.",
            f"Value and interval cost epsilon {plain(spend.epsilon)} together:",
            f"{plain(spend.value)} for the value, {plain(spend.interval)} for the interval.",
        ]
    return [
        f"in the sense of zero-concentrated differential privacy with rho {plain(spend.rho)}.",
        "There is no factor that the odds never pass, so it has no epsilon of its own:",
        f"it was asked for at epsilon {plain(spend.epsilon)}, and the ledger adds up rhos.",
    ]


def _promise_of_release(spend: Spend) -> list[str]:
    """How little a release tells, of which the answer is a part."""
    promise = f"since the odds change by a factor of at most e^{plain(protection(spend))}."
    if spend.rho is not None:
        promise = (
            "in the sense of zero-concentrated differential privacy with rho "
            f"{plain(protection(spend))}."
        )
    return [
        promise,
        "It follows from one release of noisy counts, and so may any number of others:",
        f"all of them together cost {spent(spend).partition(',')[0]}.",
    ]


def _noise(method: str) -> list[str]:
    """Which noise was added, where that is public."""
    if method not in NOISES:
        return []
    return [f"The noise is {NOISES[method]}, whose law is public: so the interval costs nothing."]


def about(answer: Answer) -> str:
    """What the answer tells: "median", "90th percentile", "count from 0 to below 10", "lead of
    Oslo (mode)", or the name of its statistic.
    """
    if answer.bin is not None:
        return f"count {answer.bin}"
    if answer.key is not None:
        return f"lead of {key_words(answer.key)} ({answer.statistic})"
    if answer.p is None:
        return answer.statistic
    return name(answer.p)


def _edges(interval: Interval) -> list[str]:
    sides = (("lower", "below", interval.low_is_edge), ("upper", "above", interval.high_is_edge))
    return [
        f"The {side} end is the edge of the domain: the exact value lies there or {beyond} it."
        for side, beyond, edge in sides
        if edge
    ]


def whole_domain(rows: int, epsilon: Fraction) -> str:
    """Why an interval is the whole domain, and what would help."""
    return (
        "the interval is the whole domain; if that is for lack of rows: at epsilon "
        f"{plain(epsilon)} it takes {about_rows(rows)} rows, "
        "and with half as many twice the epsilon"
    )


def about_rows(rows: int) -> str:
    """A number of rows that is good to two digits.

    >>> about_rows(31_408)
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
    if "/" in percentile:
        return f"quantile {p}"
    return f"{ordinal(percentile)} percentile"


def ordinal(number: str) -> str:
    """A number with its ending.

    >>> ordinal("1"), ordinal("11"), ordinal("99.9")
    ('1st', '11th', '99.9th')
    """
    if number[-2:] in ("11", "12", "13") and "." not in number:
        return f"{number}th"
    return number + {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")


def percent(share: float) -> str:
    """A share as a percentage.

    >>> percent(0.95)
    '95%'
    """
    return f"{share * 100:.10g}%"


def between(interval: Interval) -> str:
    """The interval in words; an end on the edge is "or beyond", and one point is exact.

    >>> from postri.answer.drawn import Interval
    >>> between(Interval(2, 5, low_is_edge=True)), between(Interval(872, 872))
    ('between 2 or below and 5', 'exactly 872')
    >>> between(Interval(1_000, 1_000, high_is_edge=True))
    '1,000 or above'
    """
    if interval.low != interval.high:
        return f"between {low_end(interval)} and {high_end(interval)}"
    if interval.low_is_edge and interval.high_is_edge:
        return f"{low_end(interval)} or above"
    if interval.low_is_edge:
        return low_end(interval)
    if interval.high_is_edge:
        return high_end(interval)
    return f"exactly {shown(interval.low)}"


def reach(interval: Interval) -> str:
    """The interval as a label: "2 to 5", "2 to 5 or above", "exactly 872"."""
    if interval.is_whole_domain:
        return "anywhere in the domain or beyond"
    if interval.low == interval.high:
        return between(interval)
    return f"{low_end(interval)} to {high_end(interval)}"


def low_end(interval: Interval) -> str:
    """The lower end in words."""
    if interval.low_is_edge:
        return f"{shown(interval.low)} or below"
    return shown(interval.low)


def high_end(interval: Interval) -> str:
    """The upper end in words."""
    if interval.high_is_edge:
        return f"{shown(interval.high)} or above"
    return shown(interval.high)


def _lies(interval: Interval) -> str:
    if interval.low != interval.high:
        return f"lies {between(interval)}"
    return f"is {between(interval)}"


def shown(value: Any) -> str:
    """A value as people write it."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:,}"


def key_words(key: Any) -> str:
    """A key as people write it: a whole number may be a year.

    >>> key_words(True), key_words(2024), key_words("Oslo")
    ('true', '2024', 'Oslo')
    """
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, date):
        return shown(key)
    return str(key)


def table(result: Result) -> str:
    """A result as lines of text: a table, and what holds for all of it."""
    cells = [list(titles(result)), *cell_texts(result)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if len(cells) == 2 and sum(widths) > WIDEST:
        # One row of many columns, such as a histogram's, is read from the top down.
        cells = [list(pair) for pair in zip(*cells, strict=True)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    return "\n".join([*lines, *footing(result)])


def titles(result: Result) -> list[str]:
    """The columns that people see: whether an end is an edge is written beside the end."""
    return [cell.title for cell in _seen(result)]


def cell_texts(result: Result) -> list[list[str]]:
    """The cells of these columns, row by row."""
    return [[_cell_text(result, cell, *group) for cell in _seen(result)] for group in result.groups]


def _seen(result: Result) -> list[ResultColumn]:
    return [cell for cell in result.layout if cell.what not in ("low_is_edge", "high_is_edge")]


def _cell_text(
    result: Result, cell: ResultColumn, values: tuple[Any, ...], answers: tuple[Answer, ...]
) -> str:
    if cell.what == "low":
        return low_end(result.answer_of(cell, answers).interval)
    if cell.what == "high":
        return high_end(result.answer_of(cell, answers).interval)
    found = result.cell(cell, values, answers)
    if cell.what == "winner":
        return key_words(found)
    if cell.what == "key" and type(found) is int and answers[0].bin is None:
        # It may be a year, and tells a group from others in any case; edges of bins are amounts.
        return str(found)
    return _cell(found)


def footing(result: Result) -> list[str]:
    """What holds for all answers of a result, and what a reader must know."""
    first = result.about
    cost = f"epsilon {plain(result.epsilon)}"
    if any(answer.spend.rho is not None for answer in (first, *result.answers)):
        # Gaussian draws share the rho of the question, and others take less than their share.
        cost = f"rho {plain(rho_of(result.epsilon))} at most (zCDP)"
    if result.epsilon == 0 and first.spend.release is not None:
        cost = spent(first.spend)
    lines = [
        f"about {result.population}",
        f"{percent(first.confidence)} confidence in each interval; protects {first.protect} at "
        f"{cost}",
    ]
    if not result.private:
        lines.append(NOT_PRIVATE)
    return lines + shared_notes(result)


def wish_note(wish: str, epsilon: Fraction) -> str:
    """How near an answer was wanted, and the epsilon that it had.

    >>> wish_note("1 percentile", Fraction(1, 4))
    'wanted within 1 percentile to each side, by the forecast: epsilon 0.25'
    """
    return f"{WISHED}{wish} to each side, by the forecast: epsilon {plain(epsilon)}"


def is_wish_note(note: str) -> bool:
    """Whether a note tells a wish: it belongs to a question, and not to the draw."""
    return note.startswith(WISHED)


def shared_notes(result: Result) -> list[str]:
    """What a reader must know, each note once with the answers that it is about."""
    if not result.groups:
        # Why no key was told is worth knowing.
        return list(result.about.notes)
    lines = []
    for note, labels in _labels_of_notes(result).items():
        # A note that all answers share needs no names.
        if labels == list(result.names):
            lines.append(note)
        else:
            lines.append(f"{listed(labels, result.names)}: {note}")
    return lines


def _labels_of_notes(result: Result) -> dict[str, list[str]]:
    """Which answers have a note: an aggregate by its name, where all its groups do."""
    found: dict[str, list[str]] = {}
    labelled = result.labels(result.names)
    for place, name in enumerate(result.names):
        of_name = labelled[place :: len(result.names)]
        for note in dict.fromkeys(note for _, answer in of_name for note in answer.notes):
            labels = [label for label, answer in of_name if note in answer.notes]
            if len(labels) == len(of_name):
                labels = [name]
            found.setdefault(note, []).extend(labels)
    return found


def accepted_loss(share: Fraction) -> str:
    """How many cells are left out at most, by the steward's word.

    >>> accepted_loss(Fraction(1, 50))
    'up to 2% of cells cannot be read and are left out, as the steward declares'
    """
    most = percent(float(share))
    return f"up to {most} of cells cannot be read and are left out, as the steward declares"


def from_ledger(answer_id: str | None) -> str:
    """That an answer was given before, and costs nothing now."""
    return f"from the ledger: answer {answer_id} was asked before, and costs nothing now"


def _cell(cell: Any) -> str:
    # A truth is a number for Python, and would be shown as one.
    if isinstance(cell, str | bool):
        return str(cell)
    return shown(cell)
