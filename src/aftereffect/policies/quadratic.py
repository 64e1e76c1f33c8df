"""What an analyst does with a spreadsheet: some random weeks, a parabola per arm, its best split. A baseline of the weekly arena.

Each arm's reward is regressed on the share it had by a parabola, weighted by observations; the best split of the fitted
curves on a grid is deployed from then on, and every week is added to the data. It knows nothing of impact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import Policy, check_whole, register
from aftereffect.policies.base_arms import project
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Grid, Setting

TERMS = 3  # 1, share, share^2
RIDGE = 1e-9  # shares that hardly vary leave the parabola open: then it is flat


class QuadraticState(NamedTuple):
    rng: Words
    weeks: Ints  # that are random
    moments: (
        Floats  # (arms, 8): sums of share^0 to share^4, and of the reward times share^0 to share^2, by observations
    )
    value: Floats  # (arms, N + 1): share times the fitted reward
    bounds: Ints  # (2, arms): lowest and highest level
    levels: Ints
    limits: Floats  # (2, arms): floors, caps
    work: Floats  # (arms, at least 3; N + 1, at least 4), for the equations and for the oracle


@helper
def fit(moments: Floats, k: int, work: Floats) -> None:
    """The parabola of least squares, by elimination; its coefficients are left in work[0..2, 3]."""
    for i in range(TERMS):
        for j in range(TERMS):
            work[i, j] = moments[k, i + j]
        work[i, i] += RIDGE * (1.0 + moments[k, 0])
        work[i, TERMS] = moments[k, 5 + i]
    for i in range(TERMS):  # positive definite: no pivoting needed
        for row in range(TERMS):
            if row != i:
                factor = work[row, i] / work[i, i]
                for j in range(i, TERMS + 1):
                    work[row, j] -= factor * work[i, j]
    for i in range(TERMS):
        work[i, TERMS] /= work[i, i]


@helper
def deploy_random(rng: Words, limits: Floats, allocation: Floats) -> None:
    """A split drawn uniformly, moved into the limits."""
    total = 0.0
    for k in range(allocation.shape[0]):
        allocation[k] = -math.log(1.0 - uniform(rng)) + 1e-300
        total += allocation[k]
    for k in range(allocation.shape[0]):
        allocation[k] /= total
    project(allocation, limits[0], limits[1])


def ask(state: QuadraticState, t: int, allocation: Floats) -> None:
    value, work = state.value, state.work
    count = value.shape[1] - 1
    if t <= state.weeks[0]:
        deploy_random(state.rng, state.limits, allocation)
        return
    for k in range(value.shape[0]):
        fit(state.moments, k, work)
        constant, slope, bend = work[0, TERMS], work[1, TERMS], work[2, TERMS]
        for j in range(count + 1):
            share = j / count
            value[k, j] = share * min(1.0, max(0.0, constant + share * (slope + share * bend)))
    best_plain(value, state.bounds[0], state.bounds[1], work, state.levels, state.rng)
    deploy_levels(state.levels, count, allocation)


def tell(state: QuadraticState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    moments = state.moments
    for k in range(allocation.shape[0]):
        power = seen[k]
        for i in range(5):
            moments[k, i] += power
            if i < TERMS:
                moments[k, 5 + i] += power * reward[k]
            power *= allocation[k]


register_rule(QuadraticState, ask, tell, scratch=("work",))


@register
@dataclass(frozen=True)
class QuadraticFit(Policy):
    """A parabola per arm on its share, fitted after some random weeks; then always the best split of the fitted curves.

    `weeks` are random; `levels` is the grid that the best split is looked for on.

    >>> told = [{"allocation": [x, 1 - x], "rewards": [x * (1 - x), 0.1]} for x in (0.1, 0.3, 0.5, 0.9)]
    >>> fitted = QuadraticFit(weeks=4).start(arms=2, feedback="split", history=told)
    >>> fitted.ask().tolist()  # x^2 (1 - x) + .1 (1 - x) is largest at .61
    [0.62, 0.38]
    """

    name: ClassVar[str] = "quadratic"
    arenas: ClassVar[tuple[str, ...]] = ("weekly",)
    weeks: int = 16
    levels: int = 50

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(weeks=10, levels=20)]

    def __post_init__(self) -> None:
        check_whole(self, 1, weeks=self.weeks)
        check_whole(self, 4, levels=self.levels)

    def grid(self, setting: Setting) -> Grid:
        return make_grid(self, setting, self.levels, True, None)

    def state(self, setting: Setting) -> QuadraticState:
        grid, arms, limits = self.grid(setting), setting.arms, setting.limits
        return QuadraticState(
            rng=setting.rng.copy(),
            weeks=np.array([self.weeks]),
            moments=np.zeros((arms, 8)),
            value=np.zeros((arms, grid.levels + 1)),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(arms, dtype=np.int64),
            limits=np.stack([limits.floors, limits.caps]),
            work=np.zeros((max(arms, TERMS), grid.levels + 1)),
        )

    def stage(self, state: QuadraticState, t: int) -> str:
        return "random weeks" if t <= self.weeks else "best of the fit"

    def explain(self, state: QuadraticState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        room, arms = np.zeros((TERMS, TERMS + 1)), []
        for k in range(setting.arms):
            fit(state.moments, k, room)
            arms.append({"observations": float(state.moments[k, 0]), "parabola": room[:, TERMS].tolist()})
        return {"arms": arms}
