"""One run of one policy on one problem, and what every run on a problem needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from aftereffect._random import POLICY, WORLD, stream
from aftereffect.model.curves import Floats
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.oracle.benchmark import fixed_utilities, moving_utilities
from aftereffect.oracle.best_fixed import BestFixed, best_fixed
from aftereffect.policies.base import Policy
from aftereffect.policies.setting import Setting
from aftereffect.simulation.delayed import delayed_state
from aftereffect.simulation.kernel import SUMS, TRACED, buffers, checkpoint_rows, run, sums
from aftereffect.theory.fair import FairOptimum, fair_optimum_or_none

CHUNK = 1 << 20  # rounds between two looks at the stop flag
LATE_CHUNK = 64  # the same where rewards come late, which is slower

Progress = Callable[[str, int], None]
"""Called with a policy's key and the rounds just finished, from any thread."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with what every policy's runs on it need."""

    problem: Problem
    best: BestFixed
    benchmark: Floats  # earned by the best fixed allocation, under drift by the best of each moment, at each checkpoint

    @cached_property
    def fair(self) -> FairOptimum | None:
        """The fair optimum where the problem has a fairness measure and an allocation meets its tolerance."""
        return None if self.problem.fairness is None else fair_optimum_or_none(self.problem)

    @classmethod
    def of(cls, problem: Problem, rounds: Ints) -> Instance:
        best = best_fixed(problem, int(rounds[-1]))
        moving = problem.moving is not None
        return cls(
            problem, best, moving_utilities(problem, rounds) if moving else fixed_utilities(problem, best, rounds)
        )


def setting_for(problem: Problem, horizon: int, rng: Any) -> Setting:
    """What a policy is told about a problem: everything but the responses and the measures."""
    fair = problem.fairness
    told = Setting(
        problem.arms,
        horizon,
        problem.feedback,
        problem.limits,
        problem.memory,
        rng,
        units=problem.units,
        start=None if problem.start is None else np.array(problem.start, dtype=np.float64),
        step=problem.step,
    )
    return told if fair is None else replace(told, tolerance=float(fair.tolerance), observed=fair.observed)


@dataclass(frozen=True, eq=False)
class Run:
    """One finished run."""

    utility: Floats  # expected, summed up to each checkpoint
    realised: Floats
    violation: Floats
    violated: Floats
    allocation: Floats  # (checkpoints, arms)
    impact: Floats
    trace: Floats
    state: Any  # the policy's, at the end

    def without_state(self) -> Run:
        """The same without the policy's state, which need not travel."""
        return replace(self, state=None)


def run_once(
    problem: Problem,
    policy: Policy,
    rounds: Ints,
    seed: int,
    instance: int = 0,
    number: int = 0,
    trace: bool = False,
    progress: Callable[[int], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Run:
    """One run of one policy: a function of the seed, the instance's and the run's number, and nothing else."""
    horizon = int(rounds[-1])
    world = problem.world(stream(seed, instance, number, WORLD))
    setting = setting_for(problem, horizon, stream(seed, instance, number, POLICY))
    late = problem.delay
    key = (seed, instance, number)
    state = policy.state(setting) if late is None else delayed_state(policy, setting, late, key)  # type: ignore[arg-type]
    room, totals, kept = buffers(problem.arms, setting.start), sums(), checkpoint_rows(len(rounds), problem.arms)
    full = np.zeros((horizon if trace else 0, TRACED, problem.arms))
    chunk = CHUNK if late is None else LATE_CHUNK
    for start in range(1, horizon + 1, chunk):
        if stopped():
            raise KeyboardInterrupt
        stop = min(start + chunk, horizon + 1)
        run(world, state, start, stop, rounds=rounds, buffers=room, totals=totals, kept=kept, trace=full)
        if progress is not None:
            progress(stop - start)
    full[:, 1] = problem.impact_after_g(full[:, 1])
    allocation, impact = np.split(kept[:, SUMS:], 2, axis=1)
    utility, realised, violation, violated = kept[:, :SUMS].T
    state = state if late is None else state.policy.course.settled.state
    return Run(
        utility,
        realised,
        violation=violation,
        violated=violated,
        allocation=allocation,
        impact=problem.impact_after_g(impact),
        trace=full,
        state=state,
    )
