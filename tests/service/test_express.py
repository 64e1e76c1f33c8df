"""The short way against the usual one: the same answers, and no request on it that is out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import aftereffect as ae
from aftereffect.programs.store import Store
from aftereffect.service.app import build_app
from aftereffect.service.express import Express
from aftereffect.service.tokens import ROLES, Tokens

PROGRAM = "/api/programs/loans"
TELL = {"rewards": {"north": 0.5, "south": 0.25}, "trials": {"north": 10, "south": 20}}
Request = tuple[str, str, str, dict[str, Any]]  # role, method, path, options
ORDINARY: list[Request] = [
    ("viewer", "GET", PROGRAM, {}),
    ("operator", "POST", f"{PROGRAM}/ask", {"headers": {"Idempotency-Key": "ask-1"}}),
    ("operator", "POST", f"{PROGRAM}/ask", {"headers": {"Idempotency-Key": "ask-1"}}),
    ("operator", "POST", f"{PROGRAM}/deploy", {"json": {}, "headers": {"Idempotency-Key": "deploy-1"}}),
    ("operator", "POST", f"{PROGRAM}/tell", {"json": {**TELL, "round": 1}, "headers": {"Idempotency-Key": "tell-1"}}),
    ("admin", "POST", f"{PROGRAM}/ask", {}),
    ("admin", "POST", f"{PROGRAM}/deploy", {"json": {"allocation": {"north": 0.5, "south": 0.5}}}),
    ("operator", "GET", PROGRAM, {}),
    ("operator", "POST", f"{PROGRAM}/tell", {"json": {**TELL, "round": 1}}),  # told already
    ("operator", "POST", f"{PROGRAM}/tell", {"json": TELL, "headers": {"Idempotency-Key": "tell-1"}}),  # another body
    ("operator", "POST", f"{PROGRAM}/tell", {"json": {"rewards": {"east": 0.5}, "round": 2}}),
    ("operator", "POST", f"{PROGRAM}/ask", {"headers": {"Idempotency-Key": " "}}),
]
OUT_OF_THE_ORDINARY: list[Request] = [
    ("viewer", "POST", f"{PROGRAM}/ask", {}),
    ("viewer", "POST", f"{PROGRAM}/tell", {"json": TELL}),
    ("operator", "GET", "/api/programs/calls", {}),
    ("operator", "POST", "/api/programs/nowhere/ask", {}),
    ("operator", "POST", f"{PROGRAM}/tell", {"json": {"reward": {"north": 0.5}}}),
    ("operator", "POST", f"{PROGRAM}/tell", {"json": {"rewards": {"north": "much"}}}),
    ("operator", "POST", f"{PROGRAM}/tell", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
    ("operator", "POST", f"{PROGRAM}/tell", {"content": b"[" * 9000, "headers": {"Content-Type": "application/json"}}),
    ("operator", "POST", f"{PROGRAM}/tell", {"content": b'{"rewards": {"north": 0.5}}'}),
    ("operator", "POST", f"{PROGRAM}/deploy", {}),
    ("operator", "POST", f"{PROGRAM}/ask", {"headers": {"Idempotency-Key": "k" * 201}}),
    ("operator", "POST", f"{PROGRAM}/ask/", {}),
    ("operator", "PUT", f"{PROGRAM}/ask", {}),
    ("operator", "GET", f"{PROGRAM}/limits", {}),
    ("nobody", "GET", PROGRAM, {}),
]


class Way:
    """A service of its own, on the short way or on the usual one; counts what comes to the usual one."""

    def __init__(self, place: Path, short: bool) -> None:
        self.store: Store = ae.open_store(f"sqlite:///{place}")
        self.store.create("loans", ["north", "south"], policy="thompson-split", seed=1)
        self.store.create("calls", ["a", "b"], policy="thompson-split", seed=1)
        tokens = Tokens(self.store.database)
        self.secrets = {role: tokens.create(role, "loans", f"the {role}") for role in ROLES} | {"nobody": "ae_no_one"}
        guards = build_app(self.store)
        self.express: Express = guards.app
        self.usual, app = 0, self.express.app

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            self.usual += 1
            await app(scope, receive, send)

        if short:
            counted.state = app.state  # type: ignore[attr-defined]
            self.express.app = counted
        else:
            guards.app = app
        self.client = TestClient(guards, raise_server_exceptions=False)

    def send(self, role: str, method: str, path: str, options: dict[str, Any]) -> Any:
        headers = {"Authorization": f"Bearer {self.secrets[role]}", **options.get("headers", {})}
        self.express.tokens.caller(self.secrets[role])  # looked up a moment ago
        return self.client.request(method, path, **{**options, "headers": headers})


@pytest.fixture
def ways(tmp_path: Path) -> Iterator[tuple[Way, Way]]:
    both = Way(tmp_path / "short.db", True), Way(tmp_path / "usual.db", False)
    yield both
    for way in both:
        way.store.close()


def _alike(short: Any, usual: Any) -> None:
    assert short.status_code == usual.status_code
    assert short.json() == usual.json()
    assert {n for n in short.headers if n != "etag"} == {n for n in usual.headers if n != "etag"}
    assert short.headers["content-type"] == usual.headers["content-type"]


def test_ordinary_requests_have_the_same_answers_on_both_ways(ways: tuple[Way, Way]) -> None:
    short, usual = ways
    for request in ORDINARY:
        there = usual.send(*request)
        here = short.send(*request)
        if request[1] == "GET":
            there, here = there.json() | {"head": ""}, here.json() | {"head": ""}  # events hold the time
            assert here == there
        else:
            _alike(here, there)
    assert short.usual == 0
    assert short.store.program("loans").rounds == usual.store.program("loans").rounds == 2


def test_what_is_out_of_the_ordinary_goes_the_usual_way(ways: tuple[Way, Way]) -> None:
    short, usual = ways
    for i, request in enumerate(OUT_OF_THE_ORDINARY):
        _alike(short.send(*request), usual.send(*request))
        assert short.usual == i + 1


def test_a_token_that_was_not_looked_up_lately_and_a_session_go_the_usual_way(ways: tuple[Way, Way]) -> None:
    short, _ = ways
    bearer = {"Authorization": f"Bearer {short.secrets['viewer']}"}
    assert short.client.get(PROGRAM, headers=bearer).status_code == 200
    assert short.usual == 1
    assert short.client.get(PROGRAM, headers=bearer).status_code == 200
    assert short.usual == 1
    found = short.express.tokens.log_in(short.secrets["operator"])
    assert found is not None
    assert short.express.tokens.session(found[0]) is not None
    stolen = {"Authorization": f"Bearer session {found[0]}"}
    assert short.client.post(f"{PROGRAM}/ask", headers=stolen).status_code == 403  # nothing shows where it comes from
    assert short.usual == 2


def test_what_breaks_is_our_fault_and_said_so(ways: tuple[Way, Way], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no")

    for way in ways:
        monkeypatch.setattr(way.store.program("loans"), "advise", broken)
        answer = way.send("operator", "POST", f"{PROGRAM}/ask", {})
        assert (answer.status_code, answer.json()["title"]) == (500, "Our fault")


def test_both_ways_count_for_the_same_route(ways: tuple[Way, Way]) -> None:
    counted = []
    for way in ways:
        way.send("operator", "POST", f"{PROGRAM}/ask", {})
        lines = way.send("viewer", "GET", "/metrics", {}).text.splitlines()
        counted.append([line for line in lines if line.startswith("aftereffect_requests_total")])
    assert counted[0] == counted[1] != []
