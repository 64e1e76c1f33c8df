"""Problems: what they know about themselves, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import generator
from aftereffect.model.problem import OwnWorld
from aftereffect.model.world import World


def test_one_impact_serves_all_arms() -> None:
    problem = ae.Problem([lambda x: x, lambda x: 1 - x], ae.Discounted(0.3))
    assert problem.arms == 2
    assert problem.impacts == (ae.Discounted(0.3), ae.Discounted(0.3))
    assert problem.memory == 0.3
    assert problem.lipschitz == pytest.approx(1.0)
    assert not problem.transient
    assert ae.Problem([lambda x: x], ae.Smoothed(0.3)).transient


def test_steady_reward_and_utility() -> None:
    problem = ae.Problem([ae.LinearDecline(0.8, 0.2), ae.Gaussian(0.5)], ae.Discounted(0.5, ae.Power(2.0)))
    assert float(problem.steady(0, 0.5)) == pytest.approx(0.8 - 0.6 * 0.25, abs=1e-6)
    assert problem.utility([0.5, 0.5]) == pytest.approx(0.5 * 0.65 + 0.5 * np.exp(-(0.25**2)), abs=1e-6)


def test_utility_is_the_long_run_of_the_world() -> None:
    for impact in (ae.Discounted(0.8, ae.Logistic(6.0)), ae.Smoothed(0.8, 1.0), ae.Window(9)):
        problem = ae.Problem([ae.Bump(0.3), ae.SaturatingRise(0.1, 0.9, 3.0)], impact)
        world = problem.start(generator(0))
        allocation, seen, reward = np.array([0.35, 0.65]), np.zeros(2), np.zeros(2)
        for t in range(1, 301):
            expected = ae.model.world.step(world, t, allocation, seen, reward)[0]
        assert expected == pytest.approx(problem.utility(allocation), abs=1e-6)


def test_the_world_starts_afresh_each_time() -> None:
    problem = ae.Problem([lambda x: x, lambda x: 1 - x], ae.Window(3))
    first, second = problem.start(generator(1)), problem.start(generator(1))
    assert isinstance(first, World)
    first.impact[0, 0] = 0.7
    first.ring[0, 0] = 0.7
    assert isinstance(second, World)
    assert second.impact[0, 0] == 0.0
    assert second.ring[0, 0] == 0.0


def test_an_own_impact_takes_the_slow_path() -> None:
    own = ae.OwnImpact(lambda s, p: (s, p), limit_at=lambda p: p)
    assert isinstance(ae.Problem([lambda x: x], own).start(generator(0)), OwnWorld)


def test_runs_with_an_own_impact_do_not_share_its_state() -> None:
    """A state that is changed in place belongs to one run only."""

    def step(state: list[float], share: float) -> tuple[list[float], float]:
        state.append(share)
        return state, sum(state) / len(state)

    problem = ae.Problem([lambda x: x, lambda x: 1 - x], ae.OwnImpact(step, start=[], limit_at=lambda p: p))
    runs = ae.simulate(problem, ae.Fixed([0.2, 0.8]), 20, runs=3, threads=1)
    assert runs.impact == pytest.approx(np.tile([0.2, 0.8], (3, 1)))


def test_names_belong_to_arms() -> None:
    problem = ae.Problem([lambda x: x, lambda x: x], names=["north", "south"])
    assert problem.names == ("north", "south")
    for wrong in (["north"], ["north", "north"]):
        with pytest.raises(ae.AftereffectError, match="names"):
            ae.Problem([lambda x: x, lambda x: x], names=wrong)


def test_a_problem_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        ae.Problem([lambda x: x]).feedback = "one"  # type: ignore[misc]
