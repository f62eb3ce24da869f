"""Answers as a picture: a dot with its bar, one row each; a histogram as bars with whiskers; groups
along time as a line with a band.

The only file that loads the plotting library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

from postri.answer.population import joined, listed
from postri.answer.words import NOT_PRIVATE, about, percent, reach, shown, spent
from postri.cost import rho_of
from postri.errors import InputError, missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from postri.answer.answer import Answer
    from postri.answer.drawn import Interval
    from postri.answer.result import Result

# Up to ROOMY answers have a line of text each; more are drawn closely; more than MOST not at all.
ROOMY = 25
MOST = 200
# Inches for an answer.
ROOMY_HEIGHT = 0.75
CLOSE_HEIGHT = 0.22
FORMATS = (".png", ".svg", ".pdf")
# Inches of a line along time.
LINE_HEIGHT = 4.2
# Of a histogram: inches, the most bars in a picture, and letters below it.
HISTOGRAM_HEIGHT = 4.2
MOST_BARS = 400
EDGE_LETTERS = 100
INK = "#1f2937"
BAR = "#2563eb"
# Those of groups whose bars stand side by side.
COLOURS = (BAR, "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")
# The plotting library's arrows that begin at their point: CARETLEFTBASE and CARETRIGHTBASE.
LEFT, RIGHT = 8, 9
# The bar of an answer that tells nothing: it is the whole domain.
PALE = "#9ca3af"
# Letters in a line of the title, and in all that it says of the rows.
TITLE_LINE = 100
TITLE_ROWS = 400


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
        rows = joined({text: answer.rows for text, answer in zip(texts, answers, strict=True)})
        epsilon = sum((answer.epsilon for answer in answers), Fraction(0))
        title = _title(answers, epsilon, str(rows))
    limits = _limits(answers)
    roomy = len(answers) <= ROOMY
    for row, (answer, text) in enumerate(zip(answers, texts, strict=True)):
        _bar(ax, row, answer, limits)
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
    if limits is not None:
        ax.set_xlim(*limits)
        ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
        if _all_whole(answers):
            # Ticks between whole numbers would mean nothing.
            ax.locator_params(axis="x", integer=True)
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
    return ax


def draw_result(result: Result, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the answers of some aggregates, group by group; those of a histogram as its bars, those
    along time as a line.
    """
    lines = _lines(result, names)
    if lines and ax is None:
        _, ax = _pyplot().subplots(figsize=(8, LINE_HEIGHT))
    if lines:
        return _draw_lines(lines, ax, result.epsilon)
    chosen = result.labels(names)
    histograms = _histograms(result, names)
    if histograms and ax is None:
        _, ax = _pyplot().subplots(figsize=(8, HISTOGRAM_HEIGHT))
    if histograms:
        return _draw_bars(histograms, ax, result.epsilon)
    if len(chosen) > MOST:
        raise InputError(
            f"a picture holds at most {MOST} answers, got {len(chosen):,}; draw one "
            "aggregate, or ask for fewer groups"
        )
    labels = [label for label, _ in chosen]
    answers = [answer for _, answer in chosen]
    wholes = {name: answer.rows.whole for name, (_, answer) in zip(names, chosen, strict=False)}
    title = _title(answers, result.epsilon, str(joined(wholes)))
    return draw(answers, ax, labels=labels, title=title)


def draw_curve(quantiles: Sequence[Answer], epsilon: Fraction, ax: Axes | None = None) -> Axes:
    """Draw quantiles as the share of the rows that lies below each value, with the band that their
    intervals make.
    """
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(8, 4.5))
    shares = [float(answer.p or 0) for answer in quantiles]
    limits = _curve_limits(quantiles)
    lows, values, highs = (
        [_clipped(point, limits) for point in points]
        for points in (
            [answer.interval.low for answer in quantiles],
            [answer.value for answer in quantiles],
            [answer.interval.high for answer in quantiles],
        )
    )
    ax.fill_betweenx(shares, lows, highs, color=BAR, alpha=0.35, linewidth=0)
    ax.plot(values, shares, color=BAR, linewidth=1.5)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(lambda tick, _: percent(tick))
    ax.set_ylabel("rows below", color=INK)
    if limits is not None:
        ax.set_xlim(*limits)
        ax.xaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    first = quantiles[0]
    words = (
        f"line: released quantiles, band: {percent(first.confidence)} interval of each; "
        f"{_cost(quantiles, epsilon)}"
    )
    return _finished(ax, words, first)


