"""Fairness: a measure of each group's standing that should stay in parity (App. B).

A measure pi_k is a curve on the impact, like a response, with noise of its own. A round is fair when no two arms' measures,
at the true curves and the true impact, are further apart than the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy.typing as npt

from aftereffect.errors import AftereffectError, require, require_numbers, require_one_of, shown
from aftereffect.model.feedback import Noise, as_noise
from aftereffect.model.responses import Response, as_response

Observed = Literal["all", "activated"]
"""Whose measure is seen in a round: every arm's, or only those of the arms that are seen themselves."""

UNMEASURED, ALL, ACTIVATED = 0, 1, 2

DEFAULT_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class Fairness:
    """A measure for each arm and how far apart they may be.

    `measures` are Responses or plain functions of the impact with values in [0, 1]; `tolerance` is tau in App. B;
    `meaning` says in words what the measure stands for.

    >>> Fairness([lambda x: x, lambda x: 0.5 * x], tolerance=0.2).tolerance
    0.2
    """

    measures: Sequence[Response | Callable[..., npt.ArrayLike]]
    tolerance: float = DEFAULT_TOLERANCE
    noise: Noise | str = "bernoulli"
    observed: Observed = "all"
    meaning: str = ""

    def __post_init__(self) -> None:
        listed = isinstance(self.measures, Sequence) and len(self.measures) > 0
        require(listed, f"measures must be a list, one for each arm, got {shown(self.measures)}")
        require(isinstance(self.meaning, str), f"meaning must be words, got {shown(self.meaning)}")
        object.__setattr__(self, "measures", tuple(as_response(m, "measure") for m in self.measures))
        object.__setattr__(self, "noise", as_noise(self.noise))
        check_tolerance(self.tolerance)
        require_one_of("observed", self.observed, get_args(Observed))

    @property
    def observed_code(self) -> int:
        """The number that kernels know `observed` by."""
        return ALL if self.observed == "all" else ACTIVATED

    @property
    def lipschitz(self) -> float:
        """The largest Lipschitz constant of the measures, L^pi."""
        return max(m.lipschitz for m in self.measures)  # type: ignore[union-attr]


def check_tolerance(tolerance: object) -> float:
    """A tolerance in [0, 1], or the user's mistake."""
    require_numbers("fairness", tolerance=tolerance)
    if not 0 <= float(tolerance) <= 1:  # type: ignore[arg-type]
        raise AftereffectError(f"tolerance must lie in [0, 1], got {shown(tolerance)}")
    return float(tolerance)  # type: ignore[arg-type]
