"""From a spec to work: problems, policies, and the shards (problem x policy x block of runs) they come to."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aftereffect import _compile
from aftereffect._random import generator
from aftereffect._sources import is_ours, modules_of, own_hash
from aftereffect.errors import AftereffectError
from aftereffect.experiments.shards import Block, Task
from aftereffect.experiments.spec import Spec
from aftereffect.model.catalog import entry_of
from aftereffect.model.delay import check_delay
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy
from aftereffect.policies.setting import Setting
from aftereffect.simulation.runs import setting_for

ROUNDS_PER_SHARD = 20_000_000  # a second or two of work: small enough to lose, large enough to write
ROWS_PER_SHARD = 500_000  # where most rounds are kept it is rows that fill the memory
SHARDS = 100_000  # beyond this a spec asks for years of work, or for more files than a directory should hold
CELLS = 10_000_000  # of one policy's grid: its statistics are kept in memory
ROUND_SECONDS = 5e-8  # for a round and arm, and for the start of a run: typical of compiled policies
RUN_SECONDS = 3e-4
SLOW = ("curve-thompson", "fair-thompson", "thompson-split")  # 100 to 10,000 times that, by horizon, units and memory
TUNING_STREAM = 1 << 20  # keeps the seeds of tuning instances apart from every instance's own


Chosen = Mapping[tuple[int, int], str]
"""The notation that tuning settled on, by the places of problem and policy."""


class Plan:
    """A spec's problems and policies, and the tasks they come to.

    `code` names the version of the package that computes them, by default this one. What was computed before need not be
    checked for whether it could start. `sources` has the hashes of the user's own code by problem and policy, by default
    those of what is loaded. `extents` are the instances and runs of the spec and of what it has grown from, the first first:
    work is cut where an earlier one ended, so that what was computed then still fits.
    """

    def __init__(
        self,
        spec: Spec,
        code: str | None = None,
        check: bool = True,
        sources: Mapping[str, str] | None = None,
        extents: Sequence[Sequence[int]] = (),
    ) -> None:
        self.spec = spec
        self.extents = [tuple(extent) for extent in extents] or [(spec.instances, spec.runs)]
        self.code = _compile.results_hash() if code is None else code
        self.problems = list(spec.families)
        self.policies = [(e.notation, list(e.policies) if e.tuned else []) for e in spec.entrants]
        self.labels = [e.label for e in spec.entrants]
        self.sources = dict(self._sources() if sources is None else sources)
        if self.shard_count > SHARDS:
            raise AftereffectError(
                f"{spec.name}: {len(self.problems):,} problems x {len(self.policies):,} policies x {spec.instances:,} "
                f"instances x {spec.runs:,} runs of horizon {spec.horizon:,} (and tuning) come to {self.shard_count:,} shards, "
                f"more than {SHARDS:,}"
            )
        if check:
            for problem in self.problems:
                self._check(problem)

    def _check(self, problem: str) -> None:
        """Start every policy on every problem once: what cannot run is said before anything does."""
        drawn = self.spec.families[problem].draw(0)
        for entrant in self.spec.entrants:
            horizons = {self.spec.horizon, self._tuning_horizon} if entrant.tuned else {self.spec.horizon}
            for name, policy in entrant.policies.items():
                for horizon in sorted(horizons):
                    reason = refusal(policy, drawn, horizon)
                    if reason is not None:
                        raise AftereffectError(f"{name!r} on {problem!r}: {reason}")

    @cached_property
    def _definitions(self) -> dict[str, Any]:
        """What defines each problem and each policy, by its notation."""
        entries = {problem: entry_of(family.name) for problem, family in self.spec.families.items()}
        policies = {name: policy for entrant in self.spec.entrants for name, policy in entrant.policies.items()}
        return {p: (e.recipe, e.measure) for p, e in entries.items()} | policies

    def _sources(self) -> Iterator[tuple[str, str]]:
        for name, definition in self._definitions.items():
            found = own_hash(definition)
            if found:
                yield name, found

    @cached_property
    def imports(self) -> list[str]:
        """Modules outside this package that its problems and policies come from."""
        return list(dict.fromkeys([*self.spec.imports, *modules_of(*self._definitions.values())]))

    def _own(self, problem: str, policy: str) -> str:
        return "+".join(filter(None, (self.sources.get(problem), self.sources.get(policy))))

    @property
    def digest(self) -> str:
        """Hash of all that results depend on."""
        content = self.spec.model_dump(mode="json", exclude={"title", "caption", "scales"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def tuning_seed(self) -> int:
        """Seed of the instances that parameters are chosen on: never those of the experiment itself."""
        sequence = np.random.SeedSequence(self.spec.seed, spawn_key=(TUNING_STREAM,))
        return int(sequence.generate_state(1, np.uint32)[0])

    @property
    def _tuning_horizon(self) -> int:
        return self.spec.tuning.horizon or self.spec.horizon

    @property
    def _tuning_blocks(self) -> Blocks:
        return Blocks(self.spec.tuning.instances, self.spec.tuning.runs, self._tuning_horizon, 1)

    @property
    def _main_parts(self) -> list[tuple[Blocks, int, int]]:
        """The work in blocks, with the instance and the run at which each part of it begins."""
        found = []
        instances, runs = 0, 0
        for wider, more in self.extents:
            for high, wide, first, run in ((instances, more - runs, 0, runs), (wider - instances, more, instances, 0)):
                if high and wide:
                    found.append((Blocks(high, wide, self.spec.horizon, len(self.spec.rounds)), first, run))
            instances, runs = wider, more
        return found

    @property
    def _main_blocks(self) -> Iterator[Block]:
        for blocks, first, run in self._main_parts:
            for block in blocks:
                yield block.moved(first, run)

    def grows_from(self, held: Plan) -> bool:
        """Is this the same experiment with more of something: problems, policies, instances, runs or checkpoints?"""
        before, after = held.spec, self.spec
        alike = all(getattr(before, n) == getattr(after, n) for n in ("name", "seed", "horizon", "tuning"))
        alike = alike and set(before.rounds) <= set(after.rounds)
        sources = all(self.sources.get(name) == found for name, found in held.sources.items())
        more = before.instances <= after.instances and before.runs <= after.runs
        kept = set(held.problems) <= set(self.problems) and all(p in self.policies for p in held.policies)
        return alike and sources and more and kept and held.code == self.code and held.digest != self.digest

    def grow_from(self, extents: Sequence[Sequence[int]]) -> None:
        """Cut the work so that what was computed of earlier extents fits."""
        self.extents = [*(tuple(extent) for extent in extents)]
        if self.extents[-1] != (self.spec.instances, self.spec.runs):
            self.extents.append((self.spec.instances, self.spec.runs))
        vars(self).pop("names", None)

    @property
    def _candidates(self) -> int:
        return sum(len(candidates) for _, candidates in self.policies)

    def tuning_tasks(self) -> list[Task]:
        """Every candidate on the tuning instances."""
        horizon = self._tuning_horizon
        work = {"purpose": "tuning", "horizon": horizon, "rounds": (horizon,), "seed": self.tuning_seed}
        return [
            task
            for problem in self.problems
            for _, candidates in self.policies
            for candidate in candidates
            for task in self._tasks(self._tuning_blocks, problem=problem, policy=candidate, label=candidate, **work)
        ]

    def main_tasks(self, chosen: Chosen) -> list[Task]:
        """The experiment itself; a tuned policy that nothing is chosen for yet stands there as it was written."""
        return [
            task
            for p in range(len(self.problems))
            for q, (notation, _) in enumerate(self.policies)
            for task in self._tasks_of(p, q, chosen.get((p, q), notation))
        ]

    def _tasks_of(self, p: int, q: int, notation: str) -> Iterator[Task]:
        spec, what = self.spec, {"problem": self.problems[p], "policy": notation, "label": self.labels[q]}
        work = {"purpose": "main", "horizon": spec.horizon, "rounds": tuple(spec.rounds), "seed": spec.seed}
        return self._tasks(self._main_blocks, **what, **work)

    def _tasks(self, blocks: Iterable[Block], **work: Any) -> Iterator[Task]:
        """The same work block by block."""
        own, imports = self._own(work["problem"], work["policy"]), tuple(self.imports)
        for block in blocks:
            yield Task(**work, block=block, code=self.code, own=own, imports=imports)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all shards that an experiment of this plan can have, whatever its tuning chooses."""
        possible = (
            task
            for p in range(len(self.problems))
            for q, (notation, candidates) in enumerate(self.policies)
            for choice in candidates or [notation]
            for task in self._tasks_of(p, q, choice)
        )
        return frozenset(task.name for task in (*self.tuning_tasks(), *possible))

    @property
    def shard_count(self) -> int:
        """Files a finished run has."""
        each = self._candidates * len(self._tuning_blocks) + len(self.policies) * sum(
            len(blocks) for blocks, _, _ in self._main_parts
        )
        return len(self.problems) * each

    @property
    def _work_on_each(self) -> int:
        """Rounds to simulate on one problem."""
        tuning, spec = self.spec.tuning, self.spec
        searching = self._candidates * tuning.instances * tuning.runs * self._tuning_horizon
        return searching + len(self.policies) * spec.instances * spec.runs * spec.horizon

    @property
    def _runs_on_each(self) -> int:
        """Runs to simulate on one problem."""
        tuning, spec = self.spec.tuning, self.spec
        return self._candidates * tuning.instances * tuning.runs + len(self.policies) * spec.instances * spec.runs

    @property
    def estimated_seconds(self) -> float:
        """About how long one core would take where nothing is of `unknown_cost`, from typical speeds."""
        starting = RUN_SECONDS * self._runs_on_each * len(self.problems)
        return starting + ROUND_SECONDS * self._work_on_each * sum(f.arms for f in self.spec.families.values())

    @property
    def unknown_cost(self) -> list[str]:
        """Policies and problems of which it is not known how long a round takes."""
        slow = [e.label for e in self.spec.entrants if not all(map(_typical, e.policies.values()))]
        return slow + [p for p, f in self.spec.families.items() if check_delay(f.delay) is not None]

    @property
    def work(self) -> int:
        """Rounds to simulate in all."""
        return len(self.problems) * self._work_on_each


