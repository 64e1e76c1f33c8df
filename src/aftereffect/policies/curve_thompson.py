"""Thompson sampling over whole response curves, at the impact that the past has made, as far as a look is worth its price.

With the memory known, so is each arm's impact f_k(t): every observation, also one made while the impact still moves, is a
sample of r_k at f_k(t). Per arm the curve r_k is a level plus a smooth field (`curves.fit`); how far fields reach, how large
they are and how much rewards scatter is learned from the evidence of all arms together. What is deployed is decided by what is
not known yet and by what it could change (`curves.decision`). Where the memory is unknown, several are followed at once
(`curves.tracks`) and one is drawn by its evidence. Where responses drift, so is how much of the past to trust
(`curves.forgetting`). Where activations drive the impact, both holding a split and taking turns are priced for the same drawn
curves (`curves.values`) and the better is played.

It needs no horizon. Told one beyond 20,000 rounds it looks around earlier, and less towards the end; a very long one makes the
grid finer. There is no regret bound for this policy: it is judged by measurement.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from aftereffect.errors import AftereffectError, MissingParameter
from aftereffect.model.curves import Floats, Records
from aftereffect.model.feedback import Driver, follows_activations
from aftereffect.oracle.maximise import best_on
from aftereffect.oracle.search import Ints
from aftereffect.policies.base import (
    Policy,
    check_between,
    check_choice,
    check_memory,
    check_positive,
    check_whole,
    register,
)
from aftereffect.policies.by_name import by_part, named
from aftereffect.policies.curves.decision import decide, decide_by_draw
from aftereffect.policies.curves.estimates import component_weights
from aftereffect.policies.curves.fit import (
    BELIEF,
    BOOKED,
    empty_posterior,
    fields_tried,
    fresh_spread,
)
from aftereffect.policies.curves.forgetting import (
    FORETOLD,
    POWERS,
    drift_seen,
    evidence_of_drift,
    fresh_leads,
    fresh_scores,
    from_the_first_round,
)
from aftereffect.policies.curves.look import look, mix, review
from aftereffect.policies.curves.outlook import mark_never_visited, outlook
from aftereffect.policies.curves.sense import check_curves
from aftereffect.policies.curves.state import (
    GIVEN,
    MIXED,
    NOW,
    STAGES,
    WORKSPACE,
    CurvesState,
    bank_of,
    take_in,
    tuning_record,
)
from aftereffect.policies.curves.tracks import (
    LEAST_OF_COINS,
    LEAST_PART,
    begin_at,
    believable,
    candidate_tracks,
    contradiction,
    estimated_memory,
    known_tracks,
    move_on,
)
from aftereffect.policies.curves.values import price, take_turn
from aftereffect.policies.grid import deploy_levels, make_grid
from aftereffect.policies.rules import Saved, register_rule
from aftereffect.policies.setting import Grid, Setting
from aftereffect.policies.state_files import carry_over

LEVELS = 200  # half a percent; twice as many gain a little at kinks, lose it elsewhere and cost twice the time
FINER_FROM = 200_000  # rounds from which on half a percent is too coarse at a kink: levels then grow with the root of the horizon
MOST_LEVELS = 2000  # precisions grow with the cube of the levels; beyond this the factorisation runs out of digits
UNKNOWN_BOUND = 0.95  # of a memory about which nothing is known: a half-life of 13 rounds
LEFT_OUT = 0.25  # weight, against the heaviest's, below which a memory and field is left out of an explanation
NEAR = 0.05  # shares this near to one that was visited are not new
LOOKED_AT = 12  # arms up to which ranges that were never visited are named


def ask(state: CurvesState, t: int, allocation: Floats) -> None:
    review(state, t)
    now = state.now[0]
    if t >= now.hold_until:
        look(state, t)
        if state.tracks[now.track].realised == 1:
            decide_by_draw(state, t)
        else:
            decide(state, t)
    steps = state.value.shape[1] - 1
    if now.takes_turns == 1:
        take_turn(state.levels, steps, state.credit, allocation)
    else:
        deploy_levels(state.levels, steps, allocation)


def tell(state: CurvesState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    take_in(state, t, allocation, seen, reward)


def skip(state: CurvesState, t: int, allocation: Floats) -> None:
    move_on(state.tracks, state.impact, allocation, allocation, False)


def drop_fields(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 1: fields were saved, with a column that nothing read."""
    saved.pop("fields", None)


