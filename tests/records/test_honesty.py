"""Is what a fit says true as often as it says, and is its advice safe? In families that are not the prior's, of any memory.

Each figure is the mean over fits to records of worlds drawn anew. A test fails where the figure asked for lies outside what
these fits leave possible: a one-sided bound at 99 percent, so with other seeds right code would fail 1 time in 100 for each.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.records import CHOSEN_ON, HELD_OUT, Score, measure, other_worlds, weekly_worlds

SURE = 2.33  # deviations: one-sided, 99 percent


def lowest(values: list[float]) -> float:
    return float(np.mean(values) - SURE * np.std(values, ddof=1) / math.sqrt(len(values)))


def highest(values: list[float]) -> float:
    return -lowest([-v for v in values])


def surely_more(found: int, runs: int, rate: float) -> bool:
    """Would chance give so many of a rate at most 1 time in 100?"""
    fewer = sum(math.comb(runs, i) * rate**i * (1 - rate) ** (runs - i) for i in range(found))
    return 1 - fewer < 0.01


def check_bands(scores: list[Score]) -> None:
    inside, outside = [s.inside for s in scores], [s.outside for s in scores]
    assert highest(inside) >= 0.90
    assert lowest(inside) <= 0.99
    assert highest(outside) >= 0.90


def check_safety(scores: list[Score]) -> None:
    lost = sum(s.gain < -0.01 * s.current for s in scores)
    assert not surely_more(lost, len(scores), 0.05), f"{lost} of {len(scores)} lose more than 1 percent"


def gain_share(scores: list[Score]) -> float:
    return sum(s.gain for s in scores) / sum(s.possible for s in scores)


@pytest.mark.parametrize(("how", "seed"), [("fresh", 11), ("slow", 12)])
def test_bands_hold_and_advice_is_safe_where_curves_are_of_every_kind(how, seed):
    scores = measure(other_worlds(9, seed, how, ("of every kind",)))["of every kind"]
    check_bands(scores)
    check_safety(scores)
    assert gain_share(scores) > 0.1


def test_a_rate_is_told_from_chance():
    assert surely_more(5, 24, 0.05)  # P(at least 5) = .006
    assert not surely_more(4, 24, 0.05)
    assert highest([0.5, 0.7]) > 0.6 > lowest([0.5, 0.7])


@pytest.mark.soak
@pytest.mark.parametrize("how", ["fresh", "slow"])
@pytest.mark.parametrize("kinds", [CHOSEN_ON, HELD_OUT], ids=["chosen on", "held out"])
def test_bands_hold_and_advice_is_safe_in_all_other_families(how, kinds):
    scores = [s for family in measure(other_worlds(10, 21_000, how, kinds)).values() for s in family]
    check_bands(scores)
    check_safety(scores)


@pytest.mark.soak
def test_advice_earns_half_of_what_there_is_in_the_weekly_worlds():
    cells = measure(weekly_worlds(6, 22_000, "slow"))
    scores = [s for cell in cells.values() for s in cell]
    check_bands(scores)
    check_safety(scores)
    worth = [c for c in cells.values() if sum(s.possible for s in c) > 0.01 * sum(s.current for s in c)]
    assert highest([gain_share(c) for c in worth]) >= 0.5
    assert np.mean([gain_share(c) for c in worth]) >= 0.45
