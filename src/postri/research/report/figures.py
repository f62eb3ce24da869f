"""The figures of the report: the six of the paper with ours in them, and the shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from postri.errors import missing_extra
from postri.exact import plain
from postri.research.experiment import Floats, Outcome
from postri.research.report.document import Figure
from postri.research.report.results import EPSILONS, SIZES, PublishedCell, Results, shape_name
from postri.research.report.statistics import covers
from postri.research.subjects import SHAPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# Colours that people with the usual colour blindness tell apart (Okabe and Ito); ours is the heavy
# line.
LINES = {
    "postri-default": ("#0072b2", "o", "PostRI (1:1)"),
    "postri-optimal": ("#56b4e9", "s", "PostRI (optimal)"),
    "postri-9:1": ("#cc79a7", "D", "PostRI (9:1)"),
    "sun2023": ("#d55e00", "^", "Sun et al. (8)"),
    "sun2023-4": ("#e69f00", "v", "Sun et al. (4)"),
    "depth": ("#009e73", "P", "depth (ours)"),
}
INK = "#1f2937"
GRID = "#e5e7eb"
BROKEN = "#dc2626"
# What a figure has around it, in inches.
MARGIN = 0.1
TITLES = {"bank": "Bank, balance", "adult": "Adult, fnlwgt", "airplane": "Airplane, capacity"}

Metric = tuple[str, str, Callable[[Outcome], Floats], Callable[[PublishedCell], float]]
METRICS: tuple[Metric, ...] = (
    ("error", "Median error", lambda outcome: outcome.errors, lambda cell: cell.error),
    (
        "half_width",
        "Half-width of the interval",
        lambda outcome: outcome.half_widths,
        lambda cell: cell.half_width,
    ),
)


def draw_figures(results: Results, folder: Path) -> list[Figure]:
    """Save all figures as .svg and .png into a folder, and say what they show."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = [
        _against_epsilon(results, table, metric, folder)
        for table in results.tables
        for metric in METRICS
    ]
    return [*figures, _shapes(results, folder)]


def _against_epsilon(results: Results, table: str, metric: Metric, folder: Path) -> Figure:
    key, label, measure, published = metric
    canvas, axes = new_canvas(1, 1, (7.6, 4.2))
    ax = axes[0]
    places = np.arange(len(EPSILONS))
    for method, (colour, marker, name) in LINES.items():
        draws = [measure(results.of(table, method, epsilon)) for epsilon in EPSILONS]
        means = np.array([each.mean() for each in draws])
        spreads = np.array([each.std() for each in draws])
        ax.plot(
            places,
            means,
            color=colour,
            marker=marker,
            markersize=5,
            label=name,
            **_weight(method, 1.3),
        )
        lowest = np.maximum(means - spreads, 0)
        ax.fill_between(places, lowest, means + spreads, color=colour, alpha=0.13, linewidth=0)
        crosses = {}
        for place, epsilon in zip(places, EPSILONS, strict=True):
            cell = results.published_of(table, method, epsilon)
            if cell is not None:
                crosses[place] = published(cell)
        if crosses:
            ax.plot(
                tuple(crosses),
                tuple(crosses.values()),
                "x",
                color=colour,
                markersize=8,
                markeredgewidth=1.4,
                zorder=2,
            )
    ax.plot([], [], "x", color=INK, markersize=8, markeredgewidth=1.4, label="as published")
    ax.set_xticks(places, [plain(epsilon) for epsilon in EPSILONS])
    if key == "error":
        ax.set_ylim(bottom=0)
    else:
        _factors(ax)
    ax.set_xlabel("epsilon")
    ax.set_ylabel(f"{label} (units of the column)")
    title = (
        f"{TITLES[table]}: {label.lower()}, mean of {results.runs:,} runs; shaded: one standard "
        "deviation"
    )
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    name = f"{table}_{key}"
    save_canvas(canvas, folder, name)
    words = (
        f"{TITLES[table]}: {label.lower()} against epsilon, by method; crosses are the published "
        "means."
    )
    return Figure(name, words)


