"""What a look elsewhere is worth: somewhere on the way from home to a target, for some rounds, against what it costs."""

from __future__ import annotations

import math

from aftereffect._compile import helper, kernel
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.fit import STEEP, as_response, covariances
from aftereffect.policies.curves.state import (
    SEARCHING,
    TRYING,
    CurvesState,
    copy_levels,
    patience,
    shortest_hold,
    wariness,
)

TRIALS = 4  # places on the way to a target: all of it, half, a quarter, an eighth
TINY = 1e-18  # a variance below which nothing is left to learn
SHORT = 20_000.0  # rounds: a shorter horizon changes nothing, a longer one counts the more the longer it is


@helper
def expected_gain(mean: float, deviation: float) -> float:
    """Mean of the larger of zero and a normal variable."""
    z = mean / deviation
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return deviation * density + mean * 0.5 * math.erfc(-z / math.sqrt(2.0))


@kernel
def part_way(home: Ints, target: Ints, part: float, levels: Ints) -> None:
    """Levels so much of the way from home to a target, whole and with the same sum."""
    carried = 0.0
    for k in range(home.shape[0]):
        wanted = home[k] + part * (target[k] - home[k]) + carried
        levels[k] = math.floor(wanted + 0.5)
        carried = wanted - levels[k]


@helper
def _difference(p: float, at_p: float, q: float, at_q: float, between: float) -> float:
    """Variance of p r(p) - q r(q)."""
    return p * p * at_p + q * q * at_q - 2.0 * p * q * between


@helper
def reached(memory: float, rounds: int) -> float:
    """How far the impact gets towards a split that is held for some rounds: the mean of 1 - memory^n over them."""
    return 1.0 - memory * (1.0 - memory**rounds) / (rounds * (1.0 - memory))


@helper
def charged(state: CurvesState, levels: Ints, claimed: float, believed: float) -> float:
    """What a search counts on gaining over home in a round at some levels, where the exploring field claims a gain.

    At first that field may be right. With patience the evidence has spoken where it favours another, and what was foretold
    when all fields were weighed counts instead; a gain by that is for trials to take, no reason to search.
    """
    told, steps, gain = state.foretold[state.now[0].age], state.value.shape[1] - 1, 0.0
    for k in range(levels.shape[0]):
        i, j = levels[k], state.home[k]
        gain += (i * told[k, i].mean - j * told[k, j].mean) / steps
    return claimed + believed * (min(0.0, gain) - claimed)


@helper
def pays_for(state: CurvesState, t: int, rounds: float) -> float:
    """Rounds that what a trial in round t shows is expected to pay for: some of the `rounds` that the estimates rest on.

    Where a long horizon was told it is no more than what is left of that, so that one stops looking towards the end, and no
    less than a part of it as patience comes: what is found early pays for long.
    """
    tuning, patient = state.tuning[0], patience(state, rounds)
    past = (tuning.reach + patient * patient * (tuning.late_reach - tuning.reach)) * rounds
    if tuning.horizon <= SHORT:
        return float(past)
    left = max(0.0, tuning.horizon - t)
    planned = max(tuning.ahead * patient * left, min(past, left))
    return float(past + (1.0 - SHORT / tuning.horizon) * (planned - past))


@kernel
def roughness(state: CurvesState, length: float) -> float:
    """How far the data speak for rough curves: the belief in fields of at most this length."""
    evidence, fields = state.field_evidence, state.fields
    top = -math.inf
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    rough, total = 0.0, 0.0
    for j in range(evidence.shape[0]):
        weight = math.exp(evidence[j] - top)
        total += weight
        rough += weight if fields[j].length <= length else 0.0
    return rough / total


@helper
def long_run(state: CurvesState, rounds: float) -> float:
    """How far the time, told or past, is so long that early bad luck counts: zero up to SHORT, and while little was learned.

    Of thousands of runs some meet unlucky rewards where they should have stayed. What they lose grows with the time that is
    left, and a belief that is right in the mean does not look again.
    """
    longest = max(state.tuning[0].horizon, rounds)
    if longest <= SHORT or patience(state, rounds) <= 0.5:
        return 0.0
    return float(1.0 - SHORT / longest)


@kernel
def at_stake(state: CurvesState, rounds: float) -> float:
    """How far curves may be as rough as the exploring field's where one hardly looked, and the time long enough to care.

    A few unlucky rewards at a narrow peak can then cost more than all looks together: smoothness was learned near home, where
    nearly all rewards come from, and says little of other places.
    """
    care = long_run(state, rounds)
    return float(care * roughness(state, STEEP[0])) if care > 0.0 else 0.0


@helper
def doubted(state: CurvesState, variance: float, rounds: float, searching: bool) -> float:
    """The variance of what a target gains: what is believed is too sure of it where time is long, the exploring field more so."""
    tuning = state.tuning[0]
    variance *= (1.0 + tuning.unlucky * long_run(state, rounds)) ** 2
    if searching:
        variance *= (1.0 + tuning.unsure * at_stake(state, rounds)) ** 2
    return float(variance)


