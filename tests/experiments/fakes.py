"""Results made up for a purpose: curves whose truth is known, judged as if they had been measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars

from aftereffect.experiments.figures.judging import Experiments
from aftereffect.experiments.parameters import Values, Which, problem_values, the_one
from aftereffect.experiments.run import Results
from aftereffect.model.catalog import catalog
from aftereffect.model.curves import Floats
from aftereffect.model.family_notation import family_from
from aftereffect.notation import parse


@dataclass
class Fake:
    """What judges look at: final regrets by problem and policy; curves rise to them along t^power."""

    regrets: Mapping[tuple[str, str], Floats]
    instances: int = 10
    horizon: int = 1000
    power: float = 1.0
    searches: list[dict[str, object]] = field(default_factory=list)
    tuning_rows: polars.DataFrame = field(default_factory=polars.DataFrame)
    complete: bool = True

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(problem for problem, _ in self.regrets))

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(policy for _, policy in self.regrets))

    @property
    def rounds(self) -> np.ndarray[Any, Any]:
        return np.arange(1, 11) * self.horizon // 10

    @property
    def spec(self) -> SimpleNamespace:
        tuning = SimpleNamespace(instances=self.instances)
        return SimpleNamespace(instances=self.instances, horizon=self.horizon, tuning=tuning)

    @property
    def store(self) -> SimpleNamespace:
        return SimpleNamespace(frame=lambda _: self.tuning_rows.lazy())

    def curves(self, problem: str, policy: str, column: str = "regret") -> Floats:
        last = self.regrets[problem, policy]
        return np.asarray(last[:, None] * (self.rounds / self.horizon) ** self.power)

    @property
    def problem_values(self) -> dict[str, Values]:
        known = catalog()
        return {p: problem_values(family_from(p)[0]) if parse(p).name in known else _values(p) for p in self.problems}

    @property
    def policy_values(self) -> dict[str, Values]:
        return {policy: _values(policy.removesuffix(" (tuned)")) for policy in self.policies}

    def problem(self, wanted: Which) -> str:
        return the_one(wanted, self.problem_values)

    def policy(self, wanted: Which) -> str:
        return the_one(wanted, self.policy_values)

    def candidates(self, policy: str) -> dict[str, Values]:
        (search,) = (s for s in self.searches if s["policy"] == policy)
        return {candidate: _values(candidate) for candidate in cast(dict[str, float], search["candidates"])}

    def tuning(self) -> list[dict[str, object]]:
        return self.searches


def _values(notation: str) -> Values:
    named = parse(notation)
    return {"name": named.name, **named.parameters}


def one(name: str, fake: Fake) -> Experiments:
    return several({name: fake})


def several(fakes: Mapping[str, Fake]) -> Experiments:
    return cast(Experiments, {name: cast(Results, fake) for name, fake in fakes.items()})


def noisy(random: np.random.Generator, mean: float, spread: float = 1.0, instances: int = 10, runs: int = 4) -> Floats:
    """Runs with a part that belongs to the instance and a part of their own."""
    own = random.normal(0.0, spread, instances * runs)
    return np.asarray(mean + own + np.repeat(random.normal(0.0, spread, instances), runs))
