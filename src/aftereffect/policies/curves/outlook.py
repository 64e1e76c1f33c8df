"""What is said of the curves with every advice: what all that is believed makes of them, and where one could surprise.

Reasons are kept with every decision on record, so this is compiled: in the interpreter it took longer than the decision.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import NEVER, Ints
from aftereffect.policies.curves.estimates import TREND
from aftereffect.policies.curves.fit import Posterior, as_response, empty_posterior, fit_all
from aftereffect.policies.curves.state import CurvesState


def outlook(state: CurvesState, weights: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of every arm's curve over tracks and fields by their weights; as `mixture` of all `components`."""
    mean, square = np.zeros_like(state.value), np.zeros_like(state.value)
    room = empty_posterior(*mean.shape)  # of its own: what the state holds belongs to its decision
    mix_all(state.banks, state.spread, state.fields, state.belief, weights, room, mean=mean, square=square)
    return mean, np.sqrt(np.maximum(0.0, square - mean**2))


@kernel
def mix_all(
    banks: Any,
    spread: Any,
    fields: Any,
    belief: Any,
    weights: Floats,
    posterior: Posterior,
    mean: Floats,
    square: Floats,
) -> None:
    """Add up the curves, and their squares, under every track and field that has a weight."""
    for track in range(weights.shape[0]):
        for field in range(weights.shape[1]):
            if weights[track, field] > 0.0:
                fit_all(banks[track], spread, fields[field], belief[0], posterior)
                for k in range(mean.shape[0]):
                    _add_arm(banks[track], k, weights[track, field], posterior, mean, square)


@helper
def _add_arm(booked: Any, k: int, weight: float, posterior: Posterior, mean: Floats, square: Floats) -> None:
    """One arm's curve, which may have gone on beyond where it was seen (see `gone_on`)."""
    fitted, variance, nodes = posterior.mean, posterior.variance, mean.shape[1]
    first, last = nodes, -1
    for i in range(nodes):
        if booked[k, i].count > 0.0:
            first, last = min(first, i), i
    below = TREND * as_response(fitted[k, first]) / (nodes - 1) if last >= 0 else 0.0
    above = TREND * as_response(fitted[k, last]) / (nodes - 1) if last >= 0 else 0.0
    for i in range(nodes):
        value = as_response(fitted[k, i])
        off = below * max(0, first - i) + above * max(0, i - last)  # one of them is zero
        mean[k, i] += weight * value
        square[k, i] += weight * (variance[k, i] + off * off + value * value)


@kernel
def best_of_others(worth: Floats, low: Ints, high: Ints, k: int, total: Floats, work: Floats) -> None:
    """The most that all arms but k earn together, for every number of levels that they may use and k leaves.

    An arm earns its share times its `worth`, (arms, nodes).
    """
    nodes = worth.shape[1]
    for i in range(nodes):
        total[i] = NEVER
    total[0] = 0.0
    for j in range(worth.shape[0]):
        if j != k:
            for i in range(nodes):
                work[i] = total[i]
                total[i] = NEVER
            for level in range(low[j], high[j] + 1):
                gain = level / (nodes - 1) * worth[j, level]
                for i in range(nodes - level):
                    found, kept = work[i] + gain, total[i + level]
                    total[i + level] = (found if found > kept else kept) + 0.0  # as in the oracle: it vectorises
    for i in range(nodes):
        if not low[k] <= nodes - 1 - i <= high[k]:
            total[i] = NEVER


@kernel
def mark_never_visited(
    booked: Any,
    mean: Floats,
    deviation: Floats,
    best: float,
    low: Ints,
    high: Ints,
    near: float,
    room: Floats,
    marks: Floats,
) -> None:
    """1 where an arm's share is not near to one that was visited, and its response could make some allocation the best.

    It could if it were two deviations above its estimate. `marks` has a column more at either end; `room` is (3, nodes).
    """
    arms, nodes = mean.shape
    total, work, since = room[0], room[1], room[2]
    for k in range(arms):
        best_of_others(mean, low, high, k, total, work)
        away = math.inf  # levels to the last one that was visited, from either side
        for i in range(nodes):
            away = 0.0 if booked[k, i].rounds > 0.0 else away + 1.0
            since[i] = away
        away = math.inf
        for i in range(nodes - 1, -1, -1):
            away = 0.0 if booked[k, i].rounds > 0.0 else away + 1.0
            hoped = i / (nodes - 1) * min(1.0, mean[k, i] + 2.0 * deviation[k, i]) + total[nodes - 1 - i]
            if hoped > best and min(away, since[i]) > near * (nodes - 1):
                marks[k, i + 1] = 1.0
