"""The page in a real browser, on a real service: what analysts and stewards do, and what they see.

No test depends on a draw.
"""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from fractions import Fraction
from xml.etree import ElementTree

import browser
import pytest
from browser import AXE, ROOT, Reader, pick, serious
from page_service import JOBS, serving

from proving import PROVE, sized

try:
    from playwright.sync_api import Page, expect
except ImportError:
    expect = None  # The browser's fixture says how to get it.

pytestmark = pytest.mark.slow
chromium, visit = browser.chromium, browser.visit
BUDGETS = {
    "bank": "5",
    "first": "5",
    "plans": "5",
    "near": "5",
    "groups": "5",
    "again": "5",
    "past": "5",
    "tight": "0.5",
    "texts": "5",
    "copies": "5",
    "files": "5",
    "lost": "5",
    "keys": "5",
    "team": "3",
    "odd": "5",
    "dozens": "5",
}
MARKUP = "<img src=x onerror=alert(1)>"
PICTURES = ROOT / "build" / "screenshots"
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def service(chromium, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("service"), BUDGETS, ["yes", "no", MARKUP]) as running:
        yield running


def choose(
    page: Page,
    dataset: str,
    statistic: str = "median",
    column: str | None = "balance",
    epsilon: str = "0.1",
    by: tuple[str, ...] = (),
):
    """Fill the planner."""
    page.get_by_role("combobox", name="Dataset").select_option(dataset)
    pick(page, statistic)
    if column is not None:
        page.get_by_role("combobox", name="Column").select_option(column)
    for name in by:
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("textbox", name="Exact value").fill(epsilon)


def ask(page: Page, epsilon: str) -> None:
    """Wait for the price of this epsilon, then pay it."""
    page.get_by_role(
        "button", name=re.compile(rf"^Ask, and spend epsilon {re.escape(epsilon)}$")
    ).click()
    expect(page.locator(".answer-title")).to_be_focused()


def reach(page: Page) -> float:
    """How many percentiles the forecast's bar spans."""
    name = page.locator(".forecast svg").get_attribute("aria-label")
    low, high = re.findall(r"[\d.]+", name)
    return float(high) - float(low)


def drawn(page: Page) -> list[dict[str, float]]:
    """The rows of the answer's picture: where dot and bar stand."""
    return page.locator(".answer .row").evaluate_all(
        """rows => rows.map((row) => {
          const bar = row.querySelector("rect.bar").getBBox();
          const dot = row.querySelector("circle.dot").getBBox();
          const label = row.querySelector(".label")?.textContent;
          return { label, low: bar.x, high: bar.x + bar.width, dot: dot.x + dot.width / 2 };
        })"""
    )