def _curve_limits(quantiles: Sequence[Answer]) -> tuple[float, float] | None:
    """What the axis shows of numbers: all values, and half as much to each side at most, for the
    interval of an extreme quantile may reach very far. Dates have an axis of their own.
    """
    if any(isinstance(answer.value, date) for answer in quantiles):
        return None
    values = [float(answer.value) for answer in quantiles]
    ends = [float(end) for each in quantiles for end in (each.interval.low, each.interval.high)]
    room = (max(values) - min(values)) / 2 or 1.0
    return max(min(ends), min(values) - room), min(max(ends), max(values) + room)


def _cost(answers: Sequence[Answer], epsilon: Fraction) -> str:
    first = answers[0].spend
    if epsilon == 0 and first.release is not None:
        # What follows from a release costs nothing more.
        return spent(first).partition(",")[0]
    if any(answer.spend.rho is not None for answer in answers):
        return f"rho {float(rho_of(epsilon)):.4g} at most (zCDP)"
    return f"epsilon {float(epsilon):.4g}"


def _finished(ax: Axes, words: str, first: Answer) -> Axes:
    """A picture of one column with its title."""
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    if not first.private:
        words = f"{words}\n{NOT_PRIVATE}"
    rows = fill(shorten(f"about {first.population}", TITLE_ROWS, placeholder=" ..."), TITLE_LINE)
    ax.set_title(f"{words}\n{rows}", loc="left", fontsize=10, color=INK)
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
    return ax


Line = list[tuple[date, "Answer"]]


def _lines(result: Result, names: Sequence[str]) -> dict[str, Line]:
    """The answers of an aggregate along time, by the other keys of their groups; none if no key is
    a time, or more than one, or if there are too many lines to tell apart.
    """
    if len(names) != 1 or len(result) < 2:
        return {}
    (name,) = names
    place = result.names.index(name)
    times = [
        number
        for number in range(len(result.keys))
        if all(isinstance(keys[number], date) for keys, _ in result.groups)
    ]
    if len(times) != 1:
        return {}
    found: dict[str, Line] = {}
    for keys, answers in result.groups:
        if isinstance(answers[place].value, date) or answers[place].bin is not None:
            return {}
        others = ", ".join(str(key) for number, key in enumerate(keys) if number != times[0])
        found.setdefault(others, []).append((keys[times[0]], answers[place]))
    if len(found) > len(COLOURS) or max(map(len, found.values())) < 2:
        return {}
    return {label: sorted(line, key=lambda each: each[0]) for label, line in found.items()}


def _draw_lines(lines: dict[str, Line], ax: Any, epsilon: Fraction) -> Axes:
    """Lines through the released values, each in the band that its intervals make."""
    answers = [answer for line in lines.values() for _, answer in line]
    limits = _limits(answers)
    for colour, (label, line) in zip(COLOURS, lines.items(), strict=False):
        times = [time for time, _ in line]
        lows = [_clipped(answer.interval.low, limits) for _, answer in line]
        highs = [_clipped(answer.interval.high, limits) for _, answer in line]
        values = [float(answer.value) for _, answer in line]
        ax.fill_between(times, lows, highs, color=colour, alpha=0.3, linewidth=0)
        ax.plot(times, values, color=colour, linewidth=1.5, label=label)
    if len(lines) > 1:
        ax.legend(frameon=False, fontsize=9)
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    first = answers[0]
    words = f"line: released values, band: {percent(first.confidence)} interval of each"
    title = _headed(words, answers, epsilon, str(first.rows.whole))
    ax.set_title(title, loc="left", fontsize=10, color=INK)
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
    axes: Axes = ax
    return axes


