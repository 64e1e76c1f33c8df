"""The everyday requests on a short way: ask, deploy, tell, and a program as it stands.

A framework's layers cost more than what these do. So where nothing is out of the ordinary, a route's function is called
straight away, with the role and the body that its signature says. Everything else goes the usual way, which knows what to
say: sessions, tokens that were not looked up a moment ago or may not do it, bodies and keys that are not right.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from aftereffect.service import api
from aftereffect.service.tokens import Caller, Tokens

LONGEST_KEY = 200  # as the route says
LARGEST = 65_536  # bytes of a body; longer ones take the time they need anyway
EVERYDAY: dict[tuple[str, str], Callable[..., Any]] = {
    ("GET", ""): api.show_program,
    ("POST", "ask"): api.ask,
    ("POST", "deploy"): api.deploy,
    ("POST", "tell"): api.tell,
}


class Way:
    """A route's function, and what its signature says that it needs."""

    def __init__(self, endpoint: Callable[..., Any]) -> None:
        hints = get_type_hints(endpoint, include_extras=True)
        self.endpoint = endpoint
        self.role: str = hints["caller"].__metadata__[0].dependency.role
        self.body: type[BaseModel] | None = hints.get("body")
        self.keyed = "key" in hints
        self.route = next(route for route in api.router.routes if getattr(route, "endpoint", None) is endpoint)


class Express:
    """Middleware before the application; `failed` makes an answer of what a route raises."""

    def __init__(self, app: Any, tokens: Tokens, failed: Callable[[Request, Exception], Response]) -> None:
        self.app, self.tokens, self.failed = app, tokens, failed
        self.ways = {place: Way(endpoint) for place, endpoint in EVERYDAY.items()}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer it here, or pass it on as it came."""
        found = self._way(scope) if scope["type"] == "http" else None
        if found is None:
            await self.app(scope, receive, send)
            return
        way, given = found
        if way.body is not None:
            message = await receive()
            try:
                given["body"] = _read(way.body, message)
            except (ValueError, RecursionError):  # the usual way says what is wrong with it
                await self.app(scope, _first(message, receive), send)
                return
        scope["app"], scope["route"] = self.app, way.route
        request = Request(scope, receive)
        request.state.caller = given["caller"]
        try:
            answer = await way.endpoint(request, **given)
        except Exception as error:
            answer = self.failed(request, error)
        await answer(scope, receive, send)

    def _way(self, scope: Any) -> tuple[Way, dict[str, Any]] | None:
        """The way of a request, and what its route is given; none if anything is out of the ordinary."""
        parts = scope["path"].split("/")
        if not 4 <= len(parts) <= 5 or parts[1:3] != ["api", "programs"] or not parts[3] or scope.get("root_path"):
            return None
        way = self.ways.get((scope["method"], parts[4] if len(parts) == 5 else ""))
        headers = dict(scope["headers"])
        if way is None or (len(parts) == 5 and not parts[4]) or len(headers) < len(scope["headers"]):
            return None
        caller = self._caller(headers.get(b"authorization", b""))
        if caller is None or not caller.may(way.role, parts[3]):
            return None
        if way.body is not None and not _plain_body(headers):
            return None
        given: dict[str, Any] = {"name": parts[3], "caller": caller}
        if way.keyed and b"idempotency-key" in headers:
            given["key"] = headers[b"idempotency-key"].decode("latin-1")
            if len(given["key"]) > LONGEST_KEY:
                return None
        return way, given

    def _caller(self, authorization: bytes) -> Caller | None:
        """Whose token it is, if that was looked up a moment ago; sessions must show where their requests come from."""
        kind, _, token = authorization.decode("latin-1").partition(" ")
        caller = self.tokens.recent(token.strip()) if kind.lower() == "bearer" else None
        return caller if caller is not None and caller.csrf is None else None


def _plain_body(headers: dict[bytes, bytes]) -> bool:
    length = headers.get(b"content-length", b"")
    return (
        headers.get(b"content-type") == b"application/json"
        and length.isdigit()
        and len(length) < 6
        and 0 < int(length) <= LARGEST
    )


def _read(kind: type[BaseModel], message: Any) -> BaseModel:
    if message["type"] != "http.request" or message.get("more_body"):
        raise ValueError("not all of it")
    return kind.model_validate(json.loads(message["body"]))


def _first(message: Any, receive: Any) -> Any:
    """A request's messages once more from the first one."""
    waiting = [message]

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again
