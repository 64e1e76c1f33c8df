"""Responses that change while the world is acted in: slowly, at once, or with the seasons.

In round t an arm's response is (1 - w) r + w r' with r' its entry in `to` and w in [0, 1] the weight of the round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aftereffect._compile import helper, kernel
from aftereffect.errors import require, require_whole, shown
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.responses import Response, as_response

STILL, DRIFT, CHANGE, SEASON = 0, 1, 2, 3  # how kernels know them
LONGEST = 10**15


@helper
def weight_at(code: int, pace: float, t: int) -> float:
    """How far round t (from 1) has gone from the first responses to the others."""
    if code == DRIFT:
        return min(1.0, t / pace)
    if code == CHANGE:
        return 1.0 if t >= pace else 0.0
    if code == SEASON:
        return 0.5 * (1.0 - math.cos(2.0 * math.pi * t / pace))
    return 0.0


@kernel
def _fill_weights(code: int, pace: float, weights: Floats) -> None:
    for i in range(weights.shape[0]):
        weights[i] = weight_at(code, pace, i + 1)


@dataclass(frozen=True, eq=False)
class Moving:
    """Responses on their way to others."""

    name: ClassVar[str]
    code: ClassVar[int]
    paced_by: ClassVar[str]  # the field with the number of rounds that says how fast
    least: ClassVar[int] = 1  # of them
    to: Sequence[Response | Callable[..., npt.ArrayLike]]

    @property
    def pace(self) -> int:
        """The number of rounds that says how fast."""
        found: int = getattr(self, self.paced_by)
        return found

    def __post_init__(self) -> None:
        require(isinstance(self.to, Sequence), f"{self.name}: to must be a list of responses, got {shown(self.to)}")
        object.__setattr__(self, "to", tuple(as_response(r) for r in self.to))
        require_whole(f"{self.name}: {self.paced_by}", self.pace, self.least, LONGEST)

    def weights(self, horizon: int) -> Floats:
        """The weight of each round up to the horizon."""
        found = np.empty(horizon)
        _fill_weights(self.code, float(self.pace), found)
        return found

    def mean_weight(self, horizon: int) -> float:
        """Mean over the horizon of how far responses have gone."""
        return float(self.weights(horizon).mean())


@dataclass(frozen=True, eq=False)
class Drift(Moving):
    """Responses move in a straight line to others over so many rounds, and stay there: w = min(1, t / rounds)."""

    name: ClassVar[str] = "drift"
    code: ClassVar[int] = DRIFT
    paced_by: ClassVar[str] = "rounds"
    rounds: int

    def mean_weight(self, horizon: int) -> float:
        moving = min(self.rounds, horizon)
        return (moving * (moving + 1) / 2 / self.rounds + horizon - moving) / horizon


@dataclass(frozen=True, eq=False)
class Change(Moving):
    """Responses are replaced by others at a round: w is 0 before it and 1 from it on."""

    name: ClassVar[str] = "change"
    code: ClassVar[int] = CHANGE
    paced_by: ClassVar[str] = "at"
    at: int

    def mean_weight(self, horizon: int) -> float:
        return max(0, horizon - self.at + 1) / horizon


@dataclass(frozen=True, eq=False)
class Season(Moving):
    """Responses go to others and back, again and again: w = (1 - cos(2 pi t / period)) / 2."""

    name: ClassVar[str] = "season"
    code: ClassVar[int] = SEASON
    paced_by: ClassVar[str] = "period"
    least: ClassVar[int] = 2
    period: int


def blend(first: Curve, second: Curve, weight: float) -> Curve:
    """(1 - weight) first + weight second, exactly: both are linear between their knots."""
    x = np.union1d(first.x, second.x)
    return Curve(x, (1.0 - weight) * first(x) + weight * second(x))
