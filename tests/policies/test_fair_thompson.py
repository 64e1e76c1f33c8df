"""fair-thompson: within the tolerance while it learns, and as good as the fair optimum."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curve_fit import COUNT, DRAWN, VALUE


@pytest.mark.parametrize("name", ["lending", "patrol", "loan"])
def test_it_keeps_the_tolerance_and_earns_the_fair_optimum(name):
    """Bounds about three times what 8 runs gave, so that a failure by chance is out of the question."""
    problem = ae.problem(name, arms=2, memory=0.5, seed=3)
    parity = ae.simulate(problem, ae.FairThompson(), 20_000, runs=2, seed=5, checkpoints=[2_000, 20_000]).parity
    assert parity is not None
    early, late = parity.mean_violation.mean(axis=0)
    assert late < 0.01
    assert late < 0.5 * early
    assert np.all(parity.fair_regret[:, -1] / 20_000 < 0.015)


def test_every_decision_is_the_best_within_a_band():
    """Against enumeration, from the curves it drew and the measures it believes in."""
    agent = ae.FairThompson(tolerance=0.15, memory=0.3, levels=12).start(3, seed=2)
    random = np.random.default_rng(1)
    grid = [np.array([a, b, 12 - a - b]) for a in range(13) for b in range(13 - a)]
    rows, judged = np.arange(3), 0
    for t in range(600):
        p = agent.ask()
        state = agent.state
        if agent.explain()["held_until_round"] == t + 5:  # decided in this round
            value, measure = state.curves.cells[VALUE], state.measures[DRAWN]
            fair = [levels for levels in grid if np.ptp(measure[rows, levels]) <= state.tolerance[1] + 1e-12]
            best = max(value[rows, levels].sum() for levels in fair)
            chosen = np.rint(p * 12).astype(int)
            assert value[rows, chosen].sum() == pytest.approx(best)
            judged += 1
        seen = random.random(3) < p
        rewards = np.where(seen, random.random(3) < 0.9 - 0.6 * p, np.nan)
        agent.tell(rewards, measures=(random.random(3) < [0.2, 0.4, 0.8] * p).astype(float))
    assert judged > 100


def test_measures_are_booked_at_the_impact_and_learned():
    """Told measures without noise, its estimates at the impacts visited are right."""
    problem = ae.Problem(
        [lambda _x: 0.5] * 2, ae.Discounted(0.5), fairness=ae.Fairness([lambda x: x, lambda x: 0.4 * x], noise="none")
    )
    from aftereffect.simulation.simulate import run_once, setting_for

    policy = ae.FairThompson()
    run = run_once(problem, policy, np.array([3000]), 3, trace=True)
    agent = ae.Agent(policy, setting_for(problem, 3000, np.arange(1, 5, dtype=np.uint64)))
    for allocation, _, seen, reward, measured in run.trace:
        agent.ask()
        agent.tell(np.where(seen > 0, reward, np.nan), allocation=allocation, measures=measured)
    agent.ask()
    state = agent.state
    visited = state.booked[COUNT] > 100
    x = np.linspace(0, 1, state.measures.shape[2])
    for k, curve in enumerate((x, 0.4 * x)):
        assert visited[k].any()
        assert np.abs(state.measures[DRAWN, k] - curve)[visited[k]].max() < 0.03


def test_a_tolerance_out_of_reach_is_widened_and_said():
    agent = ae.FairThompson(tolerance=0.0, memory=0.0, levels=10).start(2, seed=1)
    for _ in range(400):
        agent.ask()
        agent.tell([float("nan")] * 2, measures=[0.1, 0.9])
    reasons = agent.explain()
    assert reasons["tolerance_seems_unattainable_using"] > 0.3
    assert reasons["estimated_gap"] > 0.3
    assert reasons["tolerance_seems_unattainable_using"] - reasons["estimated_gap"] < 2e-3  # no wider than needed


def test_it_needs_a_tolerance():
    with pytest.raises(ae.MissingParameter, match="fair-thompson needs tolerance="):
        ae.FairThompson(memory=0.5).start(2)
    with pytest.raises(ae.AftereffectError, match=r"tolerance must lie in \[0, 1\], got 1.5"):
        ae.FairThompson(tolerance=1.5)
