"""Rewards that are seen later: the simulator does what an agent does that is told late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import POLICY, WORLD, stream
from aftereffect.model.world import step
from aftereffect.simulation.runs import setting_for


def _problem(**options: Any) -> ae.Problem:
    return ae.problem("loan", arms=3, memory=0.6, units=100, seed=3, **options)


def _by_agent(policy: ae.Policy, delay: int, rounds: int) -> np.ndarray:
    """The same run by hand: an agent that deploys, and is told so many rounds later."""
    problem = _problem()
    world = problem.world(stream(1, 0, 0, WORLD))
    agent = ae.Agent(policy, setting_for(problem, rounds, stream(1, 0, 0, POLICY)))
    asked: list[np.ndarray] = []
    out: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for t in range(1, rounds + 1):
        if t - delay - 1 >= 1:
            seen, reward = out.pop(t - delay - 1)
            agent.tell(np.where(seen > 0, reward, np.nan), trials=seen, round=t - delay - 1)
        shares = agent.ask()
        asked.append(shares)
        agent.deploy()
        seen, reward = np.zeros(3), np.zeros(3)
        step(world, t, shares, seen, reward)
        out[t] = (seen, reward)
    return np.array(asked)


@pytest.mark.parametrize("policy", [ae.UCB1(), ae.CurveThompson(memory=0.6, levels=20)], ids=lambda p: p.key)
@pytest.mark.parametrize("delay", [1, 4])
def test_the_simulator_does_what_an_agent_does(policy: ae.Policy, delay: int) -> None:
    result = ae.simulate(_problem(delay=delay), policy, horizon=30, runs=1, seed=1, threads=1, trace=True)
    assert result.trace is not None
    assert np.array_equal(result.trace.allocation[0], _by_agent(policy, delay, 30))


def test_no_delay_is_the_compiled_loop() -> None:
    policy = ae.CurveThompson(memory=0.6, levels=20)
    plain = ae.simulate(_problem(), policy, horizon=40, runs=2, seed=1, threads=1, trace=True)
    for none in (0, [1.0]):
        same = ae.simulate(_problem(delay=none), policy, horizon=40, runs=2, seed=1, threads=1, trace=True)
        assert plain.trace is not None
        assert same.trace is not None
        assert np.array_equal(plain.trace.allocation, same.trace.allocation)
        assert np.array_equal(plain.regret, same.regret)


def test_delays_are_drawn_from_their_chances() -> None:
    from aftereffect.simulation.delayed import Delayed

    chances = (0.5, 0.25, 0.0, 0.25)
    late = Delayed(ae.UCB1(), ae.Setting(2), chances, np.random.default_rng(1))
    counts = np.bincount([late._draw() for _ in range(4000)], minlength=4) / 4000
    assert np.allclose(counts, chances, atol=0.04)  # five deviations


@pytest.mark.parametrize("kind", ["geometric", "poisson"])
def test_as_many_rounds_are_open_as_a_delay_lasts_in_the_mean(kind: Any) -> None:
    """Little's law: one round begins a round, so the mean number still out is the mean delay."""
    from aftereffect.simulation.delayed import Delayed

    mean, rounds = 4.0, 4_000
    chances = _problem(delay=ae.Delay(kind, mean)).delay
    late = Delayed(ae.Fixed(), ae.Setting(2), chances, np.random.default_rng(2))  # type: ignore[arg-type]
    shares, seen = np.array([0.5, 0.5]), np.ones(2)
    still_out = []
    for t in range(1, rounds + 1):
        late.ask({}, t, shares)
        still_out.append(len(late.course.open_rounds))
        late.tell({}, t, shares, seen, seen)
    assert np.mean(still_out[100:]) == pytest.approx(mean, abs=0.35)


def test_delay_costs_something_and_is_survived() -> None:
    ways: list[Any] = [None, 10, [0.2] * 5]
    late = [ae.simulate(_problem(delay=d), ae.UCB1(), horizon=60, runs=2, seed=1, threads=1) for d in ways]
    assert late[0].regret[:, -1].mean() != late[1].regret[:, -1].mean()
    assert all(np.isfinite(r.regret).all() for r in late)


@pytest.mark.parametrize(
    ("delay", "shown"),
    [
        (-1, "-1"),
        (1.5, r"1\.5"),
        ([0.5, 0.4], r"sum to 1, got \[0\.5, 0\.4\]"),
        ([-1, 2], "sum to 1"),
        ("long", "long"),
        ([], "0"),
        ("geometric", "geometric"),
    ],
)
def test_a_wrong_delay_is_refused(delay: Any, shown: str) -> None:
    with pytest.raises(ae.AftereffectError, match=f"delay.*{shown}"):
        _problem(delay=delay)
