"""A round told at once, checked and learned from in one compiled call: what agents do most often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aftereffect._compile import explaining, kernel
from aftereffect.model.curves import Floats
from aftereffect.policies.round_check import check_round
from aftereffect.policies.rules import is_foreign, is_plain, tell

Take = Callable[[Any, int, Floats, Floats, Floats, bool, bool, Floats, int, float, float], int]


def _take(
    state: Any,
    t: int,
    allocation: Floats,
    rewards: Floats,
    trials: Floats,
    counted: bool,
    one: bool,
    table: Floats,
    row: int,
    asked_at: float,
    told_at: float,
) -> int:
    """Check a round's rewards, write it to a row of the log and tell the policy; `check_round`'s code, if one is wrong."""
    arms, kept = allocation.shape[0], table[row]
    seen, reward = kept[arms : 2 * arms], kept[2 * arms : 3 * arms]
    code = check_round(allocation, rewards, trials, counted, one=one, seen=seen, reward=reward)
    if code == 0:
        for k in range(arms):
            kept[k] = allocation[k]
        kept[3 * arms] = asked_at
        kept[3 * arms + 1] = told_at
        tell(state, t, allocation, seen, reward)
    return code


_compiled = kernel(_take)
_foreign = explaining(_compiled)


def bind_take(state: Any) -> Take:
    """`_take` in the fastest form that a state can run in."""
    if is_plain(state):
        return _take
    return _foreign if is_foreign(state) else _compiled
