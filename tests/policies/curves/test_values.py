"""What shares are worth, against worlds in which they are played."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from aftereffect.policies.curves.values import price, price_chances, price_shares, price_turns, take_turn


def _mean_response_when_activated(curve: Callable[[float], float], share: float, memory: float) -> float:
    """By simulation of the impact itself, 40,000 rounds."""
    random = np.random.default_rng(1)
    active = random.random(40_000) < share
    impact, total = share, 0.0
    for a in active:
        impact += (float(a) - impact) * (1 - memory)
        total += float(curve(impact)) if a else 0.0
    return float(total / active.sum())


@pytest.mark.parametrize("memory", [0.3, 0.6])
def test_a_held_share_is_priced_at_the_mean_response_of_its_activations(memory: float) -> None:
    x = np.linspace(0, 1, 201)
    curve = lambda v: 0.9 - 0.6 * (v - 0.4) ** 2  # noqa: E731
    value = np.zeros((1, 201))
    price_chances(curve(x)[None], value, memory)
    for share in (0.2, 0.5, 0.9):
        expected = share * _mean_response_when_activated(curve, share, memory)
        assert value[0, round(share * 200)] == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("memory", [0.2, 0.5, 0.8])
def test_turns_are_priced_at_what_they_earn_when_played(memory: float) -> None:
    """Every share against a thousand rounds in which it is played, as `take_turn` plays it against the rest."""
    steps, x = 200, np.linspace(0, 1, 201)
    curve = lambda v: 0.5 + 0.4 * np.sin(3.0 * v)  # noqa: E731
    value = np.zeros((1, steps + 1))
    price_turns(curve(x)[None], value, memory)
    for level in range(1, steps + 1):
        levels, credit, turn = np.array([level, steps - level]), np.zeros(2), np.zeros(2)
        impact, earned = level / steps, 0.0
        for t in range(7 * steps):
            take_turn(levels, steps, credit, turn)
            impact += (turn[0] - impact) * (1 - memory)
            if t >= 2 * steps and turn[0] > 0:
                earned += float(curve(impact))
        assert value[0, level] == pytest.approx(earned / (5 * steps), abs=2e-3)


def test_turns_add_up_to_the_split() -> None:
    levels, turns, turn, credit = np.array([7, 90, 103]), np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(200):
        take_turn(levels, 200, credit, turn)
        assert sorted(turn) == [0.0, 0.0, 1.0]
        turns += turn
    assert turns == pytest.approx(levels, abs=1.0)


def test_each_way_to_play_has_its_price() -> None:
    curves = np.random.default_rng(1).random((2, 21))
    shares, chances, turns, found = (np.zeros((2, 21)) for _ in range(4))
    price_shares(curves, shares)
    price_chances(curves, chances, 0.6)
    price_turns(curves, turns, 0.6)
    assert np.allclose(shares, np.linspace(0, 1, 21) * curves)
    for realised, turned, expected in ((False, False, shares), (True, False, chances), (True, True, turns)):
        price(curves, found, 0.6, realised, turned)
        assert np.array_equal(found, expected)


def test_without_memory_activations_meet_full_impact() -> None:
    """Activated, an arm has all of the last round: the response is that at one, however it is played."""
    curves = np.random.default_rng(1).random((2, 21))
    for pricing in (price_chances, price_turns):
        value = np.zeros((2, 21))
        pricing(curves, value, 0.0)
        assert np.allclose(value, np.linspace(0, 1, 21) * curves[:, 20:])
