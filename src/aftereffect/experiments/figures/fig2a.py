"""Fig. 2(a), without a memory, and the same under other readings of the baselines (`options`)."""

from __future__ import annotations

from aftereffect.experiments.figures.judging import Claim, beats_all
from aftereffect.experiments.parameters import which

OTHER_READINGS = (
    which("cucb", clip=False, grid_for="action"),
    which("cucb", clip=True, grid_for="cucb"),
    which("cucb", clip=False, grid_for="cucb"),
    which("meta-exp3", form="loss"),
)
CLAIMS = [
    Claim(
        "2a",
        ("fig2a",),
        "With no memory, Algorithm 1 has lower regret than CUCB, mEXP3 and EXP3.",
        beats_all("fig2a", which("action-ucb"), (which("cucb"), which("meta-exp3"), which("exp3"))),
    ),
    Claim(
        "2a-meta",
        ("fig2a",),
        "mEXP3 does better than EXP3 for large T.",
        beats_all("fig2a", which("meta-exp3"), (which("exp3"),)),
    ),
    Claim(
        "2a-options",
        ("options",),
        "Algorithm 1 keeps that lead under the other readings of CUCB and mEXP3.",
        beats_all("options", which("action-ucb"), OTHER_READINGS),
        "The order of Fig. 2(a) turns with details the paper leaves open: unclipped bounds let CUCB tell apart cells that "
        "clipping makes equal, and a coarser grid has fewer cells to explore.",
        ours=True,
    ),
]
