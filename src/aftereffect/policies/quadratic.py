"""What an analyst does with a spreadsheet: some random weeks, a parabola per arm, its best split. A baseline of the weekly arena.

Each arm's reward is regressed on the share it had by a parabola, weighted by observations; the best split of the fitted
curves on a grid is deployed from then on, and every week is added to the data. It knows nothing of impact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats, Records, record
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import Policy, check_whole, register
from aftereffect.policies.base_arms import project
from aftereffect.policies.by_name import cut, named
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.rules import Saved, register_rule
from aftereffect.policies.setting import Grid, Setting

TERMS = 3  # 1, share, share^2
RIDGE = 1e-9  # shares that hardly vary leave the parabola open: then it is flat


POWERS = 2 * TERMS - 1
SETTINGS = np.dtype([("weeks", "i8")])  # that are random


class QuadraticState(NamedTuple):
    rng: Words
    settings: Records  # one record
    powers: Floats  # (arms, POWERS): sums of share^0, share^1, .. over the observations
    products: Floats  # (arms, TERMS): sums of the reward times these
    value: Floats  # (arms, N + 1): share times the fitted reward
    low: Ints  # lowest and highest levels
    high: Ints
    levels: Ints
    floors: Floats
    caps: Floats
    work: Floats  # (arms, at least 3; N + 1, at least 4), for the equations and for the oracle


@helper
def fit(powers: Floats, products: Floats, k: int, work: Floats) -> None:
    """The parabola of least squares, by elimination; its coefficients are left in column TERMS of the first TERMS rows."""
    for i in range(TERMS):
        for j in range(TERMS):
            work[i, j] = powers[k, i + j]
        work[i, i] += RIDGE * (1.0 + powers[k, 0])
        work[i, TERMS] = products[k, i]
    for i in range(TERMS):  # positive definite: no pivoting needed
        for row in range(TERMS):
            if row != i:
                factor = work[row, i] / work[i, i]
                for j in range(i, TERMS + 1):
                    work[row, j] -= factor * work[i, j]
    for i in range(TERMS):
        work[i, TERMS] /= work[i, i]


@helper
def deploy_random(rng: Words, floors: Floats, caps: Floats, allocation: Floats) -> None:
    """A split drawn uniformly, moved into the limits."""
    total = 0.0
    for k in range(allocation.shape[0]):
        allocation[k] = -math.log(1.0 - uniform(rng)) + 1e-300
        total += allocation[k]
    for k in range(allocation.shape[0]):
        allocation[k] /= total
    project(allocation, floors, caps)


def ask(state: QuadraticState, t: int, allocation: Floats) -> None:
    value, work = state.value, state.work
    count = value.shape[1] - 1
    if t <= state.settings[0].weeks:
        deploy_random(state.rng, state.floors, state.caps, allocation)
        return
    for k in range(value.shape[0]):
        fit(state.powers, state.products, k, work)
        constant, slope, bend = work[0, TERMS], work[1, TERMS], work[2, TERMS]
        for j in range(count + 1):
            share = j / count
            value[k, j] = share * min(1.0, max(0.0, constant + share * (slope + share * bend)))
    best_plain(value, state.low, state.high, work, state.levels, state.rng)
    deploy_levels(state.levels, count, allocation)


def tell(state: QuadraticState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    for k in range(allocation.shape[0]):
        power = seen[k]
        for i in range(POWERS):
            state.powers[k, i] += power
            if i < TERMS:
                state.products[k, i] += power * reward[k]
            power *= allocation[k]


def name_sums(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 1 had no names; of each arm it held the powers and then the products."""
    arms = cut("moments", saved.pop("moments"), len(fresh["floors"]))
    saved["powers"] = [number for arm in arms for number in arm[:POWERS]]
    saved["products"] = [number for arm in arms for number in arm[POWERS:]]
    named(weeks=("settings.weeks",), bounds=("low", "high"), limits=("floors", "caps"))(saved, fresh)


register_rule(QuadraticState, ask, tell, scratch=("work",), version=2, migrations={1: name_sums})


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
            settings=record(SETTINGS, weeks=self.weeks),
            powers=np.zeros((arms, POWERS)),
            products=np.zeros((arms, TERMS)),
            value=np.zeros((arms, grid.levels + 1)),
            low=grid.low.copy(),
            high=grid.high.copy(),
            levels=np.zeros(arms, dtype=np.int64),
            floors=limits.floors.copy(),
            caps=limits.caps.copy(),
            work=np.zeros((max(arms, TERMS), grid.levels + 1)),
        )

    def stage(self, state: QuadraticState, t: int) -> str:
        return "random weeks" if t <= self.weeks else "best of the fit"

    def explain(self, state: QuadraticState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        room, arms = np.zeros((TERMS, TERMS + 1)), []
        for k in range(setting.arms):
            fit(state.powers, state.products, k, room)
            arms.append({"observations": float(state.powers[k, 0]), "parabola": room[:, TERMS].tolist()})
        return {"arms": arms}
