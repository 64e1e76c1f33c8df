"""KL-UCB: a proven bound per cell, shared between levels, held in epochs; the policy with a guarantee.

Assumptions. Rewards lie in [0, 1]; given the past, arm k's have mean r_k(f_k(t)), whether or how often it is observed;
every r_k is Lipschitz with constant L; the impact forgets at least as fast as `memory` says: |f_k(t) - p_k(t)| is at
most memory |f_k(t-1) - p_k(t)| (the discounted average does so, with its own memory or any larger one).

1. *Drift*. D_k(t) = memory min(1, D_k(t-1) + |p_k(t) - p_k(t-1)|) bounds |f_k(t) - p_k(t)|. An observation is booked at
   level j only if D_k + |p_k - j/N| <= 1/(2N): the impact then lies in that level's bin, and the observation's mean
   differs from r_k(j/N) by at most b = L/(2N).
2. *Radius*. Let Y_1, Y_2, .. in [0, 1] have means, given the past, of at least q. With probability 1 - d, for all n at
   once: mean_n >= q or n kl(mean_n, q) < ln(sqrt(1 + pi n) / d). For: scale each Y_i down to mean q exactly; the
   average over Jeffreys' prior of theta of prod (theta/q)^Y ((1-theta)/(1-q))^(1-Y) is a supermartingale, because
   a^Y b^(1-Y) is convex in Y; it is at least exp(n kl(mean, q)) / sqrt(1 + pi n); Ville's inequality ends it.
3. *Sharing*. All observations booked within w levels of j, each raised by L times its distance and divided by
   1 + L w/N, are such Y with q = (r_k(j/N) - b) / (1 + L w/N). B_k(j) is the least bound of these over
   w = 0, 1, 2, 4, .. and of what the neighbours allow, B_k(i) + L |i - j|/N. The widths have d = delta / (K (N + 1))
   times 1/2, 1/4, 1/8, .., which sums to delta.

So with probability 1 - delta, at all times and in all cells, r_k(j/N) <= B_k(j) + b. As b is the same everywhere and
shares sum to one, the allocation that maximises sum p_k B_k is optimistic whatever b is. docs/policies.md has the proof
in full and goes on to the regret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import Window
from aftereffect.model.problem import Problem
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import (
    Policy,
    check_between,
    check_memory,
    check_positive,
    check_whole,
    need_memory,
    register,
)
from aftereffect.policies.grid import deploy_levels, level_of, make_grid, most_tuned, runner_up
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import kl_levels

USUAL_HORIZON = 100_000  # sets the grid when no horizon is given; the bounds themselves hold at all times
GROWTH = 1.2  # an allocation is held until some cell has this many times the observations it had ..
PATIENCE = 4.0  # .. and this many times as many more as the memory is long, 1/(1 - memory): transients stay rare
ROUNDING = 1e-9  # of a step: shares such as 3/20 are not exact in binary

# rows of `cells`
COUNT, SUM, BOUND, INDEX, DUE = 0, 1, 2, 3, 4
# entries of `codes`
RENEW, EPOCH = 0, 1
# entries of `constants`
MEMORY, SLOPE, LOG, LEAST = 0, 1, 2, 3
# rows of `path`
SHARE, DRIFT = 0, 1
# rows of `work`: sums over the levels before one
COUNTS, SUMS, MOMENTS = 0, 1, 2


class KLUCBState(NamedTuple):
    rng: Words
    codes: Ints  # is a choice due, epochs begun
    constants: Floats  # memory, Lipschitz constant per step, ln(2 K (N + 1) / delta), least growth of a count
    bounds: Ints  # (2, arms): lowest and highest level
    levels: Ints  # held now
    path: Floats  # (2, arms): share last deployed, how far the impact may be from it
    cells: Floats  # (5, arms, N + 1): observations, their sum, bound, p times bound, observations that end the epoch
    work: Floats  # (arms, at least 3; N + 2), for the sums over levels and for the oracle


@helper
def bernoulli_kl(mean: float, other: float) -> float:
    """kl(mean, other) for `other` inside (0, 1)."""
    found = 0.0
    if mean > 0.0:
        found += mean * math.log(mean / other)
    if mean < 1.0:
        found += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - other))
    return found


@kernel
def kl_upper(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) <= budget.

    Newton's steps from the right of it: kl is convex in q, so they come down to it and never pass it. They start from
    the better of two larger values, from kl >= 2 (q - mean)^2 and from kl >= (1 - mean) ln(1/(1 - q)) - entropy(mean).
    """
    if mean <= 0.0:
        return 1.0 - math.exp(-budget)
    if mean >= 1.0:
        return 1.0
    entropy = -mean * math.log(mean) - (1.0 - mean) * math.log(1.0 - mean)
    q = min(mean + math.sqrt(0.5 * budget), 1.0 - math.exp(-(budget + entropy) / (1.0 - mean)))
    for _ in range(60):
        if not mean < q < 1.0:
            break
        step = (bernoulli_kl(mean, q) - budget) * q * (1.0 - q) / (q - mean)
        if step < 1e-15:
            break
        q -= step
    return max(mean, q)


