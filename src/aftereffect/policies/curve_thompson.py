"""Thompson sampling over whole response curves, at the impact that the past has made.

With the memory known, so is each arm's impact f_k(t): every observation, also one made while the impact still moves, is a
sample of r_k at f_k(t). Per arm the curve r_k has a smooth Gaussian field as its prior (`smooth_field`); how steep and how
bent curves are is learned from the evidence of all arms together. Now and then a curve is drawn for every arm, and the
allocation that is best for the drawn curves is held for a few rounds. Two things are not textbook Thompson sampling. Drawn
deviations are shrunk (`temperature`), for a full posterior sample of a whole curve explores more than one decision needs.
And a share `exploration`/t of the decisions draws at full size from fields of steep curves instead, so that a belief in
smooth or flat curves, formed where the policy happened to look, cannot keep it from looking elsewhere. These decisions come
in spells that follow up one draw: a single look of a few rounds says too little. Only while most decisions explore does
each draw afresh, to cover the ground.

A decision is held for a few rounds, later for a small part of the past, for every move costs; but one that the estimates
think worse than the best is held only until its loss can be told from noise.

Where the memory is unknown, several are followed at once (`impact_tracks`) and one is drawn by its evidence. Where responses
drift, so is how much of the past to trust (`forgetting`). Where activations drive the impact, both holding a split and taking
turns are priced for the same drawn curves (`share_values`) and the better is played.

Nothing here uses the horizon. There is no regret bound for this policy: it is judged by measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words, uniform
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
from aftereffect.policies.curve_fit import (
    BEND,
    COUNT,
    DRAWN,
    EVIDENCE,
    ROOM,
    STEEPNESS,
    VALUE,
    draw_by_evidence,
    draw_curves,
    estimate_curves,
    fields_tried,
    fitted,
    fresh_cells,
    renew_noise,
    weigh_fields,
)
from aftereffect.policies.forgetting import (
    SCORE,
    ages_tried,
    drift_seen,
    forget,
    judge_and_book,
    trusted,
)
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.impact_tracks import EVIDENCE as TRACK_EVIDENCE
from aftereffect.policies.impact_tracks import (
    MEMORY,
    MOST_NOISE,
    REALISED,
    book_all,
    candidate_tracks,
    contradiction,
    estimated_memory,
    evidence_against,
    follow,
    known_tracks,
    weigh_tracks,
)
from aftereffect.policies.rules import register_rule
from aftereffect.policies.share_values import price, take_turn

LEVELS = 200  # half a percent; twice as many gain a little at kinks, lose it elsewhere and cost twice the time
MOST_LEVELS = 2000  # precisions grow with the cube of the levels; beyond this the factorisation runs out of digits
HOLD, HOLD_GROWTH = 5.0, 3e-3  # rounds an allocation is held, and the share of the past it grows to: every move costs
REVIEW = 0.1  # growth of t after which smoothness, noise, memory and drift are learned anew
KEPT = 0.9  # share of the drawn deviation kept to the next decision: fewer changes; a spell of exploring starts afresh
CLIFFS = 0.25  # share of the spells that explore for cliffs, not just for steep curves
MOSTLY = 0.5  # share of exploring decisions from which on each draws afresh, to cover the ground
SPELL = 10.0  # decisions that explore in a row, in the mean: as long as KEPT remembers, so that a look elsewhere is a real one
UNKNOWN_BOUND = 0.95  # of a memory about which nothing is known: a half-life of 13 rounds

# entries of `codes`
HOLD_UNTIL, REVIEW_AT, FIELD, TRACK, AGE, EXPLORING, EXPLORED_FIELD, FADED_AT = 0, 1, 2, 3, 4, 5, 6, 7
LEARNS_MEMORY, MAY_TAKE_TURNS, TAKES_TURNS = 8, 9, 10
CODES = 11
TEMPERATURE, EXPLORATION, AGAINST = 0, 1, 2  # entries of `settings`


class CurveThompsonState(NamedTuple):
    rng: Words
    codes: Ints  # until when, what is in use, what it may do and does: see above
    settings: Floats  # temperature, exploration; the most evidence so far against the model that was given
    fields: Floats  # see curve_fit
    tracks: Floats  # see impact_tracks
    impact: Floats  # (tracks, arms)
    ages: Floats  # see forgetting
    banks: Floats  # (tracks + ages - 1, 2, arms, N + 1): what each track has booked, and what forgets that of the one in use
    foretold: Floats  # (ages, arms, N + 1): mean curves at the last decision
    cells: Floats  # (4, arms, N + 1), see curve_fit
    bounds: Ints
    levels: Ints  # as last chosen
    trial: Ints  # workspace: levels that are compared with those chosen
    credit: Floats  # what each arm still has to get of its turns
    work: Floats  # (arms + ROOM + 1, N + 1)


@helper
def bank_of(state: CurveThompsonState, age: int) -> int:
    """Where the bank of an age is: without forgetting it is that of the track in use."""
    return int(state.codes[TRACK]) if age == 0 else state.tracks.shape[0] + age - 1


@helper
def fade(state: CurveThompsonState, t: int) -> None:
    """Bring the banks that forget up to a round."""
    before = max(1, state.codes[FADED_AT])
    if t > before:
        forget(state.banks[state.tracks.shape[0] :], state.ages, before, t)
    state.codes[FADED_AT] = t


@helper
def review(state: CurveThompsonState, t: int) -> bool:
    """Learn smoothness, noise, memory and drift anew, if it is time to; tells whether it was."""
    codes, fields, cells, tracks, banks = state.codes, state.fields, state.cells, state.tracks, state.banks
    if t < codes[REVIEW_AT]:
        return False
    arms = cells.shape[1]
    room = state.work[arms : arms + ROOM]
    fade(state, t)
    codes[AGE] = draw_by_evidence(state.ages[:, SCORE], state.rng)
    weigh_fields(banks[bank_of(state, codes[AGE])], cells, fields, t, room)
    codes[FIELD] = draw_by_evidence(fields[:, EVIDENCE], state.rng)
    weigh_tracks(banks, tracks, fields, codes[FIELD], t, room, state.work[arms + ROOM])
    state.settings[AGAINST] = max(state.settings[AGAINST], evidence_against(tracks))
    if codes[LEARNS_MEMORY] == 1:
        codes[TRACK] = draw_by_evidence(tracks[:, TRACK_EVIDENCE], state.rng)
    renew_noise(banks[bank_of(state, codes[AGE])], cells, fields, codes[FIELD], room)
    codes[REVIEW_AT] = t + 1 + int(REVIEW * t)
    return True


@helper
def draw(state: CurveThompsonState, t: int) -> None:
    """Draw curves for a decision in round t, say how long it is held at most, and foretell what will be seen."""
    codes, settings, cells, fields, age = state.codes, state.settings, state.cells, state.fields, state.codes[AGE]
    arms = cells.shape[1]
    fade(state, t)
    room, booked, mean = state.work[arms : arms + ROOM], state.banks[bank_of(state, age)], state.foretold[age]
    rounds = t * trusted(state.ages, age)  # what the estimates rest on
    share, mark = min(1.0, settings[EXPLORATION] / rounds), SPELL * uniform(state.rng)
    explored = codes[EXPLORING] == 1
    exploring = mark >= 1.0 - share if explored else mark < share
    codes[EXPLORING] = 1 if exploring else 0
    if exploring:
        follow_up = explored and share < MOSTLY
        if not follow_up:
            codes[EXPLORED_FIELD] = 1 if uniform(state.rng) < CLIFFS else 0
        kept = KEPT if follow_up else 0.0
        draw_curves(booked, cells, fields, codes[EXPLORED_FIELD], 1.0, kept, room, state.rng, mean)
    else:
        draw_curves(booked, cells, fields, codes[FIELD], settings[TEMPERATURE], KEPT, room, state.rng, mean)
    for j in range(state.ages.shape[0]):
        if exploring or j != age:  # else drawing them has left the means there
            estimate_curves(state.banks[bank_of(state, j)], cells, fields, codes[FIELD], room, state.foretold[j])
    codes[HOLD_UNTIL] = t + int(max(HOLD, HOLD_GROWTH * rounds))


@helper
def may_take_turns(state: CurveThompsonState) -> bool:
    return bool(state.codes[MAY_TAKE_TURNS] == 1 and state.tracks[state.codes[TRACK], REALISED] > 0.0)


@helper
def best_levels(state: CurveThompsonState, curves: Floats, turns: bool, levels: Ints, rng: Words) -> float:
    """The best levels for some curves, held or in turns, and what they earn."""
    track, value, bounds = state.tracks[state.codes[TRACK]], state.cells[VALUE], state.bounds
    price(curves, value, track[MEMORY], track[REALISED] > 0.0, turns)
    return best_plain(value, bounds[0], bounds[1], state.work[: curves.shape[0]], levels, rng)


@helper
def decide(state: CurveThompsonState) -> None:
    """The best levels for the drawn curves; where activations drive the impact also whether to hold them or take turns."""
    codes, drawn = state.codes, state.cells[DRAWN]
    held = best_levels(state, drawn, False, state.levels, state.rng)
    codes[TAKES_TURNS] = 0
    if may_take_turns(state) and best_levels(state, drawn, True, state.trial, state.rng) > held:
        codes[TAKES_TURNS] = 1
        for k in range(state.levels.shape[0]):
            state.levels[k] = state.trial[k]


@helper
def limit_hold(state: CurveThompsonState, t: int) -> None:
    """Hold a decision only until what the estimates say it loses exceeds the standard error of so many rewards' mean."""
    codes, value, track = state.codes, state.cells[VALUE], state.tracks[state.codes[TRACK]]
    mean, nobody = state.foretold[codes[AGE]], state.rng[:0]
    best = best_levels(state, mean, False, state.trial, nobody)
    if may_take_turns(state):
        best = max(best, best_levels(state, mean, True, state.trial, nobody))
    price(mean, value, track[MEMORY], track[REALISED] > 0.0, codes[TAKES_TURNS] == 1)
    loss = best
    for k in range(state.levels.shape[0]):
        loss -= value[k, state.levels[k]]
    if loss * loss * (codes[HOLD_UNTIL] - t) > MOST_NOISE:
        codes[HOLD_UNTIL] = t + int(max(HOLD, MOST_NOISE / (loss * loss)))


