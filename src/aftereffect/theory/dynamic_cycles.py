"""From values to a cycle: follow the greedy policy, close stretches of its path into cycles and improve the best.

What repeating a cycle earns is exact, so it bounds the best policy that may depend on history from below, however good or
bad the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aftereffect._compile import kernel
from aftereffect.model.curves import TOLERANCE, Curve, Floats, Records, evaluate, pack
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.oracle.best_fixed import BestFixed
from aftereffect.oracle.maximise import best_on

NEVER = -1e300

_TAIL = 128  # rounds of the greedy path that are searched for cycles
_LONGEST = 40
_SHARES = 200  # levels of a share where arms are followed apart
_POLISHED = 8  # cycles that are improved by local search


@dataclass(frozen=True, eq=False)
class Values:
    """What value iteration found: `h` at each of `states` (one a row), and `at`, which interpolates it to any states."""

    states: Floats
    h: Floats
    at: Callable[[Floats], Floats]


def follow(
    problem: Problem,
    m: float,
    low: Floats,
    high: Floats,
    corners: Floats,
    fixed: BestFixed,
    values: Values,
) -> Floats:
    """Allocations of the greedy policy, several starts, the last rounds of each: (starts, rounds, arms)."""
    a = 1.0 - m
    states = values.states
    following = np.roll(corners, -1, axis=0)
    along = np.linspace(0.0, 1.0, 33)[:, None, None]
    rim = (corners + along * (following - corners)).reshape(-1, corners.shape[1])
    reward = np.stack([c(s) for c, s in zip(problem.curves, states.T, strict=True)], axis=1)
    best = (states * reward).sum(axis=1) / a + values.h
    lead = int(min(1000, 20 + 10 / a))
    paths = []
    for start in (fixed.allocation, corners.mean(axis=0), corners[0]):
        f, path = start, []
        for _ in range(lead + _TAIL):
            reach = np.all((states >= m * f + a * low - 1e-12) & (states <= m * f + a * high + 1e-12), axis=1)
            inner = np.where(reach, best - reward @ f * (m / a), NEVER)
            at = int(np.argmax(inner))
            ends = m * f + a * rim
            worth = values.at(ends) + sum(p * c(y) for p, c, y in zip(rim.T, problem.curves, ends.T, strict=True))
            end = int(np.argmax(worth))
            p = rim[end] if worth[end] > inner[at] else np.clip((states[at] - m * f) / a, low, high)
            p = p / p.sum()
            f = m * f + a * p
            path.append(p)
        paths.append(path[lead:])
    return np.array(paths)


def follow_apart(
    problem: Problem, m: Floats, low: Floats, high: Floats, fixed: BestFixed, values: Sequence[Curve]
) -> Floats:
    """The same for arms with a memory each: values add up over the arms, so the oracle finds every round's best allocation."""
    levels = np.arange(_SHARES + 1) / _SHARES
    least, most = np.ceil(low * _SHARES - 1e-9).astype(np.int64), np.floor(high * _SHARES + 1e-9).astype(np.int64)
    if least.sum() > _SHARES or most.sum() < _SHARES:  # limits between two levels
        return np.tile(fixed.allocation, (1, _TAIL, 1))
    lead = int(min(1000, 20 + 10 / (1.0 - m.max())))
    paths = []
    for start in (
        fixed.allocation,
        np.full(len(m), 1 / len(m)),
        best_on(np.zeros((len(m), _SHARES + 1)), least, most)[0] / _SHARES,
    ):
        f, path = start, []
        for _ in range(lead + _TAIL):
            ends = m[:, None] * f[:, None] + (1.0 - m)[:, None] * levels
            worth = [levels * r(y) + h(y) for r, h, y in zip(problem.curves, values, ends, strict=True)]
            p = best_on(np.array(worth), least, most)[0] / _SHARES
            f = m * f + (1.0 - m) * p
            path.append(p)
        paths.append(path[lead:])
    return np.array(paths)


@kernel
def _cycle_mean(knots: Records, guide: Ints, m: Floats, cycle: Floats, f: Floats) -> float:
    """What repeating a cycle earns a round in the long run: from the state that the cycle leads back to itself."""
    n, arms = cycle.shape
    total = 0.0
    for k in range(arms):
        state, left = 0.0, 1.0
        for t in range(n):
            state = m[k] * state + (1.0 - m[k]) * cycle[t, k]
            left *= m[k]
        f[k] = state / (1.0 - left)
    for t in range(n):
        for k in range(arms):
            f[k] = min(max(m[k] * f[k] + (1.0 - m[k]) * cycle[t, k], 0.0), 1.0)
            total += cycle[t, k] * evaluate(knots, guide, k, f[k])
    return float(total / n)


