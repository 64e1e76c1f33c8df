"""Which allocation to deploy: stay with what is known to be good, move there, or look elsewhere where the look is worth it.

*Home* is the allocation that counts as known to be good: the operator's split or an even one at first. A decision does one of
four things. It **moves** home where the estimates gain more than `caution` deviations of that gain. Else it draws curves from
what is believed and takes the best allocation for them as a target; a **trial** somewhere on the way there costs what it is
expected to lose, and for the cautious some of its risk, and it may show that the target is better, which then pays for as long
as experience lets one expect (`reach` times the past). The trial that is worth most is made if it is worth anything. A second
target comes from a field of steep curves, believed with a little `doubt` whatever the evidence says, so that a belief in flat
curves, formed where one happened to look, cannot keep one from **searching** elsewhere. Where nothing is worth its price,
it stays at **home**.

So nothing counts rounds of exploration: with hundreds of units a round little is left to find out after a few dozen rounds, with
single rewards there is for thousands, and the same rule sees it. Over a few thousand rounds patience grows: later trials are made
for longer, and risk matters less.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.curves.fit import (
    DISPERSION,
    MEAN,
    SHOCK,
    VARIANCE,
    Records,
    as_response,
    covariances,
    draw_by_evidence,
    draw_curves,
    fit_all,
    renew_noise,
    renew_scale,
)
from aftereffect.policies.curves.forgetting import (
    evidence_of_drift,
    forget,
    hand_down,
    judge_and_book,
    leading,
    trusted,
)
from aftereffect.policies.curves.tracks import (
    book_all,
    evidence_against,
    follow,
    weigh_fields,
    weigh_models,
    weigh_tracks,
)
from aftereffect.policies.curves.values import price

TUNED = {
    "temperature": 0.4,  # of drawn deviations: a whole curve's posterior sample explores more than one decision needs
    "caution": 1.0,  # deviations of the gain that a move of home must exceed
    "risk": 0.5,  # of the caution: deviations that a trial is charged with
    "bold": 0.3,  # deviation, as a share of what home earns, at which a trial's risk counts double
    "reach": 0.1,  # what a trial may show pays for this times the past, at first
    "late_reach": 4.0,  # and later
    "doubt": 0.02,  # belief in the exploring field whatever the evidence says, at first
    "late_doubt": 0.03,
    "patience": 5000.0,  # rounds that make the difference between at first and later
    "ease": 0.75,  # part of the caution that goes as patience comes
    "kept": 0.9,  # share of the drawn deviation kept to the next decision: fewer changes
    "hold": 5.0,  # observations that a decision is held for at least, all arms together
    "growth": 3e-3,  # share of the past that a decision is held for at most, if it is no search
    "longest": 0.01,  # share of the past that a search is held for at most
    "review": 0.1,  # growth of t after which smoothness, noise, memory and drift are learned anew
    "exploring": 300.0,  # where activations drive the impact: rounds of draws from the exploring field, later a share of them
}
TUNING = np.dtype([(name, "f8") for name in TUNED])
NOW = np.dtype(
    [(name, "i8") for name in ("hold_until", "review_at", "field", "track", "age", "stage", "faded_at")]
    + [(name, "i8") for name in ("learns_memory", "may_take_turns", "takes_turns", "measured")]
    + [(name, "f8") for name in ("against", "moved", "seen", "shares")]
)
STAGES = ("home", "trying", "searching", "moving")
HOME, TRYING, SEARCHING, MOVING = range(4)

NEGLIGIBLE = 0.01  # evidence against the best field's below which a field is left out
TRIALS = 4  # places on the way to a target: all of it, half, a quarter, an eighth
WHOLE = 1e-6  # how near to a whole number of successes a mean of counts is
TINY = 1e-18  # a variance below which nothing is left to learn


class CurvesState(NamedTuple):
    """What is known of the curves, and the decision under way."""

    rng: Words
    now: Records  # one record: until when, what is in use, what was seen
    tuning: Records  # one record, see TUNED
    belief: Records  # one record: typical rate and scale, see fit
    fields: Records
    tracks: Records
    evidence: Floats  # (tracks, fields)
    field_evidence: Floats  # of the track in use
    track_evidence: Floats
    impact: Floats  # (tracks, arms)
    powers: Floats  # (ages,), see forgetting
    scores: Floats  # (ages,)
    leads: Floats  # (ages,)
    banks: Floats  # (tracks + ages - 1, BOOKED, arms, N + 1): what each track has booked, and what forgets that in use
    foretold: Floats  # (ages, 2, arms, N + 1): mean curves and their variances at the last decision
    noise: Floats  # (arms, N + 1)
    spread: Floats  # (2, arms)
    white: Floats  # (arms, N + 2): noise behind the last draw
    bounds: Ints  # (2, arms): lowest and highest levels
    levels: Ints  # as last chosen
    home: Ints
    credit: Floats  # what each arm still has to get of its turns
    # workspace
    target: Ints
    midway: Ints
    spare: Ints
    posterior: Floats  # (arms, PARTS, N + 1)
    sure: Floats
    mixed: Floats  # (3, arms, N + 1): mean, variance, covariance with home
    column: Floats  # (arms, N + 1): covariance with home under the field in `posterior`
    across: Floats  # and with the target
    drawn: Floats
    value: Floats
    fresh: Floats  # (arms, N + 2)
    room: Floats
    work: Floats


# fields that hold nothing from one call to the next
WORKSPACE = (
    *("target", "midway", "spare", "posterior", "sure", "mixed", "column", "across"),
    *("drawn", "value", "fresh", "room", "work"),
)


@helper
def bank_of(state: CurvesState, age: int) -> int:
    """Where the bank of an age is: without forgetting it is that of the track in use."""
    return int(state.now[0].track) if age == 0 else state.tracks.shape[0] + age - 1


@helper
def fade(state: CurvesState, t: int) -> None:
    """Bring the banks that forget up to a round."""
    before = max(1, state.now[0].faded_at)
    if t > before:
        forget(state.banks[state.tracks.shape[0] :], state.powers, before, t)
    state.now[0].faded_at = t


@helper
def trust(state: CurvesState, t: int) -> None:
    """Choose how much of the past to trust; a change of that calls for a decision."""
    now = state.now[0]
    age = leading(state.leads, now.age)
    if age > now.age:
        hand_down(state.banks[state.tracks.shape[0] :], state.leads, age)
    if age != now.age:
        now.hold_until = t
    now.age = age


@kernel
def review(state: CurvesState, t: int) -> bool:
    """Learn smoothness, noise, memory and drift anew, if it is time to; tells whether it was."""
    now, belief, spread, room = state.now[0], state.belief[0], state.spread, state.room
    if t < now.review_at:
        return False
    fade(state, t)
    trust(state, t)
    renew_scale(state.banks[bank_of(state, now.age)], belief)
    banks, evidence = state.banks[: state.tracks.shape[0]], state.evidence
    weigh_models(banks, spread, state.fields, belief, t, state.posterior[0], room, evidence)
    weigh_tracks(evidence, state.track_evidence)
    now.against = max(now.against, evidence_against(state.track_evidence))
    if now.learns_memory == 1:
        now.track = draw_by_evidence(state.track_evidence, state.rng)
    for j in range(evidence.shape[1]):
        state.field_evidence[j] = evidence[now.track, j]
    booked = state.banks[bank_of(state, now.age)]
    if now.age > 0:  # how smooth responses are now, not how they were
        weigh_fields(booked, spread, state.fields, belief, t, state.posterior[0], room, state.field_evidence)
    now.field = draw_by_evidence(state.field_evidence, state.rng)
    fit_all(booked, spread, state.fields[now.field], belief, state.posterior, state.sure, room)
    renew_noise(booked, state.posterior, state.noise, spread, now.measured == 0)
    now.review_at = t + 1 + int(state.tuning[0].review * t)
    return True


@kernel
def fit_bank(state: CurvesState, age: int, field: int) -> None:
    """Every arm's curve from the bank of an age under a field, into `posterior`; covariances with home into `column`."""
    booked = state.banks[bank_of(state, age)]
    fit_all(booked, state.spread, state.fields[field], state.belief[0], state.posterior, state.sure, state.room)
    for k in range(state.home.shape[0]):
        covariances(state.posterior[k], state.sure[k], state.home[k], state.column[k])


