"""How claims are judged: statistics on paired runs with confidence intervals, and the verdicts they lead to.

A claim about several comparisons holds only if all of them do; their intervals are widened (Bonferroni), so that the claim
as a whole is judged at the stated level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars

from aftereffect.experiments.parameters import Which, in_words, the_one, which
from aftereffect.experiments.run import Results
from aftereffect.experiments.statistics import LEVEL, bootstrap, mean_of
from aftereffect.model.curves import Floats

INSENSITIVE = 0.25  # "not sensitive", "robust": regrets within a quarter of their mean
PREDICTED_SLOPE = 0.1  # eps/2 of Example 1 with eps = .2
SLOPE_TOLERANCE = 0.05  # a measured slope counts as the predicted one within five percent
CARRIES_OVER = 1.5  # "at most half again": the largest ratio of regrets
SEED = 20_211_206  # of the resamples

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


# Statistics.


def curves(results: Results, policy: Which, problem: Which | None = None) -> Floats:
    """Each run's regrets, on the experiment's first problem if none is named."""
    where = results.problems[0] if problem is None else results.problem(problem)
    return results.curves(where, results.policy(policy))


def final(results: Results, policy: Which, problem: Which | None = None) -> Floats:
    """Each run's regret at the horizon."""
    return curves(results, policy, problem)[:, -1]


def _verdict_below(low: float, high: float, bound: float = 0.0) -> str:
    """Is the quantity below the bound?"""
    return "holds" if high < bound else "fails" if low > bound else "undecided"


def _worst(parts: Sequence[Finding], statistic: str) -> Finding:
    """A claim that all of several comparisons hold, told by the worst of them."""
    order = {"fails": 0, "undecided": 1, "holds": 2}
    worst = min(parts, key=lambda f: (order[f.verdict], -f.estimate))
    others = "; ".join(f"{f.statistic}: {f.estimate:,.0f} ({f.verdict})" for f in parts)
    return Finding(
        f"{statistic}: {worst.statistic}", worst.estimate, worst.low, worst.high, worst.verdict, others + "."
    )


def _units(results: Results, values: Floats) -> Floats:
    """Independent units: instance means where there are several instances, else runs."""
    return values.reshape(results.spec.instances, -1).mean(axis=1) if results.spec.instances > 1 else values


# Ways of judging.

BASELINES = (which("d-ucb"), which("sw-ucb"), which("exp3"))  # of the figures with a memory


def beats_all(
    name: str, policy: Which, rivals: Sequence[Which], problem: Which | None = None
) -> Callable[[Experiments], Finding]:
    """Lower regret at T than each rival, run by run on the same random numbers."""

    def judge(experiments: Experiments) -> Finding:
        results = experiments[name]
        level = 1 - (1 - LEVEL) / len(rivals)
        parts = []
        for rival in rivals:
            gap = final(results, policy, problem) - final(results, rival, problem)
            mean, low, high = mean_of(gap, results.spec.instances, level)
            statistic = f"regret minus {results.policy(rival)}'s"
            parts.append(Finding(statistic, mean, low, high, _verdict_below(low, high)))
        return _worst(parts, f"{results.policy(policy)} at T = {results.spec.horizon:,}")

    return judge


def advantage_shrinks(policy: Which) -> Callable[[Experiments], Finding]:
    """The gap to the best baseline is larger at memory .2 than at .6."""

    def judge(experiments: Experiments) -> Finding:
        gaps = []
        for name in ("fig2b", "fig2d"):
            r = experiments[name]
            rivals = [final(r, rival) for rival in BASELINES]
            best = min(rivals, key=lambda v: float(v.mean()))
            gaps.append(best - final(r, policy))
        mean, low, high = mean_of(gaps[1] - gaps[0], experiments["fig2b"].spec.instances)
        statistic = "advantage over the best baseline at memory .6 minus that at memory .2"
        return Finding(statistic, mean, low, high, _verdict_below(low, high))

    return judge


def grows_with_arms(policy: Which) -> Callable[[Experiments], Finding]:
    """Regret at T grows with each further arm."""
    names = ("fig2c", "fig3a", "fig3b", "fig3c")

    def judge(experiments: Experiments) -> Finding:
        samples = [_units(r, final(r, policy)) / r.spec.horizon for r in (experiments[n] for n in names)]
        steps = [(b.mean() - a.mean(), _spread(a, b)) for a, b in pairwise(samples)]
        step, half = min(steps, key=lambda s: s[0] - s[1])
        slopes = ", ".join(f"K {k}: {s.mean():.4f}" for k, s in zip((2, 3, 4, 5), samples, strict=True))
        verdict = "holds" if step - half > 0 else "fails" if step + half < 0 else "undecided"
        ratio = samples[-1].mean() / samples[0].mean()
        note = f"Regret a round: {slopes}. From K 2 to K 5 it grows {ratio:.2f} times (proportional would be 2.5)."
        return Finding(
            "smallest increase of regret a round from one K to the next", step, step - half, step + half, verdict, note
        )

    return judge


