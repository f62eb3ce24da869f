"""Counters for Prometheus: what was asked and how it was replied to, and how many wait.

They have an address of their own (`metrics` in the policy's `[service]`), without tokens: whoever
watches machines holds no key to the data. Yet a steward may show them to analysts, so they tell no
more than replies do:

- A reply is counted when it has left: at its point of the time grid, or where it needs none.
- Questions run until their point: so their number changes when one comes, and at points.
- The text that is told is made at fixed times, whatever happens between.
- There is no duration, no size of a reply, no name, no use of processor or memory: how long a scan
  takes depends on the rows.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Lock, Thread
from typing import Any

from postri import __version__

# Seconds between the times at which the text is made anew.
PACE = 1.0
# How long a connection may take, in seconds: the next one waits for it.
PATIENCE = 5.0
PATH = "/metrics"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
INFO = "postri_info"
COUNTERS = {
    "postri_requests_total": "Requests that were replied to.",
    "postri_refusals_total": "Replies that were no answer, by their code.",
    "postri_answers_total": "Answers to questions: new ones were paid for, others were recorded.",
    "postri_oidc_fetches_total": "How often the issuer was asked for its keys.",
    "postri_policy_changes_total": "Edits of the policy that were found: taken, or refused.",
}
GAUGES = {
    "postri_questions_running": "Questions that have a place, until their reply leaves.",
    "postri_questions_waiting": "Questions that wait for a place.",
    "postri_questions_places": "How many questions may run at once.",
    "postri_policy_in_force": "1 if the policy's file is what is served, 0 if it was refused.",
}


class Metrics:
    """What is counted, by any thread. The text is made in the service's loop, where `gauges` are
    taken, and read by whoever wants it.
    """

    def __init__(self, gauges: Callable[[], Mapping[str, int]] = dict) -> None:
        self._gauges = gauges
        self._lock = Lock()
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self.text = ""
        self.publish()

    def count(self, counter: str, **labels: str) -> None:
        """One more."""
        assert counter in COUNTERS
        with self._lock:
            self._counts[counter, tuple(labels.items())] += 1

    def publish(self) -> None:
        """Tell how things are now."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines: list[str] = []
        for name, about in COUNTERS.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} counter"]
            lines += [_line(name, labels, n) for (counter, labels), n in counts if counter == name]
        for name, value in self._gauges().items():
            lines += [f"# HELP {name} {GAUGES[name]}", f"# TYPE {name} gauge"]
            lines.append(_line(name, (), value))
        info = (("version", __version__),)
        lines += [f"# HELP {INFO} Which version runs.", f"# TYPE {INFO} gauge"]
        lines.append(_line(INFO, info, 1))
        self.text = "\n".join(lines) + "\n"

    async def keep(self) -> None:
        """Publish at fixed times, until this is cancelled."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        while True:
            self.publish()
            passed = int((loop.time() - start) / PACE)
            await asyncio.sleep(start + (passed + 1) * PACE - loop.time())


def _line(name: str, labels: tuple[tuple[str, str], ...], value: int) -> str:
    r"""One line of the text format.

    >>> _line("a_total", (("code", 'say "no"'),), 2)
    'a_total{code="say \\"no\\""} 2'
    """
    if not labels:
        return f"{name} {value}"
    escaped = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    told = ",".join(f'{label}="{text.translate(escaped)}"' for label, text in labels)
    return f"{name}{{{told}}} {value}"


class _Scrape(BaseHTTPRequestHandler):
    """One look at the counters."""

    timeout = PATIENCE
    server: _Scraped

    def do_GET(self) -> None:
        content = self.server.metrics.text.encode()
        status = 200
        if self.path != PATH:
            status, content = 404, f"there is {PATH}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", MEDIA_TYPE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def version_string(self) -> str:
        return "postri"

    def log_message(self, *given: Any) -> None:
        """The service's log is about the service's own requests."""


class _Scraped(HTTPServer):
    """One connection at a time: those who watch are few, and come seldom."""

    def __init__(self, listener: socket.socket, metrics: Metrics) -> None:
        super().__init__(listener.getsockname()[:2], _Scrape, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.metrics = metrics
        self.server_activate()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's concern."""


@contextmanager
def told_by(listener: socket.socket, metrics: Metrics) -> Iterator[None]:
    """Tell the counters to whoever connects, for the time of the block."""
    with _Scraped(listener, metrics) as server:
        Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
