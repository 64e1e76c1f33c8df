"""Does a state that was read from a file make sense? Kernels trust theirs: a NaN or a wrong place would loop or crash them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aftereffect.errors import CorruptFile, shown

Array = np.ndarray[Any, Any]

# settled at the start, by policy and setting
DECIDED = ("settings", "low", "high", "bounds", "options", "multipliers", "limits", "floors", "caps", "weeks")
CONSTANTS = "constants"  # too, but for the last of EXP3's: the chance of its last draw
PLACES = ("levels", "trial")  # levels of the grid
ENDLESS, INDICES = ("tally",), 2  # counts and sums, and in this row indices: that of an arm never tried is endless
INDEX = "index"  # too
COUNT = "count"  # how often something was seen or deployed


def require_sense(what: str, sensible: bool, found: Array) -> None:
    """Refuse what no course of rounds leads to."""
    if not sensible:
        raise CorruptFile(f"{what} cannot be {shown(found.ravel().tolist())}")


def check_arrays(arrays: Mapping[str, Array], fresh: Mapping[str, Array]) -> None:
    """What holds for the states of all policies of this package, array by array beside those of a fresh one."""
    for name, array in arrays.items():
        prefix, dot, leaf = name.rpartition(".")
        start = fresh[name]
        for part in array.dtype.names or ():
            _check_part(f"{name}.{part}", part, array[part], start[part], leaf in DECIDED)
        if array.dtype.kind == "f":
            require_sense(name, not np.isnan(array).any(), array)
            if not np.isinf(start).any():
                bounded = array[:INDICES] if leaf in ENDLESS else array
                require_sense(name, not np.isinf(bounded).any(), array)
        if leaf == "rng":
            require_sense(name, bool(array.any()), array)  # a generator of zeros gives zeros for ever
        if leaf in DECIDED and array.dtype.names is None:
            require_sense(name, _same(array, start), array)
        if leaf == CONSTANTS:
            settled = len(array) - (f"{prefix}{dot}tree" in arrays)
            require_sense(name, _same(array[:settled], start[:settled]), array)
        bounds = fresh.get(f"{prefix}{dot}bounds")
        high = fresh.get(f"{prefix}{dot}high", None if bounds is None else bounds[1])
        if leaf in PLACES and high is not None:
            require_sense(name, bool(np.all((array >= 0) & (array <= high.max()))), array)


def _check_part(name: str, part: str, numbers: Array, start: Array, decided: bool) -> None:
    """What holds for one of the names of records."""
    if numbers.dtype.kind == "f":
        require_sense(name, not np.isnan(numbers).any(), numbers)
        require_sense(name, bool(part == INDEX or np.isinf(start).any() or np.isfinite(numbers).all()), numbers)
    if part == COUNT:
        require_sense(name, bool((numbers >= 0).all()), numbers)
    if decided:
        require_sense(name, _same(numbers, start), numbers)


def _same(array: Array, start: Array) -> bool:
    """Equal, but for the rounding of parameters that were given as shorter floats than files keep."""
    return bool(np.allclose(array, start, rtol=1e-6, atol=0))


def check_shares(what: str, shares: Array) -> None:
    """Shares of one round, as an agent deploys them."""
    on_simplex = np.all((shares >= 0) & (shares <= 1)) and abs(shares.sum() - 1) <= 1e-6
    require_sense(what, bool(on_simplex), shares)
