"""Impacts: what the past has made of each arm, f_k(t) in the paper.

Each impact follows one arm's share over time and may be followed by a monotone g. Under a constant share p it tends to
its limit g(p), geometrically: before g it is off by at most rate^s after s rounds (Lemma E.1).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aftereffect.errors import AftereffectError, numbers, require, require_numbers, require_whole, shown
from aftereffect.model.curves import Curve, Floats, polyline, tabulate


class Monotone(ABC):
    """A continuous monotone function of [0, 1] into itself, the paper's g (Sec. 5.2)."""

    kinks: tuple[float, ...] = ()

    @abstractmethod
    def __call__(self, x: npt.ArrayLike) -> Floats: ...

    @property
    @abstractmethod
    def lipschitz(self) -> float: ...


@dataclass(frozen=True)
class Power(Monotone):
    """x^exponent; steeper than any line at 0 when the exponent is below one."""

    exponent: float

    def __post_init__(self) -> None:
        require_numbers("power", exponent=self.exponent)
        require(0 < self.exponent < math.inf, f"power: exponent must be above 0, got {self.exponent}")

    def __call__(self, x: npt.ArrayLike) -> Floats:
        result: Floats = np.asarray(x, dtype=np.float64) ** self.exponent
        return result

    @property
    def lipschitz(self) -> float:
        return self.exponent if self.exponent >= 1 else math.inf


@dataclass(frozen=True)
class Logistic(Monotone):
    """An S-shaped curve through (0, 0) and (1, 1), steepest at `midpoint`."""

    steepness: float = 10.0
    midpoint: float = 0.5

    def __post_init__(self) -> None:
        require_numbers("logistic", steepness=self.steepness, midpoint=self.midpoint)
        require(0 < self.steepness <= 500, f"logistic: steepness must lie in (0, 500], got {self.steepness}")
        require(0 <= self.midpoint <= 1, f"logistic: midpoint must lie in [0, 1], got {self.midpoint}")

    def _raw(self, x: Floats) -> Floats:
        result: Floats = 1.0 / (1.0 + np.exp(-self.steepness * (x - self.midpoint)))
        return result

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self._raw(np.array([0.0, 1.0]))
        return float(low), float(high - low)

    def __call__(self, x: npt.ArrayLike) -> Floats:
        low, span = self._ends
        return np.clip((self._raw(np.asarray(x, dtype=np.float64)) - low) / span, 0.0, 1.0)

    @property
    def lipschitz(self) -> float:
        return self.steepness / 4 / self._ends[1]


@dataclass(frozen=True)
class MonotoneTable(Monotone):
    """A monotone g given at points, linear between them, constant outside."""

    x: Sequence[float]
    y: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", numbers("g: x", self.x))
        object.__setattr__(self, "y", numbers("g: y", self.y))
        steps = np.diff(self._curve.y)
        require(bool(np.all(steps >= 0) or np.all(steps <= 0)), f"g must be monotone, got y = {list(self.y)}")

    @cached_property
    def _curve(self) -> Curve:
        return polyline(self.x, self.y, what="g")

    @property
    def kinks(self) -> tuple[float, ...]:  # type: ignore[override]
        return tuple(map(float, self._curve.x))

    def __call__(self, x: npt.ArrayLike) -> Floats:
        return self._curve(x)

    @property
    def lipschitz(self) -> float:
        return self._curve.lipschitz


@dataclass(frozen=True)
class Compiled:
    """An impact as the compiled world keeps it: a recursion with a growing weight, or a window.

    The recursion is f += (share - f)/Z with Z = 1 + memory Z (the discounted average (2)); exponential smoothing is the
    same with Z already at its limit.
    """

    memory: float
    start: float
    weight: float
    window: int


class Impact(ABC):
    """What one arm's shares so far amount to."""

    g: Monotone | None
    transient: ClassVar[bool] = False  # does a constant share from the first round need time to reach its limit?

    @property
    @abstractmethod
    def rate(self) -> float | None:
        """gamma in |f(t + s) - p| <= gamma^s; None when a user's own impact does not say."""

    @abstractmethod
    def compiled(self) -> Compiled | None:
        """How the compiled world keeps it; None for the slow path."""

    def limit(self, p: npt.ArrayLike) -> Floats:
        """Where the impact tends when the share stays at p: g(p)."""
        share = np.asarray(p, dtype=np.float64)
        return share if self.g is None else self.g(share)

    def response_curve(self, response: Curve) -> Curve:
        """The response as a function of the impact before g, r(g(.)): the paper's r' of Sec. 5.2."""
        g = self.g
        if g is None:
            return response
        corners = [*g.kinks]
        fine = np.linspace(0.0, 1.0, 4097)
        image = g(fine)
        if image[0] > image[-1]:
            image, fine = image[::-1], fine[::-1]
        if len(response.x) < 64:  # piecewise linear: its few knots are kinks of the composition
            corners += [float(np.interp(v, image, fine)) for v in response.x]
        return tabulate(lambda x: response(g(x)), kinks=corners)


def _check_memory(kind: str, memory: float) -> None:
    require_numbers(kind, memory=memory)
    require(0 <= memory < 1, f"{kind}: memory must lie in [0, 1), got {memory}")


def _check_g(kind: str, g: object) -> None:
    known = "Power, Logistic or MonotoneTable"
    require(g is None or isinstance(g, Monotone), f"{kind}: g must be a monotone function ({known}), got {shown(g)}")


