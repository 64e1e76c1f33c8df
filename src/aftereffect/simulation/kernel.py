"""The compiled loop: ask, step, tell, for any policy on any problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect._compile import explaining, kernel
from aftereffect.model.curves import Floats
from aftereffect.model.own_world import OwnWorld
from aftereffect.model.world import LARGEST_STEP, MEASURED, TOLERANCE, VALUE, Ints, World, observe, step
from aftereffect.policies.pace import before_the_first, keep_pace
from aftereffect.policies.rules import ask, is_foreign, is_plain, note, tell

TRACED = 5  # allocation, impact, seen, reward, measured
# entries of `totals`
UTILITY, REALISED, VIOLATION, VIOLATED, PLACE = 0, 1, 2, 3, 4
SUMS = 4  # the first so many of them are kept at checkpoints
ROUNDING = 1e-12  # a gap that exceeds the tolerance by less is rounding


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

    A checkpoint's row holds what is summed up so far (expected and realised utility, violation of the fairness tolerance,
    rounds in violation), then the round's allocation and impact (before g). `buffers` (allocation, seen, reward, measured,
    the allocation before) and `totals` carry over from call to call.
    """
    allocation, seen, reward, measured, previous = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    impact = world.impact
    fair, tolerance = world.codes[MEASURED] != 0, world.constants[TOLERANCE] + ROUNDING
    largest_step = world.constants[LARGEST_STEP]
    arms = allocation.shape[0]
    utility, realised, violation, violated = totals[UTILITY], totals[REALISED], totals[VIOLATION], totals[VIOLATED]
    place = int(totals[PLACE])
    upcoming = rounds[place]
    for t in range(start, stop):
        ask(state, t, allocation)
        if largest_step > 0.0:
            keep_pace(previous, allocation, largest_step)
            for k in range(arms):
                previous[k] = allocation[k]
        expected, got = step(world, t, allocation, seen, reward)
        tell(state, t, allocation, seen, reward)
        utility += expected
        realised += got
        if fair:
            gap = observe(world, seen, measured)
            note(state, t, allocation, measured)
            if gap > tolerance:
                violation += gap - tolerance
                violated += 1.0
        if trace.shape[0] > 0:
            for k in range(arms):
                trace[t - 1, 0, k] = allocation[k]
                trace[t - 1, 1, k] = impact[k, VALUE]
                trace[t - 1, 2, k] = seen[k]
                trace[t - 1, 3, k] = reward[k]
                trace[t - 1, 4, k] = measured[k]
        if t == upcoming:
            kept[place, UTILITY], kept[place, REALISED] = utility, realised
            kept[place, VIOLATION], kept[place, VIOLATED] = violation, violated
            for k in range(arms):
                kept[place, SUMS + k] = allocation[k]
                kept[place, SUMS + arms + k] = impact[k, VALUE]
            place += 1
            upcoming = rounds[place] if place < rounds.shape[0] else 0
    totals[UTILITY], totals[REALISED], totals[VIOLATION], totals[VIOLATED] = utility, realised, violation, violated
    totals[PLACE] = place


_compiled = kernel(_run)
_foreign = explaining(_compiled)


def run(world: World | OwnWorld, state: Any, start: int, stop: int, **room: Any) -> None:
    """The loop in the fastest form that this world and this policy allow."""
    if isinstance(world, OwnWorld) or is_plain(state):
        _run(world, state, start, stop, **room)
    elif is_foreign(state):
        _foreign(world, state, start, stop, **room)
    else:
        _compiled(world, state, start, stop, **room)


def checkpoint_rows(count: int, arms: int) -> Floats:
    """Room for the checkpoints."""
    return np.zeros((count, SUMS + 2 * arms))


def buffers(arms: int, start: Floats | None = None) -> Floats:
    """Room for one round: allocation, seen, reward, measured (NaN where nothing is), the allocation before."""
    room = np.zeros((5, arms))
    room[3] = np.nan
    room[4] = before_the_first(arms, start)
    return room


def sums() -> Floats:
    """Room for what is summed up over the rounds, and for the place among the checkpoints."""
    return np.zeros(SUMS + 1)
