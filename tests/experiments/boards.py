"""Leaderboards of regrets that were never measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars

import aftereffect as ae
from aftereffect.experiments.arena import Arena, Scale, plain_cells, set_up, stress_cells
from aftereffect.experiments.scores import Board, score
from aftereffect.policies.base import policy_from

SCALE = Scale(horizon=1000, runs=5)
CELLS = {cell.name: cell for cell in [*plain_cells(), *stress_cells(SCALE.horizon)]}
GAUSSIAN, TENT = "gaussian-k4-m0.5", "tent-k2-m0.5"


@dataclass(frozen=True)
class Own(ae.PlainPolicy):
    name: ClassVar[str] = "own"


def arena_of(*names: str, policies: Sequence[str] = ("round-robin", "d-ucb"), scale: Scale = SCALE) -> Arena:
    return set_up([*map(policy_from, policies)], scale=scale, cells=[CELLS[name] for name in names])


def made_up(arena: Arena, regrets: Mapping[tuple[str, str], Sequence[float] | float]) -> Board:
    """The board of regrets that were never measured; one number stands for all runs."""
    rows = [
        {"cell": cell, "policy": policy, "instance": i, "run": 0, "regret": float(regret)}
        for (cell, policy), given in regrets.items()
        for i, regret in enumerate(given if isinstance(given, Sequence) else [given] * arena.scale.runs)
    ]
    return score(arena, polars.DataFrame(rows))


def with_defaults(cell: str, **regrets: Sequence[float] | float) -> dict[tuple[str, str], Sequence[float] | float]:
    given = {"history-ucb": 100.0, "history-ucb:log=printed": 120.0, "round-robin": 500.0, "d-ucb": 600.0, **regrets}
    return {(cell, policy.replace("_", "-")): regret for policy, regret in given.items()}
