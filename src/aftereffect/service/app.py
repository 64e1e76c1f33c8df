"""The application: routes, what is done with errors, and the guards around them."""

from __future__ import annotations

import logging
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from aftereffect import __version__
from aftereffect.errors import AftereffectError
from aftereffect.programs.errors import Busy, CannotWrite, Conflict, Damaged, NotFound, Unavailable
from aftereffect.programs.store import Store
from aftereffect.service import api, dashboard
from aftereffect.service.express import Express
from aftereffect.service.gate import Gate
from aftereffect.service.guards import Buckets, Guards, Metrics
from aftereffect.service.problems import Refusal, problem_response
from aftereffect.service.tokens import Tokens

log = logging.getLogger("aftereffect.service")
STATUS: dict[type[AftereffectError], int] = {
    NotFound: 404,
    Conflict: 409,
    Busy: 503,
    Unavailable: 503,
    CannotWrite: 507,
    Damaged: 500,
}


def build_app(store: Store, *, secure: bool = False, buckets: Buckets | None = None) -> Any:
    """An ASGI application over a store; `secure` marks cookies for HTTPS only."""
    app = FastAPI(
        title="Aftereffect",
        version=__version__,
        description="Programs: ask for the next allocation, say what was deployed, tell what came back; every step is kept.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    metrics = Metrics()
    app.state.store, app.state.gate, app.state.secure = store, Gate(Tokens(store.database)), secure
    _say_what_is_wrong(app)
    _tell_how_we_are(app, metrics)
    app.include_router(api.router)
    app.include_router(dashboard.router, include_in_schema=False)
    own, shared = str(files("aftereffect.service") / "static"), ("aftereffect.report", "shared")
    app.mount("/static", StaticFiles(directory=own, packages=[shared]), name="static")
    everyday = Express(app, app.state.gate.tokens, _failed)
    return Guards(everyday, buckets or Buckets(), metrics)


def _tell_how_we_are(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/health", summary="The process answers")
    def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/ready", summary="The store answers too", responses={503: {"description": "The store does not"}})
    def ready(request: Request) -> dict[str, str]:
        request.app.state.store.check()
        return {"status": "ok"}

    @app.get("/metrics", summary="Counts for Prometheus")
    def show_metrics(caller: api.Anyone) -> Response:
        return Response(generate_latest(metrics.registry), media_type="text/plain; version=0.0.4")


def _say_what_is_wrong(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    def refused(request: Request, error: Refusal) -> Response:
        if error.status == 401 and _wants_page(request):
            return RedirectResponse(request.url_for("login_page").path, status_code=303)
        return _answer(request, error.status, error.detail, error.headers)

    app.add_exception_handler(AftereffectError, _failed)
    app.add_exception_handler(Exception, _failed)

    @app.exception_handler(RequestValidationError)
    def misread(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()[0]
        where = ".".join(str(part) for part in found["loc"] if part != "body")
        return _answer(request, 422, f"{where or 'the body'}: {found['msg']}")

    @app.exception_handler(HTTPException)
    def not_served(request: Request, error: HTTPException) -> Response:
        detail = error.detail if error.status_code != 404 else f"there is nothing at {request.url.path!r}"
        return _answer(request, error.status_code, detail, dict(error.headers or {}))


def _failed(request: Request, error: Exception) -> Response:
    """The answer to what a route raises: a mistake of the caller's, the store's trouble, or our fault."""
    if isinstance(error, AftereffectError):
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
        return _answer(request, status, str(error), {"Retry-After": "1"} if status == 503 else None)
    log.error('{"failed": "%s"}', type(error).__name__, exc_info=error)
    return problem_response(500, f"this should not happen ({type(error).__name__}); the log says more")


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")


def _answer(request: Request, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    if _wants_page(request):
        return dashboard.error_page(request, status, detail)
    return problem_response(status, detail, headers)