@kernel
def mix(state: CurvesState) -> None:
    """Mean, variance and covariance with home under all fields that the evidence leaves in, weighed by it.

    The curves of the field in use stay in `posterior` to be sampled from.
    """
    now, mixed, home, evidence = state.now[0], state.mixed, state.home, state.field_evidence
    top, total = -math.inf, 0.0
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    for j in range(evidence.shape[0]):
        weight = math.exp(evidence[j] - top)
        total += weight if weight > NEGLIGIBLE or j == now.field else 0.0
    mixed[:] = 0.0
    fields = evidence.shape[0]
    for step in range(1, fields + 1):
        j = (now.field + step) % fields  # the field in use comes last, and stays
        weight = math.exp(evidence[j] - top)
        if weight <= NEGLIGIBLE and j != now.field:
            continue
        weight /= total
        fit_bank(state, now.age, j)
        for k in range(home.shape[0]):
            post, at = state.posterior[k], state.posterior[k, MEAN, home[k]]
            for i in range(mixed.shape[2]):
                mixed[0, k, i] += weight * post[MEAN, i]
                mixed[1, k, i] += weight * (post[VARIANCE, i] + post[MEAN, i] * post[MEAN, i])
                mixed[2, k, i] += weight * (state.column[k, i] + post[MEAN, i] * at)
    for k in range(home.shape[0]):
        at = mixed[0, k, home[k]]
        for i in range(mixed.shape[2]):
            mixed[1, k, i] = max(0.0, mixed[1, k, i] - mixed[0, k, i] * mixed[0, k, i])
            mixed[2, k, i] -= mixed[0, k, i] * at


