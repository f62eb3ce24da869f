"""What the page says and draws of an answer: which rows it is about, edges, groups that tell
nothing, timestamps with a zone.
"""

from __future__ import annotations

import re

import browser
import pytest
from browser import PATIENCE
from page_service import SERVICE, Served
from served import new_token, served

from flights import write_flights

try:
    from playwright.sync_api import Page, expect
except ImportError:
    expect = None  # The browser's fixture says how to get it.

pytestmark = pytest.mark.slow
chromium, visit = browser.chromium, browser.visit
UNITS = "at most 20 of each tailnum"


@pytest.fixture(scope="module")
def service(chromium, tmp_path_factory):
    policy = write_flights(tmp_path_factory.mktemp("flights"), more=SERVICE)
    tokens = {"ann": new_token(policy, "ann")}
    with served(policy) as running:
        yield Served(running.url, tokens)


@pytest.fixture
def page(visit, service) -> Page:
    page = visit(service, viewport={"width": 1100, "height": 900}).sign_in("ann")
    page.get_by_role("combobox", name="Dataset").wait_for(timeout=PATIENCE)
    return page


def ask(
    page: Page,
    column: str,
    by: tuple[str, ...] = (),
    epsilon: str = "20",
    confidence: str | None = None,
) -> None:
    """Ask for a median."""
    page.get_by_role("radio", name="median", exact=True).check()
    page.get_by_role("combobox", name="Column").select_option(column)
    for name in by:
        page.get_by_role("checkbox", name=name).check()
    if confidence is not None:
        page.get_by_text("More options").click()
        page.get_by_role("combobox", name="Confidence").select_option(confidence)
    page.get_by_role("textbox", name="Exact value").fill(epsilon)
    page.get_by_role("button", name=re.compile(f"spend epsilon {epsilon}$")).click()
    page.locator(".answer-title").wait_for()


def test_an_answer_says_which_rows_it_is_about_and_nothing_of_the_table(page):
    ask(page, "dep_delay")
    words = f"about rows on which dep_delay can be read, {UNITS};"
    expect(page.locator(".answer .sentence")).to_contain_text(words)
    expect(page.locator(".answer .meaning")).to_contain_text("median of these rows lies")
    assert "of the table" not in page.locator(".answer").inner_text()


def test_an_interval_at_the_edge_is_or_above_in_words_and_an_arrow(page):
    ask(page, "distance")
    expect(page.locator(".headline")).to_have_text("1,000 median, 1,000 or above")
    expect(page.locator(".answer .arrow")).to_have_count(1)
    page.get_by_text("The numbers", exact=True).click()
    cells = page.get_by_role("region", name="The numbers").locator("td")
    assert cells.all_inner_texts() == ["1,000", "1,000", "1,000 or above"]


def test_a_group_that_tells_nothing_is_last_and_grey(page):
    # Of an empty group one interval in twenty is shorter than the domain at 95%.
    ask(page, "dep_delay", by=("carrier",), epsilon="10", confidence="0.999")
    labels = page.locator(".answer .row .label")
    expect(labels).to_have_text(["UA", "B6", "XX"])
    pale = page.locator(".answer .row.pale")
    expect(pale.locator(".label")).to_have_text("XX")
    expect(page.locator(".answer .sentence")).to_contain_text(
        "The last one, in grey, may lie anywhere: noise has no part in the order."
    )
    page.get_by_role("combobox", name="Order").select_option("by key")
    expect(labels).to_have_text(["B6", "UA", "XX"])
    expect(page.locator(".answer .population")).to_have_text(
        f"About rows of each carrier on which dep_delay can be read, {UNITS} over all groups."
    )
    expect(page.locator(".answer .tick").first).to_be_attached()
    ticks = page.locator(".answer .tick").all_text_contents()
    assert ticks
    assert not any("." in tick for tick in ticks)


def test_timestamps_with_a_zone_have_a_picture(page):
    ask(page, "left")
    expect(page.locator(".headline strong")).to_have_text(re.compile(r"^2013-05-.* UTC$"))
    expect(page.locator(".answer .tick").nth(1)).to_be_attached()
    dot = page.locator(".answer circle.dot").bounding_box()
    chart = page.locator(".answer svg").bounding_box()
    assert chart["x"] < dot["x"] < chart["x"] + chart["width"]


def test_the_sql_tab_shows_ranges_and_keys(page):
    page.get_by_role("link", name="SQL").click()
    page.get_by_text("Datasets and columns").click()
    expect(page.locator(".catalogue dd").first).to_be_visible()
    listed = page.locator(".catalogue dd").all_inner_texts()
    assert "distance: integer, from 0 to 1,000" in listed
    assert "carrier: text, keys 'B6', 'UA', 'XX'" in listed
