"""Does a state that was read from a file make sense? Kernels trust theirs: a NaN or a wrong place would loop or crash them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aftereffect.errors import CorruptFile, shown

Array = np.ndarray[Any, Any]

# settled at the start, by policy and setting
DECIDED = ("settings", "low", "high", "options", "multipliers", "floors", "caps")
PLACES = ("levels", "trial")  # levels of the grid
# parts of records
INDEX = "index"  # that of an arm never tried is endless
COUNT = "count"  # how often something was seen or deployed


def require_sense(what: str, sensible: bool, found: Array) -> None:
    """Refuse what no course of rounds leads to."""
    if not sensible:
        raise CorruptFile(f"{what} cannot be {shown(found.ravel().tolist())}")


def check_arrays(arrays: Mapping[str, Array], fresh: Mapping[str, Array]) -> None:
    """What holds for the states of all policies of this package, array by array beside those of a fresh one."""
    for name, array in arrays.items():
        prefix, dot, field = name.rpartition(".")
        for part in array.dtype.names or (None,):
            numbers, start = (array, fresh[name]) if part is None else (array[part], fresh[name][part])
            said = name if part is None else f"{name}.{part}"
            _check_numbers(said, part, numbers, start)
            if field in DECIDED:
                require_sense(said, _same(numbers, start), numbers)
        if field == "rng":
            require_sense(name, bool(array.any()), array)  # a generator of zeros gives zeros for ever
        high = fresh.get(f"{prefix}{dot}high")
        if field in PLACES and high is not None:
            require_sense(name, bool(np.all((array >= 0) & (array <= high.max()))), array)


def _check_numbers(said: str, part: str | None, numbers: Array, start: Array) -> None:
    """What holds for an array, or for a part of records."""
    if numbers.dtype.kind == "f":
        require_sense(said, not np.isnan(numbers).any(), numbers)
        endless = part == INDEX or np.isinf(start).any()
        require_sense(said, bool(endless or np.isfinite(numbers).all()), numbers)
    if part == COUNT:
        require_sense(said, bool((numbers >= 0).all()), numbers)


def _same(array: Array, start: Array) -> bool:
    """Equal, but for the rounding of parameters that were given as shorter floats than files keep."""
    return bool(np.allclose(array, start, rtol=1e-6, atol=0))


def check_shares(what: str, shares: Array) -> None:
    """Shares of one round, as an agent deploys them."""
    on_simplex = np.all((shares >= 0) & (shares <= 1)) and abs(shares.sum() - 1) <= 1e-6
    require_sense(what, bool(on_simplex), shares)
