"""Fairness measures: curves on the impact with their own noise, seen every round or under activation."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.simulation.runs import run_once


def _problem(observed: Any = "all", noise: str = "bernoulli", feedback: Any = "independent") -> ae.Problem:
    fairness = ae.Fairness([lambda x: 0.2 + 0.6 * x, lambda x: 0.9 - 0.5 * x], 0.1, noise, observed)
    responses = [lambda x: 0.9 - 0.5 * x, lambda x: 0.3 + 0.4 * x]
    return ae.Problem(responses, ae.Discounted(0.5), feedback, fairness=fairness)


def _run(problem: ae.Problem, rounds: int = 400, policy: ae.Policy | None = None, seed: int = 1):
    return run_once(problem, policy or ae.RoundRobin(), np.arange(1, rounds + 1), seed, trace=True)


@pytest.mark.parametrize("feedback", ["independent", "one", "split"])
def test_violations_are_those_of_the_true_curves_at_the_true_impact(feedback):
    done = _run(_problem(feedback=feedback))
    impact = done.trace.impact
    gap = np.abs((0.2 + 0.6 * impact[:, 0]) - (0.9 - 0.5 * impact[:, 1]))
    excess = np.maximum(0.0, gap - 0.1)
    assert done.violation == pytest.approx(np.cumsum(excess), abs=1e-9)
    assert np.array_equal(done.violated, np.cumsum(excess > 1e-11))


def test_measures_scatter_around_their_curve():
    """Holding a split, the mean of 20,000 Bernoulli draws is within 5 standard deviations (error rate below 1e-6)."""
    done = _run(_problem(), 20_000, ae.Fixed([0.3, 0.7]))
    measured = done.trace.measured
    for k, mean in enumerate((0.2 + 0.6 * 0.3, 0.9 - 0.5 * 0.7)):
        assert set(np.unique(measured[:, k])) == {0.0, 1.0}
        assert abs(measured[:, k].mean() - mean) < 5 * np.sqrt(mean * (1 - mean) / 20_000)


def test_without_noise_a_measure_is_its_curve():
    done = _run(_problem(noise="none"))
    impact = done.trace.impact
    assert done.trace.measured == pytest.approx(np.stack([0.2 + 0.6 * impact[:, 0], 0.9 - 0.5 * impact[:, 1]], axis=1))


def test_activated_shows_the_measures_of_seen_arms_only():
    done = _run(_problem("activated"), policy=ae.Fixed([0.3, 0.7]))
    seen, measured = done.trace.seen, done.trace.measured
    assert np.array_equal(np.isnan(measured), seen == 0)
    assert 0 < seen.mean() < 1


def test_a_measure_shifts_no_reward():
    plain = ae.Problem([lambda x: 0.9 - 0.5 * x, lambda x: 0.3 + 0.4 * x], ae.Discounted(0.5))
    assert np.array_equal(_run(plain).trace[:-1], _run(_problem()).trace[:-1])  # all but the measures


def test_measures_follow_the_impact_after_g():
    impact = ae.Discounted(0.5, g=ae.Power(2))
    problem = ae.Problem([lambda _x: 0.5] * 2, impact, fairness=ae.Fairness([lambda x: x, lambda x: x], noise="none"))
    done = _run(problem, 50, ae.Fixed([0.4, 0.6]))
    assert done.trace.measured == pytest.approx(np.tile([0.16, 0.36], (50, 1)), abs=1e-6)


def test_own_impacts_carry_measures_too():
    own = ae.OwnImpact(start=0.0, step=lambda _state, share: (share, share))
    slow, fast = (
        ae.Problem([lambda _x: 0.5] * 2, impact, fairness=ae.Fairness([lambda x: x, lambda x: 1 - x]))
        for impact in (own, ae.Instant())
    )
    assert np.array_equal(_run(slow, 60).trace, _run(fast, 60).trace)


@pytest.mark.parametrize(("name", "meaning"), [("lending", "repays"), ("loan", "repays"), ("patrol", "prevent")])
def test_catalog_problems_say_what_their_measure_stands_for(name, meaning):
    problem = ae.problem(name, tolerance=0.05)
    assert problem.fairness is not None
    assert problem.fairness.tolerance == 0.05
    assert meaning in problem.fairness.meaning


def test_lending_measures_the_share_that_repays():
    problem = ae.problem("lending", arms=2)
    repaid = [x * float(curve(x)) for x, curve in zip((0.3, 0.8), problem.curves, strict=True)]
    assert problem.measure([0.3, 0.8]) == pytest.approx(repaid, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ae.Fairness([lambda x: 1.5 * x]), "measure must lie in [0, 1] on [0, 1]; it is 1."),
        (lambda: ae.Fairness(cast(Any, [3])), "a measure is a Response or a function of the impact, got 3"),
        (lambda: ae.Fairness([lambda x: x], tolerance=-0.1), "tolerance must lie in [0, 1], got -0.1"),
        (lambda: ae.Fairness([lambda x: x], tolerance=float("nan")), "tolerance must be a finite number"),
        (lambda: ae.Fairness([lambda x: x], observed=cast(Any, "some")), "observed"),
        (
            lambda: ae.Problem([lambda x: x] * 2, fairness=ae.Fairness([lambda x: x])),
            "one measure for each of 2 arms, got 1",
        ),
        (lambda: ae.problem("gaussian", tolerance=0.1), "'gaussian' has no fairness measure"),
        (lambda: ae.problem("gaussian", observed="activated"), "'gaussian' has no fairness measure"),
        (lambda: ae.Fairness([]), "measures must be a list, one for each arm"),
        (lambda: ae.Drift([lambda x: x], 10**20), "drift: rounds must be a whole number from 1"),
    ],
)
def test_mistakes_are_said(make, said):
    with pytest.raises(ae.AftereffectError) as caught:
        make()
    assert said in str(caught.value)


def test_an_agent_is_told_measures():
    agent = ae.policy("action-ucb", levels=4, multipliers=[0.5, -0.5]).start(2, 100, names=["a", "b"])
    agent.ask()
    agent.tell({"a": 1.0}, measures={"a": 0.5})
    agent.ask()
    with pytest.raises(ae.WrongTell, match=r"measures must lie in \[0, 1\].*got 1.5 for arm 'a'"):
        agent.tell([1.0, 0.0], measures=[1.5, 0.2])
    assert agent.rounds == 1
    agent.tell(None, measures=[0.5, float("nan")])  # rewards got lost, a measure did not
    assert agent.rounds == 2


def test_drift_moves_responses_in_a_straight_line():
    problem = ae.Problem([lambda _x: 0.2] * 2, noise="none", drift=ae.Drift([lambda _x: 0.6, lambda _x: 0.2], 100))
    done = run_once(problem, ae.Fixed([0.5, 0.5]), np.arange(1, 201), 0)
    t = np.arange(1, 201)
    expected = 0.5 * (0.2 + 0.4 * np.minimum(1, t / 100)) + 0.5 * 0.2
    assert np.diff(done.utility, prepend=0) == pytest.approx(expected)


def test_regret_under_drift_is_against_the_best_allocation_of_each_moment():
    """Brute force over a fine grid in each of some rounds; between them the benchmark may be low by little."""
    from aftereffect.oracle.benchmark import moving_utilities

    for name in ("gaussian", "patrol", "bump", "lipschitz"):
        problem = ae.problem(name, drift=1000, seed=3)
        rounds = np.arange(1, 1201)
        earned = np.diff(moving_utilities(problem, rounds), prepend=0)
        shares = np.linspace(0, 1, 4001)
        for t in (1, 137, 500, 777, 1000, 1200):
            first, second = problem.moved(min(1.0, t / 1000))
            best = np.max(shares * first(shares) + (1 - shares) * second(1 - shares))
            assert earned[t - 1] == pytest.approx(best, abs=3e-4)


def test_a_policy_that_knew_every_moment_would_have_no_regret():
    problem = ae.problem("patrol", drift=2000, seed=1)
    result = ae.simulate(problem, [ae.Fixed(), ae.RoundRobin()], 2000, runs=1, checkpoints=4)
    assert all(np.all(np.diff(r.regret[0], prepend=0) > -1e-6) for r in result.values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"impact": ae.Smoothed(0.5, start=1)}, "drift needs an impact without a transient"),
        ({"driver": "realised", "memory": 0.5}, "drift needs"),
        ({"drift": 0, "memory": 0.5}, "drift: rounds must be a whole number from 1 to .*, got 0"),
    ],
)
def test_drift_that_cannot_be(options, said):
    with pytest.raises(ae.AftereffectError, match=said):
        ae.problem("patrol", **{"drift": 100, **options})
