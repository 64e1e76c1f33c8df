"""The dashboard: pages over a store. Every form carries its session's own secret and an idempotency key of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from aftereffect import __version__
from aftereffect.errors import AftereffectError
from aftereffect.programs.program import Program
from aftereffect.report.style import plural
from aftereffect.service import forms, views
from aftereffect.service.api import program_of, store_of, tokens_of
from aftereffect.service.gate import ANY, COOKIE, Gate
from aftereffect.service.problems import TITLES, Refusal
from aftereffect.service.tokens import SESSION_SECONDS, Caller

router = APIRouter()


@cache
def _pages() -> Environment:
    environment = Environment(
        loader=PackageLoader("aftereffect.service", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals.update(
        version=__version__,
        percent=lambda share: f"{100 * share:.1f} %",
        plural=plural,
        when=lambda at: f"{at[:10]} {at[11:16]} UTC",
        fresh_key=lambda: secrets.token_hex(16),
    )
    return environment


def page(
    request: Request, template: str, status: int = 200, caller: Caller | None = None, **values: Any
) -> HTMLResponse:
    """A page from its template."""
    text = (
        _pages()
        .get_template(template)
        .render(root=request.scope.get("root_path", ""), visitor=caller, notice=values.pop("notice", None), **values)
    )
    return HTMLResponse(text, status_code=status, headers={"Cache-Control": "no-store"})


def error_page(request: Request, status: int, detail: str) -> HTMLResponse:
    """What was wrong, for people."""
    return page(request, "error.html", status, title=TITLES.get(status, "Error"), detail=detail)


def _gate(request: Request) -> Gate:
    gate: Gate = request.app.state.gate
    return gate


@router.get("/login", name="login_page")
def login_page(request: Request) -> Response:
    return page(request, "login.html")


@router.post("/login")
async def log_in(request: Request) -> Response:
    token = str((await request.form()).get("token", "")).strip()
    opened = await run_in_threadpool(tokens_of(request).log_in, token)
    if opened is None:
        try:
            _gate(request).slow_down(request)
        except Refusal as error:
            return page(request, "login.html", error.status, notice=_wrong(error.detail))
        return page(request, "login.html", 401, notice=_wrong("This token is not known here, or no longer."))
    answer = RedirectResponse(request.url_for("programs_page").path, status_code=303)
    answer.set_cookie(
        COOKIE,
        quote(opened[0]),
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.app.state.secure,
    )
    return answer


@router.post("/logout")
async def log_out(request: Request) -> Response:
    form = await request.form()
    await _gate(request).admitted(request, "viewer", ANY, str(form.get("csrf", "")))
    await run_in_threadpool(tokens_of(request).log_out, request.cookies.get(COOKIE, ""))
    answer = RedirectResponse(request.url_for("login_page").path, status_code=303)
    answer.delete_cookie(COOKIE)
    return answer


@router.get("/", name="programs_page")
def programs_page(request: Request) -> Response:
    caller = _gate(request).admit(request, "viewer", ANY)
    shown = [row for row in store_of(request).programs() if caller.may("viewer", row["name"])]
    return page(request, "programs.html", caller=caller, programs=shown, may={"create": caller.may("admin", None)})


@router.post("/programs")
async def create_program(request: Request) -> Response:
    form = await request.form()
    caller = await _gate(request).admitted(request, "admin", None, str(form.get("csrf", "")))
    name = str(form.get("name", "")).strip()
    arms = [part.strip() for part in str(form.get("arms", "")).split(",") if part.strip()]
    units = str(form.get("units", "")).strip()
    count = forms.whole("units", units) if units else None
    options: dict[str, Any] = {"units": count, "reward_range": forms.reward_range(form)}
    options |= {"by": caller.label, "key": _key(form)}
    await run_in_threadpool(lambda: store_of(request).create(name, arms, **options))
    return _back(request, name)


@router.get("/programs/{name}", name="program_page")
def program_page(
    request: Request, name: str, search: str = "", before: int | None = None, audit: str = "", done: str = ""
) -> Response:
    caller = _gate(request).admit(request, "viewer", name)
    program = program_of(request, name)
    notice = {"kind": "done", "text": DONE[done]} if done in DONE else None
    return _program_page(request, caller, program, notice, search=search, before=before, audit=bool(audit))


def _program_page(
    request: Request, caller: Caller, program: Program, notice: Any = None, status: int = 200, **wanted: Any
) -> HTMLResponse:
    may = {
        "operate": caller.may("operator", program.name) and caller.csrf is not None,
        "administer": caller.may("admin", program.name) and caller.csrf is not None,
    }
    return page(
        request, "program.html", status, caller=caller, notice=notice, may=may, **views.program_view(program, **wanted)
    )


@router.get("/programs/{name}/charts.json")
def charts(request: Request, name: str) -> Response:
    _gate(request).admit(request, "viewer", name)
    return JSONResponse(views.charts(program_of(request, name)), headers={"Cache-Control": "no-store"})


DONE = {
    "ask": "Asked.",
    "deploy": "The round is noted; its rewards may come whenever they do.",
    "tell": "Told.",
    "close-round": "The round is closed without rewards.",
    "limits": "The limits are changed.",
    "open-arm": "The arm is open.",
    "close-arm": "The arm is closed.",
    "archive": "The program is archived.",
    "tell-csv": "Told.",
}
Action = Callable[[Program, FormData, dict[str, Any]], Any]
ACTIONS: dict[str, tuple[str, Action]] = {
    "ask": ("operator", lambda program, form, signed: program.ask(**signed)),
    "deploy": ("operator", lambda program, form, signed: program.deploy(forms.allocation(program, form), **signed)),
    "tell": ("operator", lambda program, form, signed: program.tell(**forms.told(program, form), **signed)),
    "close-round": (
        "operator",
        lambda program, form, signed: program.tell(None, round=forms.whole("round", form.get("round")), **signed),
    ),
    "tell-csv": ("operator", lambda program, form, signed: forms.tell_rows(program, str(form.get("csv", "")), signed)),
    "limits": ("admin", lambda program, form, signed: program.set_limits(**forms.limits(program, form), **signed)),
    "open-arm": ("admin", lambda program, form, signed: program.open_arm(forms.arm(form), **signed)),
    "close-arm": ("admin", lambda program, form, signed: program.close_arm(forms.arm(form), **signed)),
    "archive": ("admin", lambda program, form, signed: program.archive(**signed)),
}


@router.post("/programs/{name}/preview")
async def preview(request: Request, name: str) -> Response:
    form = await request.form()
    caller = await _gate(request).admitted(request, "operator", name, str(form.get("csrf", "")))
    uploaded = form.get("file")
    content = await uploaded.read() if isinstance(uploaded, UploadFile) else b""
    program = program_of(request, name)
    try:
        text = forms.as_text(content)
        rows = forms.rows_of(program, text)
    except AftereffectError as error:
        return _program_page(request, caller, program, _wrong(str(error)), 422)
    return page(request, "preview.html", caller=caller, name=name, rows=rows, text=text)


@router.post("/programs/{name}/{action}")
async def act(request: Request, name: str, action: str) -> Response:
    form = await request.form()
    if action not in ACTIONS:
        raise Refusal(404, f"there is nothing at {request.url.path!r}")
    role, do = ACTIONS[action]
    caller = await _gate(request).admitted(request, role, name, str(form.get("csrf", "")))
    program = await run_in_threadpool(program_of, request, name)
    try:
        await run_in_threadpool(do, program, form, {"by": caller.label, "key": _key(form)})
    except AftereffectError as error:
        return await run_in_threadpool(_program_page, request, caller, program, _wrong(str(error)), 422)
    return _back(request, name, action)


def _key(form: FormData) -> str | None:
    return str(form.get("key", ""))[:200] or None


def _wrong(text: str) -> dict[str, str]:
    return {"kind": "error", "text": text}


def _back(request: Request, name: str, done: str = "") -> Response:
    """To the program's page, so that loading it again sends nothing again."""
    path = request.url_for("program_page", name=name).path
    return RedirectResponse(f"{path}?done={done}" if done else path, status_code=303)
