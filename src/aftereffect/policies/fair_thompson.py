"""Learning curves that keeps fairness measures in parity as it learns them; it needs no multipliers.

Responses are learned as in `curve-thompson`; the measures pi_k are learned by the same smooth fields, and their estimates say
which cells fit into a band of the tolerance's width. Home, and every target of a trial, is the best allocation among those whose
estimated measures share a band, by the oracle of `fair_optimum`; what a trial is worth is judged as there. There is no
guarantee: it is judged by measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.errors import AftereffectError, MissingParameter
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import check_tolerance
from aftereffect.oracle.bands import best_in_band
from aftereffect.oracle.search import Ints
from aftereffect.policies.base import Grid, Policy, Setting, check_memory, check_positive, check_whole, register
from aftereffect.policies.curve_thompson import (
    MOST_LEVELS,
    CurveThompson,
    check_curves,
    drop_unread,
    explain_curves,
    resized_curves,
)
from aftereffect.policies.curves.decision import (
    SEARCHING,
    TRYING,
    CurvesState,
    cautious_values,
    draw_steep,
    look,
    patience,
    review,
    settle,
    stay,
    try_target,
)
from aftereffect.policies.curves.fit import (
    BELIEF,
    BOOKED,
    DISPERSION,
    MEAN,
    SHOCK,
    VARIANCE,
    Records,
    as_response,
    book,
    draw_by_evidence,
    draw_curves,
    fields_tried,
    fit_all,
    node_of,
    renew_noise,
    renew_scale,
)
from aftereffect.policies.curves.forgetting import trusted
from aftereffect.policies.curves.tracks import weigh_models
from aftereffect.policies.curves.values import price_shares
from aftereffect.policies.grid import deploy_levels
from aftereffect.policies.rules import register_rule
from aftereffect.policies.rules import skip as skip_curves
from aftereffect.policies.rules import tell as tell_curves
from aftereffect.policies.sense import require_sense
from aftereffect.policies.state_files import arrays_of, carry_over

CELLS, USUAL_LEVELS = 400, 200  # bands are compared cell by cell, so a decision costs the square of arms times levels
DISTRUST = 1.5  # reward that a deviation of a measure's estimate costs
HALVINGS = 10  # of the interval in which the smallest tolerance lies that the estimates allow: to a thousandth


class FairThompsonState(NamedTuple):
    curves: CurvesState
    tolerance: Floats  # as wanted, and as last used
    field: Ints  # the measures' smoothness in use
    belief: Records  # of the measures, as for the responses
    fields: Records
    evidence: Floats  # (1, fields)
    booked: Floats  # (1, BOOKED, arms, N + 1): measures seen
    noise: Floats
    spread: Floats
    measures: Floats  # (arms, N + 1): estimates at the last decision
    # workspace
    doubts: Floats  # their deviations
    trial: Ints
    work: Floats  # (3, arms, N + 1)


@kernel
def choose(state: FairThompsonState, tolerance: float, levels: Ints) -> float:
    """The best levels for the present values within a tolerance of the estimated measures; -inf: there are none."""
    curves, work, bounds = state.curves, state.work, state.curves.bounds
    return float(
        best_in_band(
            curves.value,
            state.measures,
            tolerance,
            bounds[0],
            bounds[1],
            work[0],
            work[1],
            work[2],
            state.trial,
            levels,
            curves.rng,
        )
    )


@kernel
def choose_fair(state: FairThompsonState, levels: Ints) -> None:
    """The best levels within the tolerance; if the estimates leave none, within the smallest that does."""
    state.tolerance[1] = state.tolerance[0]
    if choose(state, state.tolerance[0], levels) > -np.inf:
        return
    low, high = state.tolerance[0], 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if choose(state, middle, levels) == -np.inf:
            low = middle
        else:
            high = middle
    choose(state, high, levels)
    state.tolerance[1] = high


@kernel
def fit_measures(state: FairThompsonState) -> None:
    """Every arm's measure under the field in use, into the curves' workspace."""
    curves = state.curves
    field, belief = state.fields[state.field[0]], state.belief[0]
    fit_all(state.booked[0], state.spread, field, belief, curves.posterior, curves.sure, curves.room)


@kernel
def review_measures(state: FairThompsonState, t: int) -> None:
    """Learn the measures' smoothness and noise anew."""
    curves, belief = state.curves, state.belief[0]
    renew_scale(state.booked[0], belief)
    weigh_models(state.booked, state.spread, state.fields, belief, t, curves.posterior[0], curves.room, state.evidence)
    state.field[0] = draw_by_evidence(state.evidence[0], curves.rng)
    fit_measures(state)
    renew_noise(state.booked[0], curves.posterior, state.noise, state.spread, False)


