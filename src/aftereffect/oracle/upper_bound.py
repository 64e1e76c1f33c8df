"""An upper bound on what any fixed allocation earns.

It comes from cutting each arm's shares into cells: for any price, price + sum_k max over a cell of (p s_k(p) - price p) is at
least the utility of every allocation with its shares in those cells, and the oracle finds the largest such sum. With the
right price the cells' width matters only to second order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aftereffect.model.curves import Curve, Floats
from aftereffect.oracle.maximise import grid_size
from aftereffect.oracle.search import best_near_budget

if TYPE_CHECKING:
    from aftereffect.oracle.best_fixed import BestFixed

_PIECES = 16  # pieces of a cell over which p and s(p) are bounded apart


def upper_bound(best: BestFixed) -> float:
    """No allocation within the limits earns more than this."""
    arms = len(best.curves)
    if arms == 1:
        return best.utility
    count = grid_size(arms, 3.5e8, 300, 8192)
    pieces = [_piece_tops(c, count * _PIECES) for c in best.curves]
    low = np.floor(best.floors * count + 1e-12).astype(np.int64)
    high = np.minimum(np.ceil(best.caps * count - 1e-12).astype(np.int64), count) - 1
    edges = np.arange(count * _PIECES + 1) / (count * _PIECES)

    def at(price: float) -> float:
        tops = np.full((arms, count + 1), -np.inf)
        paid = np.minimum(price * edges[:-1], price * edges[1:])
        for k, top in enumerate(pieces):
            tops[k, :count] = (top - paid).reshape(count, _PIECES).max(axis=1)
        return price + float(best_near_budget(tops, np.maximum(low, 0), np.maximum(high, 0), arms))

    return max(best.utility, min(at(price) for price in _prices(best)))


def _piece_tops(curve: Curve, pieces: int) -> Floats:
    """For each of equal pieces of [0, 1] an upper bound of p s(p): its right end times the largest s within."""
    edges = np.arange(pieces + 1) / pieces
    at_edges = curve(edges)
    top = np.maximum(at_edges[:-1], at_edges[1:])
    inside = np.minimum((curve.x * pieces).astype(np.int64), pieces - 1)
    np.maximum.at(top, inside, curve.y)
    result: Floats = edges[1:] * top
    return result


def _prices(best: BestFixed) -> list[float]:
    """Candidate prices of a share: the marginal utilities around the optimum."""
    slopes: list[float] = []
    step = 1e-5
    for p, curve in zip(best.allocation, best.curves, strict=True):
        for side in (-step, step):
            if 0.0 <= p + side <= 1.0:
                moved = (p + side) * float(curve(p + side)) - p * float(curve(p))
                slopes.append(moved / side)
    inner = np.quantile(slopes, [0.0, 0.25, 0.5, 0.75, 1.0]) if slopes else np.zeros(1)
    return sorted({round(float(s), 6) for s in [*inner, float(np.mean(slopes)) if slopes else 0.0]})
