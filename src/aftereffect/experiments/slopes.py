"""Measured slopes beside the predicted ones: linear regret on Example 1, T^(2/3) on the hard instances, what switching costs.

The instances and the bounds are in `theory`; what drives a policy over them is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aftereffect.errors import require, shown
from aftereffect.experiments.statistics import bootstrap, mean_of
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import Discounted
from aftereffect.model.problem import Problem
from aftereffect.model.responses import Table
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.oracle.search import best_plain
from aftereffect.policies.base import PlainPolicy, Policy
from aftereffect.policies.setting import Setting
from aftereffect.simulation.simulate import simulate
from aftereffect.theory.hard import HardInstance, draw_hard, hard_intervals, hard_regret, twin_regret

LOWER_BOUND_SLOPE = 2 / 3  # of ln regret in ln T, App. F


@dataclass(frozen=True)
class Slope:
    """A measured slope with its 95 percent interval, beside the predicted one."""

    estimate: float
    low: float
    high: float
    predicted: float


# Example 1 (App. C): linear regret.


def predicted_slope(problem: Problem) -> float:
    """What is lost a round when everything goes to the best single arm for ever: eps/2 on Example 1."""
    one_hot = np.eye(problem.arms)
    return best_fixed(problem).utility - max(problem.utility(allocation) for allocation in one_hot)


def measured_slope(policy: Policy, problem: Problem, horizon: int, runs: int = 10, seed: int = 0) -> Slope:
    """Regret a round in the second half of the horizon, with an interval over runs, beside `predicted_slope`."""
    require(horizon >= 2, f"a slope needs a horizon of at least 2 rounds, got {shown(horizon)}")
    half = horizon // 2
    result = simulate(problem, policy, horizon, runs, seed=seed, checkpoints=[half, horizon])
    slopes = (result.regret[:, -1] - result.regret[:, 0]) / (horizon - half)
    return Slope(*mean_of(slopes), predicted_slope(problem))


# Slopes of ln regret in ln T.


def log_slope(horizons: Sequence[int], samples: Sequence[Floats], predicted: float, seed: int = 0) -> Slope:
    """Slope of ln mean regret in ln T by least squares, with a percentile interval from resampled runs at each T."""
    require(
        len(horizons) >= 2 and len(horizons) == len(samples), "a slope in T needs at least two horizons, a sample each"
    )
    require(all(float(s.mean()) > 0 for s in samples), "a slope of ln regret needs regrets above 0")
    logs = np.log(horizons)

    def slope(drawn: Sequence[Floats]) -> float:
        return float(np.polyfit(logs, np.log([float(s.mean()) for s in drawn]), 1)[0])

    return Slope(*bootstrap(samples, slope, seed, paired=False), predicted)


# Hard instances (App. F).


@dataclass(frozen=True)
class SumUCB(PlainPolicy):
    """A learner of App. F's own objective, the sum of r_k: a UCB index for each cell, maximised exactly.

    Every other policy here maximises the sum of p_k r_k. It holds an allocation for a fiftieth of the rounds so far, which
    costs little and makes plain Python quick enough.
    """

    name: ClassVar[str] = "sum-ucb"
    levels: int = 8
    scale: float = 1.0

    def arrays(self, setting: Setting) -> dict[str, np.ndarray[Any, Any]]:
        shape = (setting.arms, self.levels + 1)
        return {
            "count": np.zeros(shape),
            "sum": np.zeros(shape),
            "work": np.zeros(shape),
            "levels": np.zeros(setting.arms, dtype=np.int64),
            "bounds": np.array([[1] * setting.arms, [self.levels - setting.arms + 1] * setting.arms]),
            "next": np.ones(1, dtype=np.int64),
        }

    def ask(self, arrays: Any, t: int, allocation: Floats) -> None:
        if t >= arrays["next"][0]:
            n, low, high = arrays["count"], arrays["bounds"][0], arrays["bounds"][1]
            with np.errstate(divide="ignore", invalid="ignore"):
                index = arrays["sum"] / n + self.scale * np.sqrt(1.5 * math.log(t) / n)
            best_plain(np.where(n > 0, index, 10.0), low, high, arrays["work"], arrays["levels"], arrays["rng"])
            arrays["next"][0] = t + max(1, t // 50)
        allocation[:] = arrays["levels"] / self.levels

    def tell(self, arrays: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
        for k, level in enumerate(arrays["levels"]):
            arrays["count"][k, level] += 1.0
            arrays["sum"][k, level] += reward[k]


Learner = Callable[[HardInstance], Policy]


@dataclass(frozen=True, eq=False)
class HardSlope:
    """A learner's regrets on hard instances, horizon by horizon, and their slope in T."""

    horizons: tuple[int, ...]
    intervals: tuple[int, ...]  # N_p at each horizon
    regrets: tuple[Floats, ...]  # App. F's own, for each instance
    twins: tuple[Floats, ...]  # the discrete twin's on the same choices
    most: tuple[float, ...]  # K eps T: nobody can lose more
    slope: Slope

    @property
    def shares(self) -> list[float]:
        """Mean regret as a share of the most that can be lost."""
        return [float(r.mean()) / most for r, most in zip(self.regrets, self.most, strict=True)]


