"""What curve-thompson makes of what it was not told: an unknown memory, a wrong one, drift; and whether it notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from aftereffect._random import generator
from aftereffect.experiments.arena import DRAWN, MEMORY
from aftereffect.model.catalog import family
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import CurveThompson
from aftereffect.simulation.simulate import draw_instance, run_once, setting_for, simulate


def explanations(
    name: str, policy: Policy, horizon: int, instances: int, seed: int, drift: int | None = None
) -> list[dict[str, Any]]:
    """What the policy says for itself at the end of a run on each of several instances with two arms."""
    drawn = family(name, arms=2, memory=MEMORY, drift=drift)

    def one(number: int) -> dict[str, Any]:
        problem = draw_instance(drawn, seed, number)
        done = run_once(problem, policy, np.array([horizon]), seed, number)
        return policy.explain(done.state, setting_for(problem, horizon, generator(0)), horizon + 1, done.allocation[-1])

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
