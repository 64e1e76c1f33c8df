"""Rewards in people's own unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from aftereffect.errors import AftereffectError
from aftereffect.model.reward_range import FROM_0_TO_1, RewardRange


@pytest.mark.parametrize("given", [(0, 500), (-20.0, 30.0), [1e-6, 3e6]])
def test_there_and_back(given: Any) -> None:
    unit = RewardRange.of(given)
    told = np.linspace(unit.low, unit.high, 7)
    learned = unit.learned(told)
    assert (learned[0], learned[-1]) == (0.0, 1.0)
    assert unit.as_told(learned) == pytest.approx(told)
    assert not unit.usual


def test_rewards_from_0_to_1_stay_bit_by_bit() -> None:
    chance = np.random.default_rng(1).random(100)
    assert RewardRange.of(None) == RewardRange.of((0, 1)) == FROM_0_TO_1
    assert FROM_0_TO_1.learned(chance).tolist() == FROM_0_TO_1.as_told(chance).tolist() == chance.tolist()


@pytest.mark.parametrize("given", [(1, 0), (0, 0), (0,), (0, math.inf), (math.nan, 1), "ab", 5, (-1.7e308, 1.7e308)])
def test_what_is_no_range(given: Any) -> None:
    with pytest.raises(AftereffectError, match="reward_range must be"):
        RewardRange.of(given)
