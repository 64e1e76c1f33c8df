"""Learning curves that keeps fairness measures in parity as it learns them; it needs no multipliers.

Responses are learned as in `curve-thompson`; the measures pi_k are learned by smooth fields too, which rise with the share
until the data say otherwise: the first thing to try is to give more to the group that is behind. A measure counts as the mean of
as many as were seen of its arm. An allocation is surely fair if all measures, two deviations of their estimates up and down, fit
into a band of the tolerance's width. Estimates are over all fields that the evidence leaves in, so they are in doubt where nobody
has looked, and it goes in small steps from what it has seen. Home, and every target of a trial, is the best allocation among the
surely fair ones, by the oracle of `fair_optimum`; what a trial is worth is judged as there. Where none is surely fair, home stays
if it seems to be well within the tolerance; if not, it goes half of the way to what seems fairest, or to what may be fair where
the estimates see nothing that is. There is no guarantee: it is judged by measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.errors import MissingParameter
from aftereffect.model.curves import Floats, Records, record
from aftereffect.model.fairness import check_tolerance
from aftereffect.oracle.bands import best_in_band
from aftereffect.oracle.search import Ints
from aftereffect.policies.base import Policy, register
from aftereffect.policies.by_name import by_part, named
from aftereffect.policies.curve_thompson import (
    CurveThompson,
    check_curves_parameters,
    deployed_at,
    drop_fields,
    explain_curves,
    resized_curves,
    scatter_alike,
    stage_of,
)
from aftereffect.policies.curves.decision import STEPS, experience, is_next, offer, take_up, targets
from aftereffect.policies.curves.fit import (
    BELIEF,
    BOOKED,
    as_response,
    book,
    draw_by_evidence,
    fields_that_rise,
    fit_all,
    fresh_spread,
    node_of,
    renew_noise,
    renew_scale,
)
from aftereffect.policies.curves.look import NEGLIGIBLE, look, review
from aftereffect.policies.curves.sense import (
    check_belief,
    check_booked,
    check_curves,
    check_evidence,
    check_scatter,
    require_within,
)
from aftereffect.policies.curves.state import CurvesState, copy_levels, patience
from aftereffect.policies.curves.tracks import weigh_fields
from aftereffect.policies.curves.trial import part_way
from aftereffect.policies.grid import deploy_levels
from aftereffect.policies.rules import Saved, register_rule
from aftereffect.policies.rules import skip as skip_curves
from aftereffect.policies.rules import tell as tell_curves
from aftereffect.policies.setting import Grid, Setting
from aftereffect.policies.state_files import arrays_of, carry_over

CELLS, USUAL_LEVELS = 400, 200  # bands are compared cell by cell, so a decision costs the square of arms times levels
SURE = 2.0  # times the caution: deviations of a measure's estimate that must fit into the tolerance, at first
EASE = 0.5  # part of that which goes as patience comes; without the rest many late rounds are just beyond the edge
WELL = 0.75  # of the tolerance: home stays, though not surely fair, while its measures seem to be within that
HALF = 0.5  # of the way to what only seems fairer: what is seen there says more
HALVINGS = 10  # of the interval in which the smallest tolerance lies that the estimates allow: to a thousandth


SETTINGS = np.dtype([("tolerance", "f8")])
# the measures' smoothness in use, for which reason the last decision may be fair, and the tolerance as it used it
NOW = np.dtype([("field", "i8"), ("fair", "i8"), ("tolerance", "f8")])
SURELY, WELL_WITHIN, FAIRER, PERHAPS = range(4)
STAGES = {WELL_WITHIN: "seems fair", FAIRER: "fairer", PERHAPS: "perhaps fair"}  # of decisions for fairness' sake alone


class FairThompsonState(NamedTuple):
    curves: CurvesState
    settings: Records  # one record
    now: Records  # one record
    belief: Records  # of the measures, as for the responses
    fields: Records
    evidence: Floats  # (fields,)
    booked: Records  # (tracks that may be used, arms, N + 1): measures seen, at the impact that each has
    noise: Floats
    spread: Records
    measures: Floats  # (arms, N + 1): estimates at the last decision
    # workspace
    lowest: Floats  # (arms, N + 1): what they are at least and at most, as far as one can be sure
    highest: Floats
    trial: Ints
    reach: Floats  # (arms, N + 1): the most that a band which begins at a level's measure can reach
    allowed: Floats  # and what its levels are worth
    behind: Floats  # (arms,): observations that a round's measures rest on, from when it is told until they are noted


@kernel
def choose(state: FairThompsonState, lowest: Floats, highest: Floats, tolerance: float, levels: Ints) -> float:
    """The best levels for the present values with measures that lie within a tolerance; -inf: there are none."""
    curves = state.curves
    return float(
        best_in_band(
            value=curves.value,
            lowest=lowest,
            highest=highest,
            tolerance=tolerance,
            low=curves.low,
            high=curves.high,
            bounds=state.reach,
            allowed=state.allowed,
            plain=curves.work,
            trial=state.trial,
            levels=levels,
            rng=curves.rng,
        )
    )


@kernel
def is_well_within(state: FairThompsonState) -> bool:
    """Do home's measures lie well within the tolerance by the estimates?"""
    above, below, home = -math.inf, math.inf, state.curves.home
    for k in range(home.shape[0]):
        above = max(above, state.measures[k, home[k]])
        below = min(below, state.measures[k, home[k]])
    return bool(above - below <= WELL * state.settings[0].tolerance)


