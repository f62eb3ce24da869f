"""The figures of the report: the six of the paper with ours in them, and the shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from postri.errors import missing_extra
from postri.exact import plain
from postri.research.experiment import Floats, Outcome
from postri.research.report.document import Figure
from postri.research.report.results import EPSILONS, SIZES, Published, Results, shape_name
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
INK, GRID = "#1f2937", "#e5e7eb"
TITLES = {"bank": "Bank, balance", "adult": "Adult, fnlwgt", "airplane": "Airplane, capacity"}

Metric = tuple[str, str, Callable[[Outcome], Floats], Callable[[Published], float]]
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
    canvas, axes = _canvas(1, 1, (7.6, 4.2))
    ax, places = axes[0], np.arange(len(EPSILONS))
    for method, (colour, marker, name) in LINES.items():
        draws = [measure(results.of(table, method, epsilon)) for epsilon in EPSILONS]
        means, spreads = (
            np.array([each.mean() for each in draws]),
            np.array([each.std() for each in draws]),
        )
        ours = method == "depth"
        ax.plot(
            places,
            means,
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=2.6 if ours else 1.3,
            label=name,
            zorder=3 + ours,
        )
        ax.fill_between(
            places,
            np.maximum(means - spreads, 0),
            means + spreads,
            color=colour,
            alpha=0.13,
            linewidth=0,
        )
        cells = [results.published_of(table, method, epsilon) for epsilon in EPSILONS]
        seen = [
            (place, published(cell))
            for place, cell in zip(places, cells, strict=True)
            if cell is not None
        ]
        if seen:
            ax.plot(
                *zip(*seen, strict=True),
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
    ax.set_title(
        (
            f"{TITLES[table]}: {label.lower()}, mean of {results.runs:,} runs; shaded: one "
            "standard deviation"
        ),
        loc="left",
        fontsize=10,
        color=INK,
    )
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    name = f"{table}_{key}"
    _save(canvas, folder, name)
    return Figure(
        name,
        (
            f"{TITLES[table]}: {label.lower()} against epsilon, by method; crosses are the "
            "published means."
        ),
    )


def _shapes(results: Results, folder: Path) -> Figure:
    canvas, axes = _canvas(2, 4, (12, 6))
    from matplotlib.ticker import NullLocator

    for ax, shape in zip(axes, SHAPES, strict=True):
        for method, (colour, marker, name) in LINES.items():
            outcomes = [results.of(shape_name(shape, rows), method) for rows in SIZES]
            means = np.array([outcome.half_widths.mean() for outcome in outcomes])
            ours = method == "depth"
            ax.plot(
                SIZES,
                means,
                color=colour,
                linewidth=2.6 if ours else 1.2,
                label=name,
                zorder=3 + ours,
            )
            held = [
                covers(int(each.covered.sum()), len(each.covered), 0.99, 0.001) for each in outcomes
            ]
            for rows, mean, holds in zip(SIZES, means, held, strict=True):
                ax.plot(
                    [rows],
                    [mean],
                    marker if holds else "X",
                    color=colour if holds else "#dc2626",
                    markersize=5 if holds else 9,
                    zorder=5,
                )
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1, linscale=0.4)
        ax.set_ylim(0, 2e8)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_title(shape, loc="left", fontsize=10, color=INK)
    axes[0].plot(
        [], [], "X", color="#dc2626", markersize=9, linestyle="none", label="promise broken"
    )
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8, frameon=False)
    canvas.supxlabel("rows", fontsize=9, y=0.06)
    canvas.supylabel("mean half-width", fontsize=9)
    canvas.tight_layout(rect=(0.01, 0.06, 1, 1))
    _save(canvas, folder, "shapes_half_width")
    words = (
        "Half-width against the number of rows on eight synthetic shapes at epsilon 1; a red "
        "cross marks intervals that miss too often."
    )
    return Figure("shapes_half_width", words)


def _factors(ax: Axes) -> None:
    """A scale that shows factors, and 0 at the bottom where there is one."""
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()])
    least = 10 ** np.floor(np.log10(heights[heights > 0].min()))
    ax.set_yscale("symlog", linthresh=least, linscale=0.4)
    ax.set_ylim(bottom=0 if heights.min() == 0 else least)
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:,.6g}")


def _canvas(rows: int, columns: int, size: tuple[float, float]) -> tuple[Canvas, list[Axes]]:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise missing_extra("the report", "matplotlib", "plot") from None
    with rc_context(
        {
            "font.size": 9,
            "axes.edgecolor": GRID,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    ):
        canvas = Canvas(figsize=size, layout=None)
        axes = list(np.atleast_1d(canvas.subplots(rows, columns)).ravel())
    for ax in axes:
        ax.grid(color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return canvas, axes


def _save(canvas: Canvas, folder: Path, name: str) -> None:
    from matplotlib import rc_context

    # The same draws give the same file.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        canvas.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
        canvas.savefig(folder / f"{name}.png", dpi=150, bbox_inches="tight")
