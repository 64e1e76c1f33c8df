"""Value iteration for states on a line: two arms (x and 1 - x), or one arm that buys its share at a price.

The reward is p A(y) + (1 - p) B(y), y the next state; h is linear between the nodes of a grid on [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from aftereffect._compile import kernel
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.problem import Problem
from aftereffect.theory.dynamic_cycles import NEVER, Values

_DEAREST = 1e3  # price of a share; every price gives a bound
_STRAY = 1e-6  # a curve this far from its chords gets more nodes
_TIGHT = 1e-6  # value iteration stops when the increments of all states agree to this


@dataclass(frozen=True, eq=False)
class _Line:
    """A grid on [0, 1] with the rewards at its nodes and, cell by cell, how much a bent or kinked curve can rise above
    what its ends say."""

    nodes: Floats
    first: Floats  # A
    second: Floats  # B
    slack: Floats
    memory: float
    low: float
    high: float


def cell_slack(curve: Curve, nodes: Floats, memory: float) -> tuple[Floats, Floats]:
    """For each cell: the bend of p r(y) over a pair of cells, and the highest the curve rises above its chord.

    Averaging p s y = (y - m x) s y/(1 - m) over corners with weights differs from its value at their mean by
    s/(1 - m) (Var y - m Cov(x, y)), and a variable on an interval of width d has variance at most d^2/4.
    """
    at_nodes, width = curve(nodes), np.diff(nodes)
    slope = np.diff(at_nodes) / width
    widest = float(width.max())
    falling = np.maximum(-slope, 0.0) * (width**2 + memory * widest * width) / 4
    spread = np.minimum(width / 2, memory * widest / 4)  # the standard deviation of y at which m Cov - Var is largest
    rising = np.maximum(slope, 0.0) * (memory * widest / 2 - spread) * spread
    above = np.zeros(len(width))
    cell = np.clip(np.searchsorted(nodes, curve.x, side="right") - 1, 0, len(width) - 1)
    np.maximum.at(above, cell, curve.y - np.interp(curve.x, nodes, at_nodes))
    return (falling + rising) / (1.0 - memory), above


def _nodes(steps: int, curves: Iterable[Curve]) -> Floats:
    """Equal steps, and wherever a curve strays from its chords its own knots, the farthest of each cell first."""
    nodes = np.arange(steps + 1) / steps
    for _ in range(20):
        added = []
        for curve in curves:
            off = np.abs(curve.y - np.interp(curve.x, nodes, curve(nodes)))
            cell = np.searchsorted(nodes, curve.x, side="right")
            order = np.lexsort((-off, cell))
            first = order[np.unique(cell[order], return_index=True)[1]]
            added.append(curve.x[first[off[first] > _STRAY]])
        more = np.unique(np.concatenate([nodes, *added]))
        more = more[np.concatenate([[True], np.diff(more) > 1e-9])]
        if len(more) == len(nodes) or len(more) > 3 * steps + 100:
            break
        nodes = more
    return nodes


@kernel
def _line_sweep(line: tuple[Floats, ...], m: float, low: float, high: float, h: Floats, out: Floats) -> None:
    """out = T h: for each state the best next one, among the nodes in reach and the two ends of the reach."""
    x, value, first, second = line
    n, a = x.shape[0], 1.0 - m
    for i in range(n):
        out[i] = NEVER
    begin, end = 0, 0
    for j in range(n):  # states from which y_j is in reach: m x in [y - a high, y - a low]
        y = x[j]
        while end < n and m * x[end] <= y - a * low + 1e-14:
            end += 1
        while begin < n and m * x[begin] < y - a * high - 1e-14:
            begin += 1
        rise = (first[j] - second[j]) / a
        top = y * rise + second[j] + value[j] + h[j]
        rise *= m
        for i in range(begin, end):
            total = top - rise * x[i]
            out[i] = total if total > out[i] else out[i]
    for side in range(2):
        p = low if side == 0 else high
        j = 0
        for i in range(n):
            y = m * x[i] + a * p
            while j < n - 2 and x[j + 1] < y:
                j += 1
            w = (y - x[j]) / (x[j + 1] - x[j])
            reward = p * (first[j] + w * (first[j + 1] - first[j]))
            reward += (1.0 - p) * (second[j] + w * (second[j + 1] - second[j]))
            more = value[j] if value[j] > value[j + 1] else value[j + 1]
            total = reward + more + h[j] + w * (h[j + 1] - h[j])
            out[i] = total if total > out[i] else out[i]


@kernel
def _line_iterate(
    line: tuple[Floats, ...], m: float, low: float, high: float, h: Floats, out: Floats, tight: float, most: int
) -> None:
    """Relative value iteration, half a step at a time so that cycles do not keep it swinging."""
    n = h.shape[0]
    for _ in range(most):
        _line_sweep(line, m, low, high, h, out)
        least, greatest = out[0] - h[0], out[0] - h[0]
        for i in range(n):
            change = out[i] - h[i]
            least = change if change < least else least
            greatest = change if change > greatest else greatest
        middle = 0.5 * (least + greatest)
        if greatest - least < tight:
            return
        for i in range(n):
            h[i] += 0.5 * (out[i] - h[i] - middle)


@kernel
def _line_bound(line: tuple[Floats, ...], m: float, low: float, high: float, h: Floats, out: Floats) -> float:
    """The supremum over pairs of states: all corners of pairs of cells, cut by the limits on p, with the slack added."""
    x, slack, first, second = line
    n, a = x.shape[0], 1.0 - m
    _line_sweep(line, m, low, high, h, out)
    best = NEVER
    for i in range(n):
        best = max(best, out[i] - h[i])
    if m <= 0.0:
        return best
    for side in range(2):  # corners with the next state on a node and the state between two
        p = low if side == 0 else high
        i = 0
        for j in range(n):
            at = (x[j] - a * p) / m
            if at < -1e-12 or at > 1.0 + 1e-12:
                continue
            at = min(max(at, 0.0), 1.0)
            while i < n - 2 and x[i + 1] < at:
                i += 1
            before = h[i] + (at - x[i]) / (x[i + 1] - x[i]) * (h[i + 1] - h[i])
            best = max(best, p * first[j] + (1.0 - p) * second[j] + slack[j] + h[j] - before)
    return best


def _line_parts(line: _Line, certify: bool) -> tuple[Floats, ...]:
    """What the kernels read; slack at a node is the larger of its two cells'."""
    slack = np.zeros_like(line.nodes)
    if certify:
        slack[:-1] = line.slack
        slack[1:] = np.maximum(slack[1:], line.slack)
    return line.nodes, slack, line.first, line.second


