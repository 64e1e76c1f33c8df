"""The hand-written C loops: compiled here, called with the package's own tables and generator words."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aftereffect import DUCB, ActionUCB, Problem
from aftereffect._random import POLICY, WORLD, stream
from aftereffect.model.world import World
from aftereffect.simulation.runs import setting_for
from aftereffect.simulation.simulate import checkpoint_rounds
from bench.rows import Missing

SOURCES = Path(__file__).parent / "c"
OPTIMISE = ("-O3", "-march=native")
# What the loops never meet (NaN, infinities, errno) need not be provided for: without these gcc does not vectorise maxima
# and the programme for two arms takes 1.7 times as long, which would flatter us.
FINITE = ("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffinite-math-only")
# Contracting a * b + c into one rounding changes last bits, with them ties, and with those whole runs: regrets could not be
# compared. It gains nothing here, and the package's kernels do not contract either.
SAME_ROUNDING = ("-ffp-contract=off",)
FLAGS = (*OPTIMISE, *FINITE, *SAME_ROUNDING)


@cache
def compiled(source: str) -> Any:
    """The shared library of one source file."""
    if shutil.which("gcc") is None:
        raise Missing("no gcc here")
    with TemporaryDirectory(prefix="bench-") as folder:
        library = Path(folder) / "loop.so"
        subprocess.run(
            ["gcc", *FLAGS, "-std=c11", "-Wall", "-shared", "-fPIC", str(SOURCES / source), "-o", str(library), "-lm"],
            check=True,
        )
        return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """An array as C sees it."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def number(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(int(value))


def world_arguments(problem: Problem, seed: int, run: int) -> tuple[list[Any], list[np.ndarray]]:
    """What every loop takes first, and the arrays behind it, which must outlive the call."""
    world = problem.world(stream(seed, 0, run, WORLD))
    assert isinstance(world, World)
    policy_rng = stream(seed, 0, run, POLICY)
    held = [world.knots, world.guide, world.impact, world.rng, policy_rng]
    return [number(problem.arms), number(world.knots.shape[1]), *map(pointer, held)], held


def d_ucb(problem: Problem, policy: DUCB, horizon: int, seed: int, name: str = "run_d_ucb") -> Callable[[], np.ndarray]:
    """The C loop for one run; a call gives the sums of expected and realised utility at the checkpoints."""
    run = getattr(compiled("d_ucb.c"), name)
    rounds = checkpoint_rounds(horizon, 50)

    def call() -> np.ndarray:
        shared, held = world_arguments(problem, seed, 0)
        sums = np.zeros((len(rounds), 2))
        constants = [ctypes.c_double(policy.discount), ctypes.c_double(policy.xi)]
        run(*shared, *constants, pointer(rounds), number(len(rounds)), pointer(sums))
        del held
        return sums

    return call


def action_ucb(problem: Problem, policy: ActionUCB, horizon: int, seed: int) -> Callable[[], np.ndarray]:
    """The same for Algorithm 1."""
    run = compiled("action_ucb.c").run_action_ucb
    rounds = checkpoint_rounds(horizon, 50)
    grid = policy.grid(setting_for(problem, horizon, stream(seed, 0, 0, POLICY)))
    factor = ctypes.c_double(policy.scale * np.sqrt(problem.arms))

    def call() -> np.ndarray:
        shared, held = world_arguments(problem, seed, 0)
        sums = np.zeros((len(rounds), 2))
        own = [factor, number(grid.levels), pointer(grid.low), pointer(grid.high)]
        run(*shared, *own, pointer(rounds), number(len(rounds)), pointer(sums))
        del held
        return sums

    return call
