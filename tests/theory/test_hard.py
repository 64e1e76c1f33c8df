"""App. F's instances, their twins, the routine between them, and App. G's inequality on runs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aftereffect as ae
from aftereffect.experiments.slopes import SumUCB
from aftereffect.model.impacts import discounted_average
from aftereffect.theory.bounds import history_lower_slack
from aftereffect.theory.hard import (
    HardInstance,
    compare_history_with_action,
    draw_hard,
    hard_intervals,
    hard_regret,
    to_allocation,
    to_levels,
    twin_regret,
)
from aftereffect.theory.proper import check_proper

shapes = st.tuples(st.sampled_from([2, 4, 6]), st.integers(3, 40), st.integers(0, 10**6))


@given(shapes)
def test_the_centres_add_up_to_one_and_lie_on_the_middles(shape: tuple[int, int, int]) -> None:
    arms, intervals, seed = shape
    instance = draw_hard(arms, intervals, seed)
    assert instance.allocation.sum() == pytest.approx(1.0)
    assert sum(instance.best) == intervals + arms // 2
    assert np.allclose((instance.allocation / instance.eps + 1) / 2, instance.best)  # l* = (p*/eps + 1)/2
    on_grid = instance.allocation * instance.grid_levels
    assert np.allclose(on_grid, np.rint(on_grid))


def test_the_printed_constraint_does_not_add_up_to_one() -> None:
    intervals, arms = 6, 4
    printed = [1, 1, 1, intervals + arms - 1 - 3]  # sum N_p + K - 1
    assert sum((2 * level - 1) / (2 * intervals) for level in printed) == pytest.approx(
        1 + (arms - 2) / (2 * intervals)
    )
    with pytest.raises(ae.AftereffectError, match="add up to N_p"):
        HardInstance(intervals, tuple(printed))


def test_every_centre_is_drawn_equally_often() -> None:
    drawn = Counter(draw_hard(4, 4, seed).best for seed in range(4000))
    assert len(drawn) == math.comb(4 - 2 + 3, 3)  # stars and bars
    expected = 4000 / len(drawn)
    assert all(abs(n - expected) < 5 * math.sqrt(expected) for n in drawn.values())


@given(shapes)
def test_the_best_allocation_is_the_same_for_both_objectives(shape: tuple[int, int, int]) -> None:
    instance = draw_hard(*shape)
    problem = instance.problem()
    top = 0.5 + instance.eps
    assert problem.utility(instance.allocation) == pytest.approx(top)
    other = np.random.default_rng(shape[2]).dirichlet(np.ones(instance.arms))
    assert problem.utility(other) <= top + 1e-12
    paid = sum(float(problem.curves[k](other[k])) for k in range(instance.arms))
    assert paid <= instance.arms * top + 1e-12
    assert hard_regret(other[None], instance)[0] == pytest.approx(instance.arms * top - paid, abs=1e-6)


def test_best_fixed_finds_the_centres() -> None:
    instance = draw_hard(4, 5, seed=3)
    best = ae.best_fixed(instance.problem())
    assert best.utility == pytest.approx(0.5 + instance.eps, abs=1e-6)
    assert np.allclose(best.allocation, instance.allocation, atol=1e-4)
    assert instance.problem().lipschitz == pytest.approx(1.0)


@given(shapes)
def test_the_routine_maps_centres_to_their_levels_and_back(shape: tuple[int, int, int]) -> None:
    instance = draw_hard(*shape)
    assert to_levels(instance.allocation, instance).tolist() == list(instance.best)
    assert np.allclose(to_allocation(instance.best, instance), instance.allocation)
    assert instance.mean(instance.best).sum() == pytest.approx(instance.arms * (0.5 + instance.eps))


@given(shapes)
def test_the_twin_never_loses_more(shape: tuple[int, int, int]) -> None:
    """App. F's lemma, round by round, on random allocations, on corners of the intervals and on one-hot ones."""
    instance = draw_hard(*shape)
    random = np.random.default_rng(shape[2])
    loose = random.dirichlet(np.full(instance.arms, 0.5), 200)
    corners = random.multinomial(instance.intervals, np.full(instance.arms, 1 / instance.arms), 50) / instance.intervals
    near = instance.allocation + random.uniform(-1.2, 1.2, (50, instance.arms)) * instance.eps
    for chosen in (loose, corners, np.eye(instance.arms), np.clip(near, 0, 1)):
        lost = np.diff(hard_regret(chosen, instance), prepend=0.0)
        twin = np.diff(twin_regret(chosen, instance), prepend=0.0)
        assert np.all(lost >= twin - 1e-9)
        means = instance.mean(to_levels(chosen, instance)).sum(axis=1)
        assert np.allclose(twin, instance.arms * (0.5 + instance.eps) - means)


