"""Value iteration for three arms: states on a triangular lattice, h linear on its triangles.

Arrays are indexed by the first two arms' steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aftereffect._compile import allocating_kernel, helper, kernel
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.problem import Problem
from aftereffect.theory.dynamic_cycles import NEVER, Values
from aftereffect.theory.dynamic_line import cell_slack

_EDGE = 1e-9  # a point this near to a grid line counts as on it


@helper
def _plane(h: Floats, n: int, x: float, y: float) -> float:
    """h at a point, linear on the lattice's triangles."""
    u, v = min(max(x * n, 0.0), n), min(max(y * n, 0.0), n)
    i, j = min(int(u), n - 1), min(int(v), n - 1)
    u -= i
    v -= j
    if u + v <= 1.0:
        return float(h[i, j] + u * (h[i + 1, j] - h[i, j]) + v * (h[i, j + 1] - h[i, j]))
    return float(
        h[i + 1, j + 1] + (1.0 - v) * (h[i + 1, j] - h[i + 1, j + 1]) + (1.0 - u) * (h[i, j + 1] - h[i + 1, j + 1])
    )


@kernel
def _toward(r: Floats, slack: Floats, h: Floats, n: int, p: Floats, y: Floats, certify: bool) -> float:
    """Reward of allocation p that leads to y, plus h(y), plus the slack around y."""
    total = 0.0
    above = 0.0
    for k in range(3):
        u = min(max(y[k] * n, 0.0), n)
        i = min(int(u), n - 1)
        total += p[k] * (r[k, i] + (u - i) * (r[k, i + 1] - r[k, i]))
        if certify:
            total += max(slack[0, k, i], slack[0, k, i + 1])
            above = max(above, max(slack[1, k, i], slack[1, k, i + 1]))
    return total + above + _plane(h, n, y[0], y[1])


@kernel
def _plane_nodes(
    r: Floats, slack: Floats, m: float, low: Floats, high: Floats, h: Floats, out: Floats, certify: bool
) -> None:
    """out = the best next state among the nodes in reach."""
    n, a = r.shape[1] - 1, 1.0 - m
    for i in range(n + 1):
        for j in range(n + 1 - i):
            out[i, j] = NEVER
    for j1 in range(n + 1):
        # From which impacts of an arm is y in reach: m f in [y - a high, y - a low].
        first = max(0, int(np.ceil((j1 - a * high[0] * n) / m - _EDGE)))
        last = min(n, int(np.floor((j1 - a * low[0] * n) / m + _EDGE)))
        if first > last:
            continue
        for j2 in range(n + 1 - j1):
            j3 = n - j1 - j2
            first2 = max(0, int(np.ceil((j2 - a * high[1] * n) / m - _EDGE)))
            last2 = min(n, int(np.floor((j2 - a * low[1] * n) / m + _EDGE)))
            first3 = max(0, int(np.ceil((j3 - a * high[2] * n) / m - _EDGE)))
            last3 = min(n, int(np.floor((j3 - a * low[2] * n) / m + _EDGE)))
            r1, r2, r3 = r[0, j1] / a, r[1, j2] / a, r[2, j3] / a
            top = (j1 * r1 + j2 * r2 + j3 * r3) / n + h[j1, j2]
            if certify:
                top += slack[0, 0, j1] + slack[0, 1, j2] + slack[0, 2, j3]
                top += max(slack[1, 0, j1], max(slack[1, 1, j2], slack[1, 2, j3]))
            step = m * (r3 - r2) / n
            for i1 in range(first, last + 1):
                base = top - m * (r1 * i1 + r3 * (n - i1)) / n
                row = out[i1]
                for i2 in range(max(first2, n - i1 - last3), min(last2, n - i1 - first3) + 1):
                    total = base + step * i2
                    row[i2] = total if total > row[i2] else row[i2]


