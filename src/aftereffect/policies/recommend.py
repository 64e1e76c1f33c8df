"""Which policy we would use ourselves."""

from __future__ import annotations

from aftereffect.errors import MissingParameter
from aftereffect.policies.base import Policy, Setting
from aftereffect.policies.phased import HistoryUCB


def recommended(
    arms: int, horizon: int | None = None, memory: float | None = None, memory_bound: float | None = None
) -> Policy:
    """The policy we would use: `history-ucb`, which needs the memory or an upper bound of it.

    >>> recommended(2, horizon=10_000, memory_bound=0.6)
    HistoryUCB(memory=0.6, estimation=0.2, log='lemma', scale=3.0, zero=False, levels=None, lipschitz=1.0, resolution=1.0)
    """
    known = memory if memory is not None else memory_bound
    if known is None:
        raise MissingParameter("recommended needs memory= or an upper bound, memory_bound=")
    policy = HistoryUCB(memory=known)
    policy.state(Setting(arms, horizon if horizon is not None else 1_000))  # say at once what does not fit
    return policy