def _solve_line(line: _Line, h: Floats, tight: float = _TIGHT) -> float:
    """Value iteration from h, in place; gives the upper bound."""
    out = np.empty_like(h)
    m, low, high = line.memory, line.low, line.high
    _line_iterate(_line_parts(line, False), m, low, high, h=h, out=out, tight=tight, most=4000)
    return float(_line_bound(_line_parts(line, True), m, low, high, h, out))


def two_arms(problem: Problem, m: float, low: float, high: float, steps: int) -> tuple[float, Values]:
    """Upper bound and values for two arms: the first arm's impact is the state, its share from `low` to `high`."""
    one, two = problem.curves
    nodes = _nodes(steps, [one, Curve(1.0 - two.x[::-1], two.y[::-1])])
    bend_one, above_one = cell_slack(one, nodes, m)
    bend_two, above_two = cell_slack(two, 1.0 - nodes[::-1], m)
    slack = bend_one + bend_two[::-1] + np.maximum(above_one, above_two[::-1])
    line = _Line(nodes, one(nodes), second=two(1.0 - nodes), slack=slack, memory=m, low=low, high=high)
    h = np.zeros(len(nodes))
    bound = _solve_line(line, h)
    states = np.stack([nodes, 1.0 - nodes], axis=1)
    return bound, Values(states, h, lambda y: np.interp(y[:, 0], nodes, h))


class _Arm:
    """One arm that buys its share at a price: the best it can do a round."""

    def __init__(self, curve: Curve, memory: float, low: float, high: float, steps: int) -> None:
        self.nodes = _nodes(steps, [curve])
        bend, above = cell_slack(curve, self.nodes, memory)
        self.slack = bend + high * above
        self.reward, self.nothing = curve(self.nodes), np.zeros(len(self.nodes))
        self.memory, self.low, self.high = memory, low, high
        self.h = np.zeros(len(self.nodes))
        self.bound = 0.0

    def solve(self, price: float, tight: float) -> None:
        """The bound at a price; values carry over from the price before."""
        line = _Line(
            self.nodes,
            self.reward - price,
            second=self.nothing,
            slack=self.slack,
            memory=self.memory,
            low=self.low,
            high=self.high,
        )
        self.bound = _solve_line(line, self.h, tight)


def priced_arms(
    curves: Sequence[Curve], memories: Floats, low: Floats, high: Floats, steps: int
) -> tuple[float, float, list[Curve]]:
    """Upper bound for arms that each buy their share, at the price that makes it least; that price; each arm's values."""
    kinds: dict[tuple[bytes, bytes, float, float, float], _Arm] = {}
    arms = []
    for k, curve in enumerate(curves):
        key = (curve.x.tobytes(), curve.y.tobytes(), float(memories[k]), float(low[k]), float(high[k]))
        arms.append(kinds.setdefault(key, _Arm(curve, *key[2:], steps=steps)))

    def at(price: float, tight: float = 2e-5) -> float:
        for arm in kinds.values():
            arm.solve(price, tight)
        return price + sum(arm.bound for arm in arms)

    from scipy.optimize import minimize_scalar

    price = float(minimize_scalar(at, bounds=(-_DEAREST, _DEAREST), method="bounded", options={"xatol": 1e-4}).x)
    return at(price, _TIGHT), price, [Curve(arm.nodes, arm.h) for arm in arms]
