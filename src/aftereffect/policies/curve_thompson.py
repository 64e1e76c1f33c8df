"""Thompson sampling over whole response curves, for a known memory.

With the memory known, so is each arm's impact f_k(t): every observation, also one made while the impact still moves, is a
sample of r_k at f_k(t). Per arm the curve r_k has a smooth Gaussian field as its prior (`smooth_field`); how steep and how
bent curves are is learned from the evidence of all arms together. Now and then a curve is drawn for every arm, and the
allocation that is best for the drawn curves is held for a few rounds. Two things are not textbook Thompson sampling. Drawn
deviations are shrunk (`temperature`), for a full posterior sample of a whole curve explores more than one decision needs.
And a share `exploration`/t of the decisions draws at full size from a field of steep curves instead, so that a belief in
smooth or flat curves, formed where the policy happened to look, cannot keep it from looking elsewhere.

Nothing here uses the horizon. There is no regret bound for this policy: it is judged by measurement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words, uniform
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, best_plain
from aftereffect.policies.base import (
    Grid,
    Policy,
    Setting,
    check_memory,
    check_positive,
    check_whole,
    need_memory,
    register,
)
from aftereffect.policies.grid import deploy_levels, level_of, make_grid
from aftereffect.policies.rules import register_rule
from aftereffect.policies.smooth_field import colour, factorise, posterior, prior_bands, refresh_white, variances

LEVELS = 400  # a kink missed by half a level of slope one costs 1/800 a round: less than is learned in 1e5 rounds
MOST_LEVELS = 2000  # precisions grow with the cube of the levels; beyond this the factorisation runs out of digits
CENTRE, SPREAD = 0.5, 0.5  # before any data a curve lies around one half, give or take one half
STEEPNESS_TRIED = (0.3, 1.0)  # typical slopes of curves from [0, 1] to [0, 1]: gentle, and all of the range
BENDS_TRIED = (0.03, 0.1, 0.3, 1.0, 3.0)  # over which distance slopes change: from kinks to straight lines
STEEP = (1.0, 0.1)  # the exploring field: as wide as curves on [0, 1] get, without excluding bumps
LEAST_NOISE = 1e-4  # rewards that were all alike so far still vary a little
OWN_NOISE_FROM = 20.0  # observations from which a node's own spread is trusted against the fitted curve's
MOST_WEIGHT = 1e8  # no mean is known better than to 1e-4: the curve between two nodes is not
HOLD, HOLD_GROWTH = 5.0, 3e-4  # rounds an allocation is held, and the share of the past it grows to: bounds the cost
REVIEW = 0.1  # growth of t after which smoothness and noise are learned anew
KEPT = 0.9  # share of the drawn deviation kept from one decision to the next: fewer changes, the same spread

COUNT, SUM, NOISE, WHITE, VALUE = 0, 1, 2, 3, 4  # rows of `cells`
HOLD_UNTIL, REVIEW_AT, FIELD, EXPLORING = 0, 1, 2, 3  # entries of `codes`
MEMORY, TEMPERATURE, EXPLORATION, WEIGHT = 0, 1, 2, 3  # entries of `settings`; the last is the impact's Z, which moves
STEEPNESS, BEND, PRIOR, EVIDENCE = 0, 1, 2, 3  # columns of `fields`
OBSERVED, PULL, CURVE, BANDS = 0, 1, 2, 3  # rows of `work` behind the oracle's; bands take three


class CurveThompsonState(NamedTuple):
    rng: Words
    codes: Ints  # hold until, review at, field in use, exploring or not
    settings: Floats  # memory, temperature, exploration, weight of the past
    fields: Floats  # (fields, 4): steepness, bend, the prior's half log determinant, log evidence; the first is STEEP
    bounds: Ints
    levels: Ints
    impact: Floats
    cells: Floats  # (5, arms, N + 1): observations, reward sums, noise variance, white noise, share times drawn curve
    work: Floats  # (arms + 6, N + 1)


@helper
def read_observations(count: Floats, total: Floats, noise: Floats, weight: Floats, pull: Floats) -> None:
    """A node's observations as the field takes them: precision, and precision times the mean's distance from the centre."""
    for i in range(count.shape[0]):
        n = count[i]
        weight[i] = min(n / noise[i], MOST_WEIGHT)
        pull[i] = weight[i] * (total[i] / n - CENTRE) if n > 0.0 else 0.0


@helper
def fit_arm(cells: Floats, k: int, fields: Floats, field: int, room: Floats) -> float:
    """Arm k's posterior under a field: mean into room[CURVE], precision into the bands; gives twice its evidence."""
    read_observations(cells[COUNT, k], cells[SUM, k], cells[NOISE, k], room[OBSERVED], room[PULL])
    steepness, bend = fields[field, STEEPNESS], fields[field, BEND]
    return float(posterior(steepness, bend, SPREAD, room[OBSERVED], room[PULL], room[BANDS:], room[CURVE]))


