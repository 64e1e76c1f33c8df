"""What policies over whole allocations share: the list of options, and what a round was worth."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from aftereffect._compile import helper
from aftereffect.model.curves import Floats
from aftereffect.model.feedback import INDEPENDENT, SPLIT
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import check_allocations


def count_allocations(grid: Grid) -> int:
    """How many allocations a grid has (a count for each budget, arm by arm)."""
    ways = [1] + [0] * grid.levels
    for low, high in zip(grid.low.tolist(), grid.high.tolist(), strict=True):
        below = [0, *itertools.accumulate(ways)]  # below[b]: ways that use less than b
        ways = [below[max(0, b - low + 1)] - below[max(0, b - high)] for b in range(grid.levels + 1)]
    return ways[grid.levels]


def list_allocations(grid: Grid, limit: int, who: str) -> Floats:
    """Every allocation of a grid, one per row; refused beyond the limit."""
    check_allocations(count_allocations(grid), limit, who)
    return _rows(grid.levels, tuple(grid.low.tolist()), tuple(grid.high.tolist()))


@lru_cache(maxsize=8)
def _rows(levels: int, low: tuple[int, ...], high: tuple[int, ...]) -> Floats:
    """Listed once for all runs; never written to."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for k in range(len(low)):
        left = levels - rows.sum(axis=1)
        first = np.maximum(low[k], left - sum(high[k + 1 :]))
        last = np.minimum(high[k], left - sum(low[k + 1 :]))
        counts = last - first + 1  # how many levels of arm k go with each row so far
        start = np.repeat(first - np.cumsum(counts) + counts, counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), start + np.arange(counts.sum())])
    return rows / levels


def largest_utility(setting: Setting) -> float:
    """The most a round can be worth: all arms at once under independent activation, one unit otherwise."""
    return float(setting.arms) if setting.feedback_code == INDEPENDENT else 1.0


@helper
def round_utility(feedback: int, allocation: Floats, seen: Floats, reward: Floats) -> float:
    """The round's realised utility."""
    total = 0.0
    for k in range(allocation.shape[0]):
        if seen[k] > 0.0:
            total += allocation[k] * reward[k] if feedback == SPLIT else reward[k]
    return total


@helper
def is_option(options: Floats, i: int, allocation: Floats) -> bool:
    """Was option i deployed?"""
    same = True
    for k in range(allocation.shape[0]):
        same = same and options[i, k] == allocation[k]
    return same


@helper
def nearest_option(options: Floats, guess: int, allocation: Floats) -> int:
    """The option deployed: the guess if it fits, else the nearest one (people overrode the advice)."""
    if is_option(options, guess, allocation):
        return guess
    best, nearest = 0, math.inf
    for i in range(options.shape[0]):
        distance = 0.0
        for k in range(allocation.shape[0]):
            distance += abs(options[i, k] - allocation[k])
        if distance < nearest:
            best, nearest = i, distance
    return best
