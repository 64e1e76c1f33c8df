"""`fit`: what records say of the curves, of the memory, and of splits that were not tried.

The model is the policy's (`policies.curves`), with what arms have in common (`trend`). Curves are functions of the impact; a
split that is held brings each impact to its share, so in the long run a split earns the sum of share times curve there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars

from aftereffect._random import generator
from aftereffect.model.curves import Floats
from aftereffect.model.history import held_lately
from aftereffect.model.limits import Limits
from aftereffect.oracle.search import Ints
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, levels_near
from aftereffect.policies.curves.estimates import BAND, Curves, fold, mixture, observations, seen_means
from aftereffect.policies.curves.state import CurvesState
from aftereffect.policies.curves.tracks import LEAST_OF_COINS, believable, estimated_memory
from aftereffect.policies.explanation import half_life
from aftereffect.policies.setting import Grid, Setting
from aftereffect.records.advice import CAUTION, Advice, Gains, advice_on, advise, gains_over, judge
from aftereffect.records.checking import Check, check_fit
from aftereffect.records.experiment import ROUNDS, SIZE, Experiment, best_experiment
from aftereffect.records.fair import Measures
from aftereffect.records.reading import read_records
from aftereffect.records.summary import summary
from aftereffect.records.table import Records
from aftereffect.records.trend import Leanings, PlainCurves, leanings


@dataclass(frozen=True)
class Memory:
    """How strongly the past weighs, and how sure that is; `given` where nobody had to estimate it."""

    estimate: float
    low: float
    high: float
    can_tell: bool
    given: bool = False

    @property
    def half_life(self) -> float:
        """Rounds after which a past split weighs half."""
        return half_life(self.estimate)

    def __str__(self) -> str:
        if self.given:
            return f"{self.estimate:.2f} (given)"
        span = f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.estimate:.2f} ({span})" if self.can_tell else f"cannot tell ({span})"


@dataclass(frozen=True)
class Now:
    """Where things stand: the split of the latest rounds, that of the very last, and each arm's impact."""

    allocation: dict[str, float]
    last: dict[str, float]
    impact: dict[str, float]
    expected: float  # reward a round's unit earns if the allocation is held


