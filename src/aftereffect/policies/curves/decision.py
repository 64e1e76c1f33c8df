"""Which allocation to deploy: stay with what is known to be good, move there, or look elsewhere where the look is worth it.

*Home* is the allocation that counts as known to be good: the operator's split or an even one at first. A decision does one of
four things. It **moves** home where the estimates gain more than `caution` deviations of that gain, and up to three times as
many while little was seen (`wariness`). Else it draws curves from what is believed and takes the best allocation for them as a
target; a **trial** somewhere on the way there costs what it is expected to lose, and for the cautious some of its risk, and it
may show that the target is better, which then pays for as long as experience lets one expect (`reach` times the past). The
trial that is worth most is made if it is worth anything; later `wide` draws, of the full size of what is uncertain, offer less
likely targets too. Other targets come from a field of steep curves, believed with some `doubt` whatever the evidence says, so
that a belief in flat curves, formed where one happened to look, cannot keep one from **searching** elsewhere, at the most
promising of some `targets`: where most is left to see, at the price of what is believed to be lost there. After thousands of
rounds the doubt goes, but for what the evidence says of kinks, and searches take turns with the rest; over tens of thousands,
rough curves keep more of it (`at_stake`), as a narrow peak that had a few unlucky rewards would be missed for as long, and every
target is doubted some more and valued with what may follow a look (`long_run`). Where nothing is worth its price, it stays at
**home**.

So nothing counts rounds of exploration: what is left to find out, and what it could change, is what counts. Over a few thousand
rounds patience grows: later trials are made for longer, and risk matters less.

A decision is three steps: `offer` says what every level is worth, the caller finds the best levels for that among those that it
allows (all, or the fair ones), and `take_up` judges them.
"""

from __future__ import annotations

import math

from aftereffect._compile import helper, kernel
from aftereffect._random import uniform
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.curves.fit import LENGTHS, as_response
from aftereffect.policies.curves.forgetting import trusted
from aftereffect.policies.curves.look import believe_steep, draw_likely, draw_whole
from aftereffect.policies.curves.state import (
    HOME,
    MOVING,
    SEARCHING,
    TRYING,
    CurvesState,
    copy_levels,
    patience,
    shortest_hold,
    wariness,
)
from aftereffect.policies.curves.trial import at_stake, roughness, try_target
from aftereffect.policies.curves.values import price, price_shares

STEPS = (MOVING, TRYING, SEARCHING)


@kernel
def cautious_values(state: CurvesState, t: float) -> None:
    """Worth of every level: what it earns in the mean less caution times the deviation of what it gains over home."""
    mixed, home, value, tuning = state.mixed, state.home, state.value, state.tuning[0]
    steps, caution = value.shape[1] - 1, wariness(state) * (1.0 - tuning.ease * patience(state, t))
    for k in range(value.shape[0]):
        q = home[k] / steps
        own = q * q * mixed[k, home[k]].variance
        for i in range(steps + 1):
            p = i / steps
            variance = p * p * mixed[k, i].variance + own - 2.0 * p * q * mixed[k, i].with_home
            value[k, i] = p * as_response(mixed[k, i].mean) - caution * math.sqrt(max(0.0, variance))


@helper
def experience(state: CurvesState, t: int) -> float:
    """Rounds that the estimates rest on."""
    return float(t * trusted(state.powers, state.now[0].age))


@kernel
def settle(home: Ints, best: Ints) -> bool:
    """Move home; tells whether that changed anything."""
    moved = False
    for k in range(home.shape[0]):
        moved = moved or home[k] != best[k]
        home[k] = best[k]
    return moved


@kernel
def stay(state: CurvesState, t: int, rounds: float, moved: bool) -> None:
    """Deploy home."""
    now = state.now[0]
    copy_levels(state.home, state.levels)
    now.stage, now.takes_turns = MOVING if moved else HOME, 0
    now.hold_until = t + int(max(shortest_hold(state, t), state.tuning[0].growth * rounds))


