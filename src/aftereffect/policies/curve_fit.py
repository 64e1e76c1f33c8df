"""Curves fitted to booked observations: which smoothness, which noise, and draws from what is believed.

Observations are booked at the node nearest to the impact they were made at: `booked` is (2, arms, nodes), how many and their
sum. `cells` is (4, arms, nodes): noise variance of one observation, white noise behind the last draw, the curve last drawn,
and what the oracle makes of it. `fields` lists the smooth fields that the evidence chooses from. `room` is workspace,
(ROOM, nodes).
"""

from __future__ import annotations

import math

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect._random import Words, uniform
from aftereffect.model.curves import Floats
from aftereffect.policies.smooth_field import colour, factorise, posterior, prior_bands, refresh_white, variances

CENTRE, SPREAD = 0.5, 0.5  # before any data a curve lies around one half, give or take one half
STEEPNESS_TRIED = (0.3, 1.0)  # typical slopes of curves from [0, 1] to [0, 1]: gentle, and all of the range
BENDS_TRIED = (0.03, 0.1, 0.3, 1.0)  # over which distance slopes change: from kinks to nearly straight lines
STEEP = (1.0, 0.1)  # the exploring field: as wide as curves on [0, 1] get, without excluding bumps
CLIFF = (3.0, 0.1)  # and one for curves that rise or fall by a third of the range within a tenth of it
LEAST_NOISE = 1e-4  # rewards that were all alike so far still vary a little
OWN_NOISE_FROM = 20.0  # observations from which a node's own spread is trusted against the fitted curve's
MOST_WEIGHT = 1e8  # no mean is known better than to 1e-4: the curve between two nodes is not
MOST_REVIEWED = 20_000  # nodes whose evidence is weighed in one review: it bounds the slowest decision

COUNT, SUM = 0, 1  # rows of `booked`
NOISE, WHITE, DRAWN, VALUE = 0, 1, 2, 3  # rows of `cells`
STEEPNESS, BEND, PRIOR, EVIDENCE = 0, 1, 2, 3  # columns of `fields`
OBSERVED, PULL, CURVE, BANDS = 0, 1, 2, 3  # rows of `room`; bands take three
ROOM = BANDS + 3


def fields_tried(nodes: int) -> Floats:
    """The fields that the evidence chooses from, the exploring ones first: steepness, bend, half log determinant, evidence."""
    pairs = [STEEP, CLIFF, *((v, b) for v in STEEPNESS_TRIED for b in BENDS_TRIED if (v, b) != STEEP)]
    fields, bands = np.zeros((len(pairs), 4)), np.zeros((3, nodes))
    for row, (steepness, bend) in zip(fields, pairs, strict=True):
        prior_bands(steepness, bend, SPREAD, bands)
        row[:3] = steepness, bend, 0.5 * factorise(bands, np.zeros(nodes))
    return fields


def fresh_cells(arms: int, nodes: int) -> Floats:
    """Cells before any data: the noise of a fair coin."""
    cells = np.zeros((4, arms, nodes))
    cells[NOISE] = 0.25
    return cells


@helper
def node_of(impact: float, steps: int) -> int:
    """The node nearest to an impact."""
    return min(steps, int(impact * steps + 0.5))


@helper
def book(booked: Floats, k: int, impact: float, seen: float, reward: float) -> None:
    """Book observations of arm k at an impact."""
    node = node_of(impact, booked.shape[2] - 1)
    booked[COUNT, k, node] += seen
    booked[SUM, k, node] += seen * reward


@helper
def read_observations(count: Floats, total: Floats, noise: Floats, weight: Floats, pull: Floats) -> None:
    """A node's observations as the field takes them: precision, and precision times the mean's distance from the centre."""
    for i in range(count.shape[0]):
        n = count[i]
        weight[i] = min(n / noise[i], MOST_WEIGHT)
        pull[i] = weight[i] * (total[i] / n - CENTRE) if n > 0.0 else 0.0


@helper
def fit_arm(booked: Floats, noise: Floats, k: int, fields: Floats, field: int, room: Floats) -> float:
    """Arm k's posterior under a field: mean into room[CURVE], precision into the bands; gives twice its evidence."""
    read_observations(booked[COUNT, k], booked[SUM, k], noise, room[OBSERVED], room[PULL])
    steepness, bend = fields[field, STEEPNESS], fields[field, BEND]
    return float(posterior(steepness, bend, SPREAD, room[OBSERVED], room[PULL], room[BANDS:], room[CURVE]))


