"""A plan's numbers are the policy's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aftereffect as ae
from aftereffect.errors import AftereffectWarning
from aftereffect.policies.setting import Grid
from aftereffect.simulation.planning import PlanOfRounds, least_sweep, plan, sweep_length
from aftereffect.theory import bounds

CASES = [
    {"arms": 2, "horizon": 100_000, "memory": 0.4},
    {"arms": 4, "horizon": 100_000, "memory": 0.4},
    {"arms": 3, "horizon": 12_345, "memory": 0.9, "estimation": 0.5},
    {"arms": 3, "horizon": 5_000, "memory": 0.6, "zero": True},
    {"arms": 5, "horizon": 1_000_003, "memory": 0.2, "lipschitz": 4.0},
    {"arms": 2, "horizon": 7, "memory": 0.9},  # shorter than a phase
    {"arms": 3, "horizon": 10_000, "memory": 0.0},
    {"arms": 1, "horizon": 100, "memory": 0.5},
]


def policy_of(made: PlanOfRounds) -> tuple[ae.HistoryUCB, ae.Setting]:
    policy = ae.HistoryUCB(made.memory, made.estimation, zero=made.zero, lipschitz=made.lipschitz)
    return policy, ae.Setting(made.arms, made.horizon)


def bytes_of(state: Any) -> int:
    return sum(part.nbytes if isinstance(part, np.ndarray) else bytes_of(part) for part in state)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_grid_phases_and_state_are_the_policys(case: dict[str, Any]) -> None:
    made = plan(**case)
    policy, setting = policy_of(made)
    grid, cut, state = policy.grid(setting), policy.phases(setting), policy.state(setting)
    assert grid is not None
    assert (made.levels, made.cut) == (grid.levels, cut)
    assert made.eps == 1 / grid.levels
    assert made.cells == int((grid.high - grid.low + 1).sum())
    assert made.effective_estimation == cut.effective_estimation
    assert made.state_bytes == bytes_of(state)


def test_where_the_policy_takes_fewer_levels_than_the_horizon_asks_for_the_plan_has_those() -> None:
    with pytest.warns(AftereffectWarning, match="taking 10,000"):
        made = plan(arms=2, horizon=10**15, memory=0.4)
    assert made.levels == 10_000


@given(
    st.integers(1, 6),
    st.integers(1, 50_000),
    st.floats(0, 0.99),
    st.floats(0.05, 0.95),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_rounds_add_up(arms: int, horizon: int, memory: float, estimation: float, zero: bool) -> None:
    made = plan(arms, horizon, memory, estimation=estimation, zero=zero)
    policy, setting = policy_of(made)
    assert made.cut == policy.phases(setting)
    approach, counted = round(made.share_approach * horizon), round(made.share_estimation * horizon)
    assert approach + counted + made.leftover_rounds == horizon
    assert 0 <= made.leftover_rounds < made.phase_length
    assert made.phases == max(1, horizon // made.phase_length)
    assert 0 < made.share_sweep <= 1


def test_approach_and_estimation_rounds_of_a_whole_horizon() -> None:
    made = plan(arms=4, horizon=100_003, memory=0.4)
    assert made.cut.length == 8
    assert (made.phases, made.leftover_rounds) == (12_500, 3)
    assert made.share_approach == pytest.approx(75_000 / 100_003)
    assert made.share_estimation == pytest.approx(25_000 / 100_003)


@pytest.mark.parametrize("arms", [2, 3, 4, 6])
def test_the_sweep_takes_as_many_phases_as_in_a_run(arms: int) -> None:
    made = plan(arms=arms, horizon=20_000, memory=0.4)
    policy, setting = policy_of(made)
    grid = policy.grid(setting)
    assert grid is not None
    assert made.sweep_exact
    problem = ae.problem("gaussian", arms=arms, memory=0.4)
    trace = ae.simulate(problem, policy, 20_000, runs=6, seed=3, checkpoints=1, trace=True).trace
    assert trace is not None
    for chosen in np.rint(trace.allocation[:, :: made.phase_length] * made.levels).astype(int):
        covered: set[tuple[int, int]] = set()
        phases = 0
        while len(covered) < made.cells:
            covered |= set(enumerate(chosen[phases].tolist()))
            phases += 1
        assert least_sweep(grid) <= phases
        assert abs(phases - made.sweep_phases) <= 2  # the policy draws among equals


def test_with_two_arms_the_sweep_is_the_grid() -> None:
    made = plan(arms=2, horizon=100_000, memory=0.4)
    assert made.sweep_phases == made.allocations == made.levels - 1 == 12
    assert made.sweep_rounds == 12 * made.phase_length


def test_a_sweep_too_long_to_play_through_is_bounded_from_below() -> None:
    low, high = np.ones(200, dtype=np.int64), np.full(200, 2801, dtype=np.int64)
    count, exact = sweep_length(Grid(3000, low, high))
    assert not exact
    assert count == math.ceil(200 * (1 + 2801) * 2801 / 2 / 3000)


@pytest.mark.parametrize(("zero", "count"), [(False, math.comb(12, 3)), (True, math.comb(16, 3))])
def test_allocations_are_counted(zero: bool, count: int) -> None:
    made = plan(arms=4, horizon=100_000, memory=0.4, zero=zero)
    assert made.levels == 13
    assert made.allocations == count
    assert made.cells == (56 if zero else 40)


def test_the_bounds_are_those_of_the_bounds_module() -> None:
    made = plan(arms=4, horizon=100_000, memory=0.4)
    err = bounds.approach_error(0.4, 6, 4)
    assert made.bounds["approach_error"] == err
    assert made.bounds["history_regret_rate"] == bounds.history_regret_rate(4, 100_000, 0.25)
    assert made.bounds["history_radius"] == bounds.history_radius(4, 25_000, 25_000 * 4 / 40, err)
    assert made.bounds["history_threshold"] == bounds.history_threshold(4, 25_000, 0.1, err)
    assert all(name in bounds.__all__ for name in made.bounds)
    assert plan(arms=4, horizon=100_000, memory=0).bounds["action_regret_rate"] == bounds.action_regret_rate(4, 100_000)


def test_a_half_life_is_a_memory() -> None:
    made = plan(arms=2, horizon=1000, half_life=3)
    assert made.memory == pytest.approx(0.5 ** (1 / 3))
    assert made.half_life == pytest.approx(3)
    assert made == plan(arms=2, horizon=1000, memory=made.memory)


def test_a_plan_as_plain_data_has_no_infinity() -> None:
    made = plan(arms=4, horizon=1000, memory=0.999)
    assert made.bounds["history_threshold"] == math.inf
    assert made.document()["bounds"]["history_threshold"] is None
    assert made.sweep_phases > made.phases
    assert made.share_sweep == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arms": 0}, "arms must be a whole number from 1"),
        ({"arms": 2.5}, "arms"),
        ({"horizon": 0}, "horizon"),
        ({"memory": 1.0}, r"memory must lie in \[0, 1\)"),
        ({"memory": float("nan")}, "memory"),
        ({"memory": None}, "needs memory"),
        ({"half_life": 3}, "either memory or half_life"),
        ({"memory": None, "half_life": -1}, "half_life must be above 0"),
        ({"estimation": 1.0}, "estimation must lie between 0 and 1"),
        ({"lipschitz": 0.0}, "lipschitz must be a number above 0"),
        ({"zero": 1}, "zero must be true or false"),
        ({"arms": 10_000, "horizon": 10**12}, "more than 10,000,000 cells"),
    ],
)
def test_what_cannot_be_planned_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ae.AftereffectError, match=message):
        plan(**{"arms": 2, "horizon": 1000, "memory": 0.4, **wrong})
