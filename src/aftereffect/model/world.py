"""The world under way: one round after another, compiled.

Every problem compiles into the same type, `World`, so that each policy's simulation is compiled once and for all. In
each round every arm takes the same number of draws whatever the policy did: policies meet common random numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aftereffect._by_address import passed_by_address
from aftereffect._compile import allocating_kernel, dispatch, helper, kernel, without_annotations
from aftereffect._random import Words, beta, binomial_quantile, next_word, normal, reseed, uniform
from aftereffect.model.curves import Floats, Records, evaluate
from aftereffect.model.drift import STILL, weight_at
from aftereffect.model.fairness import ACTIVATED
from aftereffect.model.feedback import (
    BERNOULLI,
    COMMON,
    CONTINUOUS,
    EACH,
    INDEPENDENT,
    NO_SHOCK,
    NONE,
    ONE,
    SPLIT,
)
from aftereffect.model.units import share_out

Ints = npt.NDArray[np.int64]

TO_UNIT = 1.0 / 9007199254740992.0  # 2^-53

# aligned: the loop is 4 percent slower where machine code may not count on that
SETTINGS = np.dtype(
    [
        ("feedback", "i8"),
        ("noise", "i8"),
        ("spread", "f8"),  # of rewards
        ("realised", "i8"),  # does the realised activation drive the impact?
        ("measured", "i8"),  # whose fairness measure is seen
        ("measure_noise", "i8"),
        ("measure_spread", "f8"),
        ("tolerance", "f8"),
        ("units", "i8"),  # 0: single rewards
        ("shock", "i8"),  # which kind
        ("deviation", "f8"),  # of the shock
        ("moving", "i8"),  # how responses do
        ("pace", "f8"),  # of the move
        ("step", "f8"),  # largest change of a share; 0: any
    ],
    align=True,
)
# before g; of a window weight is the running sum
IMPACT = np.dtype([("value", "f8"), ("weight", "f8"), ("memory", "f8")], align=True)


class World(NamedTuple):
    """A problem under way; all of it is changed in place."""

    rng: Words
    scratch: Words  # a generator seeded anew for each Beta reward, which may reject
    settings: Records  # one record
    knots: Records  # responses as functions of the impact before g
    guide: Ints
    later: Records  # the responses that these move to; the same where they do not
    later_guide: Ints
    measures: Records  # fairness measures as functions of the impact before g; no arms without any
    measure_guide: Ints
    measure_rng: Words  # of its own: a measure must not shift the rewards
    shock_rng: Words  # of its own as well
    units: Floats  # (arms,): of this round
    impact: Records  # of each arm
    window: Ints  # (arms,): 0 for the recursion
    ring: Floats  # (arms, longest window)


passed_by_address(World)


@helper
def unit(word: np.uint64) -> float:
    """A word as a number in [0, 1)."""
    return np.float64(word >> np.uint64(11)) * TO_UNIT


def advance(world: Any, k: int, t: int, share: float) -> float:
    """Let arm k's impact take in this round's share; gives what the impact would be had the share been one."""
    if isinstance(world, World):
        return float(_advance_kernel(world, k, t, share))
    return float(world.advance(k, t, share))


def _advance(world: World, k: int, t: int, share: float) -> float:
    impact, ring = world.impact, world.ring
    length = world.window[k]
    if length == 0:
        own = impact[k]
        weight = 1.0 + own.memory * own.weight
        own.weight = weight
        before = own.value
        step = 1.0 / weight
        own.value = before + (share - before) * step
        return float(before + (1.0 - before) * step)
    slot = (t - 1) % length
    total = impact[k].weight - ring[k, slot]
    ring[k, slot] = share
    held = min(t, length)
    if slot == length - 1:  # add up afresh once a lap: rounding errors must not pile up over millions of rounds
        total = 0.0
        for i in range(length - 1):
            total += ring[k, i]
    impact[k].weight = total + share
    impact[k].value = min(1.0, max(0.0, (total + share) / held))
    return float(min(1.0, max(0.0, (total + 1.0) / held)))


@dispatch(advance)
def _overload_advance(world: Any, k: Any, t: Any, share: Any) -> Any:
    return without_annotations(_advance)


_advance_kernel = kernel(_advance)


@kernel
def beta_reward(scratch: Words, word: np.uint64, mean: float, concentration: float) -> float:
    """A Beta reward from a generator of its own, so that rejections shift nobody else's draws."""
    if mean <= 0.0 or mean >= 1.0:
        return mean
    if concentration <= 0.0:  # as wide as the mean allows: all or nothing
        return 1.0 if unit(word) < mean else 0.0
    reseed(scratch, word)
    return beta(scratch, concentration * mean, concentration * (1.0 - mean))


