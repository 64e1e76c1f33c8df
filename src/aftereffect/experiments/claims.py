"""All claims of the paper, in the order in which pages list them, and their verdicts."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from aftereffect.experiments.figures import fig2a, fig3d, general, long, memory_and_arms, negative, tuning
from aftereffect.experiments.figures.judging import Experiments
from aftereffect.experiments.statistics import LEVEL

CLAIMS = [
    claim
    for experiment in (fig2a, memory_and_arms, fig3d, negative, tuning, general, long)
    for claim in experiment.CLAIMS
]


def judge_all(experiments: Experiments) -> list[dict[str, Any]]:
    """Every claim whose experiments are there and complete, in plain data."""
    verdicts = []
    for claim in CLAIMS:
        if all(name in experiments and experiments[name].complete for name in claim.figures):
            found = claim.judge(experiments)
            explanation = " ".join(filter(None, [found.explanation, claim.why if found.verdict != "holds" else ""]))
            head = {"id": claim.id, "figures": list(claim.figures), "sentence": claim.sentence, "level": LEVEL}
            head |= {"statement": claim.statement, "reading": claim.reading, "ours": claim.ours}
            bounds = {k: v if math.isfinite(v) else None for k, v in (("low", found.low), ("high", found.high))}
            verdicts.append({**head, **asdict(found), **bounds, "explanation": explanation})
    return verdicts
