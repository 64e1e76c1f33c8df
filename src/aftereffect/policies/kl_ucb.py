"""KL-UCB: a proven bound per cell, shared between levels, held in epochs; the policy with a guarantee.

Assumptions. Rewards lie in [0, 1]; given the past, arm k's have mean r_k(f_k(t)), whether or how often it is observed;
every r_k is Lipschitz with constant L; the impact forgets at least as fast as `memory` says: |f_k(t) - p_k(t)| is at
most memory |f_k(t-1) - p_k(t)| (the discounted average does so, with its own memory or any larger one).

1. *Lag*. D_k(t) = memory min(1, D_k(t-1) + |p_k(t) - p_k(t-1)|) bounds |f_k(t) - p_k(t)|. An observation is booked at
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
from aftereffect.model.curves import Floats, Records, record
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
from aftereffect.policies.by_name import named
from aftereffect.policies.grid import deploy_levels, level_of, make_grid, most_tuned, runner_up
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import kl_levels

USUAL_HORIZON = 100_000  # sets the grid when no horizon is given; the bounds themselves hold at all times
GROWTH = 1.2  # an allocation is held until some cell has this many times the observations it had ..
PATIENCE = 4.0  # .. and this many times as many more as the memory is long, 1/(1 - memory): transients stay rare
ROUNDING = 1e-9  # of a step: shares such as 3/20 are not exact in binary

SETTINGS = np.dtype(
    [
        ("memory", "f8"),
        ("slope", "f8"),  # Lipschitz constant per step of the grid
        ("log", "f8"),  # ln(2 K (N + 1) / delta)
        ("least", "f8"),  # least growth of a count within an epoch
    ]
)
NOW = np.dtype([("renew", "i8"), ("epoch", "i8")])  # is a choice due, epochs begun
ARM = np.dtype([("share", "f8"), ("lag", "f8")])  # last deployed, how far the impact may be from it
CELL = np.dtype(
    [("count", "f8"), ("reward", "f8"), ("bound", "f8"), ("due", "f8")]
)  # due: the count that ends the epoch
BEFORE = np.dtype([("count", "f8"), ("reward", "f8"), ("moment", "f8")])  # summed over the levels before one


class KLUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    now: Records  # one record
    low: Ints  # lowest and highest levels
    high: Ints
    levels: Ints  # held now
    arms: Records
    cells: Records  # (arms, N + 1)
    value: Floats  # (arms, N + 1): share times bound
    before: Records  # (N + 2,), workspace
    work: Floats  # (arms, N + 1), for the oracle


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
def add_up(cells: Records, k: int, before: Records) -> None:
    """Observations, rewards and observations times level, summed over the levels before each."""
    for j in range(cells.shape[1]):
        so_far, upto, cell = before[j], before[j + 1], cells[k, j]
        upto.count = so_far.count + cell.count
        upto.reward = so_far.reward + cell.reward
        upto.moment = so_far.moment + cell.count * j


@helper
def pooled_bound(before: Records, j: int, first: int, last: int, raised: float, log: float, known: float) -> float:
    """The bound at level j from the observations at levels first to last, if below the one `known`.

    `raised` is what the Lipschitz condition allows per level of distance; `log` is ln(1/d).
    """
    start, middle, end = before[first], before[j], before[last + 1]
    n = end.count - start.count
    if n <= 0.0:
        return known
    above = (end.moment - middle.moment) - j * (end.count - middle.count)
    below = j * (middle.count - start.count) - (middle.moment - start.moment)
    stretch = 1.0 + raised * max(j - first, last - j)
    mean = (end.reward - start.reward + raised * (above + below)) / (n * stretch)
    budget = (log + 0.5 * math.log(1.0 + math.pi * n)) / n
    beaten = known / stretch
    if mean >= beaten or (beaten < 1.0 and bernoulli_kl(mean, beaten) <= budget):
        return known  # a look at one divergence saves the search for the bound
    return min(known, stretch * kl_upper(mean, budget))


@kernel
def learn_bounds(cells: Records, k: int, raised: float, log: float, before: Records) -> None:
    """Arm k's bounds from all that was booked for it."""
    count = cells.shape[1] - 1
    add_up(cells, k, before)
    for j in range(count + 1):
        best = pooled_bound(before, j, first=j, last=j, raised=raised, log=log, known=1.0)
        spent, width = log, 1
        while width <= count:
            spent += math.log(2.0)
            first, last = max(0, j - width), min(count, j + width)
            best = pooled_bound(before, j, first=first, last=last, raised=raised, log=spent, known=best)
            width *= 2
        cells[k, j].bound = best
    for j in range(1, count + 1):
        cells[k, j].bound = min(cells[k, j].bound, cells[k, j - 1].bound + raised)
    for j in range(count - 1, -1, -1):
        cells[k, j].bound = min(cells[k, j].bound, cells[k, j + 1].bound + raised)


