"""The largest step: kept for every policy that can, in the simulator and in the agent alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import POLICY, stream
from aftereffect.policies.agent import Agent
from aftereffect.policies.pace import keep_pace
from aftereffect.simulation.runs import run_once, setting_for
from tests.simulation.cases import OURS

STEP = 0.07
ONE_HOT = [name for name, cls in OURS.items() if cls.one_hot]
GRADUAL = ["kl-ucb", "cucb", "history-ucb", "fixed"]


def test_what_was_asked_for_is_approached_along_the_straight_line() -> None:
    previous, allocation = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    keep_pace(previous, allocation, 0.1)
    assert allocation == pytest.approx([0.4, 0.3, 0.3])
    within = np.array([0.45, 0.3, 0.25])
    keep_pace(previous, within, 0.1)
    assert within.tolist() == [0.45, 0.3, 0.25]  # bit by bit what was asked for
    free = np.array([1.0, 0.0, 0.0])
    keep_pace(np.full(3, np.nan), free, 0.1)
    assert free.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("name", GRADUAL)
@pytest.mark.parametrize("start", [None, [0.6, 0.3, 0.1]])
def test_no_share_moves_faster_and_limits_hold(name: str, start: list[float] | None) -> None:
    problem = ae.problem("patrol", arms=3, memory=0.5, units=60, floors=0.05, caps=0.8, start=start, step=STEP, seed=3)
    trace = run_once(problem, ae.policy(name), np.array([300]), 1, trace=True).trace.allocation
    before = trace[:-1] if start is None else np.vstack([start, trace[:-1]])
    after = trace[1:] if start is None else trace
    assert np.abs(after - before).max() <= STEP + 1e-12
    assert np.abs(trace.sum(axis=1) - 1).max() <= 1e-9
    assert trace.min() >= 0.05 - 1e-9
    assert trace.max() <= 0.8 + 1e-9


@pytest.mark.parametrize("name", GRADUAL)
def test_simulator_and_agent_agree(name: str) -> None:
    problem = ae.problem("loan", arms=3, memory=0.5, units=80, start=[0.2, 0.2, 0.6], step=STEP, seed=3)
    run = run_once(problem, ae.policy(name), np.array([120]), 5, trace=True)
    agent = Agent(ae.policy(name), setting_for(problem, 120, stream(5, 0, 0, POLICY)))
    for allocation, _, seen, reward, _ in zip(*run.trace, strict=True):
        assert agent.ask().tolist() == allocation.tolist()
        agent.tell(np.where(seen > 0, reward, np.nan), trials=seen)


@pytest.mark.parametrize("name", ONE_HOT)
def test_policies_that_give_everything_to_one_arm_refuse_steps(name: str) -> None:
    with pytest.raises(ae.AftereffectError, match=f"{name} gives everything to one arm and cannot keep a largest step"):
        ae.policy(name).start(arms=3, horizon=100, step=0.1)
    with pytest.raises(ae.AftereffectError, match="cannot keep a largest step"):
        ae.simulate(ae.problem("loan", step=0.1), ae.policy(name), horizon=10)
    with pytest.raises(ae.AftereffectError, match="cannot keep a largest step"):
        ae.Phased(ae.policy(name), approach=2).start(arms=3, horizon=100, step=0.1)


def test_an_override_counts_as_deployed() -> None:
    agent = ae.Fixed([1.0, 0.0]).start(arms=2, start=[0.0, 1.0], step=0.1)
    assert agent.ask() == pytest.approx([0.1, 0.9])
    agent.tell([1.0, 1.0], allocation=[0.5, 0.5])
    assert agent.ask() == pytest.approx([0.6, 0.4])
    agent.tell(None)
    assert agent.ask() == pytest.approx([0.7, 0.3])


def test_past_records_count_as_deployed() -> None:
    agent = ae.Fixed([1.0, 0.0]).start(arms=2, start="even", step=0.1, history=[[0.2, 0.8]])
    assert agent.ask() == pytest.approx([0.3, 0.7])


def test_without_a_start_the_first_round_is_free() -> None:
    agent = ae.Fixed([1.0, 0.0]).start(arms=2, step=0.1)
    assert agent.ask().tolist() == [1.0, 0.0]


def test_a_saved_agent_keeps_its_pace(tmp_path: Path) -> None:
    policy = ae.CUCB(levels=20)
    agent = policy.start(3, 100, start={"a": 0.8, "b": 0.2}, names=["a", "b", "c"], step=0.05, caution=0.3)
    for _ in range(5):
        agent.ask()
        agent.tell([1.0, 0.0, 1.0], trials=[3, 3, 3]) if agent.ask().min() > 0 else agent.tell(None)
    agent.save(tmp_path / "agent.json")
    loaded = ae.load_agent(tmp_path / "agent.json")
    assert (loaded.setting.step, loaded.setting.caution) == (0.05, 0.3)
    assert loaded.setting.start is not None
    assert loaded.setting.start.tolist() == [0.8, 0.2, 0.0]
    for _ in range(20):
        assert loaded.ask().tolist() == agent.ask().tolist()
        for each in (agent, loaded):
            each.tell(None)


def test_agents_saved_before_there_were_steps_are_read(tmp_path: Path) -> None:
    from aftereffect.policies.saving import checksum

    file = tmp_path / "agent.json"
    agent = ae.CUCB(levels=10).start(2, 100)
    agent.save(file)
    document = json.loads(file.read_text())
    for field in ("start", "step", "caution", "deployed"):
        del document["agent"][field]
    document["schema"], document["sha256"] = 3, checksum(json.dumps(document["agent"]))
    file.write_text(json.dumps(document))
    loaded = ae.load_agent(file)
    assert loaded.setting.step is None
    assert loaded.ask().tolist() == agent.ask().tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"step": 0}, r"step must lie in \(0, 1\], got 0"),
        ({"step": "small"}, "step must be a finite number, got 'small'"),
        ({"start": [0.5, 0.6]}, "sum to 1"),
        ({"start": {"north": 1.0}}, "start by name needs names="),
        ({"start": {"north": 1.0}, "names": ["a", "b"]}, "unknown arm 'north'"),
        ({"caution": "much"}, "caution must be a finite number"),
    ],
)
def test_what_cannot_be(options, said) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        ae.Fixed().start(arms=2, **options)
