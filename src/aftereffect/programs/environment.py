"""What a decision's bits depend on beside its program: this package's sources, numba, numpy, the processor."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache

from aftereffect import _compile
from aftereffect._sources import own_hash
from aftereffect.policies.base import Policy

Environment = dict[str, str]


def environment(policy: Policy | None = None) -> Environment:
    """The environment of this process; with the hash of a policy's own sources, where it is not this package's."""
    own = "" if policy is None else own_hash(policy)
    return {**_everywhere(), "own": own} if own else _everywhere()


@cache
def _everywhere() -> Environment:
    import llvmlite.binding
    import numba
    import numpy

    processor = f"{platform.system()} {platform.machine()} {llvmlite.binding.get_host_cpu_name()}"
    return {
        "results": _compile.results_hash(),
        "numba": numba.__version__,
        "numpy": numpy.__version__,
        "processor": processor,
    }


def digest(made_with: Environment) -> str:
    """One word for an environment."""
    return hashlib.sha256(json.dumps(made_with, sort_keys=True).encode()).hexdigest()
