"""Responses: the expected reward of an arm as a function of its impact, r_k in the paper."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect.errors import AftereffectError, numbers, require, require_numbers, shown
from aftereffect.model.curves import Curve, Floats, polyline, tabulate


class Response(ABC):
    """Expected reward in [0, 1] as a function of the impact in [0, 1]."""

    @cached_property
    @abstractmethod
    def curve(self) -> Curve:
        """The response as the world reads it."""

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant L_k on [0, 1]."""
        return self.curve.lipschitz

    def __call__(self, x: npt.ArrayLike) -> Floats:
        return self.curve(x)


@dataclass(frozen=True)
class Gaussian(Response):
    """The paper's response, a Gaussian density scaled to height one: exp(-(x - center)^2 / (2 variance)).

    >>> round(float(Gaussian(0.5)(0.0)), 6)
    0.778801
    """

    center: float
    variance: float = 0.5

    def __post_init__(self) -> None:
        require_numbers("gaussian", center=self.center, variance=self.variance)
        require(self.variance > 0, f"gaussian: variance must be above 0, got {self.variance}")

    @cached_property
    def curve(self) -> Curve:
        return tabulate(lambda x: np.exp(-((x - self.center) ** 2) / (2 * self.variance)), kinks=(self.center,))

    @property
    def lipschitz(self) -> float:
        spread = math.sqrt(self.variance)
        steepest = [x for x in (0.0, 1.0, self.center - spread, self.center + spread) if 0.0 <= x <= 1.0]
        return max(abs(x - self.center) / self.variance * float(self(x)) for x in steepest)


@dataclass(frozen=True)
class LinearDecline(Response):
    """Equation (4), the patrol's crime rate: high - x (high - low)."""

    high: float
    low: float

    def __post_init__(self) -> None:
        require_numbers("decline", high=self.high, low=self.low)
        require(0 <= self.low <= self.high <= 1, f"decline needs 0 <= low <= high <= 1, got {self.low} and {self.high}")

    @cached_property
    def curve(self) -> Curve:
        return polyline((0, 1), (self.high, self.low))


@dataclass(frozen=True)
class SaturatingRise(Response):
    """The loan's repayment, which rises and levels off: low + (high - low)(1 - exp(-speed x))."""

    low: float
    high: float
    speed: float

    def __post_init__(self) -> None:
        require_numbers("rise", low=self.low, high=self.high, speed=self.speed)
        require(0 <= self.low <= self.high <= 1, f"rise needs 0 <= low <= high <= 1, got {self.low} and {self.high}")
        require(self.speed > 0, f"rise: speed must be above 0, got {self.speed}")

    @cached_property
    def curve(self) -> Curve:
        return tabulate(lambda x: self.low + (self.high - self.low) * -np.expm1(-self.speed * x))

    @property
    def lipschitz(self) -> float:
        return (self.high - self.low) * self.speed


@dataclass(frozen=True)
class Tent(Response):
    """Example 1's shape: up from 0 at 0 to `height` at `peak`, then down with slope -`fall`.

    Arm 1 of Example 1 is `Tent(1 - eps, 1, 1)`, arm 2 is `Tent(eps, 1/2, 1/2)`.
    """

    peak: float
    height: float = 1.0
    fall: float = 1.0

    def __post_init__(self) -> None:
        require_numbers("tent", peak=self.peak, height=self.height, fall=self.fall)
        require(0 < self.peak < 1, f"tent: peak must lie between 0 and 1, got {self.peak}")
        require(0 < self.height <= 1, f"tent: height must lie in (0, 1], got {self.height}")
        end = self.height - self.fall * (1 - self.peak)
        require(0 <= end <= 1, f"tent: the right end must lie in [0, 1], got {end:g}")

    @cached_property
    def curve(self) -> Curve:
        return polyline((0, self.peak, 1), (0, self.height, self.height - self.fall * (1 - self.peak)))