@kernel
def _best_windows(knots: Records, guide: Ints, m: Floats, path: Floats, f: Floats, means: Floats, starts: Ints) -> None:
    """For each length the stretch of a path that earns most when repeated."""
    for length in range(1, means.shape[0]):
        means[length] = NEVER
        for start in range(path.shape[0] - length + 1):
            mean = _cycle_mean(knots, guide, m, path[start : start + length], f)
            if mean > means[length]:
                means[length] = mean
                starts[length] = start


@kernel
def _polish(
    knots: Records, guide: Ints, m: Floats, low: Floats, high: Floats, cycle: Floats, f: Floats, step: float
) -> float:
    """Improve a cycle in place: in one round move share from one arm to another, ever less of it."""
    n, arms = cycle.shape
    best = _cycle_mean(knots, guide, m, cycle, f)
    while step > 1e-8:
        improved = False
        for t in range(n):
            for i in range(arms):
                for j in range(arms):
                    move = min(step, min(cycle[t, i] - low[i], high[j] - cycle[t, j]))
                    if i == j or move <= 0.0:
                        continue
                    before, other = cycle[t, i], cycle[t, j]
                    cycle[t, i] = before - move
                    cycle[t, j] = other + move
                    mean = _cycle_mean(knots, guide, m, cycle, f)
                    if mean > best + 1e-13:
                        best = mean
                        improved = True
                    else:
                        cycle[t, i] = before
                        cycle[t, j] = other
        if not improved:
            step /= 3.0
    return best


def best_cycle(
    problem: Problem, m: Floats, low: Floats, high: Floats, fixed: BestFixed, paths: Floats
) -> tuple[Floats, float]:
    """The shortest cycle that earns as much as any found, and what it earns; `m` is each arm's memory."""
    knots, guide = pack(problem.curves)
    f = np.empty(problem.arms)
    candidates: list[tuple[float, Floats]] = []
    means, starts = np.full(_LONGEST + 1, NEVER), np.zeros(_LONGEST + 1, dtype=np.int64)
    for path in paths:
        _best_windows(knots, guide, m, path, f=f, means=means, starts=starts)
        candidates += [(float(means[n]), path[starts[n] : starts[n] + n]) for n in range(1, _LONGEST + 1)]
    candidates.sort(key=lambda c: (-round(c[0], 9), len(c[1])))
    found = [(fixed.utility, fixed.allocation[None, :].copy())]
    for _, cycle in candidates[:_POLISHED]:
        improved = np.ascontiguousarray(cycle)
        found.append((float(_polish(knots, guide, m, low, high, cycle=improved, f=f, step=0.05)), improved))
    most = max(mean for mean, _ in found)
    cycle = min((c for mean, c in found if mean >= most - TOLERANCE), key=len)
    if cycle is found[0][1]:
        return cycle, fixed.utility
    cycle = _tidy(cycle, low, high)
    return cycle, float(_cycle_mean(knots, guide, m, cycle, f))


def _tidy(cycle: Floats, low: Floats, high: Floats) -> Floats:
    """Shares that are off a limit by rounding only are put there; the largest share takes up the difference."""
    tidy = np.where(np.abs(cycle - low) < 1e-9, low, cycle)
    tidy = np.where(np.abs(tidy - high) < 1e-9, high, tidy)
    for allocation in tidy:
        largest = int(np.argmax(allocation))
        allocation[largest] = 1.0 - (allocation.sum() - allocation[largest])
    return tidy


def played(problem: Problem, m: Floats, cycle: Floats) -> float:
    """The mean over many rounds of playing the cycle, once the start is forgotten."""
    knots, guide = pack(problem.curves)
    lead = int(np.ceil(40.0 / -np.log(m.max()) / len(cycle))) * len(cycle)
    rounds = max(1, 2000 // len(cycle)) * len(cycle)
    return float(_play(knots, guide, m, cycle, f=cycle[0].copy(), lead=lead, rounds=rounds))


@kernel
def _play(knots: Records, guide: Ints, m: Floats, cycle: Floats, f: Floats, lead: int, rounds: int) -> float:
    total = 0.0
    for t in range(lead + rounds):
        for k in range(cycle.shape[1]):
            p = cycle[t % cycle.shape[0], k]
            f[k] = min(max(f[k] + (p - f[k]) * (1.0 - m[k]), 0.0), 1.0)
            if t >= lead:
                total += p * evaluate(knots, guide, k, f[k])
    return total / rounds
