"""What each share is worth to an arm whose response curve is given, by what drives the impact and how a share is played.

`curves` and `value` are (arms, N + 1): a response at every impact i/N, and the worth of every share i/N. Where shares drive the
impact, a held share meets it at the share itself. Where activations do, holding a split lets chance move the impact; giving
everything to one arm at a time, in turns that add up to the split, does not.
"""

from __future__ import annotations

import math

from aftereffect._compile import helper, kernel
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints

ARRIVED = 0.1  # nodes below full impact from which on an arm that gets everything counts as arrived there
WHOLE = 1e-9  # how near to a whole number a quotient of shares is one


@kernel
def price_shares(curves: Floats, value: Floats) -> None:
    """A held share where shares drive the impact: share times response."""
    steps = curves.shape[1] - 1
    for k in range(curves.shape[0]):
        for i in range(steps + 1):
            value[k, i] = (i / steps) * curves[k, i]


@helper
def _between(curve: Floats, x: float) -> float:
    steps = curve.shape[0] - 1
    place = min(1.0, max(0.0, x)) * steps
    node = min(steps - 1, int(place))
    return float(curve[node] + (place - node) * (curve[node + 1] - curve[node]))


@kernel
def price_chances(curves: Floats, value: Floats, memory: float) -> None:
    """A held share p where activations drive the impact: p times the mean response when activated.

    The impact is then (1 - memory) + memory f, with f of mean p and variance p (1 - p)(1 - memory)/(1 + memory). A Beta
    distribution with these stands for f, and the two points of its Gauss quadrature for that.
    """
    steps = curves.shape[1] - 1
    size = 2.0 * memory / (1.0 - memory)  # the two parameters of the Beta distribution, added up
    for i in range(steps + 1):
        share = i / steps
        second = share * (share * size + 1.0) / (size + 1.0)
        third = second * (share * size + 2.0) / (size + 2.0)
        low, high, weight = share, share, 0.5
        if second - share * share > 1e-12:
            slope = (third - share * second) / (second - share * share)  # the nodes' sum
            product = share * slope - second
            half = math.sqrt(max(0.0, 0.25 * slope * slope - product))
            low, high = 0.5 * slope - half, 0.5 * slope + half
            weight = (high - share) / (high - low)
        for k in range(curves.shape[0]):
            at_low = _between(curves[k], 1.0 - memory + memory * low)
            at_high = _between(curves[k], 1.0 - memory + memory * high)
            value[k, i] = share * (weight * at_low + (1.0 - weight) * at_high)


@helper
def _seldom(curve: Floats, share: float, memory: float) -> float:
    """Less than every second turn: single turns, `apart` or `apart + 1` rounds from the one before."""
    apart = math.floor(1.0 / share + WHOLE)
    longer = max(0.0, 1.0 / share - apart)  # the share of turns that wait a round more
    fresh, kept = 1.0 - memory, memory**apart
    before = fresh / (1.0 - kept * (1.0 - longer * fresh))  # impact on the turn before, in the mean
    soon, late = _between(curve, fresh + kept * before), _between(curve, fresh + kept * memory * before)
    return share * ((1.0 - longer) * soon + longer * late)


@helper
def _often(curve: Floats, share: float, memory: float) -> float:
    """Every second turn or more: single rounds without, `row` or `row + 1` turns between them."""
    row = math.floor(share / (1.0 - share) + WHOLE)
    longer = max(0.0, share / (1.0 - share) - row)  # the share of rows with a turn more
    fresh = 1.0 - memory
    kept = memory**row * (1.0 - longer * fresh)
    impact = memory * (1.0 - kept) / (1.0 - memory * kept)  # after a round without, in the mean
    total, nodes = 0.0, curve.shape[0]
    for i in range(int(row)):
        impact = fresh + memory * impact
        if (1.0 - impact) * nodes < ARRIVED:
            return (1.0 - share) * (total + (row - i + longer) * float(curve[nodes - 1]))
        total += _between(curve, impact)
    return (1.0 - share) * (total + longer * _between(curve, fresh + memory * impact))


@kernel
def price_turns(curves: Floats, value: Floats, memory: float) -> None:
    """A share played as turns of everything or nothing, as regular as can be, where activations drive the impact."""
    steps = curves.shape[1] - 1
    for k in range(curves.shape[0]):
        curve = curves[k]
        value[k, 0] = 0.0
        value[k, steps] = curve[steps]
        for i in range(1, steps):
            share = i / steps
            value[k, i] = _seldom(curve, share, memory) if 2 * i < steps else _often(curve, share, memory)


@kernel
def price(curves: Floats, value: Floats, memory: float, realised: bool, turns: bool) -> None:
    """What each share is worth: in turns, or held while activations or shares drive the impact."""
    if turns:
        price_turns(curves, value, memory)
    elif realised:
        price_chances(curves, value, memory)
    else:
        price_shares(curves, value)


@helper
def take_turn(levels: Ints, steps: int, credit: Floats, allocation: Floats) -> None:
    """Everything to the arm that is furthest behind its share."""
    chosen = 0
    for k in range(levels.shape[0]):
        credit[k] += levels[k] / steps
        allocation[k] = 0.0
        if credit[k] > credit[chosen]:
            chosen = k
    credit[chosen] -= 1.0
    allocation[chosen] = 1.0
