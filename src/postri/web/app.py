"""The service as an ASGI application."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from postri.errors import PostriError
from postri.web.asking import asking_routes
from postri.web.described import description
from postri.web.gate import Envelope, Gate
from postri.web.public import public_routes
from postri.web.refusals import Refusal
from postri.web.service import Service
from postri.web.stewarding import steward_routes
from postri.web.visits import refused, reply, visit_of

# What Starlette itself refuses.
BY_STATUS = {
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address knows other methods"),
}


def create_app(service: Service) -> ASGIApp:
    """The application: an envelope around a gate around the endpoints."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for routes in (asking_routes, steward_routes, public_routes):
        app.include_router(routes(service))

    @cache
    def described() -> dict[str, Any]:
        return description(app)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        return reply(described())

    for kind in (PostriError, Refusal, Exception):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(HTTPException, _refused_by_starlette)
    gate = Gate(app, service.tokens, service.rate, service.policy.service.max_body, service.threads)
    return Envelope(gate)


def _refused(request: Request, error: Exception) -> Response:
    return refused(error, visit_of(request))


def _refused_by_starlette(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, detail = BY_STATUS.get(
        error.status_code, ("invalid_request", "the request cannot be read")
    )
    return refused(Refusal(code, detail, {}, error.headers or {}), visit_of(request))
