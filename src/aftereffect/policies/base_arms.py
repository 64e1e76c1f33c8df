"""What policies over base arms share: they give the whole share to one arm (one-hot allocations)."""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import pick


@helper
def deploy_arm(allocation: Floats, arm: int) -> None:
    """Give arm the whole share."""
    for k in range(allocation.shape[0]):
        allocation[k] = 0.0
    allocation[arm] = 1.0


@helper
def deploy_best(index: Floats, allocation: Floats, rng: Words) -> None:
    """Give the whole share to the arm with the largest index, ties at random."""
    arms = index.shape[0]
    best = index[0]
    chosen = 0
    equals = 1
    for k in range(1, arms):
        if index[k] > best:
            best = index[k]
            chosen = k
            equals = 1
        elif index[k] == best:
            equals += 1
            if pick(rng, equals):
                chosen = k
    deploy_arm(allocation, chosen)


def explain_arms(index: Floats, estimate: Floats, counts: Floats, allocation: Floats) -> dict[str, Any]:
    """The explanation of a one-hot choice: every arm's index, and the runner-up."""
    chosen = int(np.argmax(allocation))
    others = [k for k in range(len(index)) if k != chosen]
    runner_up = max(others, key=lambda k: index[k]) if others else None
    arms = [
        {
            "estimate": float(estimate[k]) if counts[k] > 0 else None,
            "radius": float(index[k] - estimate[k]) if counts[k] > 0 and np.isfinite(index[k]) else None,
            "index": float(index[k]) if np.isfinite(index[k]) else None,
            "observations": float(counts[k]),
        }
        for k in range(len(index))
    ]
    return {"chosen_arm": chosen, "arms": arms, "runner_up": runner_up}
