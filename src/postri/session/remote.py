"""The desk across a network: the same questions and answers over HTTP.

Nothing but the standard library is needed for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from socket import gaierror
from ssl import SSLCertVerificationError
from time import sleep
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from postri.answer import Result
from postri.answer.forms import read_result
from postri.errors import InputError, ServiceError, nearest
from postri.exact import shown
from postri.ledger.store import check_retry
from postri.mechanisms.coins import secret_bytes
from postri.question import Price, Wording
from postri.session.budget import Budget
from postri.session.desk import PastAnswer, check_page
from postri.session.facts import DatasetFacts, read_facts
from postri.session.problems import PROBLEM, read_problem
from postri.session.sent import read_budget, read_past, read_price

# Longer than any scan that a service lets run.
PATIENCE = 600.0
TRIES, LONGEST_WAIT = 5, 5.0
AGAIN = ("busy", "rate_limited")
Read = TypeVar("Read")


def is_url(place: str) -> bool:
    """Whether it is the address of a service, and no path."""
    return place.startswith(("http://", "https://"))


class RemoteDesk:
    """Questions to a service, for whoever the token says.

    A question that is cut off is asked again with its key, and paid for once.
    """

    def __init__(self, url: str, token: str | None, *, patience: float = PATIENCE) -> None:
        self._connection, self._path = _connection(url, patience)
        if (
            not isinstance(token, str)
            or not token.isascii()
            or not token.isprintable()
            or not token
        ):
            raise InputError(
                "a service needs a token: give token=, or set $POSTRI_TOKEN; the steward "
                "makes one with 'postri token add'"
            )
        self._token = token
        try:
            self.analyst: str = self._got("/v1/me", lambda fields: fields["name"])
        except BaseException:
            self.close()
            raise

    def describe(self) -> Mapping[str, DatasetFacts]:
        """What is public of each dataset."""
        return self._got(
            "/v1/datasets",
            lambda fields: {each["name"]: read_facts(each) for each in fields["datasets"]},
        )

    def answer(self, wording: Wording, retry: str | None = None) -> Result:
        """The answer.

        Each question has a key, so that it is paid for once however often it is sent.
        """
        return self._posted(
            "/v1/query",
            wording,
            read_result,
            retry if retry is not None else secret_bytes(16).hex(),
        )

    def price(self, wording: Wording) -> Price:
        """What it would cost."""
        return self._posted("/v1/price", wording, read_price)

    def budget(self, dataset: str | None = None) -> Budget:
        """What the datasets, or one of them, have left; and of that, what this analyst has."""
        found = self._got(
            "/v1/budget", lambda fields: {name: read_budget(each) for name, each in fields.items()}
        )
        if dataset is not None and dataset not in found:
            raise InputError(
                f"the policy has no dataset {shown(dataset)}; {nearest(str(dataset), found)}"
            )
        return Budget(found if dataset is None else {dataset: found[dataset]})

    def answers(self, before: str | None = None, limit: int = 50) -> list[PastAnswer]:
        """What this analyst asked, newest first."""
        check_page(before, limit)
        query = urlencode({"limit": limit, **({} if before is None else {"before": before})})
        return self._got(
            f"/v1/answers?{query}", lambda fields: [read_past(each) for each in fields["answers"]]
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def _got(self, path: str, read: Callable[[Any], Read]) -> Read:
        return self._asked("GET", path, None, {}, read)

    def _posted(
        self, path: str, wording: Wording, read: Callable[[Any], Read], retry: str | None = None
    ) -> Read:
        if retry is not None:
            check_retry(retry)
        headers = {
            "Content-Type": "application/json",
            **({} if retry is None else {"Idempotency-Key": retry}),
        }
        return self._asked("POST", path, json.dumps(wording.to_fields()), headers, read)

    def _asked(
        self,
        method: str,
        path: str,
        body: str | None,
        headers: dict[str, str],
        read: Callable[[Any], Read],
    ) -> Read:
        status, fields = self._patiently(method, path, body, headers)
        if status >= 400:
            raise read_problem(status, fields)
        try:
            return read(fields)
        except (ValueError, KeyError, TypeError):
            raise ServiceError(
                "the service's reply is not of a form that this version knows: is it a newer one?",
                status=status,
            ) from None

    def _patiently(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, Any]:
        """Send it again if the connection was lost or the service is busy.

        All of it is safe to send again.
        """
        for rest in reversed(range(TRIES)):
            try:
                status, fields, wait = self._once(method, path, body, headers)
            except (OSError, HTTPException) as error:
                self._connection.close()
                if rest == 0 or isinstance(
                    error, TimeoutError | gaierror | SSLCertVerificationError
                ):
                    raise ServiceError(
                        f"the service at {self._connection.host!r} cannot be reached "
                        f"({type(error).__name__})"
                    ) from None
                wait = LONGEST_WAIT / 2**rest
            else:
                if rest == 0 or not isinstance(fields, dict) or fields.get("code") not in AGAIN:
                    return status, fields
            sleep(wait)
        raise AssertionError("unreachable")

    def _once(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, Any, float]:
        sent = None if body is None else body.encode("utf-8", "backslashreplace")
        self._connection.request(
            method, self._path + path, sent, {**headers, "Authorization": f"Bearer {self._token}"}
        )
        reply = self._connection.getresponse()
        text = reply.read()
        return reply.status, _fields(reply, text), _wait(reply)


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
        return HTTPSConnection(parts.hostname, port, timeout=patience), path
    if not _is_here(parts.hostname):
        raise InputError(f"http would send the token in the clear to {parts.hostname!r}: use https")
    return HTTPConnection(parts.hostname, port, timeout=patience), path


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _fields(reply: HTTPResponse, text: bytes) -> Any:
    kind = (reply.getheader("Content-Type") or "").partition(";")[0].strip()
    if kind not in ("application/json", PROBLEM):
        raise ServiceError(
            f"no service of postri answers at this address (status {reply.status})",
            status=reply.status,
        )
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        raise ServiceError("the service's reply cannot be read", status=reply.status) from None


def _wait(reply: HTTPResponse) -> float:
    """How long the service wants us to wait."""
    asked = reply.getheader("Retry-After") or ""
    return min(float(asked), LONGEST_WAIT) if asked.isascii() and asked.isdigit() else LONGEST_WAIT