def _shapes(results: Results, folder: Path) -> Figure:
    canvas, axes = new_canvas(2, 4, (12, 6), alike=True)
    from matplotlib.ticker import NullLocator

    sizes = np.array(SIZES)
    for ax, shape in zip(axes, SHAPES, strict=True):
        for method, (colour, marker, name) in LINES.items():
            outcomes = [results.of(shape_name(shape, rows), method) for rows in SIZES]
            means = np.array([outcome.half_widths.mean() for outcome in outcomes])
            kept = np.array([_keeps_promise(outcome) for outcome in outcomes])
            ax.plot(sizes, means, color=colour, label=name, **_weight(method, 1.2))
            ax.plot(sizes[kept], means[kept], marker, color=colour, markersize=5, zorder=5)
            ax.plot(sizes[~kept], means[~kept], "X", color=BROKEN, markersize=9, zorder=5)
        ax.set_title(shape, loc="left", fontsize=10, color=INK)
    # All panels have these scales.
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1, linscale=0.4)
    ax.set_ylim(0, 2e8)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    axes[0].plot([], [], "X", color=BROKEN, markersize=9, linestyle="none", label="promise broken")
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8, frameon=False)
    canvas.supxlabel("rows", fontsize=9, y=0.06)
    canvas.supylabel("mean half-width", fontsize=9)
    canvas.tight_layout(rect=(0.01, 0.06, 1, 1))
    save_canvas(canvas, folder, "shapes_half_width")
    words = (
        "Half-width against the number of rows on eight synthetic shapes at epsilon 1; a red "
        "cross marks intervals that miss too often."
    )
    return Figure("shapes_half_width", words)


def _keeps_promise(outcome: Outcome) -> bool:
    """Whether its intervals miss as rarely as they promise, as far as so few can tell."""
    return covers(int(outcome.covered.sum()), len(outcome.covered), 0.99, 0.001)


def _weight(method: str, usual: float) -> dict[str, Any]:
    """How a method's line is drawn: ours heavier and above the others."""
    if method == "depth":
        return {"linewidth": 2.6, "zorder": 4}
    return {"linewidth": usual, "zorder": 3}


def _factors(ax: Axes) -> None:
    """A scale that shows factors, and 0 at the bottom where there is one."""
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    least = 10 ** np.floor(np.log10(heights[heights > 0].min()))
    ax.set_yscale("symlog", linthresh=least, linscale=0.4)
    bottom = least
    if heights.min() == 0:
        bottom = 0
    ax.set_ylim(bottom=bottom)
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:,.6g}")


def new_canvas(
    rows: int, columns: int, size: tuple[float, float], *, alike: bool = False
) -> tuple[Canvas, list[Axes]]:
    """An empty figure in the report's colours, and its axes row by row; all with the same scales,
    written at the outer ones, where they are `alike`.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise missing_extra("the report", "matplotlib", "plot") from None
    style: dict[Any, Any] = {
        "font.size": 9,
        "axes.edgecolor": GRID,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with rc_context(style):
        canvas = Canvas(figsize=size, layout=None)
        panels = canvas.subplots(rows, columns, sharex=alike, sharey=alike)
        axes = list(np.atleast_1d(panels).ravel())
    for ax in axes:
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return canvas, axes


def save_canvas(canvas: Canvas, folder: Path, name: str) -> None:
    """The figure as .svg, which a page holds inside, and as .png."""
    from matplotlib import rc_context

    # As `bbox_inches="tight"` finds it, which each of the two would draw the figure for once more.
    bounds = canvas.get_tightbbox().padded(MARGIN)
    # The same draws give the same file.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        canvas.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches=bounds)
        canvas.savefig(folder / f"{name}.png", dpi=150, bbox_inches=bounds)
