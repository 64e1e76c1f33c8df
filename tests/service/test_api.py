"""The JSON interface, used as a client would."""

from __future__ import annotations

from typing import Any

import pytest

from aftereffect.service.guards import Buckets
from tests.service.conftest import ARMS, Service


def test_a_round_from_ask_to_tell(service: Service) -> None:
    asked = service.send("operator", "POST", "/api/programs/loans/ask").json()
    assert asked["round"] == 1
    assert sum(asked["allocation"].values()) == pytest.approx(1)
    assert service.send("operator", "POST", "/api/programs/loans/ask").json() == asked
    deployed = service.send("operator", "POST", "/api/programs/loans/deploy", json={}).json()
    assert deployed["round"] == 1
    assert service.send("viewer", "GET", "/api/programs/loans").json()["open_rounds"] == [1]
    for arm in ARMS:  # in parts
        body = {"rewards": {arm: 0.5}, "trials": {arm: 100}, "round": 1}
        assert service.send("operator", "POST", "/api/programs/loans/tell", json=body).status_code == 200
    shown = service.send("viewer", "GET", "/api/programs/loans").json()
    assert (shown["rounds"], shown["open_rounds"]) == (1, [])
    audit = service.send("viewer", "GET", "/api/programs/loans/audit").json()
    assert (audit["fits"], audit["decisions"], audit["recomputed"]) == (True, 1, 1)
    rounds = service.send("viewer", "GET", "/api/programs/loans/rounds").json()["items"]
    assert rounds[0]["rewards"] == dict.fromkeys(ARMS, 0.5)
    reasons = service.send("viewer", "GET", "/api/programs/loans/explain").json()
    words = service.send("viewer", "GET", "/api/programs/loans/explain?words=true").json()["words"]
    assert (reasons["round"], words[:8]) == (2, "Round 2:")


def test_a_key_counts_once(service: Service) -> None:
    service.send("operator", "POST", "/api/programs/loans/ask")
    send = lambda body: service.send(  # noqa: E731
        "operator", "POST", "/api/programs/loans/tell", json=body, headers={"Idempotency-Key": "k"}
    )
    first, again = send({"rewards": {"north": 0.5}}), send({"rewards": {"north": 0.5}})
    assert first.json() == again.json()
    assert service.store.program("loans").rounds == 1
    other = send({"rewards": {"north": 0.6}})
    assert (other.status_code, other.headers["content-type"]) == (409, "application/problem+json")


def test_pages_of_events_add_up(service: Service) -> None:
    program = service.store.program("loans")
    for _ in range(5):
        program.ask()
        program.tell([0.5, 0.5, 0.5])
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {"next": 0}
    while page["next"] is not None:
        page = service.send("viewer", "GET", f"/api/programs/loans/events?after={page['next']}&limit=3").json()
        found += page["items"]
    assert [event["sequence"] for event in found] == list(range(1, 12))


def test_an_unchanged_program_is_not_sent_again(service: Service) -> None:
    tag = service.send("viewer", "GET", "/api/programs/loans").headers["etag"]
    assert service.send("viewer", "GET", "/api/programs/loans", headers={"If-None-Match": tag}).status_code == 304
    service.store.program("loans").ask()
    assert service.send("viewer", "GET", "/api/programs/loans", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("tell", {"rewards": {"nowhere": 0.5}}, "nowhere"),
        ("tell", {"rewards": {"north": 7}}, "0, 1"),
        ("tell", {"rewards": {"north": 0.5}, "round": 99}, "99"),
        ("tell", {"reward": {"north": 0.5}}, "rewards"),
        ("deploy", {"allocation": {"north": 0.5}}, "sum"),
    ],
)
def test_mistakes_are_problem_details(service: Service, path: str, body: object, word: str) -> None:
    service.send("operator", "POST", "/api/programs/loans/ask")
    answer = service.send("operator", "POST", f"/api/programs/loans/{path}", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert word in answer.json()["detail"]
    assert set(answer.json()) >= {"type", "title", "status", "detail"}
    assert service.store.program("loans").rounds == 0


def test_limits_of_size_and_rate(service: Service) -> None:
    big = service.send("operator", "POST", "/api/programs/loans/tell", content=b"x" * 2_000_001)
    assert big.status_code == 413
    chunks = (b"x" * 1_000_000 for _ in range(4))  # its length is not said
    assert service.send("operator", "POST", "/api/programs/loans/tell", content=chunks).status_code == 413


def test_a_bucket_empties_and_fills() -> None:
    now = [0.0]
    bucket = Buckets(rate=2.0, burst=3.0, clock=lambda: now[0])
    assert [bucket.take("a") for _ in range(3)] == [0, 0, 0]
    assert bucket.take("a") == pytest.approx(0.5)
    assert bucket.take("b") == 0
    now[0] = 0.5
    assert bucket.take("a") == 0
    assert bucket.take("a") > 0


def test_answers_carry_their_protection_and_no_secret_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        answer = service.send("viewer", "GET", "/api/programs")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert caplog.records
    for secret in service.secrets.values():
        assert secret not in caplog.text


def test_how_we_are(service: Service) -> None:
    assert service.client.get("/health").json()["status"] == "ok"
    assert service.client.get("/ready").status_code == 200
    assert service.client.get("/metrics").status_code == 401
    assert "aftereffect_requests_total" in service.send("viewer", "GET", "/metrics").text


def test_openapi_describes_every_route_with_examples(service: Service) -> None:
    document = service.client.get("/api/openapi.json").json()
    assert "/api/programs/{name}/tell" in document["paths"]
    assert "examples" in document["components"]["schemas"]["Told"]["properties"]["rewards"]


def test_a_program_is_created_with_all_that_a_local_one_takes(service: Service) -> None:
    start = {"north": 0.5, "south": 0.3, "west": 0.2}
    body = {"name": "weekly", "arms": list(start), "units": 300, "start": start, "step": 0.05, "caution": 2}
    assert service.send("chief", "POST", "/api/programs", json=body).status_code == 201
    asked = service.send("chief", "POST", "/api/programs/weekly/ask").json()
    assert asked["allocation"] == pytest.approx(start)
    opened = service.send("chief", "POST", "/api/programs/weekly/arms", json={"arm": "east", "share": 0.05})
    assert opened.status_code == 201
    asked = service.send("chief", "POST", "/api/programs/weekly/ask").json()
    assert asked["allocation"]["east"] == pytest.approx(0.05)
    assert (
        service.send("chief", "POST", "/api/programs/weekly/arms/close", json={"arm": "east", "share": 1}).status_code
        == 422
    )
