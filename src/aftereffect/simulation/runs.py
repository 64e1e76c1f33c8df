"""One run of one policy on one problem, and what every run on a problem needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aftereffect._random import POLICY, WORLD, stream
from aftereffect.model.curves import Floats
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.oracle.benchmark import fixed_utilities, held_utilities, moving_utilities
from aftereffect.oracle.best_fixed import BestFixed, best_fixed
from aftereffect.policies.answers import check_answer
from aftereffect.policies.base import Policy
from aftereffect.policies.rules import is_own
from aftereffect.policies.setting import Setting
from aftereffect.simulation.delayed import delayed_state
from aftereffect.simulation.kernel import CHECKPOINT, Traced, checkpoints_for, room_for, run, trace_for
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

    def fair_earned(self, rounds: Ints) -> Floats:
        """What the fair optimum earns up to each round, on its own history; NaN without one."""
        if self.fair is None:
            return np.full(len(rounds), np.nan)
        if self.problem.transient:
            return held_utilities(self.problem, self.fair.allocation, rounds)
        return np.asarray(self.fair.utility * rounds)

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
    trace: Traced
    state: Any  # the policy's, at the end


Finished = dict[tuple[str, int, int], Run]
"""Runs by the policy's key, the instance's number and the run's."""


class Batch(NamedTuple):
    """Every policy's runs on every instance, to be run in threads or in processes."""

    prepared: list[Instance]
    policies: list[Policy]
    rounds: Ints
    seed: int
    runs: int
    trace: bool
    progress: Progress | None

    @property
    def work(self) -> list[tuple[Policy, int, int]]:
        """A policy, an instance's number and a run's for each."""
        return [(p, i, r) for p in self.policies for i in range(len(self.prepared)) for r in range(self.runs)]


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
    asked = state if late is None else state.policy.course.settled.state
    looked_at = problem.limits if is_own(asked) else None
    room, kept = room_for(problem.arms, setting.start, looked_at), checkpoints_for(len(rounds), problem.arms)
    full = trace_for(horizon if trace else 0, problem.arms)
    chunk = CHUNK if late is None else LATE_CHUNK
    for start in range(1, horizon + 1, chunk):
        if stopped():
            raise KeyboardInterrupt
        stop = min(start + chunk, horizon + 1)
        run(world, state, start, stop, rounds=rounds, room=room, kept=kept, trace=full)
        if room.totals["fault"][0] > 0:
            check_answer(policy.key, int(room.totals["fault"][0]), room.allocation, problem.limits)
        if progress is not None:
            progress(stop - start)
    state = state if late is None else state.policy.course.settled.state
    return Run(
        **{name: np.ascontiguousarray(kept.sums[name]) for name in CHECKPOINT.names or ()},
        allocation=kept.allocation,
        impact=problem.impact_after_g(kept.impact),
        trace=full._replace(impact=problem.impact_after_g(full.impact)),
        state=state,
    )
