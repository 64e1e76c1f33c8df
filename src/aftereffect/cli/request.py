"""What `simulate` was asked for: read and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aftereffect.policies  # noqa: F401 (makes every policy known)
from aftereffect.cli.files import check_target
from aftereffect.cli.reading import MOST, read_number, whole
from aftereffect.errors import AftereffectError
from aftereffect.model.catalog import Family
from aftereffect.model.family_notation import family_from
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy, policy_from
from aftereffect.simulation.result import Comparison
from aftereffect.simulation.runs import Progress
from aftereffect.simulation.simulate import simulate

Built = TypeVar("Built")

MOST_OF_EACH = 10**6  # runs, instances, checkpoints: a slip of the finger should not eat the memory
MOST_WORKERS = 1024  # threads, processes


@dataclass(frozen=True)
class Request:
    """A simulation with its names as they were given."""

    notation: str
    problem: Problem | Family
    policies: dict[str, Policy]
    horizon: int
    runs: int
    instances: int | None
    seed: int
    threads: int | None
    checkpoints: int
    out: Path | None
    processes: int | None = None

    @property
    def rounds(self) -> int:
        """Rounds to simulate in total."""
        return self.horizon * self.runs * (self.instances or 1) * len(self.policies)

    def run(self, progress: Progress | None) -> Comparison:
        """Simulate."""
        return simulate(
            self.problem,
            list(self.policies.values()),
            horizon=self.horizon,
            runs=self.runs,
            instances=self.instances,
            seed=self.seed,
            checkpoints=self.checkpoints,
            threads=self.threads,
            progress=progress,
            processes=self.processes,
        )


def read_request(
    problem: str,
    policies: Sequence[str],
    horizon: str,
    runs: str,
    instances: str | None,
    seed: str,
    threads: str | None,
    checkpoints: str,
    out: str | None,
    processes: str | None = None,
) -> Request:
    """Read the options of `simulate`; the first mistake is raised."""
    count = whole("--instances", instances, 1, MOST_OF_EACH)
    return Request(
        notation=problem,
        problem=read_problem(problem, count),
        policies=read_policies(policies),
        horizon=read_number("--horizon", horizon, 1, MOST),
        runs=read_number("--runs", runs, 1, MOST_OF_EACH),
        instances=count,
        seed=read_number("--seed", seed, 0),
        threads=whole("--threads", threads, 1, MOST_WORKERS),
        checkpoints=read_number("--checkpoints", checkpoints, 1, MOST_OF_EACH),
        out=None if out is None else check_target(Path(out)),
        processes=whole("--processes", processes, 1, MOST_WORKERS),
    )


def read_problem(notation: str, instances: int | None) -> Problem | Family:
    """The one problem that a seed in the notation names, else a family to draw instances from."""
    family, seed = _build("problem", notation, family_from)
    if seed is None:
        return family
    if instances is not None:
        raise AftereffectError(
            f"--instances draws problems from a family, but seed={seed} in {notation!r} names one problem"
        )
    return family.draw(seed)


def read_policies(notations: Sequence[str]) -> dict[str, Policy]:
    """Policies by their notation as given; the same one twice is refused, however it is written."""
    found: dict[str, Policy] = {}
    for notation in notations:
        policy = _build("policy", notation, policy_from)
        same = next((given for given, other in found.items() if other.key == policy.key), None)
        if same is not None:
            other = "" if same == notation else f" ({same!r} is the same)"
            raise AftereffectError(f"policy {notation!r} is given twice{other}")
        found[notation] = policy
    return found


def _build(kind: str, notation: str, build: Callable[[str], Built]) -> Built:
    """Build from the notation; whatever a value is refused with is the mistake of who wrote it."""
    try:
        return build(notation)
    except AftereffectError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise AftereffectError(f"{kind} {notation!r}: {error}") from error