@kernel
def choose_narrowest(state: FairThompsonState, levels: Ints) -> float:
    """The levels whose measures the estimates have closest together, and how close."""
    low, high, measures = 0.0, 1.0, state.measures
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if choose(state, measures, measures, middle, levels) == -math.inf:
            low = middle
        else:
            high = middle
    choose(state, measures, measures, high, levels)
    return float(high)


@kernel
def choose_fair(state: FairThompsonState, levels: Ints) -> None:
    """The best levels that are surely fair.

    Without such: home if that is well within the tolerance; else half of the way to what seems fairest, not to what only just
    seems fair and earns most, for estimates err; where nothing seems fair at all, to what may be.
    """
    now, tolerance, measures = state.now[0], state.settings[0].tolerance, state.measures
    now.tolerance, now.fair = tolerance, SURELY
    if choose(state, state.lowest, state.highest, tolerance, levels) > -math.inf:
        return
    if is_well_within(state):
        now.fair = WELL_WITHIN
        copy_levels(state.curves.home, levels)
        return
    home, target = state.curves.home, state.curves.spare
    now.fair = PERHAPS
    some = choose(state, measures, measures, tolerance, target) > -math.inf
    if some or choose(state, state.highest, state.lowest, tolerance, target) == -math.inf:
        now.fair = FAIRER
        now.tolerance = max(tolerance, choose_narrowest(state, target))
    part_way(home, target, HALF, levels)


@kernel
def fit_measures(state: FairThompsonState, field: int) -> None:
    """Every arm's measure under a field, into the curves' workspace."""
    curves, booked = state.curves, state.booked[state.curves.now[0].track]
    fit_all(booked, state.spread, state.fields[field], state.belief[0], curves.posterior)


@kernel
def review_measures(state: FairThompsonState, t: int) -> None:
    """Learn the measures' smoothness and noise anew."""
    curves, now, belief = state.curves, state.now[0], state.belief[0]
    booked = state.booked[curves.now[0].track]
    renew_scale(booked, belief)
    weigh_fields(booked, state.spread, state.fields, belief, t=t, posterior=curves.posterior, evidence=state.evidence)
    now.field = draw_by_evidence(state.evidence, curves.rng)
    renew_noise(
        booked,
        state.fields,
        now.field,
        belief,
        posterior=curves.posterior,
        noise=state.noise,
        spread=state.spread,
        counted=False,
    )


@kernel
def mix_measures(state: FairThompsonState) -> None:
    """Mean and second moment of every measure over all fields that the evidence leaves in, into `measures` and `lowest`."""
    posterior, evidence, top, total = state.curves.posterior, state.evidence, -math.inf, 0.0
    state.measures[:] = 0.0
    state.lowest[:] = 0.0
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    for j in range(evidence.shape[0]):
        weight = math.exp(evidence[j] - top)
        if weight <= NEGLIGIBLE:
            continue
        total += weight
        fit_measures(state, j)
        for k in range(state.measures.shape[0]):
            for i in range(state.measures.shape[1]):
                mean = posterior.mean[k, i]
                state.measures[k, i] += weight * mean
                state.lowest[k, i] += weight * (posterior.variance[k, i] + mean * mean)
    for k in range(state.measures.shape[0]):
        for i in range(state.measures.shape[1]):
            state.measures[k, i] /= total
            state.lowest[k, i] /= total


