"""Is the model any good here? Every round is foretold from the rounds before it and compared with what came.

Two rivals foretell the same rounds: one without aftereffect (a memory of zero: the response is to this round's share) and one
without curves (each arm responds with its own mean, whatever its share). Then residuals are held against what the model does
not know: the time, the round before, the share itself, the season, and what the arms have in common.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.policies.curves.estimates import components, settle_noise
from aftereffect.policies.curves.fit import ALIKE, DOUBT, LEAST_DISPERSION
from aftereffect.policies.curves.forgetting import drift_seen
from aftereffect.policies.curves.look import review
from aftereffect.policies.curves.state import CurvesState, take_in
from aftereffect.records.trend import PlainCurves

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit

REFITS = 40  # times at most that the estimates are renewed on the way
FIRST = 8  # rounds before the first one that is foretold
SEASONS = (52, 12, 4)  # rounds of a season, if they go round at least twice
CLEARLY = 3.0  # log score below which none of two foretells better: odds of twenty to one
SURE = 3.0  # deviations at which a residual's dependence is named: one in 400 by chance, and a handful are looked at


@dataclass(frozen=True)
class Check:
    """How well the rounds were foretold; `words` say it plainly.

    `inside_95` and `inside_50` are the shares of rewards that fell in such ranges, `against_no_aftereffect` and
    `against_no_curves` the log score gained over the rivals, each with its standard error; `dependence` names what residuals
    go with, in deviations.
    """

    foretold: int
    inside_95: float
    inside_50: float
    against_no_aftereffect: tuple[float, float]
    against_no_curves: tuple[float, float]
    drifting: bool
    dependence: dict[str, float]
    words: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.words)


def check_fit(fit: Fit) -> Check:
    """Foretell every round from those before it."""
    table = fit.records
    seen = table.trials > 0
    seen[:FIRST] = False
    own = foretell(fit.policy, fit)
    without = foretell(PlainCurves(memory=0.0), fit)
    flat = foretell_levels(fit)
    residual = np.where(seen, (table.rewards - own[0]) / np.sqrt(own[1]), np.nan)
    count = int(seen.sum())
    size = np.abs(residual[seen])
    scores = [np.where(seen, _log_density(table.rewards, *model), 0.0).sum(axis=1) for model in (own, without, flat)]
    drift = drift_seen(float(fit.state.now["moved"][0]), fit.state.powers, 0)
    found = {
        "inside_95": float((size < 1.96).mean()) if count else math.nan,
        "inside_50": float((size < 0.674).mean()) if count else math.nan,
        "against_no_aftereffect": _total(scores[0] - scores[1]),
        "against_no_curves": _total(scores[0] - scores[2]),
        "drifting": bool(drift["drifting"]),
        "dependence": dependence(residual, table.shares),
    }
    return Check(count, **found, words=tuple(_words(count, **found)))  # type: ignore[arg-type]


def foretell(policy: PlainCurves, fit: Fit) -> tuple[Floats, Floats]:
    """Mean and variance of every reward, from the rounds before it; (rounds, arms) each."""
    table = fit.records
    state: CurvesState = policy.state(fit.setting)
    mean, variance = np.full(table.shares.shape, 0.5), np.ones(table.shares.shape)
    every = max(1, (table.rounds - FIRST) // REFITS)
    for t in range(table.rounds):
        review(state, t + 1)
        if t >= FIRST and (t - FIRST) % every == 0:
            before = copy.deepcopy(state)
            settle_noise(before, t + 1)
            curves = components(before, fit.home, least=0.05)
            spread, parts, arms = before.spread, np.arange(len(curves.weight))[:, None], np.arange(table.arms)
        take_in(state, t + 1, table.shares[t], table.trials[t], np.nan_to_num(table.rewards[t]))
        if t >= FIRST:
            nodes = np.minimum(fit.steps, (state.impact[curves.track] * fit.steps + 0.5).astype(np.int64))
            means, doubts = (told[parts, arms, nodes] for told in (curves.mean, curves.variance))
            mean[t] = curves.weight @ means
            doubt = curves.weight @ (doubts + means**2) - mean[t] ** 2
            coin = np.maximum(1e-4, mean[t] * (1 - mean[t]))
            blur = spread["dispersion"] * coin / np.maximum(1.0, table.trials[t]) + spread["shock"]
            variance[t] = np.maximum(0.0, doubt) + blur
    return mean, variance


def foretell_levels(fit: Fit) -> tuple[Floats, Floats]:
    """The same from each arm's mean so far; what is left over comes as a shock of every round.

    Rewards that are no counts may scatter less than coins do, here as around curves (`renew_spread`): else any curve would
    foretell better.
    """
    table, counted = fit.records, bool(fit.state.now["measured"][0] == 0)
    mean, variance = np.full(table.shares.shape, 0.5), np.ones(table.shares.shape)
    tries, hits, pull, rounds, scatter, precision = np.zeros((6, table.arms))
    for t in range(table.rounds):
        common = (DOUBT + scatter.sum()) / (DOUBT + rounds.sum())
        ratio = (scatter + ALIKE * common) / (rounds + ALIKE)
        dispersion = np.ones(table.arms) if counted else np.clip(ratio, LEAST_DISPERSION, 1.0)
        shock = np.maximum(0.0, ratio - 1.0) * rounds / np.maximum(1e-9, precision)
        rate = (hits + 0.5 * dispersion) / (tries + dispersion)  # before any reward half a success of one coin
        seen, n, coin = table.trials[t] > 0, np.maximum(1.0, table.trials[t]), np.maximum(1e-4, rate * (1.0 - rate))
        mean[t] = rate
        variance[t] = dispersion * coin * (1.0 / n + 1.0 / (tries + 1.0)) + shock + shock / np.maximum(1.0, pull)
        told = seen & (tries > 0)
        before = np.maximum(1.0, tries)
        apart = (np.nan_to_num(table.rewards[t]) - hits / before) ** 2 / (coin * (1.0 / n + 1.0 / before))
        scatter, rounds = scatter + told * apart, rounds + told
        precision += told / (coin * (1.0 / n + 1.0 / before))
        tries, hits = tries + seen * n, hits + seen * n * np.nan_to_num(table.rewards[t])
        pull += seen
    return mean, variance


def _log_density(value: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-0.5 * (np.nan_to_num(value) - mean) ** 2 / variance - 0.5 * np.log(2 * math.pi * variance))


def _total(gains: Floats) -> tuple[float, float]:
    """A sum over rounds, and its standard error."""
    used = gains[FIRST:]
    return float(used.sum()), float(used.std(ddof=1) * math.sqrt(len(used))) if len(used) > 2 else math.inf


def dependence(residual: Floats, shares: Floats) -> dict[str, float]:
    """Deviations by which residuals go with something the model does not know, where that is beyond chance."""
    rounds = np.arange(len(residual), dtype=np.float64)
    clock = np.repeat(rounds[:, None], residual.shape[1], axis=1)
    before = np.vstack([np.full((1, residual.shape[1]), np.nan), residual[:-1]])
    others = (np.nansum(residual, axis=1, keepdims=True) - np.nan_to_num(residual)) / max(1, residual.shape[1] - 1)
    looked_at = {
        "the time (a trend)": clock,
        "the round before (what comes in waves)": before,
        "the share itself (not only its impact)": shares - shares.mean(axis=0),
        "the other arms in the same round (something they have in common)": others,
    }
    for period in SEASONS:
        if len(rounds) >= 2 * period:
            angle = 2 * math.pi * clock / period
            looked_at[f"the season (every {period} rounds)"] = _fitted(residual, np.cos(angle), np.sin(angle))
    found = {}
    for what, other in looked_at.items():
        both = ~np.isnan(residual) & ~np.isnan(other)
        if both.sum() < 20 or np.std(other[both]) == 0 or np.std(residual[both]) == 0:
            continue
        r = float(np.corrcoef(residual[both], other[both])[0, 1])
        size = int(both.sum()) if not what.startswith("the other") else int(both.any(axis=1).sum())
        strength = math.atanh(max(-0.999999, min(0.999999, r))) * math.sqrt(max(1, size - 3))
        if abs(strength) > (SURE + 1.0 if what.startswith("the season") else SURE):  # its phase was fitted
            found[what] = strength
    return found


def _fitted(residual: Floats, *waves: Floats) -> Floats:
    used = ~np.isnan(residual)
    basis = np.stack([wave[used] for wave in waves], axis=1)
    weights = np.linalg.lstsq(basis, residual[used], rcond=None)[0]
    return np.asarray(sum(weight * wave for weight, wave in zip(weights, waves, strict=True)))


def _words(
    count: int,
    inside_95: float,
    inside_50: float,
    against_no_aftereffect: tuple[float, float],
    against_no_curves: tuple[float, float],
    drifting: bool,
    dependence: dict[str, float],
) -> Iterator[str]:
    if count < 20:
        yield f"only {count} rewards could be foretold from those before them: too few to check anything"
        return
    error = 2 * math.sqrt(0.05 * 0.95 / count)
    verdict = (
        "as it should be"
        if abs(inside_95 - 0.95) <= max(0.03, error)
        else (
            "the ranges are too narrow: trust the bands less"
            if inside_95 < 0.95
            else "the ranges are wider than they need be"
        )
    )
    yield (
        f"foretold from the rounds before, {100 * inside_95:.0f} percent of the rewards fell in their 95 percent range and "
        f"{100 * inside_50:.0f} in their 50 percent range: {verdict}"
    )
    yield _against("a model without aftereffect (only this round's share counts)", *against_no_aftereffect)
    yield _against("a model without curves (each arm has one rate, whatever its share)", *against_no_curves)
    yield "responses drift: what was learned long ago no longer holds" if drifting else "no sign that responses drift"
    if dependence:
        for what in dependence:
            yield f"what is left over goes with {what}: something is at work that the model does not know"
    else:
        yield "what is left over looks like chance"


def _against(rival: str, gain: float, error: float) -> str:
    told = f"(log score {gain:+.1f}, standard error {error:.1f})"
    if gain > max(CLEARLY, 2 * error):
        return f"it foretells better than {rival} {told}"
    if gain < -max(CLEARLY, 2 * error):
        return f"it foretells worse than {rival} {told}: the records speak for the simpler one"
    return f"it foretells about as well as {rival} {told}: the records cannot tell the two apart"
