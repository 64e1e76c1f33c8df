"""Whole units: a round splits so many loans, calls or slots over the arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from aftereffect._compile import kernel
from aftereffect.errors import AftereffectError, numbers, require_whole, shown
from aftereffect.model.curves import Floats

MOST_UNITS = 1_000_000
NEARLY = 1e-9  # quotas such as .3 x 10 are not exact in binary
SLACK = 1e-6  # of a sum of shares


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


@overload
def whole_units(allocation: Mapping[str, float], units: int) -> dict[str, int]: ...
@overload
def whole_units(allocation: Sequence[float] | Floats, units: int) -> npt.NDArray[np.int64]: ...
def whole_units(allocation: Any, units: int) -> dict[str, int] | npt.NDArray[np.int64]:
    """How many of a round's units each arm gets: whole ones, all of them, by largest remainder as in simulations.

    By name where the shares are.

    >>> whole_units([0.62, 0.378, 0.002], 300)
    array([186, 113,   1])
    >>> whole_units({"north": 0.62, "south": 0.38}, 7)
    {'north': 4, 'south': 3}
    """
    if type(allocation).__module__.partition(".")[0] == "pandas" and hasattr(allocation, "items"):
        allocation = dict(allocation.items())  # a Series goes by its labels
    named = allocation if isinstance(allocation, Mapping) else None
    shares = np.array(numbers("allocation", allocation if named is None else named.values()))
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > SLACK:
        raise AftereffectError(f"allocation must be shares in [0, 1] that sum to 1, got {shown(allocation)}")
    given = np.zeros(len(shares))
    share_out(shares, check_units(units), given)
    whole = given.astype(np.int64)
    return whole if named is None else dict(zip(named, whole.tolist(), strict=True))
