"""What arms have in common: whether responses rise or fall with the share, and how steeply.

Where shares hardly vary, one arm's records seldom tell the slope of its curve, and the slope decides: where responses fall,
giving all to the arm with the highest level is the worst advice, where they rise it is nearly the best. All arms' records
together often tell. So beside its level and its field every curve has a trend, a straight line through today's share whose slope
is so many times the arm's rate: that of all arms plus a part of the arm's own, both unknown. Given a track and a field
everything is Gaussian still: with s the line of slope one, w the weights and y the means booked, a fit's residual w (y - fitted)
is what a regression on s needs, and s less the fit to s itself is what a slope adds to the curve at every share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from aftereffect.model.curves import Floats, Records
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.estimates import KEPT, Component, curves_under, gone_on, posterior_of
from aftereffect.policies.curves.fit import MISFIT
from aftereffect.policies.curves.state import CurvesState
from aftereffect.policies.curves.tracks import TEMPERED

SHARED = 0.7  # deviation of the slope that all arms have, in the arm's rate for a whole share
OWN = 0.2  # of an arm's own part of it
BEND = 0.35  # of the slope by which a curve may go on differently beyond where it was seen


class Leaning(NamedTuple):
    """A component with the arms' trends in it."""

    curves: Component
    shared: Floats  # (arms, N + 1): what one deviation of the slope that all arms have adds to each curve


class Booked(NamedTuple):
    """What a fit reads of a track, and the line of slope one as if it had been seen there."""

    weight: Floats  # (arms, N + 1)
    seen: Floats
    as_if: Records  # a bank
    line: Floats


def leanings(state: CurvesState, reference: Ints) -> list[Leaning]:
    """All tracks and fields that the evidence leaves in, trends included, the heaviest first."""
    given = state.now["learns_memory"][0] == 0
    tracks = [int(state.now["track"][0])] if given else range(len(state.tracks))
    line = unit_lines(state, reference)
    found = [
        _leaning(state, reference, booked, track, field)
        for track in tracks
        for booked in [booked_of(state, track, line)]
        for field in range(len(state.fields))
    ]
    evidence = TEMPERED * np.array([part.curves.weight for part in found])
    weights = np.exp(evidence - evidence.max())
    weights[weights < KEPT] = 0.0
    weights /= weights.sum()
    order = [i for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
    return [found[i]._replace(curves=found[i].curves._replace(weight=float(weights[i]))) for i in order]


def unit_lines(state: CurvesState, reference: Ints) -> Floats:
    """(arms, N + 1): each arm's line of slope one, through zero at the reference level; its unit is the arm's rate."""
    bank, nodes = state.banks[0], state.value.shape[1]
    precision, pulled = bank["precision"].sum(axis=1), bank["pulled"].sum(axis=1)
    rate = np.where(precision > 0, pulled / np.where(precision > 0, precision, 1.0), state.belief["rate"][0])
    return np.asarray(rate[:, None] * (np.arange(nodes) - reference[:, None]) / (nodes - 1))


def booked_of(state: CurvesState, track: int, line: Floats) -> Booked:
    """A track's weights and means as `fit_arm` reads them, and its bank with the line in the place of the means."""
    bank = state.banks[track]
    booked = bank["weight"]
    weight = booked / (state.spread["dispersion"][:, None] + booked * MISFIT)
    seen = np.divide(bank["pull"], booked, out=np.zeros_like(weight), where=booked > 0)
    as_if = bank.copy()
    as_if["pull"] = booked * (state.belief["rate"][0] + line)
    return Booked(weight, seen, as_if, line)


def _leaning(state: CurvesState, reference: Ints, booked: Booked, track: int, field: int) -> Leaning:
    """One track and field; its weight is still the log of the evidence."""
    arms = np.arange(len(reference))
    mean, variance, column = curves_under(state, track, field, reference)
    lift = booked.line - (posterior_of(state, booked.as_if, field).mean - state.belief["rate"][0])
    told = (booked.weight * booked.line * lift).sum(axis=1)
    pull = (booked.weight * booked.line * (booked.seen - mean)).sum(axis=1)
    slopes = learned_slopes(told, pull)
    mean = (mean + slopes.mean[:, None] * lift).clip(0.0, 1.0)
    shared, own = slopes.shared[:, None] * lift, slopes.own[:, None] * lift
    for off in (shared, own, *gone_on(state.banks[track], mean, BEND)):
        variance += off**2
        column += off * off[arms, reference][:, None]
    evidence = float(state.evidence[track, field]) + slopes.evidence
    return Leaning(Component(evidence, track, field, mean, variance, column), shared)


class Slopes(NamedTuple):
    """The arms' slopes: the mean, plus `shared` times a normal variable of all arms, plus `own` times one of each arm."""

    mean: Floats
    shared: Floats
    own: Floats
    evidence: float  # log of how much likelier the data are than without slopes


def learned_slopes(told: Floats, pull: Floats) -> Slopes:
    """A regression whose coefficients have a part in common, from each arm's precision and that times what it says."""
    follow = 1.0 / (1.0 + OWN**2 * told)  # how far an arm's slope goes where that of all arms goes
    variance = 1.0 / (1.0 / SHARED**2 + follow @ told)
    common = variance * (follow @ pull)
    own = OWN**2 * follow
    evidence = 0.5 * (
        own @ pull**2 + variance * (follow @ pull) ** 2 + np.log(follow).sum() + math.log(variance / SHARED**2)
    )
    return Slopes(follow * common + own * pull, follow * math.sqrt(variance), np.sqrt(own), float(evidence))
