"""A problem: responses, impact and feedback make one world to act in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect._random import Words
from aftereffect.errors import AftereffectError, require
from aftereffect.model.curves import Curve, Floats, pack
from aftereffect.model.feedback import (
    Driver,
    Feedback,
    Noise,
    as_noise,
    check_driver,
    feedback_code,
)
from aftereffect.model.impacts import Impact, Instant, OwnImpact
from aftereffect.model.limits import Limits
from aftereffect.model.responses import Response, as_response
from aftereffect.model.world import VALUE, Ints, World, advance


@dataclass(frozen=True, eq=False)
class Problem:
    """One world to act in.

    `responses` are Responses or plain functions of the impact; `impact` is one Impact for all arms or one per arm.

    >>> from aftereffect.model.impacts import Discounted
    >>> p = Problem([lambda x: 0.9 - 0.5 * x, lambda x: 0.6], impact=Discounted(0.5))
    >>> p.arms, p.memory, round(p.utility([0.5, 0.5]), 3)
    (2, 0.5, 0.625)
    """

    responses: Sequence[Response | Callable[..., npt.ArrayLike]]
    impact: Impact | Sequence[Impact] = field(default_factory=Instant)
    feedback: Feedback = "independent"
    noise: Noise | str = "bernoulli"
    driver: Driver = "intended"
    floors: Sequence[float] | float | None = None
    caps: Sequence[float] | float | None = None
    names: Sequence[str] | None = None
    label: str = "own"

    def __post_init__(self) -> None:
        require(isinstance(self.responses, Sequence), f"responses must be a list, got {self.responses!r}")
        require(len(self.responses) >= 1, "a problem needs at least one response")
        responses = tuple(as_response(r) for r in self.responses)
        if isinstance(self.impact, Impact):
            impacts: tuple[Impact, ...] = (self.impact,) * len(responses)
        else:
            impacts = tuple(self.impact) if isinstance(self.impact, Sequence) else ()
            require(
                len(impacts) == len(responses) and all(isinstance(i, Impact) for i in impacts),
                f"impact must be one Impact or one per arm ({len(responses)}), got {self.impact!r}",
            )
        feedback_code(self.feedback)
        check_driver(self.driver)
        set_field = object.__setattr__  # the dataclass is frozen; this is its one moment of birth
        set_field(self, "responses", responses)
        set_field(self, "impact", impacts)
        set_field(self, "noise", as_noise(self.noise))
        if self.names is not None:
            set_field(self, "names", check_names(self.names, len(responses)))
        assert self.limits is not None

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return len(self.responses)

    @property
    def impacts(self) -> tuple[Impact, ...]:
        """One impact per arm."""
        return self.impact  # type: ignore[return-value]

    @cached_property
    def limits(self) -> Limits:
        """Floors and caps on the shares."""
        return Limits.of(self.arms, self.floors, self.caps)

    @property
    def memory(self) -> float | None:
        """The slowest arm's geometric rate; None when a user's own impact does not state one."""
        rates = [i.rate for i in self.impacts]
        return None if any(r is None for r in rates) else max(r for r in rates if r is not None)

    @property
    def transient(self) -> bool:
        """Does holding an allocation from the first round need time to reach its limit?"""
        return any(i.transient for i in self.impacts)

    @property
    def lipschitz(self) -> float:
        """The largest Lipschitz constant of the responses."""
        return max(r.lipschitz for r in self.responses)  # type: ignore[union-attr]

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Responses as functions of the impact before g: what the world reads."""
        return tuple(
            i.response_curve(r.curve)  # type: ignore[union-attr]
            for r, i in zip(self.responses, self.impacts, strict=True)
        )

    def steady(self, arm: int, share: npt.ArrayLike) -> Floats:
        """Expected reward of an arm whose share has stayed where it is: r_k(g(p))."""
        impact = self.impacts[arm]
        if impact.compiled() is None:
            return self.curves[arm](impact.limit(share))
        return self.curves[arm](share)

    def utility(self, allocation: npt.ArrayLike) -> float:
        """Long-run utility (1) of holding an allocation (under intended shares)."""
        shares = np.asarray(allocation, dtype=np.float64)
        require(shares.shape == (self.arms,), f"an allocation has {self.arms} shares, got {shares.shape}")
        return float(sum(p * self.steady(k, p) for k, p in enumerate(shares)))

    def impact_after_g(self, before: Floats) -> Floats:
        """Impacts as users see them, from impacts before g, arms on the last axis."""
        result = np.array(before)
        for k, impact in enumerate(self.impacts):
            if impact.g is not None:
                result[..., k] = impact.g(result[..., k])
        return result

    @cached_property
    def _packed(self) -> tuple[Floats, Ints]:
        return pack(self.curves)

    def start(self, rng: Words) -> World | OwnWorld:
        """The world at its first round."""
        noise, realised = as_noise(self.noise), int(self.driver == "realised")
        codes = np.array([feedback_code(self.feedback), noise.code, realised])
        compiled = [i.compiled() for i in self.impacts]
        fast = [c for c in compiled if c is not None]
        longest = max([c.window for c in fast], default=0)
        world = World(
            rng=rng,
            scratch=np.zeros(4, dtype=np.uint64),
            codes=codes,
            concentration=np.array([noise.concentration]),
            knots=self._packed[0],
            guide=self._packed[1],
            impact=np.array([[c.start, c.weight, c.memory] if c else [0.0, 0.0, 0.0] for c in compiled]),
            window=np.array([c.window if c else 0 for c in compiled], dtype=np.int64),
            ring=np.zeros((self.arms, max(longest, 1))),
        )
        return world if len(fast) == self.arms else OwnWorld(self, world)


class OwnWorld:
    """The slow path: a world in which at least one arm's impact is the user's own Python.

    Its rounds run through the same code as a compiled world's, in the interpreter, so it draws exactly the same.
    """

    def __init__(self, problem: Problem, world: World) -> None:
        self.impacts = problem.impacts
        self.compiled = world
        self.states: list[Any] = [copy.deepcopy(i.start) if isinstance(i, OwnImpact) else None for i in problem.impacts]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)

    def advance(self, k: int, t: int, share: float) -> float:
        """Let arm k's impact take in a share; gives what the impact would be had the share been one."""
        impact = self.impacts[k]
        if not isinstance(impact, OwnImpact):
            return advance(self.compiled, k, t, share)
        _, if_active = impact.step(copy.deepcopy(self.states[k]), 1.0)  # a trial: the state must not notice
        self.states[k], value = impact.step(self.states[k], share)
        if not 0.0 <= float(value) <= 1.0:
            raise AftereffectError(f"own impact of arm {k}: must lie in [0, 1], got {value} in round {t}")
        self.compiled.impact[k, VALUE] = value
        return float(if_active)


def check_names(names: Sequence[str], arms: int) -> tuple[str, ...]:
    """Arm names: one each, all different."""
    result = tuple(str(n) for n in names)
    require(len(result) == arms, f"names: one for each of {arms} arms, got {len(result)}")
    require(len(set(result)) == arms, f"names must differ, got {list(result)}")
    return result