@kernel
def _crossings(start: float, end: float, n: int) -> tuple[int, int]:
    """Grid lines between two values of a coordinate, the first and the last."""
    least, most = min(start, end), max(start, end)
    return int(np.ceil(least * n - _EDGE)), int(np.floor(most * n + _EDGE))


@allocating_kernel
def _plane_edges(r: Floats, slack: Floats, m: float, corners: Floats, h: Floats, out: Floats, certify: bool) -> None:
    """out = max(out, the best next state on the rim of the reach): at its corners and where it crosses grid lines."""
    n, a = r.shape[1] - 1, 1.0 - m
    sides = corners.shape[0]
    p, y = np.empty(3), np.empty(3)
    for i1 in range(n + 1):
        for i2 in range(n + 1 - i1):
            f = (i1 / n, i2 / n, (n - i1 - i2) / n)
            best = out[i1, i2]
            for q in range(sides):
                here, there = corners[q], corners[(q + 1) % sides]
                for k in range(3):
                    p[k] = here[k]
                    y[k] = m * f[k] + a * p[k]
                best = max(best, _toward(r, slack, h, n, p=p, y=y, certify=certify))
                done = False
                for k in range(3):
                    across = there[k] - here[k]
                    if abs(across) < 1e-12 or done:
                        continue
                    done = not certify  # for iterating one family of lines is enough
                    first, last = _crossings(m * f[k] + a * here[k], m * f[k] + a * there[k], n)
                    for line in range(first, last + 1):
                        t = min(max(((line / n - m * f[k]) / a - here[k]) / across, 0.0), 1.0)
                        for i in range(3):
                            p[i] = here[i] + t * (there[i] - here[i])
                            y[i] = m * f[i] + a * p[i]
                        best = max(best, _toward(r, slack, h, n, p=p, y=y, certify=certify))
            out[i1, i2] = best


@allocating_kernel
def _plane_iterate(
    r: Floats,
    slack: Floats,
    m: float,
    low: Floats,
    high: Floats,
    corners: Floats,
    h: Floats,
    out: Floats,
) -> float:
    """One half step of relative value iteration; gives the span of the increments before it."""
    n = r.shape[1] - 1
    _plane_nodes(r, slack, m, low, high, h=h, out=out, certify=False)
    _plane_edges(r, slack, m, corners, h=h, out=out, certify=False)
    least, greatest = 1e300, NEVER
    for i in range(n + 1):
        for j in range(n + 1 - i):
            change = out[i, j] - h[i, j]
            least, greatest = min(least, change), max(greatest, change)
    middle = 0.5 * (least + greatest)
    for i in range(n + 1):
        for j in range(n + 1 - i):
            h[i, j] += 0.5 * (out[i, j] - h[i, j] - middle)
    return greatest - least


