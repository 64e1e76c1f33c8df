"""Arm Thompson deployed as a split: what A/B-testing tools do with several arms. A baseline of the weekly arena.

Each arm's share is its probability of having the best mean, under Beta posteriors of plain arm means. It knows nothing of
impact: an arm that is worth much while it has little looks the same as one that is worth much always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words, beta
from aftereffect.model.curves import Floats, Records, record
from aftereffect.policies.base import Policy, check_whole, register
from aftereffect.policies.base_arms import project
from aftereffect.policies.by_name import named
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting
from aftereffect.policies.thompson import check_tally, explain_tally, tell

SETTINGS = np.dtype([("draws", "f8")])  # how many the probabilities are measured with
ARM = np.dtype([("successes", "f8"), ("failures", "f8")])


class ThompsonSplitState(NamedTuple):
    rng: Words
    settings: Records  # one record
    arms: Records
    floors: Floats
    caps: Floats


def ask(state: ThompsonSplitState, t: int, allocation: Floats) -> None:
    arms, draws = state.arms, state.settings[0].draws
    for k in range(allocation.shape[0]):
        allocation[k] = 0.0
    for _ in range(int(draws)):
        best, highest = 0, -1.0
        for k in range(allocation.shape[0]):
            drawn = beta(state.rng, arms[k].successes + 1.0, arms[k].failures + 1.0)
            if drawn > highest:
                best, highest = k, drawn
        allocation[best] += 1.0 / draws
    project(allocation, state.floors, state.caps)


register_rule(
    ThompsonSplitState,
    ask,
    tell,
    version=2,
    migrations={
        1: named(draws=("settings.draws",), tally=("arms.successes", "arms.failures"), limits=("floors", "caps"))
    },
)


@register
@dataclass(frozen=True)
class ThompsonSplit(Policy):
    """Arm Thompson as a split: each arm's share is its probability of being best under Beta posteriors of arm means.

    The probabilities are measured with so many `draws`; floors and caps are kept by moving to the nearest split that does.

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}]
    >>> agent = ThompsonSplit(draws=10_000).start(arms=2, seed=1, history=told)
    >>> agent.ask().round(2).tolist()  # Beta(2, 1) is above Beta(1, 1) with probability 2/3
    [0.67, 0.33]
    """

    name: ClassVar[str] = "thompson-split"
    only_stage: ClassVar[str] = "chance"
    arenas: ClassVar[tuple[str, ...]] = ("weekly",)
    draws: int = 200

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(draws=20)]

    def __post_init__(self) -> None:
        check_whole(self, 1, draws=self.draws)

    def state(self, setting: Setting) -> ThompsonSplitState:
        limits = setting.limits
        return ThompsonSplitState(
            rng=setting.rng.copy(),
            settings=record(SETTINGS, draws=self.draws),
            arms=np.zeros(setting.arms, dtype=ARM),
            floors=limits.floors.copy(),
            caps=limits.caps.copy(),
        )

    def check_state(self, state: ThompsonSplitState, fresh: ThompsonSplitState) -> None:
        check_tally(state.arms)

    def explain(self, state: ThompsonSplitState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return {"arms": explain_tally(state.arms)}
