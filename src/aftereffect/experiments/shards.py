"""Shards: a block of runs of one policy on one problem, computed anywhere as a function of its task alone."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars

from aftereffect._sources import own_hash
from aftereffect.errors import AftereffectError
from aftereffect.model.catalog import entry_of
from aftereffect.model.family_notation import family_from
from aftereffect.notation import parse
from aftereffect.plugins import import_modules
from aftereffect.policies.base import Policy, policy_from
from aftereffect.simulation.result import Result
from aftereffect.simulation.runs import Instance, run_once
from aftereffect.simulation.simulate import draw_instance, gather


@dataclass(frozen=True)
class Block:
    """A rectangle of instances and runs: the same work also in a spec that has more of either."""

    instances: tuple[int, int]  # first, and one past the last
    runs: tuple[int, int]

    def moved(self, instances: int, runs: int) -> Block:
        """The same rectangle elsewhere."""
        (top, bottom), (left, right) = self.instances, self.runs
        return Block((top + instances, bottom + instances), (left + runs, right + runs))

    @property
    def count(self) -> int:
        """How many runs that is in all."""
        return (self.instances[1] - self.instances[0]) * (self.runs[1] - self.runs[0])


@dataclass(frozen=True)
class Task:
    """All that computing a shard needs, as plain data that can be sent to another machine."""

    purpose: str  # "main" or "tuning"
    problem: str
    policy: str
    label: str
    horizon: int
    rounds: tuple[int, ...]
    seed: int
    block: Block
    code: str
    own: str = ""  # hash of the sources of what takes part that is not this package's
    imports: tuple[str, ...] = ()  # modules that define it

    @property
    def work(self) -> int:
        """Rounds to simulate."""
        return self.block.count * self.horizon

    @cached_property
    def identity(self) -> str:
        """Hash of all that the shard's content depends on; neither the spec nor a place in it is part of that."""
        work = {
            "problem": self.problem,
            "policy": self.label,
            "parameters": self.policy,
            "seed": self.seed,
            "instances": self.block.instances,
            "runs": self.block.runs,
            "horizon": self.horizon,
            "checkpoints": _digest_of_rounds(self.rounds),
            "code": self.code,
            "own": self.own,
        }
        return hashlib.sha256(json.dumps(work, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def name(self) -> str:
        """The shard's name, without what depends on its content."""
        return f"{self.purpose}-{self.identity}"


@lru_cache(maxsize=16)
def _digest_of_rounds(rounds: tuple[int, ...]) -> str:
    return hashlib.sha256(json.dumps(rounds).encode()).hexdigest()


@lru_cache(maxsize=512)
def _instance(problem: str, seed: int, number: int, rounds: tuple[int, ...]) -> Instance:
    """An instance with its benchmark, kept for the policies that follow."""
    return Instance.of(draw_instance(family_from(problem)[0], seed, number), np.array(rounds))


def compute(
    task: Task, progress: Callable[[int], None] | None = None, stopped: Callable[[], bool] = lambda: False
) -> bytes:
    """A shard as the bytes of a Parquet file: one row per run and checkpoint. A function of the task alone."""
    import_modules(task.imports)
    policy, rounds = policy_from(task.policy), np.array(task.rounds)
    _check_sources(task, policy)
    parts = []
    for number in range(*task.block.instances):
        instance = _instance(task.problem, task.seed, number, task.rounds)
        done = [
            run_once(
                instance.problem,
                policy,
                rounds=rounds,
                seed=task.seed,
                instance=number,
                number=run,
                progress=progress,
                stopped=stopped,
            )
            for run in range(*task.block.runs)
        ]
        parts.append(_rows(task, number, gather(policy, [instance], rounds, len(done), done)))
    buffer = io.BytesIO()
    polars.concat(parts).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _check_sources(task: Task, policy: Policy) -> None:
    """A worker may have another version of somebody's module than the one the experiment was planned with."""
    entry = entry_of(parse(task.problem).name)
    if task.own != "+".join(filter(None, (own_hash((entry.recipe, entry.measure)), own_hash(policy)))):
        raise AftereffectError(
            f"{task.label!r} on {task.problem!r}: the modules {', '.join(task.imports)} are not the same where this is "
            "computed as where it was asked for"
        )


def _rows(task: Task, number: int, result: Result) -> polars.DataFrame:
    """One instance's runs as rows of the shard, nulls where the problem has no fairness measure or no fair optimum."""
    fair = result.parity
    optimum = None if fair is None else fair.optimum[0]
    told = {"problem": task.problem, "policy": task.label, "parameters": task.policy, "instance": number}
    told |= {} if optimum is None else {"fair_utility": optimum.utility, "fair_price": optimum.price}
    by_arm = {"allocation": result.allocations, "impact": result.impacts} | (
        {} if fair is None else {"measure": fair.measures}
    )
    rows = result.to_frame().with_columns(
        polars.col("run") + task.block.runs[0],
        *(polars.lit(value).alias(name) for name, value in told.items()),
        *(
            polars.Series(name, values.reshape(-1, values.shape[-1]).astype(np.float32).tolist())
            for name, values in by_arm.items()
        ),
    )
    blank = [polars.lit(None).alias(name) for name in SCHEMA if name not in rows.columns]
    return rows.with_columns(blank).select(polars.col(name).cast(kind) for name, kind in SCHEMA.items())


SCHEMA: dict[str, Any] = {
    "problem": polars.String,
    "policy": polars.String,
    "parameters": polars.String,
    "instance": polars.Int32,
    "run": polars.Int32,
    "round": polars.Int64,
    "regret": polars.Float64,
    "realised_regret": polars.Float64,
    "grid_regret": polars.Float64,
    "utility": polars.Float64,
    "allocation": polars.List(polars.Float32),
    "impact": polars.List(polars.Float32),
    "violation": polars.Float64,
    "violated": polars.Float64,
    "measure": polars.List(polars.Float32),
    "fair_utility": polars.Float64,
    "fair_price": polars.Float64,
}
