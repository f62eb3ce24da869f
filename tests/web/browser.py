"""Debian's Chromium without a screen, and people who use it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_service import Served

from proving import PROVE

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
# Milliseconds that a state may take to come, on a machine that is busy with other tests.
PATIENCE = 90_000
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]


class Reader:
    """A person in front of a page, with all that the page asked for and complained about."""

    def __init__(self, page: Page, service: Served) -> None:
        self.service = service
        self.context = page.context
        self.page = page
        self.requests: list[Request] = []
        self.troubles: list[str] = []
        self._listeners = {
            "request": self._asked,
            "console": self._said,
            "pageerror": lambda error: self.troubles.append(str(error)),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def _asked(self, request: Request) -> None:
        self.requests.append(request)

    def _said(self, message: ConsoleMessage) -> None:
        # A status such as 401 is a part of some tests, and the browser notes it.
        if message.type in ("error", "warning") and not message.text.startswith(
            "Failed to load resource"
        ):
            self.troubles.append(message.text)

    def sign_in(self, name: str) -> Page:
        """Sign in with a person's token, or with this text as one."""
        self.page.goto("/")
        self.page.get_by_label("Token").fill(self.service.tokens.get(name, name))
        self.page.get_by_role("button", name="Sign in").click()
        return self.page

    def sent(self, path: str) -> list[Request]:
        """The requests to this address."""
        return [
            request for request in self.requests if request.url.partition("?")[0].endswith(path)
        ]

    def leave(self) -> None:
        """Leave the page as if nobody had been there.

        It kept to the rules: no script error, no violated policy, no other host, no token in a URL
        or on disk.
        """
        kept = self.page.evaluate(
            "() => [JSON.stringify(localStorage), document.cookie, location.href]"
        )
        self.page.evaluate("() => sessionStorage.clear()")
        self.page.unroute_all(behavior="wait")
        self.page.goto("about:blank")
        self.context.clear_permissions()
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        assert not self.troubles, self.troubles
        elsewhere = [
            request.url
            for request in self.requests
            if not request.url.startswith((self.service.url, "blob:", "data:"))
        ]
        assert not elsewhere, elsewhere
        assert kept[:2] == ["{}", ""], kept
        assert not any(
            "ptr_" in text for text in [*kept, *(request.url for request in self.requests)]
        )


class Chromium:
    """A browser for all tests of the page, and the pages that were left.

    A page of its own for each test would mostly start processes. Under `make prove` each has one.
    """

    def __init__(self) -> None:
        from playwright.sync_api import expect, sync_playwright

        expect.set_options(timeout=PATIENCE)
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        self._left: dict[str, list[Page]] = {}

    def opened(self, service: Served, how: dict[str, Any]) -> Page:
        """A page on which nobody is."""
        left = self._left.get(_place(service, how))
        if left:
            return left.pop()
        context = self._browser.new_context(base_url=service.url, locale="en-GB", **how)
        return context.new_page()

    def left(self, page: Page, service: Served, how: dict[str, Any]) -> None:
        """Nobody is on this page any more."""
        if PROVE:
            page.context.close()
        else:
            self._left.setdefault(_place(service, how), []).append(page)

    def close(self) -> None:
        self._browser.close()
        self._playwright.stop()


def _place(service: Served, how: dict[str, Any]) -> str:
    return f"{service.url} {how}"


_running: list[Chromium] = []


def end_chromium() -> None:
    """When no test of the page follows: its event loop would be in the way of others."""
    while _running:
        _running.pop().close()


@pytest.fixture(scope="module")
def chromium() -> Chromium:
    """The browser, which is started when it is first asked for."""
    if reason := _missing():
        if os.environ.get("POSTRI_REQUIRE_ALL"):
            pytest.fail(reason)
        pytest.skip(reason)
    if not _running:
        _running.append(Chromium())
    return _running[0]


@pytest.fixture
def visit(chromium: Chromium) -> Iterator[Callable[..., Reader]]:
    """Makes readers; at the end each of their pages has kept to the rules."""
    readers: list[tuple[Reader, dict[str, Any]]] = []

    def open_page(service: Served, **how: Any) -> Reader:
        reader = Reader(chromium.opened(service, how), service)
        readers.append((reader, how))
        return reader

    yield open_page
    for reader, how in readers:
        reader.leave()
        # What did not keep to the rules is used by nobody else.
        chromium.left(reader.page, reader.service, how)


def pick(page: Page, statistic: str) -> None:
    """Choose a statistic by what people call it, among the others if it is no everyday one."""
    choice = page.get_by_role("radio", name=statistic, exact=True)
    if not choice.count():
        page.get_by_text("More statistics").click()
    choice.check()


def serious(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe finds that is serious or critical; by these rules alone, if some are named."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules is not None:
        options["runOnly"] = rules
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{each['impact']}: {each['help']}: {node['html']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def _missing() -> str | None:
    if find_spec("playwright") is None:
        return "Playwright is not here: run 'make services'"
    if not Path(CHROMIUM).is_file():
        return "Chromium is not here: run 'make services', or install Debian's package chromium"
    if not AXE.is_file():
        return "axe is not here: run 'make services', which needs npm"
    return None