def cells(page: Page, name: str) -> list[list[str]]:
    """The body of a table."""
    rows = page.get_by_role("region", name=name).locator("tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


# Signing in


def test_a_wrong_token_is_refused_with_a_clear_sentence(visit, service):
    page = visit(service).sign_in("ptr_00000000_" + "x" * 43)
    expect(page.get_by_role("alert")).to_contain_text("This token is not accepted")
    expect(page.get_by_label("Token")).to_be_focused()
    expect(page.get_by_label("Token")).to_have_value("")
    assert page.evaluate("() => sessionStorage.length") == 0


def test_a_token_that_is_no_header_is_refused_before_it_is_sent(visit, service):
    reader = visit(service)
    expect(reader.sign_in("ключ").get_by_role("alert")).to_contain_text(
        "This token is not accepted"
    )
    assert reader.sent("/v1/me") == []


def test_epsilon_follows_from_how_near_the_answer_is_wanted(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "near", "count", column=None)
    page.get_by_role("textbox", name="how near is it wanted").fill("50")
    exact = page.get_by_role("textbox", name="Exact value")
    expect(exact).to_have_value("0.0594")
    expect(exact).to_be_disabled()
    ask(page, "0.0594")
    expect(page.locator(".answer")).to_contain_text("wanted within 50 to each side")
    page.get_by_role("textbox", name="how near is it wanted").fill("")
    expect(exact).to_be_enabled()


def test_a_tab_stays_signed_in_until_it_signs_out(visit, service):
    page = visit(service).sign_in("ann")
    expect(page.get_by_text("ann, analyst")).to_be_visible()
    page.reload()
    expect(page.get_by_text("ann, analyst")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.evaluate("() => sessionStorage.length") == 0


def test_every_answer_of_the_page_has_a_strict_content_policy(visit, service):
    reader = visit(service)
    reader.sign_in("ann").locator(".forecast svg").wait_for()
    policies = {
        request.response().headers["content-security-policy"] for request in reader.requests
    }
    assert len(policies) == 1
    policy = policies.pop()
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy


# Planning and asking


def test_a_first_visit_explains_itself_until_something_was_asked(visit, service):
    page = visit(service).sign_in("new")
    steps = page.get_by_text("See the price", exact=True)
    expect(steps).to_be_visible()
    choose(page, "first", "count", None, "0.1")
    ask(page, "0.1")
    page.reload()
    expect(page.get_by_text("How this works")).to_be_visible()
    expect(steps).to_be_hidden()


def test_columns_and_keys_are_at_hand_while_a_filter_is_written(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "plans")
    text = page.get_by_role("textbox", name="Filter")
    expect(page.get_by_text("integer, from 0 to 120")).to_be_hidden()
    text.press_sequentially("age < 40")
    at_hand = page.locator(".columns-at-hand")
    expect(at_hand.locator(".named")).to_have_text(re.compile("integer, from 0 to 120"))
    at_hand.get_by_role("button", name="Put job = 'cook' into the filter").click()
    expect(text).to_have_value("age < 40 AND job = 'cook'")
    text.fill("job IN (")
    at_hand.get_by_role("button", name="Put job = 'nurse' into the filter").click()
    expect(text).to_have_value("job IN ('nurse'")
    # A word of SQL as a column's name.
    text.fill("")
    at_hand.get_by_role("button", name="Put the column order into the filter").click()
    expect(text).to_have_value('"order"')
    expect(text).to_be_focused()


def test_the_plan_moves_with_epsilon_before_anything_is_spent(visit, service):
    reader = visit(service)
    page = reader.sign_in("ann")
    choose(page, "plans")
    expect(page.locator(".price")).to_have_text(
        "Costs epsilon 0.1. Nothing is spent until you ask."
    )
    expect(page.locator(".budget-words").first).to_have_text(
        "0 of 5 is spent, 5 is left; after this question 4.9."
    )
    expect(page.locator(".budget-words").last).to_have_text(
        "0 of 4 is spent, 4 is left; after this question 3.9."
    )
    before = reach(page)
    slider = page.get_by_role("slider", name="How much to spend")
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("textbox", name="Exact value")).to_have_value("1")
    assert slider.get_attribute("aria-valuetext") == "epsilon 1"
    expect(page.locator(".price")).to_contain_text("Costs epsilon 1.")
    assert reach(page) < before
    assert reader.sent("/v1/query") == []
    assert service.spent("plans") == 0


def test_counts_sums_and_means_say_how_far_their_bars_will_reach(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "plans", "count", None, "0.5")
    expect(
        page.get_by_role(
            "img", name=re.compile("bar will reach .* to each side of the released count")
        )
    ).to_be_visible()
    choose(page, "plans", "sum", "fee", "0.5")
    expect(page.get_by_role("img", name=re.compile("released sum"))).to_be_visible()
    choose(page, "plans", "mean", "fee", "0.5")
    expect(page.get_by_role("img", name=re.compile("released mean"))).to_be_visible()
    assert service.spent("plans") == 0


def test_a_filter_leaves_the_forecast_unknown_until_the_rows_are_told(visit, service):
    reader = visit(service)
    page = reader.sign_in("ann")
    choose(page, "plans")
    page.get_by_role("textbox", name="Filter").fill("age < 40")
    expect(page.locator(".forecast .sentence")).to_have_text(
        'Unknown: tell about how many rows match, in the field "About how many rows match?".'
    )
    expect(page.locator(".forecast svg")).to_have_count(0)
    rows = page.get_by_role("textbox", name="About how many rows match?")
    rows.fill("1,200")
    expect(page.locator(".forecast .sentence")).to_contain_text("the median of 1,200 rows")
    rows.fill("many")
    expect(page.locator(".preview").get_by_role("alert")).to_contain_text(
        "Expect, about how many rows match, must be a whole number"
    )
    page.get_by_role("link", name="SQL").click()
    page.get_by_role("textbox", name="SQL", exact=True).fill(
        "SELECT AVG(fee) FROM plans WHERE age < 40"
    )
    page.get_by_role("textbox", name="About how many rows match?").fill("1200")
    expect(page.locator(".forecast .sentence")).to_contain_text("at least 1,200 rows count")
    assert service.spent("plans") == 0


DOZENS = {
    "name": "dozens",
    "meaning": "How many dozens of rows there are.",
    "parameters": [
        {"name": "column", "kind": "column", "fits": "bounded", "optional": False},
        {"name": "size", "kind": "number", "meaning": "Rows in a dozen", "default": "12"},
    ],
    "text": "dozens({column}, {size})",
    "sql": "DOZENS({column}, {size})",
}


def test_a_statistic_that_the_page_has_never_heard_of_is_asked_like_any_other(visit, service):
    """The service describes it; behind the page's back it is answered as a count."""
    asked = []

    def describe(route):
        reply = route.fetch()
        route.fulfill(response=reply, json={"statistics": [*reply.json()["statistics"], DOZENS]})

    def as_count(route):
        question = route.request.post_data_json
        if "sql" in question:
            return route.continue_()
        asked.append(question["aggregates"])
        names = dict.fromkeys(question["aggregates"], "count(fee)")
        reply = route.fetch(post_data={**question, "aggregates": names})
        return route.fulfill(response=reply, body=reply.text().replace('"count', '"dozens'))

    def as_dozens(route):
        reply = route.fetch()
        past = reply.text().replace('count(\\"fee\\")', 'dozens(\\"fee\\", 12)')
        route.fulfill(response=reply, body=past)

    reader = visit(service)
    reader.page.route("**/v1/statistics", describe)
    for path in ("price", "query"):
        reader.page.route(f"**/v1/{path}", as_count)
    reader.page.route("**/v1/answers?*", as_dozens)
    page = reader.sign_in("bob")
    choose(page, "dozens", "dozens", None, "0.1")
    expect(page.get_by_text("How many dozens of rows there are.").first).to_be_visible()
    size = page.get_by_role("textbox", name="Rows in a dozen")
    expect(size).to_have_value("12")
    columns = page.get_by_role("combobox", name="Column")
    assert columns.locator("option").all_inner_texts() == ["balance", "fee", "age", "order"]
    size.fill("")
    expect(page.locator(".forecasts")).to_contain_text("Complete the question")
    size.fill("12")
    columns.select_option("fee")
    released = page.get_by_role("img", name=re.compile("released dozens"))
    expect(released).to_be_visible()
    ask(page, "0.1")
    assert asked[-1] == {"dozens_fee_12": "dozens(fee, 12)"}
    expect(page.locator(".answer-title")).to_have_text("Dozens of fee with size = 12")
    expect(page.locator(".headline")).to_contain_text("dozens, between")
    page.get_by_text("The same in SQL or Python").click()
    expect(page.get_by_label("SQL", exact=True)).to_have_text(
        re.compile("SELECT DOZENS\\(fee, 12\\) AS dozens_fee_12")
    )
    page.get_by_role("link", name="SQL").click()
    expect(
        page.get_by_text(re.compile(r"COUNT, SUM, AVG, .*DOZENS\(column, size\)"))
    ).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.locator(".history > li").first).to_contain_text("Dozens of fee with size = 12")
    page.unroute_all(behavior="wait")


