"""Algorithm 3 under other impacts than the discounted average, and told a bound on the memory alone."""

from __future__ import annotations

import numpy as np

from aftereffect.experiments.figures.judging import (
    READINGS,
    Claim,
    Experiments,
    Finding,
    final,
    judge,
    units,
    verdict_below,
)
from aftereffect.experiments.parameters import in_words, which
from aftereffect.experiments.statistics import mean_of, widened
from aftereffect.model.curves import Floats

CARRIES_OVER = 1.5  # "at most half again": the largest ratio of regrets


def _ratio_interval(sample: Floats, base: Floats, level: float) -> tuple[float, float, float]:
    """A ratio of means of paired units, with an interval on the logarithm (delta method)."""
    ratio = float(sample.mean() / base.mean())
    _, low, high = mean_of(sample / sample.mean() - base / base.mean(), 1, level)
    return ratio, ratio * float(np.exp(low)), ratio * float(np.exp(high))


@judge
def carries_over(experiments: Experiments, log: str, told: float | None) -> Finding:
    """Under every impact Algorithm 3's regret is at most half again what it is under the discounted average."""
    r = experiments["general"]
    base = units(r, final(r, which("history-ucb", log=log, memory=None)))
    policy = r.policy(which("history-ucb", log=log, memory=told))
    others = r.problems if told is not None else r.problems[1:]
    ratios = []
    for problem in others:
        sample = units(r, r.curves(problem, policy)[:, -1])
        ratios.append((problem, *_ratio_interval(sample, base, widened(len(others)))))
    worst = max(ratios, key=lambda x: x[1])
    note = "; ".join(f"{in_words(r.problem_values[p]['impact'])}: {v:.2f}" for p, v, _, _ in ratios)
    verdict = verdict_below(worst[2], worst[3], CARRIES_OVER)
    return Finding(
        f"largest ratio of regrets, on {worst[0]}", worst[1], worst[2], worst[3], verdict, f"Ratios: {note}."
    )


CLAIMS = [
    claim
    for log, _, words in READINGS
    for claim in (
        Claim(
            f"general-{log}",
            ("general",),
            "Algorithm 3 carries over to other impacts: at most half again its regret under the discounted average.",
            carries_over(log, None),
            reading=words,
            ours=True,
        ),
        Claim(
            f"bound-{log}",
            ("general",),
            "Knowing only that memory is at most .9, Algorithm 3 has at most half again the regret.",
            carries_over(log, 0.9),
            reading=words,
            ours=True,
        ),
    )
]
