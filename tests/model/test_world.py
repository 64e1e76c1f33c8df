"""The world round by round: the expected utility (1), realised utility, common random numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import aftereffect as ae
from aftereffect._random import generator
from aftereffect.model.world import World, fixed_utility
from tests.model.worlds import drive, sequence

RESPONSES = [ae.Gaussian(0.45), ae.LinearDecline(0.9, 0.2), ae.SaturatingRise(0.2, 0.8, 4.0)]
FEEDBACKS = ["independent", "one", "split"]
NOISES: list[ae.Noise | str] = ["bernoulli", ae.Noise("beta", 3.0), "none"]


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize(
    "impact", [ae.Instant(), ae.Discounted(0.5), ae.Smoothed(0.5, 1.0, ae.Power(2.0)), ae.Window(4)]
)
def test_step_gives_the_expected_utility_of_equation_1(feedback, impact) -> None:
    problem = ae.Problem(RESPONSES, impact, feedback=feedback)
    shares = sequence(200, 3, seed=1)
    came = drive(problem, shares, seed=2)
    after = problem.impact_after_g(came.before_g)
    for t in range(200):
        by_hand = sum(shares[t, k] * float(RESPONSES[k](after[t, k])) for k in range(3))
        assert came.expected[t] == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_realised_utility_sums_what_was_seen(feedback) -> None:
    shares = sequence(300, 3, seed=3)
    came = drive(ae.Problem(RESPONSES, ae.Discounted(0.4), feedback=feedback, noise="beta"), shares, seed=4)
    weights = shares if feedback == "split" else np.ones_like(shares)
    assert came.realised == pytest.approx((weights * came.seen * came.reward).sum(axis=1), abs=1e-12)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("driver", ["intended", "realised"])
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_realised_utility_is_unbiased(feedback, driver, noise) -> None:
    """The mean of realised - expected within 4 standard errors: error rate 6e-5 each."""
    problem = ae.Problem(RESPONSES, ae.Discounted(0.6), feedback=feedback, driver=driver, noise=noise)
    came = drive(problem, sequence(4_000, 3, seed=5), seed=6)
    gap = came.realised - came.expected
    if feedback == "split" and noise == "none":
        assert gap == pytest.approx(np.zeros(4_000), abs=1e-12)
    else:
        assert abs(gap.mean()) < 4.0 * gap.std() / np.sqrt(len(gap))


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_two_policies_meet_the_same_variates(feedback, noise) -> None:
    """Different allocations first, equal ones then: from there on the same activations and the same rewards."""
    problem = ae.Problem(RESPONSES, ae.Instant(), feedback=feedback, noise=noise)
    common = sequence(200, 3, seed=7)
    first = drive(problem, np.vstack([sequence(50, 3, seed=8), common]), seed=9)
    second = drive(problem, np.vstack([np.tile([0.0, 0.0, 1.0], (50, 1)), common]), seed=9)
    assert np.array_equal(first.seen[50:], second.seen[50:])
    assert np.array_equal(first.reward[50:], second.reward[50:])
    other = drive(problem, np.vstack([sequence(50, 3, seed=8), common]), seed=10)
    if feedback != "split":
        assert not np.array_equal(first.seen[50:], other.seen[50:])


def test_with_memory_the_variates_stay_the_same_though_the_means_differ() -> None:
    problem = ae.Problem(RESPONSES, ae.Discounted(0.9))
    common = sequence(200, 3, seed=11)
    first = drive(problem, np.vstack([np.tile([1.0, 0.0, 0.0], (50, 1)), common]), seed=12)
    second = drive(problem, np.vstack([np.tile([0.0, 1.0, 0.0], (50, 1)), common]), seed=12)
    assert np.array_equal(first.seen[50:], second.seen[50:])
    agree = np.mean(first.reward[150:] == second.reward[150:])  # 100 rounds later the impacts have met
    assert agree > 0.99


def test_a_larger_share_is_activated_whenever_a_smaller_one_is() -> None:
    """The same uniform decides, whatever the share: activation is monotone in it."""
    problem = ae.Problem(RESPONSES)
    small, large = np.tile([0.2, 0.3, 0.5], (2_000, 1)), np.tile([0.6, 0.4, 0.0], (2_000, 1))
    a, b = drive(problem, small, seed=13), drive(problem, large, seed=13)
    assert np.all(a.seen[:, :2] <= b.seen[:, :2])
    assert a.seen[:, 0].sum() < b.seen[:, 0].sum()


def test_a_better_mean_is_rewarded_whenever_a_worse_one_is() -> None:
    """The same uniform decides a Bernoulli reward, whatever its mean."""
    shares = np.tile([0.5, 0.5], (2_000, 1))
    worse, better = (drive(ae.Problem([ae.Table([0, 1], [m, m])] * 2), shares, seed=14).reward for m in (0.3, 0.7))
    assert np.all(worse <= better)
    assert worse.sum() < better.sum()


def test_arms_and_rounds_have_variates_of_their_own() -> None:
    """Correlations between arms and from round to round below 4 standard errors: error rate 6e-5 each."""
    came = drive(ae.Problem([ae.Table([0, 1], [0.5, 0.5])] * 3), np.tile([0.4, 0.3, 0.3], (10_000, 1)), seed=15)
    series = [*came.seen.T]
    limit = 4.0 / np.sqrt(10_000)
    for i, x in enumerate(series):
        assert abs(stats.pearsonr(x[:-1], x[1:]).statistic) < limit
        for y in series[:i]:
            assert abs(stats.pearsonr(x, y).statistic) < limit


def test_fixed_utility_sums_the_steps() -> None:
    problem = ae.Problem(RESPONSES, ae.Smoothed(0.8, 1.0), feedback="split")
    allocation, rounds = np.array([0.2, 0.5, 0.3]), np.array([1, 7, 60], dtype=np.int64)
    totals = np.zeros(3)
    world = problem.world(generator(0))
    assert isinstance(world, World)
    fixed_utility(world, allocation, rounds, totals)
    path = np.cumsum(drive(problem, np.tile(allocation, (60, 1))).expected)
    assert totals == pytest.approx(path[rounds - 1], abs=1e-12)
