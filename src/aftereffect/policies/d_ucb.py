"""Discounted UCB (Kocsis and Szepesvari 2006; Garivier and Moulines 2011), a baseline of App. I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.policies.base import Policy, check_between, check_positive, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best, explain_arms
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting

FORGOTTEN = 1e-280  # a discounted count below this is as good as none, and dividing by it would overflow


class DUCBState(NamedTuple):
    rng: Words
    constants: Floats  # discount, xi
    tally: Floats  # (3, arms): discounted counts, discounted reward sums, indices


def ask(state: DUCBState, t: int, allocation: Floats) -> None:
    tally = state.tally
    counts, sums, index = tally[0], tally[1], tally[2]
    arms = allocation.shape[0]
    total = 0.0
    for k in range(arms):
        total += counts[k]
    spread = 2.0 * math.sqrt(state.constants[1] * math.log(total)) if total > 1.0 else 0.0
    for k in range(arms):
        if counts[k] > FORGOTTEN:
            index[k] = sums[k] / counts[k] + spread / math.sqrt(counts[k])
        else:
            index[k] = math.inf
    deploy_best(index, allocation, state.rng)


def tell(state: DUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tally, discount = state.tally, state.constants[0]
    for k in range(allocation.shape[0]):
        tally[0, k] = discount * tally[0, k] + seen[k]
        tally[1, k] = discount * tally[1, k] + seen[k] * reward[k]


register_rule(DUCBState, ask, tell)


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
        constants = np.array([self.discount, self.xi])
        return DUCBState(setting.rng.copy(), constants, np.zeros((3, setting.arms)))

    def explain(self, state: DUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts, sums, index = state.tally
        return explain_arms(index, sums / np.maximum(counts, FORGOTTEN), counts, allocation)
