"""Who is better in the arena: what each gains on Algorithm 3, ranks, stress won, and where luck was at work.

Everything is computed from the tidy rows that the arena leaves behind: one per policy and run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars

from aftereffect._sources import is_ours
from aftereffect.experiments.arena import KINDS, REFERENCES, Arena, Match, Scenario
from aftereffect.experiments.statistics import Interval, ends, mean_of, percentiles, resampling
from aftereffect.model.curves import Floats
from aftereffect.model.family_notation import family_from
from aftereffect.oracle.best_fixed import best_fixed
from aftereffect.policies.base import Policy
from aftereffect.simulation.simulate import draw_instance

FLOOR = 1.0  # one reward in the whole run: a mean regret below it gives no ratio; who moves may earn more than all who hold still

LUCKY = 2.0  # a policy that does not learn, within so many times of the best learner's regret, owes it to the scenario
NEAR = 0.02  # if, besides, it loses less than this a round; else nobody has learned much yet
ONE_ARM = 1e-6  # what the others get, together, of an allocation that gives everything to one arm
ALIKE = 0.02  # two policies whose regrets, run by run, differ by less of their size do the same


@dataclass(frozen=True)
class Score:
    """One policy in one scenario."""

    mean: float
    interval: Interval
    largest: float
    gain: float  # on Algorithm 3, reward a round
    closed: float | None  # the part of Algorithm 3's regret that it saves; none where that has none
    ratio: float | None  # of Algorithm 3's regret to its own; none where one of them is below FLOOR
    rank: int


@dataclass(frozen=True)
class Standing:
    """One policy over the scenarios that it could start in."""

    policy: str
    rank: int | None  # none for a policy that missed scenarios: its mean is over others
    gain: float  # mean over scenarios
    interval: Interval
    smallest: float
    where: str
    scenarios: int
    ratio: float | None  # geometric mean over the scenarios that have one
    ratio_interval: Interval
    ratio_scenarios: int
    speed: float | None


@dataclass(frozen=True)
class Stress:
    """In which families a policy that is not the paper's did better than everyone of it, under one kind of stress."""

    kind: str
    policy: str
    families: int
    lower: tuple[str, ...]
    clearly: tuple[str, ...]  # the paired difference to the best of the paper's excludes zero


@dataclass(frozen=True)
class Luck:
    """A policy that does not learn and yet does well in a scenario."""

    scenario: Scenario
    policy: str
    mean: float
    rank: int
    best: str  # of those that learn
    best_mean: float
    alike: tuple[str, ...]


@dataclass(frozen=True)
class Corner:
    """A policy that gives everything to one arm, whatever it learns, and does well in a scenario: there that is often best."""

    scenario: Scenario
    policy: str
    mean: float
    rank: int
    best: float  # mean regret of the scenario's first
    share: float  # of the scenario's problems whose best allocation gives everything to one arm


@dataclass(frozen=True)
class Board:
    """The leaderboard."""

    arena: Arena
    scores: Mapping[str, Mapping[str, Score]]  # by scenario and policy
    standings: list[Standing]
    stress: list[Stress]
    luck: list[Luck]
    corners: list[Corner]

    def frame(self) -> polars.DataFrame:
        """One row per scenario and policy."""
        return polars.DataFrame(
            [
                {
                    "scenario": scenario,
                    "policy": policy,
                    "regret": s.mean,
                    **ends(s.interval),
                    "largest": s.largest,
                    "gain": s.gain,
                    "closed": s.closed,
                    "ratio": s.ratio,
                    "rank": s.rank,
                }
                for scenario, scores in self.scores.items()
                for policy, s in scores.items()
            ],
            schema_overrides=dict.fromkeys(("low", "high", "closed", "ratio"), polars.Float64),
        )


Samples = dict[str, dict[str, Floats]]


def score(arena: Arena, rows: polars.DataFrame, speed: Mapping[str, float | None] | None = None) -> Board:
    """The leaderboard from the arena's rows."""
    samples: Samples = {match.scenario.name: {} for match in arena.matches}
    for (scenario, policy), part in rows.group_by("scenario", "policy", maintain_order=True):
        samples[str(scenario)][str(policy)] = part.sort("instance", "run")["regret"].to_numpy()
    scores = {scenario: _in_scenario(regrets, arena.scale.horizon) for scenario, regrets in samples.items()}
    return Board(
        arena=arena,
        scores=scores,
        standings=_standings(arena, samples, scores, speed or {}),
        stress=_stress(arena, samples),
        luck=_luck(arena, samples, scores),
        corners=_corners(arena, scores),
    )


