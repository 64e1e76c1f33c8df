"""Exact maximisers over the grid of allocations, by dynamic programming in O(K N^2).

An allocation on a grid of N equal steps gives each arm k a level l_k from low_k to high_k with sum l_k = N. The programme
walks through the arms and keeps, for each budget used so far, the best sum without the bonus (`plain`) and with one bonus
already taken (`taken`). The paper's index is bonus(min_k n) + sum of values; the bonus falls with n, so it equals the
largest bonus along the path and "one bonus taken anywhere" gives exactly the paper's maximum.

Order of summation, stated because ties depend on it: arms from first to last; a bonus is added to the value of its arm
before that sum is added to what came before. Arms inside are (max, +) convolutions whose inner loop runs over the budget,
so it vectorises; the first and the last arm cost O(N). The choices are found by walking back. Among equals each arm's
level is drawn uniformly as the walk meets it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from aftereffect._compile import allocating_kernel, helper, kernel
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats

Ints = npt.NDArray[np.int64]

NEVER = -math.inf
NO_TIES: Words = np.zeros(0, dtype=np.uint64)  # for `pick`: of equals the first stays


@helper
def pick(rng: Words, equals: int) -> bool:
    """Reservoir draw: does the newest of `equals` equal candidates replace the one kept?

    One draw from the second on; with an empty generator the first stays.
    """
    return equals == 1 or (rng.shape[0] > 0 and uniform(rng) * equals < 1.0)


@helper
def _drawn(totals: Floats, start: int, stop: int, target: float, rng: Words) -> int:
    """One of the places from start to stop whose total is the target, drawn uniformly."""
    chosen, equals = start, 0
    for i in range(start, stop + 1):
        if totals[i] == target:
            equals += 1
            if pick(rng, equals):
                chosen = i
    return chosen


@helper
def _convolve(
    best: Floats, before: Floats, value: Floats, first: int, last: int, low: int, high: int, top: int
) -> None:
    """best[b + l] = max over levels l of before[b] + value[l], for budgets before from first to last, up to top."""
    for level in range(low, high + 1):
        gain = value[level]
        source, target = np.uint64(first), np.uint64(first + level)
        for i in range(np.uint64(max(0, min(last, top - level) - first + 1))):
            total, kept = before[source + i] + gain, best[target + i]
            # Adding zero makes the store unconditional; a masked store would be five times slower.
            best[target + i] = (total if total > kept else kept) + 0.0


SHORT = 64  # budgets up to which a scan per budget beats the vectorised loop, whose set-up then dominates


@helper
def _scan_both(
    plain: Floats,
    taken: Floats,
    value: Floats,
    gains: Floats,
    k: int,
    first: int,
    last: int,
    low: int,
    high: int,
    top: int,
) -> None:
    """Arm k's layers, budget by budget."""
    before, before_taken, own = plain[k - 1], taken[k - 1], value[k]
    for budget in range(first + low, min(last + high, top) + 1):
        start = max(low, budget - last)
        best, best_taken = NEVER, NEVER
        rest, level = np.uint64(budget - start), np.uint64(start)
        for i in range(np.uint64(min(high, budget - first) - start + 1)):
            total = before[rest - i] + own[level + i]
            best = total if total > best else best
            kept, fresh = before_taken[rest - i] + own[level + i], before[rest - i] + gains[level + i]
            kept = fresh if fresh > kept else kept
            best_taken = kept if kept > best_taken else best_taken
        plain[k, budget] = best
        taken[k, budget] = best_taken


@helper
def _convolve_both(
    plain: Floats,
    taken: Floats,
    value: Floats,
    gains: Floats,
    k: int,
    first: int,
    last: int,
    low: int,
    high: int,
    top: int,
) -> None:
    """Arm k's layers, level by level; the inner loop over budgets vectorises."""
    before, before_taken, best, best_taken = plain[k - 1], taken[k - 1], plain[k], taken[k]
    for budget in range(first + low, min(last + high, top) + 1):
        best[budget] = NEVER
        best_taken[budget] = NEVER
    for level in range(low, high + 1):
        gain, gain_bonus = value[k, level], gains[level]
        source, target = np.uint64(first), np.uint64(first + level)
        for i in range(np.uint64(max(0, min(last, top - level) - first + 1))):
            total, kept = before[source + i] + gain, best[target + i]
            best[target + i] = (total if total > kept else kept) + 0.0
            total, fresh = before_taken[source + i] + gain, before[source + i] + gain_bonus
            total, kept = (fresh if fresh > total else total), best_taken[target + i]
            best_taken[target + i] = (total if total > kept else kept) + 0.0


