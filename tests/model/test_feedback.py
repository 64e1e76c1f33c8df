"""Which arms are seen, and how rewards scatter: frequencies and means with stated error rates.

Seeds are fixed; the error rate is the chance that a correct world fails under a seed drawn at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import aftereffect as ae
from aftereffect.model.feedback import as_noise, feedback_code
from tests.model.worlds import drive, sequence

ROUNDS = 20_000
ERROR_RATE = 1e-4  # of each single comparison
SHARES = np.array([0.5, 0.3, 0.2, 0.0])
MEANS = (0.9, 0.35, 0.05, 0.5)


def _problem(feedback: Any, noise: ae.Noise | str = "bernoulli", means=MEANS) -> ae.Problem:
    return ae.Problem([ae.Table([0, 1], [m, m]) for m in means], feedback=feedback, noise=noise)


def _fits(successes: float, trials: int, chance: float) -> bool:
    return bool(stats.binomtest(int(successes), trials, chance).pvalue > ERROR_RATE)


def test_independent_activation_has_the_shares_frequencies() -> None:
    seen = drive(_problem("independent"), np.tile(SHARES, (ROUNDS, 1)), seed=1).seen
    for k, share in enumerate(SHARES):
        assert _fits(seen[:, k].sum(), ROUNDS, share)
    both = (seen[:, 0] * seen[:, 1]).sum()
    assert _fits(both, ROUNDS, 0.15)  # on their own: the product of the shares
    again = (seen[:-1, 0] * seen[1:, 0]).sum()
    assert _fits(again / 2, (ROUNDS - 1) // 2, 0.25)


def test_one_arm_is_activated_with_the_shares_frequencies() -> None:
    seen = drive(_problem("one"), np.tile(SHARES, (ROUNDS, 1)), seed=2).seen
    assert np.all(seen.sum(axis=1) == 1)
    for k, share in enumerate(SHARES):
        assert _fits(seen[:, k].sum(), ROUNDS, share)


def test_under_split_every_arm_with_a_share_is_seen() -> None:
    shares = sequence(200, 4, seed=3)
    assert np.array_equal(drive(_problem("split"), shares).seen, (shares > 0).astype(float))


@pytest.mark.parametrize("feedback", ["independent", "one", "split"])
def test_an_arm_without_a_share_is_never_seen_and_a_whole_share_always(feedback: str) -> None:
    shares = np.tile([0.0, 1.0, 0.0, 0.0], (2_000, 1))
    assert np.array_equal(drive(_problem(feedback), shares, seed=4).seen, shares)


def test_bernoulli_rewards() -> None:
    came = drive(_problem("independent"), np.tile(SHARES, (ROUNDS, 1)), seed=5)
    assert set(np.unique(came.reward)) == {0.0, 1.0}
    for k in range(3):
        mask = came.seen[:, k] == 1
        assert _fits(came.reward[mask, k].sum(), int(mask.sum()), MEANS[k])


@pytest.mark.parametrize("concentration", [2.0, 10.0, 200.0])
def test_beta_rewards_have_the_stated_distribution(concentration: float) -> None:
    """Kolmogorov-Smirnov per arm, error rate 1e-4 each."""
    came = drive(_problem("split", ae.Noise("beta", concentration)), np.tile(SHARES, (5_000, 1)), seed=6)
    for k in range(3):
        law = stats.beta(concentration * MEANS[k], concentration * (1 - MEANS[k]))
        assert stats.kstest(came.reward[:, k], law.cdf).pvalue > ERROR_RATE


def test_beta_rewards_at_the_ends_are_the_ends() -> None:
    came = drive(_problem("split", "beta", (0.0, 1.0, 0.5, 0.5)), np.tile(SHARES, (100, 1)))
    assert np.all(came.reward[:, 0] == 0.0)
    assert np.all(came.reward[:, 1] == 1.0)


def test_without_noise_a_reward_is_its_mean() -> None:
    came = drive(_problem("independent", "none"), np.tile(SHARES, (500, 1)), seed=7)
    assert np.array_equal(came.reward, came.seen * np.array(MEANS))


def test_names_and_codes() -> None:
    assert [feedback_code(f) for f in ("independent", "one", "split")] == [0, 1, 2]
    assert as_noise("beta") == ae.Noise("beta", 10.0)
    assert [ae.Noise(kind).code for kind in ("bernoulli", "beta", "none")] == [0, 1, 2]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_frequencies_and_means_at_scale(seed: int) -> None:
    """50,000 rounds; 120 comparisons in all, each at error rate 1e-6."""
    rounds = 50_000
    for feedback in ("independent", "one"):
        came = drive(_problem(feedback), np.tile(SHARES, (rounds, 1)), seed=100 + seed)
        for k in range(3):
            count = int(came.seen[:, k].sum())
            assert stats.binomtest(count, rounds, SHARES[k]).pvalue > 1e-6
            hits = int((came.reward[:, k] * came.seen[:, k]).sum())
            assert stats.binomtest(hits, count, MEANS[k]).pvalue > 1e-6


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.93])
def test_continuous_noise_has_the_response_as_mean_and_the_deviation_stated(mean: float) -> None:
    """4,000 draws: the mean within 5 standard errors, the deviation within 10 percent."""
    noise = ae.Noise("continuous", deviation=0.02)
    came = drive(ae.Problem([lambda _x: mean] * 2, feedback="split", noise=noise), np.full((2_000, 2), 0.5), seed=1)
    assert came.reward.mean() == pytest.approx(mean, abs=5 * 0.02 / np.sqrt(4_000))
    assert came.reward.std() == pytest.approx(0.02, rel=0.1)
    assert 0 <= came.reward.min() <= came.reward.max() <= 1


def test_a_deviation_larger_than_the_mean_allows_is_all_or_nothing() -> None:
    noise = ae.Noise("continuous", deviation=0.9)
    came = drive(ae.Problem([lambda _x: 0.1] * 2, feedback="split", noise=noise), np.full((500, 2), 0.5), seed=1)
    assert set(came.reward.ravel().tolist()) == {0.0, 1.0}
    assert came.reward.mean() == pytest.approx(0.1, abs=0.05)


def test_a_common_shock_moves_all_arms_together_and_each_moves_them_apart() -> None:
    """Correlation over 2,000 rounds; neither moves what is expected, nor the other draws."""
    shares = np.full((2_000, 2), 0.5)

    def rewards(shock) -> np.ndarray:
        problem = ae.Problem([lambda _x: 0.5, lambda _x: 0.4], feedback="split", noise="none", shock=shock)
        came = drive(problem, shares, seed=3)
        assert came.expected == pytest.approx(np.full(2_000, 0.45))
        return came.reward

    common, apart = rewards(0.05), rewards(ae.Shock(0.05, "each"))
    assert common[:, 0] - common[:, 1] == pytest.approx(np.full(2_000, 0.1))
    assert abs(np.corrcoef(apart.T)[0, 1]) < 0.1
    for found in (common, apart):
        assert found.std(axis=0) == pytest.approx([0.05, 0.05], rel=0.1)
        assert found.mean(axis=0) == pytest.approx([0.5, 0.4], abs=0.006)


def test_shocks_stay_within_the_unit_interval_and_shift_no_other_draw() -> None:
    shares = np.full((400, 2), 0.5)
    plain, shaken = (
        drive(ae.Problem([lambda x: x] * 2, units=60, shock=shock), shares, seed=2) for shock in (None, 0.4)
    )
    assert np.array_equal(plain.expected, shaken.expected)
    assert 0 <= shaken.reward.min() <= shaken.reward.max() <= 1
    assert not np.array_equal(plain.reward, shaken.reward)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ae.Noise("continuous"), "continuous noise needs a deviation"),
        (lambda: ae.Noise("continuous", deviation=0.0), r"deviation must lie in \(0, 1\], got 0"),
        (lambda: ae.Noise("beta", deviation=0.1), "beta noise has no deviation"),
        (lambda: ae.Shock(0.0), r"shock: deviation must lie in \(0, 1\]"),
        (lambda: ae.Shock(0.1, "some"), "unknown shock 'some'"),  # type: ignore[arg-type]
        (
            lambda: ae.problem("loan", shock="big"),
            r"shock: a deviation, or by name with one as in each\(deviation=0.03\), got 'big'",
        ),
    ],
)
def test_scatter_that_cannot_be(make, said) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        make()
