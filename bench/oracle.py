"""`best_levels` against the same problem as a mixed-integer programme in SciPy's HiGHS."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csr_array, eye_array, kron

import aftereffect as ae
from bench.rows import Row, at_least
from bench.timing import in_turns

ARMS, LEVELS, SEEDS = 10, 100, 3


def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and bonuses as Algorithm 1 meets them: estimated responses and few observations."""
    rng = np.random.default_rng(seed)
    shares = np.arange(LEVELS + 1) / LEVELS
    peaks, noise = rng.uniform(0.45, 0.55, (ARMS, 1)), rng.normal(0, 0.1, (ARMS, LEVELS + 1))
    value = shares * np.clip(np.exp(-((shares - peaks) ** 2)) + noise, 0, 1)
    return value, np.sqrt(ARMS * np.log(1e5) / rng.integers(1, 5000, (ARMS, LEVELS + 1)))


class Programme:
    """Binary x[k, l]: arm k gets level l; y[k, l] <= x[k, l]: the one bonus is taken there. Built before the clock runs."""

    def __init__(self, value: np.ndarray, bonus: np.ndarray) -> None:
        cells = ARMS * (LEVELS + 1)
        one_level_each = kron(eye_array(ARMS), np.ones((1, LEVELS + 1)))
        whole_budget = csr_array(np.tile(np.arange(LEVELS + 1.0), ARMS)[None, :])
        one_bonus = csr_array(np.ones((1, cells)))
        equal = block_array([[one_level_each, None], [whole_budget, None], [None, one_bonus]])
        amounts = np.concatenate([np.ones(ARMS), [LEVELS], [1]])
        taken_where_chosen = block_array([[-eye_array(cells), eye_array(cells)]])
        self.gains = np.concatenate([value.ravel(), bonus.ravel()])
        self.constraints = [LinearConstraint(equal, amounts, amounts), LinearConstraint(taken_where_chosen, -np.inf, 0)]
        upper = np.ones((2, ARMS, LEVELS + 1))
        upper[:, :, 0] = 0  # no arm goes without
        self.bounds = Bounds(0, upper.ravel())

    def solve(self) -> float:
        options = {"mip_rel_gap": 0.0}
        solved = milp(
            -self.gains,
            constraints=self.constraints,
            bounds=self.bounds,
            integrality=np.ones(len(self.gains)),
            options=options,
        )
        assert solved.success, solved.message
        return float(-solved.fun)


def against_milp() -> list[Row]:
    ratios, mine, theirs = [], [], []
    for seed in range(SEEDS):
        value, bonus = draw(seed)
        programme = Programme(value, bonus)
        assert abs(ae.best_levels(value, bonus)[1] - programme.solve()) < 1e-6
        own = in_turns({"ours": partial(ae.best_levels, value, bonus)}, 300, time.perf_counter)["ours"]
        other = in_turns({"milp": programme.solve}, 2, time.perf_counter)["milp"]
        mine.append(own)
        theirs.append(other)
        ratios.append(other / own)
    note = (
        f"{1e6 * np.median(mine):.0f} us and {np.median(theirs):.2f} s, medians of {SEEDS} problems "
        f"(ratios {min(ratios):,.0f} to {max(ratios):,.0f}); same value"
    )
    what = f"best_levels, K {ARMS}, N {LEVELS}: speed over HiGHS's"
    return [at_least(what, float(np.median(ratios)), 1000, note, digits=0)]
