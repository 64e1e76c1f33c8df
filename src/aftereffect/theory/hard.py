"""The lower bound's instances (App. F), their discrete twins, and App. G's inequality on a run.

App. F hides in each arm one bump of height eps on a plateau of 1/2. The bumps' centres p* lie on the middles of N_p equal
intervals, (2j - 1) eps with eps = 1/(2 N_p), and add up to one. In levels l = (p/eps + 1)/2 that is sum l = N_p + K/2 (the text
prints N_p + K - 1, with which the centres do not add up to one), so K is even. All arms are seen in every round, and App. F's
regret is in the sum of r_k, not of p_k r_k; both are largest at p*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aftereffect.errors import require
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import Discounted, Impact, Instant, discounted_average
from aftereffect.model.problem import Problem
from aftereffect.model.responses import Bump
from aftereffect.model.world import Ints
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.theory.bounds import history_lower_slack


@dataclass(frozen=True)
class HardInstance:
    """App. F's I(p*, eps), a combinatorial Lipschitz bandit with constraint, and by its numbers also its twin J(l*, eps).

    `intervals` is N_p and `best` holds l*, the interval (from 1) of each arm's bump.

    >>> instance = HardInstance(intervals=4, best=(1, 2, 1, 2))
    >>> instance.eps, instance.allocation.tolist()
    (0.125, [0.125, 0.375, 0.125, 0.375])
    """

    intervals: int
    best: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "best", tuple(int(level) for level in self.best))
        total, wanted = sum(self.best), self.intervals + self.arms // 2
        check_shape(self.arms, self.intervals)
        inside = all(1 <= level <= self.intervals for level in self.best)
        require(inside, f"hard instance: levels must lie in 1..{self.intervals}, got {list(self.best)}")
        require(total == wanted, f"hard instance: levels must add up to N_p + K/2 = {wanted}, got {total}")

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return len(self.best)

    @property
    def eps(self) -> float:
        """Height and half the width of a bump."""
        return 1.0 / (2 * self.intervals)

    @property
    def allocation(self) -> Floats:
        """p*: the centre of each arm's bump, (2 l* - 1) eps."""
        return (2.0 * np.array(self.best) - 1.0) * self.eps

    @property
    def grid_levels(self) -> int:
        """Levels of the coarsest grid that contains every possible p*: 2 N_p."""
        return 2 * self.intervals

    def problem(self, memory: float = 0.0) -> Problem:
        """As a problem: all arms are seen in every round (`split`), and there is no memory unless one is given."""
        impact: Impact = Discounted(memory) if memory else Instant()
        responses = [Bump(float(center), self.eps) for center in self.allocation]
        return Problem(responses, impact=impact, feedback="split", label="hard")

    def mean(self, levels: npt.ArrayLike) -> Floats:
        """The twin's mean rewards: 1/2, and 1/2 + eps at l*; arms on the last axis."""
        return np.where(np.asarray(levels) == np.array(self.best), 0.5 + self.eps, 0.5)


