"""Tokens and sessions: shown once, kept hashed, expiring, revocable."""

from __future__ import annotations

import time

import pytest

from aftereffect.errors import AftereffectError
from aftereffect.service import tokens as module
from tests.service.conftest import Service


def test_no_secret_is_kept(service: Service) -> None:
    with service.store.database.reading() as connection:
        kept = str(connection.exec_driver_sql("SELECT * FROM aftereffect_tokens").all())
    for secret in service.secrets.values():
        assert secret.split("_", 2)[2] not in kept


def test_a_revoked_token_is_nobodys(service: Service) -> None:
    assert service.send("viewer", "GET", "/api/programs").status_code == 200
    identity = service.secrets["viewer"].split("_")[1]
    service.tokens.revoke(identity)
    service.client.app.app.app.state.gate.tokens._known.clear()  # type: ignore[attr-defined]
    assert service.send("viewer", "GET", "/api/programs").status_code == 401


def test_revoking_ends_sessions(service: Service) -> None:
    service.client.post("/login", data={"token": service.secrets["viewer"]})
    assert service.client.get("/", headers={"Accept": "text/html"}).status_code == 200
    gate = service.client.app.app.app.state.gate  # type: ignore[attr-defined]
    gate.tokens.revoke(service.secrets["viewer"].split("_")[1])
    answer = service.client.get("/", headers={"Accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


def test_an_expired_token_is_nobodys(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    token = service.tokens.create("viewer", days=1)
    assert service.tokens.caller(token) is not None
    later = time.time() + 2 * module.DAY
    service.tokens._known.clear()
    monkeypatch.setattr(time, "time", lambda: later)
    assert service.tokens.caller(token) is None


@pytest.mark.parametrize(
    "wrong", ["", "x", "ae__", "ae_a_b_c", "ae_" + "9" * 12 + "_x", "é_ä_ö", "ae_\0_x", "a" * 10_000]
)
def test_wrong_tokens_are_nobodys(service: Service, wrong: str) -> None:
    assert service.tokens.caller(wrong) is None


def test_a_wrong_secret_of_a_known_token_is_nobodys(service: Service) -> None:
    token = service.secrets["viewer"]
    assert service.tokens.caller(token[:-1] + ("a" if token[-1] != "a" else "b")) is None


def test_mistakes_are_said(service: Service) -> None:
    with pytest.raises(AftereffectError, match="role"):
        service.tokens.create("king")
    with pytest.raises(AftereffectError, match="days"):
        service.tokens.create("viewer", days=0)
    with pytest.raises(AftereffectError, match="token"):
        service.tokens.revoke("nobody")


def test_wrong_tokens_are_slowed_down(service: Service) -> None:
    codes = [
        service.client.get("/api/programs", headers={"Authorization": f"Bearer ae_{i}_x"}).status_code
        for i in range(40)
    ]
    assert 429 in codes
    assert service.send("viewer", "GET", "/api/programs").status_code == 200
