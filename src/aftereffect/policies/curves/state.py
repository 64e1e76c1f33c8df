"""What the curve family remembers: what was seen, what is believed, the decision under way, and the constants it decides by."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words
from aftereffect.model.curves import Floats, Records
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.fit import Posterior
from aftereffect.policies.curves.forgetting import (
    TEMPERED,
    UNKNOWN,
    evidence_of_drift,
    forget,
    hand_down,
    judge_and_book,
    leading,
    may_begin,
)
from aftereffect.policies.curves.tracks import book_all, move_on

TUNED = {
    "temperature": 0.4,  # of drawn deviations: a whole curve's posterior sample explores more than one decision needs
    "caution": 1.0,  # deviations of the gain that a move of home must exceed
    "scarce": 2.0,  # part by which the caution is larger while nothing was seen
    "few": 8.0,  # coins an arm that leave half of that: as many as it takes successes where rates are low
    "late": 0.1,  # and for every round of which nothing is known yet, as a wrong move stays for as long as rewards are late
    "risk": 0.2,  # of the caution: deviations that a trial is charged with
    "bold": 0.3,  # deviation, as a share of what home earns, at which a trial's risk counts double
    "reach": 0.1,  # what a trial may show pays for this times the past, at first
    "late_reach": 3.0,  # and later: thousands of rounds on, what is found pays for long
    "ahead": 0.3,  # and where a long horizon was told: at least for this times what is left of it, as patience comes
    "doubt": 0.02,  # belief in the exploring field whatever the evidence says, at first
    "late_doubt": 0.5,  # and later, less as experience comes, unless the evidence says that curves have kinks
    "unsure": 0.75,  # part by which the exploring field is too sure of a target where curves are rough and time is long
    "unlucky": 0.1,  # part by which what is believed of any target is too sure where time is long
    "turn": 0.2,  # share of the decisions that may search: at first of those with a likely target, later of all
    "wide": 4.0,  # targets of full doubt that a trial may take beside the likely one, as patience comes
    "targets": 6.0,  # that a search looks at, to take the most promising
    "patience": 5000.0,  # rounds that make the difference between at first and later
    "ease": 0.75,  # part of the caution that goes as patience comes
    "kept": 0.6,  # share of the drawn deviation kept to the next decision: fewer changes
    "hold": 5.0,  # observations that a decision is held for at least, all arms together
    "growth": 3e-3,  # share of the past that a decision is held for at most, if it is no search
    "longest": 0.01,  # share of the past that a search is held for at most
    "foresight": 0.1,  # share of the past for which a trial is valued where time is long
    "review": 0.1,  # growth of t after which smoothness, noise, memory and drift are learned anew
    "exploring": 300.0,  # where activations drive the impact: rounds of draws from the exploring field, later a share of them
}
# the horizon that was told (zero: none), and how many rounds are out: deployed, and nothing of them known yet
TUNING = np.dtype([(name, "f8") for name in (*TUNED, "horizon", "out")])
LATEST = 2.0  # times that the caution is larger by at most, however many rounds are out
NOW = np.dtype(
    [(name, "i8") for name in ("hold_until", "review_at", "field", "track", "age", "stage", "faded_at")]
    + [(name, "i8") for name in ("learns_memory", "may_take_turns", "takes_turns", "measured")]
    + [(name, "f8") for name in ("against", "moved", "seen", "shares")]
)
MIXED = np.dtype([("mean", "f8"), ("variance", "f8"), ("with_home", "f8")])  # the last is the covariance with home
STAGES = ("home", "trying", "searching", "moving")
HOME, TRYING, SEARCHING, MOVING = range(4)

WHOLE = 1e-6  # how near to a whole number of successes a mean of counts is


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
    banks: Records  # (tracks + ages - 1, arms, N + 1): what each track has booked, and what forgets that in use
    foretold: Records  # (ages, arms, N + 1): mean curves and their variances at the last decision
    noise: Floats  # (arms, N + 1)
    spread: Records  # (arms,)
    white: Floats  # (arms, N + 2): noise behind the last draw
    low: Ints  # levels that are allowed
    high: Ints
    levels: Ints  # as last chosen
    home: Ints
    credit: Floats  # what each arm still has to get of its turns
    # workspace
    target: Ints
    midway: Ints
    spare: Ints
    posterior: Posterior
    mixed: Records  # (arms, N + 1): over all fields
    column: Floats  # (arms, N + 1): covariance with home under the field in `posterior`
    across: Floats  # and with the target
    drawn: Floats
    value: Floats
    fresh: Floats  # (arms, N + 2)
    work: Floats


GIVEN = (
    "tuning",
    "fields",
    "powers",
)  # the policy's own constants: not saved, so that an agent file outlives a change of them
# fields that hold nothing from one call to the next
WORKSPACE = (
    *("target", "midway", "spare", "posterior", "mixed", "column", "across"),
    *("drawn", "value", "fresh", "work"),
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
def take_in(state: CurvesState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    """Book a round's rewards on every track, judge the ways to forget, and count."""
    now = state.now[0]
    move_on(state.tracks, state.impact, allocation, seen, True)
    for k in range(seen.shape[0]):
        now.seen += seen[k]
        now.shares += allocation[k]
        hits = seen[k] * reward[k]
        if abs(hits - math.floor(hits + 0.5)) > WHOLE * max(1.0, hits):
            now.measured = 1  # no count of successes: rewards may scatter less than coins do
    may_begin(state.scores, t)
    forgetful, impact = state.banks[state.tracks.shape[0] :], state.impact[now.track]
    judge_and_book(
        state.scores,
        state.leads,
        forgetful,
        state.foretold,
        noise=state.noise,
        spread=state.spread,
        impact=impact,
        seen=seen,
        reward=reward,
        tempered=UNKNOWN if now.learns_memory == 1 else TEMPERED,
    )
    now.moved = max(now.moved, evidence_of_drift(state.scores))
    if leading(state.leads, now.age) != now.age:
        now.review_at = 0
    book_all(state.banks, state.impact, seen, reward, noise=state.noise, spread=state.spread, track=now.track)