def test_what_is_wrong_with_a_question_stands_beside_it(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "plans")
    page.get_by_role("textbox", name="Filter").fill("sqrt(age) < 6")
    expect(page.locator(".preview").get_by_role("alert")).to_contain_text(
        "The function sqrt is not allowed"
    )
    page.get_by_role("textbox", name="Filter").fill("")
    page.get_by_role("textbox", name="Exact value").fill("-1")
    expect(page.locator(".preview").get_by_role("alert")).to_contain_text(
        "Epsilon must be positive"
    )
    page.get_by_role("textbox", name="Exact value").fill("")
    expect(page.locator(".forecasts")).to_contain_text("Complete the question")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".trouble")).to_contain_text("The question is not complete.")


def test_an_answer_is_a_dot_with_its_bar_and_a_sentence(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "bank", epsilon="0.5")
    ask(page, "0.5")
    (row,) = drawn(page)
    assert row["low"] <= row["dot"] <= row["high"]
    with service.session("ann") as db:
        past = db.answers()[0]
    answer = past.result.answers[0]
    expect(page.locator(".headline strong")).to_have_text(f"{answer.value:,}".replace("-", "−"))
    expect(page.locator(".answer .sentence")).to_contain_text(f"Median {answer.value:,}, between")
    expect(page.locator(".answer .meaning")).to_contain_text(
        "at least 95% of all draws give a bar that holds it"
    )
    expect(page.locator(".answer .cost-line")).to_have_text(
        f"Answer {past.answer_id}. It cost epsilon 0.5."
    )
    expect(page.locator("#announcer")).to_contain_text("Answered: median")
    expect(page.locator(".budget-words").first).to_have_text("0.5 of 5 is spent, 4.5 is left.")
    assert service.spent("bank") == Fraction(1, 2)


def test_decimals_and_dates_keep_their_form(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "bank", "sum", "fee", "0.2")
    ask(page, "0.2")
    expect(page.locator(".headline strong")).to_have_text(re.compile(r"^−?[\d,]+\.\d\d$"))
    choose(page, "bank", "quantile", "opened", "0.3")
    page.get_by_role("textbox", name="Quantile p").fill("0.75")
    page.get_by_role("textbox", name="Filter").fill("age < 40")
    ask(page, "0.3")
    expect(page.locator(".answer-title")).to_have_text("75th percentile of opened, where age < 40")
    expect(page.locator(".headline strong")).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d$"))


