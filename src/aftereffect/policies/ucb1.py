"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002), of the mean-converging family that App. C shows to fail here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats, Records, record
from aftereffect.policies.base import Policy, check_positive, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best, explain_arms
from aftereffect.policies.by_name import named
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting

SETTINGS = np.dtype([("scale", "f8")])
ARM = np.dtype([("count", "f8"), ("reward", "f8"), ("index", "f8")])


class UCB1State(NamedTuple):
    rng: Words
    settings: Records  # one record
    arms: Records


def ask(state: UCB1State, t: int, allocation: Floats) -> None:
    arms = state.arms
    total = 0.0
    for k in range(arms.shape[0]):
        total += arms[k].count
    spread = state.settings[0].scale * math.sqrt(2.0 * math.log(max(1.0, total)))
    for k in range(arms.shape[0]):
        arm = arms[k]
        n = arm.count
        arm.index = arm.reward / n + spread / math.sqrt(n) if n > 0.0 else math.inf
    deploy_best(arms["index"], allocation, state.rng)


def tell(state: UCB1State, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    for k in range(allocation.shape[0]):
        arm = state.arms[k]
        arm.count += seen[k]
        arm.reward += seen[k] * reward[k]


register_rule(
    UCB1State,
    ask,
    tell,
    version=2,
    migrations={1: named(scale=("settings.scale",), tally=("arms.count", "arms.reward", "arms.index"))},
)


@register
@dataclass(frozen=True)
class UCB1(Policy):
    """UCB1 over base arms: mean + scale sqrt(2 ln n / n_k), n all observations so far.

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}, {"allocation": [0, 1], "rewards": [None, 0.5]}]
    >>> arms = UCB1().start(arms=2, history=told).explain()["arms"]
    >>> [round(arm["index"], 4) for arm in arms]  # sqrt(2 ln 2) above the means
    [2.1774, 1.6774]
    """

    name: ClassVar[str] = "ucb1"
    only_stage: ClassVar[str] = "index"
    resizes: ClassVar[bool] = True
    paper: ClassVar[bool] = True
    one_hot: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#8C6D1F", "<")
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, scale=self.scale)

    def state(self, setting: Setting) -> UCB1State:
        refuse_limits(self, setting)
        settings = record(SETTINGS, scale=self.scale)
        return UCB1State(setting.rng.copy(), settings, np.zeros(setting.arms, dtype=ARM))

    def explain(self, state: UCB1State, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts = state.arms["count"]
        return explain_arms(state.arms["index"], state.arms["reward"] / np.maximum(counts, 1e-300), counts, allocation)
