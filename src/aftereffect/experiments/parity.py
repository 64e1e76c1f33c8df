"""Measured parity: how fair policies are on the catalog's problems, what it costs them, and where fixed multipliers fail.

About five minutes on two cores, the weekly part alone two and a half:

python -m aftereffect.experiments.parity --out out/parity.json [--weekly]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_output
from aftereffect.experiments.multipliers import tune_multipliers
from aftereffect.model.catalog import Family, family
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.fair_thompson import FairThompson
from aftereffect.policies.phased import HistoryUCB
from aftereffect.policies.simple import Fixed
from aftereffect.simulation.provenance import commit_of_checkout
from aftereffect.simulation.result import Parity, Result
from aftereffect.simulation.simulate import draw_instances, simulate
from aftereffect.theory.fair_dual import fair_dual

SCENARIOS = tuple((name, arms) for name in ("lending", "patrol", "loan") for arms in (2, 4))
MEMORY = 0.5
HORIZON, INSTANCES, SEED = 100_000, 8, 2068
WEEKLY_INSTANCES = 40


@dataclass(frozen=True)
class ParityRow:
    """One policy on one scenario: violation a round after a tenth of the horizon, half of it and all, the largest run's, and
    the fair optimum minus the utility a round, mean and largest."""

    problem: str
    arms: int
    policy: str
    violation: tuple[float, float, float]
    largest_violation: float
    violated: float
    lost: float
    largest_lost: float


@dataclass(frozen=True)
class GapRow:
    """The Lagrangian relaxation on one scenario, mean over instances, a round: the price of fairness, the duality gap, and
    how far apart the measures are at the allocation that the best fixed multipliers lead to."""

    problem: str
    arms: int
    price: float
    duality_gap: float
    largest_duality_gap: float
    reached_gap: float


def scenarios(instances: int, units: int | None = None) -> Iterator[tuple[Family, int, int]]:
    """Each scenario's problem at the default tolerance, with its runs and instances: lending is one, the others are drawn."""
    for name, arms in SCENARIOS:
        runs, drawn = (instances, 1) if name == "lending" else (1, instances)
        yield family(name, arms=arms, memory=MEMORY, units=units), runs, drawn


def measure_parity(
    horizon: int, instances: int, seed: int, say: Callable[[str], None] = lambda _: None, trials: int = 40
) -> Iterator[ParityRow]:
    """Each scenario's policies: without fairness, with multipliers tuned on validation runs, and the online policy."""
    for world, runs, drawn in scenarios(instances):
        base = HistoryUCB(zero=True, log="printed")
        tuned = tune_multipliers(world, base, horizon // 10, trials=trials, runs=1, instances=instances, seed=seed)
        policies: list[tuple[str, Policy]] = [
            ("curve-thompson (no fairness)", CurveThompson()),
            ("history-ucb, tuned multipliers", tuned.policy),
            ("fair-thompson", FairThompson()),
        ]
        for label, policy in policies:
            say(f"{world.name} K {world.arms}: {label}")
            points = [horizon // 10, horizon // 2, horizon]
            result = simulate(world, policy, horizon=horizon, runs=runs, instances=drawn, seed=seed, checkpoints=points)
            assert result.parity is not None  # every scenario has a measure
            yield _row(world, label, result.parity, horizon)


def _row(world: Family, label: str, parity: Parity, horizon: int) -> ParityRow:
    mean = parity.mean_violation
    early, middle, late = (float(v) for v in mean.mean(axis=0))
    lost = parity.fair_regret[:, -1] / horizon
    return ParityRow(
        world.name,
        world.arms,
        policy=label,
        violation=(early, middle, late),
        largest_violation=float(mean[:, -1].max()),
        violated=float(parity.violated_share[:, -1].mean()),
        lost=float(lost.mean()),
        largest_lost=float(lost.max()),
    )


def measure_gaps(instances: int, seed: int) -> Iterator[GapRow]:
    """Each scenario's duality gap at the default tolerance, exact on the grid."""
    for world, _, drawn in scenarios(instances):
        duals = [fair_dual(problem) for problem in draw_instances(world, drawn, seed)]
        gaps = np.array([d.duality_gap for d in duals])
        yield GapRow(
            world.name,
            world.arms,
            float(np.mean([d.fair.price for d in duals])),
            float(gaps.mean()),
            float(gaps.max()),
            float(np.mean([d.gap for d in duals])),
        )


@dataclass(frozen=True)
class Kept:
    """How a policy kept to the tolerance and what it earned, means over runs, a round."""

    utility: float
    violated: float  # share of rounds
    violation: float


@dataclass(frozen=True)
class WeeklyRow:
    """Fair-thompson beside the even split at the scale of weekly decisions, in all runs and in those where that is fair."""

    problem: str
    arms: int
    horizon: int
    optimum: float  # the best fair split's utility a round
    fair: Kept
    unknown: Kept  # fair-thompson that is not told the memory
    even: Kept
    runs_even_is_fair: int
    fair_there: Kept | None  # None: in no run
    even_there: Kept | None


WEEKS, UNITS = (104, 208, 520), 200


def measure_weekly_parity(instances: int, seed: int) -> Iterator[WeeklyRow]:
    """Fair-thompson, with the memory told and unknown, and the even split, with units."""
    for world, runs, drawn in scenarios(instances, UNITS):
        fair, unknown, even = (
            simulate(world, policy, horizon=WEEKS[-1], runs=runs, instances=drawn, seed=seed, checkpoints=WEEKS)
            for policy in (FairThompson(), FairThompson(memory_bound=UNKNOWN_BOUND), Fixed())
        )
        assert fair.parity is not None  # every scenario has a measure
        assert even.parity is not None
        there = even.parity.violated_share[:, -1] == 0.0
        every = np.ones_like(there)
        for i, weeks in enumerate(WEEKS):
            optimum = (fair.utility + fair.parity.fair_regret)[:, i].mean() / weeks
            yield WeeklyRow(
                world.name,
                world.arms,
                horizon=weeks,
                optimum=float(optimum),
                fair=_kept(fair, i, every),
                unknown=_kept(unknown, i, every),
                even=_kept(even, i, every),
                runs_even_is_fair=int(there.sum()),
                fair_there=_kept(fair, i, there) if there.any() else None,
                even_there=_kept(even, i, there) if there.any() else None,
            )


def _kept(result: Result, i: int, chosen: Any) -> Kept:
    """At one checkpoint, over some runs."""
    assert result.parity is not None
    numbers = (result.utility / result.rounds, result.parity.violated_share, result.parity.mean_violation)
    return Kept(*(float(n[chosen, i].mean()) for n in numbers))


def main() -> None:
    """Measure and write it down."""
    parser = argparse.ArgumentParser(description="Measure what docs/fairness.md shows.")
    parser.add_argument("--out", type=Path, default=Path("out/parity.json"))
    parser.add_argument("--weekly", action="store_true", help="the weekly part alone")
    given = parser.parse_args()
    weekly = [asdict(r) for r in measure_weekly_parity(WEEKLY_INSTANCES, SEED)]
    found: dict[str, Any] = {"seed": SEED, "weekly_instances": WEEKLY_INSTANCES, "weekly": weekly}
    if not given.weekly:
        rows = measure_parity(HORIZON, INSTANCES, SEED, lambda line: print(line, file=sys.stderr, flush=True))
        found |= {"horizon": HORIZON, "instances": INSTANCES, "rows": [asdict(r) for r in rows]}
        found["gaps"] = [asdict(g) for g in measure_gaps(INSTANCES, SEED)]
    found["commit"] = commit_of_checkout()
    write_output(given.out, json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
