"""The five-diagonal field against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from aftereffect._random import generator
from aftereffect.model.curves import Floats
from aftereffect.policies import smooth_field as field

SPREAD = 0.5
CASES = [(seed, nodes) for seed, nodes in enumerate([2, 3, 4, 5, 9, 30, 61])]


def dense_prior(nodes: int, steepness: float, bend: float) -> Floats:
    """The prior's precision, written as sums of squares of differences."""
    h = 1.0 / (nodes - 1)
    tau2, sigma2 = 2 * steepness**2 * bend, 2 * steepness**2 / bend
    slopes = np.diff(np.eye(nodes), axis=0) / h
    bends = np.diff(slopes, axis=0) / h
    return np.eye(nodes) / (SPREAD**2 * nodes) + h * slopes.T @ slopes / tau2 + h * bends.T @ bends / sigma2


def drawn(seed: int, nodes: int) -> tuple[float, float, Floats, Floats]:
    """Steepness, bend, weights and pulls; some nodes were never seen."""
    random = np.random.default_rng(seed)
    weight = random.exponential(30.0, nodes) * (random.random(nodes) < 0.6)
    return random.uniform(0.2, 2.0), random.uniform(0.02, 3.0), weight, weight * random.normal(0.0, 0.4, nodes)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_the_prior_is_the_sum_of_squares_of_its_definition(seed: int, nodes: int) -> None:
    steepness, bend, _, _ = drawn(seed, nodes)
    bands = np.full((3, nodes), np.nan)
    field.prior_bands(steepness, bend, SPREAD, bands)
    found = np.diag(bands[0])
    for offset in (1, 2):
        beside = np.diag(bands[offset, : max(0, nodes - offset)], offset) if nodes > offset else 0.0
        found = found + beside + np.transpose(beside)
    np.testing.assert_allclose(found, dense_prior(nodes, steepness, bend), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_mean_and_variances_are_those_of_the_dense_posterior(seed: int, nodes: int) -> None:
    steepness, bend, weight, pull = drawn(seed, nodes)
    covariance = np.linalg.inv(dense_prior(nodes, steepness, bend) + np.diag(weight))
    bands, mean, variance = np.zeros((3, nodes)), np.zeros(nodes), np.zeros(nodes)
    field.posterior(steepness, bend, SPREAD, weight, pull, bands, mean)
    field.variances(bands, variance)
    np.testing.assert_allclose(mean, covariance @ pull, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-6)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_samples_have_the_posterior_covariance(seed: int, nodes: int) -> None:
    """`colour` is linear, so its matrix A, read off unit vectors, must satisfy A A' = covariance."""
    steepness, bend, weight, pull = drawn(seed, nodes)
    covariance = np.linalg.inv(dense_prior(nodes, steepness, bend) + np.diag(weight))
    bands, mean = np.zeros((3, nodes)), np.zeros(nodes)
    field.posterior(steepness, bend, SPREAD, weight, pull, bands, mean)
    columns = []
    for unit in np.eye(nodes):
        noise = np.zeros(nodes)
        field.colour(bands, unit, noise)
        columns.append(noise)
    matrix = np.array(columns).T
    np.testing.assert_allclose(matrix @ matrix.T, covariance, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_evidence_is_the_density_of_the_observed_means(seed: int, nodes: int) -> None:
    """Differences between two fields: what does not depend on the field drops out."""
    _, _, weight, pull = drawn(seed, nodes)
    seen = weight > 0
    observed = pull[seen] / weight[seen]
    found, expected = [], []
    for steepness, bend in [(0.3, 0.05), (1.2, 0.8)]:
        bands, mean = np.zeros((3, nodes)), np.zeros(nodes)
        evidence = field.posterior(steepness, bend, SPREAD, weight, pull, bands, mean)
        field.prior_bands(steepness, bend, SPREAD, bands)
        found.append(0.5 * (evidence + field.factorise(bands, np.zeros(nodes))))
        prior = np.linalg.inv(dense_prior(nodes, steepness, bend))
        marginal = prior[np.ix_(seen, seen)] + np.diag(1.0 / weight[seen])
        expected.append(-0.5 * (np.linalg.slogdet(marginal)[1] + observed @ np.linalg.solve(marginal, observed)))
    assert found[1] - found[0] == pytest.approx(expected[1] - expected[0], rel=1e-6, abs=1e-8)


def test_white_noise_keeps_its_variance_and_the_share_asked_for() -> None:
    rng, old = generator(1), np.random.default_rng(1).normal(size=200_000)
    new = old.copy()
    field.refresh_white(rng, 0.9, new)
    assert np.var(new) == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(old, new)[0, 1] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("weight", [0.0, 1e-12, 1e8])
def test_extreme_fields_stay_distributions(weight: float) -> None:
    nodes = 2001
    bands, mean, variance = np.zeros((3, nodes)), np.zeros(nodes), np.zeros(nodes)
    weights = np.where(np.arange(nodes) % 100 == 0, weight, 0.0)
    for steepness, bend in [(0.1, 10.0), (3.0, 0.001)]:
        field.posterior(steepness, bend, SPREAD, weights, 0.3 * weights, bands, mean)
        field.variances(bands, variance)
        assert np.all(np.isfinite(mean))
        assert np.all(bands[0] > 0)
        assert np.all(variance > 0)