def _in_scenario(regrets: Mapping[str, Floats], horizon: int) -> dict[str, Score]:
    means = {policy: float(r.mean()) for policy, r in regrets.items()}
    reference = min(means[key] for key in REFERENCES)
    return {
        policy: Score(
            mean=mean,
            interval=mean_of(regrets[policy]).interval,
            largest=float(regrets[policy].max()),
            gain=(reference - mean) / horizon,
            closed=1.0 - mean / reference if reference > 0 else None,
            ratio=reference / mean if min(reference, mean) >= FLOOR else None,
            rank=1 + sum(other < mean for other in means.values()),
        )
        for policy, mean in means.items()
    }


# Over all scenarios.


def _standings(
    arena: Arena, samples: Samples, scores: Mapping[str, Mapping[str, Score]], speed: Mapping[str, float | None]
) -> list[Standing]:
    drawn = _resampled_means(arena, samples)
    found = []
    for policy in (p.key for p in arena.policies):
        here = {scenario: in_scenario[policy] for scenario, in_scenario in scores.items() if policy in in_scenario}
        if not here:
            continue
        where = min(here, key=lambda scenario: here[scenario].gain)
        ratios = {scenario: s.ratio for scenario, s in here.items() if s.ratio is not None}
        enough = arena.scale.runs > 1
        resampled = [_resampled_gain(drawn[scenario], policy, arena.scale.horizon) for scenario in here]
        found.append(
            Standing(
                policy=policy,
                rank=None,
                gain=float(np.mean([s.gain for s in here.values()])),
                interval=percentiles(np.mean(resampled, axis=0)) if enough else None,
                smallest=here[where].gain,
                where=where,
                scenarios=len(here),
                ratio=float(np.exp(np.mean(np.log(list(ratios.values()))))) if ratios else None,
                ratio_interval=_resampled_ratio([drawn[s] for s in ratios], policy) if ratios and enough else None,
                ratio_scenarios=len(ratios),
                speed=speed.get(policy),
            )
        )
    return _ranked(found, len(scores))


def _ranked(found: list[Standing], scenarios: int) -> list[Standing]:
    found.sort(key=lambda s: -s.gain)
    everywhere = [s.policy for s in found if s.scenarios == scenarios]
    return [replace(s, rank=everywhere.index(s.policy) + 1) if s.scenarios == scenarios else s for s in found]


def _resampled_means(arena: Arena, samples: Samples) -> dict[str, dict[str, Floats]]:
    """Means over resampled runs, by scenario and policy.

    The same runs are taken in every scenario of a kind and for every policy: they share their random numbers, and those of one
    family share their instances too.
    """
    found = {}
    for match in arena.matches:
        regrets = samples[match.scenario.name]
        count = len(next(iter(regrets.values())))
        weights = resampling(count, [int(match.scenario.drawn), count]) / count
        found[match.scenario.name] = {policy: weights @ r for policy, r in regrets.items()}
    return found


def _resampled_gain(means: Mapping[str, Floats], policy: str, horizon: int) -> Floats:
    """What a policy gains a round on Algorithm 3, resample by resample."""
    return np.asarray((_reference(means) - means[policy]) / horizon)


def _reference(means: Mapping[str, Floats]) -> Floats:
    """Regret of the better of Algorithm 3's readings, resample by resample."""
    return np.asarray(np.minimum.reduce([means[key] for key in REFERENCES]))


def _resampled_ratio(means: Sequence[Mapping[str, Floats]], policy: str) -> Interval:
    """How many times less regret than Algorithm 3 it has, in the geometric mean over scenarios, none below FLOOR."""
    logs = [np.log(np.maximum(_reference(m), FLOOR)) - np.log(np.maximum(m[policy], FLOOR)) for m in means]
    return percentiles(np.exp(np.mean(logs, axis=0)))


# Stress.


