"""Requests for the fuzzer: an input is a request as text, which is put to the application itself,
without a socket.

The first line has the method and the path, the next ones are headers, and after an empty line comes
the body. ANALYST and STEWARD stand for tokens that are valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from postri.errors import missing_extra
from postri.policy import read_policy

HTTP_SEEDS = (
    b'POST /v1/query\nauthorization: Bearer ANALYST\n\n{"dataset": "people", "epsilon": "1/100", '
    b'"aggregates": {"mid": "median(x)"}, "where": "x > 5", "by": ["g"]}',
    b'POST /v1/price\nauthorization: Bearer ANALYST\nidempotency-key: k1\n\n{"sql": "SELECT '
    b'COUNT(*) FROM people", "epsilon": 0.01, "confidence": "0.9", "fresh": true}',
    b"GET /v1/answers?limit=5&before=9\nauthorization: Bearer ANALYST\n\n",
    b"GET /v1/budget\nauthorization: Bearer STEWARD\n\n",
    b"GET /v1/ledger?after=0&limit=10\nauthorization: Bearer STEWARD\n\n",
    b"GET /v1/ledger?order=newest&before=9&analyst=ann&kind=reserve\nauthorization: Bearer STEWARD"
    b"\n\n",
    b'POST /v1/ledger/verification\nauthorization: Bearer STEWARD\n\n{"head": "1 0a1b"}',
    b'POST /v1/tokens\nauthorization: Bearer STEWARD\n\n{"name": "bob", "role": "analyst", '
    b'"allowance": "1/2", "expires": "30d"}',
    b"GET /openapi.json\n\n",
    b"GET /page/index.html\n\n",
    b"GET /healthz\nauthorization: Basic x\n\n",
)
HTTP_WORDS = tuple(
    word.encode()
    for word in (
        *(
            "GET ",
            "POST ",
            "DELETE ",
            "PUT ",
            "OPTIONS ",
            "HEAD ",
            "/v1/query",
            "/v1/price",
            "/v1/me",
        ),
        *(
            "/v1/answers",
            "/v1/datasets",
            "/v1/statistics",
            "/v1/tokens",
            "/readyz",
            "/../",
            "%00",
            "?",
        ),
        *(
            "&limit=",
            "before=",
            "authorization: Bearer ANALYST\n",
            "authorization: Bearer STEWARD\n",
        ),
        *(
            "content-length: 5\n",
            "content-type: text/plain\n",
            "idempotency-key: ",
            "\n",
            "\n\n",
            ":",
        ),
        *(
            '"',
            "{",
            "}",
            "[",
            "]",
            ",",
            "null",
            "true",
            "1e999",
            "\\ud800",
            "\\u0000",
            "\x00",
            "é",
            "雪",
        ),
        *(
            '"dataset": ',
            '"aggregates": ',
            '"epsilon": ',
            '"sql": ',
            '"where": ',
            '"by": ',
            '"fresh": ',
        ),
        *('"median(x)"', '"count()"', '"people"', '"weights": {"mid": 1}', '"simultaneous": true'),
        *(
            '"confidence": 95',
            '"expect": -1',
            '"retry": ""',
            "'",
            "SELECT ",
            "CASE WHEN ",
            "LIKE '%",
        ),
    )
)
# Busy is an honest reply; every other status from 500 on is a finding.
BUSY = 503
UNANSWERED = "no reply"


@contextmanager
def http_attempt(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Puts requests to the service of a policy."""
    try:
        from postri.web.app import create_app
        from postri.web.service import Service
        from postri.web.tokens import Tokens
    except ImportError:
        raise missing_extra("fuzzing the service", "fastapi", "web") from None

    policy = read_policy(path)
    loop = asyncio.new_event_loop()
    ledger = policy.open_ledger()
    tokens = Tokens(policy.tokens)
    # It lets go of both files.
    with closing(Service(policy, ledger, tokens)) as service:
        app = create_app(service)
        valid = {
            b"ANALYST": tokens.add("ann", "analyst")[1].encode(),
            b"STEWARD": tokens.add("sue", "steward")[1].encode(),
        }

        def attempt(given: bytes) -> None:
            for name, token in valid.items():
                given = given.replace(name, token)
            status = loop.run_until_complete(_replied(app, given))
            if status >= 500 and status != BUSY:
                raise AssertionError(f"status {status}")

        try:
            yield attempt
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


async def _replied(app: Any, given: bytes) -> int:
    """The status of the reply."""
    scope, body = _request(given)
    statuses: list[int] = []
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    assert statuses, UNANSWERED
    return statuses[0]


def _request(given: bytes) -> tuple[dict[str, Any], bytes]:
    """A request as an application of ASGI gets it from a server."""
    head, _, body = given.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    path, _, query = target.partition(b"?")
    headers = []
    for line in lines:
        name, found, value = line.partition(b":")
        if found:
            headers.append((name.strip().lower(), value.strip()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1").upper() or "GET",
        "scheme": "http",
        "path": "/" + path.decode(errors="replace").lstrip("/"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    return scope, body
