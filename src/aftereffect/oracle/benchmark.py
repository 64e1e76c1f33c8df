"""What regret is measured against, round by round: the best fixed allocation on its own history, or each moment's best."""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect._random import generator
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import OwnImpact
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints, World, fixed_utility, step
from aftereffect.oracle.best_fixed import BestFixed, activated_utilities
from aftereffect.oracle.maximise import maximise, utility_of


def fixed_utilities(problem: Problem, best: BestFixed, rounds: Ints) -> Floats:
    """What the best fixed allocation has earned in expectation up to each round, on its own history."""
    if not (problem.transient or problem.moving or problem.follows_activations):
        return np.asarray(rounds * best.utility)
    return held_utilities(problem, best.allocation, rounds)


def held_utilities(problem: Problem, allocation: Floats, rounds: Ints) -> Floats:
    """What holding an allocation from the first round on has earned in expectation up to each round, on its own history."""
    if problem.follows_activations:
        return activated_utilities(problem, allocation, rounds)[0]
    world: Any = problem.world(generator(0))
    totals = np.zeros(len(rounds))
    if isinstance(world, World):
        fixed_utility(world, allocation, rounds, totals)
        return totals
    seen, reward = np.zeros(problem.arms), np.zeros(problem.arms)
    settle = min(int(rounds[-1]), OwnImpact.SETTLE)
    path = np.array([step(world, t, allocation, seen, reward)[0] for t in range(1, settle + 1)])
    early = np.concatenate([[0.0], np.cumsum(path)])
    past = np.minimum(rounds, settle)
    return np.asarray(early[past] + (rounds - past) * path[-1])


# Responses that move: the best allocation of each moment.

MOMENTS = 33  # at which the best allocation is found; in between, the best of theirs counts


def moving_utilities(problem: Problem, rounds: Ints) -> Floats:
    """What the best allocation of each moment earns where responses move, summed up to each of the rounds.

    An allocation's utility is linear in how far they have gone, so the best one's is the upper envelope of straight
    lines: convex. Those of the best allocations at some moments touch it there and are below it by little in between.
    """
    moving = problem.moving
    if moving is None:
        raise AftereffectError("moving_utilities takes a problem with drift, change or season")
    floors, caps = problem.limits.floors, problem.limits.caps
    found = [maximise(problem.moved(w), floors, caps) for w in np.linspace(0.0, 1.0, MOMENTS)]
    first = np.array([utility_of(problem.curves, p) for p in found])
    last = np.array([utility_of(problem.later_curves, p) for p in found])
    weights = moving.weights(int(rounds[-1]))
    best = np.full(len(weights), -np.inf)
    for a, b in zip(first, last, strict=True):
        np.maximum(best, a + weights * (b - a), out=best)
    return np.asarray(np.cumsum(best)[rounds - 1])