def memory_of(half_life: float) -> float:
    """The memory under which a share's weight halves in `half_life` rounds.

    >>> round(memory_of(1.0), 3)
    0.5
    """
    require_numbers("impact", half_life=half_life)
    require(half_life > 0, f"half_life must be above 0 rounds, got {half_life}")
    return float(0.5 ** (1.0 / half_life))


@dataclass(frozen=True)
class Instant(Impact):
    """No memory: the impact is today's share (action-dependent bandits, gamma = 0)."""

    g: Monotone | None = None

    def __post_init__(self) -> None:
        _check_g("instant", self.g)

    @property
    def rate(self) -> float:
        return 0.0

    def compiled(self) -> Compiled:
        return Compiled(0.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Discounted(Impact):
    """The paper's discounted average (2) of all shares so far, today's included; give `memory` or `half_life`."""

    memory: float | None = None
    g: Monotone | None = None
    half_life: float | None = None

    def __post_init__(self) -> None:
        given = (self.memory is not None) + (self.half_life is not None)
        require(given == 1, "discounted: give either memory or half_life")
        _check_memory("discounted", self.rate)
        _check_g("discounted", self.g)

    @property
    def rate(self) -> float:
        if self.memory is not None:
            return self.memory
        assert self.half_life is not None
        return memory_of(self.half_life)

    def compiled(self) -> Compiled:
        return Compiled(self.rate, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Smoothed(Impact):
    """Exponential smoothing from a start value: f = memory f + (1 - memory) p. It has a transient."""

    memory: float
    start: float = 0.0
    g: Monotone | None = None
    transient: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_memory("smoothed", self.memory)
        _check_g("smoothed", self.g)
        require_numbers("smoothed", start=self.start)
        require(0 <= self.start <= 1, f"smoothed: start must lie in [0, 1], got {self.start}")

    @property
    def rate(self) -> float:
        return self.memory

    def compiled(self) -> Compiled:
        return Compiled(self.memory, self.start, 1.0 / (1.0 - self.memory), 0)


def started(impact: Impact, share: float) -> Impact:
    """The impact as it is where this share has been held for ever: the average starts there, with its full weight."""
    if isinstance(impact, Instant):
        return impact
    kinds = "discounted averages and instant impacts"
    require(
        isinstance(impact, Discounted), f"start= is for {kinds}, got {shown(impact)} (smoothed has a start of its own)"
    )
    return Smoothed(impact.rate, share, impact.g)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Window(Impact):
    """The plain mean of the last `length` shares (of all, while there are fewer)."""

    length: int
    g: Monotone | None = None

    def __post_init__(self) -> None:
        require_whole("window: length", self.length, 1, 1_000_000)
        _check_g("window", self.g)

    @property
    def rate(self) -> float:
        """exp(-1/length): a window still holding the past is off by 1 - s/length, which is never more."""
        return math.exp(-1.0 / self.length) if self.length > 1 else 0.0

    def compiled(self) -> Compiled:
        return Compiled(0.0, 0.0, 0.0, self.length)


@dataclass(frozen=True)
class OwnImpact(Impact):
    """A user's own impact in plain Python: `step(state, share)` gives the new state and the impact in [0, 1].

    It runs on the slow path. `rate` and `limit_at` (the limit under a constant share) are the user's to state; without a
    limit it is found by holding each share for `SETTLE` rounds.
    """

    step: Callable[[Any, float], tuple[Any, float]]
    start: Any = None
    rate: float | None = None
    limit_at: Callable[[float], float] | None = None
    transient: ClassVar[bool] = True
    SETTLE: ClassVar[int] = 2000
    g: None = None

    def __post_init__(self) -> None:
        require(callable(self.step), f"own impact: step must be a function, got {shown(self.step)}")
        if self.rate is not None:
            _check_memory("own impact", self.rate)

    def compiled(self) -> None:
        return None

    def stepped(self, state: Any, share: float) -> tuple[Any, float]:
        """What `step` gives, if that is a state and a number."""
        answer = self.step(state, share)
        try:
            after, impact = answer
            float(impact)
        except (TypeError, ValueError):
            raise AftereffectError(f"own impact: step must give a pair, (state, impact), got {shown(answer)}") from None
        return after, impact

    def limit(self, p: npt.ArrayLike) -> Floats:
        share = np.asarray(p, dtype=np.float64)
        if self.limit_at is not None:
            found = [float(self.limit_at(float(v))) for v in share.reshape(-1)]
            return np.array(found).reshape(share.shape)
        return self._settled(share)

    @cached_property
    def _settled(self) -> Curve:
        shares = np.linspace(0.0, 1.0, 101)
        limits = []
        for share in shares:
            state, impact = copy.deepcopy(self.start), 0.0
            for _ in range(self.SETTLE):
                state, impact = self.stepped(state, float(share))
            limits.append(impact)
        return polyline(shares.tolist(), limits, what="limit of the own impact")


def discounted_average(allocations: npt.ArrayLike, memory: float) -> Floats:
    """Equation (2) of a sequence of allocations, (rounds, arms)."""
    shares = np.asarray(allocations, dtype=np.float64)
    impacts, value, weight = np.empty_like(shares), np.zeros(shares.shape[1]), 0.0
    for t, share in enumerate(shares):
        weight = 1.0 + memory * weight
        value = value + (share - value) / weight
        impacts[t] = value
    return impacts