def add_bank(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 2: there was no bank as fast as the last, and of the evidence of drift only the latest was kept."""
    saved["now"] = {**saved["now"], "moved": [evidence_of_drift(np.array(from_the_first_round(saved["scores"])))]}
    for name in ("scores", "leads"):
        saved[name] = [*saved[name], *fresh["leads"].tolist()[len(saved[name]) :]]
    saved["banks"] = [*saved["banks"], *[0.0] * (len(BOOKED.names or ()) * fresh["banks"][0].size)]
    one = len(FORETOLD.names or ()) * fresh["foretold"][0].size
    saved["foretold"] = [*saved["foretold"], *saved["foretold"][:one]]  # as without forgetting, until the next decision


def name_rows(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 3: what was booked and foretold, how rewards scatter and which levels are allowed had rows without names."""
    for name in ("banks", "foretold"):
        saved[name] = by_part(name, saved[name], fresh[name])
    named(spread=("spread.dispersion", "spread.shock"), bounds=("low", "high"))(saved, fresh)


def add_leaning(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 4: no field leaned. Those that do are believed as little as the least, until the next review."""
    fields = len(fresh["field_evidence"])
    for name in ("evidence", "field_evidence"):
        rows = np.array(saved[name]).reshape(-1, len(saved[name]) * fields // fresh[name].size)
        least = np.repeat(rows.min(axis=1, keepdims=True), fields - rows.shape[1], axis=1)
        saved[name] = np.concatenate([rows, least], axis=1).ravel().tolist()


def weigh_starts(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 5: drift was taken to have begun in the first round."""
    saved["scores"] = from_the_first_round(saved["scores"])


register_rule(
    CurvesState,
    ask,
    tell,
    skip,
    scratch=(*WORKSPACE, *GIVEN),
    version=6,
    migrations={1: drop_fields, 2: add_bank, 3: name_rows, 4: add_leaning, 5: weigh_starts},
)


@register
@dataclass(frozen=True)
class CurveThompson(Policy):
    """Learns whole response curves and looks where it may pay: the fastest learner here, without a guarantee.

    `memory` is how strongly the past weighs; with `memory_bound` instead it is unknown but at most that, and estimated.
    `driver` is what drives the impact: the shares ("intended") or the activations they lead to ("realised").
    `caution` is how sure it must be before it leaves what is known to be good: deviations of the gain (1; near zero it
    believes its estimates, at two it moves seldom), up to three times that while little was seen.
    `temperature` is how much of the curves' uncertainty is played on (.4).
    `levels` is how fine shares are (200; finer where the horizon is beyond 200,000 rounds).

    >>> agent = CurveThompson(memory_bound=0.95).start(arms=3, seed=1, feedback="split")
    >>> agent.ask().tolist()
    [0.335, 0.335, 0.33]
    """

    name: ClassVar[str] = "curve-thompson"
    holds: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#009E73", "*")
    once_called: ClassVar[Mapping[str, str]] = {"follow": "driver"}
    leaning: ClassVar[bool] = True  # are fields tried in which arms have a slope in common?
    memory: float | None = None
    memory_bound: float | None = None
    driver: str = "intended"
    temperature: float = 0.4
    caution: float = 1.0
    levels: int | None = None

    def __post_init__(self) -> None:
        check_choice(self, get_args(Driver), driver=self.driver)
        check_curves_parameters(self)

    def grid(self, setting: Setting) -> Grid:
        return make_grid(self, setting, self.levels or usual_levels(setting), True, None)

    def _tracks(self, setting: Setting) -> Records:
        realised = follows_activations(self.driver, setting.feedback)
        if self.memory_bound is not None:
            return candidate_tracks(float(self.memory_bound), realised)
        memory = setting.memory if self.memory is None else self.memory
        if memory is None:
            raise MissingParameter(
                f"{self.name} needs memory= (how strongly the past weighs, in [0, 1)) or memory_bound= (an upper bound; "
                f"{UNKNOWN_BOUND} if nothing is known), to estimate it"
            )
        return known_tracks(float(memory), realised, watch_driver=setting.feedback != "split")

    def state(self, setting: Setting) -> CurvesState:
        grid, tracks, arms = self.grid(setting), self._tracks(setting), setting.arms
        nodes, ages, fields = grid.levels + 1, len(POWERS), fields_tried(grid.levels + 1, self.leaning)
        impact = begin_at(tracks, arms, setting.start)
        now = np.zeros(1, dtype=NOW)
        now["learns_memory"] = int(self.memory_bound is not None)
        now["may_take_turns"] = int(setting.limits.trivial and setting.step is None)
        now["against"] = -np.inf
        caution = self.caution if setting.caution is None else setting.caution
        return CurvesState(
            rng=setting.rng.copy(),
            now=now,
            tuning=tuning_record(setting.horizon, temperature=self.temperature, caution=caution),
            belief=np.array([(0.5, 0.5)], dtype=BELIEF),
            fields=fields,
            tracks=tracks,
            evidence=np.zeros((len(tracks), len(fields))),
            field_evidence=np.zeros(len(fields)),
            track_evidence=np.zeros(len(tracks)),
            impact=impact,
            powers=np.array(POWERS),
            scores=fresh_scores(),
            leads=fresh_leads(),
            banks=np.zeros((len(tracks) + ages - 1, arms, nodes), dtype=BOOKED),
            foretold=np.zeros((ages, arms, nodes), dtype=FORETOLD),
            noise=np.full((arms, nodes), 0.25),
            spread=fresh_spread(arms),
            white=np.zeros((arms, nodes + 1)),
            low=grid.low.copy(),
            high=grid.high.copy(),
            levels=np.zeros(arms, dtype=np.int64),
            home=levels_near(grid, np.full(arms, 1 / arms) if setting.start is None else setting.start),
            credit=np.zeros(arms),
            target=np.zeros(arms, dtype=np.int64),
            midway=np.zeros(arms, dtype=np.int64),
            spare=np.zeros(arms, dtype=np.int64),
            posterior=empty_posterior(arms, nodes),
            mixed=np.zeros((arms, nodes), dtype=MIXED),
            column=np.zeros((arms, nodes)),
            across=np.zeros((arms, nodes)),
            drawn=np.zeros((arms, nodes)),
            value=np.zeros((arms, nodes)),
            fresh=np.zeros((arms, nodes + 1)),
            work=np.zeros((arms, nodes)),
        )

    def check_state(self, state: CurvesState, fresh: CurvesState) -> None:
        check_curves(state, fresh)

    def resized(self, state: CurvesState, before: Setting, after: Setting, shares: Floats | None) -> CurvesState:
        return resized_curves(state, self.state(after), self.grid(after), shares, self.name)

    def await_rewards(self, state: CurvesState, rounds: int) -> None:
        state.tuning["out"] = rounds

    def stage(self, state: CurvesState, t: int) -> str:
        return stage_of(state)

    def explain(self, state: CurvesState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid = self.grid(setting)
        return explain_curves(state, grid, deployed_at(state, grid, setting, allocation))


def check_curves_parameters(policy: Any) -> None:
    """What all policies that learn curves are told."""
    check_memory(policy, policy.memory)
    if policy.memory_bound is not None:
        if policy.memory is not None:
            raise AftereffectError(f"{policy.name}: give memory or memory_bound, not both")
        check_between(policy, 0, 1, memory_bound=policy.memory_bound)
    check_positive(policy, temperature=policy.temperature, caution=policy.caution)
    check_whole(policy, 1, levels=policy.levels)
    if policy.levels is not None and policy.levels > MOST_LEVELS:
        raise AftereffectError(f"{policy.name}: levels must be at most {MOST_LEVELS:,}, got {policy.levels:,}")


def resized_curves(state: CurvesState, fresh: CurvesState, grid: Grid, shares: Floats | None, who: str) -> CurvesState:
    """Other limits, or more arms: what is known of the others is kept, and decided anew at the next ask.

    A new arm was never seen; how much rewards scatter it has in common with the others.
    """
    arms, steps = len(state.home), grid.levels
    may_take_turns = int(fresh.now["may_take_turns"][0])
    resized: CurvesState = carry_over(state, fresh, who, ("low", "high", "home", "levels"))
    for name, levels in (("home", state.home), ("levels", state.levels)):
        held = np.zeros(len(fresh.home))
        held[:arms] = levels / steps
        getattr(resized, name)[:] = levels_near(grid, held if shares is None or name == "levels" else shares)
    scatter_alike(state, resized)
    resized.now["may_take_turns"] = may_take_turns
    resized.now["takes_turns"] = 0
    resized.now["hold_until"] = 0
    return resized


def scatter_alike(state: Any, resized: Any) -> None:
    """What new arms bring scatters as the others' does."""
    arms = len(state.spread)
    resized.noise[arms:] = state.noise.mean(axis=0)
    for name in state.spread.dtype.names:
        resized.spread[name][arms:] = state.spread[name].mean()


def usual_levels(setting: Setting) -> int:
    """How fine shares are if nobody says."""
    finer = 1.0 if setting.horizon is None else math.sqrt(max(1.0, setting.horizon / FINER_FROM))
    return min(MOST_LEVELS, max(int(LEVELS * finer), 2 * setting.arms))


def levels_near(grid: Grid, shares: Floats) -> Ints:
    """The levels nearest to some shares within the bounds, with the right sum."""
    levels = np.clip(np.floor(shares * grid.levels + 1e-9).astype(np.int64), grid.low, grid.high)
    while levels.sum() != grid.levels:
        missing = levels.sum() < grid.levels
        room = levels < grid.high if missing else levels > grid.low
        short = np.where(room, (shares * grid.levels - levels) * (1 if missing else -1), -np.inf)
        levels[int(np.argmax(short))] += 1 if missing else -1
    return levels


def believed(state: CurvesState) -> tuple[Floats, Floats]:
    """Every arm's curve and its deviation: over all memories and fields that the evidence leaves in, or of the latest past."""
    if state.now["age"][0] == 0:
        return outlook(state, component_weights(state, LEFT_OUT))
    latest = copy.deepcopy(state)  # mixing leaves other curves to be sampled from
    mix(latest)
    return latest.mixed["mean"].clip(0.0, 1.0), np.sqrt(latest.mixed["variance"])


def stage_of(state: CurvesState) -> str:
    """Home, trying, searching or moving."""
    return STAGES[state.now[0]["stage"]]


def deployed_at(state: CurvesState, grid: Grid, setting: Setting, allocation: Floats) -> Ints:
    """The levels of what is advised: with a largest step they are only on the way to what was decided."""
    return state.levels if setting.step is None else levels_near(grid, allocation)


def explain_curves(state: CurvesState, grid: Grid, deployed: Ints) -> dict[str, Any]:
    """What the curves look like where the allocation is, which allocation the estimates favour, and is the model right."""
    now = state.now[0]
    track, age = int(now["track"]), int(now["age"])
    booked, steps = state.banks[bank_of(state, age)], grid.levels
    mean, deviation = believed(state)
    value = np.zeros(mean.shape)
    memory, realised = float(state.tracks[track]["memory"]), bool(state.tracks[track]["realised"])
    price(mean, value, memory, realised, bool(now["takes_turns"]))
    favourite, expected = best_on(value, grid.low, grid.high)
    learns, field = now["learns_memory"] == 1, state.fields[now["field"]]
    evidence, held = state.track_evidence, state.banks[track]
    part = believable(held, state.spread, LEAST_OF_COINS if learns else LEAST_PART)
    reasons: dict[str, Any] = {
        "held_until_round": int(now["hold_until"]) - 1,
        "takes_turns": bool(now["takes_turns"]),
        "expected": float(sum(value[k, level] for k, level in enumerate(deployed))),
        "favourite": {"allocation": (favourite / steps).tolist(), "expected": expected},
        "home": {
            "allocation": (state.home / steps).tolist(),
            "expected": float(sum(value[k, level] for k, level in enumerate(state.home))),
        },
        "smoothness": {
            "length": float(field["length"]),
            "amplitude": float(field["amplitude"] * state.belief[0]["scale"]),
        },
        "memory": estimated_memory(state.tracks, evidence, part) if learns else {"given": memory},
        "model": {} if learns else contradiction(state.tracks, evidence, float(now["against"]), part),
        "drift": drift_seen(float(now["moved"]), state.powers, age),
        "arms": [
            {
                "level": int(level),
                "share": level / steps,
                "impact": float(state.impact[track, k]),
                "estimate": float(mean[k, level]),
                "deviation": float(deviation[k, level]),
                "observations": float(booked["count"][k].sum()),
                "observations_here": float(booked["count"][k, level]),
                "dispersion": float(state.spread["dispersion"][k]),
                "shock": float(np.sqrt(state.spread["shock"][k])),
            }
            for k, level in enumerate(deployed.tolist())
        ],
    }
    if np.any(deployed != state.levels):
        aim = float(sum(value[k, level] for k, level in enumerate(state.levels)))
        reasons["target"] = {"allocation": (state.levels / steps).tolist(), "expected": aim}
    if len(mean) <= LOOKED_AT and not realised:
        for arm, ranges in zip(reasons["arms"], never_visited(booked, mean, deviation, expected, grid), strict=True):
            arm["never_visited"] = ranges
    return reasons


def never_visited(booked: Records, mean: Floats, deviation: Floats, best: float, grid: Grid) -> list[list[list[float]]]:
    """Ranges of each arm's share that were never visited and could matter.

    They could if the arm's response there, two deviations above its estimate, would make some allocation better than the
    best by the estimates.
    """
    shares, marks = np.arange(mean.shape[1]) / grid.levels, np.zeros((mean.shape[0], mean.shape[1] + 2))
    room = np.zeros((3, mean.shape[1]))
    mark_never_visited(booked, mean, deviation, best, low=grid.low, high=grid.high, near=NEAR, room=room, marks=marks)
    found = []
    for row in marks:
        edges = np.flatnonzero(row[1:] != row[:-1])
        found.append([[float(shares[a]), float(shares[b - 1])] for a, b in zip(edges[::2], edges[1::2], strict=True)])
    return found