@kernel
def take_as_mixed(state: CurvesState) -> None:
    """Let the field in `posterior` alone be believed."""
    for k in range(state.home.shape[0]):
        for i in range(state.mixed.shape[2]):
            state.mixed[0, k, i] = state.posterior[k, MEAN, i]
            state.mixed[1, k, i] = state.posterior[k, VARIANCE, i]
            state.mixed[2, k, i] = state.column[k, i]


@kernel
def look(state: CurvesState, t: int) -> None:
    """Fit the curves for a decision in round t, and foretell what will be seen by each way to forget."""
    now, foretold = state.now[0], state.foretold
    fade(state, t)
    for age in range(state.powers.shape[0]):
        if age != now.age:
            fit_bank(state, age, now.field)
            foretell(state.posterior, foretold[age])
    mix(state)
    for k in range(state.home.shape[0]):
        for i in range(state.mixed.shape[2]):
            foretold[now.age, 0, k, i] = as_response(state.mixed[0, k, i])
            foretold[now.age, 1, k, i] = state.mixed[1, k, i]


@helper
def foretell(posterior: Floats, foretold: Floats) -> None:
    for k in range(posterior.shape[0]):
        for i in range(posterior.shape[2]):
            foretold[0, k, i] = as_response(posterior[k, MEAN, i])
            foretold[1, k, i] = posterior[k, VARIANCE, i]


@helper
def patience(state: CurvesState, t: float) -> float:
    return float(t / (t + state.tuning[0].patience))


@kernel
def cautious_values(state: CurvesState, t: float) -> None:
    """Worth of every level: what it earns in the mean less caution times the deviation of what it gains over home."""
    mixed, home, value, tuning = state.mixed, state.home, state.value, state.tuning[0]
    steps, caution = value.shape[1] - 1, tuning.caution * (1.0 - tuning.ease * patience(state, t))
    for k in range(value.shape[0]):
        q = home[k] / steps
        own = q * q * mixed[1, k, home[k]]
        for i in range(steps + 1):
            p = i / steps
            variance = p * p * mixed[1, k, i] + own - 2.0 * p * q * mixed[2, k, i]
            value[k, i] = p * as_response(mixed[0, k, i]) - caution * math.sqrt(max(0.0, variance))


@kernel
def settle(home: Ints, best: Ints) -> bool:
    """Move home; tells whether that changed anything."""
    moved = False
    for k in range(home.shape[0]):
        moved = moved or home[k] != best[k]
        home[k] = best[k]
    return moved


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


