"""Answers as a picture: a dot with its bar, one row each.

The only file that loads the plotting library.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postri.answer.words import NOT_PRIVATE, about, percent, shown
from postri.cost import rho_of
from postri.errors import InputError, missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from postri.answer.answer import Answer
    from postri.answer.result import Result

# Up to ROOMY answers have a line of text each; more are drawn closely; more than MOST not at all.
ROOMY = 25
MOST = 200
# Inches for an answer.
ROOMY_HEIGHT = 0.75
CLOSE_HEIGHT = 0.22
FORMATS = (".png", ".svg", ".pdf")
INK = "#1f2937"
BAR = "#2563eb"


def draw(
    answers: Sequence[Answer],
    ax: Axes | None = None,
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    truth: float | None = None,
) -> Axes:
    """Draw answers below one another, the first on top; an arrow marks an end that means "or
    beyond".

    `truth` draws a line, for generated data whose true value may be shown.
    """
    if ax is None:
        ax = _axes(len(answers))
    texts = labels or [about(answer) for answer in answers]
    if title is None:
        title = _title(answers, sum((answer.epsilon for answer in answers), Fraction(0)))
    roomy = len(answers) <= ROOMY
    for row, (answer, text) in enumerate(zip(answers, texts, strict=True)):
        _bar(ax, row, answer)
        if roomy:
            _label(ax, row, answer, text)
    if truth is not None:
        ax.axvline(truth, color=INK, linewidth=1, linestyle="--")
    ax.set_ylim(len(answers) - 0.4, -0.75)
    if roomy:
        ax.set_yticks([])
    else:
        ax.set_yticks(range(len(answers)), texts, fontsize=8)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    if not isinstance(answers[0].value, date):
        ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
    return ax


def draw_result(result: Result, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the answers of some aggregates, group by group."""
    chosen = result.labels(names)
    if len(chosen) > MOST:
        raise InputError(
            f"a picture holds at most {MOST} answers, got {len(chosen):,}; draw one "
            "aggregate, or ask for fewer groups"
        )
    labels = [label for label, _ in chosen]
    answers = [answer for _, answer in chosen]
    return draw(answers, ax, labels=labels, title=_title(answers, result.epsilon))


def _bar(ax: Axes, row: int, answer: Answer) -> None:
    interval = answer.interval
    low = _place(interval.low)
    value = _place(answer.value)
    high = _place(interval.high)
    ax.plot([low, high], [row, row], color=BAR, linewidth=6, alpha=0.35, solid_capstyle="butt")
    ax.plot([value], [row], "o", color=BAR, markersize=8)
    low_marker = high_marker = "|"
    if interval.low_is_edge:
        low_marker = "<"
    if interval.high_is_edge:
        high_marker = ">"
    ax.plot([low], [row], low_marker, color=BAR, markersize=9)
    ax.plot([high], [row], high_marker, color=BAR, markersize=9)


def _label(ax: Axes, row: int, answer: Answer, label: str) -> None:
    """The answer in words, above its bar."""
    interval = answer.interval
    words = f"{label}: {shown(answer.value)}   [{shown(interval.low)} to {shown(interval.high)}]"
    left_end = ax.get_yaxis_transform()
    ax.annotate(words, (0, row), (0, 9), left_end, "offset points", fontsize=10, color=INK)


def _place(point: Any) -> Any:
    if isinstance(point, date):
        return point
    return float(point)


def _title(answers: Sequence[Answer], epsilon: Fraction) -> str:
    first = answers[0]
    cost = f"epsilon {float(epsilon):.4g}"
    if any(answer.spend.rho is not None for answer in answers):
        cost = f"rho {float(rho_of(epsilon)):.4g} at most (zCDP)"
    words = (
        f"dot: released value, bar: {percent(first.confidence)} interval for the true value; {cost}"
    )
    if first.private:
        return words
    return f"{words}  ({NOT_PRIVATE})"


def _height(rows: int) -> float:
    if rows <= ROOMY:
        return ROOMY_HEIGHT * rows
    return CLOSE_HEIGHT * rows


def _axes(rows: int) -> Axes:
    _, ax = _pyplot().subplots(figsize=(8, 0.9 + _height(rows)))
    axes: Axes = ax
    return axes


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_extra("A picture", "matplotlib", "plot") from None
    return plt


def check_file(path: str | Path) -> None:
    """Refuse, before a question is asked, a file that no picture can be saved to."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise InputError(
            f"a picture's name must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}, got "
            f"{str(path)!r}"
        )
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {str(file.parent)!r} to save the picture in")
    _pyplot()


def save(answers: Sequence[Answer], path: str | Path, **how: Any) -> None:
    """Draw answers into a file; its ending chooses the format."""
    _pyplot().switch_backend("Agg")
    _save(draw(answers, **how).figure, path)


def save_result(result: Result, path: str | Path) -> None:
    """Draw a result into a file: one picture below the other for its aggregates, each on a scale of
    its own.
    """
    if not len(result):
        raise InputError("the result has no rows, so there is nothing to draw")
    plt = _pyplot()
    plt.switch_backend("Agg")
    pictures = len(result.names)
    height = (1.0 + _height(len(result))) * pictures
    figure, axes = plt.subplots(pictures, 1, figsize=(8, height), squeeze=False)
    for name, ax in zip(result.names, axes[:, 0], strict=True):
        draw_result(result, [name], ax)
        ax.set_title(f"{name}: {ax.get_title(loc='left')}", loc="left", fontsize=10, color=INK)
    _save(figure, path)


def _save(figure: Any, path: str | Path) -> None:
    figure.savefig(path, dpi=150)
    _pyplot().close(figure)