def ask(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    review(state, t)
    if t >= state.codes[HOLD_UNTIL]:
        draw(state, t)
        decide(state)
        limit_hold(state, t)
    steps = state.cells.shape[2] - 1
    if state.codes[TAKES_TURNS] == 1:
        take_turn(state.levels, steps, state.credit, allocation)
    else:
        deploy_levels(state.levels, steps, allocation)


def tell(state: CurveThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    follow(state.tracks, state.impact, allocation, seen, True)
    forgetful = state.banks[state.tracks.shape[0] :]
    judge_and_book(state.ages, forgetful, state.foretold, state.impact[state.codes[TRACK]], seen, reward)
    book_all(state.banks, state.impact, seen, reward)


def skip(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    follow(state.tracks, state.impact, allocation, allocation, False)


register_rule(CurveThompsonState, ask, tell, skip)


@register
@dataclass(frozen=True)
class CurveThompson(Policy):
    """Thompson sampling over smooth response curves at the impact: the fastest learner here, without a guarantee.

    `memory` is how strongly the past weighs; with `memory_bound` instead it is unknown but at most that, and estimated.
    `follow` says what drives the impact: the shares ("intended") or the activations they lead to ("realised").
    `temperature` is how much of the curves' uncertainty is played on once exploration is over (.4; near zero it believes
    its estimates, at one it samples the posterior). `exploration` is how many rounds it explores at the start; from then on
    a share exploration/t of its decisions. `levels` is how fine shares are (default 200).
    """

    name: ClassVar[str] = "curve-thompson"
    memory: float | None = None
    memory_bound: float | None = None
    follow: str = "intended"
    temperature: float = 0.4
    exploration: float = 300.0
    levels: int | None = None

    def __post_init__(self) -> None:
        check_memory(self, self.memory)
        if self.memory_bound is not None:
            if self.memory is not None:
                raise AftereffectError(f"{self.name}: give memory or memory_bound, not both")
            check_between(self, 0, 1, memory_bound=self.memory_bound)
        check_choice(self, ("intended", "realised"), follow=self.follow)
        check_positive(self, temperature=self.temperature, exploration=self.exploration)
        check_whole(self, 1, levels=self.levels)
        if self.levels is not None and self.levels > MOST_LEVELS:
            raise AftereffectError(f"{self.name}: levels must be at most {MOST_LEVELS:,}, got {self.levels:,}")

    def grid(self, setting: Setting) -> Grid:
        levels = min(MOST_LEVELS, max(LEVELS, 2 * setting.arms)) if self.levels is None else self.levels
        return make_grid(self, setting, levels, True, None)

    def _tracks(self, setting: Setting) -> Floats:
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
        grid, tracks, ages, arms = self.grid(setting), self._tracks(setting), ages_tried(), setting.arms
        nodes = grid.levels + 1
        codes = np.zeros(CODES, dtype=np.int64)
        codes[EXPLORING] = 1
        codes[LEARNS_MEMORY] = int(self.memory_bound is not None)
        codes[MAY_TAKE_TURNS] = int(setting.limits.trivial)
        return CurveThompsonState(
            rng=setting.rng.copy(),
            codes=codes,
            settings=np.array([self.temperature, self.exploration, -np.inf]),
            fields=fields_tried(nodes),
            tracks=tracks,
            impact=np.zeros((len(tracks), arms)),
            ages=ages,
            banks=np.zeros((len(tracks) + len(ages) - 1, 2, arms, nodes)),
            foretold=np.zeros((len(ages), arms, nodes)),
            cells=fresh_cells(arms, nodes),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(arms, dtype=np.int64),
            trial=np.zeros(arms, dtype=np.int64),
            credit=np.zeros(arms),
            work=np.zeros((arms + ROOM + 1, nodes)),
        )

    def explain(self, state: CurveThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return explain_curves(state, self.grid(setting))


def explain_curves(state: CurveThompsonState, grid: Grid) -> dict[str, Any]:
    """What the curves look like where the allocation is, which allocation the estimates favour, and is the model right."""
    field, track, age = int(state.codes[FIELD]), int(state.codes[TRACK]), int(state.codes[AGE])
    booked = state.banks[bank_of(state, age)]
    mean, deviation = fitted(booked, state.cells, state.fields, field)
    value, favourite = np.zeros(mean.shape), np.zeros(len(state.levels), dtype=np.int64)
    memory, realised, *_ = state.tracks[track]
    price(mean.clip(0.0, 1.0), value, memory, bool(realised), bool(state.codes[TAKES_TURNS]))
    expected = best_plain(value, grid.low, grid.high, np.zeros(value.shape), favourite, np.zeros(0, dtype=np.uint64))
    learns = state.codes[LEARNS_MEMORY] == 1
    return {
        "stage": "exploring" if state.codes[EXPLORING] else "using",
        "held_until_round": int(state.codes[HOLD_UNTIL]) - 1,
        "takes_turns": bool(state.codes[TAKES_TURNS]),
        "expected": float(sum(value[k, level] for k, level in enumerate(state.levels))),
        "favourite": {"allocation": (favourite / grid.levels).tolist(), "expected": float(expected)},
        "smoothness": {"steepness": float(state.fields[field, STEEPNESS]), "bend": float(state.fields[field, BEND])},
        "memory": estimated_memory(state.tracks) if learns else {"given": float(state.tracks[0, MEMORY])},
        "model": {} if learns else contradiction(state.tracks, float(state.settings[AGAINST])),
        "drift": drift_seen(state.ages, age),
        "arms": [
            {
                "level": int(level),
                "share": level / grid.levels,
                "impact": float(state.impact[track, k]),
                "estimate": float(mean[k, level]),
                "deviation": float(deviation[k, level]),
                "drawn": float(state.cells[DRAWN, k, level]),
                "observations": float(booked[COUNT, k].sum()),
                "observations_here": float(booked[COUNT, k, level]),
            }
            for k, level in enumerate(state.levels.tolist())
        ],
    }
