"""What a state of the curve family says of the curves: estimates with their doubts, over smoothness and memory.

A decision of the policy draws one track and one age; whoever reads estimates wants all that the evidence leaves in, `Curves`:
given a component, one track and one field, every arm's curve is Gaussian. The curve family's only reader of whole tables of
records, `fold`, is here too: the same booking and the same steps as a live agent's, then once more with the noise that all of
the records show, since nobody has to decide in between.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from aftereffect._compile import kernel
from aftereffect.model.curves import Floats, Records
from aftereffect.oracle.search import Ints
from aftereffect.policies.curves.fit import Posterior, covariances, empty_posterior, fit_all, renew_noise
from aftereffect.policies.curves.look import look, review
from aftereffect.policies.curves.state import CurvesState, bank_of, take_in
from aftereffect.policies.curves.tracks import TEMPERED

BAND = 1.96  # deviations on each side of an estimate: 95 percent
KEPT = 0.01  # weight, against the best component's, below which one is left out
REVIEW = (
    0.5  # growth of the past after which a fold learns anew: an agent's tenth is for decisions, and nobody decides here
)
TREND = 0.7  # deviation of the slope, in the arm's rate there, with which a curve may go on beyond where it was seen


class Curves(NamedTuple):
    """Every arm's curve under each component that is believed; tables are (components, arms, N + 1)."""

    weight: Floats  # (components,), as are the next two
    track: Ints
    field: Ints
    mean: Floats  # in [0, 1]
    variance: Floats
    column: Floats  # covariance with the curve at the reference levels

    def believed(self, tracks: int) -> Floats:
        """How far each track is."""
        return np.asarray(np.bincount(self.track, self.weight, tracks), dtype=np.float64)


def fold(fresh: CurvesState, shares: Floats, seen: Floats, rewards: Floats) -> CurvesState:
    """The state after all rounds: `fresh` is left as it was; `seen` is 0 where nothing was.

    The first pass is that of an agent which reviews more seldom; it learns noise and smoothness on the way, and whether
    responses drift. The second books everything again with the noise learned from all.
    """
    shares, seen, rewards = (np.ascontiguousarray(table, dtype=np.float64) for table in (shares, seen, rewards))
    first = copy.deepcopy(fresh)
    first.tuning["review"] = REVIEW
    live_through(first, shares, seen, rewards)
    settle_noise(first, len(shares) + 1)
    second = copy.deepcopy(fresh)
    for name in ("noise", "spread", "belief", "scores", "leads"):
        getattr(second, name)[...] = getattr(first, name)
    for name in ("track", "field", "measured"):
        second.now[name] = first.now[name]
    drift = {name: getattr(first, name).copy() for name in ("scores", "leads")}
    take_in_all(second, shares, seen, rewards)
    for name, value in drift.items():  # of what was foretold before it came
        getattr(second, name)[...] = value
    second.now["moved"] = first.now["moved"]
    settle_noise(second, len(shares) + 1)
    return second


@kernel
def live_through(state: CurvesState, shares: Floats, seen: Floats, rewards: Floats) -> None:
    """Every round as an agent lives it, but for the decision."""
    for t in range(shares.shape[0]):
        review(state, t + 1)
        look(state, t + 1)
        take_in(state, t + 1, shares[t], seen[t], rewards[t])


@kernel
def take_in_all(state: CurvesState, shares: Floats, seen: Floats, rewards: Floats) -> None:
    """Book every round."""
    for t in range(shares.shape[0]):
        take_in(state, t + 1, shares[t], seen[t], rewards[t])


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
    renew_noise(
        state.banks[now["track"][0]],
        state.fields,
        int(now["field"][0]),
        state.belief[0],
        posterior=state.posterior,
        noise=state.noise,
        spread=state.spread,
        counted=bool(now["measured"][0] == 0),
    )


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


