"""The compiled loop: agents, plain Python and a user's own compiled policies make the very same choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import POLICY, stream, uniform
from aftereffect.policies.agent import Agent
from aftereffect.policies.rules import is_foreign, is_plain, register_rule
from aftereffect.simulation.runs import run_once, setting_for
from tests.simulation.cases import FEEDBACKS, IDS, POLICIES

NAN = float("nan")


def _replay(problem: ae.Problem, policy: ae.Policy, horizon: int, seed: int) -> None:
    """Tell an agent what the kernel's run saw: it must deploy the same shares, bit by bit."""
    run = run_once(problem, policy, np.array([horizon]), seed, trace=True)
    agent = Agent(policy, setting_for(problem, horizon, stream(seed, 0, 0, POLICY)))
    for t, (allocation, _, seen, reward, measured) in enumerate(zip(*run.trace, strict=True), start=1):
        asked = agent.ask()
        assert asked.tolist() == allocation.tolist(), f"round {t}"
        agent.tell(np.where(seen > 0, reward, NAN), measures=measured)
    assert agent.rounds == horizon


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_agent_and_kernel_choose_the_same(policy: ae.Policy) -> None:
    for i, feedback in enumerate(FEEDBACKS):
        problem = ae.problem("lipschitz", arms=3, memory=0.4, seed=i, feedback=feedback)
        _replay(problem, policy, 700, seed=i)


@pytest.mark.parametrize("policy", [ae.ActionUCB(), ae.CUCB(zero=True), ae.HistoryUCB(), ae.MetaExp3(), ae.Fixed()])
def test_agent_and_kernel_choose_the_same_within_limits(policy: ae.Policy) -> None:
    problem = ae.problem("gaussian", arms=3, seed=1, floors=[0.2, 0.0, 0.1], caps=[0.5, 0.6, 1.0])
    _replay(problem, policy, 700, seed=3)


@pytest.mark.parametrize("observed", ["all", "activated"])
@pytest.mark.parametrize("name", ["action-ucb", "one-arm-ucb", "history-ucb"])
def test_agent_and_kernel_choose_the_same_under_fairness(name: str, observed: str) -> None:
    problem = ae.problem("loan", arms=3, memory=0.4, seed=1, observed=observed)
    _replay(problem, ae.policy(name, multipliers=[-0.3, 0.1, 0.2]), 700, seed=3)


@pytest.mark.soak
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
@pytest.mark.parametrize("arms", [1, 2, 5])
def test_agent_and_kernel_choose_the_same_for_longer(policy: ae.Policy, arms: int) -> None:
    for seed, feedback in enumerate(FEEDBACKS):
        problem = ae.problem("lipschitz", arms=arms, memory=0.6, seed=seed, feedback=feedback, noise="beta")
        _replay(problem, policy, 10_000, seed)


# Plain Python twins that live outside the package.


@dataclass(frozen=True)
class PlainRoundRobin(ae.PlainPolicy):
    name: ClassVar[str] = "plain-round-robin"

    def ask(self, arrays: Any, t: int, allocation) -> None:
        allocation[:] = 0.0
        allocation[(t - 1) % len(allocation)] = 1.0


@dataclass(frozen=True)
class PlainUCB1(ae.PlainPolicy):
    name: ClassVar[str] = "plain-ucb1"
    scale: float = 1.0

    def arrays(self, setting: ae.Setting) -> dict[str, np.ndarray]:
        return {"counts": np.zeros(setting.arms), "sums": np.zeros(setting.arms)}

    def ask(self, arrays: Any, t: int, allocation) -> None:
        counts, sums = arrays["counts"], arrays["sums"]
        spread = self.scale * math.sqrt(2.0 * math.log(max(1.0, counts.sum())))
        index = [s / n + spread / math.sqrt(n) if n > 0 else math.inf for n, s in zip(counts, sums, strict=True)]
        chosen, equals = 0, 1
        for k in range(1, len(index)):
            if index[k] > index[chosen]:
                chosen, equals = k, 1
            elif index[k] == index[chosen]:
                equals += 1
                if uniform(arrays["rng"]) * equals < 1.0:
                    chosen = k
        allocation[:] = 0.0
        allocation[chosen] = 1.0

    def tell(self, arrays: Any, t: int, allocation, seen, reward) -> None:
        arrays["counts"] += seen
        arrays["sums"] += seen * reward