@kernel
def judge_measures(state: FairThompsonState, t: int) -> None:
    """What every level's measure is, and what it may be as far as one can be sure; how sure one must be eases with time."""
    curves = state.curves
    sure = SURE * curves.tuning[0].caution * (1.0 - EASE * patience(curves, experience(curves, t)))
    mix_measures(state)
    for k in range(state.measures.shape[0]):
        for i in range(state.measures.shape[1]):
            mean = state.measures[k, i]
            off = sure * math.sqrt(max(0.0, state.lowest[k, i] - mean * mean))
            state.measures[k, i] = as_response(mean)
            state.lowest[k, i] = mean - off
            state.highest[k, i] = mean + off


@kernel
def decide_fairly(state: FairThompsonState, t: int) -> None:
    """As `decide`, among the allocations that may be deployed for fairness' sake."""
    curves = state.curves
    judge_measures(state, t)
    look(curves, t)
    most = 0.0
    for step in STEPS:
        if is_next(curves, t, step, most):
            most = 0.0
            for number in range(targets(curves, t, step)):
                offer(curves, t, step, number)
                choose_fair(state, curves.target)
                most = take_up(curves, t, step, most)


def ask(state: FairThompsonState, t: int, allocation: Floats) -> None:
    curves = state.curves
    if review(curves, t):
        review_measures(state, t)
    if t >= curves.now[0].hold_until:
        decide_fairly(state, t)
    deploy_levels(curves.levels, curves.value.shape[1] - 1, allocation)


