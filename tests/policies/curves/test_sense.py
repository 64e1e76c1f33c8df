"""What no rounds lead to is refused when it is read: what is fitted to sums that do not fit together is no number."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.fit import BOOKED
from aftereffect.policies.saving import agent_text
from aftereffect.policies.storage import read_agent

CURVES, FAIR = ae.CurveThompson(memory=0.4), ae.FairThompson(tolerance=0.1, memory=0.4)
PARTS = BOOKED.names or ()


@cache
def _told(policy: ae.Policy) -> ae.Agent:
    """An agent after some rounds; nothing here changes it."""
    agent = policy.start(3, 200, seed=5, feedback="split")
    random = np.random.default_rng(1)
    for _ in range(20):
        told = np.where(agent.ask() > 0.0, random.random(3).round(1), np.nan)
        agent.tell(told, measures=random.random(3) if policy is FAIR else None)
    return agent


def _edited(agent: ae.Agent, changes: dict[str, Any]) -> ae.Agent:
    """The agent from a file in which these arrays were changed and the checksum made to fit."""
    document = json.loads(agent_text(agent))
    state = document["agent"]["state"]
    for name, value in changes.items():
        if isinstance(value, dict):
            state[name] |= {part: np.asarray(numbers).ravel().tolist() for part, numbers in value.items()}
        else:
            state[name] = np.asarray(value).ravel().tolist()
    document["sha256"] = hashlib.sha256(json.dumps(document["agent"]).encode()).hexdigest()
    return read_agent(json.dumps(document), "agent.json")


def _with(booked: np.ndarray, part: str, value: float) -> dict[str, np.ndarray]:
    """One of the sums changed wherever something was seen."""
    return {part: np.where(booked["count"] > 0, value, booked[part])}


def test_sums_beyond_all_numbers_are_refused() -> None:
    agent = _told(FAIR)
    pull = agent.state.booked["pull"].copy()
    pull[:, 0] *= 1e300  # one arm's measure is beyond all others': what is held is surely not fair
    booked = {"pull": pull}
    for part in ("weight", "pull"):
        banks = _with(agent.state.curves.banks, part, 1e308)
        changes = {"curves.banks": banks, "booked": booked, "curves.now": {"hold_until": [0]}}
        with pytest.raises(ae.CorruptFile, match=r"agent\.json' does not hold an agent's state: banks cannot be"):
            _edited(agent, changes)
    with pytest.raises(ae.CorruptFile, match="booked cannot be"):
        _edited(agent, {"booked": booked})


@pytest.mark.parametrize("name", ["curves.banks", "booked"])
@pytest.mark.parametrize(
    ("part", "value"),
    [
        *((part, -1.0) for part in PARTS),
        *((part, 1e308) for part in PARTS),
        *((part, 0.0) for part in ("precision", "weight")),
        ("count", 5e-324),
        ("pulled", 1e-9),
        ("square", 1e9),
    ],
)
def test_sums_that_do_not_fit_together_are_refused(name: str, part: str, value: float) -> None:
    agent = _told(FAIR)
    booked = agent.state.booked if name == "booked" else agent.state.curves.banks
    with pytest.raises(ae.CorruptFile, match=rf"{name.rpartition('.')[2]}(\.count)? cannot be"):
        _edited(agent, {name: _with(booked, part, value)})


@pytest.mark.parametrize(
    "name",
    [
        *("noise", "white", "evidence", "scores", "leads", "credit"),
        *("spread.dispersion", "spread.shock", "foretold.mean", "foretold.variance"),
    ],
)
@pytest.mark.parametrize("value", [1e308, -1e308])
def test_numbers_out_of_all_bounds_are_refused(name: str, value: float) -> None:
    agent = _told(CURVES)
    field, _, part = name.partition(".")
    array = getattr(agent.state, field)
    changed = (array[part] if part else array).copy()
    changed.flat[1] = value
    with pytest.raises(ae.CorruptFile, match=f"{field} cannot be"):
        _edited(agent, {field: {part: changed} if part else changed})


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
    for wanted, used in ((0.9, 0.9), (0.1, 0.05), (0.1, 2.0)):
        with pytest.raises(ae.CorruptFile, match="tolerance cannot be"):
            _edited(agent, {"settings": {"tolerance": [wanted]}, "now": {"tolerance": [used]}})
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
def test_a_rate_that_leaves_no_room_and_a_scale_that_none_says_are_refused(name: str, changed: Any) -> None:
    """What was fitted with them was no number."""
    with pytest.raises(ae.CorruptFile, match=rf"belief\.{next(iter(changed))} cannot be"):
        _edited(_told(FAIR), {name: changed})
