"""What `simulate` was asked for: read and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import aftereffect.policies  # noqa: F401 (makes every policy known)
from aftereffect.cli.files import check_target
from aftereffect.cli.reading import MOST, whole
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


NUMBERS: dict[str, tuple[int, int | None]] = {  # options of `simulate`, with the least and the most that each may be
    "horizon": (1, MOST),
    "runs": (1, MOST_OF_EACH),
    "instances": (1, MOST_OF_EACH),
    "seed": (0, None),
    "threads": (1, MOST_WORKERS),
    "processes": (1, MOST_WORKERS),
    "checkpoints": (1, MOST_OF_EACH),
}


@dataclass(frozen=True)
class Request:
    """A simulation with its names as they were given."""

    notation: str
    problem: Problem | Family
    policies: dict[str, Policy]
    numbers: dict[str, Any]
    out: Path | None

    @property
    def rounds(self) -> int:
        """Rounds to simulate in total."""
        horizon, runs, instances = (self.numbers[name] or 1 for name in ("horizon", "runs", "instances"))
        return int(horizon * runs * instances * len(self.policies))

    def run(self, progress: Progress | None) -> Comparison:
        """Simulate."""
        return simulate(self.problem, list(self.policies.values()), **self.numbers, progress=progress)


def read_request(problem: str, policies: Sequence[str], out: str | None, **numbers: str | None) -> Request:
    """Read the options of `simulate`; the first mistake is raised."""
    read = {name: whole(f"--{name}", text, *NUMBERS[name]) for name, text in numbers.items()}
    target = None if out is None else check_target(Path(out))
    return Request(problem, read_problem(problem, read["instances"]), read_policies(policies), read, target)


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