@helper
def concentration_of(noise: int, spread: float, mean: float) -> float:
    """Of one reward around its mean, which has variance m (1 - m) / (1 + concentration)."""
    return max(0.0, mean * (1.0 - mean) / (spread * spread) - 1.0) if noise == CONTINUOUS else spread


@helper
def draw_around(mean: float, noise: int, spread: float, scratch: Words, word: np.uint64) -> float:
    """A reward or a measure around its mean, from one word of a generator."""
    if noise == BERNOULLI:
        return 1.0 if unit(word) < mean else 0.0
    if noise == NONE:
        return mean
    return beta_reward(scratch, word, mean, concentration_of(noise, spread, mean))


@helper
def draw_mean(mean: float, noise: int, spread: float, count: float, scratch: Words, word: np.uint64) -> float:
    """The mean of so many rewards, from one word: a binomial count, or a Beta with the mean's own variance."""
    if noise == BERNOULLI:
        return binomial_quantile(unit(word), count, mean) / count
    if noise == NONE:
        return mean
    return beta_reward(scratch, word, mean, (concentration_of(noise, spread, mean) + 1.0) * count - 1.0)


class Kind(NamedTuple):
    """The settings that decide which parts of a round a world needs."""

    feedback: int
    noise: int
    realised: int
    units: int
    shock: int
    moving: int


USUAL = Kind(feedback=INDEPENDENT, noise=BERNOULLI, realised=0, units=0, shock=NO_SHOCK, moving=STILL)


def _kind_of(world: Any) -> Kind:
    settings = world.settings[0]
    return Kind(
        settings["feedback"],
        settings["noise"],
        settings["realised"],
        settings["units"],
        settings["shock"],
        settings["moving"],
    )


