"""Who asks, and whether they may: one table of what each route needs, read by the routes, the docs and the tests."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from aftereffect.service.guards import Buckets
from aftereffect.service.problems import Refusal
from aftereffect.service.tokens import Caller, Tokens

COOKIE = "aftereffect_session"
OWN, ANY = "/own", "/any"  # no program has such a name: the one in the path, and whichever the caller has
SAFE = ("GET", "HEAD", "OPTIONS")


class Gate:
    """Knows callers by their token or session; wrong ones of an address are slowed down."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self._wrong = Buckets(rate=0.5, burst=20.0)

    def caller(self, request: Request) -> Caller | None:
        """Whose request it is: a token in the header, else a session."""
        if "authorization" in request.headers:
            found = self.tokens.caller(_token(request))
            if found is None:
                self.slow_down(request)
                raise Refusal(401, "this token is not known here, or no longer", {"WWW-Authenticate": "Bearer"})
            return found
        secret = request.cookies.get(COOKIE)
        return None if secret is None else self.tokens.session(unquote(secret))

    def slow_down(self, request: Request) -> None:
        """Count a wrong token against the address it came from."""
        wait = self._wrong.take(request.client.host if request.client else "")
        if wait > 0.0:
            raise Refusal(429, "too many wrong tokens from this address", {"Retry-After": str(max(1, round(wait)))})

    async def admitted(self, request: Request, role: str, program: str | None, csrf: str | None = None) -> Caller:
        """As `admit`; only a caller who must be looked up in the store is worth a thread."""
        if "authorization" in request.headers and self.tokens.recent(_token(request)) is not None:
            return self.admit(request, role, program, csrf)
        return await run_in_threadpool(self.admit, request, role, program, csrf)

    def admit(self, request: Request, role: str, program: str | None, csrf: str | None = None) -> Caller:
        """The caller, if the role is theirs; a program that is not theirs does not exist for them.

        A session's request that changes something must show that it comes from our own page, by `csrf` or the header.
        """
        caller = self.caller(request)
        if caller is None:
            raise Refusal(401, "a token is needed: Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"})
        if program is not None and program != ANY and caller.program not in (None, program):
            raise Refusal(404, f"there is no program {program!r} here, or it is not yours to see")
        if not caller.may(role, caller.program if program == ANY else program):
            scope = "all programs" if program is None else "this program"
            raise Refusal(403, f"this needs the role {role} for {scope}; yours is {caller.role}")
        changes = caller.csrf is not None and request.method not in SAFE
        if changes and not _same(csrf or request.headers.get("x-csrf-token", ""), caller.csrf or ""):
            raise Refusal(403, "this form is too old, or it is not ours: load the page again")
        request.state.caller = caller
        return caller


def _token(request: Request) -> str:
    kind, _, token = request.headers["authorization"].partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())


def needs(role: str, program: str | None = OWN) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency that admits a role: for the program in the path, for all programs (None), or for any at all."""

    async def admitted(request: Request) -> Caller:
        gate: Gate = request.app.state.gate
        return await gate.admitted(request, role, request.path_params["name"] if program == OWN else program)

    admitted.role, admitted.program = role, program  # type: ignore[attr-defined]
    return admitted
