"""How sure a measured number is: Student's interval for means, percentile intervals from resampled runs.

One level and one number of resamples serve the claims, the slopes and both arenas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.simulation.result import mean_interval

LEVEL = 0.95
BOOTSTRAPS = 2000

Interval = tuple[float, float] | None  # none from one value


def ends(interval: Interval) -> dict[str, float | None]:
    """An interval as two columns of a table."""
    low, high = interval or (None, None)
    return {"low": low, "high": high}


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> Interval:
        """The interval where there is one."""
        return (self.low, self.high) if math.isfinite(self.low) else None


def mean_of(values: Floats, instances: int = 1, level: float = LEVEL) -> Estimate:
    """A mean over runs with Student's interval; with several instances it is their means that are independent.

    >>> mean_of(np.array([1.0, 2.0, 3.0])).high.__round__(3)
    4.484
    """
    mean, low, high = (float(v[0]) for v in mean_interval(values[:, None], instances, level))
    return Estimate(mean, low, high)


def widened(comparisons: int) -> float:
    """The level of each of several intervals that are to hold together at LEVEL (Bonferroni)."""
    return 1 - (1 - LEVEL) / comparisons


def percentiles(draws: Sequence[float] | Floats) -> tuple[float, float]:
    """The middle LEVEL of what resamples gave."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def resampling(runs: int, seed: int | Sequence[int]) -> Floats:
    """How often each run is in each resample, (resamples, runs)."""
    random = np.random.default_rng(seed)
    return np.asarray(random.multinomial(runs, np.full(runs, 1 / runs), BOOTSTRAPS), dtype=np.float64)


def bootstrap(
    samples: Sequence[Floats], statistic: Callable[[Sequence[Floats]], float], seed: int, paired: bool = True
) -> Estimate:
    """A statistic of several samples with a percentile interval; with `paired` the same units are taken from each."""
    random = np.random.default_rng(seed)

    def resample() -> list[Floats]:
        if paired:
            pick = random.integers(0, len(samples[0]), len(samples[0]))
            return [s[pick] for s in samples]
        return [s[random.integers(0, len(s), len(s))] for s in samples]

    return Estimate(statistic(samples), *percentiles([statistic(resample()) for _ in range(BOOTSTRAPS)]))
