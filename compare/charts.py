"""The charts of the page: narrow enough that their words can be read on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from compare.findings import Kept, Pair, pairs, shown_peer
from compare.measures import Figure as Measured
from postri.research.report.document import Figure
from postri.research.report.figures import BROKEN, INK, new_canvas, save_canvas

WIDTH = 4.6
LINE = 0.21
# Okabe and Ito's colours, which people with the usual colour blindness tell apart.
STYLES = {
    "opendp": ("#0072b2", "o"),
    "diffprivlib": ("#e69f00", "s"),
    "python-dp (tree)": ("#cc79a7", "D"),
    "python-dp (algorithm)": ("#d55e00", "^"),
    "smartnoise": ("#56b4e9", "v"),
    "tumult": ("#117733", "P"),
    "pipelinedp": ("#882255", "*"),
}
OTHER = ("#555555", "o")
# What is drawn where ours has no error at all, and the ratio has no end.
MOST = 1e4


def draw_charts(rows: Sequence[Kept], folder: Path) -> list[Figure]:
    """A chart of errors for each statistic that was run, and of half-widths where peers have
    intervals.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = [pair for pair in pairs(rows) if pair.tells]
    figures = []
    for label in dict.fromkeys(pair.row["label"] for pair in beside):
        chosen = [pair for pair in beside if pair.row["label"] == label]
        figures.append(_errors(label, chosen, folder))
        with_intervals = [pair for pair in chosen if "coverage" in pair.peer]
        if with_intervals:
            figures.append(_widths(label, with_intervals, folder))
    return figures


def ratio(theirs: float, ours: float) -> float:
    """How many times as large as ours, within what can be drawn.

    >>> ratio(4.0, 2.0), ratio(0.0, 0.0), ratio(1.0, 0.0)
    (2.0, 1.0, 10000.0)
    """
    if theirs == ours:
        return 1.0
    if ours == 0:
        return MOST
    return min(MOST, max(1 / MOST, theirs / ours))


def _errors(label: str, chosen: Sequence[Pair], folder: Path) -> Figure:
    points = []
    for pair in chosen:
        theirs, ours = pair.errors()
        points.append((pair, ratio(theirs.mean, ours.mean), True))
    name = f"error-{label}"
    title = f"{label}: error over ours"
    _dots(title, points, folder, name)
    words = (
        f"{label}: the error of each library over that of postri at the same privacy. "
        "Right of the line postri is closer; left of it the other is."
    )
    return Figure(name, words)


def _widths(label: str, chosen: Sequence[Pair], folder: Path) -> Figure:
    points = []
    for pair in chosen:
        theirs = Measured(**pair.peer["half_width"]).mean
        ours = Measured(**pair.ours["half_width"]).mean
        points.append((pair, ratio(theirs, ours), pair.peer["coverage"]["stands"]))
    name = f"width-{label}"
    _dots(f"{label}: half-width over ours", points, folder, name)
    words = (
        f"{label}: the half-width of each library's interval over that of postri. A red cross is "
        "an interval that misses the true value more often than it promises."
    )
    return Figure(name, words)


def _dots(title: str, points: Sequence[tuple[Pair, float, bool]], folder: Path, name: str) -> None:
    """A line for each table and epsilon, a mark for each library."""
    lines = list(dict.fromkeys((pair.row["table"], pair.peer["epsilon"]) for pair, _, _ in points))
    canvas, axes = new_canvas(1, 1, (WIDTH, 1.5 + LINE * len(lines)))
    ax = axes[0]
    ax.axvline(1, color=INK, linewidth=1)
    named: set[str] = set()
    for pair, place, stands in points:
        peer = shown_peer(pair.peer)
        colour, marker = STYLES.get(peer, OTHER)
        height = lines.index((pair.row["table"], pair.peer["epsilon"]))
        label = None
        if peer not in named:
            label = peer
            named.add(peer)
        if stands:
            ax.plot([place], [height], marker, color=colour, markersize=6, label=label)
        else:
            ax.plot([], [], marker, color=colour, markersize=6, label=label)
            ax.plot([place], [height], "X", color=BROKEN, markersize=8)
    if not all(stands for _, _, stands in points):
        ax.plot([], [], "X", color=BROKEN, markersize=8, label="promise broken")
    _ratio_axis(ax, [place for _, place, _ in points])
    ax.set_yticks(range(len(lines)), [f"{table}, {epsilon:g}" for table, epsilon in lines])
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    ax.set_xlabel("times ours (log scale); lines: table, epsilon", fontsize=8)
    ax.legend(
        fontsize=8,
        frameon=False,
        ncols=2,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.9 / len(lines) - 0.06),
    )
    save_canvas(canvas, folder, name)


def _ratio_axis(ax: Any, places: Sequence[float]) -> None:
    """An axis of ratios: plain numbers at few ticks, from a half to twice at least, so that what
    is nearly the same looks so.
    """
    ticker: Any = import_module("matplotlib.ticker")
    low, high = min([*places, 0.5]), max([*places, 2.0])
    ax.set_xscale("log")
    ax.set_xlim(low / 1.25, high * 1.25)
    steps = (1, 2, 5)
    if high / low > 50:
        steps = (1,)
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=steps, numticks=8))
    ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
