"""What curve-thompson makes of what it was not told: memory, horizon, noise, drift, change, seasons; and whether it notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.stats import norm

from aftereffect._random import generator
from aftereffect.experiments.arena import DRAWN, MEMORY
from aftereffect.model.catalog import family
from aftereffect.model.feedback import Shock, as_shock
from aftereffect.model.problem import Problem
from aftereffect.oracle.benchmark import fixed_utilities, moving_utilities
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.curves.estimates import BAND
from aftereffect.policies.curves.state import CurvesState
from aftereffect.policies.setting import Setting
from aftereffect.simulation.runs import run_once, setting_for
from aftereffect.simulation.simulate import draw_instance, simulate

Found = TypeVar("Found")


def explanations(
    name: str, policy: Policy, horizon: int, instances: int, seed: int, **options: Any
) -> list[dict[str, Any]]:
    """What the policy says for itself at the end of a run on each of several instances with two arms."""
    drawn = family(name, arms=2, memory=MEMORY, **options)

    return for_each(instances, lambda n: _explained(draw_instance(drawn, seed, n), policy, horizon, seed, n))


def for_each(count: int, one: Callable[[int], Found]) -> list[Found]:
    """What each number gives, several at a time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, range(count)))


@dataclass(frozen=True)
class Alarms:
    """Shares of runs that were told a memory: contradicted by the data, and able to tell at all."""

    family: str
    told: float
    units: int | None  # a round; none: single rewards
    horizon: int
    contradicted: float
    can_tell: float
    instances: int


def measure_alarms(
    horizon: int, instances: int, seed: int, told: tuple[float, ...], units: int | None = None
) -> Iterator[Alarms]:
    """How often the data are said to contradict the memory that was told; the true one is .5."""
    for name in DRAWN:
        for memory in told:
            found = explanations(name, CurveThompson(memory=memory), horizon, instances, seed, units=units)
            said = [e["model"] for e in found]
            contradicted, can_tell = (float(np.mean([s[what] for s in said])) for what in ("contradicted", "can_tell"))
            yield Alarms(
                name,
                memory,
                units,
                horizon,
                contradicted=contradicted,
                can_tell=can_tell,
                instances=instances,
            )


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
    covered: float | None
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

        said = np.array(for_each(runs, one), dtype=np.float64)
        contradicted, drifting, drifting_bounded, can_tell, _ = said.mean(axis=0).tolist()
        tells = said[:, 3] > 0
        covered = float(said[tells, 4].mean()) if tells.any() else None
        yield FalseAlarms(
            name,
            horizon,
            contradicted=contradicted,
            drifting=(drifting, drifting_bounded),
            can_tell=can_tell,
            covered=covered,
            runs=runs,
        )


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
            for said in (
                explanations(name, CurveThompson(), horizon, instances, seed, drift=d) for d in (None, horizon)
            )
        )
        yield Drifts(name, still, drifting, instances)


@dataclass(frozen=True)
class Changes:
    """Mean regrets after an abrupt change half-way and with seasons of a tenth, against the best allocation of each moment.

    `restart` is the regret of a policy that begins anew at the change, `single` that of the best single split, `still` that of
    the policy itself where responses stay as they are at first.
    """

    family: str
    change: float
    restart: float
    season: float
    single: float
    still: float
    instances: int


