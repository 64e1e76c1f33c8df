"""The best fixed allocation: against brute force and closed forms, its bound, limits, transients, measured rewards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aftereffect as ae
from aftereffect._random import generator
from aftereffect.model.world import World, fixed_utility
from aftereffect.oracle.benchmark import fixed_utilities
from aftereffect.oracle.best_fixed import activated_utilities
from aftereffect.simulation.runs import run_once

FAMILIES = {"gaussian": 5, "patrol": 5, "loan": 5, "tent": 2, "bump": 5, "lipschitz": 5, "brier": 5, "lending": 4}


def _sorted_out(problem: ae.Problem, best: ae.BestFixed) -> None:
    assert best.allocation.shape == (problem.arms,)
    assert best.allocation.sum() == pytest.approx(1.0, abs=1e-12)
    assert problem.limits.allows(best.allocation)
    assert best.utility == pytest.approx(problem.utility(best.allocation), abs=1e-12)
    assert best.error == 0.0


def _dense_pair(problem: ae.Problem) -> float:
    p = np.linspace(0.0, 1.0, 20_001)
    allowed = np.array([problem.limits.allows(np.array([v, 1 - v])) for v in p])
    return float(np.max((p * problem.steady(0, p) + (1 - p) * problem.steady(1, 1 - p))[allowed]))


def _random_search(problem: ae.Problem, seed: int = 0, count: int = 20_000) -> float:
    random = np.random.default_rng(seed)
    points = np.vstack([random.dirichlet(np.full(problem.arms, c), count // 4) for c in (0.3, 1.0, 3.0, 10.0)])
    points = points[np.all((points >= problem.limits.floors) & (points <= problem.limits.caps), axis=1)]
    return float(np.max(sum(points[:, k] * problem.steady(k, points[:, k]) for k in range(problem.arms))))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_arms_against_a_dense_grid(name: str, seed: int) -> None:
    problem = ae.problem(name, arms=2, seed=seed)
    best = ae.best_fixed(problem)
    _sorted_out(problem, best)
    dense = _dense_pair(problem)
    assert dense - 1e-9 <= best.utility <= dense + 1e-4  # between two grid points there may be a little more


@pytest.mark.parametrize(("name", "arms"), [(n, k) for n, most in FAMILIES.items() for k in range(3, most + 1)])
def test_more_arms_against_random_search(name: str, arms: int) -> None:
    problem = ae.problem(name, arms=arms, seed=4)
    best = ae.best_fixed(problem)
    _sorted_out(problem, best)
    assert best.utility >= _random_search(problem) - 1e-9


def _bound_holds(problem: ae.Problem) -> None:
    best = ae.best_fixed(problem)
    assert best.utility <= best.bound <= best.utility + 1e-3
    assert _random_search(problem, count=4_000) <= best.bound


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_bound_is_near_and_above(name: str, seed: int) -> None:
    for arms in {2, FAMILIES[name]}:
        _bound_holds(ae.problem(name, arms=arms, seed=seed))


@pytest.mark.soak
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(10, 30))
def test_the_bound_is_near_and_above_for_many_seeds(name: str, seed: int) -> None:
    for arms in range(2, FAMILIES[name] + 1):
        _bound_holds(ae.problem(name, arms=arms, seed=seed))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100))
def test_two_arms_against_a_dense_grid_for_many_seeds(seed: int) -> None:
    for name in ("lipschitz", "bump", "patrol", "loan"):
        problem = ae.problem(name, arms=2, seed=1_000 + seed)
        dense = _dense_pair(problem)
        assert dense - 1e-9 <= ae.best_fixed(problem).utility <= dense + 1e-4


def test_the_bound_holds_with_limits() -> None:
    for name in ("gaussian", "lipschitz", "bump"):
        for floors, caps in ((0.15, None), (None, 0.4), ([0.1, 0.3, 0.05], [0.33, 0.9, 0.2])):
            problem = ae.problem(name, arms=3, seed=2, floors=floors, caps=caps)
            best = ae.best_fixed(problem)
            assert best.utility <= best.bound <= best.utility + 1e-3


def test_example_1() -> None:
    best = ae.best_fixed(ae.problem("tent"))
    assert best.allocation == pytest.approx([0.8, 0.2], abs=1e-6)
    assert best.utility == pytest.approx(0.9, abs=1e-9)


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bumps_are_best_at_their_centers(arms: int, seed: int) -> None:
    problem = ae.problem("bump", arms=arms, seed=seed)
    best = ae.best_fixed(problem)
    centers = [r.center for r in problem.responses if isinstance(r, ae.Bump)]
    assert best.utility == pytest.approx(0.65, abs=1e-6)
    assert best.allocation == pytest.approx(centers, abs=1e-4)


def test_patrol_has_a_closed_form_for_two_arms() -> None:
    interior = 0
    for seed in range(20):
        problem = ae.problem("patrol", arms=2, seed=seed)
        (h1, d1), (h2, d2) = ((r.high, r.high - r.low) for r in problem.responses if isinstance(r, ae.LinearDecline))
        p = (h1 - h2 + 2 * d2) / (2 * (d1 + d2))
        if 0 < p < 1:
            interior += 1
            best = ae.best_fixed(problem)
            assert best.allocation[0] == pytest.approx(p, abs=1e-4)
            assert best.utility == pytest.approx(p * (h1 - d1 * p) + (1 - p) * (h2 - d2 * (1 - p)), abs=1e-9)
    assert interior >= 10


@pytest.mark.parametrize("name", ["gaussian", "patrol", "loan", "lipschitz"])
def test_floors_and_caps_are_kept_and_used(name: str) -> None:
    for floors, caps in ((0.2, None), (None, 0.45), ([0.5, 0.1, 0.0], [0.6, 1.0, 0.15])):
        problem = ae.problem(name, arms=3, seed=3, floors=floors, caps=caps)
        best = ae.best_fixed(problem)
        _sorted_out(problem, best)
        assert best.utility >= _random_search(problem, count=60_000) - 1e-9
        assert best.utility <= ae.best_fixed(ae.problem(name, arms=3, seed=3)).utility + 1e-9


@pytest.mark.parametrize(
    ("floors", "caps", "expected"),
    [
        ([0.3, 0.7], None, [0.3, 0.7]),
        (None, [0.3, 0.7], [0.3, 0.7]),
        ([0.123456, 0.0], [1.0, 0.876544], [0.123456, 0.876544]),
    ],
)
def test_limits_that_leave_one_allocation(floors, caps, expected) -> None:
    problem = ae.problem("gaussian", seed=1, floors=floors, caps=caps)
    best = ae.best_fixed(problem)
    if floors is not None and caps is not None:
        assert problem.limits.allows(best.allocation)
    else:
        assert best.allocation == pytest.approx(expected, abs=1e-9)
    assert best.utility <= best.bound


def test_narrow_caps_between_two_steps() -> None:
    problem = ae.problem("lipschitz", arms=3, seed=5, caps=[1 / 3 + 1e-5] * 3)
    best = ae.best_fixed(problem)
    assert problem.limits.allows(best.allocation)
    assert best.allocation == pytest.approx([1 / 3] * 3, abs=3e-5)


def test_one_arm_takes_all() -> None:
    best = ae.best_fixed(ae.Problem([ae.LinearDecline(0.9, 0.4)]))
    assert best.allocation.tolist() == [1.0]
    assert best.utility == pytest.approx(0.4)
    assert best.bound == best.utility


def test_g_moves_the_optimum() -> None:
    plain = ae.Problem([ae.Bump(0.25, 0.2), ae.LinearDecline(0.5, 0.5)], ae.Discounted(0.4))
    bent = ae.Problem([ae.Bump(0.25, 0.2), ae.LinearDecline(0.5, 0.5)], ae.Discounted(0.4, ae.Power(2.0)))
    assert ae.best_fixed(bent).utility >= _dense_pair(bent) - 1e-9
    assert ae.best_fixed(plain).utility >= _dense_pair(plain) - 1e-9
    assert abs(ae.best_fixed(bent).allocation[0] - ae.best_fixed(plain).allocation[0]) > 0.05


@pytest.mark.parametrize("horizon", [1, 5, 40])
@pytest.mark.parametrize("impact", [ae.Smoothed(0.8, 1.0), ae.Smoothed(0.5, 0.0, ae.Power(2.0))])
def test_a_transient_counts_from_the_first_round(horizon: int, impact: ae.Impact) -> None:
    """Brute force: hold each of 1,001 splits in the world itself."""
    problem = ae.Problem([ae.LinearDecline(0.9, 0.1), ae.SaturatingRise(0.2, 0.7, 3.0)], impact, feedback="split")
    best = ae.best_fixed(problem, horizon)
    rounds, totals = np.array([horizon], dtype=np.int64), np.zeros(1)
    earned = []
    for p in np.linspace(0.0, 1.0, 1_001):
        world = problem.world(generator(0))
        assert isinstance(world, World)
        fixed_utility(world, np.array([p, 1 - p]), rounds, totals)
        earned.append(totals[0] / horizon)
    assert best.utility == pytest.approx(max(earned), abs=2e-6)
    on_its_own_history = fixed_utilities(problem, best, rounds)[0] / horizon
    assert on_its_own_history == pytest.approx(best.utility, abs=1e-6)
    assert best.utility <= best.bound <= best.utility + 1e-3


def test_with_a_long_horizon_the_transient_fades() -> None:
    problem = ae.Problem([ae.LinearDecline(0.9, 0.1), ae.Gaussian(0.5)], ae.Smoothed(0.9, 1.0))
    assert ae.best_fixed(problem, 10**9).utility == pytest.approx(ae.best_fixed(problem).utility, abs=1e-6)


def test_an_own_impact_has_a_best_allocation_too() -> None:
    responses = [ae.LinearDecline(0.9, 0.1), ae.Table([0, 1], [0.3, 0.6])]
    own = ae.OwnImpact(lambda s, p: ((n := 0.7 * s + 0.3 * p), n), start=1.0, limit_at=lambda p: p)
    same = ae.Smoothed(0.7, 1.0)
    for horizon in (None, 25):
        slow, fast = (ae.best_fixed(ae.Problem(responses, i), horizon) for i in (own, same))
        assert slow.utility == pytest.approx(fast.utility, abs=1e-4)
        assert slow.allocation == pytest.approx(fast.allocation, abs=1e-2)


@pytest.mark.parametrize("feedback", ["independent", "one"])
@pytest.mark.parametrize("impact", [ae.Discounted(0.8), ae.Window(6)])
def test_under_realised_impact_the_world_pays_what_is_said(feedback, impact: ae.Impact) -> None:
    """A simulation of 200,000 rounds agrees within 5 standard errors: error rate below 1e-6."""
    problem = ae.Problem([ae.Gaussian(0.5), ae.LinearDecline(0.9, 0.1)], impact, feedback=feedback, driver="realised")
    best = ae.best_fixed(problem)
    assert 0.0 < best.error < 1e-6
    checkpoints = np.arange(1, 101) * 2_000
    run = run_once(problem, ae.Fixed(best.allocation.tolist()), checkpoints, seed=77)
    batches = np.diff(run.utility, prepend=0.0) / 2_000
    assert abs(batches.mean() - best.utility) < 5.0 * batches.std(ddof=1) / 10.0


def test_under_realised_impact_no_split_is_better() -> None:
    responses = [ae.Bump(0.3, 0.3), ae.Gaussian(0.45)]
    problem = ae.Problem(responses, ae.Discounted(0.9), driver="realised")
    for horizon in (None, 30):
        best = ae.best_fixed(problem, horizon)
        rounds = None if horizon is None else np.array([horizon])
        splits = [np.array([p, 1 - p]) for p in np.linspace(0.0, 1.0, 101)]
        earned = [activated_utilities(problem, p, rounds)[0][0] / (horizon or 1) for p in splits]
        assert max(earned) - 1e-6 < best.utility <= max(earned) + 1e-4
        assert max(earned) <= best.bound <= best.utility + 1e-3


def test_the_bound_sees_a_peak_that_lies_between_two_edges() -> None:
    """A needle narrower than any piece: what is found at the pieces' edges alone would be below what it earns."""
    at, half = 0.3 + 1e-6, 1e-6
    needle = ae.Table([0.0, at - half, at, at + half, 1.0], [0.2, 0.2, 1.0, 0.2, 0.2])
    problem = ae.Problem([needle, ae.LinearDecline(0.5, 0.3)])
    peak = np.array([at, 1 - at])
    held = replace(ae.best_fixed(problem), allocation=np.array([0.5, 0.5]), utility=problem.utility([0.5, 0.5]))
    assert held.bound >= problem.utility(peak)
    assert (
        problem.utility(peak) > 0.1 + ae.best_fixed(ae.Problem([lambda x: 0.2 + 0 * x, problem.responses[1]])).utility
    )


def test_under_split_realised_means_intended() -> None:
    pair = [ae.Gaussian(0.4), ae.LinearDecline(0.9, 0.1)]
    a, b = (
        ae.best_fixed(ae.Problem(pair, ae.Discounted(0.5), feedback="split", driver=d))
        for d in ("intended", "realised")
    )
    assert (a.utility, b.error) == (b.utility, 0.0)


def test_the_best_of_a_grid() -> None:
    problem = ae.problem("lipschitz", arms=3, seed=6)
    best = ae.best_fixed(problem)
    value = np.stack([np.arange(8) / 7 * c(np.arange(8) / 7) for c in problem.curves])
    low, high = np.zeros(3, dtype=np.int64), np.full(3, 7)
    assert best.on_grid(7, low, high) == pytest.approx(ae.best_levels(value, zero=True)[1], abs=1e-12)
    assert best.on_grid(7, low, high) <= best.utility


def test_only_problems_have_one() -> None:
    with pytest.raises(ae.AftereffectError, match="gaussian"):
        ae.best_fixed("gaussian")  # type: ignore[arg-type]
