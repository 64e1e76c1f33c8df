"""Problems: what they know about themselves, and what they refuse."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import generator
from aftereffect.model.own_world import OwnWorld
from aftereffect.model.world import World, step
from aftereffect.oracle.benchmark import held_utilities


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
        world = problem.world(generator(0))
        allocation, seen, reward = np.array([0.35, 0.65]), np.zeros(2), np.zeros(2)
        for t in range(1, 301):
            expected = step(world, t, allocation, seen, reward)[0]
        assert expected == pytest.approx(problem.utility(allocation), abs=1e-6)


def test_the_world_starts_afresh_each_time() -> None:
    problem = ae.Problem([lambda x: x, lambda x: 1 - x], ae.Window(3))
    first, second = problem.world(generator(1)), problem.world(generator(1))
    assert isinstance(first, World)
    first.impact["value"][0] = 0.7
    first.ring[0, 0] = 0.7
    assert isinstance(second, World)
    assert second.impact["value"][0] == 0.0
    assert second.ring[0, 0] == 0.0


def test_an_own_impact_takes_the_slow_path() -> None:
    own = ae.OwnImpact(lambda s, p: (s, p), limit_at=lambda p: p)
    assert isinstance(ae.Problem([lambda x: x], own).world(generator(0)), OwnWorld)


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


def test_rate_multiplies_responses_but_not_measures() -> None:
    whole, small = ae.problem("lending", seed=1), ae.problem("lending", seed=1, rate=0.1)
    shares = [0.4, 0.3, 0.2, 0.1]
    assert small.utility(shares) == pytest.approx(0.1 * whole.utility(shares))
    assert small.lipschitz == pytest.approx(0.1 * whole.lipschitz)
    assert np.array_equal(small.measure(shares), whole.measure(shares))
    assert ae.best_fixed(small).utility == pytest.approx(0.1 * ae.best_fixed(whole).utility, abs=1e-6)


def test_rate_that_cannot_be() -> None:
    with pytest.raises(ae.AftereffectError, match=r"rate 1.5 lifts a response to 1.35; at most 1.11111 keeps it"):
        ae.Problem([ae.LinearDecline(0.9, 0.2)], rate=1.5)
    with pytest.raises(ae.AftereffectError, match="rate must be above 0, got 0"):
        ae.problem("loan", rate=0)
    assert ae.Problem([ae.LinearDecline(0.5, 0.2)], rate=2.0).utility([1.0]) == pytest.approx(0.4)


def test_a_start_is_smoothing_from_the_split_held_for_ever() -> None:
    """f(t) = m f(t - 1) + (1 - m) p from f(0) = the start, arm by arm."""
    start, shares = [0.7, 0.2, 0.1], np.array([0.1, 0.3, 0.6])
    problem = ae.problem("loan", arms=3, memory=0.8, start=start, seed=3)
    smooth = ae.Problem(problem.responses, [ae.Smoothed(0.8, p) for p in start])
    rounds = np.array([1, 5, 50])
    by_hand, impact = [], np.array(start)
    for _ in range(50):
        impact = 0.8 * impact + 0.2 * shares
        by_hand.append(sum(p * float(c(x)) for p, c, x in zip(shares, problem.curves, impact, strict=True)))
    for world in (problem, smooth):
        assert held_utilities(world, shares, rounds) == pytest.approx(np.cumsum(by_hand)[rounds - 1], rel=1e-9)
    assert problem.transient
    assert problem.memory == 0.8


def test_a_start_that_is_kept_changes_nothing() -> None:
    plain, started = (ae.problem("patrol", arms=3, memory=0.6, start=s, seed=1) for s in (None, "even"))
    rounds = np.array([1, 10, 100])
    assert started.start == pytest.approx([1 / 3] * 3)
    even = np.full(3, 1 / 3)
    assert held_utilities(started, even, rounds) == pytest.approx(held_utilities(plain, even, rounds), rel=1e-12)


def test_the_best_fixed_allocation_runs_from_the_same_start() -> None:
    problem = ae.problem("loan", arms=2, memory=0.9, start=[0.9, 0.1], seed=2)
    result = ae.simulate(
        problem, ae.Fixed(ae.best_fixed(problem, 40).allocation.tolist()), horizon=40, runs=1, checkpoints=[3]
    )
    assert result.regret == pytest.approx(np.zeros((1, 2)), abs=1e-9)
    assert ae.simulate(problem, ae.Fixed(), horizon=40, runs=1).regret[0, -1] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": [0.5, 0.6]}, "start must be shares in \\[0, 1\\] that sum to 1"),
        ({"start": [1.0]}, "start: one share for each of 2 arms"),
        ({"start": "here"}, "start must be a list of shares or 'even', got 'here'"),
        ({"start": 0.5}, "start must be a list of numbers"),
        ({"start": [0.95, 0.05], "floors": 0.1}, "start \\[0.95, 0.05\\] breaks the floors or caps"),
        ({"start": [0.5, 0.5], "impact": ae.Window(3)}, "start= is for discounted averages and instant impacts"),
        ({"start": [0.5, 0.5], "impact": ae.Smoothed(0.3)}, "smoothed has a start of its own"),
        ({"start": [0.5, 0.5], "memory": 0.5, "drift": 10}, "drift needs an impact without a transient or a start"),
    ],
)
def test_starts_that_cannot_be(options, said) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        ae.problem("loan", **options)


def test_even_within_floors_is_the_nearest_allocation() -> None:
    problem = ae.problem("loan", arms=3, floors=[0.5, 0.0, 0.0], start="even", memory=0.5)
    assert problem.start == pytest.approx([0.5, 0.25, 0.25])


def test_a_problem_can_be_replaced_in_part() -> None:
    """The fields stay as given: neither the rate nor the start is applied twice."""
    problem = ae.problem("loan", arms=2, memory=0.5, rate=0.1, start=[0.7, 0.3], units=30, seed=1)
    again = dataclasses.replace(problem, shock=0.01)
    assert again.utility([0.5, 0.5]) == problem.utility([0.5, 0.5])
    assert again.impacts == problem.impacts == (ae.Smoothed(0.5, 0.7), ae.Smoothed(0.5, 0.3))
    assert problem.impact == (ae.Discounted(0.5), ae.Discounted(0.5))


def test_a_rate_is_checked_where_responses_move_to_as_well() -> None:
    with pytest.raises(ae.AftereffectError, match=r"rate 2 lifts a response to 1\.6"):
        ae.Problem([lambda _x: 0.3], rate=2.0, change=ae.Change([lambda _x: 0.8], 10))
