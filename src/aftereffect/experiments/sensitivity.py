"""How much each constant of the curve family matters: halved and doubled, at the weekly scale and in the long run.

python -m aftereffect.experiments.sensitivity --out out/sensitivity.json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_output
from aftereffect.experiments.arena import Scenario, plain_scenarios
from aftereffect.experiments.gains import gain_share
from aftereffect.experiments.weekly import weekly_scenarios
from aftereffect.model.family_notation import family_from
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.curves.state import TUNED, CurvesState
from aftereffect.policies.setting import Setting
from aftereffect.policies.simple import Fixed
from aftereffect.simulation.provenance import commit_of_checkout
from aftereffect.simulation.simulate import simulate

FACTORS = (0.5, 2.0)
SHARES = ("ease", "kept", "turn")  # of something whole: doubled they are one at most
WEEKS, LONG = 104, 50_000  # long enough that a horizon counts
RUNS, SEED = 8, 31
WEEKLY = ("patrol-k5-m0.8-shock", "loan-k3-m0.6", "lipschitz-k4-m0.5-shock", "bump-k4-m0.5", "lending-k4-m0.8-start")
ARENA = ("gaussian-k4-m0.5", "patrol-k2-m0.5", "loan-k2-m0.5", "bump-k2-m0.5", "lipschitz-k2-m0.5", "tent-k2-m0.5")


@dataclass(frozen=True)
class Retuned(CurveThompson):
    """`curve-thompson` with one of its constants multiplied; a share stays one."""

    constant: str = "caution"
    factor: float = 1.0

    def state(self, setting: Setting) -> CurvesState:
        state = super().state(setting)
        most = 1.0 if self.constant in SHARES else math.inf
        state.tuning[self.constant] = min(most, self.factor * TUNED[self.constant])
        return state


@dataclass(frozen=True)
class Sensitivity:
    """What a constant does: how much higher the gain share is, and how many times the regret, than with its usual value."""

    constant: str
    value: float
    factor: float
    gained: float
    regret: float


def measure_sensitivity(
    runs: int,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
    horizon: int = LONG,
    constants: Sequence[str] = tuple(TUNED),
) -> Iterator[Sensitivity]:
    """Every constant halved and doubled, on the same random numbers as its usual value."""
    usual = _measured("caution", 1.0, runs, seed, horizon)
    for constant in constants:
        for factor in FACTORS:
            say(f"{constant} times {factor:g}")
            share, regret = _measured(constant, factor, runs, seed, horizon)
            yield Sensitivity(constant, TUNED[constant], factor, share - usual[0], regret / usual[1])


def _measured(constant: str, factor: float, runs: int, seed: int, horizon: int) -> tuple[float, float]:
    """Mean gain share and geometric mean regret over the scenarios."""
    weekly = Retuned(memory_bound=UNKNOWN_BOUND, constant=constant, factor=factor)
    shares = [_share(scenario, weekly, runs, seed) for scenario in weekly_scenarios() if scenario.name in WEEKLY]
    known = Retuned(constant=constant, factor=factor)
    regrets = [
        _regret(scenario, known, runs, seed, horizon) for scenario in plain_scenarios() if scenario.name in ARENA
    ]
    return float(np.mean(shares)), float(np.exp(np.mean(np.log(regrets))))


def _share(scenario: Scenario, policy: Policy, runs: int, seed: int) -> float:
    mine, even = (
        simulate(family_from(scenario.problem)[0], p, WEEKS, *_scale(scenario, runs), seed, [WEEKS])
        for p in (policy, Fixed())
    )
    return gain_share(mine.utility[:, -1], even.utility[:, -1], even.utility[:, -1] + even.regret[:, -1])


def _regret(scenario: Scenario, policy: Policy, runs: int, seed: int, horizon: int) -> float:
    result = simulate(family_from(scenario.problem)[0], policy, horizon, *_scale(scenario, runs), seed, [horizon])
    return float(max(1.0, result.regret[:, -1].mean()))


def _scale(scenario: Scenario, runs: int) -> tuple[int, int]:
    """Runs and instances."""
    return (1, runs) if scenario.drawn else (runs, 1)


def main() -> None:
    """Measure and write it down."""
    parser = argparse.ArgumentParser(description="Measure what docs/sensitivity.md shows.")
    parser.add_argument("--out", type=Path, default=Path("out/sensitivity.json"))
    given = parser.parse_args()
    rows = measure_sensitivity(RUNS, SEED, lambda line: print(line, file=sys.stderr, flush=True))
    found: dict[str, Any] = {"runs": RUNS, "seed": SEED, "weeks": WEEKS, "horizon": LONG}
    found |= {"rows": [asdict(r) for r in rows], "commit": commit_of_checkout()}
    write_output(given.out, json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
