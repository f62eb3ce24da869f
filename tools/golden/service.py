"""The service, asked as an ASGI application in this process: no port, no clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from golden.book import Book
from golden.sessions import ROWS, TEXTS, write_policy

SERVICE = "[service]\ntime_grid = 0\nrate = 1000000\n"
MID = {"dataset": "staff", "aggregates": {"mid": "median(salary)"}, "epsilon": "1/2"}
SEVERAL = {
    "dataset": "staff",
    "aggregates": {"mid": "median(salary)", "n": "count()", "a": "mean(age)"},
    "by": ["city"],
    "where": "age < 60",
    "weights": {"mid": 2, "n": "1", "a": 1},
    "epsilon": 2,
    "confidence": "0.9",
}
POSTED: dict[str, Any] = {
    "median": MID,
    "several": SEVERAL,
    "several again": SEVERAL,
    "in SQL": {"sql": TEXTS[2], "epsilon": 1},
    "fresh": {**MID, "fresh": True},
    "beyond the budget": {**MID, "epsilon": 100},
    "nothing": None,
    "no object": [1],
    "no fields": {},
    "an unknown field": {**MID, "colour": "red"},
    "no dataset": {**MID, "dataset": "stuff"},
    "no epsilon": {"dataset": "staff", "aggregates": {"n": "count()"}},
    "a wrong epsilon": {**MID, "epsilon": "x"},
    "a wrong aggregate": {**MID, "aggregates": {"a": "mode(age)"}},
    "a wrong column": {**MID, "aggregates": {"a": "median(seen)"}},
    "a wrong filter": {**MID, "where": "seen < 3"},
    "a wrong key": {**MID, "by": ["age"]},
    "SQL and a dataset": {**MID, "sql": "SELECT COUNT(*) FROM staff"},
    "wrong SQL": {"sql": "SELECT MAX(age) FROM staff", "epsilon": 1},
}
LOOKED_AT = [
    "/v1/datasets",
    "/v1/budget",
    "/v1/answers",
    "/v1/answers?limit=1&before=9",
    "/v1/answers?limit=0",
    "/v1/me",
    "/v1/tokens",
    "/v1/allowances",
    "/v1/ledger",
    "/v1/ledger?after=2&limit=2",
    "/v1/nothing",
    "/v1/query",
    "/healthz",
    "/readyz",
    "/nothing",
]


class Client:
    """Requests to an application, one after the other on one event loop."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self._app, self._runner = app, runner

    def send(self, method: str, address: str, body: Any = None, token: str = "") -> dict[str, Any]:
        """The status, the kind and the fields of a reply."""
        return self._runner.run(self._send(method, address, body, token))

    async def _send(self, method: str, address: str, body: Any, token: str) -> dict[str, Any]:
        path, _, query = address.partition("?")
        raw = b"" if body is None else json.dumps(body).encode()
        headers = [(b"content-length", str(len(raw)).encode())]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        sent: list[dict[str, Any]] = []
        messages = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            # The client stays: a disconnection would cancel the question.
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start, text = sent[0], b"".join(message.get("body", b"") for message in sent[1:])
        kind = dict(start["headers"]).get(b"content-type", b"").decode()
        fields = json.loads(text) if text else None
        return {"status": start["status"], "kind": kind, "fields": fields}


@contextmanager
def served(path: Path) -> Iterator[tuple[Client, dict[str, str]]]:
    """The application of a policy, with tokens by name."""
    from postri.ledger import SqliteLedger
    from postri.policy import read_policy
    from postri.web.app import create_app
    from postri.web.service import Service
    from postri.web.tokens import Tokens

    policy = read_policy(path)
    with SqliteLedger(policy.ledger, policy.head) as ledger, Tokens(policy.tokens) as tokens:
        secrets = {
            "ann": tokens.add("ann", "analyst")[1],
            "poor": tokens.add("poor", "analyst", allowance=Fraction(1, 100))[1],
            "sue": tokens.add("sue", "steward")[1],
        }
        with asyncio.Runner() as runner:
            yield Client(create_app(Service(policy, ledger, tokens)), runner), secrets


def ask_service(book: Book, folder: Path) -> None:
    """Everything in this file."""
    path = write_policy(folder / "service", "duckdb", ROWS, budget="20")
    path.write_text(SERVICE + path.read_text())
    with served(path) as (client, tokens):
        for name, body in POSTED.items():
            for place in ("price", "query"):
                book.ask(
                    f"service/{place}/{name}",
                    lambda body=body, place=place: client.send(
                        "POST", f"/v1/{place}", body, tokens["ann"]
                    ),
                )
        book.ask(
            "service/poor",
            lambda: client.send("POST", "/v1/query", POSTED["fresh"], tokens["poor"]),
        )
        allowance = {"allowance": "1/4"}
        book.ask(
            "service/allow",
            lambda: client.send("PUT", "/v1/allowances/ann", allowance, tokens["sue"]),
        )
        book.ask("service/openapi.json", lambda: client.send("GET", "/openapi.json"))
        for who in ("ann", "sue", ""):
            for address in LOOKED_AT:
                book.ask(
                    f"service/{who or 'nobody'} {address}",
                    lambda who=who, address=address: client.send(
                        "GET", address, token=tokens.get(who, "")
                    ),
                )
