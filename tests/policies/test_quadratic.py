"""The quadratic fit: random weeks, then numpy's parabola and the best split of a full enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae

WEEKS, LEVELS = 6, 10


def curve(k: int, share: float) -> float:
    return float(0.3 + 0.5 * share - (0.2 + 0.3 * k) * share * share)


def test_it_deploys_the_best_split_of_numpys_parabolas() -> None:
    agent = ae.QuadraticFit(weeks=WEEKS, levels=LEVELS).start(arms=3, seed=4, feedback="split")
    random = np.random.default_rng(2)
    shares: list[np.ndarray] = []
    rewards: list[np.ndarray] = []
    trials: list[np.ndarray] = []
    splits = [s for s in itertools.product(range(LEVELS + 1), repeat=3) if sum(s) == LEVELS]
    for t in range(40):
        asked = agent.ask()
        if t >= WEEKS:
            fits = [
                np.polyfit([p[k] for p in shares], [r[k] for r in rewards], 2, w=np.sqrt([n[k] for n in trials]))
                for k in range(3)
            ]
            value = [
                sum(j / LEVELS * np.clip(np.polyval(fits[k], j / LEVELS), 0, 1) for k, j in enumerate(s))
                for s in splits
            ]
            mine = sum(p * np.clip(np.polyval(fits[k], p), 0, 1) for k, p in enumerate(asked))
            assert mine == pytest.approx(max(value), abs=1e-5)
        deployed = asked if t % 3 else random.dirichlet(np.ones(3))  # overrides keep every arm seen
        seen = deployed > 0
        means = np.clip([curve(k, p) + random.normal(0, 0.02) for k, p in enumerate(deployed)], 0, 1)
        counts = np.where(seen, random.integers(1, 50, 3), 0)
        agent.tell(np.where(seen, means, np.nan), trials=counts, allocation=deployed)
        shares.append(deployed)
        rewards.append(means)
        trials.append(np.maximum(counts, 1e-12))


def test_random_weeks_are_uniform_over_the_simplex_and_keep_the_limits() -> None:
    """Mean of each share within 5 standard errors of 1/3."""
    agent = ae.QuadraticFit(weeks=2_000).start(arms=3, seed=1)
    rows = []
    for _ in range(2_000):
        rows.append(agent.ask())
        agent.tell(None)
    assert np.mean(rows, axis=0) == pytest.approx([1 / 3] * 3, abs=5 * np.sqrt(1 / 18 / 2_000))
    limited = ae.QuadraticFit().start(arms=3, seed=1, floors=0.2, caps=0.5)
    for _ in range(40):
        asked = limited.ask()
        assert asked.min() >= 0.2 - 1e-9
        assert asked.max() <= 0.5 + 1e-9
        limited.tell([0.5] * 3)
