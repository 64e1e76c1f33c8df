"""Algorithm 1, action-dependent UCB, and its one-arm variant (Remark D.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words
from aftereffect.errors import AftereffectError, require_one_of
from aftereffect.model.curves import Floats, Records, record
from aftereffect.model.fairness import ACTIVATED, ALL
from aftereffect.model.feedback import SPLIT
from aftereffect.oracle.search import Ints, best_with_bonus
from aftereffect.policies.base import Policy, check_bool, check_multipliers, check_positive, check_whole, register
from aftereffect.policies.by_name import named
from aftereffect.policies.grid import deploy_levels, fresh_cells, level_of, runner_up, sweep, tuned_grid
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import action_levels

# what stands in the logarithm
CLOCK, TOLD, CONSTANT = 0, 1, 2

SETTINGS = np.dtype(
    [
        ("feedback", "i8"),
        ("observed", "i8"),  # whose fairness measure is seen
        ("log", "i8"),  # which logarithm
        ("factor", "f8"),  # before the root
        ("inside", "f8"),  # factor inside the logarithm; for CONSTANT all that stands there
    ]
)
NOW = np.dtype([("unswept", "i8")])  # cells not deployed yet
CELL = np.dtype(
    [
        ("count", "f8"),  # deployments
        ("reward", "f8"),  # sum of importance-weighted ones
        ("width", "f8"),  # 1 without fairness
        ("priced", "f8"),  # lambda_k times the measure's mean
        ("measured", "f8"),  # measures seen
        ("measure", "f8"),  # their sum
    ]
)


class GridUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    now: Records  # one record
    low: Ints  # lowest and highest levels
    high: Ints
    levels: Ints  # as last chosen
    cells: Records  # (arms, N + 1)
    value: Floats  # (arms, N + 1): p mean + lambda_k times the measure's mean
    root: Floats  # (arms, N + 1): width / sqrt(n)
    fresh: Floats  # (arms, N + 1): 1 for cells not deployed yet
    multipliers: Floats  # lambda_k of App. B; none without fairness
    work: Floats  # (arms, N + 1), as is the other, for the oracle
    spare: Floats


@helper
def radius_scale(settings: Records, t: int) -> float:
    """The radius of (6) without its 1/sqrt(min n): scale sqrt(K ln t)."""
    own = settings[0]
    rounds = 1.0 if own.log == CONSTANT else float(t) if own.log == CLOCK else float(t - 1)
    return float(own.factor * math.sqrt(math.log(max(1.0, own.inside * rounds))))


def ask(state: GridUCBState, t: int, allocation: Floats) -> None:
    if state.now[0].unswept > 0:
        sweep(state.fresh, state.low, state.high, state.work, state.levels, state.rng)
    else:
        best_with_bonus(
            state.value,
            state.root,
            radius_scale(state.settings, t),
            low=state.low,
            high=state.high,
            plain=state.work,
            taken=state.spare,
            levels=state.levels,
            rng=state.rng,
        )
    deploy_levels(state.levels, state.value.shape[1] - 1, allocation)


def tell(state: GridUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    cells, fresh = state.cells, state.fresh
    count = fresh.shape[1] - 1
    split = state.settings[0].feedback == SPLIT
    for k in range(allocation.shape[0]):
        share = allocation[k]
        if split and share > 0.0 and seen[k] == 0.0:
            continue  # every arm with a share is seen under split feedback: this one's reward got lost
        level = level_of(share, count)
        gained = 0.0
        if seen[k] > 0.0:
            gained = reward[k] if split else reward[k] / share  # importance weights (5)
        cell = cells[k, level]
        n = cell.count + 1.0
        total = cell.reward + gained
        cell.count = n
        cell.reward = total
        state.value[k, level] = (level / count) * (total / n) + cell.priced
        state.root[k, level] = cell.width / math.sqrt(n)
        if fresh[k, level] > 0.0:
            fresh[k, level] = 0.0
            state.now[0].unswept -= 1


def note(state: GridUCBState, t: int, allocation: Floats, measured: Floats) -> None:
    """App. B with fixed multipliers: lambda_k pi_k joins the value of arm k's cell."""
    settings, multipliers = state.settings[0], state.multipliers
    count = state.cells.shape[1] - 1
    weighted = settings.observed == ACTIVATED and settings.feedback != SPLIT
    for k in range(multipliers.shape[0]):
        level = level_of(allocation[k], count)
        known = measured[k] == measured[k] and (
            allocation[k] > 0.0 or not weighted
        )  # without a share it is not activated
        if not known and not weighted:
            continue
        cell = state.cells[k, level]
        cell.measured += 1.0
        if known:  # seen only when activated, it gets importance weights, as rewards do in (5)
            cell.measure += measured[k] / allocation[k] if weighted else measured[k]
        before = cell.priced
        cell.priced = multipliers[k] * (cell.measure / cell.measured)
        state.value[k, level] += cell.priced - before