@kernel
def distrust(state: FairThompsonState) -> None:
    """Charge every level with what is not known of its measure: an allocation that only seems fair is a risk too."""
    value, doubts = state.curves.value, state.doubts
    for k in range(value.shape[0]):
        for i in range(value.shape[1]):
            value[k, i] -= DISTRUST * doubts[k, i]


@kernel
def decide_fairly(state: FairThompsonState, t: int) -> None:
    """As `decide`, among the allocations whose estimated measures fit into the tolerance."""
    curves, measures = state.curves, state.measures
    tuning = curves.tuning[0]
    fit_measures(state)
    for k in range(measures.shape[0]):
        for i in range(measures.shape[1]):
            measures[k, i] = as_response(curves.posterior[k, MEAN, i])
            state.doubts[k, i] = math.sqrt(curves.posterior[k, VARIANCE, i])
    look(curves, t)
    rounds = t * trusted(curves.powers, curves.now[0].age)
    cautious_values(curves, rounds)
    distrust(state)
    choose_fair(state, curves.target)
    moved = settle(curves.home, curves.target)
    stay(curves, t, rounds, moved)
    if moved:
        return
    draw_curves(curves.posterior, curves.sure, tuning.temperature, tuning.kept, curves.white, curves.rng, curves.drawn)
    price_shares(curves.drawn, curves.value)
    distrust(state)
    choose_fair(state, curves.target)
    most = try_target(curves, t, rounds, TRYING, 1.0, 0.0)
    draw_steep(curves, 0.0)
    price_shares(curves.drawn, curves.value)
    distrust(state)
    choose_fair(state, curves.target)
    doubt = tuning.doubt + patience(curves, rounds) * (tuning.late_doubt - tuning.doubt)
    try_target(curves, t, rounds, SEARCHING, doubt, most)


def ask(state: FairThompsonState, t: int, allocation: Floats) -> None:
    curves = state.curves
    if review(curves, t):
        review_measures(state, t)
    if t >= curves.now[0].hold_until:
        decide_fairly(state, t)
    deploy_levels(curves.levels, curves.value.shape[1] - 1, allocation)


