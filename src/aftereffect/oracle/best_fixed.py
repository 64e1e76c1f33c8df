"""The best fixed allocation of a problem, with an upper bound that holds for every allocation.

What holding an allocation earns is a sum over arms, sum_k p_k s_k(p_k), with s_k the arm's steady reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.problem import Problem
from aftereffect.oracle.maximise import best_on, maximise, utility_of
from aftereffect.oracle.search import Ints
from aftereffect.oracle.steady import expected_rewards, steady_curves
from aftereffect.oracle.upper_bound import upper_bound


@dataclass(frozen=True, eq=False)
class BestFixed:
    """The best fixed allocation: its shares, its utility a round, and how sure that is.

    `error` is how much the utility can be off where it is an expectation over activations (realised impact), below 1e-6 but for
    the slowest memories; else 0. `bound` is an upper bound on every allocation's utility, computed when it is read.
    """

    allocation: Floats
    utility: float
    error: float
    curves: tuple[Curve, ...]
    floors: Floats
    caps: Floats
    slack: float = 0.0  # how far the curves can be off

    def __repr__(self) -> str:
        error = f", error={self.error:.2g}" if self.error else ""
        return f"BestFixed(allocation={np.round(self.allocation, 4).tolist()}, utility={self.utility:.6g}{error})"

    @cached_property
    def bound(self) -> float:
        """No fixed allocation earns more than this."""
        return upper_bound(self) + self.slack

    def on_grid(self, levels: int, low: Ints, high: Ints) -> float:
        """The best utility among the allocations of a grid."""
        shares = np.arange(levels + 1) / levels
        return best_on(np.stack([shares * c(shares) for c in self.curves]), low, high)[1]


def best_fixed(problem: Problem, horizon: int | None = None) -> BestFixed:
    """The best fixed allocation of a problem.

    With a `horizon` and an impact that has a transient, or responses that move, the allocation that earns most over that
    many rounds from the first one on, its utility averaged over them; otherwise the long run (at the first responses).
    """
    if not isinstance(problem, Problem):
        raise AftereffectError(f"best_fixed takes a problem, got {shown(problem)}")
    if horizon is not None:
        require_whole("horizon", horizon)
    curves, slack = steady_curves(problem, horizon)
    limits = problem.limits
    allocation = maximise(curves, limits.floors, limits.caps)
    utility, error = utility_of(curves, allocation), 0.0
    if problem.follows_activations:
        totals, error = activated_utilities(problem, allocation, None if horizon is None else np.array([horizon]))
        utility = float(totals[0]) / (horizon or 1)
    return BestFixed(allocation, utility, error, curves, floors=limits.floors, caps=limits.caps, slack=slack)


def activated_utilities(problem: Problem, allocation: Floats, rounds: Ints | None) -> tuple[Floats, float]:
    """Under realised impact: what holding an allocation earns up to each of the rounds, and how much it can be off a round.

    Without rounds, in one round of the long run.
    """
    found = [(p, *expected_rewards(problem, k, float(p), rounds)) for k, p in enumerate(allocation) if p > 0]
    return np.asarray(sum(p * mean for p, mean, _ in found)), float(sum(p * error for p, _, error in found))