def step(world: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> tuple[float, float]:
    """Deploy an allocation in round t (from 1): fills what is seen and its rewards.

    Gives the round's expected utility (1) given the past, and the realised one. Under a realised impact the expectation is
    over today's activation too: an arm pays only when activated, and then today's activation is part of its impact.
    """
    if isinstance(world, World):
        return _step_kernel(world, t, allocation, seen, reward)
    return _step(world, _kind_of(world), t, allocation, seen, reward)


# With impacts of users' own these run in the interpreter, where a record's numbers are items, not attributes.


def _step(world: Any, kind: Kind, t: int, allocation: Floats, seen: Floats, reward: Floats) -> tuple[float, float]:
    rng, settings, knots, guide, impact = world.rng, world.settings[0], world.knots, world.guide, world.impact
    later, later_guide = world.later, world.later_guide
    feedback, noise, spread = kind.feedback, kind.noise, settings["spread"]
    units, given = kind.units, world.units
    moved = weight_at(kind.moving, settings["pace"], t) if kind.moving != STILL else 0.0
    shock = 0.0
    if kind.shock == COMMON:
        shock = settings["deviation"] * normal(world.shock_rng)
    if units > 0:
        share_out(allocation, units, given)
    arms = allocation.shape[0]
    expected = 0.0
    realised = 0.0
    drawn = -1
    if feedback == ONE:
        mark = uniform(rng)
        for k in range(arms):
            if allocation[k] > 0.0 and mark >= 0.0:
                drawn = k  # the last arm with a share, should rounding leave the mark above the total
                mark -= allocation[k]
    for k in range(arms):
        share = allocation[k]
        active = share > 0.0
        if feedback == INDEPENDENT:
            active = uniform(rng) < share
        elif feedback == ONE:
            active = k == drawn
        elif units > 0:
            active = given[k] > 0.0
        word = np.uint64(next_word(rng))  # called from Python it comes back as a plain int
        if kind.realised != 0:
            at = advance(world, k, t, 1.0 if active else 0.0)
        else:
            advance(world, k, t, share)
            at = impact[k]["value"]
        mean = evaluate(knots, guide, k, at)
        if moved > 0.0:
            mean += moved * (evaluate(later, later_guide, k, at) - mean)
        expected += share * mean
        if kind.shock != NO_SHOCK:
            if kind.shock == EACH:
                shock = settings["deviation"] * normal(world.shock_rng)
            mean = min(1.0, max(0.0, mean + shock))
        if active and units > 0:
            got = draw_mean(mean, noise, spread, given[k], world.scratch, word)
            seen[k] = given[k]
            reward[k] = got
            realised += given[k] / units * got
        elif active:
            got = draw_around(mean, noise, spread, world.scratch, word)
            seen[k] = 1.0
            reward[k] = got
            realised += share * got if feedback == SPLIT else got
        else:
            seen[k] = 0.0
            reward[k] = 0.0
    return expected, realised


_kind_part, _step_part = helper(_kind_of), helper(_step)


def _step_compiled(world: World, t: int, allocation: Floats, seen: Floats, reward: Floats) -> tuple[float, float]:
    """The same loop twice: where the kind is the usual one the compiler knows it, and leaves out all that only others need.

    That takes a fifth off a simulation's time: less for the branches, never taken, than for what they would have to find at hand.
    """
    kind = _kind_part(world)
    if kind == USUAL:
        return _step_part(world, USUAL, t, allocation, seen, reward)
    return _step_part(world, kind, t, allocation, seen, reward)


_step_kernel = kernel(_step_compiled)


@dispatch(step)
def _overload_step(world: Any, t: Any, allocation: Any, seen: Any, reward: Any) -> Any:
    return without_annotations(_step_compiled)


def observe(world: Any, seen: Floats, measured: Floats) -> float:
    """After a round's step: fills the fairness measures that are seen (NaN: not), gives the largest gap between true ones."""
    return float((_observe_kernel if isinstance(world, World) else _observe)(world, seen, measured))


def _observe(world: Any, seen: Floats, measured: Floats) -> float:
    settings, impact, measures, guide = world.settings[0], world.impact, world.measures, world.measure_guide
    noise, spread = settings["measure_noise"], settings["measure_spread"]
    lowest, highest = 1.0, 0.0
    for k in range(seen.shape[0]):
        word = np.uint64(next_word(world.measure_rng))
        mean = evaluate(measures, guide, k, impact[k]["value"])
        lowest, highest = min(lowest, mean), max(highest, mean)
        if settings["measured"] == ACTIVATED and seen[k] == 0.0:
            measured[k] = np.nan
        elif settings["units"] > 0 and world.units[k] > 1.0:
            measured[k] = draw_mean(mean, noise, spread, world.units[k], world.scratch, word)
        else:
            measured[k] = draw_around(mean, noise, spread, world.scratch, word)
    return highest - lowest


_observe_kernel = kernel(_observe)


@dispatch(observe)
def _overload_observe(world: Any, seen: Any, measured: Any) -> Any:
    return without_annotations(_observe)


@allocating_kernel
def fixed_utility(world: World, allocation: Floats, rounds: Ints, totals: Floats) -> None:
    """Expected utility of holding one allocation from the first round on, summed up to each of the rounds."""
    arms = allocation.shape[0]
    seen, reward = np.empty(arms), np.empty(arms)
    total = 0.0
    place = 0
    for t in range(1, rounds[-1] + 1):
        expected, _ = step(world, t, allocation, seen, reward)
        total += expected
        if t == rounds[place]:
            totals[place] = total
            place += 1
