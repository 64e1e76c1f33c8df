"""`simulate`: policies on problems, many runs, common random numbers, threads."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from aftereffect._random import POLICY, stream
from aftereffect.errors import AftereffectError, DoubtfulAssumption, require, require_whole, shown
from aftereffect.model.catalog import Family
from aftereffect.model.curves import Floats
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.policies.base import Policy
from aftereffect.simulation.kernel import Traced
from aftereffect.simulation.processes import run_in_processes
from aftereffect.simulation.provenance import provenance_of
from aftereffect.simulation.result import Comparison, Parity, Result, Trace
from aftereffect.simulation.runs import Batch, Finished, Instance, Progress, Run, run_once, setting_for

TRACE_LIMIT = 200_000_000  # numbers a trace may hold


def checkpoint_rounds(horizon: int, checkpoints: int | Sequence[int] | npt.NDArray[Any]) -> Ints:
    """The rounds at which results are kept: a number of equal steps, or given ones; the last is the horizon."""
    if isinstance(checkpoints, (int, np.integer)) and not isinstance(checkpoints, bool):
        require(checkpoints >= 1, f"checkpoints must be at least 1, got {shown(checkpoints)}")
        count = min(int(checkpoints), horizon)
        return np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64).clip(1, horizon))
    try:
        given = np.asarray(checkpoints)
    except ValueError:  # lists of several lengths
        given = np.zeros(0)
    if given.ndim != 1 or len(given) == 0 or not np.issubdtype(given.dtype, np.integer):
        raise AftereffectError(f"checkpoints must be a whole number or a list of rounds, got {shown(checkpoints)}")
    if given.min() < 1 or given.max() > horizon:
        raise AftereffectError(f"checkpoints must lie in 1..{horizon}, got {given.min()}..{given.max()}")
    return np.unique(np.append(given, horizon)).astype(np.int64)


@overload
def simulate(
    problem: Problem | Family,
    policy: Policy,
    horizon: int,
    runs: int = ...,
    instances: int | None = ...,
    seed: int = ...,
    checkpoints: int | Sequence[int] = ...,
    threads: int | None = ...,
    *,
    trace: bool = ...,
    progress: Progress | None = ...,
    processes: int | None = ...,
) -> Result: ...
@overload
def simulate(
    problem: Problem | Family,
    policy: Sequence[Policy],
    horizon: int,
    runs: int = ...,
    instances: int | None = ...,
    seed: int = ...,
    checkpoints: int | Sequence[int] = ...,
    threads: int | None = ...,
    *,
    trace: bool = ...,
    progress: Progress | None = ...,
    processes: int | None = ...,
) -> Comparison: ...
def simulate(
    problem: Problem | Family,
    policy: Policy | Sequence[Policy],
    horizon: int,
    runs: int = 10,
    instances: int | None = None,
    seed: int = 0,
    checkpoints: int | Sequence[int] = 50,
    threads: int | None = None,
    *,
    trace: bool = False,
    progress: Progress | None = None,
    processes: int | None = None,
) -> Result | Comparison:
    """Run a policy, or several on the same random numbers, on a problem or on instances of a family.

    A family without `instances` gives each run an instance of its own. Results depend on the seed alone, not on the number
    of `threads` (default: all cores) nor of `processes`, which help policies and impacts in plain Python. Memory does not grow
    with the horizon, unless a full `trace` is asked for. One policy gives a `Result`, a list gives a `Comparison`.
    """
    policies = [policy] if isinstance(policy, Policy) else list(policy) if isinstance(policy, Sequence) else []
    if not policies or not all(isinstance(p, Policy) for p in policies):
        raise AftereffectError(f"policy must be a Policy or a list of them, got {shown(policy)}")
    keys = [p.key for p in policies]
    twice = next((k for k in keys if keys.count(k) > 1), None)
    if twice is not None:
        raise AftereffectError(f"policy {twice!r} is given twice")
    horizon, runs, seed = require_whole("horizon", horizon), require_whole("runs", runs), require_whole("seed", seed, 0)
    rounds = checkpoint_rounds(horizon, checkpoints)
    if isinstance(problem, Family) and instances is None:
        instances, runs = runs, 1
    drawn = draw_instances(problem, instances, seed)
    if trace and len(Traced._fields) * horizon * runs * len(drawn) * drawn[0].arms > TRACE_LIMIT:
        raise AftereffectError(f"a full trace of {horizon * runs * len(drawn):,} rounds is too large; use fewer runs")
    workers = require_whole("threads", threads) if threads is not None else os.cpu_count() or 1
    others = 0 if processes is None else require_whole("processes", processes)
    for p in policies:  # a policy that cannot start here says so before anything runs
        p.state(setting_for(drawn[0], horizon, stream(seed, 0, 0, POLICY)))
        _say_doubts(p, drawn)
    prepared = _prepare(drawn, rounds, workers)
    batch = Batch(prepared, policies, rounds, seed, runs, trace=trace, progress=progress)
    finished = run_in_processes(batch, others) if others else run_in_threads(batch, workers)
    results = [
        gather(p, prepared, rounds, runs, [finished[p.key, i, r] for i in range(len(prepared)) for r in range(runs)])
        for p in policies
    ]
    results = [replace(r, provenance=provenance_of(problem, p, seed)) for r, p in zip(results, policies, strict=True)]
    return results[0] if isinstance(policy, Policy) else Comparison(results)


def _say_doubts(policy: Policy, drawn: list[Problem]) -> None:
    """Warn where a policy takes for granted what does not hold, once for all instances."""
    for number, problem in enumerate(drawn):
        doubts = policy.doubts(problem)
        if doubts:
            where = problem.label if len(drawn) == 1 else f"{problem.label} (instance {number})"
            warnings.warn(f"{policy.key} on {where}: {'; '.join(doubts)}", DoubtfulAssumption, stacklevel=3)
            return


def _prepare(drawn: list[Problem], rounds: Ints, workers: int) -> list[Instance]:
    """Each instance with its best fixed allocation."""
    if workers == 1 or len(drawn) == 1:
        return [Instance.of(p, rounds) for p in drawn]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda p: Instance.of(p, rounds), drawn))


def draw_instance(family: Family, seed: int, number: int) -> Problem:
    """The family's instance of this number under a seed."""
    return family.draw(np.random.SeedSequence(seed, spawn_key=(number,)))