@kernel
def worth(state: CurvesState, doubt: float, t: float, levels: Ints) -> tuple[float, float]:
    """The best trial on the way from home to the target: what it is worth, and for how many rounds; fills its levels.

    A trial of m rounds costs m times what it loses in the mean, and some of its risk. What is seen there says how much
    better the target is, as far as the two go together; if it is, that pays for `reach` times the past. While the impact is
    still on its way, less is seen.
    """
    tuning, now, home, target = state.tuning[0], state.now[0], state.home, state.target
    mixed, posterior, column, across, midway = state.mixed, state.posterior, state.column, state.across, state.midway
    steps, memory, patient = mixed.shape[2] - 1, state.tracks[now.track].memory, patience(state, t)
    reach = (tuning.reach + patient * (tuning.late_reach - tuning.reach)) * t * doubt
    risk = tuning.risk * tuning.caution * (1.0 - patient)
    density = max(1e-9, now.seen / max(1e-9, now.shares))  # observations that a share of one brings in a round
    far, far_variance, far_single, earned = 0.0, 0.0, 0.0, 1e-9
    for k in range(home.shape[0]):
        i, j = target[k], home[k]
        p, q = i / steps, j / steps
        covariances(posterior[k], state.sure[k], i, across[k])
        earned += q * as_response(mixed[0, k, j])
        far += p * as_response(mixed[0, k, i]) - q * as_response(mixed[0, k, j])
        far_variance += _difference(p, mixed[1, k, i], q, mixed[1, k, j], mixed[2, k, i])
        far_single += _difference(p, posterior[k, VARIANCE, i], q, posterior[k, VARIANCE, j], column[k, i])
    best, length, chosen, part = 0.0, 0.0, 0.0, 1.0
    for _ in range(TRIALS if far_variance > TINY and far_single > TINY else 0):
        part_way(home, target, part, midway)
        gain, variance, single, alike, blur = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(home.shape[0]):
            i, j, z = midway[k], home[k], target[k]
            p, q, r = i / steps, j / steps, z / steps
            gain += p * as_response(mixed[0, k, i]) - q * as_response(mixed[0, k, j])
            variance += _difference(p, mixed[1, k, i], q, mixed[1, k, j], mixed[2, k, i])
            single += _difference(p, posterior[k, VARIANCE, i], q, posterior[k, VARIANCE, j], column[k, i])
            alike += (
                p * r * across[k, i] - q * r * column[k, z] - p * q * column[k, i] + q * q * posterior[k, VARIANCE, j]
            )
            blur += p * state.spread[DISPERSION, k] * state.noise[k, i] / density + p * p * state.spread[SHOCK, k]
        if variance > TINY and single > TINY and alike > 0.0:
            shared = min(1.0, alike * alike / (single * far_single))
            deviation = math.sqrt(variance)
            cost = risk * deviation * (1.0 + deviation / (tuning.bold * earned)) - gain
            rounds, left, seen, until = 0, 1.0, 0.0, 1
            while until <= max(1.0, tuning.longest * t):
                while rounds < until:
                    rounds += 1
                    left *= memory
                    seen += (1.0 - left) * (1.0 - left)
                known = math.sqrt(far_variance * shared * variance / (variance + blur / seen))
                net = reach * expected_gain(far, known) - rounds * cost
                if net > best:
                    best, chosen, length = net, part, float(rounds)
                    if gain < 0.0:  # no longer than until the loss can be told from noise
                        length = min(length, max(tuning.hold, blur / (gain * gain)))
                until *= 2
        part *= 0.5
    part_way(home, target, chosen, levels)
    return best, length


@kernel
def best_for(state: CurvesState, curves: Floats, turns: bool, levels: Ints) -> float:
    """The best levels for some curves, held or in turns, and what they earn."""
    track, bounds = state.tracks[state.now[0].track], state.bounds
    price(curves, state.value, track.memory, track.realised == 1, turns)
    return float(best_plain(state.value, bounds[0], bounds[1], state.work, levels, state.rng))


@helper
def shortest_hold(state: CurvesState, t: int) -> float:
    """Rounds that a decision is held for at least: a few observations."""
    return float(max(1.0, state.tuning[0].hold / max(1.0, state.now[0].seen / max(1, t - 1))))


@helper
def copy_levels(source: Ints, target: Ints) -> None:
    for k in range(source.shape[0]):
        target[k] = source[k]