def ask(state: KLUCBState, t: int, allocation: Floats) -> None:
    cells, value, settings, now = state.cells, state.value, state.settings[0], state.now[0]
    count = cells.shape[1] - 1
    if now.renew == 1:
        for k in range(cells.shape[0]):
            learn_bounds(cells, k, settings.slope, settings.log, state.before)
            for j in range(count + 1):
                cell = cells[k, j]
                value[k, j] = (j / count) * cell.bound
                cell.due = max(GROWTH * cell.count, cell.count + settings.least)
        best_plain(value, state.low, state.high, state.work, state.levels, state.rng)
        now.renew = 0
        now.epoch += 1
    deploy_levels(state.levels, count, allocation)


@helper
def lag_behind(arms: Records, k: int, share: float, memory: float) -> float:
    """How far arm k's impact may be from the share deployed now."""
    arm = arms[k]
    arm.lag = memory * min(1.0, arm.lag + abs(share - arm.share))
    arm.share = share
    return float(arm.lag)


def tell(state: KLUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    cells, memory = state.cells, state.settings[0].memory
    count = cells.shape[1] - 1
    for k in range(allocation.shape[0]):
        share = allocation[k]
        level = level_of(share, count)
        off = (lag_behind(state.arms, k, share, memory) + abs(share - level / count)) * count
        if seen[k] > 0.0 and off <= 0.5 + ROUNDING:
            cell = cells[k, level]
            cell.count += seen[k]
            cell.reward += seen[k] * reward[k]
            if cell.count >= cell.due:
                state.now[0].renew = 1


def skip(state: KLUCBState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        lag_behind(state.arms, k, allocation[k], state.settings[0].memory)


register_rule(
    KLUCBState,
    ask,
    tell,
    skip,
    scratch=("before", "work"),
    version=2,
    migrations={
        1: named(
            codes=("now.renew", "now.epoch"),
            constants=("settings.memory", "settings.slope", "settings.log", "settings.least"),
            bounds=("low", "high"),
            path=("arms.share", "arms.lag"),
            cells=("cells.count", "cells.reward", "cells.bound", "value", "cells.due"),
        )
    },
)


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
        if problem.shock is not None and (problem.units or 1) > 1:
            found.append("its bounds count a round's units as independent, but they share the round's shock")
        return found

    def state(self, setting: Setting) -> KLUCBState:
        grid, arms, memory = self.grid(setting), setting.arms, need_memory(self, self.memory, setting)
        log = math.log(2.0 * arms * (grid.levels + 1) / self.delta)
        least = math.ceil(PATIENCE / (1.0 - memory))
        anywhere = np.zeros(arms, dtype=ARM)
        anywhere["lag"] = 1.0  # nothing is known about the past: the impact may be far away
        return KLUCBState(
            rng=setting.rng.copy(),
            settings=record(SETTINGS, memory=memory, slope=self.lipschitz / grid.levels, log=log, least=least),
            now=record(NOW, renew=1),
            low=grid.low.copy(),
            high=grid.high.copy(),
            levels=np.zeros(arms, dtype=np.int64),
            arms=anywhere,
            cells=np.zeros((arms, grid.levels + 1), dtype=CELL),
            value=np.zeros((arms, grid.levels + 1)),
            before=np.zeros(grid.levels + 2, dtype=BEFORE),
            work=np.zeros((arms, grid.levels + 1)),
        )

    def check_state(self, state: KLUCBState, fresh: KLUCBState) -> None:
        renew, steps = state.now["renew"], state.value.shape[1] - 1
        require_sense("levels", bool(renew[0] == 1 or state.levels.sum() == steps), state.levels)
        require_sense("now.renew", renew[0] in (0, 1), renew)
        require_sense("now.epoch", bool(state.now["epoch"][0] >= 0), state.now["epoch"])

    def explain(self, state: KLUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid, slope = self.grid(setting), state.settings["slope"][0]
        arms = []
        for k, level in enumerate(state.levels.tolist()):
            cell = state.cells[k, level]
            n = float(cell["count"])
            arms.append(
                {
                    "level": level,
                    "share": level / grid.levels,
                    "observations": n,
                    "estimate": float(cell["reward"] / n) if n else None,
                    "bound": float(min(1.0, cell["bound"] + 0.5 * slope)),
                    "impact_within": float(state.arms["lag"][k]),
                    "observations_to_go": max(0.0, float(cell["due"] - n)),
                }
            )
        return {
            "epoch": int(state.now["epoch"][0]),
            "arms": arms,
            "index": float(sum(state.value[k, level] for k, level in enumerate(state.levels))),
            "runner_up": runner_up(state.value, None, grid, state.levels),
        }
