"""Processes that begin with everything imported: most scripts and command lines take less time than importing numba does."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
LIBRARIES = ["polars", "scipy.optimize", "matplotlib.pyplot", "psycopg"]
OURS = ["cli.app", "simulation.simulate", "service.app", "policies.thompson_split"]
FORKS.set_forkserver_preload(LIBRARIES + [f"aftereffect.{module}" for module in OURS])


def run_python(arguments: list[str], where: Path) -> subprocess.CompletedProcess[str]:
    """What `python ARGUMENTS` gives in a directory: a script there, or `-m` and a module, with what either is told."""
    with tempfile.TemporaryDirectory() as kept:
        out, err = Path(kept, "out"), Path(kept, "err")
        process = FORKS.Process(target=_become, args=(arguments, where, out, err, dict(os.environ)))
        process.start()
        process.join()
        assert process.exitcode is not None
        return subprocess.CompletedProcess(arguments, process.exitcode, out.read_text(), err.read_text())


def _become(arguments: list[str], where: Path, out: Path, err: Path, environment: dict[str, str]) -> None:
    for stream, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(where)
    sys.path.insert(0, str(where))
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
