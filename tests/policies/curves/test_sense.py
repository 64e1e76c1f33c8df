"""What no rounds lead to is refused when it is read: what is fitted to sums that do not fit together is no number."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.fit import BOOKED, COUNT, PRECISION, PULL, PULLED, SQUARE, WEIGHT
from aftereffect.policies.saving import agent_text
from aftereffect.policies.storage import read_agent

CURVES, FAIR = ae.CurveThompson(memory=0.4), ae.FairThompson(tolerance=0.1, memory=0.4)
ROWS = range(BOOKED)


@cache
def _told(policy: ae.Policy) -> ae.Agent:
    """An agent after some rounds; nothing here changes it."""
    agent = policy.start(3, 200, seed=5, feedback="split")
    random = np.random.default_rng(1)
    for _ in range(20):
        agent.ask()
        agent.tell(random.random(3).round(1), measures=random.random(3) if policy is FAIR else None)
    return agent


def _edited(agent: ae.Agent, changes: dict[str, Any]) -> ae.Agent:
    """The agent from a file in which these arrays were changed and the checksum made to fit."""
    document = json.loads(agent_text(agent))
    state = document["agent"]["state"]
    for name, value in changes.items():
        state[name] = {**state[name], **value} if isinstance(value, dict) else np.asarray(value).ravel().tolist()
    document["sha256"] = hashlib.sha256(json.dumps(document["agent"]).encode()).hexdigest()
    return read_agent(json.dumps(document), "agent.json")


def _with(booked: np.ndarray, row: int, value: float) -> np.ndarray:
    """One of the sums changed wherever something was seen."""
    changed = booked.copy()
    changed[:, row][booked[:, COUNT] > 0] = value
    return changed


def test_sums_beyond_all_numbers_are_refused() -> None:
    agent = _told(FAIR)
    banks, booked = agent.state.curves.banks, agent.state.booked.copy()
    booked[:, PULL, 0] *= 1e300  # one arm's measure is beyond all others': what is held is surely not fair
    for row in (WEIGHT, PULL):
        changes = {"curves.banks": _with(banks, row, 1e308), "booked": booked, "curves.now": {"hold_until": [0]}}
        with pytest.raises(ae.CorruptFile, match=r"agent\.json' does not hold an agent's state: banks cannot be"):
            _edited(agent, changes)
    with pytest.raises(ae.CorruptFile, match="booked cannot be"):
        _edited(agent, {"booked": booked})


@pytest.mark.parametrize("name", ["curves.banks", "booked"])
@pytest.mark.parametrize(
    ("row", "value"),
    [
        *((row, -1.0) for row in ROWS),
        *((row, 1e308) for row in ROWS),
        *((row, 0.0) for row in (PRECISION, WEIGHT)),
        (COUNT, 5e-324),
        (PULLED, 1e-9),
        (SQUARE, 1e9),
    ],
)
def test_sums_that_do_not_fit_together_are_refused(name: str, row: int, value: float) -> None:
    agent = _told(FAIR)
    booked = agent.state.booked if name == "booked" else agent.state.curves.banks
    with pytest.raises(ae.CorruptFile, match=f"{name.rpartition('.')[2]} cannot be"):
        _edited(agent, {name: _with(booked, row, value)})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 1e308) for name in ("noise", "spread", "white", "foretold", "evidence", "scores", "leads", "credit")),
        *((name, -1e308) for name in ("noise", "spread", "white", "foretold", "evidence", "scores", "leads", "credit")),
    ],
)
def test_numbers_out_of_all_bounds_are_refused(name: str, value: float) -> None:
    agent = _told(CURVES)
    changed = getattr(agent.state, name).copy()
    changed.flat[1] = value
    with pytest.raises(ae.CorruptFile, match=f"{name} cannot be"):
        _edited(agent, {name: changed})


@pytest.mark.parametrize(
    "change",
    [
        {"hold_until": [2**62]},
        {"hold_until": [-1]},
        {"review_at": [2**62]},
        {"faded_at": [2**62]},
        {"takes_turns": [2]},
        {"may_take_turns": [0]},
        {"learns_memory": [1]},
        {"measured": [7]},
        {"seen": [1e308]},
        {"shares": ["nan"]},
        {"moved": ["inf"]},
        {"against": ["nan"]},
    ],
    ids=str,
)
def test_a_decision_under_way_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ae.CorruptFile, match=f"{next(iter(change))} cannot be"):
        _edited(_told(CURVES), {"now": change})


def test_another_tolerance_than_the_policys_is_refused() -> None:
    agent = _told(FAIR)
    for tolerance in ([0.9, 0.9], [0.1, 0.05], [0.1, 2.0]):
        with pytest.raises(ae.CorruptFile, match="tolerance cannot be"):
            _edited(agent, {"tolerance": tolerance})
    with pytest.raises(ae.CorruptFile, match="measures cannot be"):
        _edited(agent, {"measures": np.full(agent.state.measures.shape, 1.5)})


@pytest.mark.parametrize("policy", [CURVES, ae.CurveThompson(memory_bound=0.95), FAIR], ids=lambda p: p.key)
def test_what_extreme_rounds_lead_to_is_read(policy: ae.Policy) -> None:
    """Trials of very many and of one, rewards all alike and never alike, long silences: whatever was told can be loaded."""
    agent = policy.start(3, seed=2, feedback="split", keep=1)
    random = np.random.default_rng(3)
    for t in range(110):
        shares = agent.ask()
        if t % 50 > 40:
            agent.tell(None)
        else:
            rewards = np.full(3, t % 100 // 50.0) if t % 3 else random.random(3)
            trials = [9e14, 1.0, 30.0] if t % 2 else [1.0, 1e14, 2.0]
            known = shares > 0
            agent.tell(np.where(known, rewards, np.nan), trials=np.where(known, trials, 0), measures=random.random(3))
        if t % 7 == 0:
            agent = read_agent(agent_text(agent), "agent.json")
    assert agent.rounds == 110


@pytest.mark.parametrize("name", ["curves.belief", "belief"])
@pytest.mark.parametrize("changed", [{"rate": [5e-324]}, {"rate": [0.99]}, {"scale": [5e-324]}, {"scale": [0.9]}])
def test_a_rate_that_leaves_no_room_and_a_scale_that_it_does_not_say_are_refused(name: str, changed: Any) -> None:
    """What was fitted with them was no number."""
    with pytest.raises(ae.CorruptFile, match=rf"belief\.{next(iter(changed))} cannot be"):
        _edited(_told(FAIR), {name: changed})