class Fit:
    """What records say. `curve`, `memory`, `now`; `best` and `what_if` for splits; made by `fit`."""

    def __init__(
        self, records: Records, memory: float | None, memory_bound: float | None, limits: Limits, start: Floats
    ) -> None:
        self.records, self.limits, self._start = records, limits, start
        self.policy = PlainCurves(memory=memory, memory_bound=memory_bound)
        self.setting = Setting(records.arms, feedback="split", rng=generator(0), start=start)
        self._grid = self.policy.grid(self.setting)
        seen, rewards = records.trials, np.nan_to_num(records.rewards)
        self.state: CurvesState = fold(self.policy.state(self.setting), records.shares, seen, rewards)

    @property
    def names(self) -> tuple[str, ...]:
        """The arms."""
        return self.records.names

    @cached_property
    def memory(self) -> Memory:
        """How strongly the past weighs."""
        if self.policy.memory is not None:
            given = float(self.policy.memory)
            return Memory(given, given, given, can_tell=True, given=True)
        state = self.state
        part = believable(state.banks[state.now["track"][0]], state.spread, LEAST_OF_COINS)
        return Memory(**estimated_memory(state.tracks, state.track_evidence, part))

    @cached_property
    def now(self) -> Now:
        """The split of the latest rounds and the impact that the past has made."""
        recent, last = self.recent, self.records.shares[-1]
        impact = self.believed @ self.state.impact
        named = self.records.by_name
        return Now(named(recent), named(last), named(impact), self.what_if(recent).expected)

    @property
    def curves(self) -> Curves:
        """Everything the evidence leaves in, with covariances to today's split."""
        return self.leanings.curves

    @cached_property
    def leanings(self) -> Leanings:
        """The same with what arms have in common."""
        return leanings(self.state, self.home)

    @cached_property
    def believed(self) -> Floats:
        """How far each track is believed."""
        return self.curves.believed(len(self.state.tracks))

    @cached_property
    def gains(self) -> Gains:
        """What every cell earns more than its arm does today."""
        return gains_over(self.leanings, self.home, self.steps)

    @cached_property
    def estimates(self) -> tuple[Floats, Floats]:
        """Mean and deviation of every arm's curve; (arms, N + 1) each."""
        return mixture(self.curves)

    def expected_of(self, levels: Ints) -> float:
        """What some levels earn in the long run, by the estimates, in [0, 1]."""
        return float(levels / self.steps @ self.estimates[0][np.arange(len(levels)), levels])

    @cached_property
    def home(self) -> Ints:
        """Today's split in levels."""
        return levels_near(Grid(self.steps, *Limits.of(self.records.arms).levels(self.steps, zero=True)), self.recent)

    @cached_property
    def recent(self) -> Floats:
        """Today's split: the mean of the latest rounds since the last lasting change."""
        return held_lately(self.records.shares)

    @cached_property
    def units(self) -> float:
        """How much is seen in a round, in the mean of the rounds in which anything was."""
        totals = self.records.trials.sum(axis=1)
        return float(totals[totals > 0].mean())

    @property
    def steps(self) -> int:
        """How fine shares are."""
        return self._grid.levels

    @cached_property
    def visited(self) -> tuple[Floats, Floats]:
        """The lowest and the highest impact at which each arm was seen; NaN where never."""
        counts = observations(self.state)
        low, high = np.full(self.records.arms, np.nan), np.full(self.records.arms, np.nan)
        for k, row in enumerate(counts):
            nodes = np.flatnonzero(row > 0)
            if len(nodes):
                low[k], high[k] = nodes[0] / self.steps, nodes[-1] / self.steps
        return low, high

    def curve(self, name: str | int) -> polars.DataFrame:
        """An arm's response to each share if it is held: share, estimate, low, high (95 percent), observations.

        Where nobody looked the band widens, and the estimate goes part of the way back to the rate that is typical of all arms.
        """
        k = self.records.arm(name)
        mean, deviation = (table[k] for table in self.estimates)
        told = self.records.as_told
        return polars.DataFrame(
            {
                "share": np.arange(self.steps + 1) / self.steps,
                "estimate": told(mean),
                "low": told(np.clip(mean - BAND * deviation, 0.0, 1.0)),
                "high": told(np.clip(mean + BAND * deviation, 0.0, 1.0)),
                "observations": observations(self.state)[k],
            }
        )

    def seen(self, name: str | int) -> tuple[Floats, Floats, Floats]:
        """At which impacts an arm was seen, its mean reward there in the records' unit, and how often; likeliest memory."""
        nodes, means, counts = seen_means(self.state, self.records.arm(name))
        return nodes / self.steps, self.records.as_told(means), counts

    def impacts(self) -> Floats:
        """(rounds, arms): the impact that the past had made by each round, by the memory's estimate."""
        memory, impact, found = self.memory.estimate, self._start, []
        for shares in self.records.shares:
            impact = memory * impact + (1 - memory) * shares
            found.append(impact)
        return np.array(found)

    def best(
        self,
        floors: Any = None,
        caps: Any = None,
        caution: float = CAUTION,
        *,
        seen_only: bool = False,
        tolerance: float | None = None,
    ) -> Advice:
        """The split we would take: the largest expected gain over today's that hardly risks a loss.

        `floors` and `caps` are one number for all or by name; without them, those that the fit was given. `caution` says how
        sure it must be not to earn over 1 percent less than today's split: so many deviations of a normal distribution, 1.28
        for 9 in 10, 2 for 98 in 100. `caution=0` believes the estimates. `seen_only` keeps every share where its arm was seen.
        Where the records have measures, `tolerance` is how far apart those of two arms may be.
        """
        limits = self.limits if floors is None and caps is None else self.records.limits(floors, caps)
        limits = self._within_seen(limits) if seen_only else limits
        if tolerance is None:
            return advise(self, limits, caution)
        return advice_on(self, self.measures.best(limits, caution, tolerance))

    @cached_property
    def measures(self) -> Measures:
        """The arms' fairness measures as curves, where the records have some."""
        return Measures(self)

    def frontier(self) -> polars.DataFrame:
        """What parity costs: every split that is best for some tolerance of the measures, by the estimates."""
        return self.measures.frontier(self.limits)

    def _within_seen(self, limits: Limits) -> Limits:
        """Limits made tighter: no share where its arm was never seen, unless the limits leave nothing else."""
        low, high = (np.nan_to_num(side, nan=default) for side, default in zip(self.visited, (0.0, 1.0), strict=True))
        floors = np.clip(np.minimum(low, self.home / self.steps), limits.floors, limits.caps)
        caps = np.clip(np.maximum(high, self.home / self.steps), floors, limits.caps)
        return Limits.of(self.records.arms, floors.tolist(), caps.tolist())

    def what_if(self, allocation: Any) -> Advice:
        """The same for any split: shares by name, or in the arms' order."""
        return judge(self, self.records.split("allocation", allocation))

    def next(self, experiment: bool = True) -> Experiment | Advice:
        """The small change of today's split that would teach most, and what it costs; else the recommendation."""
        return self.experiment() if experiment else self.best()

    def experiment(self, size: float = SIZE, rounds: int = ROUNDS) -> Experiment:
        """The change of `size` from one arm to another that would teach most if it is held for some rounds."""
        return best_experiment(self, size, rounds)

    def check(self) -> Check:
        """Is the model any good here? Rounds foretold from those before them against what came, in plain words."""
        return check_fit(self)

    def summary(self, tolerance: float | None = None) -> dict[str, Any]:
        """All of it as plain data, with sentences: what `aftereffect learn --json` prints."""
        return summary(self, tolerance)

    def __repr__(self) -> str:
        return f"Fit({self.records.rounds:,} rounds, arms {', '.join(self.names)}, memory {self.memory})"


def fit(
    records: Any,
    *,
    memory: float | None = None,
    memory_bound: float | None = None,
    floors: Any = None,
    caps: Any = None,
    start: Any = None,
    reward_range: Any = None,
) -> Fit:
    """What records say, by the same model that `curve-thompson` decides with.

    `records` are `ae.Records` or what `ae.read_records` takes. `memory` is how strongly the past weighs, where it is known;
    else it is estimated up to `memory_bound` (.95). `floors` and `caps` bound every recommendation. `start` is the split
    held before the first round (default: the records' mean split).
    """
    table = records if isinstance(records, Records) else read_records(records, reward_range=reward_range)
    if memory is None and memory_bound is None:
        memory_bound = UNKNOWN_BOUND
    before = table.shares.mean(axis=0) if start is None else table.split("start", start)
    return Fit(table, memory, memory_bound, table.limits(floors, caps), np.asarray(before / before.sum()))