@kernel
def best_plain(value: Floats, low: Ints, high: Ints, plain: Floats, levels: Ints, rng: Words) -> float:
    """Levels that maximise the sum of values; the workspace `plain` is (arms, N + 1)."""
    arms, count = value.shape[0], value.shape[1] - 1
    least, most = 0, 0
    later = 0
    for k in range(1, arms):
        later += low[k]
    for k in range(arms - 1):
        layer = plain[k]
        top = count - later
        if k == 0:
            for b in range(low[0], min(high[0], top) + 1):
                layer[b] = value[0, b]
        else:
            for b in range(least + low[k], min(most + high[k], top) + 1):
                layer[b] = NEVER
            _convolve(layer, plain[k - 1], value[k], least, last=most, low=low[k], high=high[k], top=top)
        least += low[k]
        most = min(most + high[k], top)
        later -= low[k + 1]
    totals = plain[arms - 1]  # the last arm has no layer: its row is free
    budget = count
    index = float(value[0, budget])
    for k in range(arms - 1, 0, -1):
        before = plain[k - 1]
        first = 0
        reach = 0
        for i in range(k):
            first += low[i]
            reach += high[i]
        start, stop = max(low[k], budget - reach), min(high[k], budget - first)
        target = NEVER
        for level in range(start, stop + 1):
            total = before[budget - level] + value[k, level]
            totals[level] = total
            target = total if total > target else target
        if k == arms - 1:
            index = target
        levels[k] = _drawn(totals, start, stop, target, rng)
        budget -= levels[k]
    levels[0] = budget
    return index


@helper
def _best_pair(
    value: Floats, bonus: Floats, scale: float, low: Ints, high: Ints, plain: Floats, levels: Ints, rng: Words
) -> float:
    """Two arms: a scan over the first arm's level."""
    count = value.shape[1] - 1
    start, stop = max(low[0], count - high[1]), min(high[0], count - low[1])
    size = stop - start + 1
    value_a, bonus_a = value[0, start : stop + 1], bonus[0, start : stop + 1]
    value_b, bonus_b = value[1, count - stop : count - start + 1], bonus[1, count - stop : count - start + 1]
    totals = plain[0, :size]
    index = NEVER
    for i in range(size):
        a, b = value_a[i], value_b[size - 1 - i]
        first = (a + scale * bonus_a[i]) + b
        second = a + (b + scale * bonus_b[size - 1 - i])
        total = first if first > second else second
        totals[i] = total
        index = total if total > index else index
    chosen = _drawn(totals, 0, size - 1, index, rng)
    levels[0] = start + chosen
    levels[1] = count - start - chosen
    return index


@helper
def best_with_bonus(
    value: Floats,
    bonus: Floats,
    scale: float,
    low: Ints,
    high: Ints,
    plain: Floats,
    taken: Floats,
    levels: Ints,
    rng: Words,
) -> float:
    """Levels that maximise the sum of values plus scale times the largest bonus along the path."""
    arms, count = value.shape[0], value.shape[1] - 1
    if arms == 2:
        return _best_pair(value, bonus, scale, low, high, plain=plain, levels=levels, rng=rng)
    if arms == 1:
        levels[0] = count
        return float(value[0, count] + scale * bonus[0, count])
    least, most = 0, 0
    later = 0
    for k in range(1, arms):
        later += low[k]
    for k in range(arms - 1):
        top = count - later
        if k == 0:
            for b in range(low[0], min(high[0], top) + 1):
                plain[0, b] = value[0, b]
                taken[0, b] = value[0, b] + scale * bonus[0, b]
        else:
            gains = taken[arms - 1]  # the last arm has no layer: its row holds value plus bonus of the arm at hand
            for level in range(low[k], high[k] + 1):
                gains[level] = value[k, level] + scale * bonus[k, level]
            if count <= SHORT:
                _scan_both(plain, taken, value, gains, k=k, first=least, last=most, low=low[k], high=high[k], top=top)
            else:
                _convolve_both(
                    plain, taken, value, gains, k=k, first=least, last=most, low=low[k], high=high[k], top=top
                )
        least += low[k]
        most = min(most + high[k], top)
        later -= low[k + 1]
    return _walk_back(value, bonus, scale, low, high, plain=plain, taken=taken, levels=levels, rng=rng)


