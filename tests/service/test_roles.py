"""Every route with every role: allowed or refused as its one declaration says."""

from __future__ import annotations

from typing import Any

import pytest

from aftereffect.service import api, dashboard
from aftereffect.service.tokens import ROLES
from tests.service.conftest import Service

BODIES: dict[str, Any] = {
    "create_program": {"name": "new", "arms": ["a", "b"], "policy": "thompson-split"},
    "deploy": {},
    "tell": {"rewards": {"north": 0.5}},
    "set_limits": {"floors": {"north": 0.1}},
    "open_arm": {"arm": "west"},
    "close_arm": {"arm": "south"},
    "set_policy": {"policy": "thompson-split"},
    "create_token": {"role": "viewer"},
}


def _needed(route: Any) -> tuple[str, str]:
    """The role that a route's dependency admits, and for which programs."""
    gates = [d.call for d in route.dependant.dependencies if hasattr(d.call, "role")]
    assert len(gates) == 1, f"{route.path} admits nobody in particular"
    return gates[0].role, "all" if gates[0].program is None else "own"


ROUTES = [route for route in api.router.routes if hasattr(route, "dependant")]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{sorted(route.methods)[0]} {route.path}")
def test_every_route_admits_its_role_and_no_lesser_one(service: Service, route: Any) -> None:
    role, scope = _needed(route)
    method = sorted(route.methods)[0]
    path = route.path.replace("{name}", "loans").replace("{identity}", "none")
    body = {"json": BODIES[route.name]} if route.name in BODIES else {}
    assert service.send(None, method, path, **body).status_code == 401
    assert service.send(None, method, path, headers={"Authorization": "Bearer ae_x_y"}, **body).status_code == 401
    for given in (*ROLES, "chief"):
        answer = service.send(given, method, path, **body)
        enough = given == "chief" or (scope == "own" and ROLES.index(given) >= ROLES.index(role))
        assert (answer.status_code not in (401, 403)) == enough, f"{given}: {answer.status_code} {answer.text}"
        assert answer.status_code < 500


@pytest.mark.parametrize("role", ROLES)
def test_another_program_does_not_exist_for_a_token(service: Service, role: str) -> None:
    for path in ("", "/explain", "/events", "/audit", "/export"):
        there = service.send(role, "GET", f"/api/programs/calls{path}")
        nowhere = service.send(role, "GET", f"/api/programs/nowhere{path}")
        assert there.status_code == nowhere.status_code == 404
        assert there.json()["detail"].replace("calls", "nowhere") == nowhere.json()["detail"]
    assert [row["name"] for row in service.send(role, "GET", "/api/programs").json()] == ["loans"]


@pytest.mark.parametrize("action", sorted(dashboard.ACTIONS))
@pytest.mark.parametrize("role", ROLES)
def test_forms_need_the_same_roles(service: Service, action: str, role: str) -> None:
    needed = dashboard.ACTIONS[action][0]
    service.client.post("/login", data={"token": service.secrets[role]})
    page = service.client.get("/programs/loans", headers={"Accept": "text/html"}).text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    answer = service.client.post(f"/programs/loans/{action}", data={"csrf": csrf}, follow_redirects=False)
    assert (answer.status_code != 403) == (ROLES.index(role) >= ROLES.index(needed))
    assert answer.status_code < 500
    forged = service.client.post(f"/programs/loans/{action}", data={"csrf": "x" * 32}, follow_redirects=False)
    assert forged.status_code == 403
