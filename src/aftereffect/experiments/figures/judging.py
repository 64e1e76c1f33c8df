"""What the claims have in common: statistics on paired runs with confidence intervals, and the verdicts they lead to.

A claim about several comparisons holds only if all of them do; their intervals are widened (Bonferroni), so that the claim
as a whole is judged at the stated level. Nothing is tuned to make a claim hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec

import numpy as np

from aftereffect.experiments.parameters import Which, which
from aftereffect.experiments.run import Results
from aftereffect.experiments.statistics import mean_of, widened
from aftereffect.model.curves import Floats

SEED = 20_211_206  # of the resamples
INSENSITIVE = 0.25  # "not sensitive", "robust": regrets within a quarter of their mean

Experiments = Mapping[str, Results]


@dataclass(frozen=True)
class Finding:
    """What was measured, and what it says about the claim."""

    statistic: str
    estimate: float
    low: float
    high: float
    verdict: str
    explanation: str = ""


Judge = Callable[[Experiments], Finding]
Given = ParamSpec("Given")


def judge(look: Callable[Concatenate[Experiments, Given], Finding]) -> Callable[Given, Judge]:
    """A way of judging, given all but the experiments."""

    def given(*args: Given.args, **named: Given.kwargs) -> Judge:
        return lambda experiments: look(experiments, *args, **named)

    return given


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, or a question of our own: which experiments it rests on, and how it is judged."""

    id: str
    figures: tuple[str, ...]
    statement: str
    judge: Judge
    why: str = ""  # said when it does not hold
    reading: str = ""  # of Algorithm 3's radius: the same statement is judged in each
    ours: bool = False  # a question that the paper does not answer by measuring

    @property
    def sentence(self) -> str:
        """The statement with its reading."""
        if not self.reading:
            return self.statement
        return self.statement.replace("Algorithm 3", f"Algorithm 3 ({self.reading})", 1)


LEMMA, PRINTED = which("history-ucb", log="lemma"), which("history-ucb", log="printed")
READINGS = (("lemma", LEMMA, "ln(L rho m)"), ("printed", PRINTED, "printed ln(L rho)"))


def curves(results: Results, policy: Which, problem: Which | None = None) -> Floats:
    """Each run's regrets, on the experiment's first problem if none is named."""
    where = results.problems[0] if problem is None else results.problem(problem)
    return results.curves(where, results.policy(policy))


def final(results: Results, policy: Which, problem: Which | None = None) -> Floats:
    """Each run's regret at the horizon."""
    return curves(results, policy, problem)[:, -1]


def verdict_below(low: float, high: float, bound: float = 0.0) -> str:
    """Is the quantity below the bound?"""
    return "holds" if high < bound else "fails" if low > bound else "undecided"


def by_worst(parts: Sequence[Finding], statistic: str) -> Finding:
    """A claim that all of several comparisons hold, told by the worst of them."""
    order = {"fails": 0, "undecided": 1, "holds": 2}
    worst = min(parts, key=lambda f: (order[f.verdict], -f.estimate))
    others = "; ".join(f"{f.statistic}: {f.estimate:,.0f} ({f.verdict})" for f in parts)
    return Finding(
        f"{statistic}: {worst.statistic}", worst.estimate, worst.low, worst.high, worst.verdict, others + "."
    )


def units(results: Results, values: Floats) -> Floats:
    """Independent units: instance means where there are several instances, else runs."""
    return values.reshape(results.spec.instances, -1).mean(axis=1) if results.spec.instances > 1 else values


@judge
def beats_all(
    experiments: Experiments, name: str, policy: Which, rivals: Sequence[Which], problem: Which | None = None
) -> Finding:
    """Lower regret at T than each rival, run by run on the same random numbers."""
    results = experiments[name]
    level = widened(len(rivals))
    parts = []
    for rival in rivals:
        gap = final(results, policy, problem) - final(results, rival, problem)
        mean, low, high = mean_of(gap, results.spec.instances, level)
        statistic = f"regret minus {results.policy(rival)}'s"
        parts.append(Finding(statistic, mean, low, high, verdict_below(low, high)))
    return by_worst(parts, f"{results.policy(policy)} at T = {results.spec.horizon:,}")


def range_interval(samples: Sequence[Floats]) -> tuple[float, float, float]:
    """The relative range with an interval: that of the widest pair, paired by unit, widened for having been picked."""
    middle = float(np.mean([s.mean() for s in samples]))
    highest, lowest = max(samples, key=np.mean), min(samples, key=np.mean)
    pairs = len(samples) * (len(samples) - 1) // 2
    return mean_of((highest - lowest) / middle, 1, widened(pairs))