@helper
def _walk_back(
    value: Floats,
    bonus: Floats,
    scale: float,
    low: Ints,
    high: Ints,
    plain: Floats,
    taken: Floats,
    levels: Ints,
    rng: Words,
) -> float:
    """The choices behind the best total, from the last arm to the first."""
    arms, count = value.shape[0], value.shape[1] - 1
    first, reach = 0, 0
    for k in range(arms - 1):
        first += low[k]
        reach += high[k]
    totals = plain[arms - 1]  # the last arm has no layer: its row is free
    budget = count
    needs_bonus = True
    index = NEVER
    for k in range(arms - 1, 0, -1):
        start, stop = max(low[k], budget - reach), min(high[k], budget - first)
        target = NEVER
        for level in range(start, stop + 1):
            rest = budget - level
            total = plain[k - 1, rest] + value[k, level]
            if needs_bonus:
                kept = taken[k - 1, rest] + value[k, level]
                total = plain[k - 1, rest] + (value[k, level] + scale * bonus[k, level])
                total = kept if kept > total else total
            totals[level] = total
            target = total if total > target else target
        chosen = _drawn(totals, start, stop, target, rng)
        if k == arms - 1:
            index = target
        budget -= chosen
        needs_bonus = needs_bonus and taken[k - 1, budget] + value[k, chosen] == target
        levels[k] = chosen
        first -= low[k - 1]
        reach -= high[k - 1]
    levels[0] = budget
    return index


@allocating_kernel
def through_cells(value: Floats, low: Ints, high: Ints) -> Floats:
    """For each cell the best total of an allocation that contains it; -inf where there is none."""
    arms, count = value.shape[0], value.shape[1] - 1
    ahead = np.full((arms + 1, count + 1), NEVER)  # ahead[k, b]: best of arms before k using b
    behind = np.full((arms + 1, count + 1), NEVER)  # behind[k, b]: best of arms from k on using b
    ahead[0, 0] = 0.0
    behind[arms, 0] = 0.0
    for k in range(arms):
        _convolve(ahead[k + 1], ahead[k], value[k], 0, last=count, low=low[k], high=high[k], top=count)
    for k in range(arms - 1, -1, -1):
        _convolve(behind[k], behind[k + 1], value[k], 0, last=count, low=low[k], high=high[k], top=count)
    best = np.full((arms, count + 1), NEVER)
    for k in range(arms):
        for level in range(low[k], high[k] + 1):
            top = NEVER
            for b in range(count - level + 1):
                total = ahead[k, b] + behind[k + 1, count - level - b]
                top = total if total > top else top
            best[k, level] = top + value[k, level]
    return best


@allocating_kernel
def best_near_budget(value: Floats, low: Ints, high: Ints, slack: int) -> float:
    """The largest sum of values over levels that use between N - slack and N steps."""
    arms, count = value.shape[0], value.shape[1] - 1
    layers = np.full((2, count + 1), NEVER)
    layers[0, 0] = 0.0
    for k in range(arms):
        layers[(k + 1) % 2, :] = NEVER
        _convolve(layers[(k + 1) % 2], layers[k % 2], value[k], 0, last=count, low=low[k], high=high[k], top=count)
    best = NEVER
    for b in range(max(0, count - slack), count + 1):
        best = max(best, layers[arms % 2, b])
    return best