def tell(state: FairThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tell_curves(state.curves, t, allocation, seen, reward)
    for k in range(seen.shape[0]):
        state.behind[k] = max(1.0, seen[k])


def skip(state: FairThompsonState, t: int, allocation: Floats) -> None:
    skip_curves(state.curves, t, allocation)
    state.behind[:] = 1.0


@helper
def book_measure(state: FairThompsonState, k: int, measure: float) -> None:
    """Book a measure on every track that may be used, as noisy as the one in use foretold."""
    impact = state.curves.impact
    noise = state.noise[k, node_of(impact[state.curves.now[0].track, k], state.noise.shape[1] - 1)]
    for m in range(state.booked.shape[0]):
        book(
            state.booked[m], k, impact[m, k], state.behind[k], reward=measure, noise=noise, shock=state.spread[k].shock
        )


def note(state: FairThompsonState, t: int, allocation: Floats, measured: Floats) -> None:
    """Book each measure at the impact it was seen at, as the mean of as many as were seen of its arm.

    Where that is too many, measures scatter more than coins would, and the rest is learned as a shock.
    """
    for k in range(allocation.shape[0]):
        if measured[k] == measured[k]:
            book_measure(state, k, measured[k])


def name_rows(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 2: what was booked, how measures scatter and the two tolerances had rows without names."""
    saved["booked"] = by_part("booked", saved["booked"], fresh["booked"])
    places = ("settings.tolerance", "now.tolerance")
    named(spread=("spread.dispersion", "spread.shock"), tolerance=places, field=("now.field",))(saved, fresh)


def add_reason(saved: Saved, fresh: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Version 3: the reason for which a decision may be fair was not kept."""
    saved["now"] = {**saved["now"], "fair": [SURELY]}


register_rule(
    FairThompsonState,
    ask,
    tell,
    skip,
    note,
    scratch=("fields", "lowest", "highest", "trial", "reach", "allowed", "behind"),
    version=4,
    migrations={1: drop_fields, 2: name_rows, 3: add_reason},
)


@register
@dataclass(frozen=True)
class FairThompson(Policy):
    """Learns whole response curves within a fairness tolerance: learns the measures too and needs no multipliers.

    `tolerance` is how far apart two arms' measures may be (default: the problem's). Shares drive the impact. The other
    parameters are `curve-thompson`'s, with fewer `levels` (default 200 for two arms, for more 400 over the number of arms,
    at least twice that number); `caution` is also how sure it must be that an allocation is fair before it goes there. Where
    none seems to meet the tolerance, the smallest that one can is used.

    >>> FairThompson(tolerance=0.1, memory=0.4).start(arms=2, seed=1).ask().tolist()
    [0.5, 0.5]
    """

    name: ClassVar[str] = "fair-thompson"
    holds: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#CC79A7", "*")
    tolerance: float | None = None
    memory: float | None = None
    memory_bound: float | None = None
    temperature: float = CurveThompson.temperature
    caution: float = CurveThompson.caution
    levels: int | None = None

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(tolerance=0.1)]

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            check_tolerance(self.tolerance)
        check_curves_parameters(self)

    def curves(self, setting: Setting) -> CurveThompson:
        """How the responses are learned."""
        levels = self.levels or max(2 * setting.arms, min(USUAL_LEVELS, CELLS // setting.arms))
        return CurveThompson(
            self.memory, self.memory_bound, temperature=self.temperature, caution=self.caution, levels=levels
        )

    def grid(self, setting: Setting) -> Grid:
        return self.curves(setting).grid(setting)

    def state(self, setting: Setting) -> FairThompsonState:
        tolerance = setting.tolerance if self.tolerance is None else self.tolerance
        if tolerance is None:
            raise MissingParameter(f"{self.name} needs tolerance= (how far apart two arms' measures may be, in [0, 1])")
        inner = self.curves(setting).state(setting)
        arms, nodes = inner.value.shape
        fields = fields_that_rise(nodes)
        return FairThompsonState(
            curves=inner,
            settings=record(SETTINGS, tolerance=tolerance),
            now=record(NOW, tolerance=tolerance),
            belief=np.array([(0.5, 0.5)], dtype=BELIEF),
            fields=fields,
            evidence=np.zeros(len(fields)),
            booked=np.zeros((1 if self.memory_bound is None else len(inner.tracks), arms, nodes), dtype=BOOKED),
            noise=np.full((arms, nodes), 0.25),
            spread=fresh_spread(arms),
            measures=np.zeros((arms, nodes)),
            lowest=np.zeros((arms, nodes)),
            highest=np.zeros((arms, nodes)),
            trial=np.zeros(arms, dtype=np.int64),
            reach=np.zeros((arms, nodes)),
            allowed=np.zeros((arms, nodes)),
            behind=np.ones(arms),
        )

    def check_state(self, state: FairThompsonState, fresh: FairThompsonState) -> None:
        check_curves(state.curves, fresh.curves)
        require_within("field", state.now["field"], 0, len(state.fields) - 1)
        require_within("fair", state.now["fair"], SURELY, PERHAPS)
        require_within("tolerance", state.now["tolerance"], fresh.settings["tolerance"], 1.0)
        check_belief(state.belief)
        check_scatter(state.noise, state.spread)
        check_booked("booked", state.booked)
        check_evidence("evidence", state.evidence)
        require_within("measures", state.measures, 0.0, 1.0)

    def resized(
        self, state: FairThompsonState, before: Setting, after: Setting, shares: Floats | None
    ) -> FairThompsonState:
        fresh = self.state(after)
        curves = resized_curves(state.curves, fresh.curves, self.grid(after), shares, self.name)
        within = [name for name in arrays_of(fresh) if name.startswith("curves.")]
        resized: FairThompsonState = carry_over(state, fresh._replace(curves=curves), self.name, within)
        scatter_alike(state, resized)
        return resized

    def await_rewards(self, state: FairThompsonState, rounds: int) -> None:
        state.curves.tuning["out"] = rounds

    def stage(self, state: FairThompsonState, t: int) -> str:
        return STAGES.get(int(state.now[0]["fair"]), stage_of(state.curves))

    def explain(self, state: FairThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        grid = self.grid(setting)
        levels = deployed_at(state.curves, grid, setting, allocation)
        reasons = explain_curves(state.curves, grid, levels)
        chosen = [float(state.measures[k, level]) for k, level in enumerate(levels)]
        del reasons["favourite"]  # it does not look at the tolerance
        for arm, measure in zip(reasons["arms"], chosen, strict=True):
            arm["measure"] = measure
        wanted, used = float(state.settings[0]["tolerance"]), float(state.now[0]["tolerance"])
        reasons |= {"tolerance": wanted, "estimated_gap": max(chosen) - min(chosen)}
        if used > wanted:
            reasons["tolerance_seems_unattainable_using"] = used
        return reasons
