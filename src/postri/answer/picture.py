"""Answers as a picture: a dot with its bar, one row each; a histogram as bars with whiskers; groups
along time as dots with upright bars; a distribution as a curve with its band.

Above stands what is shown, below how to read it, what it cost and which rows it is about. Texts are
large enough to be read where the picture is as wide as a phone. The only file that loads the
plotting library.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

from postri.answer.bins import ENDS
from postri.answer.extents import all_whole, extent
from postri.answer.extents import place as at
from postri.answer.population import joined, listed
from postri.answer.words import NOT_PRIVATE, about, percent, reach, shown, spent
from postri.cost import rho_of
from postri.errors import InputError, missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from postri.answer.answer import Answer
    from postri.answer.result import Result

# Up to ROOMY answers have a line of text each; more are drawn closely; more than MOST not at all.
ROOMY = 12
MOST = 200
# Inches for an answer, for what stands above and below all of them, and for the whole width.
ROOMY_HEIGHT = 0.62
CLOSE_HEIGHT = 0.24
FRAME_HEIGHT = 1.6
WIDTH = 6.4
MARGIN = 0.15
FORMATS = (".png", ".svg", ".pdf")
# Inches of a picture with two axes.
LINE_HEIGHT = CURVE_HEIGHT = HISTOGRAM_HEIGHT = 4.6
# Of a histogram: the most bars in a picture, and letters below it.
MOST_BARS = 400
EDGE_LETTERS = 72
# Sizes of texts, in points, and how many letters of one point fit into an inch.
HEADLINE, WORDS, CAPTION = 13, 11, 9.5
LETTERS = 128
MOST_TICKS = 6
# Which part of the room between two groups along time their bars take.
SPREAD = 0.5
INK = "#1f2937"
MUTED = "#4b5563"
GRID = "#e5e7eb"
BAR = "#2563eb"
# Those of groups whose bars stand side by side.
COLOURS = (BAR, "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2")
# The plotting library's arrows that begin at their point: CARETLEFTBASE and so on.
LEFT, RIGHT, UP, DOWN = 8, 9, 10, 11
# The bar of an answer that tells nothing: it is the whole domain.
PALE = "#9ca3af"
# Letters in all that is said of the rows.
MOST_LETTERS = 400
BEYOND = 'An arrow means "or beyond".'


def draw(
    answers: Sequence[Answer],
    ax: Axes | None = None,
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    truth: float | None = None,
    epsilon: Fraction | None = None,
    population: str | None = None,
) -> Axes:
    """Draw answers below one another, the first on top; an arrow marks an end that means "or
    beyond".

    `title` says what they are, `epsilon` what they cost together, `population` which rows they are
    about. `truth` draws a line, for generated data whose true value may be shown.
    """
    if ax is None:
        ax = _axes(WIDTH, FRAME_HEIGHT + _height(len(answers)))
    texts = labels or [about(answer) for answer in answers]
    if population is None:
        told = {text: answer.rows for text, answer in zip(texts, answers, strict=True)}
        population = str(joined(told))
    if epsilon is None:
        epsilon = sum((answer.epsilon for answer in answers), Fraction(0))
    limits = _limits(answers)
    roomy = len(answers) <= ROOMY
    for row, (answer, text) in enumerate(zip(answers, texts, strict=True)):
        _bar(ax, row, answer, limits)
        if roomy:
            _label(ax, row, answer, text)
    ax.set_ylim(len(answers) - 0.4, -0.75)
    if roomy:
        ax.set_yticks([])
    else:
        ax.set_yticks(range(len(answers)), [_short(text) for text in texts], fontsize=CAPTION)
        ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    _value_axis(ax, "x", answers, limits)
    words = (
        f"Dot: released value. Bar: {percent(answers[0].confidence)} interval for the true value."
    )
    if truth is not None:
        ax.axvline(truth, color=INK, linewidth=1, linestyle="--")
        words += " Dashed line: the true value."
    if title is None:
        title = _common(texts)
    return _framed(ax, title, words, answers, epsilon, population)


def _common(texts: Sequence[str]) -> str:
    """What to call answers together: by their name, if they have the same."""
    if len(set(texts)) == 1:
        return texts[0][:1].upper() + texts[0][1:]
    return "Released values"


def _short(label: str) -> str:
    return shorten(label, 32, placeholder=" ...")


def _value_axis(
    ax: Any, side: str, answers: Sequence[Answer], limits: tuple[float, float] | None
) -> None:
    """The axis of the values: few ticks at round numbers, and lines that lead to them. That of
    dates is the library's own.
    """
    axis = ax.xaxis if side == "x" else ax.yaxis
    ax.grid(axis=side, color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    if limits is None:
        _date_axis(axis)
        return
    (ax.set_xlim if side == "x" else ax.set_ylim)(*limits)
    axis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    # Ticks between whole numbers would mean nothing.
    ax.locator_params(axis=side, nbins=MOST_TICKS, integer=all_whole(answers))


def _date_axis(axis: Any) -> None:
    # The library does not tell the types of these.
    dates: Any = import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=2, maxticks=MOST_TICKS)
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))


def draw_result(
    result: Result, names: Sequence[str], ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw the answers of some aggregates, group by group; those of a histogram as its bars, those
    along time as a line of dots.
    """
    if title is None:
        title = _headline(result, names)
    lines = _lines(result, names)
    if lines:
        return _draw_lines(lines, ax or _axes(WIDTH, LINE_HEIGHT), title, result.epsilon)
    histograms = _histograms(result, names)
    if histograms:
        return _draw_bars(histograms, ax or _axes(WIDTH, HISTOGRAM_HEIGHT), title, result.epsilon)
    chosen = result.labels(names)
    if len(chosen) > MOST:
        raise InputError(
            f"a picture holds at most {MOST} answers, got {len(chosen):,}; draw one "
            "aggregate, or ask for fewer groups"
        )
    labels = [label for label, _ in chosen]
    answers = [answer for _, answer in chosen]
    wholes = {name: answer.rows.whole for name, (_, answer) in zip(names, chosen, strict=False)}
    return draw(
        answers,
        ax,
        labels=labels,
        title=title,
        epsilon=result.epsilon,
        population=str(joined(wholes)),
    )


