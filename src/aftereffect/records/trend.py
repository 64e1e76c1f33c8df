"""What arms have in common: whether responses rise or fall with the share, and how steeply.

Where shares hardly vary, one arm's records seldom tell the slope of its curve, and the slope decides: where responses fall,
giving all to the arm with the highest level is the worst advice, where they rise it is nearly the best. All arms' records
together often tell. So beside its level and its field every curve has a trend, a straight line through today's share whose slope
is so many times the arm's rate: that of all arms plus a part of the arm's own, both unknown. Given a track and a field
everything is Gaussian still: with s the line of slope one, w the weights and y the means booked, a fit's residual w (y - fitted)
is what a regression on s needs, and s less the fit to s itself is what a slope adds to the curve at every share.

That a curve runs on as it was seen would be believed too easily: a response that is high and rises may be near its peak, and
inside a narrow range no record says so. So half of what sets a curve apart from the typical rate counts as local (see `local`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import kernel
from aftereffect.model.curves import Floats, Records
from aftereffect.oracle.search import Ints
from aftereffect.policies.curve_thompson import CurveThompson
from aftereffect.policies.curves.estimates import KEPT, Curves, at_levels, curves_under, gone_on, outside
from aftereffect.policies.curves.fit import MISFIT, OWN, SHARED, Posterior, empty_posterior, fit_arm
from aftereffect.policies.curves.state import CurvesState
from aftereffect.policies.curves.tracks import TEMPERED

BEND = 0.2  # of the slope by which a curve may go on differently beyond where it was seen
LOCAL = 0.3  # share beyond it over which what is local of a curve is forgotten


@dataclass(frozen=True)
class PlainCurves(CurveThompson):
    """The policy as it reads records: none of its fields leans, for the slopes are learned here, whose doubt arms share."""

    leaning: ClassVar[bool] = False


class Leanings(NamedTuple):
    """Components with the arms' trends in them."""

    curves: Curves
    shared: Floats  # (components, arms, N + 1): what one deviation of the slope that all arms have adds to each curve


class Booked(NamedTuple):
    """What a fit reads of every track, and the line of slope one as if it had been seen there."""

    weight: Floats  # (tracks, arms, N + 1)
    seen: Floats
    as_if: Records  # banks
    line: Floats  # (arms, N + 1)


def leanings(state: CurvesState, reference: Ints) -> Leanings:
    """All tracks and fields that the evidence leaves in, trends included, the heaviest first."""
    given = state.now["learns_memory"][0] == 0
    tracks = state.now["track"] if given else np.arange(len(state.tracks))
    track, field = np.repeat(tracks, len(state.fields)), np.tile(np.arange(len(state.fields)), len(tracks))
    booked = booked_of(state, unit_lines(state, reference))
    mean, variance, column = curves_under(state, track, field, reference)
    lift = lifts(state, booked, track, field)
    weight = booked.weight[track] * booked.line
    slopes = learned_slopes((weight * lift).sum(axis=-1), (weight * (booked.seen[track] - mean)).sum(axis=-1))

    evidence = TEMPERED * (state.evidence[track, field] + slopes.evidence)
    believed = np.exp(evidence - evidence.max())
    believed[believed < KEPT] = 0.0
    believed /= believed.sum()
    kept = np.argsort(-believed, kind="stable")[: np.count_nonzero(believed)]

    lift, track, field, variance, column = lift[kept], track[kept], field[kept], variance[kept], column[kept]
    mean = (mean[kept] + slopes.mean[kept, :, None] * lift).clip(0.0, 1.0)
    lasting, doubts = local(state, track, mean)
    rate = state.belief["rate"][0]
    mean = rate + lasting * (mean - rate)
    column *= lasting * at_levels(lasting, reference)
    shared, own = slopes.shared[kept, :, None] * lift, slopes.own[kept, :, None] * lift
    for off in (shared, own, *gone_on(state.banks["count"][track], mean, BEND), *doubts):
        variance += off**2
        column += off * at_levels(off, reference)
    return Leanings(Curves(believed[kept], track, field, mean, variance, column), lasting * shared)


