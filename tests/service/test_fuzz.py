"""Requests made from the OpenAPI document and then spoilt: each is answered or refused, none is a fault of ours."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from aftereffect.service.dashboard import ACTIONS
from tests.service.conftest import Service

HOSTILE: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        0.5,
        1e308,
        -1e-320,
        10**30,
        2**63,
        "",
        "x",
        "NaN",
        "\x00",
        "\ud800",
        "é" * 300,
        "<b>",
        "1e999",
    ),
    *(
        [],
        {},
        [[]],
        {"north": 0.5},
        {"north": None},
        {"north": "NaN"},
        {"north": [1]},
        {"": 1},
        {"nowhere": 1},
        [1] * 500,
    ),
]
NAMES = [
    "loans",
    "loans",
    "loans",
    "calls",
    "%00",
    "..",
    "x" * 300,
    "é",
    "loans/../calls",
    "'; DROP TABLE",
    "%F0%9F",
    "a b",
]
WORDS = ["", "0", "1", "-1", "x", "1e9", "99999999999999999999", "é", "%00", "null", "jsonl", "f" * 64]
HEADERS = [
    {},
    {"Idempotency-Key": "k"},
    {"Idempotency-Key": "é" * 300},
    {"If-None-Match": '"x"'},
    {"Content-Type": "text/plain"},
]
ENDS = ("archive",)  # would end the program, and with it most of what can go wrong


class Spoiler:
    """Draws requests: mostly right in most parts, wrong in some."""

    def __init__(self, document: dict[str, Any], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.schemas = document["components"]["schemas"]
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if not path.endswith(ENDS)
        ]

    def pick(self, among: Any) -> Any:
        return among[self.random.integers(len(among))]

    def request(self) -> tuple[str, str, dict[str, Any]]:
        """Method, path and what goes with them."""
        method, path, operation = self.pick(self.operations)
        for part in ("{name}", "{identity}"):
            path = path.replace(part, self.pick(NAMES))
        query = {
            given["name"]: self.pick(WORDS)
            for given in operation.get("parameters", [])
            if given["in"] == "query" and self.random.random() < 0.5
        }
        if query:
            path += "?" + "&".join(f"{name}={word if '%' in word else quote(word)}" for name, word in query.items())
        headers = {name: value.encode() for name, value in self.pick(HEADERS).items()}
        if self.random.random() < 0.05:
            method = self.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
        return method, path, {"headers": headers, "content": self.body(operation)}

    def body(self, operation: dict[str, Any]) -> bytes:
        if "requestBody" not in operation:
            return bytes(self.pick([b"", b"", b"{}", b"\xff"]))
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = {
            name: self.value(given)
            for name, given in self.schemas[schema["$ref"].rpartition("/")[2]]["properties"].items()
        }
        for name in [name for name in body if self.random.random() < 0.3]:
            del body[name]
        if self.random.random() < 0.1:
            body[self.pick(["zzz", "", "by", "key", "\x00"])] = self.pick(HOSTILE)
        text = json.dumps(self.pick(HOSTILE) if self.random.random() < 0.05 else body).encode()
        return self.cut(text) if self.random.random() < 0.05 else text

    def value(self, given: dict[str, Any]) -> Any:
        right = given.get("examples") or ([given["default"]] if "default" in given else [None])
        return self.pick(HOSTILE) if self.random.random() < 0.25 else self.pick(right)

    def cut(self, text: bytes) -> bytes:
        at = int(self.random.integers(len(text)))
        other = text[:at] + bytes([self.random.integers(256)]) + text[at + 1 :]
        return bytes(self.pick([text[:at], other, b"[" * 5000, text * 2]))


def _never_breaks(service: Service, count: int, seed: int) -> None:
    spoiler = Spoiler(service.client.get("/api/openapi.json").json(), seed)
    statuses: dict[int, int] = {}
    for _ in range(count):
        method, path, rest = spoiler.request()
        answer = service.send("chief", method, path, **rest)
        assert answer.status_code < 500, (method, path, rest, answer.text)
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        if answer.status_code >= 400 and method != "HEAD":
            assert answer.headers["content-type"] == "application/problem+json", (method, path, rest, answer.text)
            assert answer.json()["detail"], (method, path, rest)
    assert statuses[200] > count / 20  # it does get somewhere
    for name in ("loans", "calls"):
        assert service.store.program(name).audit().fits


def _forms_never_break(service: Service, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    service.client.post("/login", data={"token": service.secrets["chief"]})
    page = service.client.get("/programs/loans").text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    fields = [
        "share",
        "reward",
        "trials",
        "round",
        "replace",
        "floor",
        "cap",
        "arm",
        "csv",
        "key",
        "name",
        "arms",
        "units",
    ]
    texts = [
        "",
        "0",
        "1",
        "50",
        "0,5",
        "1e400",
        "nan",
        "-3",
        "x" * 300,
        "\x00",
        "<b>",
        "north",
        "arm,reward\nnorth,1\n",
        "é",
    ]
    actions = [action for action in ACTIONS if action not in ENDS]
    for _ in range(count):
        given = {
            field: [texts[i] for i in random.integers(len(texts), size=3)] for field in fields if random.random() < 0.5
        }
        path = "/programs" if random.random() < 0.1 else f"/programs/loans/{actions[random.integers(len(actions))]}"
        answer = service.client.post(path, data={**given, "csrf": csrf}, follow_redirects=False)
        assert answer.status_code < 500, (path, given, answer.text)
    found = service.client.get("/programs/loans")
    assert found.status_code == 200
    assert service.store.program("loans").audit().fits


def test_spoilt_requests_are_refused_and_never_break_it(service: Service) -> None:
    _never_breaks(service, 300, seed=1)


def test_spoilt_forms_never_break_it(service: Service) -> None:
    _forms_never_break(service, 100, seed=2)


@pytest.mark.soak
def test_ten_thousand_spoilt_requests(service: Service) -> None:
    _never_breaks(service, 10_000, seed=3)


@pytest.mark.soak
def test_a_thousand_spoilt_forms(service: Service) -> None:
    _forms_never_break(service, 1_000, seed=4)
