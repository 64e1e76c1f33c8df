"""The random generator: published vectors, moments, distributions.

Seeds are fixed, so these tests never flicker; the error rate stated at each is the chance that a *correct* generator fails
under a seed drawn at random.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from aftereffect._random import (
    POLICY,
    WORLD,
    beta,
    binomial_quantile,
    gamma,
    generator,
    next_word,
    normal,
    reseed,
    stream,
    uniform,
)

# Blackman and Vigna's xoshiro256plusplus.c from the state {1, 2, 3, 4}.
XOSHIRO = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]
# Vigna's splitmix64.c from the seed 1234567.
SPLITMIX = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]

DRAWS = 20_000
ERROR_RATE = 1e-3  # of each statistical test here


def test_words_follow_the_published_vector() -> None:
    rng = np.array([1, 2, 3, 4], dtype=np.uint64)
    assert [int(next_word(rng)) for _ in XOSHIRO] == XOSHIRO


def test_reseed_follows_the_published_vector() -> None:
    rng = np.zeros(4, dtype=np.uint64)
    reseed(rng, np.uint64(1234567))
    assert rng.tolist() == SPLITMIX


def test_words_equal_a_plain_python_generator_for_many_rounds() -> None:
    mask = (1 << 64) - 1
    rng = generator(99)
    s = [int(w) for w in rng]

    def rotate(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & mask

    for _ in range(5_000):
        expected = (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
        shifted = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate(s[3], 45)
        assert int(next_word(rng)) == expected
    assert rng.tolist() == s


def test_uniform_takes_the_upper_53_bits() -> None:
    words, rng = generator(5), generator(5)
    for _ in range(1_000):
        assert uniform(rng) == (int(next_word(words)) >> 11) / 2**53


def test_uniform_moments() -> None:
    """Mean, variance and lag-1 correlation within 3.29 standard errors: error rate 1e-3 each."""
    rng = generator(11)
    u = np.array([uniform(rng) for _ in range(DRAWS)])
    assert u.min() >= 0.0
    assert u.max() < 1.0
    assert abs(u.mean() - 0.5) < 3.29 * np.sqrt(1 / 12 / DRAWS)
    assert abs(u.var() - 1 / 12) < 3.29 * np.sqrt(1 / 180 / DRAWS)
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 3.29 / np.sqrt(DRAWS)


def test_uniform_distribution() -> None:
    rng = generator(12)
    assert stats.kstest([uniform(rng) for _ in range(DRAWS)], "uniform").pvalue > ERROR_RATE


def test_normal_distribution() -> None:
    rng = generator(13)
    assert stats.kstest([normal(rng) for _ in range(DRAWS)], "norm").pvalue > ERROR_RATE


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 1.5, 7.0, 250.0])
def test_gamma_distribution(shape: float) -> None:
    rng = generator(14)
    draws = [gamma(rng, shape) for _ in range(DRAWS)]
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > ERROR_RATE


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.5), (1.0, 1.0), (2.0, 5.0), (0.5, 9.5), (400.0, 300.0)])
def test_beta_distribution(a: float, b: float) -> None:
    rng = generator(15)
    draws = np.array([beta(rng, a, b) for _ in range(DRAWS)])
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > ERROR_RATE


def test_beta_with_tiny_parameters_keeps_its_mean() -> None:
    """Both gammas underflow here; within 3.29 standard errors: error rate 1e-3."""
    rng = generator(16)
    draws = np.array([beta(rng, 1e-4, 3e-4) for _ in range(DRAWS)])
    assert np.all(np.isfinite(draws))
    assert abs(draws.mean() - 0.25) < 3.29 * np.sqrt(0.25 * 0.75 / DRAWS)


def test_streams_differ_in_every_part_of_their_key_and_repeat() -> None:
    keys = [
        (seed, instance, run, which)
        for seed in (0, 1)
        for instance in (0, 1)
        for run in (0, 1)
        for which in (WORLD, POLICY)
    ]
    words = {tuple(stream(*key).tolist()) for key in keys}
    assert len(words) == len(keys)
    assert stream(3, 4, 5, POLICY).tolist() == stream(3, 4, 5, POLICY).tolist()
    expected = np.random.SeedSequence(3, spawn_key=(4, 5, POLICY)).generate_state(4, np.uint64)
    assert stream(3, 4, 5, POLICY).tolist() == expected.tolist()


@pytest.mark.parametrize("count", [1, 2, 7, 50, 300, 2_000, 100_000])
@pytest.mark.parametrize("rate", [0.001, 0.02, 0.3, 0.5, 0.77, 0.98, 0.999])
def test_counts_are_the_exact_binomial_quantile(count: int, rate: float) -> None:
    """Against scipy's, in the middle and far out in both tails, where chances underflow."""
    tails = 3.3 * 10.0 ** -np.arange(2.0, 13.0)
    variates = np.concatenate([np.random.default_rng(count).random(200), tails, 1.0 - tails])
    found = [binomial_quantile(float(u), float(count), rate) for u in variates]
    assert found == stats.binom.ppf(variates, count, rate).tolist()


def test_counts_at_the_ends() -> None:
    assert binomial_quantile(0.0, 300.0, 0.5) < 90  # no count is likelier than 2^-53 below this
    assert [binomial_quantile(0.4, 9.0, p) for p in (0.0, 1.0)] == [0.0, 9.0]
    assert binomial_quantile(1.0 - 2.0**-53, 4.0, 0.5) == 4.0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_distributions_at_scale(seed: int) -> None:
    """100,000 draws of each for 20 seeds; each of the 80 tests at error rate 1e-5."""
    rng = generator(1_000 + seed)
    count = 100_000
    for draw, cdf in (
        (lambda: uniform(rng), stats.uniform.cdf),
        (lambda: normal(rng), stats.norm.cdf),
        (lambda: gamma(rng, 0.4), stats.gamma(0.4).cdf),
        (lambda: beta(rng, 1.5, 0.7), stats.beta(1.5, 0.7).cdf),
    ):
        assert stats.kstest([draw() for _ in range(count)], cdf).pvalue > 1e-5