@kernel
def offer(state: CurvesState, t: int, step: int, number: int) -> None:
    """What every level is worth in a step of the decision: for moving home, for a target on trial or to search, by number."""
    if step == MOVING:
        cautious_values(state, experience(state, t))
        return
    if step == SEARCHING and number == 0:
        believe_steep(state)
    if step == TRYING and number == 0:
        draw_likely(state)
    else:
        draw_whole(state)
    price_shares(state.drawn, state.value)


@helper
def is_next(state: CurvesState, t: int, step: int, most: float) -> bool:
    """Is a step made after others that found something worth `most`?

    A search has its turn beside a likely target, and with patience beside home: looks that are hardly worth their price must
    not fill the time.
    """
    if step != SEARCHING:
        return most < math.inf
    turn = state.tuning[0].turn
    if most == 0.0:
        turn += (1.0 - patience(state, experience(state, t))) * (1.0 - turn)
    return most < math.inf and uniform(state.rng) < turn


@helper
def targets(state: CurvesState, t: int, step: int) -> int:
    """How many targets a step looks at, to take the most promising."""
    if step == TRYING:
        return 1 + int(state.tuning[0].wide * patience(state, experience(state, t)))
    return int(state.tuning[0].targets) if step == SEARCHING else 1


@kernel
def take_up(state: CurvesState, t: int, step: int, most: float) -> float:
    """Take up the target, the best levels for what was offered, if that is worth anything; else what was worth `most` stays.

    Gives what the decision is then worth: infinitely much if home moved, so that nothing else is looked at.
    """
    rounds, tuning = experience(state, t), state.tuning[0]
    if step == MOVING:
        moved = settle(state.home, state.target)
        stay(state, t, rounds, moved)
        return math.inf if moved else 0.0
    doubt = 1.0
    if step == SEARCHING:
        patient = patience(state, rounds)
        left = max(1.0 - patient, roughness(state, LENGTHS[0]), at_stake(state, rounds))
        doubt = tuning.doubt * (1.0 - patient) + tuning.late_doubt * patient * left
    return try_target(state, t, rounds, step, doubt, most)


@kernel
def decide(state: CurvesState, t: int) -> None:
    """After `look`: move home, try what may be better, search elsewhere, or stay."""
    most = 0.0
    for step in STEPS:
        if is_next(state, t, step, most):
            most = 0.0
            for number in range(targets(state, t, step)):
                offer(state, t, step, number)
                best_plain(state.value, state.low, state.high, state.work, state.target, state.rng)
                most = take_up(state, t, step, most)


@kernel
def best_for(state: CurvesState, curves: Floats, turns: bool, levels: Ints) -> float:
    """The best levels for some curves, held or in turns, and what they earn."""
    track = state.tracks[state.now[0].track]
    price(curves, state.value, track.memory, track.realised == 1, turns)
    return float(best_plain(state.value, state.low, state.high, state.work, levels, state.rng))


@kernel
def decide_by_draw(state: CurvesState, t: int) -> None:
    """Where activations drive the impact: the best for drawn curves, held or in turns, whichever earns more.

    A share of the decisions draws from the exploring field; what a trial would show is not priced there.
    """
    now, tuning = state.now[0], state.tuning[0]
    rounds = experience(state, t)
    exploring = uniform(state.rng) < tuning.exploring / rounds
    if exploring:
        believe_steep(state)
        draw_whole(state)
    else:
        draw_likely(state)
    now.stage, now.takes_turns = SEARCHING if exploring else TRYING, 0
    held = best_for(state, state.drawn, False, state.levels)
    if now.may_take_turns == 1 and best_for(state, state.drawn, True, state.target) > held:
        now.takes_turns = 1
        copy_levels(state.target, state.levels)
    now.hold_until = t + int(max(shortest_hold(state, t), tuning.growth * rounds))
