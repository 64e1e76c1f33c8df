"""The best policy that may depend on history, and whether committing to a fixed split costs anything (App. H).

The state is the vector of impacts f (before g); an allocation p moves it to f' = m f + (1 - m) p, m the memory, and earns
sum_k p_k r_k(f'_k). Since p = (f' - m f)/(1 - m), choosing p is choosing the next state, and for a fixed next state the
reward is linear in f. That makes rigorous numbers cheap:

* *from above*: for every function h, no policy's long-run average exceeds the supremum over (f, f') of reward + h(f') - h(f).
  Value iteration on a grid of states gives a good h. With h linear between grid points the supremum over a pair of cells
  is attained at a corner (corners where the limits on p cut the pair included), up to the bend of p_k r_k, which is second
  order in the grid's step, and the height of kinks that lie between grid points; both are computed and added;
* *from below*: the greedy policy is followed, stretches of its path are closed into cycles and improved by local search.
  What repeating a cycle earns is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.limits import inner_bounds
from aftereffect.model.problem import Problem
from aftereffect.oracle.best_fixed import BestFixed, best_fixed
from aftereffect.theory.dynamic_cycles import best_cycle, follow, follow_apart, played
from aftereffect.theory.dynamic_line import priced_arms, two_arms
from aftereffect.theory.dynamic_plane import three_arms

MOST_STEPS = 10_000  # along an arm's impact


@dataclass(frozen=True, eq=False)
class DynamicOptimum:
    """The best policy that may depend on history.

    `utility` is what repeating `cycle` (one allocation a row) earns a round in the long run, and no policy earns more than
    `utility + error`: both are rigorous up to rounding. `achieved` is the same mean found by playing the cycle round after
    round. `gap` is what the best fixed allocation, `fixed`, leaves on the table (at least, and at most `gap + error`).
    """

    utility: float
    error: float
    cycle: Floats
    achieved: float
    fixed: BestFixed

    def __repr__(self) -> str:
        return (
            f"DynamicOptimum(utility={self.utility:.6g}, error={self.error:.2g}, a cycle of {len(self.cycle)}, "
            f"gap={self.gap:.2g} over {self.fixed!r})"
        )

    @property
    def gap(self) -> float:
        """What the cycle earns a round beyond the best fixed allocation."""
        return self.utility - self.fixed.utility

    @property
    def bound(self) -> float:
        """No policy earns more than this a round in the long run."""
        return self.utility + self.error


@dataclass(frozen=True, eq=False)
class DynamicBound:
    """An upper bound on every policy: `bound`, the `price` of a share that gives it, and the best fixed allocation."""

    bound: float
    price: float
    fixed: BestFixed

    def __repr__(self) -> str:
        return f"DynamicBound(bound={self.bound:.6g}, price={self.price:.3g}, gap={self.gap:.2g} over {self.fixed!r})"

    @property
    def gap(self) -> float:
        """No policy beats the best fixed allocation by more than this a round."""
        return self.bound - self.fixed.utility


def dynamic_optimum(problem: Problem, steps: int | None = None) -> DynamicOptimum:
    """The best policy that may depend on history, for up to three arms and without a largest change of a share a round.

    `steps` is the number of grid steps along an arm's impact (1000 for two arms, about 110 for three unless given): more
    of them make the error smaller. Arms with different memories are bounded from above as in `dynamic_upper_bound` (400 steps):
    there the error holds that relaxation's own gap too.

    >>> from aftereffect.model.impacts import Discounted
    >>> from aftereffect.model.responses import LinearDecline
    >>> found = dynamic_optimum(Problem([LinearDecline(0.9, 0.3)] * 2, impact=Discounted(0.5)), steps=100)
    >>> round(found.utility, 3), round(found.gap, 3), found.cycle.round(3).tolist(), bool(found.error < 1e-3)
    (0.6, 0.0, [[0.5, 0.5]], True)
    """
    memories = _memories("dynamic_optimum", problem)
    if steps is not None:
        require_whole("dynamic_optimum: steps", steps, 8, MOST_STEPS)
    offer = "dynamic_upper_bound(problem) bounds what any policy can earn"
    if problem.step is not None and problem.step < 1:
        raise AftereffectError(
            f"dynamic_optimum: its cycles may change any share at once, this problem has step={problem.step:g}; {offer}"
        )
    if np.all(memories == 0.0) or problem.arms == 1:
        return _no_better(problem)
    if problem.arms > 3:
        raise AftereffectError(
            f"dynamic_optimum: value iteration is for up to 3 arms, this problem has {problem.arms}; {offer}"
        )
    low, high = _reachable(problem)
    corners = _corners(low, high)
    if np.ptp(corners, axis=0).max() < 1e-9:
        return _no_better(problem)
    fixed = best_fixed(problem)
    if np.any(memories != memories[0]):
        bound, _, values_apart = priced_arms(problem.curves, memories, low, high, steps or 400)
        paths = follow_apart(problem, memories, low, high, fixed, values_apart)
    else:
        bound, paths = _together(problem, float(memories[0]), (low, high, corners), fixed, steps)
    cycle, utility = best_cycle(problem, memories, low, high, fixed, paths)
    achieved = played(problem, memories, cycle)
    assert bound >= utility - 1e-9, f"an upper bound of {bound} below a cycle that earns {utility}"
    return DynamicOptimum(utility, max(0.0, bound - utility), cycle, achieved, fixed)


def _together(
    problem: Problem, memory: float, limits: tuple[Floats, Floats, Floats], fixed: BestFixed, steps: int | None
) -> tuple[float, Floats]:
    """Upper bound and greedy paths where one memory serves all arms: the state is one allocation smaller."""
    low, high, corners = limits
    if problem.arms == 2:
        bound, values = two_arms(problem, memory, float(corners[0, 0]), float(corners[1, 0]), steps or 1000)
    else:
        bound, values = three_arms(problem, memory, low, high, corners, steps)
        bound = min(bound, dynamic_upper_bound(problem).bound)  # its grid is finer, and often it is tight
    return bound, follow(problem, memory, low, high, corners=corners, fixed=fixed, values=values)


def dynamic_upper_bound(problem: Problem, steps: int = 400) -> DynamicBound:
    """An upper bound on what any policy earns a round, for any number of arms, each with a memory of its own.

    The allocation must add up to one in every round. If a share may instead be bought and sold at a price, each arm is a
    problem of its own with a one-dimensional state, solved as in `dynamic_optimum`; the arms' optima plus the price bound
    the true optimum for every price, and the price that gives the least is searched for. A problem's `step` only takes
    something away from policies, so the bound holds with it too.
    """
    memories = _memories("dynamic_upper_bound", problem)
    require_whole("dynamic_upper_bound: steps", steps, 8, MOST_STEPS)
    fixed = best_fixed(problem)
    low, high = _reachable(problem)
    bound, price, _ = priced_arms(problem.curves, memories, low, high, steps)
    assert bound >= fixed.utility - 1e-9, f"an upper bound of {bound} below an allocation that earns {fixed.utility}"
    return DynamicBound(max(bound, fixed.utility), price, fixed)


def _memories(name: str, problem: Problem) -> Floats:
    """Each arm's memory, or the user's mistake where the impact is not a discounted average."""
    if not isinstance(problem, Problem):
        raise AftereffectError(f"{name} takes a problem, got {shown(problem)}")
    if problem.follows_activations:
        raise AftereffectError(f"{name}: the impact must follow the intended shares, not realised activations")
    if problem.moving is not None:
        raise AftereffectError(f"{name}: the responses must stay, this problem's drift")
    memories = []
    for k, impact in enumerate(problem.impacts):
        compiled = impact.compiled()
        if compiled is None or compiled.window > 1:
            raise AftereffectError(
                f"{name}: arm {k}'s impact must be a discounted average or exponential smoothing, got {shown(impact)}"
            )
        memories.append(compiled.memory)
    return np.array(memories)


def _no_better(problem: Problem) -> DynamicOptimum:
    """Without memory, or without a choice, holding the best allocation is best."""
    fixed = best_fixed(problem)
    error = max(0.0, fixed.bound - fixed.utility)
    return DynamicOptimum(fixed.utility, error, fixed.allocation[None, :].copy(), fixed.utility, fixed)


def _reachable(problem: Problem) -> tuple[Floats, Floats]:
    """The least and the most share each arm can have, given what the others must have."""
    low, high = inner_bounds(problem.limits.floors, problem.limits.caps, 1.0)
    return np.minimum(low, high), high


def _corners(low: Floats, high: Floats) -> Floats:
    """Corners of the set of allowed allocations (two or three arms), in order around it."""
    if len(low) == 2:
        return np.array([[low[0], 1.0 - low[0]], [high[0], 1.0 - high[0]]])
    found = []
    for i, j in ((0, 1), (1, 2), (2, 0)):  # a corner has two arms at a limit
        for a in (low[i], high[i]):
            for b in (low[j], high[j]):
                corner = np.zeros(3)
                corner[i], corner[j] = a, b
                corner[3 - i - j] = 1.0 - a - b
                if np.all(corner >= low - 1e-12) and np.all(corner <= high + 1e-12):
                    found.append(np.clip(corner, 0.0, 1.0))
    unique = np.unique(np.round(found, 12), axis=0)
    middle = unique.mean(axis=0)
    angle = np.arctan2(unique[:, 1] - middle[1], unique[:, 0] - middle[0])
    result: Floats = unique[np.argsort(angle)]
    return result
