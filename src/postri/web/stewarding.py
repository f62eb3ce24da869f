"""What a steward's token may do besides: tokens, allowances, and the ledger without its answers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.ledger.trail import listed
from postri.policy.values import an_epsilon
from postri.web import description
from postri.web.refusals import Refusal
from postri.web.requests import check_steward, query_number, read_fields, reply, token_of
from postri.web.service import Service
from postri.web.shapes import amount_text, made_token_fields
from postri.web.tokens import check_datasets, read_expiry

MOST_ENTRIES = 1_000
FARTHEST = 10**15
NO_TOKEN = "there is no token with this id; GET /v1/tokens lists them"


def steward_routes(service: Service) -> APIRouter:
    """The endpoints of stewards. Each checks the role before it reads a body."""
    router = APIRouter()

    @router.get("/v1/tokens", **description.TOKENS)
    async def tokens(request: Request) -> Response:
        check_steward(request)
        known = await service.do(service.tokens.all)
        return reply({"tokens": [token.to_fields() for token in known]})

    @router.post("/v1/tokens", **description.NEW_TOKEN)
    async def add(request: Request) -> Response:
        check_steward(request)
        names = ("name", "role", "allowance", "expires", "datasets")
        name, role, allowance, expires, datasets = await read_fields(request, *names)
        add_token = partial(
            service.tokens.add,
            name,
            role,
            expires=read_expiry(expires, service.policy.service.token_days),
            allowance=_amount(allowance),
            datasets=check_datasets(datasets, service.policy.datasets),
        )
        token, text = await service.do(add_token)
        return reply(made_token_fields(token, text), 201)

    @router.post("/v1/tokens/{id}/renewal", **description.RENEWED_TOKEN)
    async def renew(request: Request) -> Response:
        check_steward(request)
        (expires,) = await read_fields(request, "expires")
        until = read_expiry(expires, service.policy.service.token_days)
        rotate = partial(service.tokens.rotate, request.path_params["id"], expires=until)
        made = await service.do(rotate)
        if made is None:
            raise Refusal("not_found", NO_TOKEN)
        return reply(made_token_fields(*made), 201)

    @router.delete("/v1/tokens/{id}", **description.NO_TOKEN)
    async def revoke(request: Request) -> Response:
        check_steward(request)
        if not await service.do(service.tokens.revoke, request.path_params["id"]):
            raise Refusal("not_found", NO_TOKEN)
        return Response(status_code=204)

    @router.get("/v1/allowances", **description.ALLOWANCES)
    async def allowances(request: Request) -> Response:
        check_steward(request)
        amounts = await service.do(service.tokens.allowances)
        return reply({"allowances": {name: str(amount) for name, amount in amounts.items()}})

    @router.put("/v1/allowances/{analyst:path}", **description.ALLOWANCE)
    async def allow(request: Request) -> Response:
        check_steward(request)
        (allowance,) = await read_fields(request, "allowance")
        # Not the parameter of the path: it has lost a line break at its end.
        name = request.scope["path"].removeprefix("/v1/allowances/")
        amount = _amount(allowance)
        await service.do(service.tokens.allow, name, amount)
        return reply({"name": name, "allowance": amount_text(amount)})

    @router.get("/v1/ledger", **description.LEDGER)
    async def ledger(request: Request) -> Response:
        check_steward(request)
        after = query_number(request, "after", 0, least=0, most=FARTHEST)
        limit = query_number(request, "limit", 100, least=1, most=MOST_ENTRIES)
        name = token_of(request).name
        return reply(await service.listing(name, _trail, service, after, limit))

    return router


def _trail(service: Service, after: int, limit: int) -> dict[str, Any]:
    view = service.public.now()
    entries = listed(service.ledger, after, limit, until=view.head)
    more = None
    if len(entries) == limit:
        more = entries[-1]["number"]
    return {"head": view.head.line, "entries": entries, "next": more}


def _amount(allowance: object) -> Fraction | None:
    if allowance is None:
        return None
    return an_epsilon("allowance", allowance)