def _histograms(result: Result, names: Sequence[str]) -> dict[str, list[Answer]]:
    """The bars of each histogram that some answers are, by the keys of its group; none if they are
    more than bars, or too many to stand side by side.
    """
    found: list[tuple[str, list[Answer]]] = []
    for values, answers in result.groups:
        named = dict(zip(result.names, answers, strict=True))
        for answer in (named[name] for name in names):
            if answer.bin is None:
                return {}
            if answer.bin.number == 0 or not found:
                found.append((", ".join(map(str, values)), []))
            found[-1][1].append(answer)
    is_clear = len({label for label, _ in found}) == len(found) <= len(COLOURS)
    if not is_clear or sum(len(bars) for _, bars in found) > MOST_BARS:
        return {}
    return dict(found)


def _draw_bars(histograms: dict[str, list[Answer]], ax: Any, epsilon: Fraction) -> Axes:
    """Bars with whiskers, those of several groups side by side. All bins have one width, whatever
    their edges: the height of a bar is a count.
    """
    width = 1 / len(histograms)
    if len(histograms) > 1:
        width = 0.9 / len(histograms)
    for number, (label, bars) in enumerate(histograms.items()):
        left = (1 - width * len(histograms)) / 2 + width * (number + 0.5)
        _side_by_side(ax, left, bars, width, COLOURS[number], label)
    first = next(iter(histograms.values()))
    _edge_ticks(ax, first)
    if len(histograms) > 1:
        ax.legend(frameon=False, fontsize=9)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    ax.locator_params(axis="y", integer=True)
    words = (
        f"bar: released count, whisker: {percent(first[0].confidence)} interval for the true one"
    )
    ax.set_title(
        _headed(words, first, epsilon, str(first[0].rows.whole)),
        loc="left",
        fontsize=10,
        color=INK,
    )
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
    axes: Axes = ax
    return axes


def _side_by_side(
    ax: Any, left: float, bars: Sequence[Answer], width: float, colour: str, label: str
) -> None:
    """The bars of one histogram, the first one at `left`."""
    places = [left + number for number in range(len(bars))]
    heights = [float(bar.value) for bar in bars]
    below = [float(bar.value - bar.interval.low) for bar in bars]
    above = [float(bar.interval.high - bar.value) for bar in bars]
    ax.bar(places, heights, width, color=colour, alpha=0.45, edgecolor="white", label=label)
    # A cap is no wider than its bar.
    cap = min(5.0, 120 * width / len(bars))
    ax.errorbar(places, heights, [below, above], fmt="none", ecolor=INK, capsize=cap, linewidth=1.2)


