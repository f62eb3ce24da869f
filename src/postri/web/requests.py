"""What a request carries: who sent it, its body and its numbers; and the replies to it.

Bodies are JSON objects and nothing odd. InputError says what is wrong with one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from postri.answer.forms import json_text
from postri.errors import InputError, nearest
from postri.exact import shown
from postri.ledger.charges import LONGEST_NAME
from postri.mechanisms.coins import secret_bytes
from postri.session.wire import PROBLEM
from postri.web.refusals import Refusal, refusal_of, unauthorized
from postri.web.tokens import Token

KEY = "postri.visit"
LONGEST_NUMBER = 200
# How long a body may take to arrive, in seconds.
PATIENCE = 30.0


@dataclass
class Visit:
    """A request: its own id, whose token it has, the code of its refusal if it was refused, and
    where its answer came from if it got one.
    """

    id: str = field(default_factory=lambda: secret_bytes(8).hex())
    token: Token | None = None
    code: str | None = None
    answered: Literal["new", "recorded"] | None = None


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


def check_steward(request: Request) -> None:
    """Refuse a token that is not a steward's."""
    if token_of(request).role != "steward":
        raise Refusal("forbidden", "this is for stewards; the token is an analyst's")


async def read_body(request: Request) -> bytes:
    """The body, if it arrives."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await request.body()
    except TimeoutError:
        raise InputError(f"the body did not arrive within {PATIENCE:g} seconds") from None
    except ClientDisconnect:
        raise InputError("the body did not arrive") from None


def as_object(raw: bytes) -> dict[str, Any]:
    """The object of a JSON text in UTF-8. Decimals stay exact."""
    try:
        value = json.loads(
            raw.decode(),
            parse_float=_number(Decimal),
            parse_int=_number(int),
            parse_constant=_no_constant,
            object_pairs_hook=_pairs,
        )
        # Half of a surrogate pair is no text: nothing could be written with it.
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except InputError:
        raise
    except RecursionError:
        raise InputError("the body is nested too deep") from None
    except UnicodeError:
        raise InputError(
            "the body must be text in UTF-8, without halves of surrogate pairs"
        ) from None
    except (ValueError, ArithmeticError):
        raise InputError("the body must be JSON") from None
    if not isinstance(value, dict):
        raise InputError("the body must be a JSON object")
    return value


def _number(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if len(text) > LONGEST_NUMBER:
            raise InputError("a number of the body has too many digits")
        return read(text)

    return number


def _no_constant(name: str) -> Any:
    raise InputError(f"{name} is not a number of JSON")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("an object of the body has the same name twice")
    return found


async def read_fields(request: Request, *names: str) -> tuple[Any, ...]:
    """The values of these names in the body, None for one that is missing; InputError for any
    other name.
    """
    fields = as_object(await read_body(request))
    for name in fields:
        if name not in names:
            raise InputError(f"there is no {shown(name)} here; {nearest(name, names)}")
    return tuple(fields.get(name) for name in names)


def query_number(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number of the query string."""
    text = request.query_params.get(name, str(default))
    is_short_number = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not is_short_number or not least <= int(text) <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, got {shown(text)}")
    return int(text)


def query_text(request: Request, name: str) -> str | None:
    """A text of the query string, if it is there."""
    text = request.query_params.get(name)
    if text is not None and not 0 < len(text) <= LONGEST_NAME:
        raise InputError(f"{name} must be a text of 1 to {LONGEST_NAME} characters")
    return text


def query_choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """One of some words of the query string; the first if it is not there."""
    text = request.query_params.get(name, choices[0])
    if text not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {shown(text)}")
    return text


def reply(fields: Any, status: int = 200) -> Response:
    """Plain values as JSON."""
    return json_reply(json_text(fields), status)


def json_reply(text: str, status: int = 200) -> Response:
    """A text that is JSON already."""
    return Response(text, status, media_type="application/json")


def refused(error: BaseException, visit: Visit) -> Response:
    """The reply to what went wrong."""
    refusal = refusal_of(error)
    visit.code = refusal.code
    return Response(json_text(refusal.fields(visit.id)), refusal.status, refusal.headers, PROBLEM)
