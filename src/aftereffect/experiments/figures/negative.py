"""Example 1: who loses a constant share for ever, and who does not, over several horizons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aftereffect.experiments.figures.judging import (
    READINGS,
    SEED,
    Claim,
    Experiments,
    Finding,
    curves,
    final,
    judge,
    verdict_below,
)
from aftereffect.experiments.parameters import Which, which
from aftereffect.experiments.statistics import bootstrap, mean_of
from aftereffect.model.curves import Floats

PREDICTED_SLOPE = 0.1  # eps/2 of Example 1 with eps = .2
SLOPE_TOLERANCE = 0.05  # a measured slope counts as the predicted one within five percent
HORIZONS = (10_000, 30_000, 100_000, 300_000)  # of Example 1's experiments
NEGATIVE = tuple(f"negative-{horizon}" for horizon in HORIZONS)


@judge
def linear_at(experiments: Experiments, policy: Which, memory: float) -> Finding:
    """Regret in the second half of the longest run grows by eps/2 a round."""
    r = experiments[NEGATIVE[-1]]
    found = curves(r, policy, which("tent", memory=memory))
    half = int(np.searchsorted(r.rounds, r.spec.horizon / 2))
    slope = (found[:, -1] - found[:, half]) / (r.rounds[-1] - r.rounds[half])
    mean, low, high = mean_of(slope)
    near = abs(low / PREDICTED_SLOPE - 1) <= SLOPE_TOLERANCE and abs(high / PREDICTED_SLOPE - 1) <= SLOPE_TOLERANCE
    far = low > PREDICTED_SLOPE * (1 + SLOPE_TOLERANCE) or high < PREDICTED_SLOPE * (1 - SLOPE_TOLERANCE)
    verdict = "holds" if near else "fails" if far else "undecided"
    return Finding("regret a round in the second half, predicted .1", mean, low, high, verdict)


@judge
def sublinear(experiments: Experiments, policy: Which, memory: float) -> Finding:
    """Across horizons, each with its own grid, regret grows more slowly than T."""
    samples = [final(experiments[n], policy, which("tent", memory=memory)) for n in NEGATIVE]
    logs = np.log(HORIZONS)

    def slope(groups: Sequence[Floats]) -> float:
        return float(np.polyfit(logs, [np.log(g.mean()) for g in groups], 1)[0])

    value, low, high = bootstrap(samples, slope, SEED)
    note = ", ".join(f"T {h:,}: {s.mean() / h:.4f}" for h, s in zip(HORIZONS, samples, strict=True))
    statistic = "slope of ln regret in ln T (1 is linear)"
    return Finding(statistic, value, low, high, verdict_below(low, high, 1.0), f"Regret a round: {note}.")


def _claims() -> list[Claim]:
    claims = []
    for memory in (0.0, 0.5):
        where = f"On Example 1 at memory {memory:g}"
        for name, words in (("thompson", "Thompson sampling"), ("ucb1", "UCB1"), ("exp3", "EXP3")):
            sentence = f"{where} {words} loses eps/2 a round for ever."
            claims.append(Claim(f"linear-{name}-{memory:g}", NEGATIVE, sentence, linear_at(which(name), memory)))
        learners = READINGS if memory else (("action-ucb", which("action-ucb"), ""),)
        for name, policy, words in learners:
            alg = "Algorithm 3" if words else "Algorithm 1"
            sentence = f"{where} {alg} does not: its regret grows more slowly than T."
            judge = sublinear(policy, memory)
            claims.append(Claim(f"sublinear-{name}-{memory:g}", NEGATIVE, sentence, judge, reading=words))
    return claims


CLAIMS = _claims()
