"""Whole units: a round splits so many loans, calls or slots over the arms."""

from __future__ import annotations

import math

from aftereffect._compile import kernel
from aftereffect.errors import require_whole
from aftereffect.model.curves import Floats

MOST_UNITS = 1_000_000
NEARLY = 1e-9  # quotas such as .3 x 10 are not exact in binary


def check_units(units: object) -> int:
    """How many units a round splits, or the user's mistake."""
    return require_whole("units", units, 1, MOST_UNITS)


@kernel
def share_out(allocation: Floats, units: int, given: Floats) -> None:
    """Whole units for every arm by largest remainder of share times units, ties to the lowest index; fills `given`."""
    left = units
    for k in range(allocation.shape[0]):
        given[k] = math.floor(allocation[k] * units + NEARLY)
        left -= int(given[k])
    for _ in range(left):
        chosen, largest = -1, -math.inf
        for k in range(allocation.shape[0]):
            remainder = allocation[k] * units - given[k]
            if allocation[k] > 0.0 and remainder > largest + NEARLY:
                chosen, largest = k, remainder
        if chosen >= 0:
            given[chosen] += 1.0
