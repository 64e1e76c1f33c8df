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
from scipy.special import stdtrit

from aftereffect._files import write_output
from aftereffect.experiments.arena import Scenario, plain_scenarios
from aftereffect.experiments.gains import gain_share
from aftereffect.experiments.weekly import weekly_scenarios
from aftereffect.model.curves import Floats
from aftereffect.model.family_notation import family_from
from aftereffect.policies.base import Policy
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND, CurveThompson
from aftereffect.policies.curves.state import TUNED, CurvesState
from aftereffect.policies.setting import Setting
from aftereffect.policies.simple import Fixed
from aftereffect.simulation.provenance import commit_of_checkout
from aftereffect.simulation.result import Result
from aftereffect.simulation.simulate import simulate

FACTORS = (0.5, 2.0)
SHARES = ("ease", "kept", "turn")  # of something whole: doubled they are one at most
WEEKS, LONG = 104, 50_000  # long enough that a horizon counts
RUNS, REPEATS, SEED = 8, 8, 32
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
    """What a constant does: how much higher the gain share is, and how many times the regret, than with the usual values."""

    constant: str
    value: float
    factor: float
    gained: float
    regret: float


@dataclass(frozen=True)
class Usual:
    """What the usual values give in the same scenarios, measured several times, each with random numbers of its own."""

    shares: Floats  # (repeats,), as are the next
    regrets: Floats

    @property
    def share(self) -> float:
        return float(self.shares.mean())

    @property
    def regret(self) -> float:
        return float(np.exp(np.log(self.regrets).mean()))

    @property
    def chance(self) -> tuple[float, float]:
        """What 19 of 20 rows stay within if their constant does nothing: gain share up or down, and times the regret."""
        if len(self.shares) < 2:
            return math.inf, math.inf
        wide = float(stdtrit(len(self.shares) - 1, 0.975)) * math.sqrt(1.0 + 1.0 / len(self.shares))
        off, times = (float(wide * found.std(ddof=1)) for found in (self.shares, np.log(self.regrets)))
        return off, math.exp(times)


def measure_usual(runs: int, seed: int, horizon: int = LONG, repeats: int = REPEATS) -> Usual:
    """The usual values, as every row is measured, several times."""
    return Usual(*_measured("caution", 1.0, runs, seed, horizon=horizon, repeats=repeats))


def measure_sensitivity(
    usual: Usual,
    runs: int,
    seed: int,
    say: Callable[[str], None] = lambda _: None,
    horizon: int = LONG,
    constants: Sequence[str] = tuple(TUNED),
) -> Iterator[Sensitivity]:
    """Every constant halved and doubled, on the random numbers of the first of the usual measurements."""
    for constant in constants:
        for factor in FACTORS:
            say(f"{constant} times {factor:g}")
            (share,), (regret,) = _measured(constant, factor, runs, seed, horizon=horizon, repeats=1)
            gained, times = float(share) - usual.share, float(regret) / usual.regret
            yield Sensitivity(constant, TUNED[constant], factor, gained, times)


def _measured(constant: str, factor: float, runs: int, seed: int, horizon: int, repeats: int) -> tuple[Floats, Floats]:
    """Mean gain share and geometric mean regret over the scenarios, of each repeat."""
    weekly = Retuned(memory_bound=UNKNOWN_BOUND, constant=constant, factor=factor)
    known = Retuned(constant=constant, factor=factor)
    shares = [_shares(s, weekly, runs, seed, repeats) for s in weekly_scenarios() if s.name in WEEKLY]
    regrets = [_regrets(s, known, runs, seed, horizon, repeats) for s in plain_scenarios() if s.name in ARENA]
    return np.mean(shares, axis=0), np.exp(np.mean(np.log(regrets), axis=0))


def _shares(scenario: Scenario, policy: Policy, runs: int, seed: int, repeats: int) -> list[float]:
    """Gain share of each repeat."""
    mine, even = (_simulated(scenario, p, WEEKS, runs, seed, repeats) for p in (policy, Fixed()))
    best = even.utility + even.regret
    tables = (_by_repeat(t[:, -1], scenario, repeats) for t in (mine.utility, even.utility, best))
    return [gain_share(*found) for found in zip(*tables, strict=True)]


def _regrets(scenario: Scenario, policy: Policy, runs: int, seed: int, horizon: int, repeats: int) -> Floats:
    """Mean regret of each repeat."""
    found = _simulated(scenario, policy, horizon, runs, seed, repeats).regret[:, -1]
    return np.asarray(_by_repeat(found, scenario, repeats).mean(axis=1).clip(min=1.0))


def _simulated(scenario: Scenario, policy: Policy, horizon: int, runs: int, seed: int, repeats: int) -> Result:
    """Where problems are drawn, each of `runs` is met once in every repeat."""
    each, instances = (repeats, runs) if scenario.drawn else (runs * repeats, 1)
    drawn = family_from(scenario.problem)[0]
    return simulate(drawn, policy, horizon, each, instances, seed, checkpoints=[horizon])


def _by_repeat(values: Floats, scenario: Scenario, repeats: int) -> Floats:
    """One number a run, as they come instance by instance, by repeat: (repeats, runs)."""
    return values.reshape(-1, repeats).T if scenario.drawn else values.reshape(repeats, -1)


def main() -> None:
    """Measure and write it down."""
    parser = argparse.ArgumentParser(description="Measure what docs/sensitivity.md shows.")
    parser.add_argument("--out", type=Path, default=Path("out/sensitivity.json"))
    given = parser.parse_args()
    usual = measure_usual(RUNS, SEED)
    rows = measure_sensitivity(usual, RUNS, SEED, lambda line: print(line, file=sys.stderr, flush=True))
    found: dict[str, Any] = {"runs": RUNS, "repeats": REPEATS, "seed": SEED, "weeks": WEEKS, "horizon": LONG}
    found |= {"usual": (usual.share, usual.regret), "chance": usual.chance}
    found |= {"rows": [asdict(r) for r in rows], "commit": commit_of_checkout()}
    write_output(given.out, json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