@helper
def add_up(cells: Floats, k: int, work: Floats) -> None:
    """Observations, rewards and observations times level, summed over the levels before each."""
    counts, sums, moments = work[COUNTS], work[SUMS], work[MOMENTS]
    counts[0], sums[0], moments[0] = 0.0, 0.0, 0.0
    for j in range(cells.shape[2]):
        counts[j + 1] = counts[j] + cells[COUNT, k, j]
        sums[j + 1] = sums[j] + cells[SUM, k, j]
        moments[j + 1] = moments[j] + cells[COUNT, k, j] * j


@helper
def pooled_bound(work: Floats, j: int, first: int, last: int, raised: float, log: float, known: float) -> float:
    """The bound at level j from the observations at levels first to last, if below the one `known`.

    `raised` is what the Lipschitz condition allows per level of distance; `log` is ln(1/d).
    """
    counts, sums, moments = work[COUNTS], work[SUMS], work[MOMENTS]
    n = counts[last + 1] - counts[first]
    if n <= 0.0:
        return known
    above = (moments[last + 1] - moments[j]) - j * (counts[last + 1] - counts[j])
    below = j * (counts[j] - counts[first]) - (moments[j] - moments[first])
    stretch = 1.0 + raised * max(j - first, last - j)
    mean = (sums[last + 1] - sums[first] + raised * (above + below)) / (n * stretch)
    budget = (log + 0.5 * math.log(1.0 + math.pi * n)) / n
    beaten = known / stretch
    if mean >= beaten or (beaten < 1.0 and bernoulli_kl(mean, beaten) <= budget):
        return known  # a look at one divergence saves the search for the bound
    return min(known, stretch * kl_upper(mean, budget))


@kernel
def learn_bounds(cells: Floats, k: int, raised: float, log: float, work: Floats) -> None:
    """Arm k's bounds from all that was booked for it."""
    count = cells.shape[2] - 1
    bound = cells[BOUND, k]
    add_up(cells, k, work)
    for j in range(count + 1):
        best = pooled_bound(work, j, j, j, raised, log, 1.0)
        spent, width = log, 1
        while width <= count:
            spent += math.log(2.0)
            best = pooled_bound(work, j, max(0, j - width), min(count, j + width), raised, spent, best)
            width *= 2
        bound[j] = best
    for j in range(1, count + 1):
        bound[j] = min(bound[j], bound[j - 1] + raised)
    for j in range(count - 1, -1, -1):
        bound[j] = min(bound[j], bound[j + 1] + raised)


def ask(state: KLUCBState, t: int, allocation: Floats) -> None:
    cells, codes, constants = state.cells, state.codes, state.constants
    count = cells.shape[2] - 1
    if codes[RENEW] == 1:
        for k in range(cells.shape[1]):
            learn_bounds(cells, k, constants[SLOPE], constants[LOG], state.work)
            for j in range(count + 1):
                n = cells[COUNT, k, j]
                cells[INDEX, k, j] = (j / count) * cells[BOUND, k, j]
                cells[DUE, k, j] = max(GROWTH * n, n + constants[LEAST])
        best_plain(cells[INDEX], state.bounds[0], state.bounds[1], state.work, state.levels, state.rng)
        codes[RENEW] = 0
        codes[EPOCH] += 1
    deploy_levels(state.levels, count, allocation)


@helper
def let_drift(path: Floats, k: int, share: float, memory: float) -> float:
    """How far arm k's impact may be from the share deployed now."""
    path[DRIFT, k] = memory * min(1.0, path[DRIFT, k] + abs(share - path[SHARE, k]))
    path[SHARE, k] = share
    return float(path[DRIFT, k])


