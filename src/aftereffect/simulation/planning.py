"""`plan`: what Algorithm 3 will do before anybody is affected: its grid, its phases, its sweep, and what is known about it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from aftereffect.errors import MissingParameter, require, require_whole
from aftereffect.model.impacts import memory_of
from aftereffect.oracle.levels import best_levels
from aftereffect.policies.grid import fresh_cells
from aftereffect.policies.phased import HistoryUCB
from aftereffect.policies.setting import Grid, Setting
from aftereffect.policies.state_files import parts_of, states_in
from aftereffect.theory import bounds
from aftereffect.theory.tuning import Phases

MOST_ARMS = 10_000
MOST_CELLS = 10_000_000  # of a grid: its statistics are kept in memory
SWEEP_WORK = 2_000_000_000  # elementary steps that playing the sweep through may take
EXAMPLE_GAP = 0.1  # of the allocation whose sufficient sampling the plan shows
SECONDS_A_ROUND_AND_ARM = 5e-8
SECONDS_A_CELL_PAIR = 1e-9  # of the exact search, which looks at about K N^2 pairs


@dataclass(frozen=True)
class PlanOfRounds:
    """What history-ucb does with a horizon. Shares of rounds are of the horizon; `bounds` are the paper's, evaluated."""

    arms: int
    horizon: int
    memory: float
    half_life: float | None
    estimation: float  # as asked for
    zero: bool
    lipschitz: float
    levels: int
    eps: float
    cells: int
    allocations: int
    approach_rounds: int  # of a phase
    estimation_rounds: int
    phase_length: int
    effective_estimation: float
    phases: int
    leftover_rounds: int
    sweep_phases: int
    sweep_exact: bool  # played through; else a lower bound
    sweep_rounds: int
    share_approach: float
    share_estimation: float
    share_sweep: float
    state_bytes: int
    seconds: float  # about, on one core
    bounds: dict[str, float] = field(default_factory=dict)

    @property
    def cut(self) -> Phases:
        """How it cuts time."""
        return Phases(self.approach_rounds, self.phase_length)

    def document(self) -> dict[str, Any]:
        """As plain data; what is infinite is None."""
        found = asdict(self)
        found["bounds"] = {name: value if math.isfinite(value) else None for name, value in self.bounds.items()}
        return found


