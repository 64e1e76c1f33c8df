"""CUCB (Chen, Wang, Yuan and Wang 2016), a baseline of App. I: a bound per cell, summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import Policy, check_bool, check_choice, check_positive, check_whole, register
from aftereffect.policies.grid import deploy_levels, fresh_cells, level_of, make_grid, runner_up, sweep
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import action_levels, cucb_levels

# rows of `cells`
COUNT, SUM, INDEX, FRESH = 0, 1, 2, 3
# entries of `codes`
CLIP, UNSWEPT = 0, 1


class CUCBState(NamedTuple):
    rng: Words
    codes: Ints  # clip at one, cells not deployed yet
    bounds: Ints
    levels: Ints
    cells: Floats  # (4, arms, N + 1): activations, reward sums, p times the bound, fresh or not
    work: Floats  # (arms, N + 1)


def ask(state: CUCBState, t: int, allocation: Floats) -> None:
    cells, bounds, clip = state.cells, state.bounds, state.codes[CLIP]
    arms, count = cells.shape[1], cells.shape[2] - 1
    if state.codes[UNSWEPT] > 0:
        sweep(cells[FRESH], bounds, state.work, state.levels, state.rng)
    else:
        spread = math.sqrt(1.5 * math.log(t))
        for k in range(arms):
            for level in range(bounds[0, k], bounds[1, k] + 1):
                n = cells[COUNT, k, level]
                # A cell never activated counts as one activation with reward one: the largest bound there can be.
                bound = cells[SUM, k, level] / n + spread / math.sqrt(n) if n > 0.0 else 1.0 + spread
                if clip == 1 and bound > 1.0:
                    bound = 1.0
                cells[INDEX, k, level] = (level / count) * bound
        best_plain(cells[INDEX], bounds[0], bounds[1], state.work, state.levels, state.rng)
    deploy_levels(state.levels, count, allocation)


def tell(state: CUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    cells, codes = state.cells, state.codes
    count = cells.shape[2] - 1
    for k in range(allocation.shape[0]):
        level = level_of(allocation[k], count)
        cells[COUNT, k, level] += seen[k]
        cells[SUM, k, level] += seen[k] * reward[k]
        if cells[FRESH, k, level] > 0.0:
            cells[FRESH, k, level] = 0.0
            codes[UNSWEPT] -= 1


register_rule(CUCBState, ask, tell, scratch=("work",))


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
        return make_grid(
            self,
            setting,
            self.levels,
            self.zero,
            lambda horizon: tuned(horizon, setting.arms, self.zero, self.resolution),
        )

    def state(self, setting: Setting) -> CUCBState:
        grid = self.grid(setting)
        fresh = fresh_cells(grid, setting.arms)
        cells = np.zeros((4, *fresh.shape))
        cells[FRESH] = fresh
        return CUCBState(
            rng=setting.rng.copy(),
            codes=np.array([int(self.clip), int(fresh.sum())]),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(setting.arms, dtype=np.int64),
            cells=cells,
            work=np.zeros(fresh.shape),
        )

    def stage(self, state: CUCBState, t: int) -> str:
        return "sweep" if state.codes[UNSWEPT] else "index"

    def explain(self, state: CUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid = self.grid(setting)
        cells = []
        spread = math.sqrt(1.5 * math.log(t))
        for k in range(setting.arms):
            level = int(state.levels[k])
            n = float(state.cells[COUNT, k, level])
            cells.append(
                {
                    "level": level,
                    "share": level / grid.levels,
                    "activations": n,
                    "estimate": float(state.cells[SUM, k, level] / n) if n else None,
                    "radius": spread / math.sqrt(n) if n else None,
                }
            )
        if state.codes[UNSWEPT]:
            return {"arms": cells, "cells_not_tried": int(state.codes[UNSWEPT])}
        value = state.cells[INDEX]
        second = runner_up(value, None, grid, state.levels)
        return {
            "arms": cells,
            "index": float(sum(value[k, state.levels[k]] for k in range(setting.arms))),
            "runner_up": None if second is None else {"allocation": second[0], "index": second[1]},
        }
