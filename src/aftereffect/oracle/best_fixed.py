"""The best fixed allocation of a problem, with an upper bound that holds for every allocation.

What holding an allocation earns is a sum over arms, sum_k p_k s_k(p_k), with s_k the arm's steady reward. The maximum on a
fine grid comes from the oracle; from many of its best cells a local search zooms in with the same oracle on ever smaller
steps. The bound comes from cutting each arm's shares into cells: for any price, price + sum_k max over a cell of
(p s_k(p) - price p) is at least the utility of every allocation with its shares in those cells, and the oracle finds the
largest such sum. With the right price the cells' width matters only to second order.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aftereffect._compile import kernel
from aftereffect._random import Words, generator, uniform
from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.curves import Curve, Floats, evaluate
from aftereffect.model.impacts import OwnImpact
from aftereffect.model.limits import inner_bounds
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints, World, advance, fixed_utility, step
from aftereffect.oracle.search import best_near_budget, best_plain, through_cells

_NO_TIES = np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class BestFixed:
    """The best fixed allocation: its shares, its utility a round, and how sure that is.

    `error` is the standard error of the utility where steady rewards had to be measured by simulation (realised impact),
    else 0. `bound` is an upper bound on every allocation's utility, computed when it is read; with a measured error it
    holds for the measured curves.
    """

    allocation: Floats
    utility: float
    error: float
    curves: tuple[Curve, ...]
    floors: Floats
    caps: Floats

    def __repr__(self) -> str:
        error = f", error={self.error:.2g}" if self.error else ""
        return f"BestFixed(allocation={np.round(self.allocation, 4).tolist()}, utility={self.utility:.6g}{error})"

    @cached_property
    def bound(self) -> float:
        """No fixed allocation earns more than this."""
        return _upper_bound(self)

    def on_grid(self, levels: int, low: Ints, high: Ints) -> float:
        """The best utility among the allocations of a grid."""
        shares = np.arange(levels + 1) / levels
        return _best_on(np.stack([shares * c(shares) for c in self.curves]), low, high)[1]


def best_fixed(problem: Problem, horizon: int | None = None) -> BestFixed:
    """The best fixed allocation of a problem.

    With a `horizon` and an impact that has a transient, or responses that move, the allocation that earns most over that
    many rounds from the first one on, its utility averaged over them; otherwise the long run (at the first responses).
    """
    if not isinstance(problem, Problem):
        raise AftereffectError(f"best_fixed takes a problem, got {shown(problem)}")
    if horizon is not None:
        require_whole("horizon", horizon)
    curves, errors = steady_curves(problem, horizon)
    limits = problem.limits
    allocation = _maximise(curves, limits.floors, limits.caps)
    utility = _utility(curves, allocation)
    error = (
        float(np.sqrt(sum((p * float(e(p))) ** 2 for p, e in zip(allocation, errors, strict=True)))) if errors else 0.0
    )
    return BestFixed(allocation, utility, error, curves, limits.floors, limits.caps)


# Steady rewards: what an arm earns a round when its share stays at p.


def steady_curves(problem: Problem, horizon: int | None = None) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
    """Each arm's steady reward as a function of its share, and the standard errors where they are measured."""
    if problem.follows_activations:
        measured = [_measure(problem, k) for k in range(problem.arms)]
        return tuple(m[0] for m in measured), tuple(m[1] for m in measured)
    return tuple(_steady(problem, k, horizon) for k in range(problem.arms)), ()


def _steady(problem: Problem, arm: int, horizon: int | None) -> Curve:
    impact, response = problem.impacts[arm], problem.curves[arm]
    if problem.moving is not None and horizon is not None:
        response = problem.moved(problem.moving.mean_weight(horizon))[arm]
    if isinstance(impact, OwnImpact):
        shares = np.linspace(0.0, 1.0, 201)
        limit = problem.steady(arm, shares)
        if horizon is None:
            return Curve(shares, limit)
        settle = min(horizon, impact.SETTLE)
        early = np.array([_own_path(impact, float(p), settle, response) for p in shares])
        return Curve(shares, (early * settle + limit * (horizon - settle)) / horizon)
    compiled = impact.compiled()
    if horizon is None or not impact.transient or compiled is None:
        return response
    shares = np.unique(np.concatenate([np.linspace(0.0, 1.0, 2001), response.x]))
    total, gap, t = np.zeros_like(shares), 1.0, 0
    while t < horizon and gap > 1e-13:
        gap *= compiled.memory
        t += 1
        total += response(shares + (compiled.start - shares) * gap)
    return Curve(shares, (total + (horizon - t) * response(shares)) / horizon)


def _own_path(impact: OwnImpact, share: float, rounds: int, response: Curve) -> float:
    state, total = copy.deepcopy(impact.start), 0.0
    for _ in range(rounds):
        state, value = impact.step(state, share)
        total += float(response(value))
    return total / rounds


MEASURED_SHARES = 101
MEASURED_ROUNDS = 40_000
_BATCHES = 20


