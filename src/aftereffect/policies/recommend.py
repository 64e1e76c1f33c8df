"""Which policy we would use ourselves."""

from __future__ import annotations

from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.setting import Setting


def recommended(
    arms: int, horizon: int | None = None, memory: float | None = None, memory_bound: float | None = None
) -> Policy:
    """The policy we would use: `curve-thompson`, which has the least regret in our arena and needs no horizon.

    With neither `memory` nor `memory_bound` nothing is assumed about the memory but that it is at most .95, and it is
    estimated. Where a guarantee is needed, take `kl-ucb`; where groups must stay in parity, `fair-thompson`.

    >>> recommended(2, memory=0.6).key, recommended(2).key
    ('curve-thompson:memory=0.6', 'curve-thompson:memory_bound=0.95')
    """
    bound = UNKNOWN_BOUND if memory is None and memory_bound is None else memory_bound
    policy = CurveThompson(memory=memory, memory_bound=bound)
    policy.state(Setting(arms, horizon))  # say at once what does not fit
    return policy