def test_groups_are_sorted_by_value_on_one_axis(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "groups", by=("job",), epsilon="0.4")
    ask(page, "0.4")
    rows = drawn(page)
    assert {row["label"] for row in rows} == set(JOBS)
    assert all(row["low"] <= row["dot"] <= row["high"] for row in rows)
    dots = [row["dot"] for row in rows]
    assert dots == sorted(dots, reverse=True)
    table = cells(page, "The numbers")
    assert [cell for cell, *_ in table] == list(JOBS)
    page.get_by_role("combobox", name="Order").select_option("by key")
    expect(page.locator(".answer .row .label")).to_have_text(list(JOBS))
    expect(page.locator(".answer .population")).to_have_text(
        "About rows of each job on which balance can be read."
    )
    with service.session("ann") as db:
        released = db.answers()[0].result
    for job, value, low, high in table:
        answer = released.answer("median_balance", job)
        assert [value, low, high] == [
            f"{each:,}".replace("-", "−")
            for each in (answer.value, answer.interval.low, answer.interval.high)
        ]


def test_keys_are_texts_and_never_markup(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "odd", by=("loan",), epsilon="0.4")
    ask(page, "0.4")
    assert MARKUP in [row["label"] for row in drawn(page)]
    expect(page.locator(".answer img")).to_have_count(0)


def test_the_same_question_again_costs_nothing(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "again")
    ask(page, "0.1")
    value = page.locator(".headline").inner_text()
    expect(page.locator(".price")).to_have_text(
        "This was asked before. The recorded answer costs nothing."
    )
    page.get_by_role("button", name="Show the recorded answer, free").click()
    expect(page.locator(".cost-line")).to_contain_text(
        "on record: it cost epsilon 0.1 once, and nothing now"
    )
    expect(page.locator(".headline")).to_have_text(value)
    assert service.spent("again") == Fraction(1, 10)


def test_a_new_draw_is_paid_for_where_it_is_asked_for(visit, service):
    page = visit(service).sign_in("bob")
    choose(page, "again", epsilon="0.2")
    before = service.spent("again")
    ask(page, "0.2")
    page.get_by_text("More options").click()
    page.get_by_role("checkbox", name="Pay for a new draw").check()
    ask(page, "0.2")
    expect(page.locator(".cost-line")).to_contain_text("It cost epsilon 0.2")
    assert service.spent("again") - before == Fraction(2, 5)


def test_an_exhausted_budget_is_a_state_of_its_own(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "tight", epsilon="1")
    expect(page.locator(".price")).to_contain_text("Would be refused: The question costs epsilon 1")
    page.get_by_role("button", name="Ask, and spend epsilon 1").click()
    box = page.locator(".exhausted")
    expect(box.get_by_role("heading")).to_have_text("Not enough budget")
    expect(box.locator(".facts")).to_have_text("asked for1left0.5short by0.5")
    expect(box).to_contain_text("Nothing was spent.")
    assert service.spent("tight") == 0
    box.get_by_role("button", name="Use the 0.5 that is left").click()
    ask(page, "0.5")
    page.get_by_role("textbox", name="Exact value").fill("0.01")
    page.get_by_role("button", name="Ask, and spend epsilon 0.01").click()
    expect(page.locator(".exhausted .facts")).to_have_text("asked for0.01left0short by0.01")
    expect(page.locator(".exhausted").get_by_role("button")).to_have_count(0)
    assert service.spent("tight") == Fraction(1, 2)


def test_a_lost_reply_is_fetched_with_the_same_key_and_charged_once(visit, service):
    page = visit(service).sign_in("ann")
    choose(page, "lost", epsilon="0.3")
    keys = []

    def lose_the_first(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            assert route.fetch().ok
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/v1/query", lose_the_first)
    page.get_by_role("button", name="Ask, and spend epsilon 0.3").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "It is not known whether the question arrived."
    )
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".answer-title")).to_be_focused()
    assert len(keys) == 2 and keys[0] == keys[1]
    choose(page, "lost", epsilon="0.4")
    ask(page, "0.4")
    assert len(set(keys)) == 2
    assert service.spent("lost") == Fraction(7, 10)


def problem(status: int, code: str, **more: object) -> dict[str, object]:
    """A refusal as the service writes it."""
    fields = {
        "type": "about:blank",
        "title": code,
        "status": status,
        "code": code,
        "detail": "words of the service",
        "request_id": "0" * 16,
    }
    return {"status": status, "content_type": "application/problem+json", "json": fields | more}


def test_a_busy_service_is_asked_again_and_a_failure_is_told(visit, service):
    page = visit(service).sign_in("bob")
    choose(page, "lost", epsilon="0.15")
    replies = [problem(503, "busy"), problem(502, "question_failed", spent=True)]
    page.route("**/v1/query", lambda route: route.fulfill(**replies.pop(0)))
    page.get_by_role("button", name="Ask, and spend epsilon 0.15").click()
    box = page.locator(".trouble").get_by_role("alert")
    expect(box.get_by_role("heading")).to_have_text("The service is busy")
    expect(box).to_contain_text("Words of the service.")
    box.get_by_role("button", name="Try again").click()
    expect(box.get_by_role("heading")).to_have_text("The question failed")
    expect(box).to_contain_text("Words of the service.")
    expect(box.get_by_role("button")).to_have_count(0)


