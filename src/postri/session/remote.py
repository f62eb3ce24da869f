"""The session across a network: the same questions and answers over HTTP.

Nothing but the standard library is needed for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from socket import gaierror
from ssl import SSLCertVerificationError
from time import sleep
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from postri.answer import Result
from postri.answer.forms import read_result
from postri.errors import InputError, ServiceError
from postri.ledger import check_retry
from postri.mechanisms.coins import secret_bytes
from postri.question import Price, Wording
from postri.question.planning import QuestionPlan
from postri.session.facts import DatasetBudget, DatasetFacts
from postri.session.session import PastAnswer, Session
from postri.session.wire import (
    PROBLEM,
    read_budget,
    read_datasets,
    read_history,
    read_plan,
    read_price,
    read_problem,
)

# Longer than any scan that a service lets run.
PATIENCE = 600.0
TRIES = 5
LONGEST_WAIT = 5.0
# The codes of refusals after which the same request may be sent again.
AGAIN = ("busy", "rate_limited")
# What a proxy says of itself where the service behind it has gone away: another may be there soon.
GATEWAY = (502, 503, 504)
# What waiting does not mend: the next try would fail as this one did.
HOPELESS = (TimeoutError, gaierror, SSLCertVerificationError)

NO_HEADERS: Mapping[str, str] = {}

Value = TypeVar("Value")


def is_url(place: str) -> bool:
    """Whether it is the address of a service, and no path."""
    return place.startswith(("http://", "https://"))


class InOnePiece(HTTPConnection):
    """A connection that sends the head and the body of a request together: the other side has the
    whole of it at once.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._pieces: list[bytes] | None = None

    def request(self, *given: Any, **named: Any) -> None:
        pieces = self._pieces = []
        try:
            super().request(*given, **named)
        finally:
            self._pieces = None
        self.send(b"".join(pieces))

    def send(self, data: Any) -> None:
        if self._pieces is None:
            super().send(data)
        else:
            self._pieces.append(data)


class SecurelyInOnePiece(InOnePiece, HTTPSConnection):
    """The same under TLS."""


