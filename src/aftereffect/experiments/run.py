"""Running a spec: tune, compute what is missing, keep every finished shard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars

from aftereffect.errors import AftereffectError
from aftereffect.experiments.executors import Executor, Progress, Threads
from aftereffect.experiments.plan import SCHEMA, Plan, Task
from aftereffect.experiments.spec import Spec
from aftereffect.experiments.store import Say, Store
from aftereffect.model.curves import Floats


def run_spec(
    spec: Spec,
    directory: Path,
    *,
    executor: Executor | None = None,
    fresh: bool = False,
    piece: tuple[int, int] | None = None,
    command: str = "",
    progress: Progress = lambda *_: None,
    say: Say = lambda *_: None,
    on_plan: Callable[[Plan], None] = lambda *_: None,
) -> Store:
    """Compute what a directory still lacks of a spec.

    `piece=(i, n)` computes the i-th of n parts (from 1), for job arrays that share the directory.
    """
    if piece is not None and not 1 <= piece[0] <= piece[1]:
        raise AftereffectError(f"--shard i/n needs 1 <= i <= n, got {piece[0]}/{piece[1]}")
    plan, store = Plan(spec), Store(directory)
    on_plan(plan)
    store.open(plan, command, fresh)
    executor = executor or Threads()
    # Parameters must be chosen before the rest can start, so every piece makes sure of the whole tuning.
    _compute_missing(store, plan.tuning_tasks(), executor, progress, say)
    chosen = choose(plan, store)
    tasks = plan.main_tasks(chosen)
    if piece is not None:
        tasks = tasks[piece[0] - 1 :: piece[1]]
    _compute_missing(store, tasks, executor, progress, say)
    return store


def _compute_missing(store: Store, tasks: list[Task], executor: Executor, progress: Progress, say: Say) -> None:
    if not tasks:
        return
    finished = store.finished(say, repair=True)
    missing = [task for task in tasks if task.shard.name not in finished]
    for task in tasks:
        if task.shard.name in finished:
            progress(task.label, task.work)
    for task, content in executor(missing, progress):
        store.write_shard(task.shard, content)


def choose(plan: Plan, store: Store) -> dict[tuple[int, int], str]:
    """For each tuned policy and problem the candidate with the least mean regret; the whole search goes to tuning.json."""
    tasks = plan.tuning_tasks()
    if not tasks:
        return {}
    frame = store.frame("tuning").group_by("problem", "policy").agg(polars.col("regret").mean()).collect()
    means = {(row["problem"], row["policy"]): float(row["regret"]) for row in frame.to_dicts()}
    chosen: dict[tuple[int, int], str] = {}
    searches = []
    for p, problem in enumerate(plan.problems):
        for q, (_, candidates) in enumerate(plan.policies):
            if candidates:
                regrets = [means[problem, c] for c in candidates]
                chosen[p, q] = candidates[int(np.argmin(regrets))]
                searches.append(
                    {
                        "problem": problem,
                        "policy": plan.labels[q],
                        "candidates": dict(zip(candidates, regrets, strict=True)),
                        "chosen": chosen[p, q],
                    }
                )
    store.write(store.directory / "tuning.json", json.dumps(searches, indent=2).encode())
    return chosen


class Results:
    """A finished experiment's curves, read from its files."""

    def __init__(self, directory: Path) -> None:
        self.store = Store(directory)
        self.manifest = self.store.manifest()
        self.spec = self.store.spec()
        self.problems: list[str] = self.manifest["problems"]
        self.policies: list[str] = self.manifest["policies"]
        self.rounds = np.array(self.spec.rounds)
        self._shards = {name: path for name, path in self.store.finished().items() if name.startswith("main")}
        self._latest: tuple[tuple[str, str], polars.DataFrame] | None = None

    @property
    def complete(self) -> bool:
        """Are all rows there?"""
        expected = len(self.problems) * len(self.policies) * self.spec.instances * self.spec.runs * len(self.rounds)
        if not self._shards:
            return False
        found = polars.scan_parquet(list(self._shards.values())).select(polars.len()).collect().item()
        return bool(found == expected)

    def rows(self, problem: str, policy: str) -> polars.DataFrame:
        """One policy's rows on one problem, run by run."""
        for name, known in ((problem, self.problems), (policy, self.policies)):
            if name not in known:
                raise AftereffectError(f"{self.spec.name} has no {name!r} (it has {', '.join(known)})")
        if self._latest is None or self._latest[0] != (
            problem,
            policy,
        ):  # one at a time: a whole experiment may be large
            prefix = f"main-p{self.problems.index(problem):03d}-q{self.policies.index(policy):03d}-"
            paths = [path for name, path in self._shards.items() if name.startswith(prefix)]
            frame = polars.read_parquet(paths) if paths else polars.DataFrame(schema=SCHEMA)
            self._latest = (problem, policy), frame.sort("instance", "run", "round")
        return self._latest[1]

    def curves(self, problem: str, policy: str, column: str = "regret") -> Floats:
        """(instances * runs, checkpoints), in the same order for every policy: ready for paired differences."""
        values = self.rows(problem, policy)[column].to_numpy()
        return np.asarray(values, dtype=np.float64).reshape(-1, len(self.rounds))

    def averages(self, problem: str, policy: str, column: str) -> Floats:
        """Mean allocation or impact over runs, (checkpoints, arms)."""
        rows = self.rows(problem, policy)[column]
        flat = rows.explode().to_numpy().astype(np.float64)
        return np.asarray(flat.reshape(-1, len(self.rounds), len(flat) // len(rows)).mean(axis=0))

    def tuning(self) -> list[dict[str, object]]:
        """The searches behind tuned policies."""
        path = self.store.directory / "tuning.json"
        return list(json.loads(path.read_text())) if path.exists() else []
