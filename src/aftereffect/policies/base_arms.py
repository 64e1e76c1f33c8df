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


@helper
def project(allocation: Floats, floors: Floats, caps: Floats) -> None:
    """Move an allocation to the nearest one within floors and caps: shares shifted alike, then clipped."""
    arms = allocation.shape[0]
    kept = True
    for k in range(arms):
        kept = kept and floors[k] <= allocation[k] <= caps[k]
    if kept:
        return
    low, high = -1.0, 1.0
    for _ in range(60):
        shift = 0.5 * (low + high)
        total = 0.0
        for k in range(arms):
            total += min(caps[k], max(floors[k], allocation[k] + shift))
        if total < 1.0:
            low = shift
        else:
            high = shift
    for k in range(arms):
        allocation[k] = min(caps[k], max(floors[k], allocation[k] + high))