def _edge_ticks(ax: Any, bars: Sequence[Answer]) -> None:
    """The edges, each where one bin ends and the next begins; of many, as many as there is room
    for.
    """
    bins = [bar.bin for bar in bars if bar.bin is not None]
    edges = [bins[0].low, *(each.high for each in bins)]
    longest = max(len(shown(edge)) for edge in edges)
    most = max(2, EDGE_LETTERS // (longest + 2))
    every = -(-len(edges) // most)
    places = range(0, len(edges), every)
    ax.set_xticks(list(places), [shown(edges[place]) for place in places], fontsize=9)
    ax.set_xlim(0, len(bins))


def _bar(ax: Axes, row: int, answer: Answer, limits: tuple[float, float] | None) -> None:
    interval = answer.interval
    low, value, high = (
        _clipped(point, limits) for point in (interval.low, answer.value, interval.high)
    )
    colour = PALE if interval.is_whole_domain else BAR
    ax.plot([low, high], [row, row], color=colour, linewidth=6, alpha=0.35, solid_capstyle="butt")
    ax.plot([value], [row], "o", color=colour, markersize=8)
    for end, is_edge, arrow in (
        (low, interval.low_is_edge, LEFT),
        (high, interval.high_is_edge, RIGHT),
    ):
        # An arrow may point out of the picture, and is longer than a dot is wide.
        marker, size = (arrow, 12) if is_edge else ("|", 9)
        ax.plot([end], [row], marker=marker, color=colour, markersize=size, clip_on=False)


def _label(ax: Axes, row: int, answer: Answer, label: str) -> None:
    """The answer in words, above its bar."""
    words = f"{label}: {shown(answer.value)}   [{reach(answer.interval)}]"
    left_end = ax.get_yaxis_transform()
    ax.annotate(words, (0, row), (0, 9), left_end, "offset points", fontsize=10, color=INK)


def _clipped(point: Any, limits: tuple[float, float] | None) -> Any:
    """Where a point is drawn: on the picture's edge, if it lies beyond."""
    if isinstance(point, date):
        return point
    if limits is None:
        return float(point)
    return min(max(float(point), limits[0]), limits[1])


def _limits(answers: Sequence[Answer]) -> tuple[float, float] | None:
    """What the axis shows of numbers: all values and ends, but for far edges of the domain, which
    would squeeze the rest: arrows point to those. Dates have an axis of their own.
    """
    if any(isinstance(answer.value, date) for answer in answers):
        return None
    telling = [answer for answer in answers if not answer.interval.is_whole_domain]
    near, edges = [], []
    for answer in telling or answers:
        near.append(float(answer.value))
        inner, outer = _ends(answer.interval)
        near += inner
        edges += outer
    low, high = min(near), max(near)
    room = high - low or float("inf")
    for edge in edges:
        if low - edge <= room:
            low = min(low, edge)
        if edge - high <= room:
            high = max(high, edge)
    margin = 0.04 * (high - low or abs(high) or 1)
    if low == high and _all_whole(answers):
        margin = 1.5
    return low - margin, high + margin


def _ends(interval: Interval) -> tuple[list[float], list[float]]:
    """The ends that are bounds, and those that are edges."""
    inner: list[float] = []
    edges: list[float] = []
    pairs = ((interval.low, interval.low_is_edge), (interval.high, interval.high_is_edge))
    for end, is_edge in pairs:
        (edges if is_edge else inner).append(float(end))
    return inner, edges


def _all_whole(answers: Sequence[Answer]) -> bool:
    """Whether all values and ends are whole numbers."""
    return all(
        isinstance(point, int)
        for answer in answers
        for point in (answer.value, answer.interval.low, answer.interval.high)
    )


def _title(answers: Sequence[Answer], epsilon: Fraction, population: str) -> str:
    words = (
        f"dot: released value, bar: {percent(answers[0].confidence)} interval for the true value"
    )
    return _headed(words, answers, epsilon, population)


def _headed(words: str, answers: Sequence[Answer], epsilon: Fraction, population: str) -> str:
    """What is drawn, what it cost, and the rows that it is about."""
    first = answers[0]
    words = f"{words}; {_cost(answers, epsilon)}"
    if not first.private:
        words = f"{words}\n{NOT_PRIVATE}"
    rows = fill(shorten(f"about {population}", TITLE_ROWS, placeholder=" ..."), TITLE_LINE)
    return f"{words}\n{rows}"


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
    pictures = result.pictures
    heights = [_picture_height(result, names) for names in pictures]
    figure, axes = plt.subplots(
        len(pictures),
        1,
        figsize=(8, sum(heights)),
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )
    for names, ax in zip(pictures, axes[:, 0], strict=True):
        draw_result(result, names, ax)
        title = listed(names, result.names)
        ax.set_title(f"{title}: {ax.get_title(loc='left')}", loc="left", fontsize=10, color=INK)
    figure.tight_layout()
    _save(figure, path)


@contextmanager
def saving(path: str | Path) -> Iterator[None]:
    """Save what is drawn inside the block into a file; its ending chooses the format."""
    plt = _pyplot()
    plt.switch_backend("Agg")
    yield
    _save(plt.gcf(), path)


def _picture_height(result: Result, names: Sequence[str]) -> float:
    """Inches for the picture of some aggregates."""
    if _lines(result, names):
        return LINE_HEIGHT
    if _histograms(result, names):
        return HISTOGRAM_HEIGHT
    return 1.0 + _height(len(result) * len(names))


def _save(figure: Any, path: str | Path) -> None:
    figure.savefig(path, dpi=150)
    _pyplot().close(figure)
