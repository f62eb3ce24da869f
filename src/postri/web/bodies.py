"""Bodies of requests: JSON objects and nothing odd. InputError says what is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from starlette.requests import ClientDisconnect, Request

from postri.errors import InputError, nearest
from postri.exact import shown

LONGEST_NUMBER = 200
# How long a body may take to arrive, in seconds.
PATIENCE = 30.0


async def read_object(request: Request) -> dict[str, Any]:
    """The object that the body is."""
    return as_object(await read_body(request))


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


def known_fields(fields: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The values of these names, None for one that is missing; InputError for any other name."""
    for name in fields:
        if name not in names:
            raise InputError(f"there is no {shown(name)} here; {nearest(name, names)}")
    return tuple(fields.get(name) for name in names)


def whole(request: Request, name: str, default: int, most: int, least: int = 0) -> int:
    """A whole number of the query string."""
    text = request.query_params.get(name, str(default))
    if (
        not text.isascii()
        or not text.isdigit()
        or len(text) > len(str(most))
        or not least <= int(text) <= most
    ):
        raise InputError(f"{name} must be a whole number from {least} to {most}, got {shown(text)}")
    return int(text)


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