@allocating_kernel
def _plane_bound(
    r: Floats, slack: Floats, m: float, low: Floats, high: Floats, corners: Floats, h: Floats, out: Floats
) -> float:
    """The supremum over pairs of states: all corners of pairs of triangles, cut by the limits on p, with the slack."""
    n, a = r.shape[1] - 1, 1.0 - m
    sides = corners.shape[0]
    _plane_nodes(r, slack, m, low, high, h=h, out=out, certify=True)
    _plane_edges(r, slack, m, corners, h=h, out=out, certify=True)
    best = NEVER
    for i in range(n + 1):
        for j in range(n + 1 - i):
            best = max(best, out[i, j] - h[i, j])
    p, y, f = np.empty(3), np.empty(3), np.empty(3)
    for j1 in range(n + 1):  # the next state on a node, the state on the rim of those that reach it
        for j2 in range(n + 1 - j1):
            y[0], y[1], y[2] = j1 / n, j2 / n, (n - j1 - j2) / n
            for q in range(sides):
                here, there = corners[q], corners[(q + 1) % sides]
                for k in range(-1, 3):
                    first, last, across = 0, 0, 1.0
                    if k >= 0:
                        across = there[k] - here[k]
                        if abs(across) < 1e-12:
                            continue
                        first, last = _crossings((y[k] - a * here[k]) / m, (y[k] - a * there[k]) / m, n)
                    for line in range(max(first, 0), min(last, n) + 1):
                        t = 0.0
                        if k >= 0:
                            t = min(max(((y[k] - m * line / n) / a - here[k]) / across, 0.0), 1.0)
                        inside = True
                        for i in range(3):
                            p[i] = here[i] + t * (there[i] - here[i])
                            f[i] = (y[i] - a * p[i]) / m
                            inside = inside and f[i] >= -_EDGE
                        if inside:
                            best = max(best, _toward(r, slack, h, n, p=p, y=y, certify=True) - _plane(h, n, f[0], f[1]))
    for q in range(sides):  # a corner of the limits, with state and next state both on grid lines
        p[:] = corners[q]
        for k in range(3):
            for k2 in range(3):
                if k == k2:
                    continue
                other = 3 - k - k2
                for line in range(n + 1):
                    f[k] = line / n
                    for line2 in range(n + 1):
                        f[k2] = (line2 / n - a * p[k2]) / m
                        f[other] = 1.0 - f[k] - f[k2]
                        if f[k2] >= -_EDGE and f[other] >= -_EDGE:
                            for i in range(3):
                                y[i] = m * f[i] + a * p[i]
                            best = max(best, _toward(r, slack, h, n, p=p, y=y, certify=True) - _plane(h, n, f[0], f[1]))
    return best


def _lattice_steps(curves: Sequence[Curve]) -> int:
    """About 110 steps: the number whose grid lines lie best on the curves' kinks."""

    def height(steps: int) -> float:
        nodes = np.arange(steps + 1) / steps
        return max(float(cell_slack(c, nodes, 0.0)[1].max()) for c in curves) + 1e-6 * (120 - steps)

    return min(range(120, 99, -1), key=height)


def three_arms(
    problem: Problem, m: float, low: Floats, high: Floats, corners: Floats, steps: int | None
) -> tuple[float, Values]:
    """Upper bound and values for three arms."""
    n = steps or _lattice_steps(problem.curves)
    h = np.zeros((3, 3))
    coarse = [s for s in (n // 4, n // 2) if s >= 8]
    for size in [*coarse, n]:
        nodes = np.arange(size + 1) / size
        r = np.stack([c(nodes) for c in problem.curves])
        slack = np.zeros((2, 3, size + 1))
        for k, curve in enumerate(problem.curves):
            for kind, cells in enumerate(cell_slack(curve, nodes, m)):
                slack[kind, k, :-1] = cells
                slack[kind, k, 1:] = np.maximum(slack[kind, k, 1:], cells)
        h = _finer(h, size)
        out = np.zeros_like(h)
        tight = 0.02 / size**1.5
        for _ in range(2000):
            if _plane_iterate(r, slack, m, low, high, corners=corners, h=h, out=out) < tight:
                break
    bound = float(_plane_bound(r, slack, m, low, high, corners=corners, h=h, out=out))
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inside = i + j <= n
    states = np.stack([i[inside] / n, j[inside] / n, (n - i - j)[inside] / n], axis=1)
    return bound, Values(states, h[: n + 1, : n + 1][inside], lambda y: _plane_many(h, n, y))


def _finer(h: Floats, size: int) -> Floats:
    """Values on a finer lattice, by interpolation; the last row and column are padding."""
    n = h.shape[0] - 2
    result = np.zeros((size + 2, size + 2))
    i, j = np.meshgrid(np.arange(size + 1), np.arange(size + 1), indexing="ij")
    inside = i + j <= size
    shares = np.stack([i[inside] / size, j[inside] / size], axis=1)
    result[: size + 1, : size + 1][inside] = _plane_many(h, n, shares)
    return result


@allocating_kernel
def _plane_many(h: Floats, n: int, points: Floats) -> Floats:
    result = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        result[i] = _plane(h, n, points[i, 0], points[i, 1])
    return result