def _spread(a: Floats, b: Floats) -> float:
    """Half the width of an interval for a difference of means of independent samples, three of them at once."""
    from scipy.special import stdtrit

    t = float(stdtrit(min(len(a), len(b)) - 1, 1 - (1 - LEVEL) / 6))
    return t * float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


def _relative_range(samples: Sequence[Floats]) -> float:
    means = [float(s.mean()) for s in samples]
    return (max(means) - min(means)) / float(np.mean(means))


def _range_interval(samples: Sequence[Floats]) -> tuple[float, float, float]:
    """The relative range with an interval: that of the widest pair, paired by unit, widened for having been picked."""
    middle = float(np.mean([s.mean() for s in samples]))
    highest, lowest = max(samples, key=np.mean), min(samples, key=np.mean)
    pairs = len(samples) * (len(samples) - 1) // 2
    return mean_of((highest - lowest) / middle, 1, 1 - (1 - LEVEL) / pairs)


def _ratio_interval(sample: Floats, base: Floats, level: float) -> tuple[float, float, float]:
    """A ratio of means of paired units, with an interval on the logarithm (delta method)."""
    ratio = float(sample.mean() / base.mean())
    _, low, high = mean_of(sample / sample.mean() - base / base.mean(), 1, level)
    return ratio, ratio * float(np.exp(low)), ratio * float(np.exp(high))


def by_estimation(results: Results, log: str) -> dict[float, str]:
    """The policies of one reading by their rho."""
    return {values["estimation"]: p for p, values in results.policy_values.items() if values["log"] == log}


def insensitive(log: str) -> Callable[[Experiments], Finding]:
    """Regrets over all rho lie within a quarter of their mean."""

    def judge(experiments: Experiments) -> Finding:
        r = experiments["fig3d"]
        rhos = by_estimation(r, log)
        samples = [_units(r, r.curves(r.problems[0], p)[:, -1]) for p in rhos.values()]
        value, low, high = _range_interval(samples)
        note = ", ".join(f"{rho:g}: {s.mean():,.0f}" for rho, s in zip(rhos, samples, strict=True))
        verdict = _verdict_below(low, high, INSENSITIVE)
        return Finding(
            "(largest - smallest) / mean regret over rho", value, low, high, verdict, f"Regret by rho: {note}."
        )

    return judge


def better_for_larger_rho(log: str) -> Callable[[Experiments], Finding]:
    """Regret at rho .8 is below that at rho .1."""

    def judge(experiments: Experiments) -> Finding:
        r = experiments["fig3d"]
        large, small = (which("history-ucb", estimation=rho, log=log) for rho in (0.8, 0.1))
        gap = final(r, large) - final(r, small)
        mean, low, high = mean_of(gap, r.spec.instances)
        return Finding("regret at rho .8 minus regret at rho .1", mean, low, high, _verdict_below(low, high))

    return judge


BY_MEMORY = ("fig2b", "fig2c", "fig2d")


def robust_to_memory(policy: Which) -> Callable[[Experiments], Finding]:
    """Regrets over memories .2, .4, .6 lie within a quarter of their mean."""

    def judge(experiments: Experiments) -> Finding:
        samples = [_units(r, final(r, policy)) for r in (experiments[n] for n in BY_MEMORY)]
        value, low, high = _range_interval(samples)
        statistic = "(largest - smallest) / mean regret over memories .2, .4, .6"
        return Finding(statistic, value, low, high, _verdict_below(low, high, INSENSITIVE))

    return judge


def memory_fades(policy: Which) -> Callable[[Experiments], Finding]:
    """The relative range over memories is smaller at T than at a tenth of it."""

    def judge(experiments: Experiments) -> Finding:
        found = [curves(experiments[n], policy) for n in BY_MEMORY]
        first = experiments["fig2b"]
        early = int(np.searchsorted(first.rounds, first.spec.horizon / 10))
        samples = [_units(first, c[:, -1]) for c in found] + [_units(first, c[:, early]) for c in found]
        value, low, high = bootstrap(samples, lambda s: _relative_range(s[:3]) - _relative_range(s[3:]), SEED)
        statistic = f"relative range over memories at T minus that at round {int(first.rounds[early]):,}"
        return Finding(statistic, value, low, high, _verdict_below(low, high))

    return judge