register_rule(
    GridUCBState,
    ask,
    tell,
    note=note,
    scratch=("work", "spare"),
    version=2,
    migrations={
        1: named(
            codes=("settings.feedback", "settings.log", "now.unswept", "settings.observed"),
            constants=("settings.factor", "settings.inside"),
            bounds=("low", "high"),
            cells=(
                *("cells.count", "cells.reward", "value", "root", "fresh"),
                *("cells.width", "cells.priced", "cells.measured", "cells.measure"),
            ),
        )
    },
)


def measure_widths(setting: Setting, grid: Grid, multipliers: Sequence[float]) -> Floats:
    """How much wider than without fairness a cell's radius is: an arm's p reward + lambda measure has the range 1 + |lambda|.

    A measure seen only under activation, divided by the share p, has the range 1/p: there it is 1 + |lambda| / p.
    """
    arms = len(multipliers)
    shares = np.tile(np.arange(grid.levels + 1) / grid.levels, (arms, 1))
    stretch = np.ones_like(shares)
    if setting.observed == "activated" and setting.feedback != "split":
        stretch = 1.0 / np.maximum(
            shares, 1.0 / grid.levels
        )  # at share zero nothing is ever seen; any finite radius does
    return np.asarray(1.0 + np.abs(np.array(multipliers))[:, None] * stretch)


def grid_ucb_state(
    setting: Setting,
    grid: Grid,
    factor: float,
    log: str | float,
    inside: float = 1.0,
    multipliers: Sequence[float] | None = None,
) -> GridUCBState:
    """State of Algorithm 1's rule with radius factor sqrt(ln(inside rounds) / min n)."""
    fresh = fresh_cells(grid, setting.arms)
    cells = np.zeros(fresh.shape, dtype=CELL)
    cells["width"] = 1.0 if multipliers is None else measure_widths(setting, grid, multipliers)
    mode = CLOCK if log == "clock" else TOLD if log == "told" else CONSTANT
    return GridUCBState(
        rng=setting.rng.copy(),
        settings=record(
            SETTINGS,
            feedback=setting.feedback_code,
            observed=ALL if setting.observed == "all" else ACTIVATED,
            log=mode,
            factor=factor,
            inside=float(log) if mode == CONSTANT else inside,
        ),
        now=record(NOW, unswept=fresh.sum()),
        low=grid.low.copy(),
        high=grid.high.copy(),
        levels=np.zeros(setting.arms, dtype=np.int64),
        cells=cells,
        value=np.zeros(fresh.shape),
        root=np.zeros(fresh.shape),
        fresh=fresh,
        multipliers=np.array(multipliers or (), dtype=np.float64),
        work=np.zeros(fresh.shape),
        spare=np.zeros(fresh.shape),
    )


