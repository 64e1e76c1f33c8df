"""Arm Thompson as a split: probabilities of being best, floors kept, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies.base_arms import project


def test_shares_are_the_probabilities_of_being_best() -> None:
    """50,000 draws here and in numpy: within 5 standard errors."""
    agent = ae.ThompsonSplit(draws=50_000).start(arms=3, seed=1, feedback="split")
    agent.ask()
    agent.tell([0.5, 0.6, 0.4], trials=[20, 10, 30])
    drawn = np.random.default_rng(1).beta([11, 7, 13], [11, 5, 19], (50_000, 3))
    chances = np.bincount(drawn.argmax(axis=1), minlength=3) / 50_000
    assert agent.ask() == pytest.approx(chances, abs=5 * np.sqrt(2 * 0.25 / 50_000))


def test_the_first_split_is_about_even_and_many_units_settle_it() -> None:
    agent = ae.ThompsonSplit().start(arms=2, seed=1, feedback="split")
    assert agent.ask() == pytest.approx([0.5, 0.5], abs=0.2)
    agent.tell([0.5, 0.6], trials=[5_000, 5_000])
    assert agent.ask().tolist() == [0.0, 1.0]


def test_floors_and_caps_are_kept_by_the_nearest_split() -> None:
    agent = ae.ThompsonSplit().start(arms=3, seed=1, feedback="split", floors=[0.1, 0.2, 0.0], caps=[1.0, 1.0, 0.5])
    agent.ask()
    agent.tell([0.1, 0.1, 0.9], trials=[5_000] * 3)
    assert agent.ask() == pytest.approx([0.25, 0.25, 0.5])


def test_projection_is_the_nearest_point() -> None:
    """Against random points of the limited simplex."""
    random = np.random.default_rng(3)
    floors, caps = np.array([0.1, 0.0, 0.2, 0.05]), np.array([0.4, 0.3, 0.6, 0.9])
    for _ in range(50):
        asked = random.dirichlet(np.ones(4))
        found = asked.copy()
        project(found, floors, caps)
        assert found.sum() == pytest.approx(1.0)
        assert np.all((found >= floors - 1e-12) & (found <= caps + 1e-12))
        others = random.dirichlet(np.ones(4), 2_000)
        others = others[np.all((others >= floors) & (others <= caps), axis=1)]
        assert np.sum((found - asked) ** 2) <= np.min(np.sum((others - asked) ** 2, axis=1)) + 1e-12
