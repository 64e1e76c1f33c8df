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
from aftereffect.oracle.steady import steady_curves
from aftereffect.oracle.upper_bound import upper_bound


@dataclass(frozen=True, eq=False)
class BestFixed:
    """The best fixed allocation: its shares, its utility a round, and how sure that is.

    `error` is the standard error of the utility where steady rewards had to be measured by simulation (realised impact),
    else 0. `bound` is an upper bound on every allocation's utility, computed when it is read; with a measured error it
    holds for the measured curves.
    """

    allocation: Floats
    utility: float
    error: float
    curves: tuple[Curve, ...]
    floors: Floats
    caps: Floats

    def __repr__(self) -> str:
        error = f", error={self.error:.2g}" if self.error else ""
        return f"BestFixed(allocation={np.round(self.allocation, 4).tolist()}, utility={self.utility:.6g}{error})"

    @cached_property
    def bound(self) -> float:
        """No fixed allocation earns more than this."""
        return upper_bound(self)

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
    curves, errors = steady_curves(problem, horizon)
    limits = problem.limits
    allocation = maximise(curves, limits.floors, limits.caps)
    utility = utility_of(curves, allocation)
    error = (
        float(np.sqrt(sum((p * float(e(p))) ** 2 for p, e in zip(allocation, errors, strict=True)))) if errors else 0.0
    )
    return BestFixed(allocation, utility, error, curves, limits.floors, limits.caps)