def test_the_routine_may_leave_the_twins_actions() -> None:
    instance = HardInstance(4, (1, 2, 1, 2))
    assert to_levels([0.24, 0.24, 0.24, 0.28], instance).sum() == 5  # 1 + 1 + 1 + 2, not N_p + K/2 = 6
    with pytest.raises(ae.AftereffectError, match="must add up to 6, got 5"):
        to_allocation([1, 1, 1, 2], instance)


def test_a_share_of_one_counts_for_the_last_interval() -> None:
    assert to_levels([1.0, 0.0], HardInstance(4, (2, 3))).tolist() == [4, 1]


def test_intervals_follow_the_horizon() -> None:
    assert [hard_intervals(t, 4) for t in (1_000, 8_000, 1_000_000)] == [5, 10, 50]
    assert hard_intervals(8_000, 4, scale=2.0) == 5
    assert hard_intervals(1, 8) == 4  # room for eight arms


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: draw_hard(3, 5), "even"),
        (lambda: draw_hard(0, 5), "even"),
        (lambda: draw_hard(8, 3), "at least 4 intervals"),
        (lambda: HardInstance(4, (0, 5)), "1..4"),
        (lambda: HardInstance(4, (2, 2)), "add up to N_p"),
    ],
)
def test_instances_that_cannot_be_are_refused(wrong: object, message: str) -> None:
    with pytest.raises(ae.AftereffectError, match=message):
        wrong()  # type: ignore[operator]


def test_order_of_regrets_on_a_hard_instance() -> None:
    """Easy enough to learn: the learner of App. F's own objective, then Algorithm 1, then nobody who does not learn.

    And in each of them the twin loses no more, which is App. F's lemma.
    """
    horizon = 8000
    found = []
    for seed in range(3):
        instance = draw_hard(4, 4, seed)
        row = []
        for policy in (SumUCB(levels=8), ae.ActionUCB(levels=8), ae.Fixed([0.7, 0.1, 0.1, 0.1])):
            trace = ae.simulate(instance.problem(), policy, horizon, runs=1, seed=seed, checkpoints=1, trace=True).trace
            assert trace is not None
            regret, twin = hard_regret(trace.allocation, instance)[0], twin_regret(trace.allocation, instance)[0]
            assert np.all(regret >= twin - 1e-9)
            assert regret[-1] <= 4 * instance.eps * horizon
            row.append(regret[-1])
        found.append(row)
    learner, algorithm, ignorant = np.mean(found, axis=0)
    assert learner < algorithm < ignorant


# App. G.


@pytest.mark.parametrize("memory", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("policy", [ae.HistoryUCB(), ae.UCB1(), ae.RoundRobin(), ae.Exp3()], ids=lambda p: p.name)
def test_app_g_holds_on_runs_where_responses_are_proper(memory: float, policy: ae.Policy) -> None:
    problem = ae.problem("brier", arms=2, memory=memory)
    result = ae.simulate(problem, policy, 2000, runs=1, seed=4, checkpoints=1, trace=True)
    assert result.trace is not None
    found = compare_history_with_action(problem, result.trace.allocation[0])
    assert found.history_regret == pytest.approx(result.regret[0, -1], abs=1e-4)
    assert np.allclose(discounted_average(result.trace.allocation[0], memory), result.trace.impact[0])
    assert found.slack == history_lower_slack(memory, 2000, 2, problem.lipschitz)
    assert found.holds
    assert found.worst_round <= 1e-6  # with no slack needed, in any round
    assert found.history_regret > found.action_regret - 1e-6


def test_app_g_fails_where_responses_are_not_proper() -> None:
    """Round robin on the paper's own responses: the impact stays near the peak, the share never does."""
    problem = ae.problem("gaussian", arms=2, memory=0.9)
    trace = ae.simulate(problem, ae.RoundRobin(), 2000, runs=1, checkpoints=1, trace=True).trace
    assert trace is not None
    found = compare_history_with_action(problem, trace.allocation[0])
    assert not found.holds
    assert found.worst_round > 0.1


@pytest.mark.parametrize("arms", [2, 4])
def test_the_hard_instances_are_not_proper_so_app_g_does_not_apply_to_them(arms: int) -> None:
    assert not check_proper(draw_hard(arms, 5, seed=2).problem(), levels=10).proper


def test_app_g_is_an_equality_without_memory() -> None:
    problem = ae.problem("brier", arms=2, memory=0.0)
    found = compare_history_with_action(problem, [[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
    assert found.history_regret == pytest.approx(found.action_regret)
    assert found.slack == 0
    assert found.holds


def test_app_g_is_about_the_discounted_average() -> None:
    problem = ae.Problem([lambda x: x, lambda x: x], impact=ae.Smoothed(0.5))
    with pytest.raises(ae.AftereffectError, match="discounted average"):
        compare_history_with_action(problem, [[0.5, 0.5]])
    with pytest.raises(ae.AftereffectError, match=r"\(rounds, 2\)"):
        compare_history_with_action(ae.problem("brier"), [0.5, 0.5])
