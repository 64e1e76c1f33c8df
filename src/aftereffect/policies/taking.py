"""A round told at once, checked and learned from in one compiled call: what agents do most often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aftereffect._compile import explaining, kernel
from aftereffect.model.curves import Floats
from aftereffect.policies.round_check import check_round
from aftereffect.policies.rules import PlainState, is_foreign, is_plain, tell

Take = Callable[[Any, int, Floats, Floats, Floats, bool, bool, Floats], int]


def _take(
    state: Any, t: int, allocation: Floats, rewards: Floats, trials: Floats, counted: bool, one: bool, told: Floats
) -> int:
    """Check a round's rewards, write them to `told` (seen, reward) and tell the policy; `check_round`'s code, if one is wrong."""
    seen, reward = told[0], told[1]
    code = check_round(allocation, rewards, trials, counted, one, seen, reward)
    if code == 0:
        tell(state, t, allocation, seen, reward)
    return code


_compiled = kernel(_take)
_foreign = explaining(_compiled)


def bind_take(state: Any) -> Take:
    """`_take` in the fastest form that a state can run in."""
    if isinstance(state, PlainState) or is_plain(state):
        return _take
    return _foreign if is_foreign(state) else _compiled
