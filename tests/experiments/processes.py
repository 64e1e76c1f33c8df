"""Processes of their own for the tests: an experiment that can be killed, a Dask scheduler and its workers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PATIENCE = 180.0  # seconds; only reached when something is wrong

RUN = """
import sys
from pathlib import Path
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.run import run_spec
from aftereffect.experiments.spec import load_spec
try:
    run_spec(load_spec(sys.argv[1]), Path(sys.argv[2]), executor=Threads(2))
except KeyboardInterrupt:
    sys.exit(130)
"""

# A few seconds of work in many shards.
LONG = """\
name = "long"
horizon = 500000
runs = 4
checkpoints = 3

[[problems]]
family = "gaussian"
memory = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]

[[policies]]
policy = "d-ucb"
discount = [0.7, 0.9]

[[policies]]
policy = "round-robin"
"""


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that will happen."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


@contextmanager
def running(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A Python process that does not outlive the test."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def cluster(directory: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """A scheduler on a free port of the loopback interface, and workers: its address, and the processes, it first."""
    address_file = directory / "scheduler.json"
    here = ("--host", "127.0.0.1", "--scheduler-file", address_file)
    with ExitStack() as stack:
        scheduler = ("-m", "distributed.cli.dask_scheduler", *here, "--port", "0", "--no-dashboard")
        processes = [stack.enter_context(running(*scheduler))]
        until(lambda: _address(address_file) is not None, "the scheduler's address")
        worker = ("-m", "distributed.cli.dask_worker", *here, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for i in range(workers):
            processes.append(stack.enter_context(running(*worker, "--local-directory", directory / f"worker-{i}")))
        yield _address(address_file) or "", processes


def _address(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text())["address"])
    except (OSError, ValueError, KeyError):
        return None
