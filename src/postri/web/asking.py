"""What every token may do: ask, price, and look at statistics, datasets, budgets and its own
answers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.answer import Result
from postri.answer.forms import json_text, result_text
from postri.errors import InputError, QuestionFailed, nearest
from postri.exact import shown
from postri.ledger import check_retry
from postri.policy import people_of
from postri.question import Wording, read_wording
from postri.session.facts import accountant_of
from postri.session.session import MOST_PAST, Session
from postri.session.wire import (
    AnalystFields,
    budget_fields,
    datasets_fields,
    plan_fields,
    price_fields,
)
from postri.statistics.registry import described
from postri.web import description
from postri.web.requests import (
    as_object,
    json_reply,
    query_number,
    read_body,
    reply,
    token_of,
    visit_of,
)
from postri.web.service import Service
from postri.web.shapes import PlanRequestFields, amount_text, me_fields

# Questions of so many bytes mostly take no longer to read than a thread takes to come and go; the
# worst that were tried took some 46 microseconds a byte.
SHORT_BODY = 256


def asking_routes(service: Service) -> APIRouter:
    """The endpoints of analysts."""
    router = APIRouter()

    @router.post("/v1/query", **description.QUERY)
    async def query(request: Request) -> Response:
        raw = await read_body(request)
        # Its clock starts when the question is whole, not when its first byte came.
        departure = service.departure()
        wording = await _wording(service, raw)
        retry = _retry_key(request)
        token = token_of(request)
        session = service.session(token, departure)
        # Whatever comes of it, refusals too, leaves on the time grid.
        try:
            result, text = await service.scans.run(
                token.name, lambda: _answer(session, wording, retry)
            )
        finally:
            await departure.leave()
            await service.reply_leaves()
        visit_of(request).answered = "new"
        if result.recorded:
            visit_of(request).answered = "recorded"
        return json_reply(text)

    @router.post("/v1/price", **description.PRICE)
    async def price(request: Request) -> Response:
        wording = await _wording(service, await read_body(request))
        session = service.session(token_of(request))
        return json_reply(await service.do(_price_text, session, wording))

    @router.post("/v1/plan", **description.PLAN)
    async def plan(request: Request) -> Response:
        raw = await read_body(request)
        session = service.session(token_of(request))
        return json_reply(await service.do(_plan_text, session, raw))

    @router.get("/v1/statistics", **description.STATISTICS)
    async def statistics(request: Request) -> Response:
        return reply({"statistics": described()})

    @router.get("/v1/datasets", **description.DATASETS)
    async def datasets(request: Request) -> Response:
        return reply(datasets_fields(service.session(token_of(request)).describe().values()))

    @router.get("/v1/budget", **description.BUDGETS)
    async def budget(request: Request) -> Response:
        token = token_of(request)
        budgets = await service.do(service.session(token).budget)
        fields = {name: budget_fields(each) for name, each in budgets.items()}
        if token.role == "steward":
            for name, analysts in (await service.do(_by_analyst, service)).items():
                fields[name]["analysts"] = analysts
        return reply(fields)

    @router.get("/v1/answers", **description.ANSWERS)
    async def answers(request: Request) -> Response:
        limit = query_number(request, "limit", 50, least=1, most=MOST_PAST)
        before = request.query_params.get("before")
        token = token_of(request)
        session = service.session(token)
        return json_reply(await service.listing(token.name, session.answers_text, before, limit))

    @router.get("/v1/me", **description.ME)
    async def me(request: Request) -> Response:
        token = token_of(request)
        return reply(me_fields(token, service.allowance(token)))

    return router


async def _wording(service: Service, raw: bytes) -> Wording:
    """The question of a body. A long one takes a while to read, so a thread does it."""
    if len(raw) <= SHORT_BODY:
        return read_wording(as_object(raw))
    return await service.do(lambda: read_wording(as_object(raw)))


def _retry_key(request: Request) -> str | None:
    """The key of a retry. The ledger checks it too, but only when the question is on its way."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1:
        raise InputError("Idempotency-Key must be given once; leave all but one of them out")
    check_retry(keys[0], "Idempotency-Key")
    return keys[0]


def _answer(session: Session, wording: Wording, retry: str | None) -> tuple[Result, str]:
    """The answer, and as JSON. It is paid for: if it cannot be written, the question has failed."""
    result = session.answer(wording, retry)
    with suppress(Exception):
        return result, result_text(result)
    raise QuestionFailed(str(result.answer_id), result.epsilon)


def _price_text(session: Session, wording: Wording) -> str:
    return json_text(price_fields(session.quote(wording)))


def _plan_text(session: Session, raw: bytes) -> str:
    fields = as_object(raw)
    for name in fields:
        if name not in PlanRequestFields.__annotations__:
            known = list(PlanRequestFields.__annotations__)
            raise InputError(f"a plan has no {shown(name)}; {nearest(str(name), known)}")
    # The session checks what it is.
    questions: Any = fields.get("questions")
    return json_text(plan_fields(session.plan(questions, delta=fields.get("delta"))))


def _by_analyst(service: Service) -> dict[str, dict[str, AnalystFields]]:
    """Who spent how much of each dataset, and what each may spend."""
    given = service.tokens.allowances()
    by_dataset = {}
    for name, dataset in service.policy.datasets.items():
        accountant = accountant_of(dataset)
        analysts: dict[str, AnalystFields] = {}
        people = people_of(service.policy, dataset)
        usage = service.ledger.usage(name, people, service.public.now())
        for analyst, spent in usage.analysts.items():
            # Of the policy's allowance and the token's, the lower one binds.
            own = given.get(analyst, service.policy.service.allowance)
            allowances = (dataset.allowances.get(analyst), own)
            limits = [amount for amount in allowances if amount is not None]
            analysts[analyst] = {
                "spent": str(accountant.epsilon(spent.cost)),
                "entries": spent.entries,
                "allowance": amount_text(min(limits, default=None)),
            }
        by_dataset[name] = analysts
    return by_dataset