def hard_regrets(
    learner: Learner, arms: int, horizon: int, instances: int, seed: int = 0, scale: float = 1.0
) -> tuple[Floats, Floats, HardInstance]:
    """App. F's regret at T on instances with random p* and eps of order T^(-1/3), and the twins'; and one of the instances."""
    intervals = hard_intervals(horizon, arms, scale)
    drawn = [draw_hard(arms, intervals, np.random.SeedSequence(seed, spawn_key=(i,))) for i in range(instances)]

    def one(number: int) -> tuple[float, float]:
        instance = drawn[number]
        policy = learner(instance)
        result = simulate(
            instance.problem(), policy, horizon, 1, seed=seed + 1 + number, checkpoints=1, threads=1, trace=True
        )
        assert result.trace is not None
        chosen = result.trace.allocation[0]
        return float(hard_regret(chosen, instance)[-1]), float(twin_regret(chosen, instance)[-1])

    with ThreadPoolExecutor(2) as pool:
        found = np.array(list(pool.map(one, range(instances))))
    return found[:, 0], found[:, 1], drawn[0]


def hard_slope(
    learner: Learner,
    arms: int = 4,
    horizons: Sequence[int] = (2_000, 8_000, 32_000),
    instances: int = 16,
    seed: int = 0,
    scale: float = 1.0,
) -> HardSlope:
    """Slope of ln regret in ln T over hard instances that get harder with T, with its interval, beside 2/3."""
    found = [
        hard_regrets(learner, arms, horizon=t, instances=instances, seed=seed + 1000 * i, scale=scale)
        for i, t in enumerate(horizons)
    ]
    regrets = tuple(f[0] for f in found)
    return HardSlope(
        horizons=tuple(horizons),
        intervals=tuple(f[2].intervals for f in found),
        regrets=regrets,
        twins=tuple(f[1] for f in found),
        most=tuple(arms * f[2].eps * t for f, t in zip(found, horizons, strict=True)),
        slope=log_slope(horizons, regrets, LOWER_BOUND_SLOPE, seed),
    )


# What switching costs: not in the paper's bounds.


def two_peaks(
    memory: float = 0.4, noise: str = "bernoulli", feedback: Any = "independent", slope: float = 1.0
) -> Problem:
    """Two equal arms that pay .9 on [.2, .3] and [.7, .8], and less elsewhere.

    All allocations there are best. The peaks are flat, so that what the estimation stage sees does not depend on where the
    impact came from; with pointed peaks staying would look better than coming back, and switching would end by itself.
    """
    low = 0.9 - 0.2 * slope
    response = Table([0.0, 0.2, 0.3, 0.5, 0.7, 0.8, 1.0], [low, 0.9, 0.9, low, 0.9, 0.9, low])
    return Problem([response, response], Discounted(memory), feedback, noise, label="two peaks")


def one_best(memory: float, noise: str = "bernoulli", feedback: Any = "independent") -> Problem:
    """Two arms with responses of slope 1 and one best allocation, (.3, .7)."""
    first, second = Table([0.0, 0.3, 1.0], [0.5, 0.8, 0.1]), Table([0.0, 0.7, 1.0], [0.1, 0.8, 0.5])
    return Problem([first, second], Discounted(memory), feedback, noise, label="one best")


def switching_slope(
    policy: Policy,
    problem: Problem,
    horizons: Sequence[int] = (10_000, 100_000, 1_000_000),
    runs: int = 4,
    seed: int = 0,
) -> tuple[list[Floats], Slope]:
    """Grid regret at each horizon, and its slope in ln T beside 0, which is the slope of Lemma E.5's ln T."""
    samples = []
    for horizon in horizons:
        result = simulate(problem, policy, horizon, runs, seed=seed, checkpoints=1)
        assert result.grid_regret is not None
        samples.append(np.asarray(result.grid_regret[:, -1]))
    return samples, log_slope(horizons, samples, 0.0, seed)
