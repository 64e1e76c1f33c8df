"""How fast an allocation may move: no share changes by more than `step` from one round to the next.

Kept once for every policy, in the simulator and in the agent: what a policy asks for is approached along the straight line
from what was deployed last. Floors, caps and the simplex are convex, so every point of that line keeps them. Where people
deployed something outside of them, or they were changed (an arm that was closed), agents first bring that within them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aftereffect._compile import helper
from aftereffect.model.curves import Floats


@helper
def keep_pace(previous: Floats, allocation: Floats, step: float) -> None:
    """Move the allocation back towards the previous one, as far as needed; NaN: nothing was deployed before."""
    largest = 0.0
    for k in range(allocation.shape[0]):
        largest = max(largest, abs(allocation[k] - previous[k]))
    if largest > step and previous[0] == previous[0]:
        part = step / largest
        for k in range(allocation.shape[0]):
            allocation[k] = previous[k] + part * (allocation[k] - previous[k])


def before_the_first(arms: int, start: npt.ArrayLike | None) -> Floats:
    """What counts as deployed before the first round: the start, or nothing, and then the first round is free."""
    return np.full(arms, np.nan) if start is None else np.array(start, dtype=np.float64)
