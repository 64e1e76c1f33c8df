"""A store with one program, served in the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

import aftereffect as ae
from aftereffect.programs.store import Store
from aftereffect.service.app import build_app
from aftereffect.service.guards import Buckets
from aftereffect.service.tokens import ROLES, Tokens
from tests.programs.conftest import postgres as postgres

ARMS = ["north", "centre", "south"]


class Service(NamedTuple):
    store: Store
    tokens: Tokens
    client: TestClient
    secrets: dict[str, str]

    def send(self, role: str | None, method: str, path: str, **options: Any) -> Any:
        headers = {**({"Authorization": f"Bearer {self.secrets[role]}"} if role else {}), **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    store = ae.open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.create("loans", ARMS, policy="thompson-split", units=300)
    store.create("calls", ["a", "b"], policy="thompson-split")
    tokens = Tokens(store.database)
    secrets = {role: tokens.create(role, "loans", f"the {role}") for role in ROLES}
    secrets["chief"] = tokens.create("admin", None, "the chief")
    app = build_app(store, buckets=Buckets(rate=1e6, burst=1e6))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Service(store, tokens, client, secrets)
    store.close()
