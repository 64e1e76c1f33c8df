"""Responses that change at once or with the seasons; the straight drift is in test_fairness."""

from __future__ import annotations

import math

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.oracle.benchmark import fixed_utilities, held_utilities, moving_utilities
from tests.model.worlds import drive

LOW, HIGH = [lambda _x: 0.2] * 2, [lambda _x: 0.6, lambda _x: 0.2]


def test_a_change_replaces_the_responses_at_its_round() -> None:
    problem = ae.Problem(LOW, noise="none", change=ae.Change(HIGH, 5))
    came = drive(problem, np.tile([0.5, 0.5], (8, 1)))
    assert came.expected == pytest.approx([0.2] * 4 + [0.4] * 4)


def test_a_season_goes_there_and_back() -> None:
    problem = ae.Problem(LOW, noise="none", season=ae.Season(HIGH, 8))
    came = drive(problem, np.tile([1.0, 0.0], (16, 1)))
    weights = [(1 - math.cos(2 * math.pi * t / 8)) / 2 for t in range(1, 17)]
    assert came.expected == pytest.approx([0.2 + 0.4 * w for w in weights])
    assert weights[3] == 1.0
    assert came.expected[7] == pytest.approx(0.2)


@pytest.mark.parametrize("options", [{"change": 40}, {"season": 30}, {"drift": 70}])
def test_catalog_problems_move_to_a_second_draw(options) -> None:
    moving, still = ae.problem("patrol", seed=4, rate=0.5, **options), ae.problem("patrol", seed=4, rate=0.5)
    assert moving.moving is not None
    assert [float(c(0.3)) for c in moving.curves] == [float(c(0.3)) for c in still.curves]
    assert moving.later_curves[0].y.max() <= 0.5


@pytest.mark.parametrize("options", [{"change": 40}, {"season": 30}, {"drift": 70}])
def test_benchmarks_are_the_best_of_each_moment_and_the_best_single_split(options) -> None:
    """By brute force over a fine grid of allocations, round by round."""
    problem = ae.problem("loan", arms=2, memory=0.4, seed=6, **options)
    rounds, shares = np.array([20, 100]), np.linspace(0, 1, 2001)
    assert problem.moving is not None
    weights = problem.moving.weights(100)

    def utility(curves) -> np.ndarray:
        return np.asarray(shares * curves[0](shares) + (1 - shares) * curves[1](1 - shares))

    each = np.outer(1 - weights, utility(problem.curves)) + np.outer(weights, utility(problem.later_curves))
    assert moving_utilities(problem, rounds) == pytest.approx(np.cumsum(each.max(axis=1))[rounds - 1], rel=1e-4)
    best = ae.best_fixed(problem, 100)
    assert fixed_utilities(problem, best, rounds)[-1] == pytest.approx(each.sum(axis=0).max(), rel=1e-5)
    assert 100 * best.utility == pytest.approx(held_utilities(problem, best.allocation, rounds)[-1], rel=1e-9)


def test_regret_is_against_the_best_of_each_moment() -> None:
    problem = ae.problem("patrol", memory=0.4, season=50, seed=1)
    result = ae.simulate(problem, ae.Fixed(), horizon=200, runs=1, checkpoints=[100])
    assert result.regret[0] == pytest.approx(moving_utilities(problem, result.rounds) - result.utility[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"change": 0}, "change: at must be a whole number from 1"),
        ({"season": 1}, "season: period must be a whole number from 2"),
        ({"season": 10, "drift": 10}, "give at most one of drift, change and season, got drift and season"),
        ({"change": 10, "impact": ae.Smoothed(0.5)}, "change needs an impact without a transient"),
    ],
)
def test_moves_that_cannot_be(options, said) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        ae.problem("patrol", **options)
    with pytest.raises(ae.AftereffectError, match="season must be a Season"):
        ae.Problem(LOW, season=ae.Change(HIGH, 5))  # type: ignore[arg-type]