def draw_instances(problem: Problem | Family, instances: int | None, seed: int) -> list[Problem]:
    """The problems to run on: the one given, or a family's draws (default: one)."""
    if isinstance(problem, Problem):
        if instances not in (None, 1):
            raise AftereffectError(
                f"instances needs a family to draw from; a problem is one instance, got {shown(instances)}"
            )
        return [problem]
    if isinstance(problem, Family):
        count = 1 if instances is None else require_whole("instances", instances)
        return [draw_instance(problem, seed, i) for i in range(count)]
    raise AftereffectError(f"simulate takes a problem or a family, got {shown(problem)}")


def run_in_threads(batch: Batch, workers: int) -> Finished:
    """Every run of a batch."""
    stop = threading.Event()

    def one(policy: Policy, instance: int, number: int) -> Run:
        return run_once(
            batch.prepared[instance].problem,
            policy,
            rounds=batch.rounds,
            seed=batch.seed,
            instance=instance,
            number=number,
            trace=batch.trace,
            progress=None if batch.progress is None else partial(batch.progress, policy.key),
            stopped=stop.is_set,
        )

    if workers == 1:
        return {(p.key, i, r): one(p, i, r) for p, i, r in batch.work}
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(one, p, i, r): (p.key, i, r) for p, i, r in batch.work}
        try:
            return {futures[f]: f.result() for f in as_completed(futures)}
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def gather(policy: Policy, prepared: list[Instance], rounds: Ints, runs: int, finished: list[Run]) -> Result:
    """One policy's runs, instance by instance, as a result."""
    utility = np.stack([f.utility for f in finished])
    benchmark = np.repeat(np.stack([p.benchmark for p in prepared]), runs, axis=0)
    regret = benchmark - utility
    losses = [grid_loss(policy, p, int(rounds[-1])) for p in prepared]
    lost = None if any(loss is None for loss in losses) else np.repeat(np.array(losses, dtype=np.float64), runs)
    problem = prepared[0].problem
    trace = None
    if len(finished[0].trace.allocation):
        trace = Trace(**{part: np.stack([getattr(f.trace, part) for f in finished]) for part in Trace._fields})
    return Result(
        policy=policy.key,
        problem=problem.label,
        rounds=rounds,
        regret=regret,
        realised_regret=benchmark - np.stack([f.realised for f in finished]),
        grid_regret=None if lost is None else regret - lost[:, None] * rounds,
        utility=utility,
        allocations=np.stack([f.allocation for f in finished]),
        impacts=np.stack([f.impact for f in finished]),
        instances=len(prepared),
        runs=runs,
        best=tuple(p.best for p in prepared),
        names=problem.arm_names,
        trace=trace,
        parity=_parity(prepared, rounds, runs, finished, utility),
    )


def _parity(prepared: list[Instance], rounds: Ints, runs: int, finished: list[Run], utility: Floats) -> Parity | None:
    fairness = prepared[0].problem.fairness
    if fairness is None:
        return None
    return Parity(
        tolerance=float(fairness.tolerance),
        rounds=rounds,
        violation=np.stack([f.violation for f in finished]),
        violated=np.stack([f.violated for f in finished]),
        measures=np.stack([prepared[i // runs].problem.measure(f.impact) for i, f in enumerate(finished)]),
        optimum=tuple(p.fair for p in prepared),
        fair_earned=np.stack([p.fair_earned(rounds) for p in prepared]),
        utility=utility,
    )


def grid_loss(policy: Policy, prepared: Instance, horizon: int) -> float | None:
    """What the best allocation of the policy's grid loses a round against the best of all: the discretisation error."""
    grid = policy.grid(setting_for(prepared.problem, horizon, stream(0, 0, 0, POLICY)))
    if grid is None or prepared.problem.moving is not None:
        return None
    return prepared.best.utility - prepared.best.on_grid(grid.levels, grid.low, grid.high)