@helper
def copy_levels(source: Ints, target: Ints) -> None:
    for k in range(source.shape[0]):
        target[k] = source[k]


@helper
def patience(state: CurvesState, t: float) -> float:
    return float(t / (t + state.tuning[0].patience))


@kernel
def wariness(state: CurvesState) -> float:
    """The caution, larger while little was seen: what looks best is then mostly what was lucky.

    What was seen counts in coins of the typical rate: by how precisely it tells an arm's mean, against how far curves may lie
    from that rate. A hundred units at a rate of two percent tell no more than two at one half do. It is larger where rewards
    come late too: what turns out to be worse is only noticed then.
    """
    booked, scale, tuning = state.banks[bank_of(state, state.now[0].age)], state.belief[0].scale, state.tuning[0]
    precision = 0.0
    for k in range(booked.shape[0]):
        for i in range(booked.shape[1]):
            precision += booked[k, i].weight / state.spread[k].dispersion
    coins = precision * scale * scale / booked.shape[0]
    late = 1.0 + min(LATEST, tuning.late * tuning.out)
    return float(late * tuning.caution * (1.0 + tuning.scarce * tuning.few / (tuning.few + coins)))


@helper
def shortest_hold(state: CurvesState, t: int) -> float:
    """Rounds that a decision is held for at least: a few observations."""
    return float(max(1.0, state.tuning[0].hold / max(1.0, state.now[0].seen / max(1, t - 1))))


def tuning_record(horizon: int | None = None, **changed: float) -> Any:
    """The constants as one record, with the horizon that was told."""
    record = np.zeros(1, dtype=TUNING)
    record["horizon"] = horizon or 0
    for name, value in {**TUNED, **changed}.items():
        record[name] = value
    return record
