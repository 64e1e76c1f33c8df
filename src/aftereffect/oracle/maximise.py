"""The allocation that earns most: the grid's best cells from the oracle, each refined by zooming in with the same oracle."""

from __future__ import annotations

import numpy as np

from aftereffect.model.curves import Curve, Floats
from aftereffect.model.limits import inner_bounds
from aftereffect.oracle.search import NO_TIES, Ints, best_plain, through_cells


def utility_of(curves: tuple[Curve, ...], allocation: Floats) -> float:
    """What holding an allocation earns a round."""
    return float(sum(p * float(c(p)) for p, c in zip(allocation, curves, strict=True)))


def best_on(value: Floats, low: Ints, high: Ints) -> tuple[Ints, float]:
    """The best levels of a table of values, (arms, levels + 1), and their sum."""
    levels = np.zeros(len(value), dtype=np.int64)
    index = best_plain(np.ascontiguousarray(value), low, high, np.empty(value.shape), levels, NO_TIES)
    return levels, float(index)


def grid_size(arms: int, work: float, least: int, most: int) -> int:
    """As fine a grid as keeps K N^2 within `work`."""
    return int(np.clip(np.sqrt(work / arms), least, most))


_STARTS = 40  # cells to zoom in from
_ZOOM = 6  # steps to each side in one zoom
_FINEST = 1e-10


def maximise(curves: tuple[Curve, ...], floors: Floats, caps: Floats) -> Floats:
    """The best allocation: the grid's best cells, each refined by zooming, the best of all."""
    arms = len(curves)
    if arms == 1:
        return np.ones(1)
    count = grid_size(arms, 1e7, 100, 2000)
    spare = 1.0 - floors.sum()
    if spare <= 1e-12:
        return np.asarray(floors / floors.sum())
    # Steps start at the floors, so that every floor is itself on the grid.
    shares = np.minimum(floors[:, None] + np.arange(count + 1) / count * spare, 1.0)
    value = np.stack([s * c(s) for s, c in zip(shares, curves, strict=True)])
    low = np.zeros(arms, dtype=np.int64)
    high = np.minimum(np.floor((caps - floors) / spare * count + 1e-9), count).astype(np.int64)
    if high.sum() < count:  # the caps leave only allocations between two steps: start from the caps, scaled
        start = floors + (caps - floors) * spare / (caps - floors).sum()
        return _zoom(curves, floors, caps, start, spare / count)
    best, best_utility = floors, -np.inf
    for levels in _best_starts(value, low, high):
        allocation = _zoom(curves, floors, caps, floors + levels / count * spare, spare / count)
        utility = utility_of(curves, allocation)
        if utility > best_utility:
            best, best_utility = allocation, utility
    return best


def _best_starts(value: Floats, low: Ints, high: Ints) -> list[Ints]:
    """Allocations through the best cells that are local maxima along their arm."""
    through = through_cells(value, low, high)
    padded = np.pad(through, ((0, 0), (1, 1)), constant_values=-np.inf)
    peak = (through >= padded[:, :-2]) & (through >= padded[:, 2:]) & np.isfinite(through)
    cells = np.argwhere(peak)
    order = np.argsort(-through[peak], kind="stable")
    starts: dict[tuple[int, ...], Ints] = {}
    for arm, level in cells[order[: 4 * _STARTS]]:
        only_low, only_high = low.copy(), high.copy()
        only_low[arm] = only_high[arm] = level
        levels, _ = best_on(value, *inner_bounds(only_low, only_high, value.shape[1] - 1))
        starts.setdefault(tuple(levels.tolist()), levels)
        if len(starts) >= _STARTS:
            break
    return list(starts.values())


def _zoom(curves: tuple[Curve, ...], floors: Floats, caps: Floats, start: Floats, step: float) -> Floats:
    """Local search: the best exchange of shares in steps of h around the current allocation, h shrinking."""
    arms, current = len(curves), start
    offsets = np.arange(2 * _ZOOM + 1) - _ZOOM
    padded = np.full((arms, arms * _ZOOM + 1), -np.inf)
    last = padded.shape[1] - 1
    low: Ints = np.zeros(arms, dtype=np.int64)
    high: Ints = np.full(arms, min(2 * _ZOOM, last), dtype=np.int64)
    low, high = inner_bounds(low, high, last)
    width = step / 2
    stuck = 0
    while width > _FINEST:
        shares = current[:, None] + offsets * width
        inside = (shares >= floors[:, None] - 1e-15) & (shares <= caps[:, None] + 1e-15)
        shares = np.clip(shares, 0.0, 1.0)
        value = np.stack([s * c(s) for s, c in zip(shares, curves, strict=True)])
        padded[:, : 2 * _ZOOM + 1] = np.where(inside, value, -1e9)
        levels, _ = best_on(padded, low, high)
        moved = current + (levels - _ZOOM) * width
        stuck = stuck + 1 if np.array_equal(levels, np.full(arms, _ZOOM)) else 0
        if np.any(np.abs(levels - _ZOOM) == _ZOOM) and not stuck:
            current = moved  # at the rim: move on before zooming in
            width *= 0.7
        else:
            current = moved
            width /= 3
    clipped = np.clip(current, floors, caps)
    result: Floats = clipped / clipped.sum()
    return result
