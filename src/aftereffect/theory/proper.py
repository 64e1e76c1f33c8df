"""Strict properness of responses (App. G): holding p pays best when the impact is p itself.

Responses are strictly proper if sum p_k r_k(p_k) > sum p_k r_k(q_k) for all allocations p and q != p. For each p of a grid the
oracle finds the best q != p of the same grid exactly, so a counterexample is one, and "proper" means on this grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aftereffect.errors import require, require_whole
from aftereffect.model.curves import Floats
from aftereffect.model.problem import Problem
from aftereffect.model.responses import Response, as_response
from aftereffect.model.world import Ints
from aftereffect.oracle.levels import best_levels

MOST_ALLOCATIONS = 1000  # that the default grid has
TIE = 1e-9  # what pays this little less counts as paying as much: strictness cannot be told from rounding


@dataclass(frozen=True, eq=False)
class Counterexample:
    """Allocations p and q != p: with an impact of q, holding p pays at least as much as with an impact of p."""

    p: Floats
    q: Floats
    at_p: float  # sum p_k r_k(p_k)
    at_q: float  # sum p_k r_k(q_k)


@dataclass(frozen=True, eq=False)
class Properness:
    """What the checker found: no counterexample on the grid, or the worst one."""

    levels: int
    checked: int
    margin: float  # the least by which p itself pays better than any other q; not above 0 if there is a counterexample
    counterexample: Counterexample | None

    @property
    def proper(self) -> bool:
        """Strictly proper on this grid."""
        return self.counterexample is None

    def __bool__(self) -> bool:
        return self.proper


def check_proper(
    responses: Problem | Sequence[Response | Callable[..., npt.ArrayLike]], levels: int | None = None
) -> Properness:
    """Are the responses strictly proper on the grid of allocations with `levels` steps, zero shares included?

    The default grid is the finest with at most 1000 allocations, and at most 200 steps.

    >>> from aftereffect.model.catalog import problem
    >>> check_proper(problem("brier", arms=2)).proper, check_proper(problem("brier", arms=3)).proper
    (True, False)
    """
    if isinstance(responses, Problem):
        curves = [response.curve for response in responses.scaled]
    else:
        curves = [as_response(response).curve for response in responses]
    arms = len(curves)
    require(arms >= 2, f"properness compares allocations: needs at least 2 arms, got {arms}")
    steps = _default_levels(arms) if levels is None else require_whole("levels", levels)
    shares = np.arange(steps + 1) / steps
    paid = np.stack([curve(shares) for curve in curves])
    margin, worst, checked = math.inf, None, 0
    for p in _allocations(arms, steps):
        at_p, q, at_q = _best_other(paid, p, steps)
        checked += 1
        if at_p - at_q < margin:
            margin = at_p - at_q
            if margin <= TIE:
                worst = Counterexample(p / steps, q / steps, at_p, at_q)
    return Properness(steps, checked, margin, worst)


def _default_levels(arms: int) -> int:
    fits = [n for n in range(1, 201) if math.comb(n + arms - 1, arms - 1) <= MOST_ALLOCATIONS]
    return max(fits, default=1)


def _allocations(arms: int, levels: int) -> Iterator[Ints]:
    """Every allocation of the grid, in levels."""

    def rest(arms: int, left: int) -> Iterator[tuple[int, ...]]:
        if arms == 1:
            yield (left,)
            return
        for level in range(left + 1):
            for tail in rest(arms - 1, left - level):
                yield (level, *tail)

    return (np.array(levels, dtype=np.int64) for levels in rest(arms, levels))


def _best_other(paid: Floats, p: Ints, levels: int) -> tuple[float, Ints, float]:
    """What p pays at an impact of p, and the best q != p: it differs from p in some arm, so leave out p's level there."""
    value = (p / levels)[:, None] * paid
    at_p = float(value[np.arange(len(p)), p].sum())
    best, found = p, -math.inf
    for k, level in enumerate(p):
        without = value.copy()
        without[k, level] = -np.inf
        q, at_q = best_levels(without, zero=True)
        if at_q > found:
            best, found = q, at_q
    return at_p, best, found
