"""The compiled loop: ask, step, tell, for any policy on any problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect._compile import kernel, uncached_kernel
from aftereffect.model.curves import Floats
from aftereffect.model.problem import OwnWorld
from aftereffect.model.world import VALUE, Ints, World, step
from aftereffect.policies.rules import ask, is_foreign, is_plain, tell

# entries of `totals`
UTILITY, REALISED, PLACE = 0, 1, 2


def _run(
    world: Any,
    state: Any,
    start: int,
    stop: int,
    rounds: Ints,
    buffers: Floats,
    totals: Floats,
    kept: Floats,
    trace: Floats,
) -> None:
    """Rounds start to stop - 1; checkpoints go to `kept`, and every round to `trace` if it has room.

    A checkpoint's row holds the utilities summed up so far, then the round's allocation and impact (before g).
    `buffers` (allocation, seen, reward) and `totals` carry over from call to call.
    """
    allocation, seen, reward = buffers[0], buffers[1], buffers[2]
    impact = world.impact
    arms = allocation.shape[0]
    utility, realised = totals[UTILITY], totals[REALISED]
    place = int(totals[PLACE])
    upcoming = rounds[place]
    for t in range(start, stop):
        ask(state, t, allocation)
        expected, got = step(world, t, allocation, seen, reward)
        tell(state, t, allocation, seen, reward)
        utility += expected
        realised += got
        if trace.shape[0] > 0:
            for k in range(arms):
                trace[t - 1, 0, k] = allocation[k]
                trace[t - 1, 1, k] = impact[k, VALUE]
                trace[t - 1, 2, k] = seen[k]
                trace[t - 1, 3, k] = reward[k]
        if t == upcoming:
            kept[place, 0] = utility
            kept[place, 1] = realised
            for k in range(arms):
                kept[place, 2 + k] = allocation[k]
                kept[place, 2 + arms + k] = impact[k, VALUE]
            place += 1
            upcoming = rounds[place] if place < rounds.shape[0] else 0
    totals[UTILITY], totals[REALISED], totals[PLACE] = utility, realised, place


_compiled, _foreign = kernel(_run), uncached_kernel(_run)


def run(world: World | OwnWorld, state: Any, *arguments: Any) -> None:
    """The loop in the fastest form that this world and this policy allow."""
    if isinstance(world, OwnWorld) or is_plain(state):
        _run(world, state, *arguments)
    elif is_foreign(state):
        _foreign(world, state, *arguments)
    else:
        _compiled(world, state, *arguments)


def checkpoint_rows(count: int, arms: int) -> Floats:
    """Room for the checkpoints."""
    return np.zeros((count, 2 + 2 * arms))


def buffers(arms: int) -> Floats:
    """Room for one round: allocation, seen, reward."""
    return np.zeros((3, arms))
