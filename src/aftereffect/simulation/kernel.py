"""The compiled loop: ask, step, tell, for any policy on any problem."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aftereffect._compile import explaining, kernel
from aftereffect.model.curves import Floats, Records, record
from aftereffect.model.limits import Limits
from aftereffect.model.own_world import OwnWorld
from aftereffect.model.world import Ints, World, observe, step
from aftereffect.policies.answers import is_answer
from aftereffect.policies.pace import before_the_first, keep_pace
from aftereffect.policies.rules import ask, is_foreign, is_plain, note, tell

ROUNDING = 1e-12  # a gap that exceeds the tolerance by less is rounding

# what is summed up: expected and realised utility, violation of the fairness tolerance, rounds in violation
SUMS = [("utility", "f8"), ("realised", "f8"), ("violation", "f8"), ("violated", "f8")]
CHECKPOINT = np.dtype(SUMS)
# the next checkpoint's place, and the round in which a policy answered what cannot be deployed (0: none)
TOTALS = np.dtype([*SUMS, ("place", "i8"), ("fault", "i8")])


class Room(NamedTuple):
    """What carries over from one call of the loop to the next."""

    totals: Records  # one record
    allocation: Floats
    previous: Floats  # allocation
    seen: Floats
    reward: Floats
    measured: Floats  # NaN where nothing is
    floors: Floats  # that answers are looked at for; empty where the policy is one of ours
    caps: Floats


class Kept(NamedTuple):
    """What is kept of each checkpoint."""

    sums: Records
    allocation: Floats  # (checkpoints, arms)
    impact: Floats  # (checkpoints, arms), before g


class Traced(NamedTuple):
    """Every round, if there is room: each (rounds, arms)."""

    allocation: Floats
    impact: Floats  # before g
    seen: Floats
    reward: Floats
    measured: Floats


def _run(world: Any, state: Any, start: int, stop: int, rounds: Ints, room: Room, kept: Kept, trace: Traced) -> None:
    """Rounds start to stop - 1; checkpoints go to `kept`, and every round to `trace` if it has room.

    It stops at an answer that cannot be deployed: machine code would read beyond the curves for it.

    With an own world or policy it runs in the interpreter, where a record's numbers are items, not attributes.
    """
    allocation, seen, reward, measured, previous = room.allocation, room.seen, room.reward, room.measured, room.previous
    impact, settings, totals = world.impact, world.settings[0], room.totals[0]
    fair, tolerance = settings["measured"] != 0, settings["tolerance"] + ROUNDING
    largest_step, checked = settings["step"], room.floors.shape[0] > 0
    arms, traced = allocation.shape[0], trace.allocation.shape[0] > 0
    utility, realised = totals["utility"], totals["realised"]
    violation, violated = totals["violation"], totals["violated"]
    place = totals["place"]
    upcoming = rounds[place]
    for t in range(start, stop):
        ask(state, t, allocation)
        if checked and not is_answer(allocation, room.floors, room.caps):
            totals["fault"] = t
            break
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
        if traced:
            for k in range(arms):
                trace.allocation[t - 1, k] = allocation[k]
                trace.impact[t - 1, k] = impact[k]["value"]
                trace.seen[t - 1, k] = seen[k]
                trace.reward[t - 1, k] = reward[k]
                trace.measured[t - 1, k] = measured[k]
        if t == upcoming:
            sums = kept.sums[place]
            sums["utility"], sums["realised"] = utility, realised
            sums["violation"], sums["violated"] = violation, violated
            for k in range(arms):
                kept.allocation[place, k] = allocation[k]
                kept.impact[place, k] = impact[k]["value"]
            place += 1
            upcoming = rounds[place] if place < rounds.shape[0] else 0
    totals["utility"], totals["realised"] = utility, realised
    totals["violation"], totals["violated"] = violation, violated
    totals["place"] = place


_compiled = kernel(_run)
_foreign = explaining(_compiled)


def run(world: World | OwnWorld, state: Any, start: int, stop: int, **rooms: Any) -> None:
    """The loop in the fastest form that this world and this policy allow."""
    if isinstance(world, OwnWorld) or is_plain(state):
        _run(world, state, start, stop, **rooms)
    elif is_foreign(state):
        _foreign(world, state, start, stop, **rooms)
    else:
        _compiled(world, state, start, stop, **rooms)


def room_for(arms: int, start: Floats | None = None, limits: Limits | None = None) -> Room:
    """Before the first round; with limits answers are looked at."""
    return Room(
        totals=record(TOTALS),
        allocation=np.zeros(arms),
        previous=before_the_first(arms, start),
        seen=np.zeros(arms),
        reward=np.zeros(arms),
        measured=np.full(arms, np.nan),
        floors=np.zeros(0) if limits is None else limits.floors,
        caps=np.zeros(0) if limits is None else limits.caps,
    )


def checkpoints_for(count: int, arms: int) -> Kept:
    """Before the first of so many."""
    return Kept(np.zeros(count, dtype=CHECKPOINT), np.zeros((count, arms)), np.zeros((count, arms)))


def trace_for(rounds: int, arms: int) -> Traced:
    """Room for so many rounds."""
    return Traced(*(np.zeros((rounds, arms)) for _ in Traced._fields))
