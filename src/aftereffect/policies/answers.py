"""Is what a policy answers an allocation? Asked of policies from outside this package: those inside are tested for it."""

from __future__ import annotations

import numpy as np

from aftereffect._compile import helper
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.limits import Limits

ON_SIMPLEX = 1e-9  # how far from one the shares may sum
WITHIN = 1e-9  # how far beyond a floor or a cap a share may lie


class NoAllocation(AftereffectError):
    """A policy answered what cannot be deployed."""

    def __init__(self, policy: str, fault: str) -> None:
        super().__init__(f"{policy}: {fault} (ask fills the allocation in place)")
        self.fault = fault


@helper
def is_answer(allocation: Floats, floors: Floats, caps: Floats) -> bool:
    """Are the shares numbers from 0 that sum to one, within floors and caps? False of what is no number."""
    total = 0.0
    for k in range(allocation.shape[0]):
        share = allocation[k]
        if not (share >= 0.0 and floors[k] - WITHIN <= share <= caps[k] + WITHIN):
            return False
        total += share
    return abs(total - 1.0) <= ON_SIMPLEX


def check_answer(policy: str, t: int, allocation: Floats, limits: Limits) -> None:
    """Refuse shares that are not numbers from 0 that sum to one, within floors and caps."""
    shown, total = [round(float(share), 9) for share in allocation], float(allocation.sum())
    if not np.isfinite(allocation).all():
        raise NoAllocation(policy, f"in round {t} a share is not a finite number: {shown}")
    if (allocation < 0).any():
        raise NoAllocation(policy, f"in round {t} a share is below 0: {shown}")
    if abs(total - 1) > ON_SIMPLEX:
        raise NoAllocation(policy, f"in round {t} the shares sum to {total:.9g}, not to 1: {shown}")
    if not is_answer(allocation, limits.floors, limits.caps):
        raise NoAllocation(
            policy,
            f"in round {t} {shown} leaves the floors {limits.floors.tolist()} or caps {limits.caps.tolist()}; a policy "
            "that cannot keep them refuses them before the first round, with refuse_limits",
        )
