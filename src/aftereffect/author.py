"""What a policy of one's own is written with: random draws, deployments, checks of parameters, and how a rule is registered.

Draws take the generator in a policy's state (`state.rng`, or `arrays["rng"]` in plain Python) and change it in place, so that
choices follow from the seed alone and a saved agent goes on with the very same draws. They run inside compiled rules and in
plain Python alike.

>>> rng = generator(7)
>>> round(uniform(rng), 4), round(normal(rng), 4), whole(rng, 6)
(0.2588, -0.5924, 4)
"""

from __future__ import annotations

from aftereffect._compile import own_helper as compiled
from aftereffect._random import Words, beta, gamma, generator, normal, uniform
from aftereffect.errors import CorruptFile
from aftereffect.policies.base import (
    PlainPolicy,
    Policy,
    check_between,
    check_bool,
    check_choice,
    check_memory,
    check_positive,
    check_whole,
    need_horizon,
    need_memory,
    refuse_limits,
    register,
)
from aftereffect.policies.base_arms import deploy_arm, deploy_best, project
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting


@compiled
def whole(rng: Words, count: int) -> int:
    """A whole number from 0 to count - 1, all equally likely."""
    return int(uniform(rng) * count)


@compiled
def deploy_levels(allocation, levels, rng):  # type: ignore[no-untyped-def]
    """Fill an allocation whose shares are whole multiples of 1/levels, drawn uniformly among all of those on the simplex."""
    arms = allocation.shape[0]
    for k in range(arms):
        allocation[k] = 0.0
    units, walls, arm = levels, arms - 1, 0
    while units + walls > 0:  # stars and bars: which of the places that are left is the next wall?
        if uniform(rng) * (units + walls) < walls:
            walls -= 1
            arm += 1
        else:
            units -= 1
            allocation[arm] += 1.0 / levels


__all__ = [
    "CorruptFile",
    "Grid",
    "PlainPolicy",
    "Policy",
    "Setting",
    "beta",
    "check_between",
    "check_bool",
    "check_choice",
    "check_memory",
    "check_positive",
    "check_whole",
    "compiled",
    "deploy_arm",
    "deploy_best",
    "deploy_levels",
    "gamma",
    "generator",
    "need_horizon",
    "need_memory",
    "normal",
    "project",
    "refuse_limits",
    "register",
    "register_rule",
    "require_sense",
    "uniform",
    "whole",
]