@kernel
def weigh_fields(booked: Floats, cells: Floats, fields: Floats, t: int, room: Floats) -> None:
    """Log evidence of every field, summed over the arms; of very many arms a part stands for all, another each time."""
    arms = cells.shape[1]
    used = min(arms, max(1, MOST_REVIEWED // cells.shape[2]))
    first = t % arms if used < arms else 0
    for j in range(fields.shape[0]):
        evidence = used * fields[j, PRIOR]
        for i in range(used):
            k = (first + i) % arms
            evidence += 0.5 * fit_arm(booked, cells[NOISE, k], k, fields, j, room)
        fields[j, EVIDENCE] = evidence


@kernel
def draw_by_evidence(evidence: Floats, rng: Words) -> int:
    """An index drawn in proportion to exp(evidence)."""
    top, total = -math.inf, 0.0
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    for j in range(evidence.shape[0]):
        total += math.exp(evidence[j] - top)
    mark = uniform(rng) * total
    for j in range(evidence.shape[0]):
        mark -= math.exp(evidence[j] - top)
        if mark < 0.0:
            return j
    return 0


@kernel
def renew_noise(booked: Floats, cells: Floats, fields: Floats, field: int, room: Floats) -> None:
    """Variance of one observation at every node: m (1 - m), with m one standard deviation nearer to one half.

    The guard keeps a few early rewards of one kind from passing for certainty; so does the node's own spread, once known.
    """
    for k in range(cells.shape[1]):
        noise = cells[NOISE, k]
        fit_arm(booked, noise, k, fields, field, room)
        curve, variance = room[CURVE], room[PULL]
        variances(room[BANDS:], variance)
        count, total = booked[COUNT, k], booked[SUM, k]
        for i in range(count.shape[0]):
            off = max(0.0, min(0.5, abs(curve[i])) - math.sqrt(variance[i]))
            spread = 0.25 - off * off
            if count[i] >= OWN_NOISE_FROM:
                mean = (total[i] + 1.0) / (count[i] + 2.0)
                spread = max(spread, mean * (1.0 - mean))
            noise[i] = max(spread, LEAST_NOISE)


@helper
def _response(off_centre: float) -> float:
    return min(1.0, max(0.0, CENTRE + off_centre))  # rewards lie in [0, 1], so curves do


@kernel
def draw_curves(
    booked: Floats,
    cells: Floats,
    fields: Floats,
    field: int,
    size: float,
    kept: float,
    room: Floats,
    rng: Words,
    mean: Floats,
) -> None:
    """A curve for every arm; deviations from the mean are `size` times a posterior sample's, `kept` of them the last draw's."""
    for k in range(cells.shape[1]):
        fit_arm(booked, cells[NOISE, k], k, fields, field, room)
        curve, noise, white, drawn = room[CURVE], room[PULL], cells[WHITE, k], cells[DRAWN, k]
        refresh_white(rng, kept, white)
        colour(room[BANDS:], white, noise)
        for i in range(drawn.shape[0]):
            mean[k, i] = _response(curve[i])
            drawn[i] = _response(curve[i] + size * noise[i])


@kernel
def estimate_curves(booked: Floats, cells: Floats, fields: Floats, field: int, room: Floats, mean: Floats) -> None:
    """The posterior mean of every arm's curve."""
    for k in range(cells.shape[1]):
        fit_arm(booked, cells[NOISE, k], k, fields, field, room)
        for i in range(cells.shape[2]):
            mean[k, i] = _response(room[CURVE, i])


def fitted(booked: Floats, cells: Floats, fields: Floats, field: int) -> tuple[Floats, Floats]:
    """Every arm's curve under a field: posterior mean and standard deviation, node by node."""
    _, arms, nodes = cells.shape
    room, mean, variance = np.zeros((ROOM, nodes)), np.zeros((arms, nodes)), np.zeros((arms, nodes))
    for k in range(arms):
        fit_arm(booked, cells[NOISE, k], k, fields, field, room)
        mean[k] = CENTRE + room[CURVE]
        variances(room[BANDS:], variance[k])
    return mean, np.sqrt(variance)
