"""Algorithms 1 and 3 with App. B's fixed multipliers, against enumeration written from the definition."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import aftereffect as ae


def _indices(levels, options, statistics, multipliers, stretch, scale, t):
    """sum_k p_k mean + lambda_k measure, plus sqrt(K ln t) times the widest (1 + |lambda_k| stretch) / sqrt(n)."""
    arms = len(multipliers)
    found = {}
    for option in options:
        total, widest = 0.0, 0.0
        for k, level in enumerate(option):
            n, gained, measured, measures = statistics[k, level]
            total += level / levels * gained / n + multipliers[k] * (measures / measured if measured else 0.0)
            widest = max(widest, (1 + abs(multipliers[k]) * stretch(level / levels)) / math.sqrt(n))
        found[option] = total + scale * math.sqrt(arms * math.log(t)) * widest
    return found


@pytest.mark.parametrize("observed", ["all", "activated"])
@pytest.mark.parametrize("multipliers", [(0.4, -0.4), (-0.7, 0.3)])
def test_action_ucb_maximises_the_fixed_multipliers_objective(observed, multipliers):
    levels, scale, rounds = 8, 0.3, 1500
    policy = ae.ActionUCB(scale=scale, levels=levels, multipliers=multipliers)
    agent, crowd = policy.start(2, rounds, 5, observed=observed), random.Random(7)
    options = [(a, levels - a) for a in range(1, levels)]
    stretch = (lambda p: 1 / p) if observed == "activated" else (lambda _: 1.0)
    statistics = {cell: [0, 0.0, 0, 0.0] for cell in itertools.product(range(2), range(1, levels))}
    judged = 0
    for t in range(1, rounds + 1):
        p = agent.ask()
        chosen = tuple(round(share * levels) for share in p)
        if all(s[0] for s in statistics.values()):
            indices = _indices(levels, options, statistics, multipliers, stretch, scale, t)
            assert indices[chosen] == pytest.approx(max(indices.values()), abs=1e-9)
            judged += 1
        seen = [crowd.random() < share for share in p]
        rewards = [
            float(crowd.random() < 0.8 - 0.5 * share) if s else math.nan for share, s in zip(p, seen, strict=True)
        ]
        known = [observed == "all" or s for s in seen]
        measures = [
            float(crowd.random() < (0.2 + 0.5 * share if k else 0.9 * share)) if known[k] else math.nan
            for k, share in enumerate(p)
        ]
        agent.tell(rewards, measures=measures)
        for k, level in enumerate(chosen):
            cell = statistics[k, level]
            cell[0] += 1
            cell[1] += 0.0 if math.isnan(rewards[k]) else rewards[k] / p[k]
            cell[2] += 1
            weight = p[k] if observed == "activated" else 1.0
            cell[3] += 0.0 if math.isnan(measures[k]) else measures[k] / weight
    assert judged > 1000


def test_multipliers_move_the_choice_towards_the_favoured_measure():
    """Equal rewards; a multiplier on the first arm's measure, which rises with its impact, draws shares to it."""
    problem = ae.Problem([lambda _x: 0.5] * 2, fairness=ae.Fairness([lambda x: x, lambda _x: 0.5]))
    plain, drawn = (
        ae.simulate(problem, ae.ActionUCB(levels=10, scale=0.2, multipliers=m), 20_000, runs=2, seed=1).allocation[:, 0]
        for m in (None, (0.5, -0.5))
    )
    assert drawn.mean() > 0.8
    assert drawn.mean() > plain.mean()


def test_history_ucb_settles_longer_for_steeper_objectives():
    """L* = 1 + L + max |lambda_k| L^pi: s_a = ln(N K L*) / -ln memory."""
    setting = ae.Setting(2, 100_000)
    plain = ae.HistoryUCB(memory=0.8, levels=20).phases(setting)
    priced = ae.HistoryUCB(memory=0.8, levels=20, multipliers=(-3.0, 3.0), measure_lipschitz=2.0).phases(setting)
    assert plain.approach == math.ceil(math.log(20 * 2 * 2.0) / -math.log(0.8))
    assert priced.approach == math.ceil(math.log(20 * 2 * 8.0) / -math.log(0.8))


def test_phases_count_measures_of_settled_rounds_only():
    policy = ae.HistoryUCB(memory=0.5, levels=4, multipliers=(0.2, -0.2))
    agent = policy.start(2, 1000)
    cut = policy.phases(agent.setting)
    for _ in range(cut.length * 3):
        agent.ask()
        agent.tell([math.nan, math.nan], measures=[0.5, 0.5])
    cells = agent.state.inner.cells
    assert cells["measured"].sum() == 3 * cut.estimation * 2


@pytest.mark.parametrize(
    ("multipliers", "said"),
    [((0.1, math.inf), "finite"), ("ab", "list of numbers"), ((), "one per arm")],
)
def test_wrong_multipliers(multipliers, said):
    with pytest.raises(ae.AftereffectError, match=said):
        ae.ActionUCB(multipliers=multipliers)


def test_one_multiplier_per_arm():
    with pytest.raises(ae.AftereffectError, match="one multiplier for each of 3 arms, got 2"):
        ae.HistoryUCB(memory=0.5, multipliers=(0.1, -0.1)).start(3, 1000)


def test_explanation_names_multiplier_and_measure():
    agent = ae.ActionUCB(levels=4, multipliers=(0.5, -0.5)).start(2, 100)
    for _ in range(10):
        agent.ask()
        agent.tell([1.0, math.nan], measures=[1.0, 0.0])
    arm = agent.explain()["arms"][0]
    assert arm["multiplier"] == 0.5
    assert arm["measure"] == pytest.approx(1.0)


def test_a_measure_of_an_arm_without_a_share_is_left_out_where_only_activated_arms_are_seen():
    agent = ae.ActionUCB(zero=True, levels=4, multipliers=(0.3, -0.3)).start(2, 1000, observed="activated")
    for _ in range(20):
        agent.ask()
        agent.tell([1.0, math.nan], allocation=[1.0, 0.0], measures=[0.5, 0.5])
    assert np.isfinite(agent.state.value).all()
    assert np.isfinite(agent.state.cells["measure"]).all()


def test_parity_in_results():
    problem = ae.problem("loan", arms=3, memory=0.3, seed=2, tolerance=0.05)
    result = ae.simulate(problem, ae.RoundRobin(), 600, runs=2, checkpoints=3, trace=True)
    parity, trace = result.parity, result.trace
    assert parity is not None
    assert trace is not None
    measures = problem.measure(trace.impact)
    gaps = np.stack([np.abs(measures[..., i] - measures[..., j]) for i, j in ((0, 1), (0, 2), (1, 2))], axis=-1)
    excess = np.maximum(0, gaps.max(axis=-1) - 0.05)
    assert parity.gaps == pytest.approx(gaps[:, result.rounds - 1])
    assert parity.mean_violation == pytest.approx(np.cumsum(excess, axis=1)[:, result.rounds - 1] / result.rounds)
    assert parity.violated_share == pytest.approx(
        (np.cumsum(excess > 1e-9, axis=1)[:, result.rounds - 1]) / result.rounds
    )
    fair = ae.fair_optimum(problem)
    assert parity.price == pytest.approx([fair.price])
    assert parity.fair_regret == pytest.approx(fair.utility * result.rounds - result.utility)
    assert "violation" in repr(result)
    assert {"violation", "violated"} <= set(result.to_frame().columns)
