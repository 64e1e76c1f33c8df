"""CUCB (Chen, Wang, Yuan and Wang 2016), a baseline of App. I: a bound per cell, summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats, Records, record
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import Policy, check_bool, check_choice, check_positive, check_whole, register
from aftereffect.policies.by_name import named
from aftereffect.policies.grid import deploy_levels, fresh_cells, level_of, runner_up, sweep, tuned_grid
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import action_levels, cucb_levels

SETTINGS = np.dtype([("clip", "i8")])  # at one?
NOW = np.dtype([("unswept", "i8")])  # cells not deployed yet
CELL = np.dtype([("count", "f8"), ("reward", "f8")])  # activations, and their sum


class CUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    now: Records  # one record
    low: Ints  # lowest and highest levels
    high: Ints
    levels: Ints
    cells: Records  # (arms, N + 1)
    value: Floats  # (arms, N + 1): p times the bound
    fresh: Floats  # (arms, N + 1): 1 for cells not deployed yet
    work: Floats  # (arms, N + 1)


def ask(state: CUCBState, t: int, allocation: Floats) -> None:
    cells, value, low, high = state.cells, state.value, state.low, state.high
    clip, count = state.settings[0].clip, value.shape[1] - 1
    if state.now[0].unswept > 0:
        sweep(state.fresh, low, high, state.work, state.levels, state.rng)
    else:
        spread = math.sqrt(1.5 * math.log(t))
        for k in range(value.shape[0]):
            for level in range(low[k], high[k] + 1):
                n = cells[k, level].count
                # A cell never activated counts as one activation with reward one: the largest bound there can be.
                bound = cells[k, level].reward / n + spread / math.sqrt(n) if n > 0.0 else 1.0 + spread
                if clip == 1 and bound > 1.0:
                    bound = 1.0
                value[k, level] = (level / count) * bound
        best_plain(value, low, high, state.work, state.levels, state.rng)
    deploy_levels(state.levels, count, allocation)


def tell(state: CUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    fresh = state.fresh
    count = fresh.shape[1] - 1
    for k in range(allocation.shape[0]):
        level = level_of(allocation[k], count)
        cell = state.cells[k, level]
        cell.count += seen[k]
        cell.reward += seen[k] * reward[k]
        if fresh[k, level] > 0.0:
            fresh[k, level] = 0.0
            state.now[0].unswept -= 1


register_rule(
    CUCBState,
    ask,
    tell,
    scratch=("work",),
    version=2,
    migrations={
        1: named(
            codes=("settings.clip", "now.unswept"),
            bounds=("low", "high"),
            cells=("cells.count", "cells.reward", "value", "fresh"),
        )
    },
)


@register
@dataclass(frozen=True)
class CUCB(Policy):
    """Combinatorial UCB over cells: sum_k p_k min(1, mean + sqrt(3 ln t / (2 n))), n counting activations.

    `clip=False` leaves the bounds above one; `grid_for="cucb"` takes the coarser grid of its own analysis. Figure 2(a)'s order
    turns with both.

    >>> CUCB(grid_for="cucb").grid(Setting(arms=2, horizon=100_000)).levels
    12
    """

    name: ClassVar[str] = "cucb"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#000000", "X")
    zero: bool = False
    levels: int | None = None
    clip: bool = True
    grid_for: str = "action"
    resolution: float = 1.0

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(clip=False, grid_for="cucb", zero=True)]

    def __post_init__(self) -> None:
        check_bool(self, zero=self.zero, clip=self.clip)
        check_whole(self, 1, levels=self.levels)
        check_choice(self, ("action", "cucb"), grid_for=self.grid_for)
        check_positive(self, resolution=self.resolution)

    def grid(self, setting: Setting) -> Grid:
        tuned = action_levels if self.grid_for == "action" else cucb_levels
        return tuned_grid(self, setting, tuned)

    def state(self, setting: Setting) -> CUCBState:
        grid = self.grid(setting)
        fresh = fresh_cells(grid, setting.arms)
        return CUCBState(
            rng=setting.rng.copy(),
            settings=record(SETTINGS, clip=self.clip),
            now=record(NOW, unswept=fresh.sum()),
            low=grid.low.copy(),
            high=grid.high.copy(),
            levels=np.zeros(setting.arms, dtype=np.int64),
            cells=np.zeros(fresh.shape, dtype=CELL),
            value=np.zeros(fresh.shape),
            fresh=fresh,
            work=np.zeros(fresh.shape),
        )

    def stage(self, state: CUCBState, t: int) -> str:
        return "sweep" if state.now["unswept"][0] else "index"

    def explain(self, state: CUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid = self.grid(setting)
        cells = []
        spread = math.sqrt(1.5 * math.log(t))
        for k in range(setting.arms):
            level = int(state.levels[k])
            n = float(state.cells["count"][k, level])
            cells.append(
                {
                    "level": level,
                    "share": level / grid.levels,
                    "activations": n,
                    "estimate": float(state.cells["reward"][k, level] / n) if n else None,
                    "radius": spread / math.sqrt(n) if n else None,
                }
            )
        unswept, value = int(state.now["unswept"][0]), state.value
        if unswept:
            return {"arms": cells, "cells_not_tried": unswept}
        return {
            "arms": cells,
            "index": float(sum(value[k, state.levels[k]] for k in range(setting.arms))),
            "runner_up": runner_up(value, None, grid, state.levels),
        }