HORIZONS = (10_000, 30_000, 100_000, 300_000)  # of Example 1's experiments
NEGATIVE = tuple(f"negative-{horizon}" for horizon in HORIZONS)


def linear_at(policy: Which, memory: float) -> Callable[[Experiments], Finding]:
    """Regret in the second half of the longest run grows by eps/2 a round."""

    def judge(experiments: Experiments) -> Finding:
        r = experiments[NEGATIVE[-1]]
        found = curves(r, policy, which("tent", memory=memory))
        half = int(np.searchsorted(r.rounds, r.spec.horizon / 2))
        slope = (found[:, -1] - found[:, half]) / (r.rounds[-1] - r.rounds[half])
        mean, low, high = mean_of(slope)
        near = abs(low / PREDICTED_SLOPE - 1) <= SLOPE_TOLERANCE and abs(high / PREDICTED_SLOPE - 1) <= SLOPE_TOLERANCE
        far = low > PREDICTED_SLOPE * (1 + SLOPE_TOLERANCE) or high < PREDICTED_SLOPE * (1 - SLOPE_TOLERANCE)
        verdict = "holds" if near else "fails" if far else "undecided"
        return Finding("regret a round in the second half, predicted .1", mean, low, high, verdict)

    return judge


def sublinear(policy: Which, memory: float) -> Callable[[Experiments], Finding]:
    """Across horizons, each with its own grid, regret grows more slowly than T."""

    def judge(experiments: Experiments) -> Finding:
        samples = [final(experiments[n], policy, which("tent", memory=memory)) for n in NEGATIVE]
        logs = np.log(HORIZONS)

        def slope(groups: Sequence[Floats]) -> float:
            return float(np.polyfit(logs, [np.log(g.mean()) for g in groups], 1)[0])

        value, low, high = bootstrap(samples, slope, SEED)
        note = ", ".join(f"T {h:,}: {s.mean() / h:.4f}" for h, s in zip(HORIZONS, samples, strict=True))
        statistic = "slope of ln regret in ln T (1 is linear)"
        return Finding(statistic, value, low, high, _verdict_below(low, high, 1.0), f"Regret a round: {note}.")

    return judge


def search_picks(policy: str, parameter: str, value: float) -> Callable[[Experiments], Finding]:
    """The grid search picks the paper's value at every memory; a better candidate anywhere refutes it."""

    def judge(experiments: Experiments) -> Finding:
        r = experiments["tuning"]
        frame = r.store.frame("tuning").sort("policy", "instance", "run").collect()
        mine = [s for s in r.tuning() if r.policy_values[s["policy"]]["name"] == policy]
        parts, picked = [], []
        for search in mine:
            candidates = list(search["candidates"])
            wanted = the_one(which(policy, **{parameter: value}), r.candidates(search["policy"]))
            here = frame.filter(polars.col("problem") == search["problem"])
            runs = {c: here.filter(polars.col("policy") == c)["regret"].to_numpy() for c in candidates}
            picked.append(f"{search['problem']}: {search['chosen']}")
            level = 1 - (1 - LEVEL) / (len(mine) * (len(candidates) - 1))
            for other in (c for c in candidates if c != wanted):
                mean, low, high = mean_of(runs[wanted] - runs[other], r.spec.tuning.instances, level)
                statistic = f"regret minus {other}'s on {search['problem']}"
                parts.append(Finding(statistic, mean, low, high, _verdict_below(low, high)))
        worst = _worst(parts, wanted)
        return replace(worst, explanation=f"Picked: {'; '.join(picked)}.")

    return judge


def carries_over(log: str, told: float | None) -> Callable[[Experiments], Finding]:
    """Under every impact Algorithm 3's regret is at most half again what it is under the discounted average."""

    def judge(experiments: Experiments) -> Finding:
        r = experiments["general"]
        base = _units(r, final(r, which("history-ucb", log=log, memory=None)))
        policy = r.policy(which("history-ucb", log=log, memory=told))
        others = r.problems if told is not None else r.problems[1:]
        ratios = []
        for problem in others:
            sample = _units(r, r.curves(problem, policy)[:, -1])
            ratios.append((problem, *_ratio_interval(sample, base, 1 - (1 - LEVEL) / len(others))))
        worst = max(ratios, key=lambda x: x[1])
        note = "; ".join(f"{in_words(r.problem_values[p]['impact'])}: {v:.2f}" for p, v, _, _ in ratios)
        verdict = _verdict_below(worst[2], worst[3], CARRIES_OVER)
        return Finding(
            f"largest ratio of regrets, on {worst[0]}", worst[1], worst[2], worst[3], verdict, f"Ratios: {note}."
        )

    return judge
