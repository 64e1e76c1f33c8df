"""Fig. 2 and 3 at a million rounds: Algorithm 3 against D-UCB."""

from __future__ import annotations

from aftereffect.experiments.figures.judging import READINGS, Claim, beats_all
from aftereffect.experiments.parameters import which

PROBLEMS = [(which("gaussian", arms=2, memory=0.6), "memory .6")]
PROBLEMS += [(which("gaussian", arms=k, memory=0.4), f"{k} arms") for k in (3, 4, 5)]
VARIANTS = [(log, zero, words) for log, _, words in READINGS for zero in (False, True)]
CLAIMS = [
    Claim(
        f"long-{where.replace(' ', '-')}-log={log}{',zero=true' * zero}",
        ("long",),
        f"At T = 1,000,000 and {where} Algorithm 3 has lower regret than D-UCB.",
        beats_all("long", which("history-ucb", log=log, zero=zero), (which("d-ucb"),), problem),
        reading=f"{words}{', grid with zero' * zero}",
        ours=True,
    )
    for problem, where in PROBLEMS
    for log, zero, words in VARIANTS
]