def _measure(problem: Problem, arm: int) -> tuple[Curve, Curve]:
    """An arm's mean reward when activated, for each share, measured under realised impact with its standard error.

    The same draws serve every share, so the curve is smooth in the share although each point is noisy.
    """
    shares = np.linspace(0.0, 1.0, MEASURED_SHARES)
    means, errors = np.empty_like(shares), np.empty_like(shares)
    for i, share in enumerate(shares):
        world = problem.world(generator(0))
        if not isinstance(world, World):
            raise AftereffectError("best_fixed: a user's own impact driven by realised activations cannot be measured")
        batches = np.zeros(_BATCHES)
        rng = generator(
            np.random.SeedSequence(20_210_001, spawn_key=(arm,))
        )  # of the arm's own: arms err independently
        _activated_reward(world, rng, arm, share, MEASURED_ROUNDS, batches)
        means[i] = batches.mean()
        errors[i] = batches.std(ddof=1) / np.sqrt(_BATCHES)
    return Curve(shares, means), Curve(shares, errors)


@kernel
def _activated_reward(world: World, rng: Words, arm: int, share: float, rounds: int, batches: Floats) -> None:
    """Mean over rounds of r(f as if activated today), in batches; the first tenth of the rounds is let pass."""
    lead = rounds // 10
    size = rounds // batches.shape[0]
    for t in range(1, lead + rounds + 1):
        active = 1.0 if uniform(rng) < share else 0.0
        if_active = advance(world, arm, t, active)
        if t > lead:
            batch = min((t - lead - 1) // size, batches.shape[0] - 1)
            batches[batch] += evaluate(world.knots, world.guide, arm, if_active) / size


# The maximum.


def _utility(curves: tuple[Curve, ...], allocation: Floats) -> float:
    return float(sum(p * float(c(p)) for p, c in zip(allocation, curves, strict=True)))


def _best_on(value: Floats, low: Ints, high: Ints) -> tuple[Ints, float]:
    levels = np.zeros(len(value), dtype=np.int64)
    index = best_plain(np.ascontiguousarray(value), low, high, np.empty(value.shape), levels, _NO_TIES)
    return levels, float(index)


def _grid_size(arms: int, work: float, least: int, most: int) -> int:
    """As fine a grid as keeps K N^2 within `work`."""
    return int(np.clip(np.sqrt(work / arms), least, most))


_STARTS = 40  # cells to zoom in from
_ZOOM = 6  # steps to each side in one zoom
_FINEST = 1e-10


def _maximise(curves: tuple[Curve, ...], floors: Floats, caps: Floats) -> Floats:
    """The best allocation: the grid's best cells, each refined by zooming, the best of all."""
    arms = len(curves)
    if arms == 1:
        return np.ones(1)
    count = _grid_size(arms, 1e7, 100, 2000)
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
        utility = _utility(curves, allocation)
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
        levels, _ = _best_on(value, *inner_bounds(only_low, only_high, value.shape[1] - 1))
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
        levels, _ = _best_on(padded, low, high)
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


# The bound.

_PIECES = 16  # pieces of a cell over which p and s(p) are bounded apart


def _upper_bound(best: BestFixed) -> float:
    arms = len(best.curves)
    if arms == 1:
        return best.utility
    count = _grid_size(arms, 3.5e8, 300, 8192)
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


def fixed_utilities(problem: Problem, best: BestFixed, rounds: Ints) -> Floats:
    """What the best fixed allocation has earned in expectation up to each round, on its own history."""
    if best.error > 0 or not (problem.transient or problem.moving):
        return np.asarray(rounds * best.utility)
    return held_utilities(problem, best.allocation, rounds)


def held_utilities(problem: Problem, allocation: Floats, rounds: Ints) -> Floats:
    """What holding an allocation from the first round on has earned in expectation up to each round, on its own history."""
    if problem.follows_activations:
        raise AftereffectError("held_utilities needs an impact driven by the intended shares")
    world: Any = problem.world(generator(0))
    totals = np.zeros(len(rounds))
    if isinstance(world, World):
        fixed_utility(world, allocation, rounds, totals)
        return totals
    seen, reward = np.zeros(problem.arms), np.zeros(problem.arms)
    settle = min(int(rounds[-1]), OwnImpact.SETTLE)
    path = np.array([step(world, t, allocation, seen, reward)[0] for t in range(1, settle + 1)])
    early = np.concatenate([[0.0], np.cumsum(path)])
    past = np.minimum(rounds, settle)
    return np.asarray(early[past] + (rounds - past) * path[-1])


# Responses that move: the best allocation of each moment.

MOMENTS = 33  # at which the best allocation is found; in between, the best of theirs counts


def moving_utilities(problem: Problem, rounds: Ints) -> Floats:
    """What the best allocation of each moment earns where responses move, summed up to each of the rounds.

    An allocation's utility is linear in how far they have gone, so the best one's is the upper envelope of straight
    lines: convex. Those of the best allocations at some moments touch it there and are below it by little in between.
    """
    moving = problem.moving
    if moving is None:
        raise AftereffectError("moving_utilities takes a problem with drift, change or season")
    floors, caps = problem.limits.floors, problem.limits.caps
    found = [_maximise(problem.moved(w), floors, caps) for w in np.linspace(0.0, 1.0, MOMENTS)]
    first = np.array([_utility(problem.curves, p) for p in found])
    last = np.array([_utility(problem.later_curves, p) for p in found])
    weights = moving.weights(int(rounds[-1]))
    best = np.full(len(weights), -np.inf)
    for a, b in zip(first, last, strict=True):
        np.maximum(best, a + weights * (b - a), out=best)
    return np.asarray(np.cumsum(best)[rounds - 1])
