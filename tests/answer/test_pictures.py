"""Pictures of 1 to 50 groups: all texts have room, and no group squeezes the others."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

import postri
from postri import Domain
from postri.answer import Answer, Interval, Result
from postri.privacy import AddOrRemoveRows, Spend

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  # after the backend is chosen

from postri.answer import picture  # noqa: E402  # loads the plotting library

pytestmark = pytest.mark.slow

LOWEST, HIGHEST = 0, 1_000_000


def answer(value: int, low: int, high: int) -> Answer:
    return Answer(
        value=value,
        interval=Interval(low, high, low == LOWEST, high == HIGHEST),
        confidence=0.95,
        spend=Spend(Fraction(1, 2), Fraction(1, 2)),
        protect=AddOrRemoveRows(1),
        method="depth",
        p=Fraction(1, 2),
    )


def groups(number: int) -> Result:
    """Medians between 20,000 and 24,000, by names of some length."""
    rows = []
    for place in range(number):
        value = 20_000 + place * 997 % 4_000
        rows.append(((f"Municipality number {place}",), [answer(value, value - 300, value + 400)]))
    return Result(["municipality"], ["median_pay"], rows)


@pytest.fixture
def drawn():
    """Draws a result, so that its texts have their places."""

    def draw(result: Result):
        ax = result.plot()
        ax.figure.canvas.draw()
        return ax

    yield draw
    plt.close("all")


def extents(texts):
    """Where texts are, in pixels."""
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("number", "highest"), [(1, 2.5), (picture.ROOMY, 10), (50, 14)])
def test_all_texts_have_room(drawn, number, highest):
    ax = drawn(groups(number))
    assert ax.figure.get_figheight() < highest
    page = ax.figure.bbox
    # The library keeps labels also of ticks outside of the axis, which it does not draw.
    ticks = [
        box
        for box in extents(ax.get_xticklabels())
        if ax.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= ax.bbox.x1 + 1
    ]
    words = extents([ax.xaxis.label, *ax.texts, *ax.get_yticklabels()])
    for box in (*words, *ticks):
        assert page.x0 <= box.x0 and box.x1 <= page.x1 + 1
        assert page.y0 <= box.y0 and box.y1 <= page.y1 + 1
    assert 2 <= len(ticks) <= 8
    assert all(one.x1 < other.x0 for one, other in pairwise(ticks))
    rows = extents(ax.texts or ax.get_yticklabels())
    assert len(rows) == number
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(rows))


def test_an_empty_group_squeezes_nobody_and_has_no_dot_of_its_own(drawn):
    full = groups(5)
    empty = (("Atlantis",), [answer(700_000, LOWEST, HIGHEST)])
    ax = drawn(Result(full.keys, full.names, [*full.groups, empty]))
    assert ax.get_xlim() == drawn(full).get_xlim()
    assert sum(line.get_marker() == "o" for line in ax.lines) == 5
    arrows = [line for line in ax.lines if line.get_marker() in (picture.LEFT, picture.RIGHT)]
    assert len(arrows) == 2
    assert 'An arrow means "or beyond".' in ax.get_xlabel().replace("\n", " ")


def test_the_headline_names_the_column_and_what_divides_the_rows(drawn):
    assert drawn(groups(3)).get_title(loc="left") == "median_pay by municipality"


def test_a_title_of_ones_own_stands_above():
    bars = postri.histogram(range(100), edges=[0, 50, 100], epsilon=1)
    late = postri.distribution(range(100), epsilon=1, domain=Domain(0, 200))
    for shown in (bars, late, bars.answers[0]):
        assert shown.plot(title="Ages").get_title(loc="left") == "Ages"
    plt.close("all")


@pytest.mark.parametrize(("upper", "far"), [(5_000, False), (10**9, True)])
def test_a_band_that_the_picture_cuts_says_so(upper, far):
    rows = postri.distribution(range(5_000), epsilon=1, domain=Domain(0, upper))
    words = rows.plot().get_xlabel().replace("\n", " ")
    plt.close("all")
    assert ("goes on beyond the picture" in words) == far


@pytest.mark.parametrize(("edges", "even"), [([0, 50, 100], True), ([0, 10, 100], False)])
def test_bins_that_differ_in_width_say_that_they_are_drawn_alike(edges, even, drawn):
    words = drawn(postri.histogram(range(100), edges=edges, epsilon=1)).get_xlabel()
    assert ("differ in width" not in words.replace("\n", " ")) == even


def test_the_headline_of_a_histogram_names_no_keys(drawn):
    bars = postri.histogram(range(100), edges=[0, 50, 100], epsilon=1)
    assert drawn(bars).get_title(loc="left") == "count in each bin"