@kernel
def shown(state: CurvesState, rounds: int, density: float, scale: float) -> float:
    """Variance of the target's gain over home that a trial of the midway levels for some rounds would explain.

    Every arm shows its own response, as noisy as the units it gets make it, at the impact that is reached by then: of a long
    memory a short trial shows little of the place that was deployed, however many units are sent there. `scale` is how much
    larger the gain's variance is than under the field in `posterior`, whose covariances with the target are in `across`.
    """
    own, column, across = state.posterior.variance, state.column, state.across
    steps, explained = own.shape[1] - 1, 0.0
    way = reached(state.tracks[state.now[0].track].memory, rounds)
    for k in range(own.shape[0]):
        i, j, z = state.midway[k], state.home[k], state.target[k]
        if i > 0:
            at, spread = int(j + way * (i - j) + 0.5), state.spread[k]
            noise = (spread.dispersion * state.noise[k, at] * steps / (density * i) + spread.shock) / rounds
            alike = (z * across[k, at] - j * column[k, at]) / steps
            explained += scale * alike * alike / (own[k, at] + noise / scale)
    return float(explained)


@kernel
def over_home(state: CurvesState, levels: Ints) -> tuple[float, float]:
    """Mean and variance of what some levels gain over home in a round, once the impact is there, by all that is believed."""
    mixed, steps = state.mixed, state.mixed.shape[1] - 1
    gain, variance = 0.0, 0.0
    for k in range(levels.shape[0]):
        p, q = levels[k] / steps, state.home[k] / steps
        there, here = mixed[k, levels[k]], mixed[k, state.home[k]]
        gain += p * as_response(there.mean) - q * as_response(here.mean)
        variance += _difference(p, there.variance, q, here.variance, there.with_home)
    return gain, variance


@kernel
def blur_of(state: CurvesState, levels: Ints, density: float) -> float:
    """Variance of what one round at some levels earns, by noise alone; a share of one brings `density` observations."""
    steps, blur = state.mixed.shape[1] - 1, 0.0
    for k in range(levels.shape[0]):
        p, spread = levels[k] / steps, state.spread[k]
        blur += p * spread.dispersion * state.noise[k, levels[k]] / density + p * p * spread.shock
    return blur


@kernel
def worth(state: CurvesState, pays: float, t: float, levels: Ints, searching: bool) -> tuple[float, float]:
    """The best trial on the way from home to the target: what it is worth, and for how many rounds; fills its levels.

    A trial of m rounds costs m times what it would lose in the mean if the impact were there, and some of its risk. What is
    `shown` on the way says how much better the target is; if it is, that `pays` for so many rounds. A search is for what nobody
    knows: that the exploring field takes the target for better already makes it no more worth seeing. In the long run a trial
    is valued with all that may follow (`foresight`), as a small difference shows after many rounds only, and made in parts.
    """
    tuning, now, home, target, midway = state.tuning[0], state.now[0], state.home, state.target, state.midway
    steps, patient = state.mixed.shape[1] - 1, patience(state, t)
    risk = tuning.risk * wariness(state) * (1.0 - patient)
    density = max(1e-9, now.seen / max(1e-9, now.shares))
    far, far_variance = over_home(state, target)
    single, earned, own = 0.0, 1e-9, state.posterior.variance  # the first is that variance by the field in `posterior`
    for k in range(home.shape[0]):
        i, j = target[k], home[k]
        covariances(state.posterior, k, i, state.across[k])
        single += _difference(i / steps, own[k, i], j / steps, own[k, j], state.column[k, i])
        earned += j / steps * as_response(state.mixed[k, j].mean)
    far_variance = doubted(state, far_variance, t, searching)
    foreseen = tuning.longest + long_run(state, t) * (tuning.foresight - tuning.longest)
    known_already = max(0.0, far) if searching else 0.0
    best, length, chosen, part = 0.0, 0.0, 0.0, 1.0
    for _ in range(TRIALS if far_variance > TINY and single > TINY else 0):
        part_way(home, target, part, midway)
        gain, variance = over_home(state, midway)
        if variance > TINY:
            deviation = math.sqrt(variance)
            gain = charged(state, midway, gain, patient) if searching else gain
            cost = risk * deviation * (1.0 + deviation / (tuning.bold * earned)) - gain
            rounds = 1
            while rounds <= max(1.0, foreseen * t):
                explained = min(far_variance, shown(state, rounds, density, far_variance / single))
                known = math.sqrt(max(TINY, explained))
                net = pays * (expected_gain(far, known) - known_already) - rounds * cost
                if net > best:
                    best, chosen, length = net, part, float(rounds)
                    if gain < 0.0:  # no longer than until the loss can be told from noise
                        length = min(length, max(tuning.hold, blur_of(state, midway, density) / (gain * gain)))
                    length = min(length, max(1.0, tuning.longest * t))
                rounds *= 2
        part *= 0.5
    part_way(home, target, chosen, levels)
    return best, length


@kernel
def try_target(state: CurvesState, t: int, rounds: float, stage: int, doubt: float, least: float) -> float:
    """Make the best trial on the way to the target if it is worth more than the `least`; gives what is then decided on's."""
    now, tuning = state.now[0], state.tuning[0]
    net, length = worth(state, doubt * pays_for(state, t, rounds), rounds, state.spare, stage == SEARCHING)
    if net <= least:
        return least
    copy_levels(state.spare, state.levels)
    now.stage = stage
    longest = tuning.growth * rounds if stage == TRYING else length
    now.hold_until = t + int(max(shortest_hold(state, t) if stage == TRYING else 1.0, min(length, longest)))
    return float(net)
