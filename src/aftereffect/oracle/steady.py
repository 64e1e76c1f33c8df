"""Steady rewards: what an arm earns a round when its share stays at p, computed or, under realised impact, measured."""

from __future__ import annotations

import copy

import numpy as np

from aftereffect._compile import kernel
from aftereffect._random import Words, generator, uniform
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Curve, Floats, evaluate
from aftereffect.model.impacts import OwnImpact
from aftereffect.model.problem import Problem
from aftereffect.model.world import World, advance


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
