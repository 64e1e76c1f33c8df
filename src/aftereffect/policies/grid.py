"""What policies over the grid share: cells, the sweep that tries each cell once, and their explanation.

A cell is (arm, level); statistics are kept per cell, never per share value. A deployed share that is not on the grid (people
overrode the advice) counts for the nearest level.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words
from aftereffect.errors import AftereffectError, AftereffectWarning
from aftereffect.model.curves import Floats
from aftereffect.oracle.levels import best_levels
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import Policy, need_horizon
from aftereffect.policies.setting import Grid, Setting

MOST_TUNED = (
    10_000  # levels, where the horizon decides: a search takes the square of that, and horizons can be anything
)
MOST_LEVELS = 1_000_000  # a share is never needed more exactly, and statistics are kept for each level


def most_tuned(arms: int) -> int:
    """The most levels that a horizon can ask for: what so many arms need is always allowed."""
    return max(MOST_TUNED, 2 * arms)


def make_grid(owner: Policy, setting: Setting, levels: int | None, zero: bool, tuned: Any) -> Grid:
    """The grid with the given number of levels, else with `tuned(horizon)`."""
    if levels is None:
        levels = int(tuned(need_horizon(owner, setting, "it sets how fine the grid is (or give levels=)")))
        most = most_tuned(setting.arms)
        if levels > most:
            warnings.warn(
                f"{owner.name}: a horizon of {setting.horizon:,} asks for {levels:,} levels; taking {most:,}",
                AftereffectWarning,
                stacklevel=2,
            )
            levels = most
    elif not zero and levels < 2 * setting.arms:
        warnings.warn(
            f"{owner.name}: {setting.arms} arms without zero need at least {2 * setting.arms} levels, "
            f"got {levels}; taking {2 * setting.arms}",
            AftereffectWarning,
            stacklevel=2,
        )
        levels = 2 * setting.arms
    if levels > MOST_LEVELS:
        raise AftereffectError(f"{owner.name}: levels must be at most {MOST_LEVELS:,}, got {levels:,}")
    low, high = setting.limits.levels(levels, zero)
    return Grid(levels, low, high)


def tuned_grid(owner: Any, setting: Setting, tuned: Any) -> Grid:
    """The grid of a policy with `levels`, `zero` and a `resolution`, which scales what `tuned` gives."""
    by_horizon = lambda horizon: tuned(horizon, setting.arms, owner.zero, owner.resolution)  # noqa: E731
    return make_grid(owner, setting, owner.levels, owner.zero, by_horizon)


def fresh_cells(grid: Grid, arms: int) -> Floats:
    """1 for each cell that some allocation contains and that has not been deployed yet, else 0."""
    fresh = np.zeros((arms, grid.levels + 1))
    for k in range(arms):
        fresh[k, grid.low[k] : grid.high[k] + 1] = 1.0
    return fresh


@helper
def level_of(share: float, count: int) -> int:
    """The level nearest to a share."""
    return int(share * count + 0.5)


@helper
def deploy_levels(levels: Ints, count: int, allocation: Floats) -> None:
    """The allocation with these levels."""
    for k in range(levels.shape[0]):
        allocation[k] = levels[k] / count


@helper
def sweep(fresh: Floats, low: Ints, high: Ints, work: Floats, levels: Ints, rng: Words) -> None:
    """Initialisation: the levels that cover the most cells not deployed yet."""
    best_plain(fresh, low, high, work, levels, rng)


def runner_up(value: Floats, bonus: Floats | None, grid: Grid, chosen: Ints) -> dict[str, Any] | None:
    """The best allocation other than the chosen one, and its index: it must differ in some arm's level."""
    best: dict[str, Any] | None = None
    for k, level in enumerate(chosen):
        without = value.copy()
        without[k, level] = -np.inf
        try:
            levels, index = best_levels(without, bonus, zero=True, low=grid.low.tolist(), high=grid.high.tolist())
        except AftereffectError:
            continue
        if best is None or index > best["index"]:
            best = {"allocation": [float(v) / grid.levels for v in levels], "index": index}
    return best
