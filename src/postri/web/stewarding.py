"""What a steward's token may do besides: tokens, allowances, datasets that were closed, and the
ledger without its answers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.errors import InputError
from postri.exact import shown
from postri.ledger import verify
from postri.ledger.trail import EntryFields, TrailWish, listed, newest, unanswered_fields
from postri.policy.values import an_epsilon
from postri.web import description
from postri.web.refusals import Refusal
from postri.web.requests import (
    check_steward,
    query_choice,
    query_number,
    query_text,
    read_fields,
    reply,
    token_of,
)
from postri.web.service import Service
from postri.web.shapes import (
    TrailFields,
    VerificationFields,
    amount_text,
    made_token_fields,
)
from postri.web.tokens import check_datasets, read_expiry

MOST_ENTRIES = 1_000
FARTHEST = 10**15
ORDERS = ("oldest", "newest")
NO_TOKEN = "there is no token with this id; GET /v1/tokens lists them"


def steward_routes(service: Service) -> APIRouter:
    """The endpoints of stewards. Each checks the role before it reads a body."""
    router = APIRouter()
    router.include_router(_token_routes(service))
    router.include_router(_ledger_routes(service))
    return router


def _token_routes(service: Service) -> APIRouter:
    """Tokens and allowances."""
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

    return router


def _ledger_routes(service: Service) -> APIRouter:
    """The trail, whether the ledger is good, and what failures closed."""
    router = APIRouter()

    @router.get("/v1/ledger", **description.LEDGER)
    async def ledger(request: Request) -> Response:
        check_steward(request)
        after = query_number(request, "after", 0, least=0, most=FARTHEST)
        limit = query_number(request, "limit", 100, least=1, most=MOST_ENTRIES)
        before = None
        if "before" in request.query_params:
            before = query_number(request, "before", 0, least=1, most=FARTHEST)
        order = query_choice(request, "order", ORDERS)
        if order == "newest" and "after" in request.query_params:
            raise InputError("the newest entries come first: say before, not after")
        if order == "oldest" and before is not None:
            raise InputError("the oldest entries come first: say after, or order=newest")
        wanted = TrailWish(*(query_text(request, name) for name in ("dataset", "analyst", "kind")))
        name = token_of(request).name
        if order == "newest":
            page = partial(newest, service.ledger, before, limit, wanted=wanted)
        else:
            page = partial(listed, service.ledger, after, limit, wanted=wanted)
        return reply(await service.listing(name, _trail, service, page))

    @router.post("/v1/ledger/verification", **description.VERIFICATION)
    async def verification(request: Request) -> Response:
        check_steward(request)
        (kept,) = await read_fields(request, "head")
        if kept is not None and not isinstance(kept, str):
            raise InputError(f"head must be a line that was told earlier, got {shown(kept)}")
        return reply(await service.audit(_verified, service, kept))

    @router.post("/v1/datasets/{dataset:path}/opening", **description.OPENING)
    async def opening(request: Request) -> Response:
        check_steward(request)
        name = request.path_params["dataset"]
        if name not in service.policy.datasets:
            raise Refusal(
                "not_found", "the policy has no such dataset; GET /v1/datasets lists them"
            )
        looked_at = await service.do(service.ledger.open_again, name)
        await service.reply_leaves()
        return reply(
            {"dataset": name, "unanswered": [unanswered_fields(each) for each in looked_at]}
        )

    return router


def _verified(service: Service, kept: str | None) -> VerificationFields:
    head = service.public.now().head
    problems = verify(service.ledger, kept)
    for file in service.policy.ledger_files:
        # Where the ledger lies is nobody's business on the network.
        problems = [problem.replace(str(file), file.name) for problem in problems]
    return {"head": head.line, "entries": head.number, "problems": problems}


def _trail(
    service: Service, page: Callable[..., tuple[list[EntryFields], int | None]]
) -> TrailFields:
    head = service.public.now().head
    entries, more = page(until=head)
    return {"head": head.line, "entries": entries, "next": more}


def _amount(allowance: object) -> Fraction | None:
    if allowance is None:
        return None
    return an_epsilon("allowance", allowance)
