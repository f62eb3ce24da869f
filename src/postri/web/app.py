"""The service as an ASGI application: the endpoints of analysts and stewards, and what needs no
token: health, readiness, the description and the page.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from postri.errors import PostriError
from postri.web import description
from postri.web.asking import asking_routes
from postri.web.gate import Envelope, Gate
from postri.web.refusals import Refusal
from postri.web.requests import refused, reply, visit_of
from postri.web.service import Service
from postri.web.stewarding import steward_routes

# What Starlette itself refuses.
BY_STATUS = {
    404: (
        "not_found",
        "there is nothing at this address; GET /openapi.json tells what there is",
    ),
    405: ("method_not_allowed", "this address knows other methods"),
}
PAGE = Path(__file__).with_name("page")
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
}


def create_app(service: Service) -> ASGIApp:
    """The application: an envelope around a gate around the endpoints."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for routes in (asking_routes, steward_routes, public_routes):
        app.include_router(routes(service))

    @cache
    def described() -> dict[str, Any]:
        return description.description(app)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        return reply(described())

    for kind in (PostriError, Refusal, Exception):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(HTTPException, _refused_by_starlette)
    gate = Gate(app, service.identify, service.admit, service.policy.service.max_body)
    return Envelope(gate, service.metrics)


def _refused(request: Request, error: Exception) -> Response:
    return refused(error, visit_of(request))


def _refused_by_starlette(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    usual = ("invalid_request", "the request cannot be read")
    code, detail = BY_STATUS.get(error.status_code, usual)
    headers = error.headers or {}
    if "Allow" in headers:
        detail += f": {headers['Allow']}"
    return refused(Refusal(code, detail, headers=headers), visit_of(request))


def public_routes(service: Service, page: Path = PAGE) -> APIRouter:
    """The endpoints without a token."""
    router = APIRouter()
    files = _page_files(page)

    @router.get("/healthz", **description.HEALTH)
    async def health(request: Request) -> Response:
        return reply({"status": "ok"})

    @router.get("/readyz", **description.READY)
    async def ready(request: Request) -> Response:
        if service.scans.is_stopping:
            raise Refusal("not_ready", "the service is shutting down")
        if trouble := await service.trouble():
            raise Refusal("not_ready", trouble)
        return reply({"status": "ready"})

    @router.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return page_file("index.html")

    @router.get("/page/{file:path}", include_in_schema=False)
    async def file(request: Request) -> Response:
        return page_file(request.path_params["file"])

    def page_file(name: str) -> Response:
        if name not in files:
            raise Refusal("not_found", "the page has no such file")
        content, media_type = files[name]
        return Response(content, headers={"Content-Type": media_type})

    return router


def _page_files(folder: Path) -> dict[str, tuple[bytes, str]]:
    """The files of the page by name, read once: no request names a path."""
    files = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in MEDIA_TYPES:
            name = file.relative_to(folder).as_posix()
            files[name] = (file.read_bytes(), MEDIA_TYPES[file.suffix])
    return files
