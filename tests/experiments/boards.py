"""Leaderboards of regrets that were never measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars

import aftereffect as ae
from aftereffect.experiments.arena import Arena, Scale, plain_scenarios, set_up, stress_scenarios
from aftereffect.experiments.scores import Board, score
from aftereffect.policies.base import policy_from

SCALE = Scale(horizon=1000, runs=5)
SCENARIOS = {scenario.name: scenario for scenario in [*plain_scenarios(), *stress_scenarios(SCALE.horizon)]}
GAUSSIAN, TENT = "gaussian-k4-m0.5", "tent-k2-m0.5"


@dataclass(frozen=True)
class Own(ae.PlainPolicy):
    name: ClassVar[str] = "own"


def arena_of(*names: str, policies: Sequence[str] = ("round-robin", "d-ucb"), scale: Scale = SCALE) -> Arena:
    return set_up([*map(policy_from, policies)], scale=scale, scenarios=[SCENARIOS[name] for name in names])


def made_up(arena: Arena, regrets: Mapping[tuple[str, str], Sequence[float] | float]) -> Board:
    """The board of regrets that were never measured; one number stands for all runs."""
    rows = [
        {"scenario": scenario, "policy": policy, "instance": i, "run": 0, "regret": float(regret)}
        for (scenario, policy), given in regrets.items()
        for i, regret in enumerate(given if isinstance(given, Sequence) else [given] * arena.scale.runs)
    ]
    return score(arena, polars.DataFrame(rows))


def with_defaults(scenario: str, **regrets: Sequence[float] | float) -> dict[tuple[str, str], Sequence[float] | float]:
    given = {"history-ucb": 100.0, "history-ucb:log=printed": 120.0, "round-robin": 500.0, "d-ucb": 600.0, **regrets}
    return {(scenario, policy.replace("_", "-")): regret for policy, regret in given.items()}
