"""A distribution on the page: its curve, which is read quantile by quantile."""

from __future__ import annotations

import re

import browser
import pytest
from page_service import serving

try:
    from playwright.sync_api import expect
except ImportError:
    expect = None  # The browser's fixture says how to get it.

pytestmark = pytest.mark.slow
chromium, visit = browser.chromium, browser.visit


@pytest.fixture(scope="module")
def service(chromium, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service"), {"bank": "3"}) as running:
        yield running


def test_a_distribution_is_a_curve_that_answers_mouse_and_keyboard(visit, service):
    page = visit(service, viewport={"width": 1100, "height": 900}).sign_in("ann")
    page.get_by_role("combobox", name="Dataset").select_option("bank")
    page.get_by_role("radio", name="distribution").check()
    page.get_by_role("combobox", name="Column").select_option("balance")
    page.get_by_role("textbox", name="Exact value").fill("0.5")
    page.get_by_role("button", name=re.compile("^Ask, and spend epsilon 0.5$")).click()
    expect(page.locator(".answer-title")).to_be_focused()
    with service.session("ann") as db:
        (past,) = db.answers()
    (answer,) = past.result.answers
    found = answer.distribution.quantiles([place / 20 for place in range(1, 20)])

    def words(place: int) -> re.Pattern[str]:
        value = f"{found[place].value:,}".replace("-", "−")
        return re.compile(f"^{re.escape(value)} .*percentile, between|^{re.escape(value)} median")

    reading = page.locator(".reading")
    expect(reading).to_have_text(words(9))
    hand = page.get_by_role("slider", name="Quantile to read")
    hand.press("ArrowRight")
    expect(reading).to_have_text(words(10))
    assert "55th percentile" in hand.get_attribute("aria-valuetext")
    # The mouse near the curve's lower end reads its first quantile.
    curve = page.locator(".answer svg.curve")
    box = curve.bounding_box()
    curve.hover(position={"x": 60, "y": box["height"] - 45})
    expect(reading).to_have_text(words(0))
    expect(hand).to_have_value("0")
    expect(curve.locator(".cursor circle")).to_have_count(1)
    page.get_by_text("All 19 quantiles of the picture").click()
    expect(page.get_by_role("region", name="Quantiles of the picture").locator("tr")).to_have_count(
        20
    )
    expect(page.locator(".answer")).to_contain_text("Every quantile follows from this release")