def check_shape(arms: int, intervals: int) -> None:
    """K even, and room for K intervals that add up to N_p + K/2."""
    require(arms >= 2 and arms % 2 == 0, f"hard instance: arms must be even, from 2, got {arms}")
    least = max(1, arms // 2)
    require(intervals >= least, f"hard instance: {arms} arms need at least {least} intervals, got {intervals}")


def draw_hard(arms: int, intervals: int, seed: int | np.random.SeedSequence = 0) -> HardInstance:
    """An instance with p* drawn uniformly from all that add up to one.

    >>> float(draw_hard(arms=4, intervals=6, seed=1).allocation.sum())
    1.0
    """
    check_shape(arms, intervals)
    random = np.random.default_rng(seed)
    # l_k - 1 >= 0 adds up to N_p - K/2: bars between stars, every arrangement equally likely.
    stars = intervals - arms // 2
    bars = np.sort(random.choice(stars + arms - 1, arms - 1, replace=False))
    edges = np.concatenate([[-1], bars, [stars + arms - 1]])
    return HardInstance(intervals, tuple(int(n) for n in np.diff(edges)))


def hard_intervals(horizon: int, arms: int, scale: float = 1.0) -> int:
    """N_p with which eps is closest to scale T^(-1/3), the order at which App. F's bound is reached (constant not stated)."""
    require(horizon >= 1 and scale > 0, f"hard instance: need horizon >= 1 and scale > 0, got {horizon} and {scale}")
    return max(1, arms // 2, round(math.pow(horizon, 1 / 3) / (2 * scale)))


def to_levels(allocations: npt.ArrayLike, instance: HardInstance) -> Ints:
    """App. F's routine between I and J: the interval each share falls into, arms on the last axis.

    Intervals are half open, so a share of one has none in the text; it counts for the last. What comes out need not add up to
    N_p + K/2 (it lies between N_p + 1 and N_p + K): the routine may leave the twin's set of actions.

    >>> to_levels([0.1, 0.4, 0.25, 0.25], HardInstance(4, (1, 2, 1, 2))).tolist()
    [1, 2, 2, 2]
    """
    shares = np.asarray(allocations, dtype=np.float64)
    levels = np.floor(shares * instance.intervals + 1e-9).astype(np.int64) + 1
    return np.clip(levels, 1, instance.intervals)


def to_allocation(levels: Sequence[int], instance: HardInstance) -> Floats:
    """The middles of the twin's intervals as an allocation; they must add up to one."""
    chosen = np.asarray(levels, dtype=np.int64)
    wanted = instance.intervals + instance.arms // 2
    require(int(chosen.sum()) == wanted, f"hard instance: levels must add up to {wanted}, got {int(chosen.sum())}")
    return np.asarray((2.0 * chosen - 1.0) * instance.eps, dtype=np.float64)


def hard_regret(allocations: npt.ArrayLike, instance: HardInstance) -> Floats:
    """App. F's regret, summed up round by round: K (1/2 + eps) minus the sum of r_k(p_k).

    `allocations` is a trace's, (rounds, arms) or (runs, rounds, arms). With a memory give the trace's impacts instead.
    """
    shares = np.asarray(allocations, dtype=np.float64)
    lost = np.minimum(np.abs(shares - instance.allocation), instance.eps)  # eps - max(0, eps - |p - p*|)
    return np.cumsum(lost.sum(axis=-1), axis=-1)


def twin_regret(allocations: npt.ArrayLike, instance: HardInstance) -> Floats:
    """What the twin loses on the same choices, mapped by `to_levels`: never more than `hard_regret` (App. F's lemma)."""
    missed = to_levels(allocations, instance) != np.array(instance.best)
    return np.cumsum(instance.eps * missed.sum(axis=-1), axis=-1)


@dataclass(frozen=True)
class HistoryAgainstAction:
    """App. G's inequality on one run: regret with the impact >= regret had every round paid r_k(p_k), minus a slack."""

    history_regret: float
    action_regret: float
    slack: float
    worst_round: float  # the most that the impact gained in a round over the share itself; above 0 only if not proper

    @property
    def holds(self) -> bool:
        """Does the inequality hold (up to rounding)?"""
        return self.history_regret >= self.action_regret - self.slack - 1e-9 * max(1.0, abs(self.action_regret))


def compare_history_with_action(problem: Problem, allocations: npt.ArrayLike) -> HistoryAgainstAction:
    """Check App. G's inequality on a run's allocations, (rounds, arms), under the discounted average (2).

    The text proves it for strictly proper responses, and prints it strict; where the impact equals the share in every round
    (no memory, or an allocation that never changes) both sides are equal.
    """
    shares = np.asarray(allocations, dtype=np.float64)
    memory = problem.memory
    plain = all(isinstance(i, (Instant, Discounted)) and i.g is None for i in problem.impacts)
    require(
        plain and memory is not None, "App. G's inequality is about the discounted average: give Discounted(memory)"
    )
    assert memory is not None
    require(len({i.rate for i in problem.impacts}) == 1, "App. G's inequality needs one memory for all arms")
    require(
        shares.ndim == 2 and shares.shape[1] == problem.arms and len(shares) > 0,
        f"one run's allocations are (rounds, {problem.arms}), got {shares.shape}",
    )
    impacts = discounted_average(shares, memory)
    acted, felt = np.zeros(len(shares)), np.zeros(len(shares))
    for k, curve in enumerate(problem.curves):
        acted += shares[:, k] * curve(shares[:, k])
        felt += shares[:, k] * curve(impacts[:, k])
    most = best_fixed(problem).utility * len(shares)
    slack = history_lower_slack(memory, len(shares), problem.arms, problem.lipschitz)
    return HistoryAgainstAction(most - float(felt.sum()), most - float(acted.sum()), slack, float((felt - acted).max()))
