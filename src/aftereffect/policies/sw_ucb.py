"""Sliding-window UCB (Garivier and Moulines 2011), a baseline of App. I."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.errors import require_whole
from aftereffect.model.curves import Floats, Records, record
from aftereffect.policies.base import Policy, check_positive, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best, explain_arms
from aftereffect.policies.by_name import cut, named
from aftereffect.policies.rules import Saved, register_rule
from aftereffect.policies.setting import Setting

MOST_ROUNDS = 10_000_000  # every round of the window is kept


SETTINGS = np.dtype([("xi", "f8")])
# Within the window; taking away what leaves it may, by rounding, leave less than nothing until they are added up afresh.
ARM = np.dtype([("observed", "f8"), ("reward", "f8"), ("index", "f8")])
KEPT = np.dtype([("observed", "f8"), ("reward", "f8")])


class SWUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    arms: Records
    ring: Records  # (window, arms): what each round added


def ask(state: SWUCBState, t: int, allocation: Floats) -> None:
    arms, window = state.arms, state.ring.shape[0]
    spread = 2.0 * math.sqrt(state.settings[0].xi * math.log(min(t, window)))
    for k in range(arms.shape[0]):
        arm = arms[k]
        n = arm.observed
        arm.index = arm.reward / n + spread / math.sqrt(n) if n > 0.0 else math.inf
    deploy_best(arms["index"], allocation, state.rng)


def tell(state: SWUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    arms, ring = state.arms, state.ring
    window = ring.shape[0]
    slot = (t - 1) % window
    for k in range(arms.shape[0]):
        arm, oldest = arms[k], ring[slot, k]
        gained = seen[k] * reward[k]
        arm.observed += seen[k] - oldest.observed
        arm.reward += gained - oldest.reward
        oldest.observed = seen[k]
        oldest.reward = gained
    if slot == window - 1:  # add up afresh once a lap: rounding errors must not pile up
        for k in range(arms.shape[0]):
            n, total = 0.0, 0.0
            for i in range(window):
                n += ring[i, k].observed
                total += ring[i, k].reward
            arms[k].observed = n
            arms[k].reward = total


def name_ring(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 1 had no names; its ring held, round by round, all arms' observations and then their rewards."""
    rows = cut("ring", saved["ring"], 2 * len(fresh["ring"]))
    saved["ring"] = {"observed": list(chain(*rows[0::2])), "reward": list(chain(*rows[1::2]))}
    named(xi=("settings.xi",), tally=("arms.observed", "arms.reward", "arms.index"))(saved, fresh)


register_rule(SWUCBState, ask, tell, version=2, migrations={1: name_ring})


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
    only_stage: ClassVar[str] = "index"
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
        return SWUCBState(
            rng=setting.rng.copy(),
            settings=record(SETTINGS, xi=self.xi),
            arms=np.zeros(setting.arms, dtype=ARM),
            ring=np.zeros((self.window, setting.arms), dtype=KEPT),
        )

    def explain(self, state: SWUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts = state.arms["observed"]
        return explain_arms(state.arms["index"], state.arms["reward"] / np.maximum(counts, 1e-300), counts, allocation)
