"""Whole units: a round splits so many loans, calls or slots over the arms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from aftereffect._compile import kernel
from aftereffect.errors import AftereffectError, UnknownName, numbers, require_whole, shown
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
def whole_units(
    allocation: Mapping[str, float], units: int, *, owed: Mapping[str, float] | None = None
) -> dict[str, int]: ...
@overload
def whole_units(
    allocation: Sequence[float] | Floats, units: int, *, owed: Sequence[float] | Floats | None = None
) -> npt.NDArray[np.int64]: ...
def whole_units(allocation: Any, units: int, *, owed: Any = None) -> dict[str, int] | npt.NDArray[np.int64]:
    """How many of a round's units each arm gets: whole ones, all of them, by largest remainder as in simulations.

    By name where the shares are. Rounded anew each round, an arm that is always due less than a unit may never get one: `owed`
    is what each was due in past rounds beyond what it got (less than nothing where it got more), and is due now too.

    >>> whole_units([0.62, 0.378, 0.002], 300)
    array([186, 113,   1])
    >>> whole_units({"north": 0.62, "south": 0.38}, 7)
    {'north': 4, 'south': 3}
    >>> whole_units([0.5, 0.488, 0.012], 40, owed=[0, -0.48, 0.48])
    array([20, 19,  1])
    """
    allocation, owed = _by_label(allocation), _by_label(owed)
    named = allocation if isinstance(allocation, Mapping) else None
    shares = np.array(numbers("allocation", allocation if named is None else named.values()))
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > SLACK:
        raise AftereffectError(f"allocation must be shares in [0, 1] that sum to 1, got {shown(allocation)}")
    count = check_units(units)
    if owed is not None:
        shares = _due(shares, count, _owed(owed, named, len(shares)))
    given = np.zeros(len(shares))
    share_out(shares, count, given)
    whole = given.astype(np.int64)
    return whole if named is None else dict(zip(named, whole.tolist(), strict=True))


def _by_label(given: Any) -> Any:
    """A pandas Series goes by its labels."""
    series = type(given).__module__.partition(".")[0] == "pandas" and hasattr(given, "items")
    return dict(given.items()) if series else given


def _owed(owed: Any, named: Mapping[str, float] | None, arms: int) -> Floats:
    """What is owed in the arms' order, by name where the shares are; an arm that is not named is owed nothing."""
    if isinstance(owed, Mapping) != (named is not None):
        raise AftereffectError("owed must go by names where the allocation does, and be a list where that is one")
    if named is not None:
        for name in owed:
            if name not in named:
                raise UnknownName("arm in owed:", str(name), list(map(str, named)))
        owed = [owed.get(name, 0.0) for name in named]
    found = np.array(numbers("owed", owed))
    if len(found) != arms or not np.all(np.isfinite(found)):
        raise AftereffectError(f"owed must be {arms} finite numbers, one for each arm, got {shown(owed)}")
    return found


def _due(shares: Floats, units: int, owed: Floats) -> Floats:
    """What is due with what is owed, as shares of the units.

    An arm without a share is closed and gets nothing, whatever it is owed. Nobody gets less than nothing, so the others
    may be due more than there is: each of them then gets less by as much.
    """
    open_now = shares > 0
    due = (shares * units + owed)[open_now]
    largest = np.sort(due)[::-1]
    over = (np.cumsum(largest) - units) / np.arange(1, len(due) + 1)  # of the largest ones, each alike
    level = over[np.flatnonzero(largest > over)[-1]]
    found = np.zeros(len(shares))
    found[open_now] = np.maximum(0.0, due - level) / units
    return found