def explain_grid_ucb(state: GridUCBState, grid: Grid, t: int) -> dict[str, Any]:
    """Cells, radius and runner-up of Algorithm 1's choice."""
    arms, unswept = range(len(state.levels)), int(state.now["unswept"][0])
    scale = radius_scale(state.settings, t)
    cells = []
    for k in arms:
        level = int(state.levels[k])
        cell = state.cells[k, level]
        n = cell["count"]
        cells.append(
            {
                "level": level,
                "share": level / grid.levels,
                "deployments": int(n),
                "estimate": float(cell["reward"] / n) if n else None,
                "radius": float(scale * state.root[k, level]) if n else None,
            }
        )
        if len(state.multipliers):
            mean = float(cell["measure"] / cell["measured"]) if cell["measured"] else None
            cells[-1] |= {"multiplier": float(state.multipliers[k]), "measure": mean}
    result: dict[str, Any] = {"arms": cells}
    if unswept:
        result["cells_not_tried"] = unswept
        return result
    value, bonus = state.value, scale * state.root
    result["index"] = float(sum(value[k, state.levels[k]] for k in arms) + max(bonus[k, state.levels[k]] for k in arms))
    result["runner_up"] = runner_up(value, bonus, grid, state.levels)
    return result


@dataclass(frozen=True)
class _GridUCB(Policy):
    scale: float = 1.0
    zero: bool = False
    levels: int | None = None
    resolution: float = 1.0
    multipliers: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_positive(self, scale=self.scale, resolution=self.resolution)
        check_bool(self, zero=self.zero)
        check_whole(self, 1, levels=self.levels)
        check_multipliers(self, self.multipliers)

    def grid(self, setting: Setting) -> Grid:
        return tuned_grid(self, setting, action_levels)

    def _multipliers(self, setting: Setting) -> Sequence[float] | None:
        if self.multipliers is not None and len(self.multipliers) != setting.arms:
            raise AftereffectError(
                f"{self.name}: one multiplier for each of {setting.arms} arms, got {len(self.multipliers)}"
            )
        return self.multipliers

    def stage(self, state: GridUCBState, t: int) -> str:
        return "sweep" if state.now["unswept"][0] else "index"

    def explain(self, state: GridUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return explain_grid_ucb(state, self.grid(setting), t)


@register
@dataclass(frozen=True)
class ActionUCB(_GridUCB):
    """Algorithm 1: UCB over the grid of allocations when only today's action matters.

    Index (6): sum_k p_k mean(p_k) + scale sqrt(K ln t / min_k n(p_k)), maximised exactly. `levels` is N = 1/eps (default:
    Theorem 4.2's, times `resolution`); `zero` lets an arm get nothing. `log` says what stands in the logarithm: the round
    ("clock"), the rounds told so far ("told"), or a number. `multipliers` are App. B's lambda_k, one per arm: the objective
    becomes sum_k p_k r_k + lambda_k pi_k, and the radius as much wider as that sum's range.

    >>> ActionUCB().grid(Setting(arms=2, horizon=100_000)).levels  # (T / ln T)^(1/3)
    21
    """

    name: ClassVar[str] = "action-ucb"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#0072B2", "s")
    log: str | float = "clock"

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(zero=True, levels=8, scale=0.3)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.log, str):
            require_one_of(f"log of policy {self.name!r}:", self.log, ("clock", "told"))
        else:
            check_positive(self, log=self.log)

    def state(self, setting: Setting) -> GridUCBState:
        factor = self.scale * math.sqrt(setting.arms)
        return grid_ucb_state(setting, self.grid(setting), factor, self.log, multipliers=self._multipliers(setting))


@register
@dataclass(frozen=True)
class OneArmUCB(_GridUCB):
    """Algorithm 1 with the wider radius sqrt(K^2 ln(sqrt(K) t) / n), for one arm activated a round (Remark D.6).

    >>> agent = OneArmUCB(levels=4, zero=True).start(arms=2, horizon=100, seed=1)
    >>> agent.explain()["cells_not_tried"]
    10
    """

    name: ClassVar[str] = "one-arm-ucb"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#56B4E9", "s")

    def state(self, setting: Setting) -> GridUCBState:
        factor, inside = self.scale * setting.arms, math.sqrt(setting.arms)
        return grid_ucb_state(setting, self.grid(setting), factor, "clock", inside, self._multipliers(setting))
