"""What shows itself in a notebook: tables and pictures, without the plotting library."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from fractions import Fraction
from xml.etree import ElementTree

import pytest

import postri
from postri import Domain, agg
from postri.answer.notebook import Markup, spent_bar, table
from postri.question.price import Price
from postri.session.facts import Budget, DatasetBudget

HALF = Fraction(1, 2)
DATASET = DatasetBudget(
    budget=Fraction(2),
    spent=HALF,
    entries=3,
    own=HALF,
    allowance=None,
    accountant="pure",
)


def pictures(html: str) -> list[ElementTree.Element]:
    """The pictures in a text of HTML, each a tree of its own."""
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", html)]


def shapes(picture: ElementTree.Element) -> list[str]:
    return [part.tag for part in picture]


def test_an_answer_is_its_value_and_a_bar():
    answer = postri.median(range(1_000), epsilon=1, domain=Domain(0, 2_000))
    (picture,) = pictures(answer._repr_html_())
    assert shapes(picture) == ["rect", "rect", "rect", "circle"]
    assert f"median {answer.value}" in picture.get("aria-label")


def test_groups_stand_on_one_axis_and_an_empty_one_squeezes_nobody():
    data = {"x": [*range(1_000), *range(1_000)], "g": ["a"] * 1_000 + ["b"] * 1_000}
    result = postri.ask(
        data,
        {"mid": agg.median("x", domain=Domain(0, 10**9))},
        by={"g": ["a", "b", "nobody"]},
        epsilon=50,
        # Of an empty group as few intervals as this are shorter than the domain.
        confidence="0.99999999",
    )
    html = result._repr_html_()
    *full, empty = pictures(html)
    assert len(full) == 2
    # An end that means "or beyond" is an arrow, and what tells nothing has no dot.
    assert shapes(empty) == ["rect", "path", "path"]
    title = re.search(r"mid, from ([\d,.]+) to ([\d,.]+)", html)
    assert float(title[2].replace(",", "")) < 2_000


def test_dates_have_bars_too():
    days = [date(2024, 1, 1 + place % 28) for place in range(500)]
    domain = Domain(date(2024, 1, 1), date(2024, 12, 31))
    answer = postri.median(days, epsilon=5, domain=domain)
    assert len(pictures(answer._repr_html_())) == 1


def test_a_distribution_is_a_curve_with_a_band():
    found = postri.distribution(range(2_000), epsilon=1, domain=Domain(0, 5_000))
    html = found._repr_html_()
    (picture,) = pictures(html)
    assert {"polygon", "polyline"} <= set(shapes(picture))
    assert html.count("<tr>") == 20


def test_a_plan_a_price_and_a_budget_show_themselves():
    plan = postri.plan(rows=45_000, epsilon=1)
    assert str(plan) in plan._repr_html_()
    price = Price(HALF, HALF, Fraction(2), recorded=False, refused=None, forecasts={"mid": plan})
    html = price._repr_html_()
    assert "costs epsilon 0.5" in html and "mid" in html and len(pictures(html)) == 1
    html = Budget({"<bank>": DATASET})._repr_html_()
    assert "&lt;bank&gt;" in html and "<bank>" not in html
    (bar,) = pictures(html)
    assert bar.get("aria-label") == "25% is spent"


def test_a_session_shows_what_can_be_asked_about(tmp_path):
    (tmp_path / "bank.csv").write_text("x\n1\n2\n")
    (tmp_path / "postri.toml").write_text(
        '[datasets.bank]\nsource = "bank.csv"\nversion = "1"\nbudget = "5"\nrows = 2\n'
        'protect = { change = "add-or-remove-rows", rows = 1 }\n'
        '[datasets.bank.columns.x]\ntype = "integer"\nlower = 0\nupper = 9\n'
    )
    with postri.connect(tmp_path / "postri.toml", analyst="ann") as db:
        html = db._repr_html_()
    assert all(words in html for words in ("bank", "about 2", "5 left of 5", "Session of ann"))


def test_cells_are_texts_unless_they_are_markup():
    html = table(["<a>"], [["<b>", Markup("<i></i>")]], ["<p>"])
    assert "&lt;a&gt;" in html and "&lt;b&gt;" in html and "&lt;p&gt;" in html
    assert "<td><i></i></td>" in html


@pytest.mark.parametrize(("spent", "words"), [(0, "0% is spent"), (3, "300% is spent")])
def test_a_budget_that_was_lowered_below_what_is_spent_is_a_full_bar(spent, words):
    bar = ElementTree.fromstring(spent_bar(Fraction(1), Fraction(spent), HALF))
    assert bar.get("aria-label") == words
    assert all(float(part.get("width")) >= 0 for part in bar)


def test_nothing_of_it_loads_the_plotting_library():
    code = (
        "import sys, postri\n"
        "answer = postri.median(range(99), epsilon=1, domain=postri.Domain(0, 99))\n"
        "answer._repr_html_(), postri.plan(rows=99, epsilon=1)._repr_html_()\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
