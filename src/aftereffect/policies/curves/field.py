"""Smooth random curves on a grid: a Gaussian Markov random field whose precision has five diagonals.

A curve x on N + 1 equally spaced nodes of [0, 1] has the prior density exp(-E/2) with

    E = (integral of x''^2 + 2 k^2 x'^2 + k^4 x^2  +  2 k^3 x^2 + 2 k x'^2 + 2 k^2 x x' at both ends, outwards) / (4 k^3),

which is Matern's process of smoothness 3/2 with unit variance and length sqrt(3)/k, up to the grid's width: it is smooth,
it reverts to zero over its length where nothing was seen, and it is as uncertain at the ends as in the middle. Observations
are a precision `weight` per node. Mean, sample, variances and evidence each cost O(N), by an LDL' factorisation.

A field of precisions is three arrays: the diagonal and the two diagonals beside it, `beside` and `second` (entry i couples nodes
i, i + 1 and i, i + 2). `factorise` puts D and the two diagonals of L in their place.
"""

from __future__ import annotations

import math

from aftereffect._compile import helper, kernel
from aftereffect._random import Words, normal
from aftereffect.model.curves import Floats

SMALLEST_PIVOT = 1e-13  # of the diagonal: below it a pivot is rounding error, and the field must stay a distribution


@kernel
def prior_precisions(length: float, amplitude: float, diagonal: Floats, beside: Floats, second: Floats) -> None:
    """The prior's precisions: values, squared first and second differences, and what makes the ends stationary."""
    nodes = diagonal.shape[0]
    steps = nodes - 1.0
    decay = math.sqrt(3.0) / length
    unit = 1.0 / (4.0 * decay * decay * decay * amplitude * amplitude)
    value = unit * decay * decay * decay * decay / steps
    first = unit * 2.0 * decay * decay * steps
    curvature = unit * steps * steps * steps
    inner = value + first + first + curvature + 4.0 * curvature + curvature
    for i in range(nodes):
        diagonal[i] = inner
        beside[i] = -first - 2.0 * curvature - 2.0 * curvature
        second[i] = curvature
    for i in (0, 1, nodes - 2, nodes - 1):  # have fewer neighbours
        before, after = min(i, 2), min(nodes - 1 - i, 2)
        own = value + first * (before > 0) + first * (after > 0)
        diagonal[i] = (
            own + curvature * (before > 1) + 4.0 * curvature * (before > 0 and after > 0) + curvature * (after > 1)
        )
        beside[i] = -first * (after > 0) - 2.0 * curvature * (before > 0 and after > 0) - 2.0 * curvature * (after > 1)
        second[i] = curvature * (after > 1)
    end = unit * (2.0 * decay * decay * decay + 2.0 * decay * decay * steps) - 0.5 * value
    slope = unit * 2.0 * decay * steps * steps
    for outer, inner, pair in ((0, 1, 0), (nodes - 1, nodes - 2, nodes - 2)):
        diagonal[outer] += end + slope
        diagonal[inner] += slope
        beside[pair] -= slope + unit * decay * decay * steps


@kernel
def factorise(diagonal: Floats, beside: Floats, second: Floats, weight: Floats) -> float:
    """Add the weights to the diagonal and factorise in place as L D L'; gives the log determinant."""
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
def solve_both(
    diagonal: Floats, beside: Floats, second: Floats, weight: Floats, left: Floats, right: Floats
) -> tuple[float, float, float]:
    """`factorise`, then `solve` for two vectors; gives what these do, bit by bit, in half the time.

    A pivot waits for the one before it, and each step of a solution for its factor: here they wait together.
    """
    nodes = diagonal.shape[0]
    total, product, length, length2 = 0.0, 1.0, 0.0, 0.0
    before, before2 = 1.0, 1.0
    low, far, far2 = 0.0, 0.0, 0.0
    one, two, other, other2 = 0.0, 0.0, 0.0, 0.0  # what the vectors have become one and two nodes before
    for i in range(nodes):
        whole = diagonal[i] + weight[i]
        pivot = whole - low * low * before - far * far * before2
        if pivot < SMALLEST_PIVOT * whole:
            pivot = SMALLEST_PIVOT * whole
        diagonal[i] = pivot
        inverse = 1.0 / pivot
        next_low = (beside[i] - low * far2 * before) * inverse
        value, value2 = left[i] - low * one - far * two, right[i] - low * other - far * other2
        two, one, other2, other = one, value, other, value2
        scaled, scaled2 = value / pivot, value2 / pivot
        length += value * scaled
        length2 += value2 * scaled2
        left[i], right[i] = scaled, scaled2
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
    one, two, other, other2 = 0.0, 0.0, 0.0, 0.0
    for i in range(nodes - 1, -1, -1):
        value = left[i] - beside[i] * one - second[i] * two
        value2 = right[i] - beside[i] * other - second[i] * other2
        left[i], right[i] = value, value2
        two, one, other2, other = one, value, other, value2
    return total + math.log(product), length, length2


@kernel
def solve(diagonal: Floats, beside: Floats, second: Floats, vector: Floats) -> float:
    """Solve with the factorised field in place; gives the old vector times the solution."""
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
    back_substitute(beside, second, vector)
    return length


@helper
def back_substitute(beside: Floats, second: Floats, vector: Floats) -> None:
    """Solve L' x = vector in place."""
    one, two = 0.0, 0.0
    for i in range(beside.shape[0] - 1, -1, -1):
        value = vector[i] - beside[i] * one - second[i] * two
        vector[i] = value
        two, one = one, value


@kernel
def colour(diagonal: Floats, beside: Floats, second: Floats, white: Floats, noise: Floats) -> None:
    """White noise into noise with the factorised field's covariance: noise = L'^-1 D^-1/2 white."""
    for i in range(diagonal.shape[0]):
        noise[i] = white[i] / math.sqrt(diagonal[i])
    back_substitute(beside, second, noise)


@kernel
def variances(diagonal: Floats, beside: Floats, second: Floats, variance: Floats) -> None:
    """The diagonal of the inverse (Takahashi's recursion from the last node to the first)."""
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
