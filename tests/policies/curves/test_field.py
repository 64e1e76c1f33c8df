"""The five-diagonal field against Matern's formula and dense linear algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aftereffect._random import generator
from aftereffect.model.curves import Floats
from aftereffect.policies.curves import field
from aftereffect.policies.curves.fit import AMPLITUDES, LENGTHS

CASES = [(seed, nodes) for seed, nodes in enumerate([2, 3, 4, 5, 9, 30, 61])]


def matern(nodes: int, length: float) -> Floats:
    """Matern's covariance of smoothness 3/2, from its formula."""
    x = np.linspace(0.0, 1.0, nodes)
    distance = math.sqrt(3.0) / length * np.abs(x[:, None] - x[None])
    return np.asarray((1.0 + distance) * np.exp(-distance))


def dense(diagonal: Floats, beside: Floats, second: Floats) -> Floats:
    """The symmetric matrix that three diagonals stand for."""
    matrix = np.diag(diagonal)
    for offset, entries in ((1, beside[:-1]), (2, second[:-2])):
        matrix += np.diag(entries, offset) + np.diag(entries, -offset) if len(entries) else 0.0
    return matrix


def room(nodes: int) -> tuple[Floats, Floats, Floats]:
    return np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)


def prior(nodes: int, length: float, amplitude: float) -> Floats:
    precisions = np.full((3, nodes), np.nan)
    field.prior_precisions(length, amplitude, *precisions)
    return dense(*precisions)


def dense_prior(nodes: int, length: float, amplitude: float) -> Floats:
    """The precision of the module's E: sums of squares of values, slopes and bends, and what stands at the ends."""
    h, k = 1.0 / (nodes - 1), math.sqrt(3.0) / length
    one = np.eye(nodes)
    slopes = np.diff(one, axis=0) / h
    bends = np.diff(slopes, axis=0) / h
    trapezoid = np.full(nodes, h)
    trapezoid[[0, -1]] *= 0.5
    energy = h * bends.T @ bends + 2 * k**2 * h * slopes.T @ slopes + k**4 * np.diag(trapezoid)
    for value, outwards in ((one[0], -slopes[0]), (one[-1], slopes[-1])):
        cross = np.outer(value, outwards)
        energy += 2 * k**3 * np.outer(value, value) + 2 * k * np.outer(outwards, outwards) + k**2 * (cross + cross.T)
    return np.asarray(energy / (4 * k**3 * amplitude**2))


def drawn(seed: int, nodes: int) -> tuple[float, float, Floats, Floats]:
    """Length, amplitude, weights and a vector; some nodes were never seen."""
    random = np.random.default_rng(seed)
    weight = random.exponential(30.0, nodes) * (random.random(nodes) < 0.6)
    return random.uniform(0.1, 2.0), random.uniform(0.02, 0.8), weight, random.normal(0.0, 3.0, nodes)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("amplitude", [AMPLITUDES[0], 1.0])
def test_the_prior_is_materns_process_at_the_ends_too(length: float, amplitude: float) -> None:
    found = np.linalg.inv(prior(201, length, amplitude)) / amplitude**2
    expected = matern(201, length)
    assert np.abs(found - expected).max() < 0.01
    ends = [0, 1, 199, 200]
    assert np.diag(found)[ends] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_finer_grid_is_nearer_to_the_process(length: float) -> None:
    off = [np.abs(np.linalg.inv(prior(n, length, 1.0)) - matern(n, length)).max() for n in (51, 101, 201)]
    assert off[2] < off[1] < off[0]


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_the_prior_is_the_sum_of_squares_of_its_definition(seed: int, nodes: int) -> None:
    length, amplitude, _, _ = drawn(seed, nodes)
    expected = dense_prior(nodes, length, amplitude)
    np.testing.assert_allclose(prior(nodes, length, amplitude), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_determinant_solution_and_variances_are_those_of_dense_algebra(seed: int, nodes: int) -> None:
    length, amplitude, weight, vector = drawn(seed, nodes)
    precision = dense_prior(nodes, length, amplitude) + np.diag(weight)
    bands, solution, variance = room(nodes), vector.copy(), np.zeros(nodes)
    field.prior_precisions(length, amplitude, *bands)
    assert field.factorise(*bands, weight) == pytest.approx(np.linalg.slogdet(precision)[1], rel=1e-8, abs=1e-8)
    expected = np.linalg.solve(precision, vector)
    assert field.solve(*bands, solution) == pytest.approx(vector @ expected, rel=1e-6)
    np.testing.assert_allclose(solution, expected, rtol=1e-6, atol=1e-9)
    field.variances(*bands, variance)
    np.testing.assert_allclose(variance, np.diag(np.linalg.inv(precision)), rtol=1e-6)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_two_solutions_at_once_are_those_of_one_after_the_other_bit_by_bit(seed: int, nodes: int) -> None:
    length, amplitude, weight, vector = drawn(seed, nodes)
    bands, both, alone = room(nodes), np.array([vector, weight]), np.array([vector, weight])
    field.prior_precisions(length, amplitude, *bands)
    found = field.solve_both(*bands, weight, *both)
    again = room(nodes)
    field.prior_precisions(length, amplitude, *again)
    assert found == (field.factorise(*again, weight), *(field.solve(*again, right) for right in alone))
    np.testing.assert_array_equal(both, alone)
    np.testing.assert_array_equal(bands, again)


@pytest.mark.parametrize(("seed", "nodes"), CASES)
def test_samples_have_the_posterior_covariance(seed: int, nodes: int) -> None:
    """`colour` is linear, so its matrix A, read off unit vectors, must satisfy A A' = covariance."""
    length, amplitude, weight, _ = drawn(seed, nodes)
    bands = room(nodes)
    field.prior_precisions(length, amplitude, *bands)
    field.factorise(*bands, weight)
    columns = []
    for unit in np.eye(nodes):
        noise = np.zeros(nodes)
        field.colour(*bands, unit, noise)
        columns.append(noise)
    matrix = np.array(columns).T
    covariance = np.linalg.inv(dense_prior(nodes, length, amplitude) + np.diag(weight))
    np.testing.assert_allclose(matrix @ matrix.T, covariance, rtol=1e-6, atol=1e-10)


def test_white_noise_keeps_its_variance_and_the_share_asked_for() -> None:
    rng, old = generator(1), np.random.default_rng(1).normal(size=200_000)
    new = old.copy()
    field.refresh_white(rng, 0.9, new)
    assert np.var(new) == pytest.approx(1.0, abs=0.02)
    assert np.corrcoef(old, new)[0, 1] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("weight", [0.0, 1e-12, 1e8])
@pytest.mark.parametrize("length", [LENGTHS[0], LENGTHS[-1]])
@pytest.mark.parametrize("amplitude", [1e-5, 0.9])
def test_extreme_fields_stay_distributions(weight: float, length: float, amplitude: float) -> None:
    nodes = 2001
    bands, mean, variance = room(nodes), np.zeros(nodes), np.zeros(nodes)
    weights = np.where(np.arange(nodes) % 100 == 0, weight, 0.0)
    field.prior_precisions(length, amplitude, *bands)
    assert math.isfinite(field.factorise(*bands, weights))
    mean[:] = 0.3 * weights
    field.solve(*bands, mean)
    field.variances(*bands, variance)
    assert np.all(np.isfinite(mean))
    assert np.all(bands[0] > 0)
    assert np.all(variance > 0)
    assert np.all(variance < 1.05 * amplitude**2)
