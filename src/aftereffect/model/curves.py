"""Curves on [0, 1] as tables of knots: what the compiled world reads, and what the best fixed allocation reads too.

A curve is piecewise linear between knots. Kinks are knots, so piecewise linear curves are exact; smooth ones get knots
until linear interpolation is off by less than `TOLERANCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect._compile import helper
from aftereffect.errors import AftereffectError, shown

Floats = npt.NDArray[np.float64]
Records = npt.NDArray[np.void]  # numbers by name, in kernels too

TOLERANCE = 1e-7  # far below what a bandit can notice in 1e9 rounds
GUIDE = 512  # equal slices of [0, 1]; each knows its first knot, so that finding a segment takes a step or two
# a record, for its size is known to machine code; slope: of the segment that begins here
KNOT = np.dtype([("x", "f8"), ("y", "f8"), ("slope", "f8")], align=True)
_ROUNDS = 16  # halvings: enough for 64 * 2^16 knots around a corner nobody declared


def record(kind: np.dtype[np.void], **values: Any) -> Records:
    """One record: compiled code reads `records[0].name`, everything else `records["name"]`."""
    made = np.zeros(1, dtype=kind)
    for name, value in values.items():
        made[name] = value
    return made


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise linear function on [0, 1] given by its knots."""

    x: Floats
    y: Floats

    def __call__(self, x: npt.ArrayLike) -> Floats:
        return np.interp(np.asarray(x, dtype=np.float64), self.x, self.y)

    @property
    def lipschitz(self) -> float:
        """The steepest slope between two neighbouring knots."""
        return float(np.max(np.abs(np.diff(self.y) / np.diff(self.x))))


def tabulate(function: Callable[[Floats], npt.ArrayLike], kinks: Sequence[float] = (), what: str = "response") -> Curve:
    """The curve of a Python function, refined where it bends, with a knot at each kink."""
    # Points of the golden ratio beside the even ones: no wave can vanish on both.
    scattered = np.modf(0.6180339887498949 * np.arange(1, 129))[0]
    x = np.unique(np.concatenate([np.linspace(0.0, 1.0, 65), scattered, [k for k in kinks if 0.0 < k < 1.0]]))
    y = _values(function, x, what)
    for _ in range(_ROUNDS):
        middle = 0.5 * (x[:-1] + x[1:])
        exact = _values(function, middle, what)
        bent = np.abs(exact - 0.5 * (y[:-1] + y[1:])) > TOLERANCE
        # A bend may hide where the curve crosses its chord in the middle: neighbours of a bent piece are split as well.
        bent[1:] |= bent[:-1].copy()
        bent[:-1] |= bent[1:].copy()
        bent &= np.diff(x) > 1e-9
        if not bent.any() or len(x) > 50_000:
            break
        x = np.concatenate([x, middle[bent]])
        order = np.argsort(x)
        x, y = x[order], np.concatenate([y, exact[bent]])[order]
    return Curve(x, y)


def _values(function: Callable[[Floats], npt.ArrayLike], x: Floats, what: str) -> Floats:
    """Values of a function that may or may not take arrays; they must lie in [0, 1]."""
    try:
        try:
            y = np.asarray(function(x), dtype=np.float64)
        except (TypeError, ValueError):
            y = np.zeros(0)
        if y.shape != x.shape:
            y = np.asarray([np.asarray(function(v)).item() for v in x], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AftereffectError(
            f"{what} must be a function from [0, 1] to numbers, got {shown(function)}: {error}"
        ) from None
    bad = ~((y >= -1e-12) & (y <= 1.0 + 1e-12))
    if bad.any():
        at = int(np.argmax(bad))
        raise AftereffectError(f"{what} must lie in [0, 1] on [0, 1]; it is {y[at]:g} at {x[at]:g}")
    return np.clip(y, 0.0, 1.0)


def polyline(x: Sequence[float], y: Sequence[float], what: str = "table") -> Curve:
    """The curve through given points, held constant outside them; checked."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape or len(xs) < 2:
        raise AftereffectError(
            f"{what} needs two equally long lists of at least 2 numbers, got {len(xs)} and {len(ys)}"
        )
    if not (np.all(np.diff(xs) > 0) and xs[0] >= 0.0 and xs[-1] <= 1.0):
        raise AftereffectError(f"{what}: x must increase within [0, 1], got {list(map(float, xs))}")
    if not np.all((ys >= 0.0) & (ys <= 1.0)):
        raise AftereffectError(f"{what}: y must lie in [0, 1], got {list(map(float, ys))}")
    if xs[0] > 0.0:
        xs, ys = np.concatenate([[0.0], xs]), np.concatenate([[ys[0]], ys])
    if xs[-1] < 1.0:
        xs, ys = np.concatenate([xs, [1.0]]), np.concatenate([ys, [ys[-1]]])
    return Curve(xs, ys)


def pack(curves: Sequence[Curve]) -> tuple[Records, npt.NDArray[np.int64]]:
    """All arms' curves as one array of knots, a row for each arm, and one array of guides."""
    rows = max((len(c.x) for c in curves), default=0) + 1
    knots = np.zeros((len(curves), rows), dtype=KNOT)
    knots["x"] = np.inf  # the one behind the last knot ends every search
    guide = np.zeros((len(curves), GUIDE + 2), dtype=np.int64)
    edges = np.arange(GUIDE + 2) / GUIDE
    for k, curve in enumerate(curves):
        n = len(curve.x)
        knots["x"][k, :n] = curve.x
        knots["y"][k, :n] = curve.y
        knots["slope"][k, : n - 1] = np.diff(curve.y) / np.diff(curve.x)
        guide[k] = np.clip(np.searchsorted(curve.x, edges, side="right") - 1, 0, n - 1)
    return knots, guide


@helper
def evaluate(knots: Records, guide: npt.NDArray[np.int64], k: int, x: float) -> float:
    """Curve k at x in [0, 1]."""
    # Unsigned: a signed index may count from the end, which machine code would look into at every step.
    i = np.uint64(guide[k, np.uint32(x * GUIDE)])
    while x > knots[k, i + np.uint64(1)].x:
        i += np.uint64(1)
    knot = knots[k, i]
    return float(knot.y + knot.slope * (x - knot.x))
