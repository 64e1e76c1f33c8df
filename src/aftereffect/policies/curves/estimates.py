"""What a state of the curve family says of the curves: estimates with their doubts, over smoothness and memory.

A decision of the policy draws one track and one age; whoever reads estimates wants all that the evidence leaves in. Each
`Component` is one track and one field with its weight: given it, every arm's curve is Gaussian. The curve family's only reader
of whole tables of records, `fold`, is here too: the same booking and the same reviews as a live agent's, then once more with
the noise that all of the records show, since nobody has to decide in between.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from aftereffect.model.curves import Floats, Records
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.fit import Posterior, covariances, empty_posterior, fit_all, renew_noise
from aftereffect.policies.curves.look import look, review
from aftereffect.policies.curves.state import CurvesState, bank_of, take_in
from aftereffect.policies.curves.tracks import TEMPERED

BAND = 1.96  # deviations on each side of an estimate: 95 percent
KEPT = 0.01  # weight, against the best component's, below which one is left out
TREND = 0.7  # deviation of the slope, in the arm's rate there, with which a curve may go on beyond where it was seen


class Component(NamedTuple):
    """Every arm's curve if one track and one field are right."""

    weight: float
    track: int
    field: int
    mean: Floats  # (arms, N + 1), in [0, 1]
    variance: Floats
    column: Floats  # covariance with the curve at the reference levels


def fold(fresh: CurvesState, shares: Floats, seen: Floats, rewards: Floats) -> CurvesState:
    """The state after all rounds: `fresh` is left as it was; `seen` is 0 where nothing was.

    The first pass is that of an agent; it learns noise and smoothness on the way, and whether responses drift. The second
    books everything again with the noise learned from all.
    """
    first = copy.deepcopy(fresh)
    for t in range(len(shares)):
        review(first, t + 1)
        look(first, t + 1)
        take_in(first, shares[t], seen[t], rewards[t])
    settle_noise(first, len(shares) + 1)
    second = copy.deepcopy(fresh)
    for name in ("noise", "spread", "belief", "scores", "leads"):
        getattr(second, name)[...] = getattr(first, name)
    for name in ("track", "field", "measured"):
        second.now[name] = first.now[name]
    drift = {name: getattr(first, name).copy() for name in ("scores", "leads")}
    for t in range(len(shares)):
        take_in(second, shares[t], seen[t], rewards[t])
    for name, value in drift.items():  # of what was foretold before it came
        getattr(second, name)[...] = value
    second.now["moved"] = first.now["moved"]
    settle_noise(second, len(shares) + 1)
    return second


def settle_noise(state: CurvesState, t: int) -> None:
    """Learn everything anew, and take the likeliest track and field instead of drawn ones."""
    now = state.now
    now["review_at"] = 0
    review(state, t)
    now["age"] = 0
    if now["learns_memory"][0] == 1:
        now["track"] = int(state.track_evidence.argmax())
    state.field_evidence[:] = state.evidence[now["track"][0]]
    now["field"] = int(state.field_evidence.argmax())
    booked, field = state.banks[now["track"][0]], state.fields[now["field"][0]]
    fit_all(booked, state.spread, field, state.belief[0], state.posterior)
    renew_noise(booked, state.posterior, state.noise, state.spread, bool(now["measured"][0] == 0))


def component_weights(state: CurvesState, least: float = KEPT) -> Floats:
    """(tracks, fields): how far each is believed; one track only where the memory was given."""
    evidence = TEMPERED * state.evidence  # as where the memory is estimated
    if state.now["learns_memory"][0] == 0:
        given = np.full(evidence.shape, -math.inf)
        given[state.now["track"][0]] = evidence[state.now["track"][0]]
        evidence = given
    weights = np.exp(evidence - evidence.max())
    weights[weights < least] = 0.0
    return np.asarray(weights / weights.sum())


def components(state: CurvesState, reference: Ints, least: float = KEPT) -> Iterator[Component]:
    """All tracks and fields that the evidence leaves in, the heaviest first; covariances are with the reference levels.

    Those of less weight than `least` of the heaviest's are left out.
    """
    weights = component_weights(state, least)
    arms = len(state.value)
    for place in np.argsort(-weights, axis=None, kind="stable"):
        track, field = np.unravel_index(place, weights.shape)
        weight = float(weights[track, field])
        if weight <= 0.0:
            return
        mean, variance, column = curves_under(state, int(track), int(field), reference)
        mean = mean.clip(0.0, 1.0)
        for off in gone_on(state.banks[track], mean):
            variance += off**2
            column += off * off[np.arange(arms), reference][:, None]
        yield Component(weight, int(track), int(field), mean, variance, column)


def curves_under(state: CurvesState, track: int, field: int, reference: Ints) -> tuple[Floats, Floats, Floats]:
    """Every arm's curve by one track and field: mean, variance, covariance with the reference levels; (arms, N + 1) each."""
    posterior, column = posterior_of(state, state.banks[track], field), np.zeros(state.value.shape)
    for k in range(len(column)):
        covariances(posterior, k, int(reference[k]), column[k])
    return posterior.mean, posterior.variance, column


def posterior_of(state: CurvesState, booked: Records, field: int) -> Posterior:
    """Every arm's posterior from what was booked, under one field."""
    posterior = empty_posterior(*state.value.shape)
    fit_all(booked, state.spread, state.fields[field], state.belief[0], posterior)
    return posterior


def gone_on(booked: Records, mean: Floats, trend: float = TREND) -> tuple[Floats, Floats]:
    """How far a curve may have gone on below the lowest and above the highest impact it was seen at; (arms, N + 1) each.

    The fields go back to the arm's level there, and doubt no more than their own size. Yet what people call a response often
    just goes on: it tires, or saturates late. A straight line of unknown slope on either side allows for that, so that nobody
    is told to give everything to one arm because its level is the highest.
    """
    arms, nodes = mean.shape
    place, below, above = np.arange(nodes) / (nodes - 1), np.zeros((arms, nodes)), np.zeros((arms, nodes))
    for k in range(arms):
        seen = np.flatnonzero(booked["count"][k] > 0)
        if len(seen):
            below[k] = trend * mean[k, seen[0]] * np.maximum(0.0, place[seen[0]] - place)
            above[k] = trend * mean[k, seen[-1]] * np.maximum(0.0, place - place[seen[-1]])
    return below, above


def mixture(parts: list[Component]) -> tuple[Floats, Floats]:
    """Mean and deviation of every arm's curve over the components; two arrays of (arms, N + 1)."""
    mean = np.sum([c.weight * c.mean for c in parts], axis=0)
    square = np.sum([c.weight * (c.variance + c.mean**2) for c in parts], axis=0)
    return mean, np.sqrt(np.maximum(0.0, square - mean**2))


def observations(state: CurvesState) -> Floats:
    """(arms, N + 1): how many observations were booked at each impact, on the track in use."""
    return np.asarray(state.banks["count"][state.now["track"][0]].copy())


def seen_means(state: CurvesState, k: int) -> tuple[Ints, Floats, Floats]:
    """At which nodes an arm was seen, its mean reward there and how often, as far as the past is trusted."""
    booked = state.banks[bank_of(state, int(state.now["age"][0]))][k]
    nodes = np.flatnonzero(booked["count"] > 0)
    seen = booked[nodes]
    return nodes, seen["pulled"] / seen["precision"], seen["count"]
