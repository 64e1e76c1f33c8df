"""Is what a policy answers an allocation? Asked of policies from outside this package: those inside are tested for it."""

from __future__ import annotations

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats

ON_SIMPLEX = 1e-9  # how far from one the shares may sum


class NoAllocation(AftereffectError):
    """A policy answered what cannot be deployed."""

    def __init__(self, policy: str, fault: str) -> None:
        super().__init__(f"{policy}: {fault} (ask fills the allocation in place)")
        self.fault = fault


def check_answer(policy: str, t: int, allocation: Floats) -> None:
    """Refuse shares that are not numbers from 0 that sum to one."""
    shown, total = [round(float(share), 9) for share in allocation], float(allocation.sum())
    if not np.isfinite(allocation).all():
        raise NoAllocation(policy, f"in round {t} a share is not a finite number: {shown}")
    if (allocation < 0).any():
        raise NoAllocation(policy, f"in round {t} a share is below 0: {shown}")
    if abs(total - 1) > ON_SIMPLEX:
        raise NoAllocation(policy, f"in round {t} the shares sum to {total:.9g}, not to 1: {shown}")
