"""Rewards in people's own unit: between which values they lie, and the way from there to [0, 1] and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from aftereffect.errors import AftereffectError, numbers, shown


class RewardRange(NamedTuple):
    """The lowest and the highest reward; policies learn from what is mapped to [0, 1], people see their own unit.

    >>> RewardRange(0.0, 500.0).learned(125.0), RewardRange(0.0, 500.0).as_told(0.25)
    (0.25, 125.0)
    """

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, given: Sequence[float] | None) -> RewardRange:
        """As given, (0, 500); None: from 0 to 1, as policies have them."""
        if given is None:
            return FROM_0_TO_1
        found = [float(value) for value in numbers("reward_range", given)]
        if len(found) != 2 or not all(map(math.isfinite, found)) or not 0 < found[1] - found[0] < math.inf:
            raise AftereffectError(
                f"reward_range must be two numbers, the lowest and the highest reward, got {shown(given)}"
            )
        return cls(*found)

    @property
    def usual(self) -> bool:
        """Whether rewards are told as policies have them."""
        return self == FROM_0_TO_1

    @property
    def scale(self) -> float:
        """What a reward of one is in the user's unit."""
        return self.high - self.low

    def as_told(self, reward: Any) -> Any:
        """A reward in [0, 1] in the user's unit."""
        return self.low + self.scale * reward

    def learned(self, reward: Any) -> Any:
        """A reward in the user's unit as policies have it."""
        return (reward - self.low) / self.scale


FROM_0_TO_1 = RewardRange()
