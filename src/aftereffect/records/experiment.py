"""Which small change would teach most about the split that looks best, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars

from aftereffect.errors import AftereffectError, require_numbers, require_whole
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.estimates import posterior_of
from aftereffect.policies.curves.fit import covariances
from aftereffect.policies.curves.trial import part_way
from aftereffect.records.advice import CAUTION, advised_levels

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit

SIZE, ROUNDS = 0.05, 8  # a change of five points, held for eight rounds


@dataclass(frozen=True)
class Experiment:
    """A small change of today's split, held for some rounds.

    `learned` is the part of the doubt about the best-looking split's gain (its variance) that goes away, `cost` what a round
    of it is expected to lose a unit, in the records' unit (negative: it gains). `others` ranks what else could be done.
    """

    allocation: dict[str, float]
    change: dict[str, float]
    rounds: int
    learned: float
    cost: float
    words: str
    others: polars.DataFrame = field(repr=False, compare=False)


def best_experiment(fit: Fit, size: float = SIZE, rounds: int = ROUNDS) -> Experiment:
    """The change of `size` from one arm to another that teaches most."""
    require_numbers("next", size=size)
    require_whole("rounds", rounds)
    step = round(float(size) * fit.steps)
    if not 0 < step <= fit.steps:
        raise AftereffectError(f"size must lie between {1 / fit.steps:g} and 1, got {size}")
    target = advised_levels(fit, fit.limits, CAUTION)
    if np.array_equal(target, fit.home):
        target = advised_levels(fit, fit.limits, 0.0)
    low, high = fit.limits.levels(fit.steps, zero=True)
    rows = [
        (learned(fit, target, trial, rounds), -fit.gains.of(trial).expected, trial)
        for trial in changes(fit.home, target, step)
        if np.all(trial >= low) and np.all(trial <= high)
    ]
    if not rows:
        raise AftereffectError(f"no change of {size:g} keeps the floors and caps; try a smaller size")
    rows.sort(key=lambda row: -row[0])
    share, cost, trial = rows[0]
    scale = fit.records.scale
    others = polars.DataFrame(
        {
            "change": [_written(_change(fit, row[2])) for row in rows],
            "learned": [row[0] for row in rows],
            "cost": [scale * row[1] for row in rows],
        }
    )
    cost *= scale
    change = _change(fit, trial)
    price = f"should {'cost' if cost > 0 else 'gain'} {abs(cost):.3g} a unit meanwhile"
    return Experiment(
        allocation=fit.records.by_name(trial / fit.steps),
        change=change,
        rounds=rounds,
        learned=share,
        cost=cost,
        words=(
            f"{_written(change)} for {rounds} rounds removes {100 * share:.2g} percent of the doubt about what the split that "
            f"looks best would gain, and {price}"
        ),
        others=others,
    )


def changes(home: Ints, target: Ints, step: int) -> Iterator[Ints]:
    """Today's split with one step from one arm to another, or with steps towards the split that looks best."""
    for giver in range(len(home)):
        for taker in range(len(home)):
            if giver != taker:
                trial = home.copy()
                trial[giver] -= step
                trial[taker] += step
                yield trial
    furthest = int(np.abs(target - home).max())
    if furthest > 0:
        trial = home.copy()
        part_way(home, target, min(1.0, step / furthest), trial)
        yield trial


def _change(fit: Fit, trial: Ints) -> dict[str, float]:
    moved = (trial - fit.home) / fit.steps
    return {name: float(by) for name, by in zip(fit.names, moved, strict=True) if by}


def _written(change: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * by:+.3g} points" for name, by in change.items())


def learned(fit: Fit, target: Ints, trial: Ints, rounds: int) -> float:
    """The part of the variance of the target's gain over today's split that a trial removes, under the likeliest component.

    Arms are independent there, and so is what is seen of them: for each, the covariance of its part of the gain with its
    response at the trial, squared, over the variance of what will be seen. While the impact is on its way less is seen.
    """
    state, track, field = fit.state, fit.curves.track[0], fit.curves.field[0]
    arms, steps, memory = len(target), fit.steps, fit.memory.estimate
    posterior = posterior_of(state, state.banks[track], field)
    arrived = sum((1 - memory**i) ** 2 for i in range(1, rounds + 1))
    units = fit.units
    total = removed = 0.0
    for k in range(arms):
        p, q, x = int(target[k]), int(fit.home[k]), int(trial[k])
        to_home, to_trial = np.zeros(steps + 1), np.zeros(steps + 1)
        covariances(posterior, k, q, to_home)
        covariances(posterior, k, x, to_trial)
        variance, spread = posterior.variance[k], state.spread[k]
        a, b = p / steps, q / steps
        total += max(0.0, a * a * variance[p] + b * b * variance[q] - 2 * a * b * to_home[p])
        rate = min(0.99, max(0.01, float(posterior.mean[k, x])))
        blur = spread["dispersion"] * rate * (1 - rate) / max(1.0, units * x / steps) + spread["shock"]
        if x > 0:
            removed += (a * to_trial[p] - b * to_trial[q]) ** 2 / (variance[x] + blur / arrived)
    return min(1.0, float(removed / total)) if total > 0 and math.isfinite(removed) else 0.0
