"""Impact as several models see it at once: which memory, and whether shares or activations drive it.

A *track* follows the impact under one such model and books every observation at the impact it computes. All tracks see the
same rewards, so how well a smooth curve explains what was booked tells them apart: a wrong track books rewards of one impact
at another and blurs the curve. The policy acts on one track. The others are there to estimate an unknown memory, or to
notice that the data contradict the model it was given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.model.curves import Floats, Records
from aftereffect.policies.curves.fit import (
    MOST_REVIEWED,
    Posterior,
    book,
    fit_arm,
    lean_together,
    node_of,
)

TRACK = np.dtype([("memory", "f8"), ("realised", "i8"), ("weight", "f8")])
CANDIDATES = 10  # memories tried where it is unknown; their 1 - memory are in geometric progression
ALTERNATIVES = (-0.45, -0.3, -0.15, 0.15, 0.3, 0.45)  # a given memory is watched against these steps away from it
HIGHEST = 0.97  # a memory beyond which a track hardly moves while an allocation is held
# Evidence ratio at which the model counts as contradicted. For one fixed field and Gaussian noise a right model would ever
# reach it in at most 1 of 4 cases (Ville's inequality); all memories explain the usual data about as well, so that in fact
# it hardly ever does, and what it does is measured (docs/robustness.md).
CONTRADICTS = 4.0
# How much of the evidence is believed before anybody is told. One coin a round scatters as coins do. Of many observations in
# a round, and of rewards that are no coins, the scatter is estimated, and curves are no draws from the fields: that matters
# the more the more precise the data are.
MANY = 5.0  # observations of an arm in a round, beyond the first, that make half of the difference
LEAST_PART = 0.41  # of the evidence against a given memory, where there are many
LEARNED = (
    20.0  # rounds after which half of the evidence against a given memory is believed: the scatter is learned first
)
ENOUGH = 100.0  # rare outcomes (failures where most succeed) likewise: the evidence takes their sums for normal
COINS = 0.7  # power of evidence where an unknown memory is estimated from single coins
TEMPERED = 0.35  # and where memories and fields are weighed for what is said, the scatter estimated
LEAST_OF_COINS = TEMPERED / COINS  # the part of an unknown memory's evidence, where there are many


def known_tracks(memory: float, realised: bool, watch_driver: bool) -> Records:
    """The given model first, then those it is watched against."""
    others = [memory + step for step in ALTERNATIVES if 0.0 <= memory + step <= HIGHEST]
    rows = [(memory, realised), *((m, realised) for m in others)]
    if watch_driver:
        rows.append((memory, not realised))
    return _tracks(rows)


def candidate_tracks(bound: float, realised: bool) -> Records:
    """Memories up to a bound, from none on."""
    memories = 1.0 - (1.0 - bound) ** (np.arange(CANDIDATES) / (CANDIDATES - 1))
    return _tracks([(float(m), realised) for m in memories])


def _tracks(rows: list[tuple[float, bool]]) -> Records:
    return np.array([(m, int(r), 0.0) for m, r in rows], dtype=TRACK)


def begin_at(tracks: Records, arms: int, start: Floats | None) -> Floats:
    """The impact before the first round: none yet, or that of a split that was always held; gives (tracks, arms)."""
    if start is None:
        return np.zeros((len(tracks), arms))
    tracks["weight"] = 1.0 / (1.0 - tracks["memory"])
    return np.tile(np.asarray(start, dtype=np.float64), (len(tracks), 1))


@helper
def move_on(tracks: Any, impact: Floats, allocation: Floats, seen: Floats, known: bool) -> None:
    """Equation (2) as a recursion on every track: Z = 1 + memory Z, f = f + (p - f) / Z.

    Where it is not `known` who was activated, shares stand for activations.
    """
    for m in range(tracks.shape[0]):
        weight = 1.0 + tracks[m].memory * tracks[m].weight
        tracks[m].weight = weight
        step = 1.0 / weight
        activated = known and tracks[m].realised == 1
        for k in range(allocation.shape[0]):
            share = allocation[k]
            if activated:
                share = 1.0 if seen[k] > 0.0 else 0.0
            impact[m, k] += (share - impact[m, k]) * step


@helper
def book_all(banks: Any, impact: Floats, seen: Floats, reward: Floats, noise: Floats, spread: Any, track: int) -> None:
    """Book what was seen on every track, as noisy as the one in use foretold; banks beyond the tracks' are left alone."""
    for k in range(seen.shape[0]):
        if seen[k] > 0.0:
            variance = noise[k, node_of(impact[track, k], noise.shape[1] - 1)]
            for m in range(impact.shape[0]):
                book(banks[m], k, impact[m, k], seen[k], reward=reward[k], noise=variance, shock=spread[k].shock)