def is_new(policy: Policy) -> bool:
    """Is it neither the paper's nor one that does not learn: this library's, or a user's?"""
    return policy.learns and not policy.paper


def is_own(policy: Policy) -> bool:
    """Is it this library's, not a user's?"""
    return is_new(policy) and is_ours(type(policy).__module__)


def _of_paper(arena: Arena) -> set[str]:
    """The paper's own policies and those that it compares with, by their keys."""
    return {p.key for p in arena.policies if p.paper}


def _stress(arena: Arena, samples: Samples) -> list[Stress]:
    found = []
    for kind in KINDS:
        scenarios = {m.scenario.family: samples[m.scenario.name] for m in arena.matches if m.scenario.kind == kind}
        for policy in (p.key for p in arena.policies if scenarios and is_new(p)):
            lower, clearly = [], []
            for family, regrets in scenarios.items():
                difference = _difference(regrets, policy, _of_paper(arena))
                if difference is not None and difference.mean() < 0:
                    lower.append(family)
                    interval = mean_of(difference).interval
                    clearly += [family] if interval is not None and interval[1] < 0 else []
            found.append(Stress(kind, policy, len(scenarios), tuple(lower), tuple(clearly)))
    return found


def _difference(regrets: Mapping[str, Floats], policy: str, rivals: set[str]) -> Floats | None:
    """Regret minus that of the best of the paper's, run by run; None if the policy could not start."""
    if policy not in regrets:
        return None
    best = min((r for key, r in regrets.items() if key in rivals), key=lambda r: float(r.mean()))
    return regrets[policy] - best


# Luck.


def _luck(arena: Arena, samples: Samples, scores: Mapping[str, Mapping[str, Score]]) -> list[Luck]:
    found = []
    idle, baselines = {p.key for p in arena.policies if not p.learns}, _of_paper(arena) - set(REFERENCES)
    for match in arena.matches:
        here, regrets = scores[match.scenario.name], samples[match.scenario.name]
        steady = [key for key in here if key in idle]
        alike = {key: _alike(regrets, key, baselines) for key in steady}
        learners = [key for key in here if key not in steady and not any(key in same for same in alike.values())]
        best = min(learners, key=lambda key: here[key].mean)
        for key in steady:
            s, least = here[key], here[best].mean
            close = max(s.mean, FLOOR) <= LUCKY * max(least, FLOOR) and s.mean <= NEAR * arena.scale.horizon
            if close or s.rank == 1:
                found.append(
                    Luck(match.scenario, key, mean=s.mean, rank=s.rank, best=best, best_mean=least, alike=alike[key])
                )
    return found


def _corners(arena: Arena, scores: Mapping[str, Mapping[str, Score]]) -> list[Corner]:
    """The best of those that give everything to one arm, where it comes near the first and such a gift is best at least once."""
    narrow = {p.key for p in arena.policies if p.one_hot and p.learns}
    found = []
    for match in (m for m in arena.matches if not m.scenario.kind):
        here = scores[match.scenario.name]
        key = min(narrow & here.keys(), key=lambda key: here[key].mean, default=None)
        least = min(s.mean for s in here.values())
        if key is None or max(here[key].mean, FLOOR) > LUCKY * max(least, FLOOR):
            continue
        share = share_of_corners(match)
        if share > 0:
            found.append(Corner(match.scenario, key, here[key].mean, here[key].rank, best=least, share=share))
    return found


def share_of_corners(match: Match) -> float:
    """The share of a match's problems whose best fixed allocation gives everything to one arm."""
    family, spec = family_from(match.scenario.problem)[0], match.spec
    best = [best_fixed(draw_instance(family, spec.seed, number)).allocation for number in range(spec.instances)]
    return float(np.mean([allocation.max() > 1.0 - ONE_ARM for allocation in best]))


def _alike(regrets: Mapping[str, Floats], policy: str, baselines: set[str]) -> tuple[str, ...]:
    """Baselines that come down to a policy that does not learn: D-UCB with a small discount takes turns."""
    mine = regrets[policy]
    allowed = ALIKE * np.abs(mine).mean()
    return tuple(key for key, r in regrets.items() if key in baselines and np.abs(r - mine).mean() <= allowed)
