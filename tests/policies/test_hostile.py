"""Agents under attack: whatever is done to one in whatever order, a wrong call changes nothing and all advice can be deployed."""

from __future__ import annotations

import datetime
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas
import polars
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import aftereffect as ae
from aftereffect.policies.state_files import arrays_of
from tests.simulation.cases import IDS, POLICIES

NAN, INF = float("nan"), float("inf")
ARMS = 3
NAMES = ("north", "centre", "south")

ODD: list[Any] = [
    NAN, INF, -INF, -1e-9, 1 + 1e-9, 2, -1, 10**400, -(10**400), 1e308, 5e-324, None, True, "0.5", "nan", "", b"1", 1j, [], {},
    [0.5],
    (0.5, 0.5), object(), np.nan, np.inf, np.float32(0.5), np.complex128(1j), np.datetime64("2026-01-05"), np.timedelta64(1, "D"),
    np.ma.masked, np.array(0.5), np.array([]), np.zeros((3, 3)), datetime.date(2026, 1, 5), pandas.NA, pandas.NaT, slice(None),
    float,
]  # fmt: skip

TOLD: list[Any] = [
    0.5, "half", b"half", [], [0.5], [0.5] * 4, [[0.5] * 3], {}, {"north": 0.5, "west": 0.5}, {0: 0.5}, {None: 0.5}, {0.5},
    object(),
    np.ma.masked_array([0.5] * 3, mask=[True, False, False]), np.array([1j] * 3), np.array(["0.5"] * 3), np.zeros((3, 1)),
    np.array(["2026-01-05"] * 3, dtype="datetime64[D]"), pandas.Series([0.5] * 3), pandas.Series({"west": 0.5}),
    pandas.Series([0.5, 0.5], index=["north", "north"]), pandas.Series({"north": "0.5"}), pandas.DataFrame({"north": [0.5, 0.5]}),
    polars.Series([0.5] * 3), polars.DataFrame({"west": [0.5]}), iter([0.5] * 3), range(3), lambda: 0.5, NotImplemented, ...,
]  # fmt: skip

numbers = st.floats(0, 1) | st.sampled_from(ODD)
anything = (
    st.sampled_from(TOLD)
    | st.lists(numbers, min_size=ARMS, max_size=ARMS)
    | st.dictionaries(st.sampled_from(NAMES), numbers)
)


def _snapshot(agent: ae.Agent) -> Any:
    held = None if agent._pending is None else agent._pending.tobytes()
    return agent.rounds, held, [(name, array.tobytes()) for name, array in arrays_of(agent.state).items()]


class Attack(RuleBasedStateMachine):
    """One agent, asked, told, mistold, overridden, saved and loaded."""

    @initialize(
        feedback=st.sampled_from(["independent", "one", "split"]),
        horizon=st.sampled_from([1, 7, 100, 10**6]),
        seed=st.integers(0, 2**32),
    )
    def start(self, feedback: Any, horizon: int, seed: int) -> None:
        self.agent = self.policy.start(ARMS, horizon, seed, feedback=feedback, names=NAMES)
        self.asked: np.ndarray | None = None

    @rule()
    def ask(self) -> None:
        self.asked = self.agent.ask()
        assert self.agent.ask().tolist() == self.asked.tolist()
        assert np.all((self.asked >= 0) & (self.asked <= 1))
        assert abs(self.asked.sum() - 1) < 1e-9

    def _refused(self, *told: Any, **options: Any) -> bool:
        """Was the call refused, with nothing changed?"""
        before, rounds = _snapshot(self.agent), self.agent.rounds
        said = None
        try:
            self.agent.tell(*told, **options)
        except ae.AftereffectError as error:
            said = str(error)
        if said is not None:
            assert "\n" not in said
            assert _snapshot(self.agent) == before
            return True
        assert self.agent.rounds == rounds + 1
        self.asked = None
        return False

    @rule(
        told=anything | st.none(),
        trials=anything | st.none(),
        allocation=anything | st.none(),
        measures=anything | st.none(),
    )
    def tell_anything(self, told: Any, trials: Any, allocation: Any, measures: Any) -> None:
        self._refused(told, trials=trials, allocation=allocation, measures=measures)

    @rule(told=anything)
    def tell_odd_rewards(self, told: Any) -> None:
        self._refused(told)

    @precondition(lambda self: self.asked is None)
    @rule()
    def tell_unasked(self) -> None:
        if self.agent._pending is None:
            assert self._refused([0.5] * ARMS)

    @precondition(lambda self: self.asked is not None)
    @rule(
        rewards=st.lists(st.floats(0, 1), min_size=ARMS, max_size=ARMS),
        seen=st.integers(0, ARMS - 1),
        by_name=st.booleans(),
    )
    def tell(self, rewards: list[float], seen: int, by_name: bool) -> None:
        assert self.asked is not None
        shares = self.asked
        one = self.agent.setting.feedback == "one"
        told = {
            n: r
            for k, (n, r) in enumerate(zip(NAMES, rewards, strict=True))
            if shares[k] > 0 and (not one or k == seen)
        }
        refused = self._refused(told if by_name else [told.get(n, NAN) for n in NAMES])
        assert not refused

    @precondition(lambda self: self.asked is not None)
    @rule(weights=st.lists(st.integers(0, 9), min_size=ARMS, max_size=ARMS).filter(any))
    def override(self, weights: list[int]) -> None:
        shares = [w / sum(weights) for w in weights]
        assert not self._refused(None, allocation=shares)

    @rule()
    def explain(self) -> None:
        assert self.agent.explain()["round"] == self.agent.rounds + 1
        self.asked = self.agent.ask()

    @rule()
    def save_and_load(self) -> None:
        self.agent.save(self.path)
        before = _snapshot(self.agent)
        self.agent = ae.load_agent(self.path)
        assert _snapshot(self.agent) == before

    @invariant()
    def nothing_is_nan(self) -> None:
        if hasattr(self, "agent"):
            Attack.steps += 1
            assert not any(a.dtype.kind == "f" and np.isnan(a).any() for a in arrays_of(self.agent.state).values())

    path: Any = None
    policy: ae.Policy
    steps: int = 0


def _attack(policy: ae.Policy, examples: int, steps: int, path: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Attack so many agents with up to so many steps each; how many steps that came to."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(Attack, "path", path)
    monkeypatch.setattr(Attack, "policy", policy, raising=False)
    monkeypatch.setattr(Attack, "steps", 0)
    run_state_machine_as_test(
        Attack,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return Attack.steps


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_fifty_steps_against_agents_of_each_policy(
    policy: ae.Policy, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(POLICIES) * _attack(policy, 3, 25, tmp_path / "agent.json", monkeypatch) >= 1000


@pytest.mark.soak
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_thousands_of_steps_against_agents_of_each_policy(
    policy: ae.Policy, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(POLICIES) * _attack(policy, 120, 50, tmp_path / "agent.json", monkeypatch) >= 100_000