@kernel
def weigh_fields(
    booked: Any, spread: Any, fields: Any, belief: Any, t: int, posterior: Posterior, evidence: Floats
) -> None:
    """Log evidence of every field in one bank, summed over the arms; of very many arms a part stands for all."""
    arms, nodes = booked.shape
    looked = min(arms, max(1, MOST_REVIEWED // nodes))
    first = t % arms if looked < arms else 0
    for j in range(evidence.shape[0]):
        evidence[j] = 0.0
        for step in range(looked):
            k = (first + step) % arms
            evidence[j] += fit_arm(booked, k, spread, fields[j], belief, posterior)
        if fields[j].leans == 1:
            evidence[j] += lean_together(posterior, first, looked, fields[j].rise)


@kernel
def weigh_models(
    banks: Any, spread: Any, fields: Any, belief: Any, t: int, posterior: Posterior, evidence: Floats
) -> None:
    """Log evidence of every field on every track.

    Both are weighed together: under a belief in flat curves a long memory, which books everything in one place, would always
    seem right.
    """
    for m in range(evidence.shape[0]):
        weigh_fields(banks[m], spread, fields, belief, t=t, posterior=posterior, evidence=evidence[m])


@kernel
def weigh_tracks(evidence: Floats, track_evidence: Floats) -> None:
    """Log evidence of every track, whatever the field."""
    for m in range(evidence.shape[0]):
        top, total = -math.inf, 0.0
        for j in range(evidence.shape[1]):
            top = max(top, evidence[m, j])
        for j in range(evidence.shape[1]):
            total += math.exp(evidence[m, j] - top)
        track_evidence[m] = top + math.log(total / evidence.shape[1])


@kernel
def as_one(booked: Any, spread: Any) -> float:
    """By how much the evidence of all arms counts too much, where a shock may be common to them.

    What arms say in a round is then said by one of them, as far as their scatter is the shock's.
    """
    rounds, longest, shaken = 0.0, 0.0, 0.0
    for k in range(booked.shape[0]):
        own, precision = 0.0, 0.0
        for i in range(booked.shape[1]):
            own += booked[k, i].rounds
            precision += booked[k, i].precision
        rounds += own
        longest = max(longest, own)
        shock = precision * spread[k].shock
        shaken += own * shock / (own + shock) if own > 0.0 else 0.0
    return 1.0 + (rounds / longest - 1.0) * shaken / rounds if rounds > 0.0 else 1.0


@kernel
def believable(booked: Any, spread: Any, least: float) -> float:
    """The part of the evidence to believe: less of estimated scatter, down to the `least`, and of few rare outcomes.

    One failure among thousands of successes can look like another impact's doing, and arms that a shock moves together say
    the same thing several times over.
    """
    rare, rounds, seen, quiet = 0.0, 0.0, 0.0, 0.0
    for k in range(booked.shape[0]):
        count, hits = 0.0, 0.0
        for i in range(booked.shape[1]):
            here = booked[k, i]
            if here.count > 0.0:
                count += here.count
                hits += here.count * here.pulled / here.precision
                rounds += here.rounds
        seen += count
        quiet = max(quiet, 1.0 - spread[k].dispersion)
        rare += max(0.0, min(hits, count - hits)) / spread[k].dispersion
    if rounds <= 0.0:
        return 0.0
    beyond = max(0.0, seen / rounds - 1.0)
    estimated = max(quiet, beyond / (beyond + MANY))
    return float(rare / (rare + ENOUGH) * (1.0 - (1.0 - least) * estimated) / as_one(booked, spread))


@kernel
def evidence_against(evidence: Floats, part: float) -> float:
    """Log of the mean evidence ratio of the other tracks to the first, a part of it believed; -inf without others."""
    others = evidence.shape[0] - 1
    if others < 1:
        return -math.inf
    top = -math.inf
    for m in range(1, others + 1):
        top = max(top, evidence[m])
    total = 0.0
    for m in range(1, others + 1):
        total += math.exp(part * (evidence[m] - top))
    return float(math.log(total / others) + part * (top - evidence[0]))


def contradiction(tracks: Records, evidence: Floats, strongest: float, part: float) -> dict[str, Any]:
    """Do the data contradict the first track, the model that was given? `strongest` is the most evidence against it so far.

    A ratio that was ever large counts: Ville's inequality is about all times at once. Where there is no contradiction, the
    wrong models may explain the data as well as the right one; then agreement means nothing, and it `can_tell` nothing.
    """
    if not math.isfinite(strongest):
        return {"contradicted": False, "can_tell": False}
    best = 1 + int(evidence[1:].argmax())
    contradicted = strongest > math.log(CONTRADICTS)
    found: dict[str, Any] = {
        "contradicted": contradicted,
        "log10_evidence_against": strongest / math.log(10.0),
        "can_tell": contradicted or bool(part * (evidence[0] - evidence[best]) > math.log(CONTRADICTS)),
    }
    if contradicted:
        better = tracks[best]
        driver = "realised" if better["realised"] else "intended"
        found["better"] = {"memory": float(better["memory"]), "driver": driver}
    return found


def estimated_memory(tracks: Records, evidence: Floats, part: float) -> dict[str, Any]:
    """The memory's posterior over the candidates: mean, a 95 percent interval, and whether the data say anything.

    The interval reaches to the candidates next to those it needs: the truth may lie between two.
    """
    memories = tracks["memory"]
    chance = np.exp(COINS * part * (evidence - evidence.max()))
    chance /= chance.sum()
    order = np.argsort(-chance, kind="stable")
    needed = int(np.searchsorted(np.cumsum(chance[order]), 0.95 - 1e-12)) + 1
    kept = np.sort(order[:needed])
    last = len(memories) - 1
    low, high = float(memories[max(0, kept[0] - 1)]), float(memories[min(last, kept[-1] + 1)])
    return {
        "estimate": float(chance @ memories),
        "low": low,
        "high": high,
        "can_tell": high - low < 0.5 * float(memories[-1] - memories[0]),
    }
