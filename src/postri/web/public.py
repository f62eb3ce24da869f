"""What needs no token: health, readiness and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from postri.web import described
from postri.web.refusals import Refusal
from postri.web.service import Service
from postri.web.visits import reply

PAGE = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
}


def public_routes(service: Service, page: Path = PAGE) -> APIRouter:
    """The endpoints without a token."""
    router, files = APIRouter(), _files(page)

    @router.get("/healthz", **described.HEALTH)
    async def health(request: Request) -> Response:
        return reply({"status": "ok"})

    @router.get("/readyz", **described.READY)
    async def ready(request: Request) -> Response:
        if service.scans.is_stopping:
            raise Refusal("not_ready", "the service is shutting down")
        if trouble := await service.do(service.readiness.trouble):
            raise Refusal("not_ready", trouble)
        return reply({"status": "ready"})

    @router.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(files, "index.html")

    @router.get("/page/{file:path}", include_in_schema=False)
    async def file(request: Request) -> Response:
        return _file(files, request.path_params["file"])

    return router


def _files(folder: Path) -> dict[str, tuple[bytes, str]]:
    """The files of the page by name, read once: no request names a path."""
    found = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix in KINDS)
    return {
        file.relative_to(folder).as_posix(): (file.read_bytes(), KINDS[file.suffix])
        for file in found
    }


def _file(files: Mapping[str, tuple[bytes, str]], name: str) -> Response:
    if name not in files:
        raise Refusal("not_found", "the page has no such file")
    content, kind = files[name]
    return Response(content, headers={"Content-Type": kind})