def test_a_closed_dataset_is_told_without_a_try_that_would_not_help(visit, service):
    page = visit(service).sign_in("bob")
    choose(page, "lost", epsilon="0.15")
    page.route("**/v1/query", lambda route: route.fulfill(**problem(409, "closed", spent=False)))
    page.get_by_role("button", name="Ask, and spend epsilon 0.15").click()
    box = page.locator(".trouble").get_by_role("alert")
    expect(box.get_by_role("heading")).to_have_text("This dataset is closed for now")
    expect(box).to_contain_text("Words of the service.")
    expect(box).to_contain_text("can still be seen, at no cost")
    expect(box.get_by_role("button")).to_have_count(0)


def test_a_price_that_does_not_come_is_asked_for_again(visit, service):
    page = visit(service).sign_in("bob")
    page.locator(".forecast svg").wait_for()
    page.route("**/v1/price", lambda route: route.abort("internetdisconnected"))
    # A slow machine asks for a price between two fields too: what counts is the last.
    with page.expect_event("requestfailed", lambda request: "0.15" in (request.post_data or "")):
        choose(page, "plans", epsilon="0.15")
    box = page.locator(".preview").get_by_role("alert")
    expect(box.get_by_role("heading")).to_have_text("No connection")
    page.unroute("**/v1/price")
    box.get_by_role("button", name="Try again").click()
    expect(page.locator(".price")).to_contain_text("Costs epsilon 0.15.")


# Answers again, and elsewhere


def test_past_answers_are_seen_again_at_no_cost(visit, service):
    with service.session("bob") as db:
        for age in range(30, 51):
            db.median("past", "balance", where=f"age < {age}", epsilon="0.01")
    reader = visit(service)
    page = reader.sign_in("bob")
    before = service.spent("past")
    page.get_by_role("link", name="History").click()
    entries = page.locator(".history > li")
    expect(entries).to_have_count(20)
    page.get_by_role("button", name="Show older answers").click()
    expect(page.get_by_text("Median of balance, where age < 30", exact=True)).to_be_visible()
    first = entries.first
    expect(first).to_contain_text("Median of balance, where age < 50")
    first.get_by_role("button", name="Show answer").click()
    expect(first.locator(".cost-line")).to_contain_text("nothing now")
    expect(first.locator("circle.dot")).to_have_count(1)
    first.get_by_role("button", name="Hide answer").click()
    expect(first.locator(".answer")).to_have_count(0)
    assert reader.sent("/v1/query") == []
    assert service.spent("past") == before


def test_sql_has_a_price_an_answer_and_errors_with_their_place(visit, service):
    page = visit(service).sign_in("ann")
    page.get_by_role("link", name="SQL").click()
    editor = page.get_by_role("textbox", name="SQL")
    editor.fill("SELECT MIN(age) FROM texts")
    expect(page.locator(".preview").get_by_role("alert")).to_contain_text(
        "MIN is one person's value"
    )
    expect(page.locator(".preview pre")).to_contain_text("^^^")
    editor.fill(
        "SELECT job, MEDIAN(balance) AS mid, COUNT(*) AS n FROM texts GROUP BY job ORDER BY job"
    )
    expect(page.locator(".forecast")).to_have_count(2)
    expect(page.locator(".budget-title").first).to_have_text("Budget of texts, shared by all")
    ask(page, "0.1")
    expect(page.locator(".aggregate")).to_have_count(2)
    assert [cell for cell, *_ in cells(page, "The numbers")] == sorted(JOBS)
    assert service.spent("texts") == Fraction(1, 10)


def test_groups_along_time_are_dots_with_upright_bars(visit, service):
    page = visit(service).sign_in("ann")
    page.get_by_role("link", name="SQL").click()
    page.get_by_role("textbox", name="SQL").fill(
        "SELECT DATE_TRUNC('quarter', opened) AS quarter, COUNT(*) AS n FROM texts "
        "WHERE opened >= '2021-01-01' AND opened < '2022-01-01' GROUP BY 1"
    )
    ask(page, "0.1")
    expect(page.locator(".aggregate circle.point")).to_have_count(4)
    # Between two groups nothing is claimed: a line leads the eye, and there is no band.
    expect(page.locator(".aggregate polyline.guide")).to_have_count(1)
    expect(page.locator(".aggregate rect.bar")).to_have_count(4)
    expect(page.locator(".aggregate polygon")).to_have_count(0)
    quarters = [f"2021-{month}-01" for month in ("01", "04", "07", "10")]
    assert [cell for cell, *_ in cells(page, "The numbers")] == quarters


