"""What is said with every advice, against the plain mixture and against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.curves.estimates import component_weights, components, mixture
from aftereffect.policies.curves.fit import BOOKED
from aftereffect.policies.curves.outlook import best_of_others, mark_never_visited, outlook


@pytest.mark.parametrize("rounds", [0, 1, 25])
def test_the_outlook_is_the_mixture_of_all_components(rounds: int) -> None:
    agent = ae.CurveThompson(memory_bound=0.9, levels=40).start(3, seed=1, feedback="split", floors=0.05)
    random = np.random.default_rng(1)
    for _ in range(rounds):
        agent.ask()
        agent.tell(random.random(3), trials=[20, 20, 20])
    agent.ask()
    state = agent.answered
    for least in (0.01, 0.25):
        found = outlook(state, component_weights(state, least))
        wanted = mixture(components(state, state.levels, least))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def _best_of_others(worth: Any, low: Any, high: Any, k: int) -> Any:
    """By looking at all splits."""
    arms, nodes = worth.shape
    wanted = np.full(nodes, -np.inf)
    others = [j for j in range(arms) if j != k]
    for levels in itertools.product(*(range(low[j], high[j] + 1) for j in others)):
        used = sum(levels)
        if used < nodes and low[k] <= nodes - 1 - used <= high[k]:
            earned = sum(level / (nodes - 1) * worth[j, level] for j, level in zip(others, levels, strict=True))
            wanted[used] = max(wanted[used], earned)
    return wanted


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_what_the_others_earn_is_the_best_of_all_their_splits(arms: int) -> None:
    random, steps = np.random.default_rng(arms), 7
    worth = random.random((arms, steps + 1))
    low, high = random.integers(0, 2, arms), random.integers(3, steps + 1, arms)
    for k in range(arms):
        total = np.zeros(steps + 1)
        best_of_others(worth, low, high, k, total, np.zeros(steps + 1))
        np.testing.assert_allclose(total, _best_of_others(worth, low, high, k))


@pytest.mark.parametrize("visited", [[], [0], [3, 17], [20]])
def test_what_was_never_visited_is_marked_where_it_could_matter(visited: list[int]) -> None:
    random, nodes, near = np.random.default_rng(4), 21, 0.1
    booked, mean, deviation = np.zeros((3, nodes), BOOKED), random.random((3, nodes)), 0.3 * random.random((3, nodes))
    booked["rounds"][1, visited] = 1.0
    low, high, marks, best = np.array([2, 0, 1]), np.array([20, 15, 18]), np.zeros((3, nodes + 2)), 0.9
    mark_never_visited(booked, mean, deviation, best, low, high, near, np.zeros((3, nodes)), marks)
    for k, seen in enumerate(([], visited, [])):
        total = _best_of_others(mean, low, high, k)
        for i in range(nodes):
            hoped = i / 20 * min(1.0, mean[k, i] + 2 * deviation[k, i]) + total[20 - i]
            assert marks[k, i + 1] == (hoped > best and all(abs(i - j) > 2 for j in seen))
    assert 0 < marks.sum() < marks.size
    assert not marks[:, [0, -1]].any()
