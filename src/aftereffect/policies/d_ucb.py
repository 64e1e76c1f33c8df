"""Discounted UCB (Kocsis and Szepesvari 2006; Garivier and Moulines 2011), a baseline of App. I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats, Records, record
from aftereffect.policies.base import Policy, check_between, check_positive, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best, explain_arms
from aftereffect.policies.by_name import named
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting

FORGOTTEN = 1e-280  # a discounted count below this is as good as none, and dividing by it would overflow


SETTINGS = np.dtype([("discount", "f8"), ("xi", "f8")])
ARM = np.dtype(
    [("count", "f8"), ("reward", "f8"), ("index", "f8")], align=True
)  # observations and rewards are discounted


class DUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    arms: Records


def ask(state: DUCBState, t: int, allocation: Floats) -> None:
    arms = state.arms
    total = 0.0
    for k in range(arms.shape[0]):
        total += arms[k].count
    spread = 2.0 * math.sqrt(state.settings[0].xi * math.log(total)) if total > 1.0 else 0.0
    for k in range(arms.shape[0]):
        arm = arms[k]
        if arm.count > FORGOTTEN:
            arm.index = arm.reward / arm.count + spread / math.sqrt(arm.count)
        else:
            arm.index = math.inf
    deploy_best(arms["index"], allocation, state.rng)


def tell(state: DUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    discount = state.settings[0].discount
    for k in range(allocation.shape[0]):
        arm = state.arms[k]
        arm.count = discount * arm.count + seen[k]
        arm.reward = discount * arm.reward + seen[k] * reward[k]


register_rule(
    DUCBState,
    ask,
    tell,
    version=2,
    migrations={
        1: named(constants=("settings.discount", "settings.xi"), tally=("arms.count", "arms.reward", "arms.index"))
    },
)


@register
@dataclass(frozen=True)
class DUCB(Policy):
    """Discounted UCB over base arms; with discount .8 at most 5 effective samples, in effect round-robin.

    Index: discounted mean + 2 sqrt(xi ln n_t / N_t(k)), n_t the sum of the discounted counts N_t(k).

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}, {"allocation": [0, 1], "rewards": [None, 0.5]}]
    >>> arms = DUCB().start(arms=2, history=told).explain()["arms"]
    >>> [round(arm["index"], 4) for arm in arms]  # n is .8 + 1
    [2.7143, 2.0333]
    """

    name: ClassVar[str] = "d-ucb"
    only_stage: ClassVar[str] = "index"
    resizes: ClassVar[bool] = True
    paper: ClassVar[bool] = True
    one_hot: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#D55E00", "v")
    discount: float = 0.8
    xi: float = 1.0

    def __post_init__(self) -> None:
        check_between(self, 0, 1, discount=self.discount)
        check_positive(self, xi=self.xi)

    def state(self, setting: Setting) -> DUCBState:
        refuse_limits(self, setting)
        settings = record(SETTINGS, discount=self.discount, xi=self.xi)
        return DUCBState(setting.rng.copy(), settings, np.zeros(setting.arms, dtype=ARM))

    def explain(self, state: DUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts = state.arms["count"]
        return explain_arms(
            state.arms["index"], state.arms["reward"] / np.maximum(counts, FORGOTTEN), counts, allocation
        )
