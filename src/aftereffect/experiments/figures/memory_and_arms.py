"""Figs. 2(b) to 2(d), by memory, and 3(a) to 3(c), by arms: Algorithm 3 against the baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from aftereffect.experiments.figures.judging import (
    INSENSITIVE,
    READINGS,
    SEED,
    Claim,
    Experiments,
    Finding,
    Judge,
    beats_all,
    curves,
    final,
    judge,
    range_interval,
    units,
    verdict_below,
)
from aftereffect.experiments.parameters import Which, which
from aftereffect.experiments.statistics import bootstrap, mean_of, widened
from aftereffect.model.curves import Floats

BASELINES = (which("d-ucb"), which("sw-ucb"), which("exp3"))
BY_ARMS = ("fig2c", "fig3a", "fig3b", "fig3c")  # two to five
BY_MEMORY = ("fig2b", "fig2c", "fig2d")
ROUND_ROBIN = (
    "D-UCB with discount .8 keeps at most 5 effective samples, so it plays the arms in turn. An arm that comes up every K "
    "rounds has, when it is played, the impact (1 - memory) / (1 - memory^K): .83, .71 and .63 at memory .2, .4 and .6 for two "
    "arms, .61 for five arms at .4. The responses peak near .5, so this costs about .105, .045, .016 and .011 a round: a "
    "constant share for ever, but up to this horizon less than Algorithm 3 spends on exploring with radii as wide as its proof "
    "needs."
)


@judge
def advantage_shrinks(experiments: Experiments, policy: Which) -> Finding:
    """The gap to the best baseline is larger at memory .2 than at .6."""
    gaps = []
    for name in ("fig2b", "fig2d"):
        r = experiments[name]
        rivals = [final(r, rival) for rival in BASELINES]
        best = min(rivals, key=lambda v: float(v.mean()))
        gaps.append(best - final(r, policy))
    mean, low, high = mean_of(gaps[1] - gaps[0], experiments["fig2b"].spec.instances)
    statistic = "advantage over the best baseline at memory .6 minus that at memory .2"
    return Finding(statistic, mean, low, high, verdict_below(low, high))


@judge
def grows_with_arms(experiments: Experiments, policy: Which) -> Finding:
    """Regret at T grows with each further arm."""
    samples = [units(r, final(r, policy)) / r.spec.horizon for r in (experiments[n] for n in BY_ARMS)]
    steps = [(b.mean() - a.mean(), _spread(a, b)) for a, b in pairwise(samples)]
    step, half = min(steps, key=lambda s: s[0] - s[1])
    slopes = ", ".join(f"K {k}: {s.mean():.4f}" for k, s in zip((2, 3, 4, 5), samples, strict=True))
    verdict = "holds" if step - half > 0 else "fails" if step + half < 0 else "undecided"
    ratio = samples[-1].mean() / samples[0].mean()
    note = f"Regret a round: {slopes}. From K 2 to K 5 it grows {ratio:.2f} times (proportional would be 2.5)."
    return Finding(
        "smallest increase of regret a round from one K to the next", step, step - half, step + half, verdict, note
    )


def _spread(a: Floats, b: Floats) -> float:
    """Half the width of an interval for a difference of means of independent samples, three of them at once."""
    from scipy.special import stdtrit

    t = float(stdtrit(min(len(a), len(b)) - 1, 0.5 + widened(3) / 2))
    return t * float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


def _relative_range(samples: Sequence[Floats]) -> float:
    means = [float(s.mean()) for s in samples]
    return (max(means) - min(means)) / float(np.mean(means))


@judge
def robust_to_memory(experiments: Experiments, policy: Which) -> Finding:
    """Regrets over memories .2, .4, .6 lie within a quarter of their mean."""
    samples = [units(r, final(r, policy)) for r in (experiments[n] for n in BY_MEMORY)]
    value, low, high = range_interval(samples)
    statistic = "(largest - smallest) / mean regret over memories .2, .4, .6"
    return Finding(statistic, value, low, high, verdict_below(low, high, INSENSITIVE))


@judge
def memory_fades(experiments: Experiments, policy: Which) -> Finding:
    """The relative range over memories is smaller at T than at a tenth of it."""
    found = [curves(experiments[n], policy) for n in BY_MEMORY]
    first = experiments["fig2b"]
    early = int(np.searchsorted(first.rounds, first.spec.horizon / 10))
    samples = [units(first, c[:, -1]) for c in found] + [units(first, c[:, early]) for c in found]
    value, low, high = bootstrap(samples, lambda s: _relative_range(s[:3]) - _relative_range(s[3:]), SEED)
    statistic = f"relative range over memories at T minus that at round {int(first.rounds[early]):,}"
    return Finding(statistic, value, low, high, verdict_below(low, high))


PLACES = [(f"2{f}", f"At memory {m}") for f, m in (("b", ".2"), ("c", ".4"), ("d", ".6"))]
PLACES += [(f"3{f}", f"With {k} arms") for f, k in (("a", 3), ("b", 4), ("c", 5))]
TRENDS: tuple[tuple[str, tuple[str, ...], str, Callable[[Which], Judge]], ...] = (
    ("small-memory", ("fig2b", "fig2d"), "The advantage of Algorithm 3 is larger at small memory.", advantage_shrinks),
    ("arms", BY_ARMS, "The slope of the regret of Algorithm 3 grows with K.", grows_with_arms),
    ("memory-flat", BY_MEMORY, "Algorithm 3 is robust to the memory.", robust_to_memory),
    ("memory-fades", BY_MEMORY, "The memory's effect on Algorithm 3 fades as T grows.", memory_fades),
)
CLAIMS = [
    Claim(
        f"{place}-{reading}",
        (f"fig{place}",),
        f"{where} Algorithm 3 has lower regret than D-UCB, SW-UCB and EXP3.",
        beats_all(f"fig{place}", policy, BASELINES),
        ROUND_ROBIN,
        words,
    )
    for place, where in PLACES
    for reading, policy, words in READINGS
] + [
    Claim(f"{name}-{reading}", figures, statement, way(policy), reading=words)
    for reading, policy, words in READINGS
    for name, figures, statement, way in TRENDS
]
