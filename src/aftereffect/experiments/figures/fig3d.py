"""Fig. 3(d): how much the share of estimation rounds, rho, matters to Algorithm 3."""

from __future__ import annotations

from collections.abc import Callable

from aftereffect.experiments.figures.judging import (
    INSENSITIVE,
    READINGS,
    Claim,
    Experiments,
    Finding,
    Judge,
    final,
    judge,
    range_interval,
    units,
    verdict_below,
)
from aftereffect.experiments.parameters import which
from aftereffect.experiments.run import Results
from aftereffect.experiments.statistics import mean_of


def by_estimation(results: Results, log: str) -> dict[float, str]:
    """The policies of one reading by their rho."""
    return {values["estimation"]: p for p, values in results.policy_values.items() if values["log"] == log}


@judge
def insensitive(experiments: Experiments, log: str) -> Finding:
    """Regrets over all rho lie within a quarter of their mean."""
    r = experiments["fig3d"]
    rhos = by_estimation(r, log)
    samples = [units(r, r.curves(r.problems[0], p)[:, -1]) for p in rhos.values()]
    value, low, high = range_interval(samples)
    note = ", ".join(f"{rho:g}: {s.mean():,.0f}" for rho, s in zip(rhos, samples, strict=True))
    verdict = verdict_below(low, high, INSENSITIVE)
    return Finding("(largest - smallest) / mean regret over rho", value, low, high, verdict, f"Regret by rho: {note}.")


@judge
def better_for_larger_rho(experiments: Experiments, log: str) -> Finding:
    """Regret at rho .8 is below that at rho .1."""
    r = experiments["fig3d"]
    large, small = (which("history-ucb", estimation=rho, log=log) for rho in (0.8, 0.1))
    gap = final(r, large) - final(r, small)
    mean, low, high = mean_of(gap, r.spec.instances)
    return Finding("regret at rho .8 minus regret at rho .1", mean, low, high, verdict_below(low, high))


TRENDS: tuple[tuple[str, str, Callable[[str], Judge]], ...] = (
    ("rho-flat", "Algorithm 3 is insensitive to rho.", insensitive),
    ("rho-better", "Algorithm 3 does slightly better for larger rho.", better_for_larger_rho),
)
CLAIMS = [
    Claim(f"{name}-{log}", ("fig3d",), statement, way(log), reading=words)
    for log, _, words in READINGS
    for name, statement, way in TRENDS
]