def components(state: CurvesState, reference: Ints, least: float = KEPT) -> Curves:
    """All tracks and fields that the evidence leaves in, the heaviest first; covariances are with the reference levels.

    Those of less weight than `least` of the heaviest's are left out.
    """
    weights = component_weights(state, least)
    places = np.argsort(-weights, axis=None, kind="stable")[: np.count_nonzero(weights)]
    track, field = np.unravel_index(places, weights.shape)
    mean, variance, column = curves_under(state, track, field, reference)
    mean.clip(0.0, 1.0, out=mean)
    for off in gone_on(state.banks["count"][track], mean):
        variance += off**2
        column += off * at_levels(off, reference)
    return Curves(weights.ravel()[places], track, field, mean, variance, column)


def at_levels(table: Floats, levels: Ints) -> Floats:
    """What (.., arms, N + 1) tables hold at each arm's level; (.., arms, 1)."""
    return np.asarray(table[..., np.arange(len(levels)), levels][..., None])


def curves_under(state: CurvesState, track: Ints, field: Ints, reference: Ints) -> tuple[Floats, Floats, Floats]:
    """Every arm's curve by some tracks and fields: mean, variance, covariance with the reference levels."""
    mean, variance, column = np.zeros((3, len(track), *state.value.shape))
    room = empty_posterior(*state.value.shape)
    fit_each(
        state.banks,
        state.spread,
        state.fields,
        state.belief,
        track=track,
        field=field,
        reference=reference,
        posterior=room,
        mean=mean,
        variance=variance,
        column=column,
    )
    return mean, variance, column


@kernel
def fit_each(
    banks: Any,
    spread: Any,
    fields: Any,
    belief: Any,
    track: Ints,
    field: Ints,
    reference: Ints,
    posterior: Posterior,
    mean: Floats,
    variance: Floats,
    column: Floats,
) -> None:
    """Fit all arms under one component after the other."""
    arms, nodes = posterior.mean.shape
    for c in range(track.shape[0]):
        fit_all(banks[track[c]], spread, fields[field[c]], belief[0], posterior)
        for k in range(arms):
            covariances(posterior, k, reference[k], column[c, k])
            for i in range(nodes):
                mean[c, k, i] = posterior.mean[k, i]
                variance[c, k, i] = posterior.variance[k, i]


def posterior_of(state: CurvesState, booked: Records, field: int) -> Posterior:
    """Every arm's posterior from what was booked, under one field."""
    posterior = empty_posterior(*state.value.shape)
    fit_all(booked, state.spread, state.fields[field], state.belief[0], posterior)
    return posterior


def gone_on(count: Floats, mean: Floats, trend: float = TREND) -> tuple[Floats, Floats]:
    """How far a curve may have gone on below the lowest and above the highest impact it was seen at, by the counts booked.

    The fields go back to the arm's level there, and doubt no more than their own size. Yet what people call a response often
    just goes on: it tires, or saturates late. A straight line of unknown slope on either side allows for that, so that nobody
    is told to give everything to one arm because its level is the highest. Tables are (.., arms, N + 1).
    """
    (first, last), (below, above) = edges(count), outside(count)
    return trend * np.take_along_axis(mean, first, -1) * below, trend * np.take_along_axis(mean, last, -1) * above


def edges(count: Floats) -> tuple[Ints, Ints]:
    """The lowest and the highest node at which each arm was seen; (.., arms, 1) each."""
    seen = count > 0
    return seen.argmax(axis=-1)[..., None], count.shape[-1] - 1 - seen[..., ::-1].argmax(axis=-1)[..., None]


def outside(count: Floats) -> tuple[Floats, Floats]:
    """How far each node lies below and above what was seen of its arm; zero for arms that were never seen."""
    nodes, ever = count.shape[-1], (count > 0).any(axis=-1, keepdims=True)
    (first, last), place = edges(count), np.arange(nodes)
    return tuple(np.where(ever, np.maximum(0, off) / (nodes - 1), 0.0) for off in (first - place, place - last))  # type: ignore[return-value]


def mixture(curves: Curves) -> tuple[Floats, Floats]:
    """Mean and deviation of every arm's curve over the components; two arrays of (arms, N + 1)."""
    weight = curves.weight[:, None, None]
    mean = (weight * curves.mean).sum(axis=0)
    square = (weight * (curves.variance + curves.mean**2)).sum(axis=0)
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
