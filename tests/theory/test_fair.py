"""The fair optimum, its frontier and the Lagrangian relaxation, against enumeration and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import AftereffectError
from aftereffect.theory.fair_dual import fair_dual


def _random_problem(seed: int, arms: int) -> ae.Problem:
    random = np.random.default_rng(seed)
    x = np.linspace(0, 1, 5).tolist()
    responses = [ae.Table(x, random.random(5).tolist()) for _ in range(arms)]
    return ae.Problem(responses, fairness=ae.Fairness([ae.Table(x, random.random(5).tolist()) for _ in range(arms)]))


def _points(problem: ae.Problem, levels: int) -> list[tuple[float, float]]:
    """(gap, utility) of every allocation of the grid."""
    points = []
    for chosen in itertools.product(range(levels + 1), repeat=problem.arms):
        if sum(chosen) == levels:
            shares = np.array(chosen) / levels
            points.append((float(np.ptp(problem.measure(shares))), problem.utility(shares)))
    return points


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_frontier_is_the_best_of_every_tolerance(seed, arms):
    problem, levels = _random_problem(seed, arms), 12
    points = _points(problem, levels)
    frontier = ae.fair_frontier(problem, levels)
    smallest = min(gap for gap, _ in points)
    assert frontier[0].tolerance == pytest.approx(smallest)
    for tolerance in np.linspace(smallest, 1, 40):
        best = max(utility for gap, utility in points if gap <= tolerance + 1e-12)
        entry = [e for e in frontier if e.tolerance <= tolerance + 1e-12][-1]
        assert entry.utility == pytest.approx(best)
        assert ae.fair_optimum(problem, float(tolerance), levels).utility == pytest.approx(best)
    assert frontier[-1].price == pytest.approx(0, abs=1e-12)
    assert all(a.utility < b.utility and a.tolerance < b.tolerance for a, b in itertools.pairwise(frontier))


def test_a_tolerance_nobody_can_meet_names_the_smallest_that_one_can():
    problem = ae.Problem([lambda _x: 0.5] * 2, fairness=ae.Fairness([lambda _x: 0.2, lambda x: 0.7 + 0.1 * x]))
    with pytest.raises(ae.Unattainable, match=r"within 0.3 .* smallest tolerance that one can meet is 0.5") as caught:
        ae.fair_optimum(problem, 0.3)
    assert ae.fair_optimum(problem, caught.value.smallest).allocation == pytest.approx([1, 0])


def test_floors_and_caps_hold_in_the_fair_optimum():
    problem = ae.problem("lending", floors=0.2, caps=0.3)
    best = ae.fair_optimum(problem, 0.2)
    assert np.all(best.allocation >= 0.2 - 1e-12)
    assert np.all(best.allocation <= 0.3 + 1e-12)


def test_two_linear_arms_have_a_closed_form():
    """r = (.8, .4) and pi = x: utility rises with arm 0's share x until the gap 2x - 1 reaches the tolerance."""
    problem = ae.Problem([lambda _x: 0.8, lambda _x: 0.4], fairness=ae.Fairness([lambda x: x] * 2))
    best = ae.fair_optimum(problem, 0.3)
    assert best.allocation == pytest.approx([0.65, 0.35])
    assert best.price == pytest.approx(0.8 - (0.65 * 0.8 + 0.35 * 0.4))
    dual = fair_dual(problem, 0.3)
    assert dual.value == pytest.approx(best.utility)  # linear: no duality gap
    assert dual.multipliers == pytest.approx((-0.2, 0.2))  # dU/dx = .4 against d(gap)/dx = 2


@pytest.mark.parametrize("seed", range(6))
def test_the_dual_is_the_best_lottery_over_allocations(seed):
    """By duality of linear programmes: the largest mean utility of a mixture whose mean measures are within the tolerance."""
    from scipy.optimize import linprog

    problem, levels, tolerance = _random_problem(seed, 3), 10, 0.25
    try:
        dual = fair_dual(problem, tolerance, levels)
    except ae.Unattainable:
        pytest.skip("this draw has no fair allocation")
    grid = [np.array(c) / levels for c in itertools.product(range(levels + 1), repeat=3) if sum(c) == levels]
    measures = np.array([problem.measure(p) for p in grid])
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    solved = linprog(
        [-problem.utility(p) for p in grid],
        A_ub=np.array([measures[:, i] - measures[:, j] for i, j in pairs]),
        b_ub=[tolerance] * len(pairs),
        A_eq=np.ones((1, len(grid))),
        b_eq=[1.0],
    )
    assert dual.value == pytest.approx(-solved.fun, abs=1e-6)
    assert dual.duality_gap >= -1e-9


def test_convex_problems_have_a_duality_gap():
    """On `loan` everything into one group earns most: fixed multipliers jump between extremes and miss the fair split."""
    dual = fair_dual(ae.problem("loan", arms=4, seed=1))
    assert dual.duality_gap > 0.05
    assert dual.gap > 0.3


def test_arm_multipliers_by_hand():
    # pairs (0,1), (0,2), (1,2)
    assert ae.arm_multipliers([0.3, 0.0, 0.2], [0.1, 0.4, 0.0], arms=3) == pytest.approx((0.2, 0.0, -0.2))


@pytest.mark.parametrize(
    ("plus", "minus", "said"),
    [
        (["a"], [0.0], "must be a list of numbers"),
        ([-0.1], [0.0], r"lambda\+ must be numbers from 0, got \[-0.1\]"),
        ([0.1], [-2.0], "lambda- must be"),
        ([0.1, 0.2], [0], "one for each of 1 pairs"),
    ],
)
def test_wrong_pairs_multipliers(plus, minus, said):
    with pytest.raises(ae.AftereffectError, match=said):
        ae.arm_multipliers(plus, minus, arms=2)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (lambda: ae.problem("gaussian"), "'gaussian' has no fairness measure"),
        (lambda: ae.problem("loan", driver="realised"), "driven by the intended shares"),
        (lambda: ae.problem("patrol", drift=100), "needs responses that stay"),
        (lambda: 3, "needs a problem"),
    ],
)
def test_what_has_no_fair_optimum(problem, said):
    with pytest.raises(ae.AftereffectError, match=said):
        ae.fair_optimum(problem())


def test_results_do_without_a_fair_optimum_where_its_grid_has_no_split_within_the_floors():
    family = ae.family("loan", arms=30, floors=0.031, units=500)
    with pytest.raises(AftereffectError, match="leave no allocation on a grid of 200"):
        ae.fair_optimum(family.draw(0))
    found = ae.simulate(family, ae.Fixed(), horizon=5, runs=2, seed=1)
    assert found.parity is not None
    assert found.parity.optimum == (None, None)
    assert np.isnan(found.parity.price).all()
    assert np.isnan(found.parity.fair_regret).all()
