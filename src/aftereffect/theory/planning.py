"""`plan`: what Algorithm 3 will do before anybody is affected: its grid, its phases, its sweep, and what is known about it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aftereffect.errors import AftereffectError, MissingParameter, require, require_numbers, require_whole, shown
from aftereffect.model.impacts import memory_of
from aftereffect.model.limits import Limits
from aftereffect.model.world import Ints
from aftereffect.oracle.levels import best_levels
from aftereffect.theory import bounds
from aftereffect.theory.tuning import Phases, action_levels, phases

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
        found = dataclasses.asdict(self)
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
    rate = _checked(arms, horizon, memory, half_life, estimation, zero, lipschitz)
    # Without memory there is nothing to wait for: every round counts, and Algorithm 3 is Algorithm 1.
    share = estimation if rate > 0 else 1.0
    levels = action_levels(max(1, round(horizon * share)), arms, zero)
    _check_cells(arms, levels)
    cut = phases(rate, estimation, levels, arms, lipschitz) if rate > 0 else Phases(0, 1)
    low, high = Limits.of(arms).levels(levels, zero)
    whole = max(horizon // cut.length, 1)  # a horizon shorter than a phase still begins one
    approach = min(whole * cut.approach, horizon)
    counted = min(whole * cut.estimation, horizon - approach)
    sweep_phases, exact = sweep_length(levels, low, high)
    sweep_rounds = min(sweep_phases * cut.length, horizon)
    cells = int((high - low + 1).sum())
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
        state_bytes=_state_bytes(arms, levels),
        seconds=horizon * arms * SECONDS_A_ROUND_AND_ARM + whole * arms * levels**2 * SECONDS_A_CELL_PAIR,
    )
    return dataclasses.replace(made, bounds=_bounds(made, max(1, counted)))


def _checked(
    arms: int,
    horizon: int,
    memory: float | None,
    half_life: float | None,
    estimation: float,
    zero: bool,
    lipschitz: float,
) -> float:
    """The memory, once everything is known to make sense."""
    for name, value, most in (("arms", arms, MOST_ARMS), ("horizon", horizon, 10**15)):
        require_whole(f"plan: {name}", value, 1, most)
    if memory is None and half_life is None:
        raise MissingParameter("plan needs memory (how strongly the past weighs, in [0, 1)) or half_life (in rounds)")
    require(memory is None or half_life is None, "plan: give either memory or half_life, not both")
    if memory is None:
        assert half_life is not None
        rate = memory_of(half_life)
    else:
        rate = memory
    require_numbers("plan", memory=rate, estimation=estimation, lipschitz=lipschitz)
    require(0 <= rate < 1, f"plan: memory must lie in [0, 1), got {shown(rate)}")
    require(0 < estimation < 1, f"plan: estimation must lie between 0 and 1, got {shown(estimation)}")
    require(lipschitz > 0, f"plan: lipschitz must be above 0, got {shown(lipschitz)}")
    require(isinstance(zero, (bool, np.bool_)), f"plan: zero must be true or false, got {shown(zero)}")
    return float(rate)


def _check_cells(arms: int, levels: int) -> None:
    if arms * (levels + 1) > MOST_CELLS:
        raise AftereffectError(f"plan: {arms:,} arms x {levels:,} levels are more than {MOST_CELLS:,} cells")


def sweep_length(levels: int, low: Ints, high: Ints) -> tuple[int, bool]:
    """Phases of the initial sweep, and whether they were counted by playing it through; else the number is a lower bound.

    As the policy does, each phase deploys the levels that cover most cells not deployed yet; among equals the policy draws, which
    can make a difference of a phase or two.
    """
    arms = len(low)
    least = least_sweep(levels, low, high)
    if arms * levels**2 * least > SWEEP_WORK:
        return least, False
    fresh = np.zeros((arms, levels + 1))
    for k in range(arms):
        fresh[k, low[k] : high[k] + 1] = 1.0
    count = 0
    while fresh.any():
        chosen, _ = best_levels(fresh, zero=True, low=low.tolist(), high=high.tolist(), seed=count)
        fresh[np.arange(arms), chosen] = 0.0
        count += 1
    return count, True


def least_sweep(levels: int, low: Ints, high: Ints) -> int:
    """No sweep is shorter: an allocation holds one level of each arm, and its levels add up to N."""
    widths = high - low + 1
    total = int(((low + high) * widths).sum()) // 2
    return max(int(widths.max()), -(-total // levels))


def _state_bytes(arms: int, levels: int) -> int:
    """The policy's arrays: eleven numbers for each cell (statistics and work), few besides; eight bytes each."""
    words, codes, constants, clock = 4, 4, 2, 8
    return 8 * (11 * arms * (levels + 1) + 5 * arms + words + codes + constants + clock)


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
