"""What curve-thompson makes of what it was not told: an unknown memory, a wrong one, drift; and whether it notices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from aftereffect._random import generator
from aftereffect.experiments.arena import DRAWN, MEMORY
from aftereffect.model.catalog import family
from aftereffect.model.feedback import Shock
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.simulation.simulate import draw_instance, run_once, setting_for, simulate


def explanations(
    name: str, policy: Policy, horizon: int, instances: int, seed: int, drift: int | None = None
) -> list[dict[str, Any]]:
    """What the policy says for itself at the end of a run on each of several instances with two arms."""
    drawn = family(name, arms=2, memory=MEMORY, drift=drift)

    def one(number: int) -> dict[str, Any]:
        return _explained(draw_instance(drawn, seed, number), policy, horizon, seed, number)

    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, range(instances)))


@dataclass(frozen=True)
class Alarms:
    """Shares of runs that were told a memory: contradicted by the data, and able to tell at all."""

    family: str
    told: float
    contradicted: float
    can_tell: float
    instances: int


def measure_alarms(horizon: int, instances: int, seed: int, told: tuple[float, ...]) -> Iterator[Alarms]:
    """How often the data are said to contradict the memory that was told; the true one is .5."""
    for name in DRAWN:
        for memory in told:
            said = [e["model"] for e in explanations(name, CurveThompson(memory=memory), horizon, instances, seed)]
            contradicted, can_tell = (float(np.mean([s[what] for s in said])) for what in ("contradicted", "can_tell"))
            yield Alarms(name, memory, contradicted, can_tell, instances)


SETTINGS: dict[str, dict[str, Any]] = {
    "single rewards": {},
    "split, single rewards": {"feedback": "split"},
    "30 units": {"units": 30},
    "300 units": {"units": 300},
    "2,000 units": {"units": 2000},
    "300 units, rates a tenth": {"units": 300, "rate": 0.1},
    "2,000 units, rates a thirtieth": {"units": 2000, "rate": 0.03},
    "200 units, common shock .05": {"units": 200, "shock": 0.05},
    "500 units, each arm's shock .03": {"units": 500, "shock": Shock(0.03, "each")},
}  # what rewards look like where alarms must be believed


@dataclass(frozen=True)
class FalseAlarms:
    """Shares of runs in which a right model cries, and what intervals of an unknown memory are worth.

    `drifting` is with the memory told and with only a bound on it; `covered` is among the runs that say they can tell.
    """

    setting: str
    horizon: int
    contradicted: float
    drifting: tuple[float, float]
    can_tell: float
    covered: float
    runs: int


def measure_false_alarms(horizon: int, runs: int, seed: int) -> Iterator[FalseAlarms]:
    """The drawn families in turn, with two arms and with four, nothing wrong with the model; the memory is .5."""
    told, bounded = CurveThompson(), CurveThompson(memory_bound=UNKNOWN_BOUND)

    for name, options in SETTINGS.items():

        def one(number: int, options: dict[str, Any] = options) -> tuple[bool, bool, bool, bool, bool]:
            arms = 2 + 2 * (number // len(DRAWN) % 2)
            drawn = family(DRAWN[number % len(DRAWN)], arms=arms, memory=MEMORY, **options)
            problem = draw_instance(drawn, seed, number)
            given, learned = (_explained(problem, policy, horizon, seed, number) for policy in (told, bounded))
            memory = learned["memory"]
            holds = memory["low"] <= MEMORY <= memory["high"]
            drifts = given["drift"]["drifting"], learned["drift"]["drifting"]
            return given["model"]["contradicted"], *drifts, memory["can_tell"], holds

        with ThreadPoolExecutor() as pool:
            said = np.array(list(pool.map(one, range(runs))), dtype=np.float64)
        contradicted, drifting, drifting_bounded, can_tell, _ = said.mean(axis=0).tolist()
        tells = said[:, 3] > 0
        covered = float(said[tells, 4].mean()) if tells.any() else math.nan
        yield FalseAlarms(name, horizon, contradicted, (drifting, drifting_bounded), can_tell, covered, runs)


def _explained(problem: Problem, policy: Policy, horizon: int, seed: int, number: int) -> dict[str, Any]:
    """What a policy says for itself at the end of a run."""
    done = run_once(problem, policy, np.array([horizon]), seed, number)
    return policy.explain(done.state, setting_for(problem, horizon, generator(0)), horizon + 1, done.allocation[-1])


@dataclass(frozen=True)
class Drifts:
    """Shares of runs said to drift: where responses stay as they are, and where they drift to others over the horizon."""

    family: str
    still: float
    drifting: float
    instances: int


def measure_drifts(horizon: int, instances: int, seed: int) -> Iterator[Drifts]:
    """How often responses are said to drift at the end of a run."""
    for name in DRAWN:
        still, drifting = (
            float(np.mean([e["drift"]["drifting"] for e in said]))
            for said in (explanations(name, CurveThompson(), horizon, instances, seed, d) for d in (None, horizon))
        )
        yield Drifts(name, still, drifting, instances)


@dataclass(frozen=True)
class Estimates:
    """Estimates of an unknown memory: how often the interval holds the true one, its mean width, how often it can tell."""

    family: str
    bound: float
    covered: float
    width: float
    error: float
    can_tell: float


def measure_estimates(horizon: int, instances: int, seed: int, bound: float) -> Iterator[Estimates]:
    """The memory estimated while running, given an upper bound only; the true one is .5."""
    for name in DRAWN:
        said = [e["memory"] for e in explanations(name, CurveThompson(memory_bound=bound), horizon, instances, seed)]
        low, high, estimate = (np.array([s[key] for s in said]) for key in ("low", "high", "estimate"))
        yield Estimates(
            name,
            bound,
            float(np.mean((low <= MEMORY) & (high >= MEMORY))),
            float(np.mean(high - low)),
            float(np.mean(np.abs(estimate - MEMORY))),
            float(np.mean([s["can_tell"] for s in said])),
        )


@dataclass(frozen=True)
class UnknownMemory:
    """Mean regret with the memory known and with only a bound on it, on the same instances."""

    cell: str
    known: float
    bounded: dict[float, float]


def measure_unknown_memory(
    horizon: int, instances: int, seed: int, bounds: tuple[float, ...], say: Callable[[str], None] = lambda _: None
) -> Iterator[UnknownMemory]:
    """Each family with two and with four arms."""
    for name in DRAWN:
        for arms in (2, 4):
            say(f"{name} K {arms}")
            policies: list[Policy] = [CurveThompson(), *(CurveThompson(memory_bound=b) for b in bounds)]
            drawn = family(name, arms=arms, memory=MEMORY)
            found = simulate(drawn, policies, horizon, 1, instances, seed, checkpoints=1)
            known, *rest = (float(result.mean[-1]) for result in found.values())
            yield UnknownMemory(f"{name}, K {arms}", known, dict(zip(bounds, rest, strict=True)))