@kernel
def weigh_fields(cells: Floats, fields: Floats, room: Floats) -> None:
    """Log evidence of every field, summed over the arms."""
    arms = cells.shape[1]
    for j in range(fields.shape[0]):
        evidence = arms * fields[j, PRIOR]
        for k in range(arms):
            evidence += 0.5 * fit_arm(cells, k, fields, j, room)
        fields[j, EVIDENCE] = evidence


@kernel
def draw_field(fields: Floats, rng: Words) -> int:
    """A field drawn in proportion to its evidence."""
    top, total = -math.inf, 0.0
    for j in range(fields.shape[0]):
        top = max(top, fields[j, EVIDENCE])
    for j in range(fields.shape[0]):
        total += math.exp(fields[j, EVIDENCE] - top)
    mark = uniform(rng) * total
    for j in range(fields.shape[0]):
        mark -= math.exp(fields[j, EVIDENCE] - top)
        if mark < 0.0:
            return j
    return 0


@kernel
def renew_noise(cells: Floats, fields: Floats, field: int, room: Floats) -> None:
    """Variance of one observation at every node: m (1 - m), with m one standard deviation nearer to one half.

    The guard keeps a few early rewards of one kind from passing for certainty; so does the node's own spread, once known.
    """
    for k in range(cells.shape[1]):
        fit_arm(cells, k, fields, field, room)
        curve, variance = room[CURVE], room[PULL]
        variances(room[BANDS:], variance)
        count, total, noise = cells[COUNT, k], cells[SUM, k], cells[NOISE, k]
        for i in range(count.shape[0]):
            off = max(0.0, min(0.5, abs(curve[i])) - math.sqrt(variance[i]))
            spread = 0.25 - off * off
            if count[i] >= OWN_NOISE_FROM:
                mean = (total[i] + 1.0) / (count[i] + 2.0)
                spread = max(spread, mean * (1.0 - mean))
            noise[i] = max(spread, LEAST_NOISE)


@kernel
def draw_curves(cells: Floats, fields: Floats, field: int, size: float, room: Floats, rng: Words) -> None:
    """Share times a drawn curve for every cell; deviations from the mean are `size` times a posterior sample's."""
    steps = cells.shape[2] - 1
    for k in range(cells.shape[1]):
        fit_arm(cells, k, fields, field, room)
        curve, noise, white, value = room[CURVE], room[PULL], cells[WHITE, k], cells[VALUE, k]
        refresh_white(rng, KEPT, white)
        colour(room[BANDS:], white, noise)
        for i in range(steps + 1):
            drawn = CENTRE + curve[i] + size * noise[i]
            value[i] = (i / steps) * min(1.0, max(0.0, drawn))  # rewards lie in [0, 1], so curves do


@helper
def review(state: CurveThompsonState, t: int) -> bool:
    """Learn smoothness and noise anew, if it is time to; tells whether it was."""
    codes, fields, cells = state.codes, state.fields, state.cells
    if t < codes[REVIEW_AT]:
        return False
    room = state.work[cells.shape[1] :]
    weigh_fields(cells, fields, room)
    codes[FIELD] = draw_field(fields, state.rng)
    renew_noise(cells, fields, codes[FIELD], room)
    codes[REVIEW_AT] = t + 1 + int(REVIEW * t)
    return True


@helper
def draw(state: CurveThompsonState, t: int) -> None:
    """Draw curves for a decision in round t, into cells[VALUE], and say how long it is held."""
    codes, settings = state.codes, state.settings
    exploring = uniform(state.rng) * t < settings[EXPLORATION]
    codes[EXPLORING] = 1 if exploring else 0
    field, size = (0, 1.0) if exploring else (codes[FIELD], settings[TEMPERATURE])
    draw_curves(state.cells, state.fields, field, size, state.work[state.cells.shape[1] :], state.rng)
    codes[HOLD_UNTIL] = t + int(max(HOLD, HOLD_GROWTH * t))