def _headline(result: Result, names: Sequence[str]) -> str:
    """The columns that are shown, and what divides the rows."""
    title = listed(names, result.names)
    if len(names) == 1:
        title = names[0]
    if tuple(result.keys) == ENDS:
        return f"{title} in each bin"
    if result.keys:
        title += f" by {' and '.join(result.keys)}"
    return title


def draw_curve(
    quantiles: Sequence[Answer],
    epsilon: Fraction,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw quantiles as the share of the rows that lies below each value, with the band that their
    intervals make.
    """
    if ax is None:
        ax = _axes(WIDTH, CURVE_HEIGHT)
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
    # In steps: between two quantiles a value lies no lower than the lower end of the one, and no
    # higher than the upper end of the other.
    steps = [share for pair in pairwise(shares) for share in pair]
    least = [low for low in lows[:-1] for _ in range(2)]
    most = [high for high in highs[1:] for _ in range(2)]
    ax.fill_betweenx(steps, least, most, color=BAR, alpha=0.35, linewidth=0)
    ax.plot(values, shares, color=BAR, linewidth=1.5)
    for share, low, high, answer in zip(shares, lows, highs, quantiles, strict=True):
        for end, is_edge, arrow in (
            (low, answer.interval.low_is_edge, LEFT),
            (high, answer.interval.high_is_edge, RIGHT),
        ):
            if is_edge:
                ax.plot([end], [share], marker=arrow, color=BAR, markersize=7, clip_on=False)
    _value_axis(ax, "x", quantiles, limits)
    ax.grid(axis="y", color=GRID, linewidth=0.8)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(lambda tick, _: percent(tick))
    first = quantiles[0]
    words = f"Line: released quantiles. Band: {percent(first.confidence)} interval of each."
    if limits is not None and _reaches_beyond(quantiles, limits):
        words += " It goes on beyond the picture."
    if title is None:
        title = "Share of the rows below each value"
    return _framed(ax, title, words, quantiles, epsilon, first.population)


def _reaches_beyond(quantiles: Sequence[Answer], limits: tuple[float, float]) -> bool:
    """Whether an interval is cut by the picture."""
    low, high = limits
    return any(
        float(answer.interval.low) < low or float(answer.interval.high) > high
        for answer in quantiles
    )


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


def _framed(
    ax: Any,
    title: str,
    words: str,
    answers: Sequence[Answer],
    epsilon: Fraction,
    population: str,
) -> Axes:
    """A picture with its headline above, and below how to read it, what it cost and the rows that
    it is about.
    """
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelcolor=MUTED)
    ax.tick_params(axis="x", labelsize=WORDS)
    width = ax.figure.get_figwidth()
    ends = (
        edge
        for answer in answers
        for edge in (answer.interval.low_is_edge, answer.interval.high_is_edge)
    )
    if any(ends):
        words = f"{words} {BEYOND}"
    parts = [f"{words} It cost {_cost(answers, epsilon)}."]
    if not answers[0].private:
        parts.append(f"{NOT_PRIVATE}.")
    parts.append(shorten(f"About {population}.", MOST_LETTERS, placeholder=" ..."))
    lines = [fill(part, int(width * LETTERS / CAPTION)) for part in parts]
    headline = fill(title, int(width * LETTERS / HEADLINE))
    _head(ax, headline, 0.0)
    ax.set_xlabel("\n".join(lines), loc="left", fontsize=CAPTION, color=MUTED, labelpad=8)
    if layout := getattr(ax.figure, "tight_layout", None):
        layout()
        _align(ax)
    axes: Axes = ax
    return axes


def _align(ax: Any) -> None:
    """Let headline and caption begin where the picture does, whatever room the labels of groups
    take.
    """
    place = ax.get_position()
    left = (MARGIN / ax.figure.get_figwidth() - place.x0) / place.width
    _head(ax, ax.get_title(loc="left"), left)
    ax.xaxis.label.set_x(left)


def _head(ax: Any, title: str, left: float) -> None:
    style = {"fontsize": HEADLINE, "fontweight": "bold", "color": INK}
    ax.set_title(title, style, loc="left", pad=12, x=left)


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


def _draw_lines(lines: dict[str, Line], ax: Any, title: str, epsilon: Fraction) -> Axes:
    """Released values along time with upright bars. A thin line leads the eye from one to the next,
    where nothing is claimed. Those of several keys stand side by side.
    """
    answers = [answer for line in lines.values() for _, answer in line]
    limits = _limits(answers)
    moments = sorted({at(time) for line in lines.values() for time, _ in line})
    room = min(after - before for before, after in pairwise(moments)) * SPREAD
    for number, (label, line) in enumerate(lines.items()):
        aside = room * ((number + 0.5) / len(lines) - 0.5)
        places = [at(time) + aside for time, _ in line]
        values = [_clipped(answer.value, limits) for _, answer in line]
        ax.plot(places, values, color=COLOURS[number], linewidth=1, linestyle=":", label=label)
        for place, (_, answer) in zip(places, line, strict=True):
            _upright(ax, place, answer, limits, COLOURS[number])
    ax.xaxis_date()
    _date_axis(ax.xaxis)
    if len(lines) > 1:
        ax.legend(frameon=False, fontsize=WORDS)
    _value_axis(ax, "y", answers, limits)
    words = (
        f"Dot: released value. Bar: {percent(answers[0].confidence)} interval for the true value. "
        "The thin line only leads the eye."
    )
    return _framed(ax, title, words, answers, epsilon, str(answers[0].rows.whole))


def _upright(
    ax: Any, place: float, answer: Answer, limits: tuple[float, float] | None, colour: str
) -> None:
    interval = answer.interval
    low, value, high = (
        _clipped(point, limits) for point in (interval.low, answer.value, interval.high)
    )
    if interval.is_whole_domain:
        colour = PALE
    ax.vlines(place, low, high, color=colour, linewidth=5, alpha=0.35)
    ax.plot([place], [value], "o", color=colour, markersize=5)
    for end, is_edge, arrow in (
        (low, interval.low_is_edge, DOWN),
        (high, interval.high_is_edge, UP),
    ):
        if is_edge:
            ax.plot([place], [end], marker=arrow, color=colour, markersize=9, clip_on=False)


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


def _draw_bars(histograms: dict[str, list[Answer]], ax: Any, title: str, epsilon: Fraction) -> Axes:
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
        ax.legend(frameon=False, fontsize=WORDS)
    ax.grid(axis="y", color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:,.10g}")
    ax.locator_params(axis="y", integer=True)
    words = (
        f"Bar: released number of rows. Whisker: {percent(first[0].confidence)} interval for the "
        "true one."
    )
    if not _even(first):
        words += " Bins differ in width, and are drawn alike."
    _framed(ax, title, words, first, epsilon, str(first[0].rows.whole))
    ax.tick_params(axis="x", labelsize=CAPTION)
    axes: Axes = ax
    return axes


def _even(bars: Sequence[Answer]) -> bool:
    """Whether all bins have one width."""
    bins = [bar.bin for bar in bars if bar.bin is not None]
    return len({each.high - each.low for each in bins}) <= 1


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
    ax.set_xticks(list(places), [shown(edges[place]) for place in places])
    ax.set_xlim(0, len(bins))


def _bar(ax: Axes, row: int, answer: Answer, limits: tuple[float, float] | None) -> None:
    interval = answer.interval
    low, value, high = (
        _clipped(point, limits) for point in (interval.low, answer.value, interval.high)
    )
    colour = PALE if interval.is_whole_domain else BAR
    ax.plot([low, high], [row, row], color=colour, linewidth=6, alpha=0.35, solid_capstyle="butt")
    # The value of an answer that tells nothing may lie far outside of the picture.
    if not interval.is_whole_domain or limits is None or value == float(answer.value):
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
    from matplotlib.patheffects import withStroke

    words = f"{label}: {shown(answer.value)}   [{reach(answer.interval)}]"
    left_end = ax.get_yaxis_transform()
    text = ax.annotate(
        words, (0, row), (0, 9), left_end, "offset points", fontsize=WORDS, color=INK
    )
    # A halo keeps it readable where a line of the grid passes.
    text.set_path_effects([withStroke(linewidth=3, foreground="white")])


def _clipped(point: Any, limits: tuple[float, float] | None) -> Any:
    """Where a point is drawn: on the picture's edge, if it lies beyond."""
    if isinstance(point, date):
        return point
    if limits is None:
        return float(point)
    return min(max(float(point), limits[0]), limits[1])


def _limits(answers: Sequence[Answer]) -> tuple[float, float] | None:
    """What the axis shows of numbers; dates have an axis of their own."""
    if any(isinstance(answer.value, date) for answer in answers):
        return None
    return extent(answers)


def _height(rows: int) -> float:
    if rows <= ROOMY:
        return ROOMY_HEIGHT * rows
    return CLOSE_HEIGHT * rows


def _axes(width: float, height: float) -> Axes:
    _, ax = _pyplot().subplots(figsize=(width, height))
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
        figsize=(WIDTH, sum(heights)),
        squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )
    for names, ax in zip(pictures, axes[:, 0], strict=True):
        draw_result(result, names, ax)
    figure.tight_layout()
    for ax in axes[:, 0]:
        _align(ax)
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
    return FRAME_HEIGHT + _height(len(result) * len(names))


def _save(figure: Any, path: str | Path) -> None:
    figure.savefig(path, dpi=150)
    _pyplot().close(figure)
