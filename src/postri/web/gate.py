"""What every request passes: an envelope of id, headers and log line; and under /v1/ the gate,
before the body is read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postri.errors import PostriError
from postri.web.logs import log, log_failure
from postri.web.metrics import Metrics
from postri.web.refusals import Refusal, unauthorized
from postri.web.requests import KEY, Visit, refused
from postri.web.tokens import Token

SECURITY = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")
LONGEST_LENGTH = 20


def is_guarded(path: str) -> bool:
    """Whether a path needs a token."""
    return path == "/v1" or path.startswith("/v1/")


class Envelope:
    """Gives each request its id, each reply its headers and one line in the log.

    No error passes it.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        visit = scope[KEY] = Visit()
        status = 0

        async def sealed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, scope["path"], visit)
            await send(message)

        try:
            await self._app(scope, receive, sealed)
        except Exception as error:
            if not isinstance(error, Refusal | PostriError):
                log_failure(error, request_id=visit.id)
            if not status:
                await refused(error, visit)(scope, receive, sealed)
        finally:
            self._note(scope, visit, status)

    def _note(self, scope: Scope, visit: Visit, status: int) -> None:
        """Log and count a reply that has left."""
        # A method or a path that a stranger made up might hold anything, so neither is noted.
        method = scope["method"]
        if method not in METHODS:
            method = "other"
        route = getattr(scope.get("route"), "path", None)
        _log(visit, status, method, route)
        count = self._metrics.count
        if visit.code is not None:
            count("postri_refusals_total", code=visit.code)
        if visit.answered is not None and status == 200:
            count("postri_answers_total", kind=visit.answered)
        # Last, so that whoever finds a request counted finds all of it counted.
        count("postri_requests_total", method=method, route=route or "other", status=str(status))


def _add_headers(message: Message, path: str, visit: Visit) -> None:
    caching = b"no-cache"
    if is_guarded(path):
        caching = b"no-store"
    # No reply has any of these by itself.
    message["headers"] = [
        *message.get("headers", ()),
        (b"x-request-id", visit.id.encode()),
        *SECURITY,
        (b"cache-control", caching),
    ]


def _log(visit: Visit, status: int, method: str, route: str | None) -> None:
    level = logging.INFO
    if status == 500:
        level = logging.ERROR
    analyst = None
    if visit.token is not None:
        analyst = visit.token.name
    log(
        "request",
        level,
        request_id=visit.id,
        method=method,
        route=route,
        status=status,
        code=visit.code,
        analyst=analyst,
    )


class Gate:
    """Lets nobody in without a valid token, nobody too often, and nothing too large."""

    def __init__(
        self,
        app: ASGIApp,
        identify: Callable[[str], Awaitable[Token | None]],
        admit: Callable[[Token], Awaitable[None]],
        max_body: int,
    ) -> None:
        self._app = app
        self._identify = identify
        self._admit = admit
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, or say why not. The body is not touched before that."""
        if not is_guarded(scope["path"]):
            await self._app(scope, receive, send)
            return
        token = scope[KEY].token = await self._token(scope)
        await self._admit(token)
        self._check_length(_only(scope, b"content-length"))
        await self._app(scope, self._limited(receive), send)

    async def _token(self, scope: Scope) -> Token:
        header = _only(scope, b"authorization") or b""
        scheme, _, text = header.decode("latin-1").partition(" ")
        token = await self._identify(text.strip())
        if token is None or scheme.lower() != "bearer":
            raise unauthorized()
        return token

    def _check_length(self, length: bytes | None) -> None:
        if length is None:
            return
        is_number = length.isdigit() and len(length) <= LONGEST_LENGTH
        if not is_number or int(length) > self._max_body:
            raise self._too_large()

    def _limited(self, receive: Receive) -> Receive:
        """The same body, as far as it may go."""
        rest = self._max_body

        async def limited() -> Message:
            nonlocal rest
            message = await receive()
            rest -= len(message.get("body", b""))
            if rest < 0:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Refusal:
        return Refusal("request_too_large", f"a request may have at most {self._max_body} bytes")


def _only(scope: Scope, name: bytes) -> bytes | None:
    """The value of a header that is there once; None otherwise."""
    values = [value for key, value in scope["headers"] if key == name]
    if len(values) != 1:
        return None
    value: bytes = values[0]
    return value
