"""Measured slopes: they find known ones, and say what the paper's bounds leave out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments.slopes import (
    SumUCB,
    hard_slope,
    log_slope,
    measured_slope,
    predicted_slope,
    switching_slope,
    two_peaks,
)
from aftereffect.theory import bounds

PAGE = Path(__file__).parent.parent.parent / "docs" / "theory.md"


@pytest.mark.parametrize("eps", [0.1, 0.2, 0.4])
@pytest.mark.parametrize("memory", [0.0, 0.6])
def test_predicted_slope_of_example_1_is_half_of_eps(eps: float, memory: float) -> None:
    assert predicted_slope(ae.problem("tent", eps=eps, memory=memory)) == pytest.approx(bounds.linear_slope(eps))


@pytest.mark.parametrize("memory", [0.0, 0.4])
@pytest.mark.parametrize("policy", [ae.Thompson(), ae.UCB1(), ae.Exp3()], ids=lambda p: p.name)
def test_what_ignores_its_impact_loses_half_of_eps_a_round(policy: ae.Policy, memory: float) -> None:
    slope = measured_slope(policy, ae.problem("tent", memory=memory), 20_000, runs=6, seed=2)
    assert slope.low <= slope.estimate <= slope.high
    assert slope.estimate == pytest.approx(slope.predicted, rel=0.05)


def test_what_knows_its_impact_loses_less() -> None:
    slope = measured_slope(ae.ActionUCB(), ae.problem("tent", memory=0.0), 100_000, runs=4)
    assert slope.high < 0.5 * slope.predicted


def test_a_constant_loss_is_measured_exactly() -> None:
    problem = ae.problem("tent", memory=0.5)
    slope = measured_slope(ae.Fixed([1.0, 0.0]), problem, 101, runs=2)
    assert (slope.low, slope.estimate, slope.high) == pytest.approx((0.1, 0.1, 0.1))
    with pytest.raises(ae.AftereffectError, match="at least 2 rounds"):
        measured_slope(ae.Fixed([1.0, 0.0]), problem, 1)


def test_log_slope_of_a_power_with_noise() -> None:
    random = np.random.default_rng(1)
    horizons = (1_000, 10_000, 100_000)
    samples = [3 * t**0.7 * random.uniform(0.8, 1.2, 200) for t in horizons]
    slope = log_slope(horizons, samples, 0.7)
    assert slope.low <= slope.predicted <= slope.high
    assert slope.high - slope.low < 0.02
    exact = log_slope(horizons, [np.array([t**0.5]) for t in horizons], 0.5)
    assert (exact.low, exact.estimate, exact.high) == pytest.approx((0.5, 0.5, 0.5))
    with pytest.raises(ae.AftereffectError, match="at least two horizons"):
        log_slope((10,), [np.ones(3)], 0.5)
    with pytest.raises(ae.AftereffectError, match="above 0"):
        log_slope((10, 20), [np.ones(3), np.zeros(3)], 0.5)


def test_hard_instances_cost_a_constant_share_at_every_horizon() -> None:
    """The most that can be lost grows like T^(2/3), and a learner loses no smaller share of it as T grows."""
    found = hard_slope(lambda i: ae.CUCB(levels=i.grid_levels), horizons=(1_000, 8_000, 27_000), instances=6)
    assert found.intervals == (5, 10, 15)
    assert found.most == pytest.approx((400, 1600, 3600))  # K eps T
    assert all(0.3 < share <= 1 for share in found.shares)
    assert found.shares[0] <= found.shares[-1] + 0.05
    assert found.slope.high > 2 / 3
    assert found.slope.estimate < 1
    for regret, twin in zip(found.regrets, found.twins, strict=True):
        assert np.all(twin <= regret + 1e-9)


def test_a_learner_of_the_sum_finds_wide_bumps() -> None:
    found = hard_slope(lambda i: SumUCB(levels=i.grid_levels), horizons=(4_000, 8_000), instances=3, scale=2.5)
    assert found.intervals == (3, 4)
    assert found.shares[1] < 0.4


def test_switching_is_not_in_the_bounds() -> None:
    """Without noise Algorithm 3 keeps changing between two best allocations, and loses linearly: beyond Lemma E.5."""
    policy, horizons = ae.HistoryUCB(levels=4, lipschitz=4.0), (10_000, 100_000, 2_000_000)
    problem = two_peaks(0.4, "none", "split", slope=4.0)
    samples, slope = switching_slope(policy, problem, horizons, runs=2)
    assert slope.low > 0.9
    cut = policy.phases(ae.Setting(2, horizons[-1], memory=0.4))
    err = bounds.approach_error(0.4, cut.approach, 2, problem.lipschitz)
    gap = problem.utility([0.25, 0.75]) - problem.utility([0.5, 0.5])
    bound = bounds.history_instance_bound(
        2, horizons[-1], 4, cut.length, cut.effective_estimation, [gap, gap], gap, err
    )
    swept = 3 * cut.length * gap  # the initial sweep, which the bound leaves out
    assert samples[-1].min() > 2 * (bound + swept)
    halves = measured_slope(policy, problem, 400_000, runs=2), measured_slope(policy, problem, 4_000_000, runs=2)
    assert halves[1].estimate > 0.95 * halves[0].estimate > 0.05  # a round costs as much ten times later


def test_at_slope_1_switching_costs_more_than_theorem_5_1_allows() -> None:
    policy, problem = ae.HistoryUCB(levels=4), two_peaks(0.4, "none", "split")
    assert problem.lipschitz == pytest.approx(1.0)
    _, slope = switching_slope(policy, problem, (10_000, 100_000, 1_000_000), runs=2)
    assert slope.low > 0.8 > 2 / 3


def test_with_noise_switching_costs_about_the_root_of_t() -> None:
    _, slope = switching_slope(ae.HistoryUCB(levels=4), two_peaks(), (10_000, 100_000, 1_000_000))
    assert 0.4 < slope.low < slope.high < 0.65


def test_the_page_lists_every_bound() -> None:
    page = PAGE.read_text()
    for name in bounds.__all__:
        assert f"`{name}(" in page, f"{name} is missing: run python -m aftereffect.report.theory_page"
