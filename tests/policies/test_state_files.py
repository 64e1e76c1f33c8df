"""Files last: agents that earlier versions saved go on, and a state that changes says how to read what was saved before."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import UnknownName
from aftereffect.policies import base
from aftereffect.policies.rules import register_rule
from aftereffect.policies.state_files import read_state, write_state

SAVED = Path(__file__).parent / "saved" / "schema-5"
NAMES = sorted(path.stem for path in SAVED.glob("*.json") if path.stem != "continued")
BY_NAME = SAVED.parent / "schema-6"  # the same agents, with the numbers of their states by name
LEARNING_STILL = ("curve-thompson", "curve-thompson-bound", "fair-thompson")  # how they decide is not settled for good


def _go_on(agent: ae.Agent, rounds: range) -> list[list[float]]:
    """Tell what the saved agents were told, when the files were made."""
    rewards, asked = np.random.default_rng(5).random((40, 3)).round(2), []
    for t in rounds:
        shares = agent.ask()
        asked.append(shares.tolist())
        agent.tell(np.where(shares > 0, rewards[t], np.nan), trials=np.where(shares > 0, 20, 0))
    return asked


@pytest.mark.parametrize(
    "path",
    [*(SAVED / f"{name}.json" for name in NAMES), *sorted(BY_NAME.glob("*.json"))],
    ids=lambda p: f"{p.parent.name}-{p.stem}",
)
def test_what_was_saved_goes_on(path: Path) -> None:
    agent, name = ae.load_agent(path), path.stem
    assert agent.rounds == 15
    assert agent.names == ("north", "centre", "south")
    asked = _go_on(agent, range(15, 25))
    if name in LEARNING_STILL:
        assert np.allclose(np.sum(asked, axis=1), 1.0)
    else:
        assert asked == json.loads((SAVED / "continued.json").read_text())[name]


class CountsState(NamedTuple):
    counts: np.ndarray
    work: np.ndarray  # no scratch: it holds what was deployed last


def ask_counts(state, t, allocation):
    for k in range(allocation.shape[0]):
        allocation[k] = state.work[k]


def tell_counts(state, t, allocation, seen, reward):
    for k in range(allocation.shape[0]):
        state.counts[k] += seen[k]
        state.work[k] = allocation[k]


@dataclass(frozen=True)
class Inert(ae.Policy):
    name: ClassVar[str] = "inert"

    def state(self, setting: ae.Setting) -> CountsState:
        return CountsState(np.zeros(setting.arms), np.full(setting.arms, 1 / setting.arms))


@pytest.fixture
def inert(monkeypatch: pytest.MonkeyPatch) -> Inert:
    monkeypatch.setitem(base._REGISTRY, "inert", Inert)
    register_rule(CountsState, ask_counts, tell_counts)
    return Inert()


def test_a_field_is_scratch_only_where_it_is_said(inert: Inert, tmp_path: Path) -> None:
    agent = inert.start(2)
    agent.ask()
    agent.tell([0.5, 0.5], allocation=[0.25, 0.75])
    agent.save(tmp_path / "agent.json")
    assert ae.load_agent(tmp_path / "agent.json").ask().tolist() == agent.ask().tolist() == [0.25, 0.75]


def test_a_policy_from_elsewhere_is_told_and_refuses_what_is_wrong(inert: Inert) -> None:
    agent = inert.start(2)
    for number in (1, 2):
        agent.ask()
        agent.tell([0.5, 0.5])
        assert agent.rounds == number
    agent.ask()
    with pytest.raises(ae.WrongTell, match=r"rewards must lie in \[0, 1\]"):
        agent.tell([0.5, 1.5])
    assert agent.state.counts.tolist() == [2.0, 2.0]


def test_scratch_must_exist() -> None:
    with pytest.raises(UnknownName, match="wrok"):
        register_rule(CountsState, ask_counts, tell_counts, scratch=("wrok",))


def test_a_state_goes_through_all_its_versions(inert: Inert, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = inert.start(2)
    agent.ask()
    agent.tell([0.5, 0.5])
    agent.save(path)

    def halve(saved: dict[str, Any], fresh: Any) -> None:
        saved["counts"] = [n / 2 for n in saved["counts"]]

    def begin_anew(saved: dict[str, Any], fresh: Any) -> None:
        saved["work"] = fresh["work"][::-1].tolist()

    register_rule(CountsState, ask_counts, tell_counts, version=3, migrations={1: halve, 2: begin_anew})
    assert ae.load_agent(path).state.counts.tolist() == [0.5, 0.5]
    register_rule(CountsState, ask_counts, tell_counts, version=3, migrations={2: begin_anew})
    with pytest.raises(ae.CorruptFile, match=r"inert in it has version 1.*history="):
        ae.load_agent(path)
    register_rule(CountsState, ask_counts, tell_counts, version=3)
    inert.start(2).save(path)
    register_rule(CountsState, ask_counts, tell_counts)
    with pytest.raises(ae.CorruptFile, match=r"version 3; this one reads up to 1"):
        ae.load_agent(path)


def test_a_state_within_another_has_its_own_version(inert: Inert) -> None:
    outer = ae.Phased(inert, approach=1)
    setting = ae.Setting(2, 100)
    versions, saved = write_state(outer.state(setting))
    assert versions == {"": 2, "inner.": 1}

    def double(saved: dict[str, Any], fresh: Any) -> None:
        assert set(saved) == {"counts", "work"}
        saved["counts"] = [n + 2 for n in saved["counts"]]

    register_rule(CountsState, ask_counts, tell_counts, version=2, migrations={1: double})
    arrays = read_state(outer.state(setting), versions, saved, "phased")
    assert arrays["inner.counts"].tolist() == [2.0, 2.0]
    assert arrays["held"].tolist() == outer.state(setting).held.tolist()
