"""A distribution on the page: some of its quantiles, each with its bar."""

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


def test_a_distribution_is_shown_by_its_quantiles(visit, service):
    page = visit(service, viewport={"width": 1100, "height": 900}).sign_in("ann")
    page.get_by_role("combobox", name="Dataset").select_option("bank")
    page.get_by_role("radio", name="distribution").check()
    page.get_by_role("combobox", name="Column").select_option("balance")
    page.get_by_role("textbox", name="Exact value").fill("0.5")
    page.get_by_role("button", name=re.compile("^Ask, and spend epsilon 0.5$")).click()
    expect(page.locator(".answer-title")).to_be_focused()
    rows = page.locator(".answer svg .row")
    expect(rows).to_have_count(19)
    with service.session("ann") as db:
        (past,) = db.answers()
    (answer,) = past.result.answers
    quarter = answer.distribution.quantile(0.25)
    shown = f"{quarter.value:,}".replace("-", "−")
    expect(rows.nth(4)).to_contain_text("25th percentile")
    expect(rows.nth(4)).to_contain_text(shown)
    expect(page.locator(".answer")).to_contain_text("Every quantile follows from this release")
