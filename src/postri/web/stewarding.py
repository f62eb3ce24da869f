"""What a steward's token may do besides: tokens, allowances, and the ledger without its answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.ledger.trail import listed
from postri.policy.values import an_epsilon
from postri.web import described
from postri.web.bodies import known_fields, read_object, whole
from postri.web.expiry import read_expiry
from postri.web.refusals import Refusal
from postri.web.service import Service
from postri.web.visits import check_steward, reply

MOST_ENTRIES = 1_000
FARTHEST = 10**15


def steward_routes(service: Service) -> APIRouter:
    """The endpoints of stewards. Each checks the role before it reads a body."""
    router = APIRouter()

    @router.get("/v1/tokens", **described.TOKENS)
    async def tokens(request: Request) -> Response:
        check_steward(request)
        return reply(
            {"tokens": [token.to_fields() for token in await service.do(service.tokens.all)]}
        )

    @router.post("/v1/tokens", **described.NEW_TOKEN)
    async def add(request: Request) -> Response:
        check_steward(request)
        name, role, allowance, expires = known_fields(
            await read_object(request), "name", "role", "allowance", "expires"
        )
        until = None if expires is None else read_expiry(expires)
        token, text = await service.do(
            lambda: service.tokens.add(name, role, expires=until, allowance=_amount(allowance))
        )
        return reply({**token.to_fields(), "allowance": _text(token.allowance), "token": text}, 201)

    @router.delete("/v1/tokens/{id}", **described.NO_TOKEN)
    async def revoke(request: Request) -> Response:
        check_steward(request)
        if not await service.do(service.tokens.revoke, request.path_params["id"]):
            raise Refusal("not_found", "there is no token with this id")
        return Response(status_code=204)

    @router.get("/v1/allowances", **described.ALLOWANCES)
    async def allowances(request: Request) -> Response:
        check_steward(request)
        found = await service.do(service.tokens.allowances)
        return reply({"allowances": {name: str(amount) for name, amount in found.items()}})

    @router.put("/v1/allowances/{analyst:path}", **described.ALLOWANCE)
    async def allow(request: Request) -> Response:
        check_steward(request)
        (allowance,) = known_fields(await read_object(request), "allowance")
        # Not the parameter of the path: it has lost a line break at its end.
        name, amount = request.scope["path"].removeprefix("/v1/allowances/"), _amount(allowance)
        await service.do(service.tokens.allow, name, amount)
        return reply({"name": name, "allowance": _text(amount)})

    @router.get("/v1/ledger", **described.LEDGER)
    async def ledger(request: Request) -> Response:
        check_steward(request)
        after, limit = (
            whole(request, "after", 0, FARTHEST),
            whole(request, "limit", 100, MOST_ENTRIES, 1),
        )
        return reply(await service.do(_trail, service, after, limit))

    return router


def _trail(service: Service, after: int, limit: int) -> dict[str, Any]:
    entries = listed(service.ledger, after, limit)
    more = entries[-1]["number"] if len(entries) == limit else None
    return {"head": service.ledger.head().line, "entries": entries, "next": more}


def _amount(allowance: object) -> Fraction | None:
    return None if allowance is None else an_epsilon("allowance", allowance)


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)