def _typical(policy: Policy) -> bool:
    """Does a policy, with those inside of it, decide as fast as most of this library's?"""
    inner = [value for value in policy.parameters.values() if isinstance(value, Policy)]
    return policy.name not in SLOW and is_ours(type(policy).__module__) and all(map(_typical, inner))


def refusal(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Why a policy cannot start on a problem; None if it can."""
    try:
        _check_start(policy, setting_for(problem, horizon, generator(0)))
    except (AftereffectError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def _check_start(policy: Policy, setting: Setting) -> None:
    grid = policy.grid(setting)
    if grid is not None and setting.arms * (grid.levels + 1) > CELLS:
        raise AftereffectError(f"{setting.arms:,} arms x {grid.levels:,} levels are more than {CELLS:,} cells")
    policy.state(setting)


@dataclass(frozen=True)
class Blocks:
    """Where work is cut: at least two blocks, none larger than a shard should be; whole instances where they fit."""

    instances: int
    runs: int
    horizon: int
    kept: int

    @property
    def _shape(self) -> tuple[int, int]:
        half = math.ceil(self.instances * self.runs / 2)
        size = max(1, min(half, ROUNDS_PER_SHARD // self.horizon, ROWS_PER_SHARD // self.kept))
        return (size // self.runs, self.runs) if size >= self.runs else (1, size)

    def __len__(self) -> int:
        high, wide = self._shape
        return math.ceil(self.instances / high) * math.ceil(self.runs / wide)

    def __iter__(self) -> Iterator[Block]:
        high, wide = self._shape
        for first in range(0, self.instances, high):
            for run in range(0, self.runs, wide):
                yield Block((first, min(first + high, self.instances)), (run, min(run + wide, self.runs)))
