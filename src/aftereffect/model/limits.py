"""Floors and caps on each arm's share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from aftereffect.errors import AftereffectError, numbers, require_numbers, shown
from aftereffect.model.curves import Floats

Bounds = TypeVar("Bounds", Floats, npt.NDArray[np.int64])
_SLACK = 1e-9  # floors of .1 and .2 must land on levels 1 and 2 of 10 although they are not exact in binary
_SPLIT_SLACK = 1e-6  # people write shares with few digits
_EXACT = 1e-9  # beyond it they are scaled to sum to one


@dataclass(frozen=True, eq=False)
class Limits:
    """The least and the most share each arm may get."""

    floors: Floats
    caps: Floats

    @classmethod
    def of(
        cls,
        arms: int,
        floors: Sequence[float] | float | None = None,
        caps: Sequence[float] | float | None = None,
        names: Sequence[str] | None = None,
    ) -> Limits:
        """Checked limits; a single number holds for every arm. Messages call the arms by their names, if they have any."""
        low, high = _spread("floors", arms, 0.0, floors), _spread("caps", arms, 1.0, caps)
        if np.any(low > high):
            k = int(np.argmax(low > high))
            arm = k if names is None else repr(names[k])
            raise AftereffectError(f"floors must not exceed caps: arm {arm} has floor {low[k]:g} and cap {high[k]:g}")
        if low.sum() > 1 + _SLACK:
            raise AftereffectError(f"floors must sum to at most 1, got {low.sum():g}")
        if high.sum() < 1 - _SLACK:
            raise AftereffectError(f"caps must sum to at least 1, got {high.sum():g}")
        return cls(low, high)

    @property
    def trivial(self) -> bool:
        """True when nothing is limited."""
        return bool(np.all(self.floors <= 0.0) and np.all(self.caps >= 1.0))

    def levels(self, count: int, zero: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Lowest and highest level of each arm on a grid of `count` equal steps, rounded inward.

        Levels that no allocation can contain (because of what the other arms must have) are cut off too.
        """
        low = np.ceil(self.floors * count - _SLACK).astype(np.int64)
        high = np.floor(self.caps * count + _SLACK).astype(np.int64)
        if not zero:
            low = np.maximum(low, 1)
        if np.any(low > high) or low.sum() > count or high.sum() < count:
            raise AftereffectError(
                f"floors {self.floors.tolist()} and caps {self.caps.tolist()} leave no allocation on a grid of {count} "
                f"levels {'with' if zero else 'without'} zero; use more levels{'' if zero else ', zero=True'} or wider limits"
            )
        return inner_bounds(low, high, count)

    @property
    def even(self) -> Floats:
        """Equal shares, moved as little as needed into the floors and caps: the water level that adds up to one."""
        arms = len(self.floors)
        return np.full(arms, 1.0 / arms) if self.trivial else self._shifted(np.zeros(arms), 0.0)

    def nearest(self, split: Floats) -> Floats:
        """A split moved as little as needed into the floors and caps: shares shifted alike, then clipped."""
        return split if self.allows(split) else self._shifted(split, -1.0)

    def _shifted(self, split: Floats, low: float) -> Floats:
        high = 1.0
        for _ in range(100):
            level = (low + high) / 2
            if np.clip(split + level, self.floors, self.caps).sum() < 1:
                low = level
            else:
                high = level
        shares: Floats = np.clip(split + high, self.floors, self.caps)
        return np.asarray(shares / shares.sum())

    def allows(self, allocation: Floats) -> bool:
        """Does an allocation keep to the limits, but for rounding?"""
        return bool(np.all(allocation >= self.floors - 1e-9) and np.all(allocation <= self.caps + 1e-9))


def inner_bounds(low: Bounds, high: Bounds, total: float) -> tuple[Bounds, Bounds]:
    """Bounds, in levels or shares, without what no allocation can contain because of what the other arms must have.

    >>> inner_bounds(np.array([0, 2]), np.array([4, 4]), 4)
    (array([0, 2]), array([2, 4]))
    """
    return np.maximum(low, total - (high.sum() - high)), np.minimum(high, total - (low.sum() - low))


def check_step(step: object) -> float | None:
    """The largest change of a share a round, or the user's mistake; None: no limit."""
    if step is None:
        return None
    require_numbers("step", step=step)
    if not 0 < float(step) <= 1:  # type: ignore[arg-type]
        raise AftereffectError(f"step must lie in (0, 1], got {shown(step)}")
    return float(step)  # type: ignore[arg-type]


def as_start(value: object, limits: Limits) -> Floats:
    """The split held until today: a list of shares within the floors and caps, or the word `even`."""
    if isinstance(value, str):
        if value != "even":
            raise AftereffectError(f"start must be a list of shares or 'even', got {shown(value)}")
        return limits.even
    shares, arms = np.array(numbers("start", value)), len(limits.floors)
    if len(shares) != arms:
        raise AftereffectError(f"start: one share for each of {arms} arms, got {shares.tolist()}")
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > _SPLIT_SLACK:
        raise AftereffectError(f"start must be shares in [0, 1] that sum to 1, got {shares.tolist()}")
    if not limits.allows(shares):
        k = int(np.argmax(np.maximum(limits.floors - shares, shares - limits.caps)))
        raise AftereffectError(
            f"start {shares.tolist()} breaks the floors or caps: arm {k} has {shares[k]:g}, allowed is {limits.floors[k]:g} "
            f"to {limits.caps[k]:g} (told as history= instead, today's split is left step by step)"
        )
    return shares if abs(shares.sum() - 1) <= _EXACT else np.asarray(shares / shares.sum())


def _spread(what: str, arms: int, default: float, value: Sequence[float] | float | None) -> Floats:
    """One limit per arm, from one for all or one each."""
    if value is None:
        return np.full(arms, default)
    given = numbers(what, [value] * arms if np.ndim(value) == 0 else value)
    if len(given) != arms:
        raise AftereffectError(f"{what}: one number or one for each of {arms} arms, got {list(given)}")
    result = np.array(given)
    if not np.all((result >= 0) & (result <= 1)):
        raise AftereffectError(f"{what} must lie in [0, 1], got {list(given)}")
    return result