def _same_results(first: ae.Result, second: ae.Result) -> None:
    assert first.trace is not None
    assert second.trace is not None
    for a, b in zip(first.trace, second.trace, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    for name in ("regret", "realised_regret", "utility", "impact", "allocation"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize(("plain", "compiled"), [(PlainRoundRobin(), ae.RoundRobin()), (PlainUCB1(), ae.UCB1())])
def test_a_plain_policy_gives_the_same_as_its_compiled_twin(feedback, plain, compiled) -> None:
    problem = ae.problem("lipschitz", arms=3, seed=2, feedback=feedback)
    options: dict[str, Any] = {"horizon": 400, "runs": 2, "seed": 5, "trace": True, "threads": 1}
    _same_results(ae.simulate(problem, plain, **options), ae.simulate(problem, compiled, **options))


def test_phases_around_a_plain_policy() -> None:
    problem = ae.problem("patrol", arms=2, seed=2, memory=0.5)
    options: dict[str, Any] = {"horizon": 400, "runs": 2, "seed": 6, "trace": True, "threads": 2}
    plain = ae.simulate(problem, ae.Phased(PlainUCB1()), **options)
    _same_results(plain, ae.simulate(problem, ae.Phased(ae.UCB1()), **options))
    assert is_plain(ae.Phased(PlainUCB1(), 0.5).state(ae.Setting(2, 400)))


# A compiled policy from outside the package.


class HalvesState(NamedTuple):
    counts: Any


def ask_halves(state: HalvesState, t: int, allocation) -> None:
    first = 0.25 if state.counts[0] > state.counts[1] else 0.75
    for k in range(allocation.shape[0]):
        allocation[k] = 0.0
    allocation[0] = first
    allocation[1] = 1.0 - first


def tell_halves(state: HalvesState, t: int, allocation, seen, reward) -> None:
    for k in range(allocation.shape[0]):
        state.counts[k] += seen[k] * reward[k]


register_rule(HalvesState, ask_halves, tell_halves)


@dataclass(frozen=True)
class Halves(ae.Policy):
    name: ClassVar[str] = "halves"

    def state(self, setting: ae.Setting) -> HalvesState:
        return HalvesState(np.zeros(setting.arms))


def test_a_users_own_compiled_policy_runs() -> None:
    problem = ae.problem("loan", arms=3, seed=1)
    state = Halves().state(ae.Setting(3))
    assert is_foreign(state)
    assert not is_plain(state)
    result = ae.simulate(problem, Halves(), 500, runs=2, seed=1, threads=1, trace=True)
    _replay(problem, Halves(), 300, seed=2)
    assert result.trace is not None
    wins = np.zeros((2, 3))
    for t in range(500):  # by hand, from what was seen
        expected = np.where(wins[:, 0] > wins[:, 1], 0.25, 0.75)
        assert np.array_equal(result.trace.allocation[:, t, 0], expected)
        wins += result.trace.reward[:, t]


def test_phases_around_a_users_own_compiled_policy() -> None:
    policy = ae.Phased(Halves(), approach=2)
    assert is_foreign(policy.state(ae.Setting(2, 100)))
    problem = ae.problem("loan", arms=2, seed=1)
    _replay(problem, policy, 200, seed=3)
    trace = ae.simulate(problem, policy, 200, runs=1, threads=1, trace=True).trace
    assert trace is not None
    changes = np.flatnonzero(np.any(np.diff(trace.allocation[0], axis=0) != 0, axis=1)) + 1
    assert np.all(changes % 3 == 0)
