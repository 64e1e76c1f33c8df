"""What a simulation gives: one policy's `Result`, several policies' `Comparison`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aftereffect.errors import AftereffectError, require_numbers, require_one_of, shown
from aftereffect.model.curves import Floats
from aftereffect.model.world import Ints
from aftereffect.oracle.best_fixed import BestFixed
from aftereffect.simulation.saving import save_results
from aftereffect.simulation.shown import dataset, html_table
from aftereffect.theory.fair import FairOptimum, pairs_of

if TYPE_CHECKING:
    import polars
    import xarray


class Interval(NamedTuple):
    """A mean with its confidence interval."""

    mean: Floats
    low: Floats
    high: Floats


class Trace(NamedTuple):
    """Every round of every run, each (runs, horizon, arms)."""

    allocation: Floats
    impact: Floats
    seen: Floats
    reward: Floats
    measured: Floats  # fairness measures as seen, NaN where they were not


def in_words(instances: int, runs: int) -> str:
    """How many runs stand behind a number.

    >>> in_words(1, 4), in_words(10, 1)
    ('4 runs', '10 instances x 1 run')
    """
    each = f"{runs} run{'s' * (runs > 1)}"
    return each if instances == 1 else f"{instances} instances x {each}"


def mean_interval(values: Floats, instances: int, level: float = 0.95) -> Interval:
    """Mean over runs with a Student interval, per checkpoint.

    Runs on one instance share its problem, so with several instances it is their means that count as independent.
    """
    from scipy.special import stdtrit

    require_numbers("interval", level=level)
    if not 0 < level < 1:
        raise AftereffectError(f"level must lie between 0 and 1, got {shown(level)}")
    independent = values.reshape(instances, -1, values.shape[-1]).mean(axis=1) if instances > 1 else values
    mean, n = independent.mean(axis=0), len(independent)
    if n < 2:
        return Interval(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf))
    half = stdtrit(n - 1, 0.5 + level / 2) * independent.std(axis=0, ddof=1) / np.sqrt(n)
    return Interval(mean, mean - half, mean + half)


@dataclass(frozen=True, eq=False)
class Parity:
    """How fair the runs were, at the true curves and impacts.

    `violation` is the largest (|pi_i - pi_j| - tolerance)+ over pairs, summed over the rounds up to each checkpoint, and
    `violated` the number of rounds in which it was above zero, both (instances * runs, checkpoints); `measures` are the
    arms' at the checkpoints, (instances * runs, checkpoints, arms). `optimum` is each instance's fair optimum; None where
    no allocation meets the tolerance or floors and caps leave none in steps of half a percent, the impact follows
    activations, responses drift, or there are more than 50 arms.
    `fair_earned` is what that has earned up to each checkpoint on its own history, (instances, checkpoints); NaN without one.
    """

    tolerance: float
    rounds: Ints
    violation: Floats
    violated: Floats
    measures: Floats
    optimum: tuple[FairOptimum | None, ...]
    fair_earned: Floats
    utility: Floats

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of arms, in the order of `gaps`."""
        return pairs_of(self.measures.shape[-1])

    @property
    def gaps(self) -> Floats:
        """|pi_i - pi_j| of each pair at the checkpoints, (instances * runs, checkpoints, pairs)."""
        first, second = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T
        return np.asarray(np.abs(self.measures[..., first] - self.measures[..., second]))

    @property
    def mean_violation(self) -> Floats:
        """The violation's running mean over rounds, (instances * runs, checkpoints)."""
        return self.violation / self.rounds

    @property
    def violated_share(self) -> Floats:
        """The share of rounds in violation so far, (instances * runs, checkpoints)."""
        return self.violated / self.rounds

    @property
    def price(self) -> Floats:
        """The price of fairness on each instance: utility a round that the fair optimum gives up; NaN without one."""
        return np.array([np.nan if o is None else o.price for o in self.optimum])

    @property
    def fair_regret(self) -> Floats:
        """The fair optimum's utility minus the run's, (instances * runs, checkpoints); may be negative: violations pay."""
        runs = len(self.utility) // len(self.fair_earned)
        return np.asarray(np.repeat(self.fair_earned, runs, axis=0) - self.utility)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One policy's runs. Curves are (instances * runs, checkpoints), the runs of one instance next to each other.

    `regret` is pseudo-regret (3); `realised_regret` uses the rewards drawn; `grid_regret` compares with the best allocation of
    the policy's own grid (None without one); `utility` is the expected utility summed up. `allocations` and `impacts` are
    (instances * runs, checkpoints, arms); `allocation` and `impact` those of the last round. `parity` says how fair the runs
    were (None where the problem has no fairness measure). `provenance` says what it was
    computed with and from. Where responses move (drift, change, season), regret is against the best allocation of each moment.
    """

    policy: str
    problem: str
    rounds: Ints
    regret: Floats
    realised_regret: Floats
    grid_regret: Floats | None
    utility: Floats
    allocations: Floats
    impacts: Floats
    instances: int
    runs: int
    best: tuple[BestFixed, ...]
    names: tuple[str, ...]
    trace: Trace | None = None
    parity: Parity | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        """Rounds simulated."""
        return int(self.rounds[-1])

    @property
    def remark(self) -> str:
        """What the intervals leave out, if anything: one instance of a family stands for itself only."""
        family = self.provenance.get("problem", {}).get("kind") == "family"
        return "intervals are over runs on one instance of the family; other instances differ" * (
            family and self.instances == 1
        )

    @property
    def moving(self) -> bool:
        """Do responses move, so that regret is against the best allocation of each moment?"""
        told = self.provenance.get("problem", {})
        return any(told.get(kind) is not None for kind in ("drift", "change", "season"))

    @property
    def benchmarks(self) -> Floats:
        """What regret is measured against, a round up to the horizon on each instance."""
        earned = self.regret[:: self.runs, -1] + self.utility[:: self.runs, -1]
        return np.asarray(earned / self.horizon)

    @property
    def allocation(self) -> Floats:
        """Each run's allocation in the last round."""
        return self.allocations[:, -1]

    @property
    def impact(self) -> Floats:
        """Each run's impact in the last round."""
        return self.impacts[:, -1]

    @property
    def mean(self) -> Floats:
        """Mean regret at each checkpoint."""
        return np.asarray(self.regret.mean(axis=0))

    @property
    def std(self) -> Floats:
        """Standard deviation of the regret over runs at each checkpoint (0 for a single run)."""
        return self.regret.std(axis=0, ddof=1) if len(self.regret) > 1 else np.zeros(len(self.rounds))

    def quantiles(self, *q: float) -> Floats:
        """Quantiles of the regret over runs, (len(q), checkpoints)."""
        for v in q:
            require_numbers("quantiles", q=v)
        if not q or not all(0 <= v <= 1 for v in q):
            raise AftereffectError(f"quantiles must lie in [0, 1], got {list(q)}")
        return np.quantile(self.regret, q, axis=0)

    def interval(self, level: float = 0.95) -> Interval:
        """Mean regret with its confidence interval."""
        return mean_interval(self.regret, self.instances, level)

    def to_frame(self) -> polars.DataFrame:
        """A tidy table, one row per run and checkpoint."""
        import polars

        total, points = self.regret.shape
        columns: dict[str, Any] = {
            "problem": [self.problem] * (total * points),
            "policy": [self.policy] * (total * points),
            "instance": np.repeat(np.arange(total) // self.runs, points),
            "run": np.repeat(np.arange(total) % self.runs, points),
            "round": np.tile(self.rounds, total),
            "regret": self.regret.ravel(),
            "realised_regret": self.realised_regret.ravel(),
            "grid_regret": [None] * (total * points) if self.grid_regret is None else self.grid_regret.ravel(),
            "utility": self.utility.ravel(),
        }
        if self.parity is not None:
            columns |= {"violation": self.parity.violation.ravel(), "violated": self.parity.violated.ravel()}
        return polars.DataFrame(columns, schema_overrides={"grid_regret": polars.Float64})

    def __repr__(self) -> str:
        low, middle, high = self.quantiles(0.1, 0.5, 0.9)[:, -1]
        shares = ", ".join(f"{n} {p:.3f}" for n, p in zip(self.names, self.allocation.mean(axis=0), strict=True))
        per_round = self.mean[-1] / self.horizon
        best = "best allocation of each moment" if self.moving else "best fixed allocation"
        earned = np.mean(self.benchmarks if self.moving else [b.utility for b in self.best])
        return (
            f"Result: {self.policy} on {self.problem}, {in_words(self.instances, self.runs)}, {self.horizon:,} rounds\n"
            f"  regret {self.mean[-1]:,.1f} (sd {self.std[-1]:,.1f}; 10/50/90 percent {low:,.1f} / {middle:,.1f} / {high:,.1f})\n"
            f"  {per_round:.5f} a round of {earned:.4f} that the {best} earns\n"
            f"  last allocation, mean over runs: {shares}" + self._parity_line() + _remark_line(self)
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self).splitlines()[0] + _remark_line(self), {self.policy: self})

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file (numpy's `.npz`) that `ae.load_result` reads."""
        save_results([self], False, Path(path))

    def to_xarray(self) -> xarray.Dataset:
        """Arrays with named dimensions, for which xarray is needed (extra `xarray`)."""
        return dataset([self])

    def _parity_line(self) -> str:
        if self.parity is None:
            return ""
        mean, share = self.parity.mean_violation[:, -1].mean(), self.parity.violated_share[:, -1].mean()
        gap = np.ptp(self.parity.measures[:, -1], axis=-1).mean()
        return (
            f"\n  fairness at tolerance {self.parity.tolerance:g}: violation {mean:.5f} a round, {share:.1%} of rounds in "
            f"violation, last gap {gap:.4f}"
        )


def _remark_line(result: Result) -> str:
    return f"\n  {result.remark}" if result.remark else ""


class Comparison(Mapping[str, Result]):
    """Several policies' results on the same random numbers, by the policies' keys."""

    def __init__(self, results: list[Result]) -> None:
        self._results = {r.policy: r for r in results}

    def __getitem__(self, key: str) -> Result:
        require_one_of("policy in this comparison:", key, self._results)
        return self._results[key]

    def __contains__(self, key: object) -> bool:
        return key in self._results

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def rounds(self) -> Ints:
        """Checkpoints, the same for all."""
        return next(iter(self._results.values())).rounds

    def difference(self, policy: str, baseline: str, level: float = 0.95) -> Interval:
        """Regret of a policy minus a baseline's, run by run on the same random numbers, with its confidence interval."""
        first, second = self[policy], self[baseline]
        return mean_interval(first.regret - second.regret, first.instances, level)

    def to_frame(self) -> polars.DataFrame:
        """A tidy table, one row per policy, run and checkpoint."""
        import polars

        return polars.concat([r.to_frame() for r in self._results.values()], how="diagonal")

    def to_xarray(self) -> xarray.Dataset:
        """Arrays with named dimensions, for which xarray is needed (extra `xarray`)."""
        return dataset(list(self._results.values()))

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file (numpy's `.npz`) that `ae.load_result` reads."""
        save_results(list(self._results.values()), True, Path(path))

    def _repr_html_(self) -> str:
        first = next(iter(self._results.values()))
        return html_table(repr(self).splitlines()[0] + _remark_line(first), self._results)

    def __repr__(self) -> str:
        first = next(iter(self._results.values()))
        width = max(len(name) for name in self._results)
        runs = in_words(first.instances, first.runs)
        head = f"Comparison on {first.problem}, {runs}, {first.horizon:,} rounds (same random numbers)"
        lines = [head, f"  {'policy':<{width}}  {'regret':>12}  {'95 percent interval':>25}  {'sd':>10}"]
        for name, result in sorted(self._results.items(), key=lambda item: item[1].mean[-1]):
            mean, low, high = (v[-1] for v in result.interval())
            span = f"{low:,.1f} to {high:,.1f}" if np.isfinite(low) else "one run only"
            lines.append(f"  {name:<{width}}  {mean:>12,.1f}  {span:>25}  {result.std[-1]:>10,.1f}")
        return "\n".join(lines) + _remark_line(first)
