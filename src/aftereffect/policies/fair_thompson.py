"""Thompson sampling over curves that keeps fairness measures in parity as it learns them; it needs no multipliers.

Responses are learned and drawn as in `curve-thompson`; the measures pi_k are learned by the same smooth fields, and their
estimates say which cells fit into a band of the tolerance's width. Each decision is the best allocation for the drawn
responses among those whose estimated measures share a band, by the oracle of `fair_optimum`. There is no guarantee: it is
judged by measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect.errors import AftereffectError, MissingParameter
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import check_tolerance
from aftereffect.oracle.bands import best_in_band
from aftereffect.oracle.search import Ints
from aftereffect.policies.base import Grid, Policy, Setting, check_memory, check_positive, check_whole, register
from aftereffect.policies.curve_fit import (
    DRAWN,
    EVIDENCE,
    ROOM,
    VALUE,
    book,
    draw_by_evidence,
    estimate_curves,
    fields_tried,
    fresh_cells,
    renew_noise,
    weigh_fields,
)
from aftereffect.policies.curve_thompson import (
    HOLD_UNTIL,
    MOST_LEVELS,
    CurveThompson,
    CurveThompsonState,
    draw,
    explain_curves,
    review,
)
from aftereffect.policies.grid import deploy_levels
from aftereffect.policies.rules import register_rule
from aftereffect.policies.rules import skip as skip_curves
from aftereffect.policies.rules import tell as tell_curves
from aftereffect.policies.share_values import price_shares

CELLS, USUAL_LEVELS = 400, 200  # bands are compared cell by cell, so a decision costs the square of arms times levels
HALVINGS = 10  # of the interval in which the smallest tolerance lies that the estimates allow: to a thousandth


class FairThompsonState(NamedTuple):
    curves: CurveThompsonState
    tolerance: Floats  # as wanted, and as last used
    field: Ints  # the measures' smoothness in use
    fields: Floats  # as for the responses
    booked: Floats  # (2, arms, N + 1): measures seen, and their sum
    measures: Floats  # (4, arms, N + 1), as for the responses; row DRAWN is the estimate
    trial: Ints
    work: Floats  # (3, arms, N + 1)


@helper
def choose(state: FairThompsonState, tolerance: float) -> float:
    """The best levels for the drawn responses within a tolerance of the estimated measures; -inf: there are none."""
    curves, work = state.curves, state.work
    value, measure, bounds = curves.cells[VALUE], state.measures[DRAWN], curves.bounds
    return best_in_band(
        value,
        measure,
        tolerance,
        bounds[0],
        bounds[1],
        work[0],
        work[1],
        work[2],
        state.trial,
        curves.levels,
        curves.rng,
    )


def ask(state: FairThompsonState, t: int, allocation: Floats) -> None:
    curves, booked, measures = state.curves, state.booked, state.measures
    arms = allocation.shape[0]
    room = curves.work[arms : arms + ROOM]
    if review(curves, t):
        weigh_fields(booked, measures, state.fields, t, room)
        state.field[0] = draw_by_evidence(state.fields[:, EVIDENCE], curves.rng)
        renew_noise(booked, measures, state.fields, state.field[0], room)
    if t >= curves.codes[HOLD_UNTIL]:
        draw(curves, t)
        price_shares(curves.cells[DRAWN], curves.cells[VALUE])
        estimate_curves(booked, measures, state.fields, state.field[0], room, measures[DRAWN])
        state.tolerance[1] = state.tolerance[0]
        if (
            choose(state, state.tolerance[0]) == -np.inf
        ):  # the estimates leave nothing within it: the smallest that does
            low, high = state.tolerance[0], 1.0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                if choose(state, middle) == -np.inf:
                    low = middle
                else:
                    high = middle
            choose(state, high)
            state.tolerance[1] = high
    deploy_levels(curves.levels, curves.cells.shape[2] - 1, allocation)


def tell(state: FairThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tell_curves(state.curves, t, allocation, seen, reward)


def skip(state: FairThompsonState, t: int, allocation: Floats) -> None:
    skip_curves(state.curves, t, allocation)


def note(state: FairThompsonState, t: int, allocation: Floats, measured: Floats) -> None:
    """Book each measure at the impact it was seen at."""
    for k in range(allocation.shape[0]):
        if measured[k] == measured[k]:
            book(state.booked, k, state.curves.impact[0, k], 1.0, measured[k])


register_rule(FairThompsonState, ask, tell, skip, note)


@register
@dataclass(frozen=True)
class FairThompson(Policy):
    """Thompson sampling over curves within a fairness tolerance: learns the measures too and needs no multipliers.

    `tolerance` is how far apart two arms' measures may be (default: the problem's). Shares drive the impact. The other
    parameters are `curve-thompson`'s, with fewer `levels` (default 200 for two arms, for more 400 over the number of arms,
    at least twice that number). Where no allocation seems to meet the tolerance, the smallest that one can is used.
    """

    name: ClassVar[str] = "fair-thompson"
    tolerance: float | None = None
    memory: float | None = None
    temperature: float = CurveThompson.temperature
    exploration: float = CurveThompson.exploration
    levels: int | None = None

    def __post_init__(self) -> None:
        if self.tolerance is not None:
            check_tolerance(self.tolerance)
        check_memory(self, self.memory)
        check_positive(self, temperature=self.temperature, exploration=self.exploration)
        check_whole(self, 1, levels=self.levels)
        if self.levels is not None and self.levels > MOST_LEVELS:
            raise AftereffectError(f"{self.name}: levels must be at most {MOST_LEVELS:,}, got {self.levels:,}")

    def curves(self, setting: Setting) -> CurveThompson:
        """How the responses are learned."""
        levels = self.levels or max(2 * setting.arms, min(USUAL_LEVELS, CELLS // setting.arms))
        return CurveThompson(self.memory, temperature=self.temperature, exploration=self.exploration, levels=levels)

    def grid(self, setting: Setting) -> Grid:
        return self.curves(setting).grid(setting)

    def state(self, setting: Setting) -> FairThompsonState:
        tolerance = setting.tolerance if self.tolerance is None else self.tolerance
        if tolerance is None:
            raise MissingParameter(f"{self.name} needs tolerance= (how far apart two arms' measures may be, in [0, 1])")
        inner = self.curves(setting).state(setting)
        shape = inner.cells.shape[1:]
        return FairThompsonState(
            curves=inner,
            tolerance=np.array([float(tolerance)] * 2),
            field=np.zeros(1, dtype=np.int64),
            fields=fields_tried(shape[1]),
            booked=np.zeros((2, *shape)),
            measures=fresh_cells(*shape),
            trial=np.zeros(setting.arms, dtype=np.int64),
            work=np.zeros((3, *shape)),
        )

    def explain(self, state: FairThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        reasons = explain_curves(state.curves, self.grid(setting))
        levels = state.curves.levels
        chosen = [float(state.measures[DRAWN, k, level]) for k, level in enumerate(levels)]
        del reasons["favourite"]  # it does not look at the tolerance
        for arm, measure in zip(reasons["arms"], chosen, strict=True):
            arm["measure"] = measure
        reasons |= {"tolerance": float(state.tolerance[0]), "estimated_gap": max(chosen) - min(chosen)}
        if state.tolerance[1] > state.tolerance[0]:
            reasons["tolerance_seems_unattainable_using"] = float(state.tolerance[1])
        return reasons
