"""Where a result comes from: all that is needed to compute it again, or to see why that gives another number."""

from __future__ import annotations

import dataclasses
import os
import platform
import shlex
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect import _compile
from aftereffect._sources import own_hash
from aftereffect.model.catalog import Family, entry_of
from aftereffect.model.problem import Problem
from aftereffect.policies.base import Policy

LONGEST = 200  # characters of what is told of a parameter that is no plain data


def provenance_of(problem: Problem | Family, policy: Policy, seed: int) -> dict[str, Any]:
    """Seed, problem and policy with their parameters, hashes of the code (this package's, the user's own), versions, machine."""
    entry = entry_of(problem.name) if isinstance(problem, Family) else None
    return {
        "seed": seed,
        "problem": {"kind": type(problem).__name__.lower(), **_parameters(problem)},
        "policy": {"name": policy.name, **_parameters(policy)},
        "code": _compile.results_hash(),
        "own_code": own_hash(policy, problem, (entry.recipe, entry.measure) if entry else None),
        **surroundings(),
    }


@cache
def surroundings(*libraries: str) -> dict[str, Any]:
    """The versions of what computes, with further libraries, and the machine."""
    return {
        "versions": {name: _version(name) for name in ("aftereffect", "numpy", "numba", *libraries)}
        | {"python": platform.python_version()},
        "machine": {"system": platform.system(), "architecture": platform.machine(), "cores": os.cpu_count()},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def commit_of_checkout() -> str | None:
    """The commit of the package's own checkout, if it runs from one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def written_command() -> str:
    """The command line as a user would type it."""
    return shlex.join(["aftereffect", *sys.argv[1:]])


def _parameters(thing: Any) -> dict[str, Any]:
    return {f.name: _plain(getattr(thing, f.name)) for f in dataclasses.fields(thing)}


def _plain(value: Any) -> Any:
    """As JSON can hold it; what it cannot is told in words."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, Policy):
        return value.key
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."
