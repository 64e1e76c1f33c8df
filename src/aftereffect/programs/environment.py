"""What a decision's bits depend on beside its program: this package's sources, numba, numpy, the processor."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache

from aftereffect import _compile

Environment = dict[str, str]


@cache
def environment() -> Environment:
    """The environment of this process."""
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
