"""Steady rewards: what an arm earns a round when its share stays at p."""

from __future__ import annotations

import copy
from functools import lru_cache

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.impacts import Compiled, OwnImpact
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints
from aftereffect.oracle.activations import Law, Path


def steady_curves(problem: Problem, horizon: int | None = None) -> tuple[tuple[Curve, ...], float]:
    """Each arm's steady reward as a function of its share, and how far the curves can be off (realised impact; else 0)."""
    if problem.follows_activations:
        found = [_when_activated(problem, k, horizon) for k in range(problem.arms)]
        return tuple(curve for curve, _ in found), max(slack for _, slack in found)
    return tuple(_steady(problem, k, horizon) for k in range(problem.arms)), 0.0


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
        state, value = impact.stepped(state, share)
        total += float(response(value))
    return total / rounds


# Realised impact: expectations over the activations.

PROVEN = 1e-6  # what an expected reward may be off
SHARES = 201  # at which steady rewards are computed; a spline between them
_KNOTS = 4001
_COARSE, _FINE, _FINEST = 512, 4096, 131_072  # cells of the laws
_FORGOTTEN = 1e-9


def expected_rewards(problem: Problem, arm: int, share: float, rounds: Ints | None) -> tuple[Floats, float]:
    """An arm's expected reward when activated, summed up to each of the rounds, and how much it can be off a round.

    Without rounds one round's, in the long run. The grid is refined until the error is below `PROVEN`.
    """
    impact, curve = _impact(problem, arm), problem.curves[arm]
    cells = _FINE
    while True:
        path = Path(impact, share, cells)
        mean, error = _long_run(path, curve) if rounds is None else _summed(path, curve, rounds)
        if error < PROVEN or cells >= _FINEST:
            return mean, error
        cells *= 2


def _long_run(path: Path, curve: Curve) -> tuple[Floats, float]:
    path.go(path.settled(_FORGOTTEN))
    mean, error = path.latest.mean_of(curve)
    return np.array([mean]), error + curve.lipschitz * _FORGOTTEN


def _summed(path: Path, curve: Curve, rounds: Ints) -> tuple[Floats, float]:
    """Up to each of the rounds; once the law has settled all rounds earn the same."""
    settle = path.settled(_FORGOTTEN)
    totals, error = np.zeros(len(rounds)), 0.0
    for i, t in enumerate(rounds[rounds <= settle].tolist()):
        path.go(t)
        totals[i], off = path.summed.mean_of(curve)
        error = max(error, off / t)
    later = rounds > settle
    if later.any():
        path.go(settle)
        total, off = path.summed.mean_of(curve)
        each, off_each = path.latest.mean_of(curve)
        totals[later] = total + (rounds[later] - settle) * each
        error = max(error, off / settle, off_each) + curve.lipschitz * _FORGOTTEN
    return totals, error


def _impact(problem: Problem, arm: int) -> Compiled:
    compiled = problem.impacts[arm].compiled()
    if compiled is None:
        raise AftereffectError("best_fixed: a user's own impact driven by realised activations has no known law")
    return compiled


@lru_cache(maxsize=8)  # laws know nothing of responses: arms and instances share them
def _laws(impact: Compiled, horizon: int | None) -> tuple[tuple[Law, int], ...]:
    """The law at each share, summed over so many rounds."""
    return tuple(_law(impact, p, horizon) for p in np.linspace(0.0, 1.0, SHARES).tolist())


def _law(impact: Compiled, share: float, horizon: int | None) -> tuple[Law, int]:
    path = Path(impact, share, _COARSE)
    settle = path.settled(PROVEN)
    path.go(settle if horizon is None else min(settle, horizon))
    if horizon is None:
        return path.latest, 1
    summed, latest, later = path.summed, path.latest, max(horizon - settle, 0)
    return Law(summed.wide + later * latest.wide, summed.narrow + later * latest.narrow), horizon


def _when_activated(problem: Problem, arm: int, horizon: int | None) -> tuple[Curve, float]:
    """Expected reward when activated as a function of the share, and how far it can be off anywhere.

    Between two shares a distance d apart it strays from its chord by d^2/8 sup |s''| at most, and s'' is the sum over pairs of
    earlier rounds of a second difference of the response: no more than the range of its slopes times the smaller weight.
    """
    from scipy.interpolate import CubicSpline

    impact, response = _impact(problem, arm), problem.curves[arm]
    shares = np.linspace(0.0, 1.0, SHARES)
    laws = _laws(impact, horizon)
    means, errors = np.array([law.mean_of(response) for law, _ in laws]).T / laws[0][1]
    knots = np.linspace(0.0, 1.0, _KNOTS)
    curve = Curve(knots, np.clip(CubicSpline(shares, means)(knots), 0.0, 1.0))
    slopes = np.diff(response.y) / np.diff(response.x)
    pairs = impact.window - 1 if impact.window > 0 else 2 * impact.memory**2 / (1.0 - impact.memory)
    strays = pairs * float(np.ptp(slopes)) / (8 * (SHARES - 1) ** 2)
    rounding = np.abs(curve.y - np.interp(knots, shares, means)).max()
    return curve, float(rounding + strays + errors.max() + response.lipschitz * PROVEN)
