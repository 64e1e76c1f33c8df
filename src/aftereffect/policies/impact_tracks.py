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
from aftereffect.model.curves import Floats
from aftereffect.policies.curve_fit import MOST_REVIEWED, PRIOR, book, fit_arm

MEMORY, REALISED, WEIGHT, EVIDENCE = 0, 1, 2, 3  # columns of `tracks`
CANDIDATES = 8  # memories tried where it is unknown; their 1 - memory are in geometric progression
ALTERNATIVES = (-0.45, -0.3, -0.15, 0.15, 0.3, 0.45)  # a given memory is watched against these steps away from it
HIGHEST = 0.97  # a memory beyond which a track hardly moves while an allocation is held
MOST_NOISE = 0.25  # variance of a fair coin; no reward in [0, 1] has more
# Evidence ratio at which the model counts as contradicted. For one fixed field and Gaussian noise a right model would ever
# reach it in at most 1 of 20 cases (Ville's inequality); the field is drawn and rewards are not Gaussian, so this is measured.
ALARM = 20.0


def known_tracks(memory: float, realised: bool, watch_driver: bool) -> Floats:
    """The given model first, then those it is watched against."""
    others = [memory + step for step in ALTERNATIVES if 0.0 <= memory + step <= HIGHEST]
    rows = [(memory, realised), *((m, realised) for m in others)]
    if watch_driver:
        rows.append((memory, not realised))
    return _tracks(rows)


def candidate_tracks(bound: float, realised: bool) -> Floats:
    """Memories up to a bound, from none on."""
    memories = 1.0 - (1.0 - bound) ** (np.arange(CANDIDATES) / (CANDIDATES - 1))
    return _tracks([(float(m), realised) for m in memories])


def _tracks(rows: list[tuple[float, bool]]) -> Floats:
    tracks = np.zeros((len(rows), 4))
    tracks[:, MEMORY] = [m for m, _ in rows]
    tracks[:, REALISED] = [float(r) for _, r in rows]
    return tracks


@helper
def follow(tracks: Floats, impact: Floats, allocation: Floats, seen: Floats, known: bool) -> None:
    """Equation (2) as a recursion on every track: Z = 1 + memory Z, f = f + (p - f) / Z.

    Where it is not `known` who was activated, shares stand for activations.
    """
    for m in range(tracks.shape[0]):
        weight = 1.0 + tracks[m, MEMORY] * tracks[m, WEIGHT]
        tracks[m, WEIGHT] = weight
        step = 1.0 / weight
        for k in range(allocation.shape[0]):
            share = allocation[k]
            if known and tracks[m, REALISED] > 0.0:
                share = 1.0 if seen[k] > 0.0 else 0.0
            impact[m, k] += (share - impact[m, k]) * step


@helper
def book_all(banks: Floats, impact: Floats, seen: Floats, reward: Floats) -> None:
    """Book what was seen on every track; banks beyond the tracks' are left alone."""
    for m in range(impact.shape[0]):
        for k in range(seen.shape[0]):
            if seen[k] > 0.0:
                book(banks[m], k, impact[m, k], seen[k], reward[k])


@kernel
def weigh_tracks(
    banks: Floats, tracks: Floats, fields: Floats, field: int, t: int, room: Floats, noise: Floats
) -> None:
    """Log evidence of every track under the field in use.

    All nodes get the same noise (`noise` is workspace for one row of them): only then does the evidence compare different
    bookings of the same rewards. It is the largest variance a reward can have, which errs on the side of no alarm.
    """
    arms, nodes = banks.shape[2], banks.shape[3]
    for i in range(nodes):
        noise[i] = MOST_NOISE
    looked = min(arms, max(1, MOST_REVIEWED // nodes))
    first = t % arms if looked < arms else 0
    for m in range(tracks.shape[0]):
        tracks[m, EVIDENCE] = looked * fields[field, PRIOR]
        for i in range(looked):
            tracks[m, EVIDENCE] += 0.5 * fit_arm(banks[m], noise, (first + i) % arms, fields, field, room)


@kernel
def evidence_against(tracks: Floats) -> float:
    """Log of the mean evidence ratio of the other tracks to the first; -inf without others."""
    others = tracks.shape[0] - 1
    if others < 1:
        return -math.inf
    top = -math.inf
    for m in range(1, others + 1):
        top = max(top, tracks[m, EVIDENCE])
    total = 0.0
    for m in range(1, others + 1):
        total += math.exp(tracks[m, EVIDENCE] - top)
    return float(math.log(total / others) + top - tracks[0, EVIDENCE])


def contradiction(tracks: Floats, strongest: float) -> dict[str, Any]:
    """Do the data contradict the first track, the model that was given? `strongest` is the most evidence against it so far.

    A ratio that was ever large counts: Ville's inequality is about all times at once. Where there is no contradiction, the
    wrong models may explain the data as well as the right one; then agreement means nothing, and it `can_tell` nothing.
    """
    if not math.isfinite(strongest):
        return {"contradicted": False, "can_tell": False}
    best = tracks[1 + int(tracks[1:, EVIDENCE].argmax())]
    contradicted = strongest > math.log(ALARM)
    found: dict[str, Any] = {
        "contradicted": contradicted,
        "log10_evidence_against": strongest / math.log(10.0),
        "can_tell": contradicted or bool(tracks[0, EVIDENCE] - best[EVIDENCE] > math.log(ALARM)),
    }
    if contradicted:
        found["better"] = {"memory": float(best[MEMORY]), "driver": "realised" if best[REALISED] else "intended"}
    return found


def estimated_memory(tracks: Floats) -> dict[str, Any]:
    """The memory's posterior over the candidates: mean, a 95 percent interval, and whether the data say anything.

    The interval reaches half-way to the candidates next to those it needs: the truth may lie between two.
    """
    memories = tracks[:, MEMORY]
    chance = np.exp(tracks[:, EVIDENCE] - tracks[:, EVIDENCE].max())
    chance /= chance.sum()
    order = np.argsort(-chance, kind="stable")
    needed = int(np.searchsorted(np.cumsum(chance[order]), 0.95 - 1e-12)) + 1
    kept = np.sort(order[:needed])
    edges = np.concatenate([[memories[0]], 0.5 * (memories[:-1] + memories[1:]), [memories[-1]]])
    low, high = float(edges[kept[0]]), float(edges[kept[-1] + 1])
    return {
        "estimate": float(chance @ memories),
        "low": low,
        "high": high,
        "can_tell": high - low < 0.5 * float(memories[-1] - memories[0]),
    }
