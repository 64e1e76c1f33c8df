"""Thompson sampling over whole response curves, at the impact that the past has made, where the look is worth its price.

"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words
from aftereffect.errors import AftereffectError, MissingParameter
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import (
    Grid,
    Policy,
    Setting,
    check_between,
    check_choice,
    check_memory,
    check_positive,
    check_whole,
    register,
)
from aftereffect.policies.curves.fit import (
    BELIEF,
    BOOKED,
    COUNT,
    DISPERSION,
    MEAN,
    PARTS,
    ROOM,
    SHOCK,
    VARIANCE,
    Records,
    as_response,
    covariances,
    draw_by_evidence,
    draw_curves,
    fields_tried,
    fit_all,
    renew_noise,
    renew_scale,
)
from aftereffect.policies.curves.forgetting import (
    POWERS,
    drift_seen,
    forget,
    fresh_scores,
    judge_and_book,
    trusted,
)
from aftereffect.policies.curves.tracks import (
    book_all,
    candidate_tracks,
    contradiction,
    estimated_memory,
    evidence_against,
    follow,
    known_tracks,
    weigh_models,
    weigh_tracks,
)
from aftereffect.policies.curves.values import price, take_turn
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.rules import register_rule

LEVELS = 200  # half a percent; twice as many gain a little at kinks, lose it elsewhere and cost twice the time
MOST_LEVELS = 2000  # precisions grow with the cube of the levels; beyond this the factorisation runs out of digits
UNKNOWN_BOUND = 0.95  # of a memory about which nothing is known: a half-life of 13 rounds

NEGLIGIBLE = 0.01  # weight against the best below which a field is left out
PARTS_TRIED = 4  # of the way to a target: all, half, a quarter, an eighth
WHOLE = 1e-6  # how near to a whole number of successes a mean of counts is
HOME, USING, SEARCHING, MOVING = 0, 1, 2, 3  # what the decision under way is for

TUNING = np.dtype([(name, "f8") for name in ("temperature", "caution", "reach", "doubt", "kept", "hold", "hold_growth", "review", "risk", "most", "patience", "late", "bold", "commit", "late_doubt")])
NOW = np.dtype(
    [(n, "i8") for n in ("hold_until", "review_at", "field", "track", "age", "stage", "faded_at")]
    + [(n, "i8") for n in ("learns_memory", "may_take_turns", "takes_turns", "measured")]
    + [(n, "f8") for n in ("against", "seen", "shares")]
)


class CurveThompsonState(NamedTuple):
    rng: Words
    now: Records
    tuning: Records
    belief: Records
    fields: Records
    evidence: Floats  # (tracks, fields)
    field_evidence: Floats
    tracks: Records
    track_evidence: Floats
    impact: Floats  # (tracks, arms)
    powers: Floats
    scores: Floats
    banks: Floats  # (tracks + ages - 1, 4, arms, N + 1)
    foretold: Floats  # (ages, 2, arms, N + 1)
    noise: Floats
    spread: Floats
    white: Floats
    bounds: Ints
    levels: Ints  # as last chosen
    home: Ints  # the best that is known well enough
    credit: Floats
    trial: Ints
    posterior: Floats
    sure: Floats
    mixed: Floats
    column: Floats
    across: Floats
    midway: Ints
    spare: Ints
    drawn: Floats
    value: Floats
    room: Floats
    fresh: Floats
    work: Floats


SCRATCH = ("trial", "posterior", "sure", "mixed", "column", "across", "midway", "spare", "drawn", "value", "room", "fresh", "work")


@helper
def bank_of(state: CurveThompsonState, age: int) -> int:
    """Where the bank of an age is: without forgetting it is that of the track in use."""
    return int(state.now[0].track) if age == 0 else state.tracks.shape[0] + age - 1


@helper
def fade(state: CurveThompsonState, t: int) -> None:
    """Bring the banks that forget up to a round."""
    before = max(1, state.now[0].faded_at)
    if t > before:
        forget(state.banks[state.tracks.shape[0] :], state.powers, before, t)
    state.now[0].faded_at = t


@kernel
def review(state: CurveThompsonState, t: int) -> bool:
    """Learn smoothness, noise, memory and drift anew, if it is time to; tells whether it was."""
    now = state.now[0]
    if t < now.review_at:
        return False
    fade(state, t)
    belief, post, room = state.belief[0], state.posterior[0], state.room
    now.age = draw_by_evidence(state.scores, state.rng)
    booked = state.banks[bank_of(state, now.age)]
    renew_scale(booked, belief)
    weigh_models(
        state.banks[: state.tracks.shape[0]],
        state.spread,
        state.fields,
        belief,
        t,
        post,
        room,
        state.evidence,
    )
    weigh_tracks(state.evidence, state.track_evidence)
    now.against = max(now.against, evidence_against(state.track_evidence))
    if now.learns_memory == 1:
        now.track = draw_by_evidence(state.track_evidence, state.rng)
    for j in range(state.fields.shape[0]):
        state.field_evidence[j] = state.evidence[now.track, j]
    now.field = draw_by_evidence(state.field_evidence, state.rng)
    field = state.fields[now.field]
    booked = state.banks[bank_of(state, now.age)]
    fit_all(booked, state.spread, field, belief, state.posterior, state.sure, room)
    renew_noise(booked, state.posterior, state.sure, state.noise, state.spread, belief, now.measured == 0)
    now.review_at = t + 1 + int(state.tuning[0].review * t)
    return True


@kernel
def look(state: CurveThompsonState, t: int) -> None:
    """Fit the curves under every field that the evidence leaves in, mixed by it, and foretell what will be seen.

    The curves of one field, drawn by its weight, stay in `posterior` to be sampled from; means, variances and covariances
    with home in `mixed` are those of the mixture.
    """
    now, belief, room, mixed, home = state.now[0], state.belief[0], state.room, state.mixed, state.home
    fade(state, t)
    now.field = draw_by_evidence(state.field_evidence, state.rng)
    for j in range(1, state.powers.shape[0]):
        age = j if j != now.age else 0
        if t >= 0:
            fit_all(state.banks[bank_of(state, age)], state.spread, state.fields[now.field], belief, state.posterior, state.sure, room)
            foretell(state.posterior, state.foretold[age])
    top, total = -math.inf, 0.0
    for j in range(state.field_evidence.shape[0]):
        top = max(top, state.field_evidence[j])
    for j in range(state.field_evidence.shape[0]):
        weight = math.exp(state.field_evidence[j] - top)
        total += weight if weight > NEGLIGIBLE else 0.0
    for row in range(mixed.shape[0]):
        for k in range(mixed.shape[1]):
            for i in range(mixed.shape[2]):
                mixed[row, k, i] = 0.0
    booked = state.banks[bank_of(state, now.age)]
    for step in range(state.field_evidence.shape[0] + 1):
        j = step if step < state.field_evidence.shape[0] else now.field  # the one drawn comes last, and stays
        weight = math.exp(state.field_evidence[j] - top)
        if (step < state.field_evidence.shape[0]) == (j == now.field) or weight <= NEGLIGIBLE:
            continue
        fit_all(booked, state.spread, state.fields[j], belief, state.posterior, state.sure, room)
        relate(state.posterior, state.sure, home, state.column)
        weight /= total
        for k in range(home.shape[0]):
            post, at = state.posterior[k], state.posterior[k, MEAN, home[k]]
            for i in range(state.column.shape[1]):
                mixed[0, k, i] += weight * post[MEAN, i]
                mixed[1, k, i] += weight * (post[VARIANCE, i] + post[MEAN, i] * post[MEAN, i])
                mixed[2, k, i] += weight * (state.column[k, i] + post[MEAN, i] * at)
    for k in range(home.shape[0]):
        at = mixed[0, k, home[k]]
        for i in range(state.column.shape[1]):
            mixed[1, k, i] = max(0.0, mixed[1, k, i] - mixed[0, k, i] * mixed[0, k, i])
            mixed[2, k, i] -= mixed[0, k, i] * at
            state.foretold[now.age, 0, k, i] = as_response(mixed[0, k, i])
            state.foretold[now.age, 1, k, i] = mixed[1, k, i]


@helper
def foretell(posterior: Floats, foretold: Floats) -> None:
    for k in range(posterior.shape[0]):
        for i in range(posterior.shape[2]):
            foretold[0, k, i] = as_response(posterior[k, MEAN, i])
            foretold[1, k, i] = posterior[k, VARIANCE, i]


@kernel
def relate(posterior: Floats, sure: Floats, levels: Ints, column: Floats) -> None:
    for k in range(levels.shape[0]):
        covariances(posterior[k], sure[k], levels[k], column[k])


@kernel
def settle(state: CurveThompsonState) -> bool:
    """Move home to the best levels among those known well enough against it: gain less caution times its deviation."""
    mixed, home, value = state.mixed, state.home, state.value
    steps, caution = value.shape[1] - 1, state.tuning[0].caution
    for k in range(value.shape[0]):
        q = home[k] / steps
        own = q * q * mixed[1, k, home[k]]
        for i in range(steps + 1):
            p = i / steps
            variance = p * p * mixed[1, k, i] + own - 2.0 * p * q * mixed[2, k, i]
            value[k, i] = p * as_response(mixed[0, k, i]) - caution * math.sqrt(max(0.0, variance))
    best_plain(value, state.bounds[0], state.bounds[1], state.work, state.trial, state.rng[:0])
    moved = False
    for k in range(home.shape[0]):
        moved = moved or home[k] != state.trial[k]
        home[k] = state.trial[k]
    return moved


@kernel
def part_way(home: Ints, target: Ints, part: float, levels: Ints) -> None:
    """Levels so much of the way from home to a target, whole and with the same sum."""
    carried = 0.0
    for k in range(home.shape[0]):
        wanted = home[k] + part * (target[k] - home[k]) + carried
        levels[k] = int(math.floor(wanted + 0.5))
        carried = wanted - levels[k]


@kernel
def worth(state: CurveThompsonState, target: Ints, belief: float, t: float, levels: Ints) -> tuple[float, int]:
    """The best trial on the way from home to a target: what it is worth in rewards, for how many rounds; fills its levels.

    A trial of m rounds costs m times what it loses in the mean, and some of its risk. What is seen there says how much
    better the target is, as far as the two go together; if it is, that pays for `reach` times the past.
    """
    tuning, now, home, mixed, posterior = state.tuning[0], state.now[0], state.home, state.mixed, state.posterior
    steps, memory = mixed.shape[2] - 1, state.tracks[now.track].memory
    density = max(1e-9, now.seen / max(1e-9, now.shares))
    patient = t / (t + tuning.patience)
    reach, risk = (tuning.reach + patient * (tuning.late - tuning.reach)) * t, tuning.risk * (1.0 - patient)
    far, far_variance, own, here = 0.0, 0.0, 0.0, 1e-9
    for k in range(home.shape[0]):
        i, j = target[k], home[k]
        p, q = i / steps, j / steps
        here += q * as_response(mixed[0, k, j])
        far += p * as_response(mixed[0, k, i]) - q * as_response(mixed[0, k, j])
        far_variance += p * p * mixed[1, k, i] + q * q * mixed[1, k, j] - 2.0 * p * q * mixed[2, k, i]
        own += (
            p * p * posterior[k, VARIANCE, i] + q * q * posterior[k, VARIANCE, j] - 2.0 * p * q * state.column[k, i]
        )
        covariances(posterior[k], state.sure[k], i, state.across[k])
    best, chosen, chosen_part, part = 0.0, 0, 0.0, 1.0
    for _ in range(PARTS_TRIED if far_variance > 1e-18 and own > 1e-18 else 0):
        part_way(home, target, part, state.midway)
        gain, variance, blur, alike, single = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(home.shape[0]):
            i, j, far_i = state.midway[k], home[k], target[k]
            p, q, r = i / steps, j / steps, far_i / steps
            gain += p * as_response(mixed[0, k, i]) - q * as_response(mixed[0, k, j])
            variance += p * p * mixed[1, k, i] + q * q * mixed[1, k, j] - 2.0 * p * q * mixed[2, k, i]
            single += (
                p * p * posterior[k, VARIANCE, i] + q * q * posterior[k, VARIANCE, j] - 2.0 * p * q * state.column[k, i]
            )
            alike += (
                p * r * state.across[k, i]
                - q * r * state.column[k, far_i]
                - p * q * state.column[k, i]
                + q * q * posterior[k, VARIANCE, j]
            )
            blur += p * state.spread[DISPERSION, k] * state.noise[k, i] / density + p * p * state.spread[SHOCK, k]
        if variance > 1e-18 and single > 1e-18 and alike > 0.0:
            shared = min(1.0, alike * alike / (single * own))
            deviation = math.sqrt(variance)
            cost = risk * deviation * (1.0 + deviation / (tuning.bold * here)) - gain
            rounds, power, seen, until = 0, 1.0, 0.0, 1
            while until <= max(1.0, tuning.most * t):
                while rounds < until:
                    rounds += 1
                    power *= memory
                    seen += (1.0 - power) * (1.0 - power)
                # deviation of what will then be believed of the target
                known = math.sqrt(far_variance * shared * variance / (variance + blur / seen))
                net = belief * reach * expected_gain(far, known) - rounds * cost
                if net > best:
                    best, chosen, chosen_part = net, rounds, part
                until *= 2
        part *= 0.5
    part_way(home, target, chosen_part, levels)
    return best, chosen


@helper
def expected_gain(mean: float, deviation: float) -> float:
    """Mean of the larger of zero and a normal variable."""
    z = mean / deviation
    return deviation * 0.3989422804014327 * math.exp(-0.5 * z * z) + mean * 0.5 * math.erfc(-z * 0.7071067811865476)


@kernel
def best_for(state: CurveThompsonState, curves: Floats, levels: Ints) -> None:
    steps = curves.shape[1] - 1
    for k in range(curves.shape[0]):
        for i in range(steps + 1):
            state.value[k, i] = (i / steps) * curves[k, i]
    best_plain(state.value, state.bounds[0], state.bounds[1], state.work, levels, state.rng)


@kernel
def decide(state: CurveThompsonState, t: int) -> None:
    now, tuning = state.now[0], state.tuning[0]
    rounds = t * trusted(state.powers, now.age)
    per_round = max(1.0, now.seen / max(1, t - 1))
    hold = max(max(1.0, tuning.hold / per_round), tuning.hold_growth * rounds)
    now.stage = HOME
    most = 0.0
    draw_curves(state.posterior, state.sure, tuning.temperature, tuning.kept, state.white, state.rng, state.drawn)
    if settle(state):
        now.stage = MOVING
        for k in range(state.home.shape[0]):
            state.levels[k] = state.home[k]
    else:
        for k in range(state.home.shape[0]):
            state.levels[k] = state.home[k]
        best_for(state, state.drawn, state.trial)
        most, length = worth(state, state.trial, 1.0, rounds, state.levels)
        if most > 0.0:
            now.stage = USING
            hold = max(max(1.0, tuning.hold / per_round), min(length, tuning.commit * rounds))
        booked = state.banks[bank_of(state, now.age)]
        fit_all(booked, state.spread, state.fields[0], state.belief[0], state.posterior, state.sure, state.room)
        relate(state.posterior, state.sure, state.home, state.column)
        for k in range(state.home.shape[0]):
            for i in range(state.column.shape[1]):
                state.mixed[0, k, i] = state.posterior[k, MEAN, i]
                state.mixed[1, k, i] = state.posterior[k, VARIANCE, i]
                state.mixed[2, k, i] = state.column[k, i]
        draw_curves(state.posterior, state.sure, 1.0, 0.0, state.fresh, state.rng, state.drawn)
        best_for(state, state.drawn, state.trial)
        net, length = worth(state, state.trial, tuning.doubt + (tuning.late_doubt - tuning.doubt) * rounds / (rounds + tuning.patience), rounds, state.spare)
        if net > most:
            now.stage = SEARCHING
            hold = length
            for k in range(state.home.shape[0]):
                state.levels[k] = state.spare[k]
    now.hold_until = t + int(hold)


def ask(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    reviewed = review(state, t)
    if t >= state.now[0].hold_until:
        look(state, t)
        decide(state, t)
    deploy_levels(state.levels, state.value.shape[1] - 1, allocation)


def tell(state: CurveThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    now = state.now[0]
    follow(state.tracks, state.impact, allocation, seen, True)
    for k in range(seen.shape[0]):
        now.seen += seen[k]
        hits = seen[k] * reward[k]
        if abs(hits - math.floor(hits + 0.5)) > WHOLE * max(1.0, hits):
            now.measured = 1  # not a count of successes: rewards may scatter less than coins
        now.shares += allocation[k]
    forgetful = state.banks[state.tracks.shape[0] :]
    judge_and_book(state.scores, forgetful, state.foretold, state.noise, state.spread, state.impact[now.track], seen, reward)
    book_all(state.banks, state.impact, seen, reward, state.noise, now.track)


def skip(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    follow(state.tracks, state.impact, allocation, allocation, False)


register_rule(CurveThompsonState, ask, tell, skip)


@register
@dataclass(frozen=True)
class CurveThompson(Policy):
    """Thompson sampling over smooth response curves at the impact: the fastest learner here, without a guarantee.
    """

    name: ClassVar[str] = "curve-thompson"
    memory: float | None = None
    memory_bound: float | None = None
    follow: str = "intended"
    temperature: float = 0.4
    caution: float = 1.0
    reach: float = 0.1
    doubt: float = 0.02
    risk: float = 0.5
    patience: float = 1e9
    late: float = 1.0
    commit: float = 3e-3
    late_doubt: float = 0.02
    bold: float = 0.3
    kept: float = 0.9
    hold: float = 5.0
    hold_growth: float = 3e-3
    most: float = 0.1
    levels: int | None = None

    def __post_init__(self) -> None:
        check_memory(self, self.memory)
        if self.memory_bound is not None:
            if self.memory is not None:
                raise AftereffectError(f"{self.name}: give memory or memory_bound, not both")
            check_between(self, 0, 1, memory_bound=self.memory_bound)
        check_choice(self, ("intended", "realised"), follow=self.follow)
        check_whole(self, 1, levels=self.levels)
        if self.levels is not None and self.levels > MOST_LEVELS:
            raise AftereffectError(f"{self.name}: levels must be at most {MOST_LEVELS:,}, got {self.levels:,}")

    def grid(self, setting: Setting) -> Grid:
        levels = min(MOST_LEVELS, max(LEVELS, 2 * setting.arms)) if self.levels is None else self.levels
        return make_grid(self, setting, levels, True, None)

    def _tracks(self, setting: Setting) -> Records:
        realised = self.follow == "realised" and setting.feedback != "split"
        if self.memory_bound is not None:
            return candidate_tracks(float(self.memory_bound), realised)
        memory = setting.memory if self.memory is None else self.memory
        if memory is None:
            raise MissingParameter(
                f"{self.name} needs memory= (how strongly the past weighs, in [0, 1)) or memory_bound= (an upper bound; "
                f"{UNKNOWN_BOUND} if nothing is known), to estimate it"
            )
        return known_tracks(float(memory), realised, watch_driver=setting.feedback != "split")

    def state(self, setting: Setting) -> CurveThompsonState:
        grid, tracks, arms = self.grid(setting), self._tracks(setting), setting.arms
        nodes, ages = grid.levels + 1, len(POWERS)
        now = np.zeros(1, dtype=NOW)
        now["learns_memory"] = int(self.memory_bound is not None)
        now["may_take_turns"] = int(setting.limits.trivial)
        now["against"] = -np.inf
        tuning = np.zeros(1, dtype=TUNING)
        for name in TUNING.names:
            tuning[name] = getattr(self, name, 0.1)
        fields = fields_tried(nodes)
        return CurveThompsonState(
            rng=setting.rng.copy(),
            now=now,
            tuning=tuning,
            belief=np.array([(0.5, 0.5)], dtype=BELIEF),
            fields=fields,
            evidence=np.zeros((len(tracks), len(fields))),
            field_evidence=np.zeros(len(fields)),
            tracks=tracks,
            track_evidence=np.zeros(len(tracks)),
            impact=np.zeros((len(tracks), arms)),
            powers=np.array(POWERS),
            scores=fresh_scores(),
            banks=np.zeros((len(tracks) + ages - 1, BOOKED, arms, nodes)),
            foretold=np.zeros((ages, 2, arms, nodes)),
            noise=np.full((arms, nodes), 0.25),
            spread=np.stack([np.ones(arms), np.zeros(arms)]),
            white=np.zeros((arms, nodes + 1)),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(arms, dtype=np.int64),
            home=even_levels(grid),
            credit=np.zeros(arms),
            trial=np.zeros(arms, dtype=np.int64),
            posterior=np.zeros((arms, PARTS, nodes)),
            sure=np.zeros(arms),
            mixed=np.zeros((3, arms, nodes)),
            column=np.zeros((arms, nodes)),
            across=np.zeros((arms, nodes)),
            midway=np.zeros(arms, dtype=np.int64),
            spare=np.zeros(arms, dtype=np.int64),
            drawn=np.zeros((arms, nodes)),
            value=np.zeros((arms, nodes)),
            room=np.zeros((ROOM, nodes)),
            fresh=np.zeros((arms, nodes + 1)),
            work=np.zeros((arms, nodes)),
        )


def even_levels(grid: Grid) -> Ints:
    """The levels nearest to even shares within the bounds."""
    arms = len(grid.low)
    levels = np.clip(np.full(arms, grid.levels // arms), grid.low, grid.high)
    while levels.sum() != grid.levels:
        up = levels.sum() < grid.levels
        room = levels < grid.high if up else levels > grid.low
        k = int(np.flatnonzero(room)[np.argmin(levels[room]) if up else np.argmax(levels[room])])
        levels[k] += 1 if up else -1
    return levels
