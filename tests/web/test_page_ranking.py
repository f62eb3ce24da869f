"""Winners on the page: the key and its lead, by itself and in groups."""

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


def test_a_mode_is_told_with_its_key_and_its_lead(visit, service):
    page = visit(service, viewport={"width": 1100, "height": 900}).sign_in("ann")
    page.get_by_role("combobox", name="Dataset").select_option("bank")
    browser.pick(page, "most frequent key")
    page.get_by_role("combobox", name="Column").select_option("job")
    page.get_by_role("textbox", name="Exact value").fill("0.5")
    page.get_by_role("button", name=re.compile("^Ask, and spend epsilon 0.5$")).click()
    expect(page.locator(".answer-title")).to_be_focused()
    with service.session("ann") as db:
        (past,) = db.answers()
    (answer,) = past.result.answers
    expect(page.locator(".answer .headline")).to_contain_text(f"lead of {answer.key} (mode)")
    expect(page.locator(".answer table")).to_contain_text(answer.key)
    expect(page.locator(".answer")).to_contain_text("MODE(job)")
