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

Where the memory is unknown, several are followed at once (`impact_tracks`) and one is drawn by its evidence. Where
activations drive the impact, holding a split lets chance move it; giving everything to one arm at a time, in turns that add
up to the split, does not. Both are priced for the same drawn curves and the better is played.

Nothing here uses the horizon. There is no regret bound for this policy: it is judged by measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
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
    fields_tried,
    fitted,
    fresh_cells,
    renew_noise,
    weigh_fields,
)
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.impact_tracks import EVIDENCE as TRACK_EVIDENCE
from aftereffect.policies.impact_tracks import (
    MEMORY,
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

LEVELS = 200  # half a percent; twice as many gained nothing measurable in 1e5 rounds and cost twice the time
MOST_LEVELS = 2000  # precisions grow with the cube of the levels; beyond this the factorisation runs out of digits
HOLD, HOLD_GROWTH = 5.0, 3e-3  # rounds an allocation is held, and the share of the past it grows to: every move costs
REVIEW = 0.1  # growth of t after which smoothness, noise and memory are learned anew
KEPT = 0.9  # share of the drawn deviation kept to the next decision: fewer changes; a spell of exploring starts afresh
CLIFFS = 0.25  # share of the spells that explore for cliffs, not just for steep curves
MOSTLY = 0.5  # share of exploring decisions from which on each draws afresh, to cover the ground
SPELL = 10.0  # decisions that explore in a row, in the mean: as long as KEPT remembers, so that a look elsewhere is a real one
UNKNOWN_BOUND = 0.95  # of a memory about which nothing is known: a half-life of 13 rounds

# entries of `codes`
HOLD_UNTIL, REVIEW_AT, FIELD, TRACK, EXPLORING, EXPLORED_FIELD = 0, 1, 2, 3, 4, 5
LEARNS_MEMORY, MAY_TAKE_TURNS, TAKES_TURNS = 6, 7, 8
TEMPERATURE, EXPLORATION, AGAINST = 0, 1, 2  # entries of `settings`


class CurveThompsonState(NamedTuple):
    rng: Words
    codes: (
        Ints  # hold until, review at, field and track in use, exploring and with which field, what it may do and does
    )
    settings: Floats  # temperature, exploration; the most evidence so far against the model that was given
    fields: Floats  # see curve_fit
    tracks: Floats  # see impact_tracks
    impact: Floats  # (tracks, arms)
    banks: Floats  # (tracks, 2, arms, N + 1): what each track has booked
    cells: Floats  # (4, arms, N + 1), see curve_fit; the last row is what an arm's share is worth under the drawn curve
    bounds: Ints
    levels: Ints  # as last chosen
    trial: Ints  # as taking turns would have it
    credit: Floats  # what each arm still has to get of its turns
    work: Floats  # (arms + ROOM + 1, N + 1)


@helper
def review(state: CurveThompsonState, t: int) -> bool:
    """Learn smoothness, noise and memory anew, if it is time to; tells whether it was."""
    codes, fields, cells, tracks, banks = state.codes, state.fields, state.cells, state.tracks, state.banks
    if t < codes[REVIEW_AT]:
        return False
    arms = cells.shape[1]
    room = state.work[arms : arms + ROOM]
    weigh_fields(banks[codes[TRACK]], cells, fields, t, room)
    codes[FIELD] = draw_by_evidence(fields[:, EVIDENCE], state.rng)
    weigh_tracks(banks, tracks, fields, codes[FIELD], t, room, state.work[arms + ROOM])
    state.settings[AGAINST] = max(state.settings[AGAINST], evidence_against(tracks))
    if codes[LEARNS_MEMORY] == 1:
        codes[TRACK] = draw_by_evidence(tracks[:, TRACK_EVIDENCE], state.rng)
    renew_noise(banks[codes[TRACK]], cells, fields, codes[FIELD], room)
    codes[REVIEW_AT] = t + 1 + int(REVIEW * t)
    return True


@helper
def draw(state: CurveThompsonState, t: int) -> None:
    """Draw curves for a decision in round t, and say how long it is held."""
    codes, settings, cells = state.codes, state.settings, state.cells
    arms = cells.shape[1]
    room, booked = state.work[arms : arms + ROOM], state.banks[codes[TRACK]]
    share, mark = min(1.0, settings[EXPLORATION] / t), SPELL * uniform(state.rng)
    explored = codes[EXPLORING] == 1
    exploring = mark >= 1.0 - share if explored else mark < share
    codes[EXPLORING] = 1 if exploring else 0
    if exploring:
        follow_up = explored and share < MOSTLY
        if not follow_up:
            codes[EXPLORED_FIELD] = 1 if uniform(state.rng) < CLIFFS else 0
        kept = KEPT if follow_up else 0.0
        draw_curves(booked, cells, state.fields, codes[EXPLORED_FIELD], 1.0, kept, room, state.rng)
    else:
        draw_curves(booked, cells, state.fields, codes[FIELD], settings[TEMPERATURE], KEPT, room, state.rng)
    codes[HOLD_UNTIL] = t + int(max(HOLD, HOLD_GROWTH * t))


@kernel
def price_shares(cells: Floats) -> None:
    """What a held share is worth where shares drive the impact: share times response."""
    steps = cells.shape[2] - 1
    for k in range(cells.shape[1]):
        for i in range(steps + 1):
            cells[VALUE, k, i] = (i / steps) * cells[DRAWN, k, i]


@helper
def _between(curve: Floats, x: float) -> float:
    steps = curve.shape[0] - 1
    place = min(1.0, max(0.0, x)) * steps
    node = min(steps - 1, int(place))
    return float(curve[node] + (place - node) * (curve[node + 1] - curve[node]))


@kernel
def price_chances(cells: Floats, memory: float) -> None:
    """What a held share p is worth where activations drive the impact: p times the mean response when activated.

    The impact is then (1 - memory) + memory f, with f of mean p and variance p (1 - p)(1 - memory)/(1 + memory). A Beta
    distribution with these stands for f, and the two points of its Gauss quadrature for that.
    """
    steps = cells.shape[2] - 1
    size = 2.0 * memory / (1.0 - memory)  # the two parameters of the Beta distribution, added up
    for i in range(steps + 1):
        share = i / steps
        second = share * (share * size + 1.0) / (size + 1.0)
        third = second * (share * size + 2.0) / (size + 2.0)
        low, high, weight = share, share, 0.5
        if second - share * share > 1e-12:
            slope = (third - share * second) / (second - share * share)  # the nodes' sum
            product = share * slope - second
            half = math.sqrt(max(0.0, 0.25 * slope * slope - product))
            low, high = 0.5 * slope - half, 0.5 * slope + half
            weight = (high - share) / (high - low)
        for k in range(cells.shape[1]):
            at_low = _between(cells[DRAWN, k], 1.0 - memory + memory * low)
            at_high = _between(cells[DRAWN, k], 1.0 - memory + memory * high)
            cells[VALUE, k, i] = share * (weight * at_low + (1.0 - weight) * at_high)


@kernel
def price_turns(cells: Floats, memory: float) -> None:
    """What a share p is worth as every 1/p-th turn: the impact on its turn is (1 - memory)/(1 - memory^(1/p))."""
    steps = cells.shape[2] - 1
    for k in range(cells.shape[1]):
        cells[VALUE, k, 0] = 0.0
        for i in range(1, steps + 1):
            share = i / steps
            impact = (1.0 - memory) / (1.0 - memory ** (1.0 / share))
            cells[VALUE, k, i] = share * _between(cells[DRAWN, k], impact)


@kernel
def price(cells: Floats, track: Floats, turns: bool) -> None:
    """What each share is worth under the drawn curves, by what drives the impact on this track and how it is played."""
    if turns:
        price_turns(cells, track[MEMORY])
    elif track[REALISED] > 0.0:
        price_chances(cells, track[MEMORY])
    else:
        price_shares(cells)


@helper
def decide(state: CurveThompsonState) -> None:
    """The best levels for the drawn curves; where activations drive the impact also whether to hold them or take turns."""
    codes, cells, bounds = state.codes, state.cells, state.bounds
    plain, track = state.work[: cells.shape[1]], state.tracks[codes[TRACK]]
    price(cells, track, False)
    held = best_plain(cells[VALUE], bounds[0], bounds[1], plain, state.levels, state.rng)
    codes[TAKES_TURNS] = 0
    if codes[MAY_TAKE_TURNS] == 1 and track[REALISED] > 0.0:
        price(cells, track, True)
        if best_plain(cells[VALUE], bounds[0], bounds[1], plain, state.trial, state.rng) > held:
            codes[TAKES_TURNS] = 1
            for k in range(state.levels.shape[0]):
                state.levels[k] = state.trial[k]


@helper
def take_turn(levels: Ints, steps: int, credit: Floats, allocation: Floats) -> None:
    """Everything to the arm that is furthest behind its share."""
    chosen = 0
    for k in range(levels.shape[0]):
        credit[k] += levels[k] / steps
        allocation[k] = 0.0
        if credit[k] > credit[chosen]:
            chosen = k
    credit[chosen] -= 1.0
    allocation[chosen] = 1.0


def ask(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    review(state, t)
    if t >= state.codes[HOLD_UNTIL]:
        draw(state, t)
        decide(state)
    steps = state.cells.shape[2] - 1
    if state.codes[TAKES_TURNS] == 1:
        take_turn(state.levels, steps, state.credit, allocation)
    else:
        deploy_levels(state.levels, steps, allocation)


def tell(state: CurveThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    follow(state.tracks, state.impact, allocation, seen, True)
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
    `temperature` is how much of the curves' uncertainty is played on once exploration is over (.5; near zero it believes
    its estimates, at one it samples the posterior). `exploration` is how many rounds it explores at the start; from then on
    a share exploration/t of its decisions. `levels` is how fine shares are (default 200).
    """

    name: ClassVar[str] = "curve-thompson"
    memory: float | None = None
    memory_bound: float | None = None
    follow: str = "intended"
    temperature: float = 0.5
    exploration: float = 500.0
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
        grid, tracks, arms = self.grid(setting), self._tracks(setting), setting.arms
        nodes = grid.levels + 1
        codes = np.zeros(9, dtype=np.int64)
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
            banks=np.zeros((len(tracks), 2, arms, nodes)),
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
    field, track = int(state.codes[FIELD]), int(state.codes[TRACK])
    booked = state.banks[track]
    mean, deviation = fitted(booked, state.cells, state.fields, field)
    cells = state.cells.copy()
    cells[DRAWN] = mean.clip(0.0, 1.0)
    price(cells, state.tracks[track], bool(state.codes[TAKES_TURNS]))
    value, favourite = cells[VALUE], np.zeros(len(state.levels), dtype=np.int64)
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