def local(state: CurvesState, track: Ints, mean: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """Beyond where an arm was seen: which part of its distance from the typical rate lasts, and the doubt below and above.

    Let that distance D be the sum of two of the same variance, one that lasts and one that is forgotten with the correlation
    rho = exp(-(d / LOCAL)^2 / 2) at a share d beyond what was seen. Given D, (1 + rho) / 2 of it is left there in the mean; the
    variance is what that leaves of D^2, the best guess of the two variances together.
    """
    below, above = outside(state.banks["count"])
    lasting = (0.5 * (1.0 + np.exp(-0.5 * ((below + above) / LOCAL) ** 2)))[track]
    doubt = np.sqrt(1.0 - lasting**2) * np.abs(mean - state.belief["rate"][0])
    return lasting, (np.where(below[track] > 0, doubt, 0.0), np.where(above[track] > 0, doubt, 0.0))


def unit_lines(state: CurvesState, reference: Ints) -> Floats:
    """(arms, N + 1): each arm's line of slope one, through zero at the reference level; its unit is the arm's rate."""
    bank, nodes = state.banks[0], state.value.shape[1]
    precision, pulled = bank["precision"].sum(axis=1), bank["pulled"].sum(axis=1)
    rate = np.where(precision > 0, pulled / np.where(precision > 0, precision, 1.0), state.belief["rate"][0])
    return np.asarray(rate[:, None] * (np.arange(nodes) - reference[:, None]) / (nodes - 1))


def booked_of(state: CurvesState, line: Floats) -> Booked:
    """The tracks' weights and means as `fit_arm` reads them, and their banks with the line in the place of the means."""
    banks = state.banks[: len(state.tracks)]
    booked = banks["weight"]
    weight = booked / (state.spread["dispersion"][:, None] + booked * MISFIT)
    seen = np.divide(banks["pull"], booked, out=np.zeros_like(weight), where=booked > 0)
    as_if = banks.copy()
    as_if["pull"] = booked * (state.belief["rate"][0] + line)
    return Booked(weight, seen, as_if, line)


def lifts(state: CurvesState, booked: Booked, track: Ints, field: Ints) -> Floats:
    """What a slope of one adds to each curve, (components, arms, N + 1): the line, less what the fit makes of it."""
    fitted = np.zeros((len(track), *state.value.shape))
    room = empty_posterior(*state.value.shape)
    fit_lines(
        booked.as_if, state.spread, state.fields, state.belief, track=track, field=field, room=room, fitted=fitted
    )
    return np.asarray(booked.line - (fitted - state.belief["rate"][0]))


@kernel
def fit_lines(
    banks: Any, spread: Any, fields: Any, belief: Any, track: Ints, field: Ints, room: Posterior, fitted: Floats
) -> None:
    """Every arm's fitted mean under one component after the other."""
    for c in range(track.shape[0]):
        for k in range(fitted.shape[1]):
            fit_arm(banks[track[c]], k, spread, fields[field[c]], belief[0], room)
            for i in range(fitted.shape[2]):
                fitted[c, k, i] = room.mean[k, i]


class Slopes(NamedTuple):
    """The arms' slopes: the mean, plus `shared` times a normal variable of all arms, plus `own` times one of each arm."""

    mean: Floats  # (.., arms)
    shared: Floats
    own: Floats
    evidence: Floats  # (..): log of how much likelier the data are than without slopes


def learned_slopes(told: Floats, pull: Floats) -> Slopes:
    """A regression whose coefficients have a part in common, from each arm's precision and that times what it says."""
    follow = 1.0 / (1.0 + OWN**2 * told)  # how far an arm's slope goes where that of all arms goes
    variance = 1.0 / (1.0 / SHARED**2 + (follow * told).sum(axis=-1, keepdims=True))
    together = (follow * pull).sum(axis=-1, keepdims=True)
    own = OWN**2 * follow
    common = variance * together**2 + np.log(variance / SHARED**2)
    evidence = 0.5 * (common[..., 0] + (own * pull**2 + np.log(follow)).sum(axis=-1))
    return Slopes(follow * variance * together + own * pull, follow * np.sqrt(variance), np.sqrt(own), evidence)