@kernel
def try_target(state: CurvesState, t: int, rounds: float, stage: int, doubt: float, most: float) -> float:
    """Make the best trial on the way to the target if it is worth more than `most`; gives what the decision is worth."""
    now, tuning = state.now[0], state.tuning[0]
    net, length = worth(state, doubt, rounds, state.spare)
    if net <= most:
        return most
    copy_levels(state.spare, state.levels)
    now.stage = stage
    longest = tuning.growth * rounds if stage == TRYING else length
    now.hold_until = t + int(max(shortest_hold(state, t) if stage == TRYING else 1.0, min(length, longest)))
    return float(net)


@kernel
def stay(state: CurvesState, t: int, rounds: float, moved: bool) -> None:
    """Deploy home."""
    now = state.now[0]
    copy_levels(state.home, state.levels)
    now.stage, now.takes_turns = MOVING if moved else HOME, 0
    now.hold_until = t + int(max(shortest_hold(state, t), state.tuning[0].growth * rounds))


@kernel
def draw_steep(state: CurvesState, kept: float) -> None:
    """Curves of full size from the exploring field, which is then what is believed."""
    fit_bank(state, state.now[0].age, 0)
    take_as_mixed(state)
    draw_curves(state.posterior, state.sure, 1.0, kept, state.fresh, state.rng, state.drawn)


@kernel
def decide(state: CurvesState, t: int) -> None:
    """After `look`: move home, try what may be better, search elsewhere, or stay."""
    tuning = state.tuning[0]
    rounds = t * trusted(state.powers, state.now[0].age)  # what the estimates rest on
    cautious_values(state, rounds)
    best_plain(state.value, state.bounds[0], state.bounds[1], state.work, state.target, state.rng[:0])
    moved = settle(state.home, state.target)
    stay(state, t, rounds, moved)
    if moved:
        return
    draw_curves(state.posterior, state.sure, tuning.temperature, tuning.kept, state.white, state.rng, state.drawn)
    best_for(state, state.drawn, False, state.target)
    most = try_target(state, t, rounds, TRYING, 1.0, 0.0)
    draw_steep(state, 0.0)
    best_for(state, state.drawn, False, state.target)
    doubt = tuning.doubt + patience(state, rounds) * (tuning.late_doubt - tuning.doubt)
    try_target(state, t, rounds, SEARCHING, doubt, most)


@kernel
def decide_by_draw(state: CurvesState, t: int) -> None:
    """Where activations drive the impact: the best for drawn curves, held or in turns, whichever earns more.

    A share of the decisions draws from the exploring field; what a trial would show is not priced there.
    """
    now, tuning = state.now[0], state.tuning[0]
    rounds = t * trusted(state.powers, now.age)
    exploring = uniform(state.rng) < tuning.exploring / rounds
    if exploring:
        draw_steep(state, 0.0)
    else:
        draw_curves(state.posterior, state.sure, tuning.temperature, tuning.kept, state.white, state.rng, state.drawn)
    now.stage, now.takes_turns = SEARCHING if exploring else TRYING, 0
    held = best_for(state, state.drawn, False, state.levels)
    if now.may_take_turns == 1 and best_for(state, state.drawn, True, state.target) > held:
        now.takes_turns = 1
        copy_levels(state.target, state.levels)
    now.hold_until = t + int(max(shortest_hold(state, t), tuning.growth * rounds))


@kernel
def take_in(state: CurvesState, allocation: Floats, seen: Floats, reward: Floats) -> None:
    """Book a round's rewards on every track, judge the ways to forget, and count."""
    now = state.now[0]
    follow(state.tracks, state.impact, allocation, seen, True)
    for k in range(seen.shape[0]):
        now.seen += seen[k]
        now.shares += allocation[k]
        hits = seen[k] * reward[k]
        if abs(hits - math.floor(hits + 0.5)) > WHOLE * max(1.0, hits):
            now.measured = 1  # no count of successes: rewards may scatter less than coins do
    forgetful, impact = state.banks[state.tracks.shape[0] :], state.impact[now.track]
    judge_and_book(
        state.scores, state.leads, forgetful, state.foretold, state.noise, state.spread, impact, seen, reward
    )
    now.moved = max(now.moved, evidence_of_drift(state.scores))
    if leading(state.leads, now.age) != now.age:
        now.review_at = 0
    book_all(state.banks, state.impact, seen, reward, state.noise, state.spread, now.track)


def tuning_record(**changed: float) -> Any:
    """The constants as one record."""
    record = np.zeros(1, dtype=TUNING)
    for name, value in {**TUNED, **changed}.items():
        record[name] = value
    return record
