"""Who is better in the weekly arena: how much of what the best fixed split gains over the even one, and how often less.

Everything is computed from the rows that the weekly arena leaves behind: one per scenario, policy, run and horizon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars

from aftereffect.experiments.statistics import Interval, ends, percentiles, resampling
from aftereffect.experiments.weekly import EVEN, Weekly
from aftereffect.model.curves import Floats

FLAT = 0.02  # where the best gains less than this over even, there is nothing to gain: loss counts instead
BELOW = 0.02  # a run that earns less than even by more than this was hurt


@dataclass(frozen=True)
class Gain:
    """One policy in one scenario up to one horizon, over all runs."""

    share: float  # of what the best gains over even
    interval: Interval
    over_even: float  # what it earned more than even, relative
    below: float  # share of runs that earned less than even by more than BELOW
    worst: float  # the worst run, relative to even


@dataclass(frozen=True)
class Total:
    """One policy over all scenarios up to one horizon."""

    share: float | None  # mean over the scenarios where there is something to gain
    interval: Interval
    smallest: float | None
    where: str
    below: float
    worst: float
    loss: float | None  # the largest loss against even among the flat scenarios


@dataclass(frozen=True)
class Gains:
    """The weekly leaderboard."""

    arena: Weekly
    horizons: list[int]
    available: Mapping[str, Mapping[int, float]]  # by scenario and horizon: what the best gains over even, relative
    scenarios: Mapping[str, Mapping[str, Mapping[int, Gain]]]  # by scenario, policy and horizon
    totals: Mapping[str, Mapping[int, Total]]  # by policy, best first, and horizon

    @property
    def flat(self) -> list[str]:
        """Scenarios where the best fixed split gains next to nothing."""
        return flat_scenarios(self.available)

    def frame(self) -> polars.DataFrame:
        """One row per scenario, policy and horizon."""
        return polars.DataFrame(
            [
                {
                    "scenario": scenario,
                    "policy": policy,
                    "T": horizon,
                    "gain_share": g.share,
                    **ends(g.interval),
                    "over_even": g.over_even,
                    "runs_below_even": g.below,
                    "worst_run": g.worst,
                    "available": self.available[scenario][horizon],
                }
                for scenario, policies in self.scenarios.items()
                for policy, horizons in policies.items()
                for horizon, g in horizons.items()
            ],
            schema_overrides={"low": polars.Float64, "high": polars.Float64},
        )


def gain_share(achieved: Floats, even: Floats, best: Floats) -> float:
    """(achieved - even) / (best - even), both summed over runs."""
    return float((achieved - even).sum() / (best - even).sum())


def flat_scenarios(available: Mapping[str, Mapping[int, float]]) -> list[str]:
    """Scenarios whose best gains less than FLAT over even, in the longest run."""
    return [scenario for scenario, gains in available.items() if gains[max(gains)] < FLAT]


Runs = tuple[Floats, Floats, Floats]  # achieved, even, best: one number a run


def score_weekly(arena: Weekly, rows: polars.DataFrame) -> Gains:
    """The weekly leaderboard from the arena's rows."""
    samples = _samples(rows)
    horizons = sorted({horizon for _, _, horizon in samples})
    scenarios = list(dict.fromkeys(scenario for scenario, _, _ in samples))
    policies = [p.key for p in arena.policies]
    available = {scenario: {t: _available(samples[scenario, EVEN, t]) for t in horizons} for scenario in scenarios}
    weights = resampling(arena.scale.runs, arena.scale.runs)  # the same for every scenario, policy and horizon
    scores = {
        scenario: {
            p: {t: _gain(samples[scenario, p, t], weights) for t in horizons}
            for p in policies
            if (scenario, p, horizons[0]) in samples
        }
        for scenario in scenarios
    }
    flat = flat_scenarios(available)
    totals = {
        p: {t: _total(samples, scores, flat, p, t, weights) for t in horizons} for p in policies if _played(scores, p)
    }
    order = sorted(totals, key=lambda p: math.inf if (share := totals[p][horizons[-1]].share) is None else -share)
    return Gains(arena, horizons, available, scores, {p: totals[p] for p in order})


def _samples(rows: polars.DataFrame) -> dict[tuple[str, str, int], Runs]:
    found = {}
    for (scenario, policy, horizon), part in rows.group_by("scenario", "policy", "T", maintain_order=True):
        ordered = part.sort("run")
        runs = tuple(ordered[name].to_numpy() for name in ("achieved", "even", "best"))
        found[str(scenario), str(policy), int(str(horizon))] = (runs[0], runs[1], runs[2])
    return found


def _available(runs: Runs) -> float:
    _, even, best = runs
    return float(best.sum() / even.sum() - 1.0)


def _resampled(runs: Runs, weights: Floats) -> Floats:
    achieved, even, best = runs
    return np.asarray((weights @ (achieved - even)) / (weights @ (best - even)))


def _gain(runs: Runs, weights: Floats) -> Gain:
    achieved, even, best = runs
    relative = achieved / even - 1.0
    return Gain(
        share=gain_share(achieved, even, best),
        interval=percentiles(_resampled(runs, weights)) if len(achieved) > 1 else None,
        over_even=float(achieved.sum() / even.sum() - 1.0),
        below=float(np.mean(relative < -BELOW)),
        worst=float(relative.min()),
    )


def _played(scores: Mapping[str, Mapping[str, object]], policy: str) -> list[str]:
    """The scenarios that a policy could start in."""
    return [scenario for scenario, here in scores.items() if policy in here]


def _total(
    samples: Mapping[tuple[str, str, int], Runs],
    scores: Mapping[str, Mapping[str, Mapping[int, Gain]]],
    flat: Sequence[str],
    policy: str,
    horizon: int,
    weights: Floats,
) -> Total:
    here = _played(scores, policy)
    gaining = [scenario for scenario in here if scenario not in flat]
    shares = {scenario: scores[scenario][policy][horizon].share for scenario in gaining}
    losses = [-scores[scenario][policy][horizon].over_even for scenario in here if scenario in flat]
    drawn = [_resampled(samples[scenario, policy, horizon], weights) for scenario in gaining]
    where = min(shares, key=lambda scenario: shares[scenario]) if shares else ""
    return Total(
        share=float(np.mean(list(shares.values()))) if shares else None,
        interval=percentiles(np.mean(drawn, axis=0)) if drawn and weights.shape[1] > 1 else None,
        smallest=shares[where] if shares else None,
        where=where,
        below=float(np.mean([scores[scenario][policy][horizon].below for scenario in here])),
        worst=min(scores[scenario][policy][horizon].worst for scenario in here),
        loss=max(losses) if losses else None,
    )
