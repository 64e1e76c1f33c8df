"""What `docs/robustness.md` shows, as plain data: all of it, or one section at a time while the others stay as they were.

python -m aftereffect.experiments.robustness_rows --out out/robustness.json [--section change] [--seed 6007]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aftereffect._files import write_output
from aftereffect.experiments.long_run import measure_growth, measure_largest_runs, measure_many_arms
from aftereffect.experiments.robustness import (
    measure_alarms,
    measure_bands,
    measure_changes,
    measure_drifts,
    measure_estimates,
    measure_false_alarms,
    measure_quiet_rewards,
    measure_unknown_memory,
)
from aftereffect.simulation.provenance import commit_of_checkout

SEED = 6007
TOLD = (0.5, 0.2, 0.8)
BOUNDS = (0.8, 0.95)
HORIZONS = ((200, 200), (1_000, 200), (20_000, 200))  # rounds, and how many runs of each kind of rewards
TELLING = ((10_000, None), (208, 300))  # rounds and units a round where a wrong memory is told
KNOWN, ESTIMATED, TOLD_RUNS, DRIFTING = 6, 40, 200, 100  # instances or runs of a row
CHANGED, BANDED, QUIET = 20, 40, 12
WEEKS, DEVIATION = 208, 0.02
LARGEST, MANY, MANY_RUNS = 143, 20, 16  # runs of a scenario; arms, and runs with so many
GROWTH = ((100_000, 16), (1_000_000, 16), (10_000_000, 4))  # rounds, and how many runs of each

Part = dict[str, Any]


def _rows(found: Iterable[Any]) -> list[Part]:
    return [asdict(row) for row in found]


def _unknown_memory(seed: int) -> Part:
    rows = _rows(measure_unknown_memory(100_000, KNOWN, seed, BOUNDS))
    return {"rows": rows, "horizon": 100_000, "instances": KNOWN, "bounds": BOUNDS}


def _estimates(seed: int) -> Part:
    rows = [row for bound in BOUNDS for row in _rows(measure_estimates(10_000, ESTIMATED, seed, bound))]
    return {"rows": rows, "horizon": 10_000, "instances": ESTIMATED}


def _noise(seed: int) -> Part:
    bands, quiet = measure_bands(WEEKS, BANDED, seed), measure_quiet_rewards(WEEKS, QUIET, seed, DEVIATION)
    return {"bands": _rows(bands), "quiet": _rows(quiet), "horizon": WEEKS, "deviation": DEVIATION}


def _false_alarms(seed: int) -> Part:
    return {"rows": [row for t, runs in HORIZONS for row in _rows(measure_false_alarms(t, runs, seed))]}


PARTS: dict[str, Callable[[int], Part]] = {
    "unknown-memory": _unknown_memory,
    "estimates": _estimates,
    "false-alarms": _false_alarms,
    "alarms": lambda seed: {
        "rows": [r for t, u in TELLING for r in _rows(measure_alarms(t, TOLD_RUNS, seed, TOLD, u))]
    },
    "drift": lambda seed: {"rows": _rows(measure_drifts(20_000, DRIFTING, seed)), "horizon": 20_000},
    "change": lambda seed: {"rows": _rows(measure_changes(20_000, CHANGED, seed)), "horizon": 20_000},
    "noise": _noise,
    "largest": lambda seed: {"rows": _rows(measure_largest_runs(100_000, LARGEST, seed)), "horizon": 100_000},
    "growth": lambda seed: {"rows": _rows(measure_growth(GROWTH, seed))},
    "many-arms": lambda seed: {
        "rows": _rows(measure_many_arms(MANY, 100_000, MANY_RUNS, seed)),
        "horizon": 100_000,
        "arms": MANY,
    },
}


def main() -> None:
    """Measure and write it down."""
    parser = argparse.ArgumentParser(description="Measure what docs/robustness.md shows.")
    parser.add_argument("--out", type=Path, default=Path("out/robustness.json"))
    parser.add_argument("--section", choices=PARTS, action="append", help="measure this one (default: all)")
    parser.add_argument("--seed", type=int, default=SEED, help="that instances are drawn with (%(default)s)")
    given = parser.parse_args()
    for name in given.section or PARTS:
        part = {**PARTS[name](given.seed), "seed": given.seed, "commit": commit_of_checkout()}
        held = json.loads(given.out.read_text()) if given.out.exists() else {}  # read last: others may have written
        write_output(given.out, json.dumps({**held, name: part}, indent=1).encode())
        print(f"{name} measured", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
