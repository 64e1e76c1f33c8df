"""Drift: responses that change slowly while the world is acted in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aftereffect.errors import require, require_whole
from aftereffect.model.curves import Curve
from aftereffect.model.responses import Response, as_response


@dataclass(frozen=True, eq=False)
class Drift:
    """Responses move in a straight line to others over so many rounds, and stay there.

    In round t an arm's response is (1 - w) r + w r' with w = min(1, t / rounds) and r' its entry in `to`.
    """

    to: Sequence[Response | Callable[..., npt.ArrayLike]]
    rounds: int

    def __post_init__(self) -> None:
        require(isinstance(self.to, Sequence), f"drift: to must be a list of responses, got {self.to!r}")
        object.__setattr__(self, "to", tuple(as_response(r) for r in self.to))
        require_whole("drift: rounds", self.rounds, 1, 10**15)


def blend(first: Curve, second: Curve, weight: float) -> Curve:
    """(1 - weight) first + weight second, exactly: both are linear between their knots."""
    x = np.union1d(first.x, second.x)
    return Curve(x, (1.0 - weight) * first(x) + weight * second(x))