def test_the_copied_sql_and_python_give_the_same_answer_for_nothing(visit, service):
    reader = visit(service)
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    page = reader.sign_in("ann")
    # A word of SQL as a column's name, which must be quoted.
    choose(page, "copies", "quantile", "order", "0.25", by=("job",))
    page.get_by_role("textbox", name="Filter").fill("age < 40")
    ask(page, "0.25")
    page.get_by_text("The same in SQL or Python").click()
    page.get_by_role("button", name="Copy SQL").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    sql = page.evaluate("() => navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy Python").click()
    expect(page.get_by_role("button", name="Copied")).to_have_count(2)
    python = page.evaluate("() => navigator.clipboard.readText()")

    with service.session("ann") as db:
        assert db.sql(sql, epsilon="0.25").recorded
    assert "ptr_" not in python
    told = subprocess.run(
        [sys.executable, "-c", python],
        env=os.environ | {"POSTRI_TOKEN": service.tokens["ann"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "from the ledger" in told.stdout
    assert service.spent("copies") == Fraction(1, 4)


def test_answers_are_taken_along_as_csv_and_svg(visit, service, tmp_path):
    page = visit(service).sign_in("ann")
    choose(page, "files", by=("job",), epsilon="0.4")
    ask(page, "0.4")
    with service.session("ann") as db:
        released = db.answers()[0].result
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Download CSV").click()
    assert fetched.value.suggested_filename == f"postri-answer-{released.answer_id}.csv"
    fetched.value.save_as(tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text() == released.to_csv()
    assert len(list(csv.reader(io.StringIO(released.to_csv())))) == len(JOBS) + 1

    with page.expect_download() as fetched:
        page.get_by_role("button", name="Download SVG").click()
    fetched.value.save_as(tmp_path / "answer.svg")
    picture = ElementTree.parse(tmp_path / "answer.svg").getroot()
    tag = "{http://www.w3.org/2000/svg}"
    assert picture.tag == f"{tag}svg"
    texts = [each.text for each in picture.iter(f"{tag}text")]
    assert set(JOBS) <= set(texts)
    assert len(list(picture.iter(f"{tag}circle"))) == len(JOBS)


# The steward


def test_a_steward_sees_budgets_by_analyst_and_the_trail_but_no_value(visit, service):
    with service.session("ann") as ann, service.session("bob") as bob:
        ann.median("team", "balance", epsilon="0.5")
        bob.count("team", epsilon="0.25")
    page = visit(service).sign_in("sam")
    card = page.locator(".card").filter(has=page.get_by_role("heading", name="team", exact=True))
    expect(card).to_contain_text("0.75 of 3 is spent, 2.25 is left")
    expect(card.locator(".budget-bar .part")).to_have_count(2)
    assert cells(page, "Spent on team by analyst") == [
        ["ann", "0.5", "4", "2"],
        ["bob", "0.25", "none", "2"],
    ]

    page.get_by_role("link", name="Audit trail").click()
    page.get_by_role("region", name="Audit trail").wait_for()
    page.get_by_role("combobox", name="Dataset").select_option("team")
    rows = page.get_by_role("region", name="Audit trail").locator("tbody tr")
    # The terms, two questions and their answers: the newest first.
    expect(rows).to_have_count(5)
    spends = [row for row in cells(page, "Audit trail") if row[5]]
    assert [(row[2], row[4], row[5]) for row in spends] == [
        ("question", "bob", "0.25"),
        ("question", "ann", "0.5"),
    ]
    page.get_by_role("combobox", name="Kind").select_option("question")
    page.get_by_role("combobox", name="Analyst").fill("ann")
    page.get_by_role("combobox", name="Analyst").press("Enter")
    expect(rows).to_have_count(1)
    with page.expect_download() as fetched:
        page.get_by_role("button", name="Download CSV").click()
    lines = list(csv.reader(fetched.value.path().read_text().splitlines()))
    assert [lines[0][:4], lines[1][2:6]] == [
        ["number", "time", "kind", "dataset"],
        ["reserve", "team", "ann", "1/2"],
    ]
    assert len(lines) == 2
    page.get_by_role("combobox", name="Analyst").fill("nobody")
    page.get_by_role("combobox", name="Analyst").press("Enter")
    expect(page.get_by_text("No entry fits the filters.")).to_be_visible()

    expect(page.get_by_text("Head of the ledger's chain:")).to_be_visible()
    page.get_by_role("button", name="Verify the ledger").click()
    expect(page.locator(".made")).to_contain_text("The ledger is whole:")
    page.get_by_role("textbox", name="A head that you kept").fill("3 " + "0" * 64)
    page.get_by_role("button", name="Verify the ledger").click()
    expect(page.get_by_role("alert")).to_contain_text("The ledger is not what it says")


def test_a_steward_sees_the_lines_that_change_a_budget_and_opens_a_closed_dataset(visit, service):
    """The page writes no policy. That the dataset is closed is told behind the service's back."""
    reader = visit(service)
    is_closed = True

    def close(route):
        reply = route.fetch()
        fields = reply.json()
        fields["plans"]["closed"] = is_closed
        route.fulfill(response=reply, json=fields)

    reader.page.route("**/v1/budget", close)
    page = reader.sign_in("sam")
    card = page.locator(".card").filter(has=page.get_by_role("heading", name="plans", exact=True))
    card.get_by_text("Change the budget of plans, or close it").click()
    card.get_by_role("textbox", name="New budget").fill("7.5")
    expect(card.locator("pre")).to_have_text('[datasets.plans]\nbudget = "7.5"')
    card.get_by_role("textbox", name="New budget").fill("none")
    expect(card).to_contain_text("A budget is a positive number")
    card.get_by_role("button", name="Open plans again").click()
    dialog = page.get_by_role("dialog", name="Open plans again?")
    expect(dialog.get_by_role("button", name="Leave it closed")).to_be_focused()
    is_closed = False
    dialog.get_by_role("button", name="Open it again").click()
    expect(card.get_by_text("Closed for now")).to_have_count(0)
    assert len(reader.sent("/v1/datasets/plans/opening")) == 1
    page.unroute_all(behavior="wait")


def test_an_analyst_has_no_stewards_views(visit, service):
    reader = visit(service)
    page = reader.sign_in("ann")
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(
        ["Ask", "SQL", "History"]
    )
    page.goto("/#tokens")
    expect(page.get_by_role("heading", name="Your question")).to_be_visible()
    assert reader.sent("/v1/tokens") == []


def test_a_steward_makes_a_token_and_revokes_it(visit, service):
    reader = visit(service)
    reader.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    page = reader.sign_in("sam")
    page.get_by_role("link", name="Tokens").click()
    page.get_by_role("textbox", name="Name").fill("eve")
    page.get_by_role("textbox", name="Allowance").fill("1.5")
    page.get_by_role("textbox", name="Expires").fill("90d")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator(".secret").inner_text()
    assert re.fullmatch(r"ptr_[0-9a-f]{8}_[\w-]{43}", secret)
    page.get_by_role("button", name="Copy token").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == secret
    assert ["eve", "1.5", "Change"] in cells(page, "Allowances")
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text(secret)).to_have_count(0)

    eve = visit(service).sign_in(secret)
    expect(eve.get_by_text("eve, analyst")).to_be_visible()
    expect(eve.locator(".budget-words").last).to_contain_text("0 of 1.5 is spent")

    page.get_by_role("button", name=f"Revoke the token {secret[4:12]} of eve").click()
    dialog = page.get_by_role("dialog", name=re.compile("Revoke the token"))
    expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
    dialog.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("row", name=re.compile(f"eve.*{secret[4:12]}"))).to_contain_text(
        "revoked"
    )
    eve.get_by_role("textbox", name="Exact value").fill("0.2")
    expect(eve.get_by_role("alert")).to_contain_text("Your token is no longer accepted")
    expect(eve.get_by_label("Token")).to_be_focused()


def test_an_allowance_is_set_and_taken_away(visit, service):
    page = visit(service).sign_in("sam")
    page.get_by_role("link", name="Tokens").click()
    page.get_by_role("textbox", name="Analyst").fill("zoe")
    page.get_by_role("textbox", name="Amount").fill("2/3")
    page.get_by_role("button", name="Set allowance").click()
    expect(page.get_by_role("region", name="Allowances")).to_contain_text("zoe2/3")
    page.get_by_role("textbox", name="Amount").fill("")
    page.get_by_role("button", name="Set allowance").click()
    expect(page.get_by_role("region", name="Allowances")).not_to_contain_text("zoe")
    page.get_by_role("textbox", name="Amount").fill("-1")
    page.get_by_role("button", name="Set allowance").click()
    expect(page.get_by_role("alert")).to_contain_text("Allowance must be positive")


# For everybody


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control of this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        label = page.evaluate(
            "() => { const now = document.activeElement; return now.labels?.[0]?.textContent "
            "|| now.ariaLabel || now.textContent; }"
        )
        if label.startswith(name):
            return
    raise AssertionError(f"Tab does not come to {name!r}")


def test_the_main_job_needs_no_mouse(visit, service):
    page = visit(service).page
    page.goto("/")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(service.tokens["ann"])
    page.keyboard.press("Enter")
    page.locator(".forecast svg").wait_for()
    tab_to(page, "Dataset")
    page.keyboard.type("keys")
    tab_to(page, "median")
    page.keyboard.press("ArrowRight")
    tab_to(page, "Quantile p")
    tab_to(page, "Column")
    tab_to(page, "job")
    page.keyboard.press("Space")
    tab_to(page, "How much to spend")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Ask, and spend epsilon 0.12").wait_for()
    tab_to(page, "Ask, and spend epsilon 0.12")
    page.keyboard.press("Enter")
    expect(page.locator(".answer-title")).to_be_focused()
    expect(page.locator(".answer-title")).to_have_text("90th percentile of balance, by job")
    tab_to(page, "The numbers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="The numbers")).to_be_hidden()
    assert service.spent("keys") == Fraction(12, 100)


def walk(reader: Reader, check) -> None:
    """Go through the main states of the page, and check each."""
    page = reader.page
    page.goto("/")
    check("1-sign-in")
    reader.sign_in("ann")
    page.locator(".forecast svg").wait_for()
    check("2-plan")
    choose(page, "bank", epsilon="0.2")
    ask(page, "0.2")
    expect(page.locator(".price")).to_contain_text("asked before")
    check("3-answer")
    choose(page, "bank", by=("job",), epsilon="0.5")
    ask(page, "0.5")
    expect(page.locator(".price")).to_contain_text("asked before")
    check("4-groups")
    choose(page, "clinic", "mean", "fee", "1.5")
    page.get_by_role("button", name="Ask, and spend epsilon 1.5").click()
    page.locator(".exhausted").wait_for()
    check("5-exhausted")
    page.get_by_role("link", name="SQL").click()
    page.get_by_role("textbox", name="SQL").fill(
        "SELECT loan, AVG(fee) AS fee FROM bank WHERE age < 40 GROUP BY loan"
    )
    ask(page, "0.1")
    page.get_by_text("The same in SQL or Python").click()
    check("6-sql")
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Show answer").nth(1).click()
    page.locator(".past-answer svg").wait_for()
    check("7-history")
    page.get_by_role("button", name="Sign out").click()
    reader.sign_in("sam")
    page.get_by_role("link", name="Budgets").click()
    page.get_by_role("heading", name="clinic").wait_for()
    check("8-budgets")
    page.get_by_role("link", name="Audit trail").click()
    page.get_by_role("region", name="Audit trail").wait_for()
    check("9-trail")
    page.get_by_role("link", name="Tokens").click()
    page.get_by_role("textbox", name="Name").fill("eve")
    page.get_by_role("button", name="Create token").click()
    page.get_by_role("button", name="Copy token").wait_for()
    check("10-tokens")
    page.get_by_role("button", name="Revoke").first.click()
    page.get_by_role("dialog").wait_for()
    check("11-revoke")


def picture(page: Page, name: str) -> None:
    page.screenshot(
        path=PICTURES / f"{name}.png", full_page=True, caret="initial", animations="disabled"
    )


def fits(page: Page) -> bool:
    """Nothing is wider than the screen."""
    wanted, there = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    return wanted <= there


THEMES = {
    "light": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {
        "viewport": PHONE,
        "color_scheme": "light",
        "has_touch": True,
        "device_scale_factor": 2,
        "reduced_motion": "reduce",
    },
}


@pytest.mark.parametrize("theme", sized(["light"], list(THEMES)))
def test_every_main_state_is_accessible_and_fits_its_screen(visit, tmp_path, theme):
    """Also keeps a picture of each state: look at them."""
    with serving(tmp_path, {"bank": "5", "clinic": "1"}) as service:
        with service.session("ann") as ann, service.session("bob") as bob:
            ann.count("bank", epsilon="0.3")
            bob.median("bank", "age", epsilon="0.6")
            bob.count("clinic", epsilon="0.25")
        reader = visit(service, **THEMES[theme])
        # This way in, the policy of the page does not apply to axe, and stays in force for the
        # page.
        reader.context.add_init_script(path=AXE)

        checked: list[str] = []

        def check(state: str) -> None:
            page = reader.page
            expect(page.locator(".ask[aria-disabled=true]")).to_have_count(0)
            page.evaluate("() => document.activeElement.blur()")
            page.evaluate("() => scrollTo(0, 0)")
            # In `make test` every second state: a picture and a look at all elements take a second.
            if PROVE or len(checked) % 2 == 0:
                picture(page, f"{theme}/{state}")
                assert serious(page) == [], state
            assert fits(page), state
            if theme != "phone":
                # The same elements at other places: there `make prove` looks at all again.
                wide = page.viewport_size
                page.set_viewport_size(PHONE)
                if PROVE:
                    picture(page, f"{theme}/narrow/{state}")
                if PROVE or len(checked) % 4 == 1:
                    assert serious(page, ["target-size"]) == [], f"{state}, narrow"
                assert fits(page), f"{state}, narrow"
                page.set_viewport_size(wide)
            checked.append(state)

        walk(reader, check)


@pytest.mark.parametrize(("scheme", "light"), [("light", True), ("dark", False)])
def test_the_page_follows_the_readers_colours(visit, service, scheme, light):
    page = visit(service, color_scheme=scheme).page
    page.goto("/")
    colours = page.evaluate(
        "() => [getComputedStyle(document.body).backgroundColor, "
        "getComputedStyle(document.body).color]"
    )
    background, ink = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
    assert (background > ink) == light
