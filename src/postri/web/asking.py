"""What every token may do: ask, price, and look at datasets, budgets and its own answers."""

from __future__ import annotations

from fractions import Fraction

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.answer.forms import json_text, result_text
from postri.errors import InputError
from postri.ledger import DatasetUsage, check_retry
from postri.question import Wording, read_wording
from postri.session.facts import accountant_of
from postri.session.session import MOST_PAST, Session
from postri.session.wire import (
    AnalystFields,
    budget_fields,
    datasets_fields,
    history_fields,
    price_fields,
)
from postri.web import described
from postri.web.bodies import as_object, read_body, whole
from postri.web.service import Service
from postri.web.visits import reply, token_of, visit_of


def asking_routes(service: Service) -> APIRouter:
    """The endpoints of analysts."""
    router = APIRouter()

    @router.post("/v1/query", **described.QUERY)
    async def query(request: Request) -> Response:
        wording, retry = await _wording(service, request), _retry_key(request)
        session = service.session(token_of(request))
        try:
            text = await service.scans.run(lambda: result_text(session.answer(wording, retry)))
        finally:
            await service.grid.wait(visit_of(request).arrived)
        return Response(text, media_type="application/json")

    @router.post("/v1/price", **described.PRICE)
    async def price(request: Request) -> Response:
        wording = await _wording(service, request)
        return Response(
            await service.do(_priced, service.session(token_of(request)), wording),
            media_type="application/json",
        )

    @router.get("/v1/datasets", **described.DATASETS)
    async def datasets(request: Request) -> Response:
        session = service.session(token_of(request))
        return reply(datasets_fields(session.describe().values()))

    @router.get("/v1/budget", **described.BUDGET)
    async def budget(request: Request) -> Response:
        token = token_of(request)
        found = await service.do(service.session(token).budget)
        fields = {name: budget_fields(each) for name, each in found.items()}
        if token.role == "steward":
            for name, each in (await service.do(_by_analyst, service)).items():
                fields[name]["analysts"] = each
        return reply(fields)

    @router.get("/v1/answers", **described.ANSWERS)
    async def answers(request: Request) -> Response:
        limit, before = (
            whole(request, "limit", 50, MOST_PAST, 1),
            request.query_params.get("before"),
        )
        session = service.session(token_of(request))
        return Response(
            await service.do(_history, session, before, limit), media_type="application/json"
        )

    @router.get("/v1/me", **described.ME)
    async def me(request: Request) -> Response:
        token = token_of(request)
        allowance = None if token.allowance is None else str(token.allowance)
        return reply(
            {
                "name": token.name,
                "role": token.role,
                "expires": token.expires,
                "allowance": allowance,
            }
        )

    return router


async def _wording(service: Service, request: Request) -> Wording:
    """The question of the body. A long one takes a while to read, so a thread does it."""
    raw = await read_body(request)
    return await service.do(lambda: read_wording(as_object(raw)))


def _retry_key(request: Request) -> str | None:
    """The key of a retry. The ledger checks it too, but only when the question is on its way."""
    found = request.headers.getlist("idempotency-key")
    if not found:
        return None
    if len(found) > 1:
        raise InputError("Idempotency-Key must be given once; leave all but one of them out")
    check_retry(found[0], "Idempotency-Key")
    return found[0]


def _priced(session: Session, wording: Wording) -> str:
    return json_text(price_fields(session.quote(wording)))


def _history(session: Session, before: str | None, limit: int) -> str:
    return json_text(history_fields(session.answers(before, limit), limit))


def _by_analyst(service: Service) -> dict[str, dict[str, AnalystFields]]:
    """Who spent how much of each dataset, and what each may spend."""
    usage, given = service.ledger.summary(), service.tokens.allowances()
    found: dict[str, dict[str, AnalystFields]] = {}
    for name, dataset in service.policy.datasets.items():
        spent, epsilon = usage.get(name, DatasetUsage()).analysts, accountant_of(dataset).epsilon
        found[name] = {
            analyst: {
                "spent": str(epsilon(each.cost)),
                "entries": each.entries,
                "allowance": _least(dataset.allowances.get(analyst), given.get(analyst)),
            }
            for analyst, each in spent.items()
        }
    return found


def _least(*allowances: Fraction | None) -> str | None:
    """The one that binds."""
    return (
        str(min(each for each in allowances if each is not None))
        if any(each is not None for each in allowances)
        else None
    )
