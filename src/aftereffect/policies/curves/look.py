"""What the data say at a decision: curves fitted under every field that matters, mixed, and what each way to forget foretells."""

from __future__ import annotations

import math
from typing import Any

from aftereffect._compile import helper, kernel
from aftereffect.policies.curves.fit import (
    Posterior,
    as_response,
    covariances,
    draw_by_evidence,
    draw_curves,
    fit_all,
    renew_noise,
    renew_scale,
)
from aftereffect.policies.curves.state import CurvesState, bank_of, fade, trust
from aftereffect.policies.curves.tracks import (
    LEARNED,
    LEAST_PART,
    believable,
    evidence_against,
    weigh_fields,
    weigh_models,
    weigh_tracks,
)

NEGLIGIBLE = 0.05  # evidence against the best field's below which a field is left out


@kernel
def review(state: CurvesState, t: int) -> bool:
    """Learn smoothness, noise, memory and drift anew, if it is time to; tells whether it was."""
    now, belief, spread, posterior = state.now[0], state.belief[0], state.spread, state.posterior
    if t < now.review_at:
        return False
    fade(state, t)
    trust(state, t)
    renew_scale(state.banks[bank_of(state, now.age)], belief)
    banks, evidence = state.banks[: state.tracks.shape[0]], state.evidence
    weigh_models(banks, spread, state.fields, belief, t=t, posterior=posterior, evidence=evidence)
    weigh_tracks(evidence, state.track_evidence)
    held = banks[now.track]
    part = believable(held, spread, LEAST_PART) * t / (t + LEARNED)
    now.against = max(now.against, evidence_against(state.track_evidence, part))
    if now.learns_memory == 1:
        now.track = draw_by_evidence(state.track_evidence, state.rng)
    for j in range(evidence.shape[1]):
        state.field_evidence[j] = evidence[now.track, j]
    booked = state.banks[bank_of(state, now.age)]
    if now.age > 0:  # how smooth responses are now, not how they were
        weigh_fields(booked, spread, state.fields, belief, t=t, posterior=posterior, evidence=state.field_evidence)
    now.field = draw_by_evidence(state.field_evidence, state.rng)
    renew_noise(
        booked,
        state.fields,
        now.field,
        belief,
        posterior=posterior,
        noise=state.noise,
        spread=spread,
        counted=now.measured == 0,
    )
    now.review_at = t + 1 + int(state.tuning[0].review * t)
    return True


@kernel
def fit_bank(state: CurvesState, age: int, field: int) -> None:
    """Every arm's curve from the bank of an age under a field, into `posterior`; covariances with home into `column`."""
    booked = state.banks[bank_of(state, age)]
    fit_all(booked, state.spread, state.fields[field], state.belief[0], state.posterior)
    for k in range(state.home.shape[0]):
        covariances(state.posterior, k, state.home[k], state.column[k])


@kernel
def mix(state: CurvesState) -> None:
    """Mean, variance and covariance with home under all fields that the evidence leaves in, weighed by it.

    The curves of the field in use stay in `posterior` to be sampled from.
    """
    now, mixed, home, evidence = state.now[0], state.mixed, state.home, state.field_evidence
    mean, variance = state.posterior.mean, state.posterior.variance
    top, total = -math.inf, 0.0
    for j in range(evidence.shape[0]):
        top = max(top, evidence[j])
    for j in range(evidence.shape[0]):
        weight = math.exp(evidence[j] - top)
        total += weight if weight > NEGLIGIBLE or j == now.field else 0.0
    for k in range(home.shape[0]):
        for i in range(mixed.shape[1]):
            mixed[k, i].mean = mixed[k, i].variance = mixed[k, i].with_home = 0.0
    fields = evidence.shape[0]
    for step in range(1, fields + 1):
        j = (now.field + step) % fields  # the field in use comes last, and stays
        weight = math.exp(evidence[j] - top)
        if weight <= NEGLIGIBLE and j != now.field:
            continue
        weight /= total
        fit_bank(state, now.age, j)
        for k in range(home.shape[0]):
            at = mean[k, home[k]]
            for i in range(mixed.shape[1]):
                here = mixed[k, i]
                here.mean += weight * mean[k, i]
                here.variance += weight * (variance[k, i] + mean[k, i] * mean[k, i])
                here.with_home += weight * (state.column[k, i] + mean[k, i] * at)
    for k in range(home.shape[0]):
        at = mixed[k, home[k]].mean
        for i in range(mixed.shape[1]):
            here = mixed[k, i]
            here.variance = max(0.0, here.variance - here.mean * here.mean)
            here.with_home -= here.mean * at


@kernel
def take_as_mixed(state: CurvesState) -> None:
    """Let the field in `posterior` alone be believed."""
    for k in range(state.home.shape[0]):
        for i in range(state.mixed.shape[1]):
            here = state.mixed[k, i]
            here.mean, here.variance = state.posterior.mean[k, i], state.posterior.variance[k, i]
            here.with_home = state.column[k, i]


@kernel
def look(state: CurvesState, t: int) -> None:
    """Fit the curves for a decision in round t, and foretell what will be seen by each way to forget."""
    now, foretold = state.now[0], state.foretold
    fade(state, t)
    for age in range(state.powers.shape[0]):
        if age != now.age:
            fit_bank(state, age, now.field)
            foretell(state.posterior, foretold[age])
    mix(state)
    for k in range(state.home.shape[0]):
        for i in range(state.mixed.shape[1]):
            told = foretold[now.age, k, i]
            told.mean, told.variance = as_response(state.mixed[k, i].mean), state.mixed[k, i].variance


@helper
def foretell(posterior: Posterior, foretold: Any) -> None:
    for k in range(foretold.shape[0]):
        for i in range(foretold.shape[1]):
            told = foretold[k, i]
            told.mean, told.variance = as_response(posterior.mean[k, i]), posterior.variance[k, i]


@kernel
def believe_steep(state: CurvesState) -> None:
    """Let the exploring field be what is believed."""
    fit_bank(state, state.now[0].age, 0)
    take_as_mixed(state)


@kernel
def draw_likely(state: CurvesState) -> None:
    """Curves near what is believed most, and near the last ones."""
    tuning = state.tuning[0]
    draw_curves(state.posterior, tuning.temperature, tuning.kept, state.white, state.rng, state.drawn)


@kernel
def draw_whole(state: CurvesState) -> None:
    """Curves of the full size of what is uncertain: of the field in use, or of the exploring one after `believe_steep`."""
    draw_curves(state.posterior, 1.0, 0.0, state.fresh, state.rng, state.drawn)
