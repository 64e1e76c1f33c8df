"""What an agent is told of a round, checked against what was deployed: compiled, for it happens every round."""

from __future__ import annotations

from aftereffect._compile import kernel
from aftereffect.model.curves import Floats

# what `check_round` finds wrong
FINE, NO_SHARE, OUTSIDE, TRIALS, SEVERAL = 0, 1, 2, 3, 4


@kernel
def check_round(
    allocation: Floats, rewards: Floats, trials: Floats, counted: bool, one: bool, seen: Floats, reward: Floats
) -> int:
    """Check a round's rewards against what was deployed and write them as policies read them; 10 arm + fault."""
    found = 0
    for k in range(allocation.shape[0]):
        value = rewards[k]
        if value != value:  # NaN: not seen
            seen[k] = 0.0
            reward[k] = 0.0
            if counted and trials[k] != 0.0 and trials[k] == trials[k]:
                return 10 * k + TRIALS
            continue
        if not 0.0 <= value <= 1.0:
            return 10 * k + OUTSIDE
        if allocation[k] <= 0.0:
            return 10 * k + NO_SHARE
        weight = trials[k] if counted else 1.0
        if not (1.0 <= weight < 1e15):
            return 10 * k + TRIALS
        found += 1
        seen[k] = weight
        reward[k] = value
    if one and not counted and found > 1:
        return SEVERAL
    return FINE
