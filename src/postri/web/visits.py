"""What the service knows of a request while it is here."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from postri.answer.forms import json_text
from postri.mechanisms.coins import secret_bytes
from postri.web.refusals import PROBLEM, Refusal, refusal_of, unauthorized
from postri.web.tokens import Token

KEY = "postri.visit"


@dataclass
class Visit:
    """A request: its own id, when it came, whose token it has, and the code of its refusal if it
    was refused.
    """

    id: str = field(default_factory=lambda: secret_bytes(8).hex())
    arrived: float = field(default_factory=monotonic)
    token: Token | None = None
    code: str | None = None


def visit_of(request: Request) -> Visit:
    """The visit of a request."""
    visit: Visit = request.scope[KEY]
    return visit


def token_of(request: Request) -> Token:
    """The token that the gate has verified."""
    token = visit_of(request).token
    if token is None:
        raise unauthorized()
    return token


def check_steward(request: Request) -> Token:
    """The token, if it is a steward's."""
    token = token_of(request)
    if token.role != "steward":
        raise Refusal("forbidden", "this is for stewards; the token is an analyst's")
    return token


def reply(fields: Any, status: int = 200) -> Response:
    """Plain values as JSON."""
    return Response(json_text(fields), status, media_type="application/json")


def refused(error: BaseException, visit: Visit) -> Response:
    """The reply to what went wrong."""
    refusal = refusal_of(error)
    visit.code = refusal.code
    return Response(json_text(refusal.fields(visit.id)), refusal.status, refusal.headers, PROBLEM)
