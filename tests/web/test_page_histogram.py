"""Histograms on the page: edges in a field, bars with whiskers, the same in SQL and in files."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import browser
import pytest
from page_service import serving

try:
    from playwright.sync_api import Page, expect
except ImportError:
    expect = None  # The browser's fixture says how to get it.

pytestmark = pytest.mark.slow
chromium, visit = browser.chromium, browser.visit
EDGES = "-10000, 0, 500, 1000, 1500, 20000"


@pytest.fixture(scope="module")
def service(chromium, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service"), {"bars": "3", "groups": "3"}) as running:
        yield running


def ask(page: Page, dataset: str, edges: str, column: str = "balance", by: str | None = None):
    page.get_by_role("combobox", name="Dataset").select_option(dataset)
    page.get_by_role("radio", name="histogram").check()
    page.get_by_role("combobox", name="Column").select_option(column)
    page.get_by_role("textbox", name="Edges").fill(edges)
    if by is not None:
        page.get_by_role("checkbox", name=by).check()
    page.get_by_role("textbox", name="Exact value").fill("0.5")
    page.get_by_role("button", name=re.compile("^Ask, and spend epsilon 0.5$")).click()
    expect(page.locator(".answer-title")).to_be_focused()


def bars(page: Page) -> list[dict[str, float]]:
    """Where each bar and its whisker stand, in pixels from the floor."""
    return page.locator(".answer .bin").evaluate_all(
        """bins => bins.map((bin) => {
          const bar = bin.querySelector("rect.bar").getBBox();
          const whisker = bin.querySelector(".whisker").getBBox();
          const floor = bar.y + bar.height;
          return {
            value: bar.height, low: floor - whisker.y - whisker.height, high: floor - whisker.y,
            left: bar.x, right: bar.x + bar.width,
          };
        })"""
    )


def test_a_histogram_is_bars_with_whiskers(visit, service, tmp_path):
    page = visit(service, viewport={"width": 1100, "height": 900}).sign_in("ann")
    ask(page, "bars", EDGES)
    expect(page.locator(".answer-title")).to_have_text(f"Histogram of balance with edges = {EDGES}")
    with service.session("ann") as db:
        (past,) = db.answers()
    answers = past.result.answers
    drawn = bars(page)
    assert len(drawn) == len(answers) == 5
    scale = max(answer.interval.high for answer in answers) / max(bar["high"] for bar in drawn)
    for bar, answer in zip(drawn, answers, strict=True):
        seen = [bar[end] * scale for end in ("value", "low", "high")]
        released = [answer.value, answer.interval.low, answer.interval.high]
        assert seen == pytest.approx(released, abs=0.02 * scale)
    assert all(one["right"] <= other["left"] for one, other in pairwise(drawn))
    edges = ["−10,000", "0", "500", "1,000", "1,500", "20,000"]
    assert page.locator(".answer .panel .tick").all_text_contents()[-6:] == edges
    told = page.locator(".answer svg").get_attribute("aria-label")
    assert f"0 to below 500: {answers[1].value} [" in told.replace(",", "")
    expect(page.locator(".answer .population")).to_have_text(
        "About rows on which balance can be read, cells clamped to -10,000 to 20,000."
    )
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Download SVG").click()
    fetched.value.save_as(tmp_path / "answer.svg")
    picture = ElementTree.parse(tmp_path / "answer.svg").getroot()
    assert sum(each.get("class") == "bin" for each in picture.iter()) == 5
    assert service.spent("bars") == Fraction(1, 2)


def test_the_forecast_is_of_each_bar_and_wrong_edges_are_told_before(visit, service):
    page = visit(service).sign_in("bob")
    page.get_by_role("combobox", name="Dataset").select_option("bars")
    page.get_by_role("radio", name="histogram").check()
    expect(page.locator(".forecasts")).to_contain_text("Complete the question")
    page.get_by_role("combobox", name="Column").select_option("age")
    edges = page.get_by_role("textbox", name="Edges")
    edges.fill("18, 40, 90")
    expect(page.locator(".forecasts")).to_contain_text("interval of the count in each bin")
    edges.fill("40, 18")
    expect(page.locator(".forecasts")).to_contain_text("must ascend, got 18 after 40")
    edges.fill("18, 40.5")
    expect(page.locator(".forecasts")).to_contain_text("take 40 or 41")


def test_groups_have_a_panel_each_and_the_sql_asks_the_same(visit, service):
    page = visit(service).sign_in("bob")
    ask(page, "groups", "2015-01-01, 2021-01-01, 2022-01-01", "opened", by="loan")
    expect(page.locator(".answer .panel .label")).to_have_text(["yes", "no"])
    expect(page.locator(".answer .bin")).to_have_count(4)
    page.get_by_text("The same in SQL or Python").click()
    sql = page.get_by_label("SQL", exact=True).last.inner_text()
    assert "HISTOGRAM(opened, '2015-01-01', '2021-01-01', '2022-01-01')" in sql
    with service.session("bob") as db:
        again = db.sql(sql, epsilon="0.5")
    assert again.recorded
    assert "histogram_opened_2015-01-01_2021-01-01" in again.names
    assert service.spent("groups") == Fraction(1, 2)