def plan(
    arms: int,
    horizon: int,
    memory: float | None = None,
    half_life: float | None = None,
    estimation: float = 0.2,
    zero: bool = False,
    lipschitz: float = 1.0,
) -> PlanOfRounds:
    """What history-ucb will do in `horizon` rounds with `arms` arms; give `memory` or `half_life`.

    >>> made = plan(arms=2, horizon=100_000, memory=0.4)
    >>> made.levels, made.phase_length, made.sweep_phases
    (13, 6, 12)
    """
    require_whole("plan: arms", arms, 1, MOST_ARMS)
    require_whole("plan: horizon", horizon, 1, 10**15)
    given = _memory(memory, half_life)
    policy = HistoryUCB(memory=given, estimation=estimation, zero=zero, lipschitz=lipschitz)
    setting, rate = Setting(arms, horizon), float(given)
    cut, grid = policy.phases(setting), policy.grid(setting)
    assert grid is not None
    levels = grid.levels
    fits = arms * (levels + 1) <= MOST_CELLS
    require(fits, f"plan: {arms:,} arms x {levels:,} levels are more than {MOST_CELLS:,} cells")
    whole = max(horizon // cut.length, 1)  # a horizon shorter than a phase still begins one
    approach = min(whole * cut.approach, horizon)
    counted = min(whole * cut.estimation, horizon - approach)
    sweep_phases, exact = sweep_length(grid)
    sweep_rounds = min(sweep_phases * cut.length, horizon)
    cells = int((grid.high - grid.low + 1).sum())
    made = PlanOfRounds(
        arms=arms,
        horizon=horizon,
        memory=rate,
        half_life=-math.log(2) / math.log(rate) if rate > 0 else None,
        estimation=estimation,
        zero=zero,
        lipschitz=lipschitz,
        levels=levels,
        eps=1 / levels,
        cells=cells,
        allocations=math.comb(levels + arms - 1, arms - 1) if zero else math.comb(levels - 1, arms - 1),
        approach_rounds=cut.approach,
        estimation_rounds=cut.estimation,
        phase_length=cut.length,
        effective_estimation=cut.effective_estimation,
        phases=whole,
        leftover_rounds=horizon - approach - counted,
        sweep_phases=sweep_phases,
        sweep_exact=exact,
        sweep_rounds=sweep_rounds,
        share_approach=approach / horizon,
        share_estimation=counted / horizon,
        share_sweep=sweep_rounds / horizon,
        state_bytes=_state_bytes(policy, setting, levels),
        seconds=horizon * arms * SECONDS_A_ROUND_AND_ARM + whole * arms * levels**2 * SECONDS_A_CELL_PAIR,
    )
    return replace(made, bounds=_bounds(made, max(1, counted)))


def _memory(memory: float | None, half_life: float | None) -> float:
    if memory is None and half_life is None:
        raise MissingParameter("plan needs memory (how strongly the past weighs, in [0, 1)) or half_life (in rounds)")
    require(memory is None or half_life is None, "plan: give either memory or half_life, not both")
    return memory_of(half_life) if half_life is not None else memory  # type: ignore[return-value]


def sweep_length(grid: Grid) -> tuple[int, bool]:
    """Phases of the initial sweep, and whether they were counted by playing it through; else the number is a lower bound.

    As the policy does, each phase deploys the levels that cover most cells not deployed yet; among equals the policy draws, which
    can make a difference of a phase or two.
    """
    arms = len(grid.low)
    least = least_sweep(grid)
    if arms * grid.levels**2 * least > SWEEP_WORK:
        return least, False
    fresh, low, high = fresh_cells(grid, arms), grid.low.tolist(), grid.high.tolist()
    count = 0
    while fresh.any():
        chosen, _ = best_levels(fresh, zero=True, low=low, high=high, seed=count)
        fresh[np.arange(arms), chosen] = 0.0
        count += 1
    return count, True


def least_sweep(grid: Grid) -> int:
    """No sweep is shorter: an allocation holds one level of each arm, and its levels add up to N."""
    widths = grid.high - grid.low + 1
    total = int(((grid.low + grid.high) * widths).sum()) // 2
    return max(int(widths.max()), -(-total // grid.levels))


def _state_bytes(policy: HistoryUCB, setting: Setting, levels: int) -> int:
    """Of the policy's arrays: each level adds the same, so two small grids say what a large one takes."""
    two, three = (_bytes_of(replace(policy, zero=True, levels=n).state(setting)) for n in (2, 3))
    return two + (levels - 2) * (three - two)


def _bytes_of(state: Any) -> int:
    arrays = (part for _, owner in states_in(state) for part in parts_of(owner).values())
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _bounds(made: PlanOfRounds, counted: int) -> dict[str, float]:
    """The paper's bounds at this plan's numbers; names as in `theory.bounds`."""
    arms, horizon, eps = made.arms, made.horizon, made.eps
    common = {
        "naive_regret_rate": bounds.naive_regret_rate(arms, horizon),
        "cucb_regret_rate": bounds.cucb_regret_rate(arms, horizon),
        "one_arm_regret_rate": bounds.one_arm_regret_rate(arms, horizon),
        "lower_bound_rate": bounds.lower_bound_rate(arms, horizon),
        "discretisation_rate": horizon * bounds.discretisation_rate(arms, eps, made.lipschitz),
    }
    even = counted * arms / made.cells  # estimation rounds of each cell, were they spread evenly
    if made.memory == 0:
        return {
            "action_regret_rate": bounds.action_regret_rate(arms, horizon),
            "action_independent_rate": bounds.action_independent_rate(arms, horizon, eps),
            **common,
            "action_radius": bounds.action_radius(arms, counted, even),
            "action_threshold": bounds.action_threshold(arms, counted, EXAMPLE_GAP),
        }
    err = bounds.approach_error(made.memory, made.approach_rounds, arms, made.lipschitz)
    rho = made.effective_estimation
    return {
        "history_regret_rate": bounds.history_regret_rate(arms, horizon, rho),
        "history_independent_rate": bounds.history_independent_rate(arms, horizon, eps, made.phase_length, rho),
        **common,
        "approach_error": err,
        "history_radius": bounds.history_radius(arms, counted, even, err),
        "history_threshold": bounds.history_threshold(arms, counted, EXAMPLE_GAP, err),
    }
