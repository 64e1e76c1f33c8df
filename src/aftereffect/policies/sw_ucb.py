"""Sliding-window UCB (Garivier and Moulines 2011), a baseline of App. I."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.errors import require_whole
from aftereffect.model.curves import Floats
from aftereffect.policies.base import Policy, check_positive, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best, explain_arms
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting

MOST_ROUNDS = 10_000_000  # every round of the window is kept


class SWUCBState(NamedTuple):
    rng: Words
    xi: Floats
    tally: Floats  # (3, arms): observations and reward sums within the window, indices
    ring: Floats  # (window, 2, arms): each round's observations and reward sums


def ask(state: SWUCBState, t: int, allocation: Floats) -> None:
    tally = state.tally
    arms, window = allocation.shape[0], state.ring.shape[0]
    spread = 2.0 * math.sqrt(state.xi[0] * math.log(min(t, window)))
    for k in range(arms):
        n = tally[0, k]
        tally[2, k] = tally[1, k] / n + spread / math.sqrt(n) if n > 0.0 else math.inf
    deploy_best(tally[2], allocation, state.rng)


def tell(state: SWUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tally, ring = state.tally, state.ring
    arms, window = allocation.shape[0], ring.shape[0]
    slot = (t - 1) % window
    for k in range(arms):
        gained = seen[k] * reward[k]
        tally[0, k] += seen[k] - ring[slot, 0, k]
        tally[1, k] += gained - ring[slot, 1, k]
        ring[slot, 0, k] = seen[k]
        ring[slot, 1, k] = gained
    if slot == window - 1:  # add up afresh once a lap: rounding errors must not pile up
        for k in range(arms):
            n, total = 0.0, 0.0
            for i in range(window):
                n += ring[i, 0, k]
                total += ring[i, 1, k]
            tally[0, k] = n
            tally[1, k] = total


register_rule(SWUCBState, ask, tell)


@register
@dataclass(frozen=True)
class SWUCB(Policy):
    """Sliding-window UCB over base arms: only the last `window` rounds count.

    Index: mean over the window + 2 sqrt(xi ln min(t, window) / N_t(k)).

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}, {"allocation": [0, 1], "rewards": [None, 0.5]}]
    >>> arms = SWUCB(window=1).start(arms=2, history=told).explain()["arms"]
    >>> [arm["observations"] for arm in arms]
    [0.0, 1.0]
    """

    name: ClassVar[str] = "sw-ucb"
    resizes: ClassVar[bool] = True
    paper: ClassVar[bool] = True
    one_hot: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#E69F00", "^")
    window: int = 200
    xi: float = 1.0

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(window=20)]

    def __post_init__(self) -> None:
        require_whole("sw-ucb: window", self.window, 1, MOST_ROUNDS)
        check_positive(self, xi=self.xi)

    def state(self, setting: Setting) -> SWUCBState:
        refuse_limits(self, setting)
        ring = np.zeros((self.window, 2, setting.arms))
        return SWUCBState(setting.rng.copy(), np.array([self.xi]), np.zeros((3, setting.arms)), ring)

    def explain(self, state: SWUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts, sums, index = state.tally
        return explain_arms(index, sums / np.maximum(counts, 1e-300), counts, allocation)
