"""Running a spec: tune, compute what is missing, keep every finished shard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
import polars

from aftereffect._files import sink_output
from aftereffect.errors import AftereffectError
from aftereffect.experiments.executors import Executor, Progress, Threads
from aftereffect.experiments.parameters import (
    Values,
    Which,
    policy_values,
    problem_values,
    the_one,
    values_of,
    with_parameters,
)
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.searches import Search, chosen
from aftereffect.experiments.shards import SCHEMA, Task
from aftereffect.experiments.spec import Spec
from aftereffect.experiments.store import TUNING, Say, Store, scan, written_searches
from aftereffect.model.curves import Floats

ROWS = "rows.parquet"


class How(TypedDict, total=False):
    """How a spec is computed: where, anew or not, by which command, and who is told."""

    executor: Executor | None
    fresh: bool
    command: str
    progress: Progress
    say: Say


def run_spec(
    spec: Spec | Plan,
    directory: Path,
    *,
    piece: tuple[int, int] | None = None,
    figure: str | None = None,
    **how: Unpack[How],
) -> Store:
    """Compute what a directory still lacks of a spec, which may have been planned already.

    `piece=(i, n)` computes the i-th of n parts (from 1), for job arrays that share the directory. `figure` says of which of
    the paper's figures this is a part.
    """
    if piece is not None and not 1 <= piece[0] <= piece[1]:
        raise AftereffectError(f"--shard i/n needs 1 <= i <= n, got {piece[0]}/{piece[1]}")
    plan, store = spec if isinstance(spec, Plan) else Plan(spec), Store(directory)
    # Each thing is said once, however often it is noticed.
    told, progress = cache(how.get("say", _silent)), how.get("progress", _silent)
    executor = how.get("executor") or Threads()
    with store.opened(plan, how.get("command", ""), how.get("fresh", False), figure, told):
        # Parameters must be chosen before the rest can start, so every piece makes sure of the whole tuning.
        _compute_missing(store, plan.tuning_tasks(), executor, progress, told)
        found = store.searches()
        if found:
            store.write(directory / TUNING, written_searches(found))
        tasks = plan.main_tasks(chosen(plan, found))
        if piece is not None:
            tasks = tasks[piece[0] - 1 :: piece[1]]
        _compute_missing(store, tasks, executor, progress, told)
    return store


def _silent(*_: object) -> None:
    """Nobody is told."""


def _compute_missing(store: Store, tasks: list[Task], executor: Executor, progress: Progress, say: Say) -> None:
    if not tasks:
        return
    finished = store.finished(say, repair=True)
    missing = [task for task in tasks if task.name not in finished]
    for task in tasks:
        if task.name in finished:
            progress(task.label, task.work)
    for task, content in executor(missing, progress):
        store.write_shard(task, content)


class Results:
    """A finished experiment's curves, read from its files."""

    def __init__(self, directory: Path) -> None:
        self.store = Store(directory)
        self.manifest = self.store.manifest()
        plan = self.store.plan
        self.spec = plan.spec
        self.problems = plan.problems
        self.policies = plan.labels
        self.rounds = np.array(self.spec.rounds)
        self.remarks: list[str] = []  # about files that do not count
        finished = self.store.finished(self.remarks.append)
        self._searches = self.store.searches(finished)
        tasks = plan.main_tasks(chosen(plan, self._searches))
        self._paths: dict[tuple[str, str], list[Path]] = {}
        for task in (t for t in tasks if t.name in finished):
            self._paths.setdefault((task.problem, task.label), []).append(finished[task.name])
        self.shards = sum(task.name in finished for task in (*plan.tuning_tasks(), *tasks))
        self._latest: tuple[tuple[str, str], polars.DataFrame] | None = None

    @property
    def figure(self) -> str | None:
        """Which of the paper's figures this is part of, if it was run as one; its name says nothing."""
        found: str | None = self.manifest["figure"]
        return found

    @property
    def complete(self) -> bool:
        """Are all shards there?"""
        return self.shards == self.store.plan.shard_count

    @cached_property
    def problem_values(self) -> dict[str, Values]:
        """Every problem's parameters."""
        return {notation: problem_values(family) for notation, family in self.spec.families.items()}

    @cached_property
    def policy_values(self) -> dict[str, Values]:
        """Every policy's parameters; None for those that are left to tuning."""
        return {entrant.label: values_of(entrant) for entrant in self.spec.entrants}

    def candidates(self, policy: str) -> dict[str, Values]:
        """The parameters that tuning chose a policy's from, by the candidates' notation."""
        (entrant,) = (e for e in self.spec.entrants if e.label == policy)
        return {notation: policy_values(candidate) for notation, candidate in entrant.policies.items()}

    def problem(self, wanted: Which) -> str:
        """The one problem that fits."""
        return the_one(wanted, self.problem_values)

    def policy(self, wanted: Which) -> str:
        """The one policy that fits."""
        return the_one(wanted, self.policy_values)

    def frame(self) -> polars.LazyFrame:
        """Every row there is, with the parameters of its problem and its policy as columns."""
        paths = [path for found in self._paths.values() for path in found]
        return with_parameters(scan(paths), self.spec)

    def rows(self, problem: str, policy: str) -> polars.DataFrame:
        """One policy's rows on one problem, run by run."""
        for name, known in ((problem, self.problems), (policy, self.policies)):
            if name not in known:
                raise AftereffectError(f"{self.spec.name} has no {name!r} (it has {', '.join(known)})")
        where = problem, policy
        if self._latest is None or self._latest[0] != where:  # one at a time: a whole experiment may be large
            paths = self._paths.get(where, [])
            frame = polars.read_parquet(paths, glob=False) if paths else polars.DataFrame(schema=SCHEMA)
            self._latest = where, frame.sort("instance", "run", "round")
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

    def tuning(self) -> list[Search]:
        """The searches behind tuned policies."""
        return self._searches


def write_rows(directory: Path, experiments: Sequence[Results]) -> Path:
    """All rows of some experiments in one file, with the experiment's name and the parameters as columns.

    Allocations and impacts by arm are left out: they stand in the shards.
    """
    lists = [name for name, kind in SCHEMA.items() if isinstance(kind, polars.List)]
    parts = [r.frame().select(polars.lit(r.spec.name).alias("experiment"), polars.exclude(lists)) for r in experiments]
    rows = polars.concat(parts, how="diagonal_relaxed")
    return sink_output(directory / ROWS, lambda path: rows.sink_parquet(path, compression="zstd"))
