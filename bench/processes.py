"""Whole processes: how soon the command line answers, how soon a second process simulates, and how much memory it takes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.rows import Missing, Row, at_most
from bench.timing import seconds

REPETITIONS = 7

FIRST_SIMULATION = """
import aftereffect as ae
problem = ae.problem("gaussian", arms=2, memory=0.4, seed=7)
ae.simulate(problem, ae.policy("history-ucb"), horizon=10_000, runs=10, seed=1)
"""

FIRST_DECISION = """
import time
import aftereffect as ae
agent = ae.recommended(3).start(3, seed=1, feedback="split", start="even")
agent.ask()
agent.tell([0.5, 0.4, 0.6])
print(time.process_time())
"""

FIRST_RUN = """
import time
import aftereffect as ae
ae.simulate(ae.problem("gaussian", arms=2, memory=0.4, seed=7), ae.recommended(2, 1_000), horizon=1_000, runs=1, seed=1)
print(time.process_time())
"""

PEAK = """
import json, resource, sys
import aftereffect as ae
problem = ae.problem("gaussian", arms=2, memory=0.4, seed=7)
ae.simulate(problem, ae.policy("d-ucb"), horizon=int(sys.argv[1]), runs=4, seed=1, threads=1)
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
"""


def process_seconds(command: list[str]) -> float:
    """Median wall time of a process, after one that warms the caches."""

    def once() -> None:
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            raise Missing("the command fails")

    once()
    return statistics.median(seconds(once) for _ in range(REPETITIONS))


def help_time() -> list[Row]:
    command = Path(sys.executable).with_name("aftereffect")
    if not command.exists():
        raise Missing("the command is not installed")
    took = process_seconds([str(command), "--help"])
    return [at_most("aftereffect --help", took, 0.5, f"wall time, median of {REPETITIONS}", " s")]


def second_process() -> list[Row]:
    took = process_seconds([sys.executable, "-c", FIRST_SIMULATION])
    note = f"whole process, history-ucb, median of {REPETITIONS}"
    return [at_most("a second process's first simulate, cache warm", took, 2.5, note, " s")]


def cold_start() -> list[Row]:
    """What compiling costs the very first time: processor seconds of a process with an empty cache."""
    agent, simulation = (_cold_seconds(code) for code in (FIRST_DECISION, FIRST_RUN))
    note = "processor time, nothing compiled before; the recommended policy"
    return [
        at_most("the first ask and tell, cold", agent, 12.0, note, " s", digits=1),
        at_most("the first simulate, cold", simulation, 20.0, note, " s", digits=1),
    ]


def _cold_seconds(code: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "XDG_CACHE_HOME": empty}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout)


def peak_megabytes(horizon: int) -> float:
    done = subprocess.run([sys.executable, "-c", PEAK, str(horizon)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def memory() -> list[Row]:
    """The peak at two horizons; the second process also shows what ten times the rounds add."""
    short, long = peak_megabytes(100_000), peak_megabytes(1_000_000)
    note = f"{short:.0f} MB at 100,000 rounds, {long:.0f} MB at 1,000,000 (interpreter and compiler included)"
    return [Row("peak memory at T 1e6 over T 1e5, d-ucb, K 2", f"{long / short:.2f}", note=note)]
