"""The Lagrangian relaxation of App. B solved exactly on the grid, and its duality gap.

With multipliers lambda+ and lambda- for each pair of arms the dual function is the largest sum_k p_k r_k + lambda_k pi_k plus
tolerance times the sum of all multipliers. Only the lambda_k matter to the allocation, and the least sum of pairs'
multipliers behind given lambda_k (which add up to zero) is half of sum_k |lambda_k|: each unit goes from a positive to a negative
arm once. Where responses or measures are not concave, the smallest dual value can stay above the fair optimum: no fixed
multipliers then lead to it, however well they are searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.problem import Problem
from aftereffect.oracle.maximise import best_on
from aftereffect.theory.fair import LEVELS, FairOptimum, fair_optimum, fair_tables

MOST_CUTS = 1000
CLOSE = 1e-9  # between the dual value and the cuts' value


@dataclass(frozen=True, eq=False)
class FairDual:
    """The best fixed multipliers, the dual value they reach, and what they lead to.

    `value` is an upper bound on the fair optimum's utility. `allocation` maximises the fixed-lambda objective; `gap` is how
    far apart its measures are, `utility` what it earns. Several allocations may be equally good there, of which the one
    nearest to the tolerance is shown.
    """

    multipliers: tuple[float, ...]
    value: float
    allocation: Floats
    utility: float
    gap: float
    fair: FairOptimum

    @property
    def duality_gap(self) -> float:
        """What the relaxation promises a round beyond the fair optimum; 0 for concave problems up to the grid."""
        return self.value - self.fair.utility


def fair_dual(problem: Problem, tolerance: float | None = None, levels: int = LEVELS) -> FairDual:
    """The smallest dual value over all multipliers, by cutting planes around the separable oracle, exact on the grid."""
    from scipy.optimize import linprog

    fair = fair_optimum(problem, tolerance, levels)
    tables, arms = fair_tables(problem, levels), problem.arms
    if arms == 1:
        return FairDual((0.0,), fair.utility, fair.allocation, fair.utility, 0.0, fair)
    cuts: list[tuple[float, Floats, Floats]] = []  # utility, measures and shares of allocations found
    multipliers, value, best = np.zeros(arms), np.inf, np.zeros(arms)
    for _ in range(MOST_CUTS):
        chosen, top = best_on(tables.value + multipliers[:, None] * tables.measure, tables.low, tables.high)
        reached = top + fair.tolerance * 0.5 * float(np.abs(multipliers).sum())
        if reached < value:
            value, best = reached, multipliers.copy()
        rows = np.arange(arms)
        cuts.append((float(tables.value[rows, chosen].sum()), tables.measure[rows, chosen], chosen / levels))
        # Variables: positive and negative parts of lambda, and the cuts' height z. Minimise z + tolerance/2 sum |lambda|.
        costs = np.concatenate([np.full(2 * arms, 0.5 * fair.tolerance), [1.0]])
        upper = np.array([[*m, *-m, -1.0] for _, m, _ in cuts])
        balance = np.array([[*np.ones(arms), *-np.ones(arms), 0.0]])
        bounds = [(0.0, 1e3)] * (2 * arms) + [(None, None)]
        below = [-u for u, _, _ in cuts]
        solved = linprog(costs, A_ub=upper, b_ub=below, A_eq=balance, b_eq=[0.0], bounds=bounds, method="highs")
        if not solved.success:
            raise AftereffectError(f"the dual could not be solved: {solved.message}")
        if value - solved.fun < CLOSE:
            break
        multipliers = solved.x[:arms] - solved.x[arms : 2 * arms]
    else:
        raise AftereffectError(f"the dual did not settle within {MOST_CUTS:,} cuts; fewer levels make it smaller")
    heights = np.array([u + float(best @ m) for u, m, _ in cuts])
    equal = [cut for cut, height in zip(cuts, heights, strict=True) if height >= heights.max() - 10 * CLOSE]
    utility, measures, allocation = min(equal, key=lambda cut: abs(float(np.ptp(cut[1])) - fair.tolerance))
    shown = tuple(float(v) for v in best)
    return FairDual(shown, value, allocation, utility, float(np.ptp(measures)), fair)