def measure_changes(horizon: int, instances: int, seed: int) -> Iterator[Changes]:
    """Responses are replaced by others, drawn anew, at half time; or go to them and back ten times."""
    half, policy = horizon // 2, CurveThompson()
    rounds = np.array([half, horizon])
    for name in DRAWN:

        def one(number: int, name: str = name) -> tuple[float, ...]:
            changed = draw_instance(family(name, arms=2, memory=MEMORY, change=half + 1), seed, number)
            regret = moving_utilities(changed, rounds) - run_once(changed, policy, rounds, seed, number).utility
            after = replace(changed, responses=changed.change.to if changed.change else (), change=None)
            anew = run_once(after, policy, rounds[:1], seed, number, number=1).utility[0]
            best = float(fixed_utilities(after, best_fixed(after), rounds[:1])[0])
            seasonal = draw_instance(family(name, arms=2, memory=MEMORY, season=horizon // 10), seed, number)
            moving = float(moving_utilities(seasonal, rounds)[1])
            earned = float(run_once(seasonal, policy, rounds, seed, number).utility[1])
            single = moving - float(fixed_utilities(seasonal, best_fixed(seasonal, horizon), rounds)[1])
            standing = replace(changed, change=None)
            kept = float(fixed_utilities(standing, best_fixed(standing), rounds)[1])
            still = kept - float(run_once(standing, policy, rounds, seed, number).utility[1])
            return float(regret[1]), float(regret[0] + best - anew), moving - earned, single, still

        change, restart, season, single, still = np.array(for_each(instances, one)).mean(axis=0).tolist()
        yield Changes(name, change, restart, season=season, single=single, still=still, instances=instances)


@dataclass(frozen=True)
class Bands:
    """Share of the 95 percent bands at the allocation deployed last that hold the mean reward there; of arms with a share."""

    setting: str
    horizon: int
    covered: float
    bands: int


BANDED = ("300 units", "300 units, rates a tenth", "200 units, common shock .05", "500 units, each arm's shock .03")


def mean_reward(response: float, shock: Shock | None) -> float:
    """What is seen in the mean: a shock takes a response at most to zero and to one, so near these it moves the mean."""
    if shock is None:
        return response
    low, high = -response / shock.deviation, (1.0 - response) / shock.deviation
    inside = response * (norm.cdf(high) - norm.cdf(low)) + shock.deviation * (norm.pdf(low) - norm.pdf(high))
    return float(inside + norm.sf(high))


def measure_bands(horizon: int, runs: int, seed: int) -> Iterator[Bands]:
    """The drawn families in turn, with four arms and only a bound on the memory.

    An arm without a share shows nothing: what its response would be is no estimate of what was seen. Where a shock is cut off
    at zero or one, the mean reward is what can be seen.
    """
    for name in BANDED:

        def one(number: int, options: dict[str, Any] = SETTINGS[name]) -> list[bool]:
            drawn = family(DRAWN[number % len(DRAWN)], arms=4, memory=MEMORY, **options)
            problem = draw_instance(drawn, seed, number)
            said = _explained(problem, CurveThompson(memory_bound=UNKNOWN_BOUND), horizon, seed, number)["arms"]
            true = [
                mean_reward(float(problem.steady(k, arm["share"])), as_shock(problem.shock))
                for k, arm in enumerate(said)
            ]
            return [
                abs(arm["estimate"] - r) <= BAND * arm["deviation"]
                for arm, r in zip(said, true, strict=True)
                if arm["share"] > 0
            ]

        held = [h for run in for_each(runs, one) for h in run]
        yield Bands(name, horizon, float(np.mean(held)), len(held))


@dataclass(frozen=True)
class QuietRewards:
    """Mean regret where rewards scatter little: the scatter learned, and told as a number of trials."""

    family: str
    learned: float
    told: float
    instances: int


def measure_quiet_rewards(horizon: int, instances: int, seed: int, deviation: float) -> Iterator[QuietRewards]:
    """Continuous rewards of a small deviation, every arm seen in every round."""
    trials = round(0.25 / deviation**2)
    for name in DRAWN:
        drawn = family(name, arms=2, memory=MEMORY, feedback="split")
        found = np.array(
            [
                [
                    _quiet_regret(draw_instance(drawn, seed, n), horizon, (seed, n), deviation, told)
                    for told in (1, trials)
                ]
                for n in range(instances)
            ]
        )
        learned, told_all = found.mean(axis=0).tolist()
        yield QuietRewards(name, learned, told_all, instances)


def _quiet_regret(problem: Problem, horizon: int, seed: tuple[int, int], deviation: float, trials: int) -> float:
    """Regret of an agent that is told normal rewards as so many trials each."""
    random, agent = np.random.default_rng(seed), CurveThompson(memory=MEMORY).start(2, seed=seed[1], feedback="split")
    impact, weight, earned = np.zeros(2), 0.0, 0.0
    for _ in range(horizon):
        shares = agent.ask()
        weight = 1.0 + MEMORY * weight  # equation (2)
        impact += (shares - impact) / weight
        means = np.array([float(curve(x)) for curve, x in zip(problem.curves, impact, strict=True)])
        earned += float(shares @ means)
        rewards = (means + deviation * random.normal(size=2)).clip(0.0, 1.0)
        agent.tell(np.where(shares > 0, rewards, np.nan), trials=np.where(shares > 0, trials, 0))
    rounds = np.array([horizon])
    return float(fixed_utilities(problem, best_fixed(problem), rounds)[0]) - earned


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
    """Mean regret with memory and horizon told, without the horizon, and with only a bound on the memory, one after the other.

    All on the same instances.
    """

    scenario: str
    known: float
    untold: float
    bounded: list[float]


@dataclass(frozen=True)
class HorizonUntold(CurveThompson):
    """`curve-thompson` that does not hear of the horizon."""

    name: ClassVar[str] = "horizon-untold"

    def state(self, setting: Setting) -> CurvesState:
        return super().state(replace(setting, horizon=None))


def measure_unknown_memory(
    horizon: int, instances: int, seed: int, bounds: tuple[float, ...]
) -> Iterator[UnknownMemory]:
    """Each family with two and with four arms."""
    for name in DRAWN:
        for arms in (2, 4):
            policies: list[Policy] = [
                CurveThompson(),
                HorizonUntold(),
                *(CurveThompson(memory_bound=b) for b in bounds),
            ]
            drawn = family(name, arms=arms, memory=MEMORY)
            found = simulate(drawn, policies, horizon, 1, instances, seed, checkpoints=1)
            known, untold, *rest = (float(result.mean[-1]) for result in found.values())
            yield UnknownMemory(f"{name}, K {arms}", known, untold, rest)
