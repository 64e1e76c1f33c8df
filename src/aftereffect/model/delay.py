"""How many rounds pass until a round's rewards are seen: a number, the chances of 0, 1, 2, ..., or a distribution by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from aftereffect.errors import AftereffectError, numbers, require, require_numbers, require_one_of, require_whole, shown

MOST = 10_000  # rounds; each ask goes through those that are still open
LONGEST_MEAN = 300  # rounds: a geometric delay then passes MOST less than once in 1e14 rounds


@dataclass(frozen=True)
class Delay:
    """Delays that are drawn anew each round, by their `mean` in rounds.

    `geometric`: each round that passes brings the rewards with the same chance, 1 / (1 + mean), the first one too. `poisson`:
    most come about the mean.

    >>> [round(chance, 4) for chance in Delay("geometric", mean=1).chances[:4]]
    [0.5, 0.25, 0.125, 0.0625]
    """

    kind: Literal["geometric", "poisson"]
    mean: float

    def __post_init__(self) -> None:
        require_one_of("delay", self.kind, ("geometric", "poisson"))
        require_numbers("delay", mean=self.mean)
        require(
            0 < self.mean <= LONGEST_MEAN,
            f"delay: mean must lie in (0, {LONGEST_MEAN}] rounds, got {shown(self.mean)}",
        )

    @property
    def chances(self) -> tuple[float, ...]:
        """Of 0, 1, 2, ... rounds, up to where the rest is less than a float can tell."""
        mean, at = float(self.mean), range(MOST)
        if self.kind == "geometric":
            stays = mean / (1 + mean)
            found = [stays**n / (1 + mean) for n in at]
        else:
            found = [math.exp(n * math.log(mean) - mean - math.lgamma(n + 1)) for n in at]
        while found[-1] < 1e-17:
            found.pop()
        return tuple(found)


Delays = int | Sequence[float] | npt.NDArray[np.float64] | Delay


def check_delay(delay: object) -> int | tuple[float, ...] | None:
    """A delay as it is kept: None where rewards are seen at once."""
    if delay is None:
        return None
    if isinstance(delay, Delay):
        return delay.chances
    if isinstance(delay, (Sequence, np.ndarray)) and not isinstance(delay, str):
        chances = numbers("delay", delay)
        require(0 < len(chances) <= MOST, f"delay: 1 to {MOST:,} chances of 0, 1, 2, ... rounds, got {len(chances):,}")
        if not all(chance >= 0 for chance in chances) or abs(sum(chances) - 1) > 1e-6:
            raise AftereffectError(
                f"delay: the chances of 0, 1, 2, ... rounds must sum to 1, got {shown(list(chances))}"
            )
        return tuple(chances)
    require(not isinstance(delay, str), f"delay: a name needs its mean, as in geometric(mean=4), got {shown(delay)}")
    return require_whole("delay", delay, 0, MOST) or None
