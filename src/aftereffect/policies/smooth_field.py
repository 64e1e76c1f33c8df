"""Smooth random curves on a grid: a Gaussian Markov random field whose precision has five diagonals.

A curve x on N + 1 equally spaced nodes of [0, 1] has the prior density exp(-E/2) with

    E = sum (x_i - centre)^2 / (spread^2 (N + 1))  +  integral of slope^2 / tau^2  +  integral of (slope')^2 / sigma^2,

so that its slope is in effect an Ornstein-Uhlenbeck process. In place of tau and sigma a field is described by that process:
`steepness` v, the size of a typical slope, and `bend` b, how far one goes before the slope has changed: tau^2 = 2 v^2 b and
sigma^2 = 2 v^2 / b. Observations are a precision `weight` and a `pull` (weight times the observed mean, less the centre) per
node. Mean, sample, variances and evidence each cost O(N), by an LDL' factorisation.

A field of precisions is an array `bands` of three rows: the diagonal and the two diagonals beside it (entry i couples nodes
i, i + 1 and i, i + 2). `factorise` puts D and the two diagonals of L in their place.
"""

from __future__ import annotations

import math

from aftereffect._compile import helper, kernel
from aftereffect._random import Words, normal
from aftereffect.model.curves import Floats

SMALLEST_PIVOT = 1e-13  # of the diagonal: below it a pivot is rounding error, and the field must stay a distribution
DIAGONAL, NEXT, SECOND = 0, 1, 2  # rows of `bands`


@kernel
def prior_bands(steepness: float, bend: float, spread: float, bands: Floats) -> None:
    """The prior's precisions: ridge, squared first differences, squared second differences."""
    diagonal, beside, second = bands[DIAGONAL], bands[NEXT], bands[SECOND]
    nodes = diagonal.shape[0]
    ridge = 1.0 / (spread * spread * nodes)
    for i in range(nodes):
        diagonal[i] = ridge
        beside[i] = 0.0
        second[i] = 0.0
    steps = nodes - 1.0
    first = steps / (2.0 * steepness * steepness * bend)
    for i in range(nodes - 1):
        diagonal[i] += first
        diagonal[i + 1] += first
        beside[i] -= first
    curvature = steps * steps * steps * bend / (2.0 * steepness * steepness)
    for i in range(nodes - 2):
        diagonal[i] += curvature
        diagonal[i + 1] += 4.0 * curvature
        diagonal[i + 2] += curvature
        beside[i] -= 2.0 * curvature
        beside[i + 1] -= 2.0 * curvature
        second[i] += curvature


@kernel
def factorise(bands: Floats, weight: Floats) -> float:
    """Add the weights to the diagonal and factorise in place as L D L'; gives the log determinant."""
    diagonal, beside, second = bands[DIAGONAL], bands[NEXT], bands[SECOND]
    nodes = diagonal.shape[0]
    total, product = 0.0, 1.0
    before, before2 = 1.0, 1.0  # pivots of the two nodes before
    low, far, far2 = 0.0, 0.0, 0.0  # L[i, i - 1], L[i, i - 2] and L[i + 1, i - 1]
    for i in range(nodes):
        whole = diagonal[i] + weight[i]
        pivot = whole - low * low * before - far * far * before2
        if pivot < SMALLEST_PIVOT * whole:
            pivot = SMALLEST_PIVOT * whole
        diagonal[i] = pivot
        inverse = 1.0 / pivot
        next_low = (beside[i] - low * far2 * before) * inverse
        next_far = second[i] * inverse
        beside[i] = next_low
        second[i] = next_far
        far, far2 = far2, next_far
        low = next_low
        before2, before = before, pivot
        product *= pivot
        if product > 1e100 or product < 1e-100:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def solve(bands: Floats, vector: Floats) -> float:
    """Solve with the factorised field in place; gives the old vector times the solution."""
    diagonal, beside, second = bands[DIAGONAL], bands[NEXT], bands[SECOND]
    nodes = diagonal.shape[0]
    length, one, two = 0.0, 0.0, 0.0
    for i in range(nodes):
        value = vector[i]
        if i > 0:
            value -= beside[i - 1] * one
        if i > 1:
            value -= second[i - 2] * two
        two, one = one, value
        scaled = value / diagonal[i]
        length += value * scaled
        vector[i] = scaled
    back_substitute(bands, vector)
    return length


@helper
def back_substitute(bands: Floats, vector: Floats) -> None:
    """Solve L' x = vector in place."""
    beside, second = bands[NEXT], bands[SECOND]
    one, two = 0.0, 0.0
    for i in range(beside.shape[0] - 1, -1, -1):
        value = vector[i] - beside[i] * one - second[i] * two
        vector[i] = value
        two, one = one, value


@kernel
def colour(bands: Floats, white: Floats, noise: Floats) -> None:
    """White noise into noise with the factorised field's covariance: noise = L'^-1 D^-1/2 white."""
    diagonal = bands[DIAGONAL]
    for i in range(diagonal.shape[0]):
        noise[i] = white[i] / math.sqrt(diagonal[i])
    back_substitute(bands, noise)


@kernel
def variances(bands: Floats, variance: Floats) -> None:
    """The diagonal of the inverse (Takahashi's recursion from the last node to the first)."""
    diagonal, beside, second = bands[DIAGONAL], bands[NEXT], bands[SECOND]
    own, later, across = 0.0, 0.0, 0.0  # covariances (i + 1, i + 1), (i + 2, i + 2) and (i + 1, i + 2)
    for i in range(diagonal.shape[0] - 1, -1, -1):
        low, far = beside[i], second[i]
        with_next = -low * own - far * across
        with_second = -low * across - far * later
        variance[i] = 1.0 / diagonal[i] - low * with_next - far * with_second
        later, across, own = own, with_next, variance[i]


@kernel
def refresh_white(rng: Words, keep: float, white: Floats) -> None:
    """Let white noise move on: a share `keep` of the old stays, and its variance stays one."""
    fresh = math.sqrt(1.0 - keep * keep)
    for i in range(white.shape[0]):
        white[i] = keep * white[i] + fresh * normal(rng)


@kernel
def posterior(
    steepness: float, bend: float, spread: float, weight: Floats, pull: Floats, bands: Floats, mean: Floats
) -> float:
    """Posterior mean (less the centre) into `mean` and its factorised precision into `bands`.

    Gives twice the log evidence up to what does not depend on the field and up to the prior's own log determinant.
    """
    prior_bands(steepness, bend, spread, bands)
    determinant = factorise(bands, weight)
    for i in range(pull.shape[0]):
        mean[i] = pull[i]
    return solve(bands, mean) - determinant
