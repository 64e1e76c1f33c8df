"""Thompson sampling with Beta posteriors, as in App. C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words, beta
from aftereffect.model.curves import Floats, Records
from aftereffect.policies.base import Policy, refuse_limits, register
from aftereffect.policies.base_arms import deploy_best
from aftereffect.policies.by_name import named
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Setting

ARM = np.dtype([("successes", "f8"), ("failures", "f8"), ("sample", "f8")])


class ThompsonState(NamedTuple):
    rng: Words
    arms: Records


def ask(state: ThompsonState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        arm = state.arms[k]
        arm.sample = beta(state.rng, arm.successes + 1.0, arm.failures + 1.0)
    deploy_best(state.arms["sample"], allocation, state.rng)


def tell(state: ThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    for k in range(allocation.shape[0]):
        arm = state.arms[k]
        arm.successes += seen[k] * reward[k]
        arm.failures += seen[k] * (1.0 - reward[k])


register_rule(
    ThompsonState,
    ask,
    tell,
    version=2,
    migrations={1: named(tally=("arms.successes", "arms.failures", "arms.sample"))},
)


@register
@dataclass(frozen=True)
class Thompson(Policy):
    """Thompson sampling over base arms: the best of one draw from each Beta(S + 1, F + 1).

    A reward r between 0 and 1 counts as r of a success and 1 - r of a failure.

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}, {"allocation": [0, 1], "rewards": [None, 0.5]}]
    >>> [round(arm["estimate"], 4) for arm in Thompson().start(arms=2, history=told).explain()["arms"]]
    [0.6667, 0.5]
    """

    name: ClassVar[str] = "thompson"
    only_stage: ClassVar[str] = "chance"
    resizes: ClassVar[bool] = True
    paper: ClassVar[bool] = True
    one_hot: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#7A4FA3", ">")

    def state(self, setting: Setting) -> ThompsonState:
        refuse_limits(self, setting)
        return ThompsonState(setting.rng.copy(), np.zeros(setting.arms, dtype=ARM))

    def check_state(self, state: ThompsonState, fresh: ThompsonState) -> None:
        check_tally(state.arms)

    def explain(self, state: ThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        samples, chosen = state.arms["sample"], int(np.argmax(allocation))
        others = [k for k in range(setting.arms) if k != chosen]
        arms = [
            {**arm, "sample": float(sample)} for arm, sample in zip(explain_tally(state.arms), samples, strict=True)
        ]
        runner_up = max(others, key=lambda k: samples[k]) if others else None
        return {"chosen_arm": chosen, "arms": arms, "runner_up": runner_up}


def check_tally(arms: Records) -> None:
    """Refuse what no successes and failures lead to."""
    for name in arms.dtype.names or ():
        require_sense(f"arms.{name}", bool((arms[name] >= 0).all()), arms[name])


def explain_tally(arms: Records) -> list[dict[str, float]]:
    """Every arm's mean and deviation under its Beta posterior."""
    wins, losses = arms["successes"], arms["failures"]
    total = wins + losses + 2.0
    mean = (wins + 1.0) / total
    return [
        {
            "estimate": float(mean[k]),
            "radius": float(np.sqrt(mean[k] * (1 - mean[k]) / (total[k] + 1))),
            "observations": float(wins[k] + losses[k]),
        }
        for k in range(len(arms))
    ]
