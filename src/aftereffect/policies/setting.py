"""What a policy is told about the world when it starts, and the grid that it may search there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

from aftereffect._random import Words, generator
from aftereffect.errors import require, require_numbers, require_one_of, require_whole
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Observed
from aftereffect.model.feedback import Feedback, feedback_code
from aftereffect.model.limits import Limits, check_step
from aftereffect.oracle.search import Ints

MOST_ROUNDS = 10**18  # a second for each would outlast the universe; kernels count in 64 bits


@dataclass(frozen=True, eq=False)
class Setting:
    """What a policy is told about the world when it starts."""

    arms: int
    horizon: int | None = None
    feedback: Feedback = "independent"
    limited: Limits | None = None
    memory: float | None = None
    rng: Words = field(default_factory=lambda: generator(0))
    tolerance: float | None = None  # of the fairness measures, where there are some
    observed: Observed = "all"  # whose measure is seen
    units: int | None = None  # that a round splits; None: single rewards, or nobody said
    start: Floats | None = None  # the split held before the first round, within floors and caps
    step: float | None = None  # the largest change of a share a round; kept for every policy by `pace`
    caution: float | None = None  # how sure to be before leaving what is known to be good; for policies that know it

    def __post_init__(self) -> None:
        require_whole("arms", self.arms)
        if self.horizon is not None:
            require_whole("horizon", self.horizon, 1, MOST_ROUNDS)
        feedback_code(self.feedback)
        require_one_of("observed", self.observed, get_args(Observed))
        check_step(self.step)
        if self.caution is not None:
            require_numbers("setting", caution=self.caution)
            require(self.caution > 0, f"caution must be above 0, got {self.caution}")

    @cached_property
    def limits(self) -> Limits:
        """Floors and caps; without any, none."""
        return Limits.of(self.arms) if self.limited is None else self.limited

    @property
    def feedback_code(self) -> int:
        """The number that kernels know the feedback by."""
        return feedback_code(self.feedback)


@dataclass(frozen=True)
class Grid:
    """The grid a policy searches: equal steps and each arm's lowest and highest level."""

    levels: int
    low: Ints
    high: Ints
