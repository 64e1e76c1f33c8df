"""What `docs/theory.md` measures beside the paper's bounds, as plain data. About two minutes on two cores.

python -m aftereffect.experiments.theory_rows --out out/theory.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aftereffect._files import write_output
from aftereffect.experiments.slopes import (
    Learner,
    SumUCB,
    hard_slope,
    log_slope,
    measured_slope,
    one_best,
    switching_slope,
    two_peaks,
)
from aftereffect.model.catalog import problem
from aftereffect.policies.action_ucb import ActionUCB
from aftereffect.policies.base import Policy
from aftereffect.policies.cucb import CUCB
from aftereffect.policies.exp3 import Exp3
from aftereffect.policies.phased import HistoryUCB
from aftereffect.policies.simple import Fixed
from aftereffect.policies.thompson import Thompson
from aftereffect.policies.ucb1 import UCB1
from aftereffect.simulation.simulate import simulate
from aftereffect.theory import bounds
from aftereffect.theory.hard import compare_history_with_action

Row = dict[str, Any]
SWITCHING_HORIZONS = (100_000, 1_000_000, 5_000_000)
STANDING_HORIZONS = (100_000, 1_000_000)


def example_rows() -> Iterator[Row]:
    """Regret a round on Example 1 in the second half of the horizon."""
    cases: list[tuple[Policy, int]] = [(p, 50_000) for p in (Thompson(), UCB1(), Exp3(), HistoryUCB())]
    for memory in (0.0, 0.4):
        for policy, horizon in [*cases, (HistoryUCB(), 500_000)]:
            slope = measured_slope(policy, problem("tent", memory=memory), horizon, runs=8, seed=1)
            falls = isinstance(policy, HistoryUCB)
            yield {"policy": policy.key, "memory": memory, "horizon": horizon, "falls": falls, "slope": asdict(slope)}


def hard_rows() -> Iterator[Row]:
    """Regret on App. F's instances as they get harder with T."""
    learners: dict[str, Learner] = {
        "sum-ucb": lambda i: SumUCB(levels=i.grid_levels),
        "sum-ucb:scale=0.4": lambda i: SumUCB(levels=i.grid_levels, scale=0.4),
        "action-ucb": lambda i: ActionUCB(levels=i.grid_levels),
        "cucb": lambda i: CUCB(levels=i.grid_levels),
        "fixed (equal shares)": lambda i: Fixed([1 / i.arms] * i.arms),
    }
    for name, learner in learners.items():
        found = hard_slope(learner, instances=8, seed=5)
        yield {
            "learner": name,
            "slope": asdict(found.slope),
            "horizons": found.horizons,
            "intervals": found.intervals,
            "regret": [float(r.mean()) for r in found.regrets],
            "share": found.shares,
            "twin": [float(t.mean()) for t in found.twins],
        }


def proper_rows() -> Iterator[Row]:
    """App. G's inequality on runs."""
    for name, memory in itertools.product(("brier", "gaussian"), (0.4, 0.8)):
        world = problem(name, arms=2, memory=memory, seed=1)
        for policy in (HistoryUCB(), UCB1()):
            trace = simulate(world, policy, 20_000, 1, seed=1, checkpoints=1, trace=True).trace
            assert trace is not None
            found = compare_history_with_action(world, trace.allocation[0])
            numbers = {"history": found.history_regret, "action": found.action_regret, "slack": found.slack}
            yield {"problem": name, "memory": memory, "policy": policy.key, **numbers, "holds": found.holds}


def switching_rows() -> Iterator[Row]:
    """Grid regret where Algorithm 3 goes to and fro between two best sides."""
    worlds = (("independent", "bernoulli"), ("split", "bernoulli"), ("split", "none"))
    for levels, (feedback, noise) in itertools.product((4, None), worlds):
        world = two_peaks(0.4, noise, feedback)
        samples, slope = switching_slope(HistoryUCB(levels=levels), world, SWITCHING_HORIZONS, seed=1)
        regret = [float(s.mean()) for s in samples]
        yield {"levels": levels, "feedback": feedback, "noise": noise, "regret": regret, "slope": asdict(slope)}


def standing_rows() -> Iterator[Row]:
    """Regret of Algorithms 1 and 3 where one allocation is best and where two far apart tie, beside the theorems' growth."""
    grown = [bounds.action_regret_rate(2, t) for t in STANDING_HORIZONS]
    rate = math.log(grown[1] / grown[0]) / math.log(STANDING_HORIZONS[1] / STANDING_HORIZONS[0])
    learners: tuple[tuple[Policy, float], ...] = ((ActionUCB(), 0.0), (HistoryUCB(), 0.4))
    worlds = itertools.product((one_best, two_peaks), (("independent", "bernoulli"), ("split", "none")))
    for (policy, memory), (world, (feedback, noise)) in itertools.product(learners, list(worlds)):
        made = world(memory, noise, feedback)
        samples = [simulate(made, policy, t, 4, seed=1, checkpoints=1).regret[:, -1] for t in STANDING_HORIZONS]
        slope = log_slope(STANDING_HORIZONS, samples, rate, seed=1)
        regret = [float(s.mean()) for s in samples]
        about = {"policy": policy.key, "memory": memory, "problem": made.label, "feedback": feedback, "noise": noise}
        yield {**about, "regret": regret, "slope": asdict(slope)}


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description="Measure what docs/theory.md shows.")
    parser.add_argument("--out", type=Path, default=Path("out/theory.json"))
    target = parser.parse_args().out
    parts = {
        "example": example_rows,
        "hard": hard_rows,
        "properness": proper_rows,
        "switching": switching_rows,
        "standing": standing_rows,
    }
    write_output(target, json.dumps({name: list(rows()) for name, rows in parts.items()}, indent=1).encode())


if __name__ == "__main__":
    main()
