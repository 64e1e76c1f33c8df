"""The best allocation whose measures keep within a band: the separable oracle, one call per band.

Measures are known, or known to lie between a lowest and a highest value: then all of that must fit into the band.

All pairs of measures are within the tolerance exactly when all measures lie in a band of that width, and the band may be
taken to start at the lowest measure of some cell. A band only forbids cells, so each is one call of the plain oracle. Most bands
need none: for any price, sum_k max over a band's cells of (value - price level) + price N is at least what the band can
reach, and bands are tried in the order of that bound until it falls below what has been found.
"""

from __future__ import annotations

import math

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import NEVER, Ints, best_plain

ROUNDING = 1e-12  # measures further apart than the tolerance by less than this are rounding


@helper
def _price(value: Floats, low: Ints, high: Ints) -> float:
    """The price of a level at which the arms together want N levels, by bisection: it makes the bands' bounds tight."""
    arms, count = value.shape[0], value.shape[1] - 1
    cheap, dear = -2.0, 2.0
    for _ in range(24):
        price = 0.5 * (cheap + dear)
        wanted = 0
        for k in range(arms):
            best, chosen = NEVER, low[k]
            for level in range(low[k], high[k] + 1):
                gain = value[k, level] - price * level
                if gain > best:
                    best, chosen = gain, level
            wanted += chosen
        if wanted > count:
            cheap = price
        else:
            dear = price
    return 0.5 * (cheap + dear)


@helper
def _band_bound(
    value: Floats, lowest: Floats, highest: Floats, low: Ints, high: Ints, start: float, stop: float, price: float
) -> float:
    """No allocation with all its measures in the band is worth more than this; -inf where the band has none."""
    arms, count = value.shape[0], value.shape[1] - 1
    total = price * count
    least, most = 0, 0
    for k in range(arms):
        best, first, last = NEVER, -1, -1
        for level in range(low[k], high[k] + 1):
            if start <= lowest[k, level] and highest[k, level] <= stop:
                if first < 0:
                    first = level
                last = level
                best = max(best, value[k, level] - price * level)
        if first < 0:
            return NEVER
        least += first
        most += last
        total += best
    return total if least <= count <= most else NEVER


@kernel
def best_in_band(
    value: Floats,
    lowest: Floats,
    highest: Floats,
    tolerance: float,
    low: Ints,
    high: Ints,
    bounds: Floats,
    allowed: Floats,
    plain: Floats,
    trial: Ints,
    levels: Ints,
    rng: Words,
) -> float:
    """Levels that maximise the sum of values with all measures within the tolerance of each other; -inf: there are none.

    `bounds`, `allowed` and `plain` are workspaces of value's shape, `trial` one of levels'. Among bands of equal best value
    the first found stays.
    """
    arms = value.shape[0]
    width = tolerance + ROUNDING
    price = _price(value, low, high)
    for k in range(arms):
        for level in range(low[k], high[k] + 1):
            start = lowest[k, level]
            bounds[k, level] = _band_bound(
                value, lowest, highest, low, high, start=start, stop=start + width, price=price
            )
    index = NEVER
    while True:
        top, arm, cell = NEVER, 0, 0
        for k in range(arms):
            for level in range(low[k], high[k] + 1):
                if bounds[k, level] > top:
                    top, arm, cell = bounds[k, level], k, level
        if top == NEVER or top <= index:
            return index
        bounds[arm, cell] = NEVER
        start = lowest[arm, cell]
        for k in range(arms):
            for level in range(low[k], high[k] + 1):
                inside = start <= lowest[k, level] and highest[k, level] <= start + width
                allowed[k, level] = value[k, level] if inside else NEVER
        found = best_plain(allowed, low, high, plain, trial, rng)
        if found > index:
            index = found
            for k in range(arms):
                levels[k] = trial[k]


def smallest_tolerance(measure: Floats, low: Ints, high: Ints) -> float:
    """The narrowest band that some allocation's measures fit into: no smaller tolerance can be met on this grid.

    Bands are widened and shifted like two pointers over the sorted measures; sums of levels that a band allows are the bits
    of a whole number.
    """
    arms, count = measure.shape[0], measure.shape[1] - 1
    values = np.unique(np.concatenate([measure[k, low[k] : high[k] + 1] for k in range(arms)]))

    def feasible(start: float, stop: float) -> bool:
        sums = 1
        for k in range(arms):
            inside = np.flatnonzero((measure[k] >= start) & (measure[k] <= stop))
            reached = 0
            for level in inside[(inside >= low[k]) & (inside <= high[k])].tolist():
                reached |= sums << level
            sums = reached
        return bool(sums >> count & 1)

    best, stop = math.inf, 0
    for start in range(len(values)):
        stop = max(stop, start)
        while stop < len(values) and not feasible(values[start], values[stop]):
            stop += 1
        if stop == len(values):
            break
        best = min(best, float(values[stop] - values[start]))
    return best
