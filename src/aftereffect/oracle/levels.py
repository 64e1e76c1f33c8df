"""`best_levels`: the oracle for users, with checks; the kernels are in `search`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aftereffect._random import generator
from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.limits import inner_bounds
from aftereffect.oracle.search import NO_TIES, Ints, best_plain, best_with_bonus


def best_levels(
    value: npt.ArrayLike,
    bonus: npt.ArrayLike | None = None,
    zero: bool = False,
    *,
    low: Sequence[int] | int | None = None,
    high: Sequence[int] | int | None = None,
    seed: int | None = None,
) -> tuple[Ints, float]:
    """The levels l with sum N that maximise sum_k value[k, l_k] + max_k bonus[k, l_k], exactly, in O(K N^2).

    `value` and `bonus` are (K, N + 1), a column per level. Without `zero` every arm gets at least level one. `low` and
    `high` are floors and caps in levels. Ties go to the lowest levels of the last arms, or at random with a `seed`.

    >>> best_levels([[0.0, 0.4, 0.5], [0.0, 0.3, 0.9]], zero=True)
    (array([0, 2]), 0.9)
    """
    values = _table("value", value)
    if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2:
        raise AftereffectError(f"value must be (arms, levels + 1), got shape {values.shape}")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise AftereffectError("value must not hold NaN or +inf")
    arms, count = values.shape[0], values.shape[1] - 1
    lows, highs = _bounds(arms, count, zero, low, high)
    levels = np.zeros(arms, dtype=np.int64)
    ties = NO_TIES if seed is None else generator(require_whole("seed", seed, 0))
    plain = np.empty_like(values)
    if bonus is None:
        index = best_plain(values, lows, highs, plain, levels, ties)
    else:
        extra = _table("bonus", bonus)
        if extra.shape != values.shape or np.isnan(extra).any() or np.isposinf(extra).any():
            raise AftereffectError(f"bonus must be finite and of value's shape {values.shape}, got {extra.shape}")
        index = best_with_bonus(
            values, extra, 1.0, lows, highs, plain=plain, taken=np.empty_like(values), levels=levels, rng=ties
        )
    if not np.isfinite(index):
        raise AftereffectError("no allocation has a finite total: -inf excludes every one")
    return levels, float(index)


def _table(what: str, given: npt.ArrayLike) -> Floats:
    """A table of floats, or the user's mistake."""
    try:
        return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise AftereffectError(f"{what} must be a table of numbers, got {shown(given)}") from None


def _each(what: str, arms: int, given: Sequence[int] | int) -> Ints:
    """One whole number per arm, from one for all or one each."""
    array = np.asarray(given)
    if array.shape not in ((), (arms,)) or not np.issubdtype(array.dtype, np.integer):
        raise AftereffectError(f"{what} must be a whole number or one for each of {arms} arms, got {shown(given)}")
    return np.array(np.broadcast_to(array, (arms,)), dtype=np.int64)


def _bounds(
    arms: int, count: int, zero: bool, low: Sequence[int] | int | None, high: Sequence[int] | int | None
) -> tuple[Ints, Ints]:
    """Checked bounds in levels, with levels that no allocation can contain cut off."""
    lows = _each("low", arms, 0 if low is None else low)
    highs = _each("high", arms, count if high is None else high)
    if not zero:
        lows = np.maximum(lows, 1)
    if np.any(lows < 0) or np.any(highs > count) or np.any(lows > highs):
        raise AftereffectError(f"need 0 <= low <= high <= {count}, got low {lows.tolist()} and high {highs.tolist()}")
    if not lows.sum() <= count <= highs.sum():
        raise AftereffectError(
            f"no allocation: {arms} arms on {count} levels with low {lows.tolist()} and high {highs.tolist()}"
        )
    return inner_bounds(lows, highs, count)