def ask(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    review(state, t)
    if t >= state.codes[HOLD_UNTIL]:
        draw(state, t)
        room = state.work[: allocation.shape[0]]
        best_plain(state.cells[VALUE], state.bounds[0], state.bounds[1], room, state.levels, state.rng)
    deploy_levels(state.levels, state.cells.shape[2] - 1, allocation)


@helper
def follow_impact(settings: Floats, impact: Floats, allocation: Floats) -> None:
    """Equation (2) as a recursion: Z = 1 + memory Z, f = f + (p - f) / Z."""
    settings[WEIGHT] = 1.0 + settings[MEMORY] * settings[WEIGHT]
    step = 1.0 / settings[WEIGHT]
    for k in range(allocation.shape[0]):
        impact[k] += (allocation[k] - impact[k]) * step


def tell(state: CurveThompsonState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    cells, impact = state.cells, state.impact
    steps = cells.shape[2] - 1
    follow_impact(state.settings, impact, allocation)
    for k in range(allocation.shape[0]):
        if seen[k] > 0.0:
            node = min(steps, level_of(impact[k], steps))
            cells[COUNT, k, node] += seen[k]
            cells[SUM, k, node] += seen[k] * reward[k]


def skip(state: CurveThompsonState, t: int, allocation: Floats) -> None:
    follow_impact(state.settings, state.impact, allocation)


register_rule(CurveThompsonState, ask, tell, skip)


@register
@dataclass(frozen=True)
class CurveThompson(Policy):
    """Thompson sampling over smooth response curves at the known impact: the fastest learner here, without a guarantee.

    `memory` must be known. `temperature` is how much of the curves' uncertainty is played on once exploration is over (0.35;
    near zero it believes its estimates, at one it samples the posterior). `exploration` is how many rounds it explores at the
    start; from then on a share exploration/t of its decisions. `levels` is how fine shares are (default 400).
    """

    name: ClassVar[str] = "curve-thompson"
    memory: float | None = None
    temperature: float = 0.35
    exploration: float = 500.0
    levels: int | None = None

    def __post_init__(self) -> None:
        check_memory(self, self.memory)
        check_positive(self, temperature=self.temperature, exploration=self.exploration)
        check_whole(self, 1, levels=self.levels)
        if self.levels is not None and self.levels > MOST_LEVELS:
            raise AftereffectError(f"{self.name}: levels must be at most {MOST_LEVELS:,}, got {self.levels:,}")

    def grid(self, setting: Setting) -> Grid:
        levels = min(MOST_LEVELS, max(LEVELS, 2 * setting.arms)) if self.levels is None else self.levels
        return make_grid(self, setting, levels, True, None)

    def state(self, setting: Setting) -> CurveThompsonState:
        memory, grid, arms = need_memory(self, self.memory, setting), self.grid(setting), setting.arms
        nodes = grid.levels + 1
        cells = np.zeros((5, arms, nodes))
        cells[NOISE] = 0.25
        return CurveThompsonState(
            rng=setting.rng.copy(),
            codes=np.zeros(4, dtype=np.int64),
            settings=np.array([memory, self.temperature, self.exploration, 0.0]),
            fields=fields_tried(nodes),
            bounds=np.stack([grid.low, grid.high]),
            levels=np.zeros(arms, dtype=np.int64),
            impact=np.zeros(arms),
            cells=cells,
            work=np.zeros((arms + BANDS + 3, nodes)),
        )

    def explain(self, state: CurveThompsonState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return explain_curves(state, self.grid(setting))


def explain_curves(state: CurveThompsonState, grid: Grid) -> dict[str, Any]:
    """What the curves look like where the allocation is, and which allocation the estimates favour."""
    field = int(state.codes[FIELD])
    mean, deviation = fitted(state)
    value = np.linspace(0.0, 1.0, grid.levels + 1) * mean.clip(0.0, 1.0)
    favourite = np.zeros(len(state.levels), dtype=np.int64)
    expected = best_plain(value, grid.low, grid.high, np.zeros(value.shape), favourite, np.zeros(0, dtype=np.uint64))
    return {
        "stage": "exploring" if state.codes[EXPLORING] else "using",
        "held_until_round": int(state.codes[HOLD_UNTIL]) - 1,
        "expected": float(sum(value[k, level] for k, level in enumerate(state.levels))),
        "favourite": {"allocation": (favourite / grid.levels).tolist(), "expected": float(expected)},
        "smoothness": {
            "steepness": float(state.fields[field, STEEPNESS]),
            "bend": float(state.fields[field, BEND]),
        },
        "arms": [
            {
                "level": int(level),
                "share": level / grid.levels,
                "impact": float(state.impact[k]),
                "estimate": float(mean[k, level]),
                "deviation": float(deviation[k, level]),
                "drawn": float(state.cells[VALUE, k, level] * grid.levels / level) if level else None,
                "observations": float(state.cells[COUNT, k].sum()),
                "observations_here": float(state.cells[COUNT, k, level]),
            }
            for k, level in enumerate(state.levels.tolist())
        ],
    }


def fields_tried(nodes: int) -> Floats:
    """The fields that the evidence chooses from, the exploring one first."""
    pairs = [STEEP, *((v, b) for v in STEEPNESS_TRIED for b in BENDS_TRIED if (v, b) != STEEP)]
    fields, bands = np.zeros((len(pairs), 4)), np.zeros((3, nodes))
    for row, (steepness, bend) in zip(fields, pairs, strict=True):
        prior_bands(steepness, bend, SPREAD, bands)
        row[:3] = steepness, bend, 0.5 * factorise(bands, np.zeros(nodes))
    return fields


def fitted(state: CurveThompsonState) -> tuple[Floats, Floats]:
    """Every arm's curve under the field in use: posterior mean and standard deviation, node by node."""
    _, arms, nodes = state.cells.shape
    room, mean, variance = np.zeros((BANDS + 3, nodes)), np.zeros((arms, nodes)), np.zeros((arms, nodes))
    for k in range(arms):
        fit_arm(state.cells, k, state.fields, int(state.codes[FIELD]), room)
        mean[k] = CENTRE + room[CURVE]
        variances(room[BANDS:], variance[k])
    return mean, np.sqrt(variance)