def tell(state: FairThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tell_curves(state.curves, t, allocation, seen, reward)


def skip(state: FairThompsonState, t: int, allocation: Floats) -> None:
    skip_curves(state.curves, t, allocation)


@helper
def book_measure(state: FairThompsonState, k: int, measure: float) -> None:
    impact = state.curves.impact[0, k]
    noise = state.noise[k, node_of(impact, state.noise.shape[1] - 1)]
    book(state.booked[0], k, impact, 1.0, measure, noise, state.spread[SHOCK, k])


def note(state: FairThompsonState, t: int, allocation: Floats, measured: Floats) -> None:
    """Book each measure at the impact it was seen at."""
    for k in range(allocation.shape[0]):
        if measured[k] == measured[k]:
            book_measure(state, k, measured[k])


register_rule(
    FairThompsonState,
    ask,
    tell,
    skip,
    note,
    scratch=("doubts", "trial", "work"),
    version=2,
    migrations={1: drop_unread},
)


@register
@dataclass(frozen=True)
class FairThompson(Policy):
    """Learns whole response curves within a fairness tolerance: learns the measures too and needs no multipliers.

    `tolerance` is how far apart two arms' measures may be (default: the problem's). Shares drive the impact. The other
    parameters are `curve-thompson`'s, with fewer `levels` (default 200 for two arms, for more 400 over the number of arms,
    at least twice that number). Where no allocation seems to meet the tolerance, the smallest that one can is used.

    >>> FairThompson(tolerance=0.1, memory=0.4).start(arms=2, seed=1).ask().tolist()
    [0.5, 0.5]
    """

    name: ClassVar[str] = "fair-thompson"
    look: ClassVar[tuple[str, str] | None] = ("#CC79A7", "*")
    tolerance: float | None = None
    memory: float | None = None
    temperature: float = CurveThompson.temperature
    caution: float = CurveThompson.caution
    levels: int | None = None

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(tolerance=0.1)]

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            check_tolerance(self.tolerance)
        check_memory(self, self.memory)
        check_positive(self, temperature=self.temperature, caution=self.caution)
        check_whole(self, 1, levels=self.levels)
        if self.levels is not None and self.levels > MOST_LEVELS:
            raise AftereffectError(f"{self.name}: levels must be at most {MOST_LEVELS:,}, got {self.levels:,}")

    def curves(self, setting: Setting) -> CurveThompson:
        """How the responses are learned."""
        levels = self.levels or max(2 * setting.arms, min(USUAL_LEVELS, CELLS // setting.arms))
        return CurveThompson(self.memory, temperature=self.temperature, caution=self.caution, levels=levels)

    def grid(self, setting: Setting) -> Grid:
        return self.curves(setting).grid(setting)

    def state(self, setting: Setting) -> FairThompsonState:
        tolerance = setting.tolerance if self.tolerance is None else self.tolerance
        if tolerance is None:
            raise MissingParameter(f"{self.name} needs tolerance= (how far apart two arms' measures may be, in [0, 1])")
        inner = self.curves(setting).state(setting)
        arms, nodes = inner.value.shape
        fields = fields_tried(nodes)
        return FairThompsonState(
            curves=inner,
            tolerance=np.array([float(tolerance)] * 2),
            field=np.zeros(1, dtype=np.int64),
            belief=np.array([(0.5, 0.5)], dtype=BELIEF),
            fields=fields,
            evidence=np.zeros((1, len(fields))),
            booked=np.zeros((1, BOOKED, arms, nodes)),
            noise=np.full((arms, nodes), 0.25),
            spread=np.stack([np.ones(arms), np.zeros(arms)]),
            measures=np.zeros((arms, nodes)),
            doubts=np.zeros((arms, nodes)),
            trial=np.zeros(arms, dtype=np.int64),
            work=np.zeros((3, arms, nodes)),
        )

    def check_state(self, state: FairThompsonState, fresh: FairThompsonState) -> None:
        check_curves(state.curves, fresh.curves)
        require_sense("field", 0 <= state.field[0] < len(state.fields), state.field)
        require_sense("fields", bool(np.all(state.fields == fresh.fields)), state.field)
        require_sense("tolerance", bool(np.all((state.tolerance >= 0) & (state.tolerance <= 1))), state.tolerance)
        belief = np.stack([state.belief["rate"], state.belief["scale"]])
        require_sense("belief", bool(np.all((belief > 0) & (belief < 1))), belief)
        require_sense("noise", bool(np.all(state.noise > 0) and np.all(state.spread[DISPERSION] > 0)), state.spread)
        require_sense("booked", bool(np.all(state.booked >= 0)), np.zeros(0))

    def resized(
        self, state: FairThompsonState, before: Setting, after: Setting, shares: Floats | None
    ) -> FairThompsonState:
        fresh, arms = self.state(after), len(state.spread[0])
        curves = resized_curves(state.curves, fresh.curves, self.grid(after), shares, self.name)
        within = [name for name in arrays_of(fresh) if name.startswith("curves.")]
        resized: FairThompsonState = carry_over(state, fresh._replace(curves=curves), self.name, within)
        resized.noise[arms:] = state.noise.mean(axis=0)
        resized.spread[:, arms:] = state.spread.mean(axis=1, keepdims=True)
        return resized

    def explain(self, state: FairThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        reasons = explain_curves(state.curves, self.grid(setting))
        levels = state.curves.levels
        chosen = [float(state.measures[k, level]) for k, level in enumerate(levels)]
        del reasons["favourite"]  # it does not look at the tolerance
        for arm, measure in zip(reasons["arms"], chosen, strict=True):
            arm["measure"] = measure
        reasons |= {"tolerance": float(state.tolerance[0]), "estimated_gap": max(chosen) - min(chosen)}
        if state.tolerance[1] > state.tolerance[0]:
            reasons["tolerance_seems_unattainable_using"] = float(state.tolerance[1])
        return reasons
