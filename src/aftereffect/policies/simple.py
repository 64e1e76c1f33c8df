"""Policies that do not learn: a fixed allocation, and one arm after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect.errors import AftereffectError, numbers, shown
from aftereffect.model.curves import Floats
from aftereffect.policies.base import Policy, refuse_limits, register
from aftereffect.policies.base_arms import deploy_arm
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting


class FixedState(NamedTuple):
    allocation: Floats


def ask_fixed(state: FixedState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        allocation[k] = state.allocation[k]


def learn_nothing(state: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    pass


register_rule(FixedState, ask_fixed, learn_nothing)


@register
@dataclass(frozen=True)
class Fixed(Policy):
    """The same allocation in every round (default: equal shares, within floors and caps).

    >>> Fixed().start(arms=4, floors=[0.4, 0, 0, 0]).ask().tolist()
    [0.4, 0.2, 0.2, 0.2]
    """

    name: ClassVar[str] = "fixed"
    only_stage: ClassVar[str] = "given"
    learns: ClassVar[bool] = False
    arenas: ClassVar[tuple[str, ...]] = ("regret", "weekly")
    look: ClassVar[tuple[str, str] | None] = ("#999999", "_")
    allocation: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.allocation is None:
            return
        if isinstance(self.allocation, (str, int, float)):
            raise AftereffectError(f"fixed: allocation must be a list of shares, got {shown(self.allocation)}")
        shares = numbers("fixed: allocation", self.allocation)
        if not shares or not all(0 <= p <= 1 for p in shares) or abs(sum(shares) - 1) > 1e-9:
            raise AftereffectError(f"fixed: allocation must be shares in [0, 1] that sum to 1, got {list(shares)}")
        object.__setattr__(self, "allocation", shares)

    def state(self, setting: Setting) -> FixedState:
        if self.allocation is None:
            return FixedState(setting.limits.even.copy())
        shares = np.array(self.allocation)
        if shares.shape != (setting.arms,):
            raise AftereffectError(f"fixed: allocation needs {setting.arms} shares, got {len(shares)}")
        if not setting.limits.allows(shares):
            raise AftereffectError(f"fixed: allocation {shares.tolist()} breaks the floors or caps")
        return FixedState(shares)


class RoundRobinState(NamedTuple):
    unused: Floats


def ask_round_robin(state: RoundRobinState, t: int, allocation: Floats) -> None:
    deploy_arm(allocation, (t - 1) % allocation.shape[0])


register_rule(RoundRobinState, ask_round_robin, learn_nothing)


@register
@dataclass(frozen=True)
class RoundRobin(Policy):
    """One arm after the other; what D-UCB with a small discount comes down to.

    >>> agent = RoundRobin().start(arms=3, history=[[1, 0, 0]])
    >>> agent.ask().tolist()
    [0.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "round-robin"
    only_stage: ClassVar[str] = "turn"
    one_hot: ClassVar[bool] = True
    learns: ClassVar[bool] = False
    look: ClassVar[tuple[str, str] | None] = ("#999999", "|")

    def state(self, setting: Setting) -> RoundRobinState:
        refuse_limits(self, setting)
        return RoundRobinState(np.zeros(1))