@dataclass(frozen=True)
class Message:
    """What is sent. All of it is safe to send again: a question has the key of its retries."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


class RemoteSession(Session):
    """Questions to a service, for whoever the token says.

    A question that is cut off is asked again with its key, and paid for once. `patience` is how
    many seconds to wait for a reply.
    """

    def __init__(self, url: str, token: str | None, *, patience: float = PATIENCE) -> None:
        self._connection, self._path = _connection(url, patience)
        self._token = _check_token(token)
        # The first request: a wrong address or token is told here, before any question.
        try:
            self.analyst = self._get("/v1/me", lambda fields: fields["name"])
        except BaseException:
            self.close()
            raise

    def _facts(self) -> Mapping[str, DatasetFacts]:
        return self._get("/v1/datasets", read_datasets)

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The answer.

        Each question has a key, so that it is paid for once however often it is sent.
        """
        if retry is None:
            retry = secret_bytes(16).hex()
        return self._post("/v1/query", wording, read_result, retry)

    def quote(self, wording: Wording) -> Price:
        return self._post("/v1/price", wording, read_price)

    def _planned(self, questions: Sequence[Wording], delta: Fraction | None) -> QuestionPlan:
        fields: dict[str, Any] = {"questions": [each.to_fields() for each in questions]}
        if delta is not None:
            fields["delta"] = str(delta)
        return self._send("/v1/plan", fields, read_plan)

    def close(self) -> None:
        self._connection.close()

    def _budgets(self) -> Mapping[str, DatasetBudget]:
        return self._get(
            "/v1/budget", lambda fields: {name: read_budget(each) for name, each in fields.items()}
        )

    def _past_answers(self, before: int | None, limit: int) -> list[PastAnswer]:
        query = {"limit": limit}
        if before is not None:
            query["before"] = before
        return self._get(f"/v1/answers?{urlencode(query)}", read_history)

    def _get(self, path: str, read: Callable[[Any], Value]) -> Value:
        return self._exchange(Message("GET", path, {}), read)

    def _post(
        self, path: str, wording: Wording, read: Callable[[Any], Value], retry: str | None = None
    ) -> Value:
        headers = {}
        if retry is not None:
            check_retry(retry)
            headers["Idempotency-Key"] = retry
        return self._send(path, wording.to_fields(), read, headers)

    def _send(
        self,
        path: str,
        fields: Mapping[str, Any],
        read: Callable[[Any], Value],
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> Value:
        typed = {"Content-Type": "application/json", **headers}
        return self._exchange(Message("POST", path, typed, json.dumps(fields).encode()), read)

    def _exchange(self, message: Message, read: Callable[[Any], Value]) -> Value:
        status, fields = self._patiently(message)
        if status >= 400:
            raise read_problem(status, fields)
        try:
            return read(fields)
        except (ValueError, KeyError, TypeError):
            raise ServiceError(
                "the service's reply is not of a form that this version knows: is it a newer one?",
                status=status,
            ) from None

    def _patiently(self, message: Message) -> tuple[int, Any]:
        """Send it again if the connection was lost or the service is busy."""
        for rest in reversed(range(TRIES)):
            try:
                status, fields, wait = self._once(message)
            except (OSError, HTTPException) as error:
                self._connection.close()
                if rest == 0 or isinstance(error, HOPELESS):
                    raise ServiceError(
                        f"the service at {self._connection.host!r} cannot be reached "
                        f"({type(error).__name__})"
                    ) from None
                wait = _pause(rest)
            except ServiceError as error:
                if rest == 0 or error.status not in GATEWAY:
                    raise
                wait = _pause(rest)
            else:
                if rest == 0 or not isinstance(fields, dict) or fields.get("code") not in AGAIN:
                    return status, fields
            sleep(wait)
        raise AssertionError("unreachable")

    def _once(self, message: Message) -> tuple[int, Any, float]:
        """The status, the fields and how long the service wants us to wait."""
        headers = {**message.headers, "Authorization": f"Bearer {self._token}"}
        self._connection.request(message.method, self._path + message.path, message.body, headers)
        reply = self._connection.getresponse()
        text = reply.read()
        return reply.status, _fields(reply, text), _wait(reply)


def _check_token(token: object) -> str:
    if isinstance(token, str) and token and token.isascii() and token.isprintable():
        return token
    raise InputError(
        "a service needs a token: give token=, or set $POSTRI_TOKEN; the steward "
        "makes one with 'postri token add'"
    )


def _connection(url: str, patience: float) -> tuple[HTTPConnection, str]:
    """A connection, not yet opened, and the path before that of the API."""
    parts = urlsplit(url)
    if not parts.hostname or parts.query or parts.fragment or parts.username or parts.password:
        raise InputError(
            "the address of a service must be such as 'https://host' or "
            "'https://host:8443/path', without a user or a query"
        )
    try:
        port = parts.port
    except ValueError:
        raise InputError(
            "the port of a service's address must be a number from 0 to 65535"
        ) from None
    path = quote(parts.path.rstrip("/"), safe="/%")
    if parts.scheme == "https":
        return SecurelyInOnePiece(parts.hostname, port, timeout=patience), path
    if not _is_here(parts.hostname):
        raise InputError(f"http would send the token in the clear to {parts.hostname!r}: use https")
    return InOnePiece(parts.hostname, port, timeout=patience), path


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _pause(rest: int) -> float:
    """How long to wait before the next try: twice as long each time, 0.3 seconds at first, 2.5
    before the last.
    """
    return LONGEST_WAIT / 2.0**rest


def _fields(reply: HTTPResponse, text: bytes) -> Any:
    # A proxy or another server speaks HTML: that is no refusal of ours.
    kind = (reply.getheader("Content-Type") or "").partition(";")[0].strip()
    if kind not in ("application/json", PROBLEM):
        raise ServiceError(
            f"no service of postri answers at this address (status {reply.status})",
            status=reply.status,
        )
    try:
        # Decimals keep their digits: an answer of 12.30 stays 12.30.
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        raise ServiceError("the service's reply cannot be read", status=reply.status) from None


def _wait(reply: HTTPResponse) -> float:
    """How long the service wants us to wait."""
    asked = reply.getheader("Retry-After") or ""
    if asked.isascii() and asked.isdigit():
        return min(float(asked), LONGEST_WAIT)
    return LONGEST_WAIT