def tell(state: KLUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    cells, memory = state.cells, state.constants[MEMORY]
    count = cells.shape[2] - 1
    for k in range(allocation.shape[0]):
        share = allocation[k]
        level = level_of(share, count)
        off = (let_drift(state.path, k, share, memory) + abs(share - level / count)) * count
        if seen[k] > 0.0 and off <= 0.5 + ROUNDING:
            n = cells[COUNT, k, level] + seen[k]
            cells[COUNT, k, level] = n
            cells[SUM, k, level] += seen[k] * reward[k]
            if n >= cells[DUE, k, level]:
                state.codes[RENEW] = 1


def skip(state: KLUCBState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        let_drift(state.path, k, allocation[k], state.constants[MEMORY])


register_rule(KLUCBState, ask, tell, skip, scratch=("work",))


@register
@dataclass(frozen=True)
class KLUCB(Policy):
    """KL bounds per cell that hold at all times with probability 1 - delta, shared between levels and held in epochs.

    `memory` may be an upper bound on the true one; `lipschitz` must be one on the slope of the responses: the guarantee
    hangs on both. `delta` is the probability that any bound ever fails. `levels` is N (default: (K T / (2 ln T))^(1/3),
    to the nearest ten); zero is on the grid.

    >>> KLUCB(memory=0.4).grid(Setting(arms=2, horizon=100_000)).levels  # (T / ln T)^(1/3) is 20.6
    20
    """

    name: ClassVar[str] = "kl-ucb"
    only_stage: ClassVar[str] = "index"
    arenas: ClassVar[tuple[str, ...]] = ("regret", "weekly")
    look: ClassVar[tuple[str, str] | None] = ("#117733", "d")
    memory: float | None = None
    lipschitz: float = 1.0
    delta: float = 0.05
    levels: int | None = None

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(memory=0.0, lipschitz=3.0, delta=0.5, levels=7)]

    def __post_init__(self) -> None:
        check_memory(self, self.memory)
        check_positive(self, lipschitz=self.lipschitz)
        check_between(self, 0, 1, delta=self.delta)
        check_whole(self, 1, levels=self.levels)

    def grid(self, setting: Setting) -> Grid:
        levels = self.levels
        if levels is None:
            horizon = USUAL_HORIZON if setting.horizon is None else setting.horizon
            levels = min(kl_levels(horizon, setting.arms), most_tuned(setting.arms))
        return make_grid(self, setting, levels, True, None)

    def doubts(self, problem: Problem) -> list[str]:
        found = []
        slope = max(curve.lipschitz for curve in (*problem.curves, *problem.later_curves))
        if slope > self.lipschitz * (1 + 1e-6):
            found.append(f"lipschitz={self.lipschitz:g} is below the steepest slope of the responses, {slope:.3g}")
        if self.memory is not None and problem.memory is not None and self.memory < problem.memory - 1e-9:
            found.append(f"memory={self.memory:g} is below the problem's, {problem.memory:g}, and bounds it no longer")
        if problem.follows_activations or any(isinstance(impact, Window) for impact in problem.impacts):
            found.append("its bounds are for impacts that follow the intended shares, without a window")
        if problem.moving is not None:
            found.append("its bounds are for responses that stay")
        return found

    def state(self, setting: Setting) -> KLUCBState:
        grid, arms, memory = self.grid(setting), setting.arms, need_memory(self, self.memory, setting)
        log = math.log(2.0 * arms * (grid.levels + 1) / self.delta)
        return KLUCBState(
            rng=setting.rng.copy(),
            codes=np.array([1, 0]),
            constants=np.array([memory, self.lipschitz / grid.levels, log, math.ceil(PATIENCE / (1.0 - memory))]),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(arms, dtype=np.int64),
            path=np.stack([np.zeros(arms), np.ones(arms)]),  # nothing is known about the past: it may be far away
            cells=np.zeros((5, arms, grid.levels + 1)),
            work=np.zeros((max(3, arms), grid.levels + 2)),
        )

    def check_state(self, state: KLUCBState, fresh: KLUCBState) -> None:
        steps = state.cells.shape[2] - 1
        whole = state.codes[RENEW] == 1 or state.levels.sum() == steps
        require_sense("levels", bool(whole), state.levels)
        require_sense("codes", bool(state.codes[RENEW] in (0, 1) and state.codes[EPOCH] >= 0), state.codes)

    def explain(self, state: KLUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid, cells = self.grid(setting), state.cells
        arms = []
        for k, level in enumerate(state.levels.tolist()):
            n = float(cells[COUNT, k, level])
            arms.append(
                {
                    "level": level,
                    "share": level / grid.levels,
                    "observations": n,
                    "estimate": float(cells[SUM, k, level] / n) if n else None,
                    "bound": float(min(1.0, cells[BOUND, k, level] + 0.5 * state.constants[SLOPE])),
                    "impact_within": float(state.path[DRIFT, k]),
                    "observations_to_go": max(0.0, float(cells[DUE, k, level] - n)),
                }
            )
        second = runner_up(cells[INDEX], None, grid, state.levels)
        return {
            "epoch": int(state.codes[EPOCH]),
            "arms": arms,
            "index": float(sum(cells[INDEX, k, level] for k, level in enumerate(state.levels))),
            "runner_up": None if second is None else {"allocation": second[0], "index": second[1]},
        }
