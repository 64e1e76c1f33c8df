"""Driving a world by hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import aftereffect as ae
from aftereffect._random import generator
from aftereffect.model.world import step

Floats = npt.NDArray[np.float64]


class Seen(NamedTuple):
    """What came of each round, (rounds, arms) or (rounds,)."""

    seen: Floats
    reward: Floats
    before_g: Floats
    expected: Floats
    realised: Floats


def drive(problem: ae.Problem, allocations: Floats, seed: int = 0) -> Seen:
    """Deploy one allocation after the other."""
    world = problem.world(generator(seed))
    rounds, arms = allocations.shape
    seen, reward, impact = np.zeros((rounds, arms)), np.zeros((rounds, arms)), np.zeros((rounds, arms))
    expected, realised = np.zeros(rounds), np.zeros(rounds)
    for t in range(rounds):
        expected[t], realised[t] = step(world, t + 1, allocations[t], seen[t], reward[t])
        impact[t] = world.impact["value"]
    return Seen(seen, reward, impact, expected, realised)


def sequence(rounds: int, arms: int, seed: int = 0, sparse: bool = True) -> Floats:
    """Random allocations, some with zeros and some one-hot."""
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.ones(arms), rounds)
    if sparse:
        for t in range(0, rounds, 4):
            rows[t] = np.eye(arms)[random.integers(arms)]
        for t in range(1, rounds, 4):
            rows[t, random.integers(arms)] = 0.0
            rows[t] /= rows[t].sum()
    return rows