@dataclass(frozen=True)
class Bump(Response):
    """A bump on a plateau, as in the lower bound: base + max(0, height - |x - center|)."""

    center: float
    height: float = 0.15
    base: float = 0.5

    def __post_init__(self) -> None:
        require_numbers("bump", center=self.center, height=self.height, base=self.base)
        require(0 <= self.center <= 1, f"bump: center must lie in [0, 1], got {self.center}")
        require(self.height > 0, f"bump: height must be above 0, got {self.height}")
        require(0 <= self.base <= 1 - self.height, f"bump: base must lie in [0, 1 - height], got {self.base}")

    @cached_property
    def curve(self) -> Curve:
        corners = (self.center - self.height, self.center, self.center + self.height)
        x = np.array([0.0, *(c for c in corners if 0 < c < 1), 1.0])
        y = self.base + np.maximum(0.0, self.height - np.abs(x - self.center))
        return polyline(x.tolist(), y.tolist(), what="bump")


@dataclass(frozen=True)
class Table(Response):
    """A response given at points, linear between them, constant outside."""

    x: Sequence[float]
    y: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", numbers("table: x", self.x))
        object.__setattr__(self, "y", numbers("table: y", self.y))
        assert self.curve is not None  # built now, so that a wrong table is refused where it is written

    @cached_property
    def curve(self) -> Curve:
        return polyline(self.x, self.y)


@dataclass(frozen=True)
class Tabulated(Response):
    """Any Python function from [0, 1] to [0, 1]; it is tabulated once, so that it runs compiled."""

    function: Callable[..., npt.ArrayLike]
    kinks: Sequence[float] = ()
    what: str = "response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinks", numbers("kinks", self.kinks))
        assert self.curve is not None  # tabulated now: a function that leaves [0, 1] is refused at once

    @cached_property
    def curve(self) -> Curve:
        return tabulate(self.function, self.kinks, self.what)

    def __reduce__(self) -> tuple[Any, ...]:
        return _tabulated_again, (self.curve, self.kinks, self.what)  # a function may be one that cannot be pickled


def _tabulated_again(curve: Curve, kinks: Sequence[float], what: str) -> Tabulated:
    """A tabulated function from its table, which stands for the function from now on."""
    made = object.__new__(Tabulated)
    vars(made).update(function=curve, kinks=kinks, what=what, curve=curve)
    return made


@dataclass(frozen=True)
class Scaled(Response):
    """Another response times a rate: the same shape where successes are rarer."""

    response: Response
    rate: float

    def __post_init__(self) -> None:
        require(isinstance(self.response, Response), f"scaled: response must be a Response, got {shown(self.response)}")
        require_numbers("scaled", rate=self.rate)
        highest = float(self.response.curve.y.max())
        require(
            self.rate * highest <= 1.0 + 1e-12,
            f"rate {self.rate:g} lifts a response to {self.rate * highest:g}; at most {1.0 / max(highest, 1e-300):g} "
            "keeps it in [0, 1]",
        )

    @cached_property
    def curve(self) -> Curve:
        return Curve(self.response.curve.x, np.minimum(self.rate * self.response.curve.y, 1.0))

    @property
    def lipschitz(self) -> float:
        return self.rate * self.response.lipschitz


def scaled(responses: Sequence[Response], rate: float) -> tuple[Response, ...]:
    """Every response times a rate."""
    return tuple(responses) if rate == 1.0 else tuple(Scaled(r, rate) for r in responses)


def check_rate(rate: object) -> float:
    """By how much responses are multiplied: a number above 0, or the user's mistake."""
    require_numbers("problem", rate=rate)
    require(float(rate) > 0, f"rate must be above 0, got {shown(rate)}")  # type: ignore[arg-type]
    return float(rate)  # type: ignore[arg-type]


def as_response(value: Response | Callable[..., npt.ArrayLike], what: str = "response") -> Response:
    """A response from a response or a plain function; `what` it stands for is said in errors."""
    if isinstance(value, Response):
        return value
    if callable(value):
        return Tabulated(value, what=what)
    raise AftereffectError(f"a {what} is a Response or a function of the impact, got {shown(value)}")
