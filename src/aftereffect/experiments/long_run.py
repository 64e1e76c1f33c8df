"""What curve-thompson comes to in the long run: its worst runs, how its regret grows at kinks, and many arms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aftereffect.experiments.arena import DRAWN, MEMORY
from aftereffect.experiments.robustness import for_each
from aftereffect.model.catalog import family
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import Discounted
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.thompson import Thompson
from aftereffect.simulation.runs import Instance, run_once
from aftereffect.simulation.simulate import draw_instance

TIMES_MEDIAN, PER_ROUND = 10.0, 0.005  # a run counts as stuck beyond the larger of so many medians and so much a round

Draw = Callable[[int], Problem]
"""The problem of a number."""


def drawn_from(name: str, arms: int, seed: int) -> Draw:
    """Instances of one of the catalog's families."""
    return lambda number: draw_instance(family(name, arms=arms, memory=MEMORY), seed, number)


def two_peaks(arms: int, seed: int) -> Draw:
    """Problems of our own: a peak on either side of the middle, of different height and width, on a low plain."""

    def drawn(number: int) -> Problem:
        random = np.random.default_rng((seed, number))
        return Problem(responses=[_with_peaks(random) for _ in range(arms)], impact=Discounted(MEMORY))

    return drawn


def _with_peaks(random: np.random.Generator) -> Callable[[Floats], Floats]:
    places, plain = random.uniform((0.05, 0.55), (0.45, 0.95)), random.uniform(0.2, 0.5)
    heights, widths = random.uniform(0.1, 0.4, 2), random.uniform(0.05, 0.15, 2)

    def response(x: Floats) -> Floats:
        peaks = heights * np.exp(-(((np.asarray(x)[..., None] - places) / widths) ** 2))
        return np.asarray((plain + peaks.sum(axis=-1)).clip(0.0, 1.0))

    return response


def regrets(draw: Draw, policy: Policy, horizon: int, runs: int, seed: int) -> Floats:
    """The regret of one run on each of several problems."""
    rounds = np.array([horizon])

    def one(number: int) -> float:
        problem = draw(number)
        return float(
            Instance.of(problem, rounds).benchmark[0] - run_once(problem, policy, rounds, seed, number).utility[0]
        )

    return np.array(for_each(runs, one))


@dataclass(frozen=True)
class LargestRuns:
    """The median and the largest regret of a scenario's runs, the limit beyond which a run is stuck, and how many are."""

    scenario: str
    runs: int
    median: float
    largest: float
    limit: float
    stuck: int


def judge_runs(scenario: str, found: Floats, horizon: int) -> LargestRuns:
    """A run is stuck if its regret is beyond the larger of ten medians and .005 a round."""
    median = float(np.median(found))
    limit = max(TIMES_MEDIAN * median, PER_ROUND * horizon)
    return LargestRuns(scenario, len(found), median, float(found.max()), limit, int((found > limit).sum()))


def measure_largest_runs(horizon: int, runs: int, seed: int) -> Iterator[LargestRuns]:
    """The drawn families with two and with four arms, two peaks, and some with the memory unknown."""
    known, unknown = CurveThompson(), CurveThompson(memory_bound=UNKNOWN_BOUND)
    scenarios: list[tuple[str, Draw, Policy]] = [
        (f"{name}, K {arms}", drawn_from(name, arms, seed), known) for name in DRAWN for arms in (2, 4)
    ]
    scenarios += [("two peaks, K 2", two_peaks(2, seed), known)]
    scenarios += [
        (f"{name}, K 2, memory unknown", drawn_from(name, 2, seed), unknown) for name in ("patrol", "bump", "lipschitz")
    ]
    for scenario, draw, policy in scenarios:
        yield judge_runs(scenario, regrets(draw, policy, horizon, runs, seed), horizon)


@dataclass(frozen=True)
class Growth:
    """Mean and median regret at a horizon, where the best allocation is a kink."""

    horizon: int
    mean: float
    median: float
    runs: int


def measure_growth(horizons: Sequence[tuple[int, int]], seed: int) -> Iterator[Growth]:
    """Bump with two arms, at horizons with so many runs each."""
    for horizon, runs in horizons:
        found = regrets(drawn_from("bump", 2, seed), CurveThompson(), horizon, runs, seed)
        yield Growth(horizon, float(found.mean()), float(np.median(found)), runs)


@dataclass(frozen=True)
class ManyArms:
    """Mean and median regret with many arms beside that of plain Thompson sampling over arms."""

    family: str
    mean: float
    median: float
    thompson_mean: float
    thompson_median: float
    runs: int


def measure_many_arms(arms: int, horizon: int, runs: int, seed: int) -> Iterator[ManyArms]:
    """Families in which one arm is often best: what Thompson sampling over arms is made for."""
    for name in ("loan", "lipschitz"):
        draw = drawn_from(name, arms, seed)
        ours, plain = (regrets(draw, policy, horizon, runs, seed) for policy in (CurveThompson(), Thompson()))
        yield ManyArms(
            name,
            mean=float(ours.mean()),
            median=float(np.median(ours)),
            thompson_mean=float(plain.mean()),
            thompson_median=float(np.median(plain)),
            runs=runs,
        )
