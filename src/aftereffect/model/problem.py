"""A problem: responses, impact and feedback make one world to act in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect._random import Words, next_word, reseed
from aftereffect.errors import AftereffectError, numbers, require, shown
from aftereffect.model.curves import Curve, Floats, Records, pack, record
from aftereffect.model.delay import Delays, check_delay
from aftereffect.model.drift import STILL, Change, Drift, Moving, Season, blend
from aftereffect.model.fairness import UNMEASURED, Fairness
from aftereffect.model.feedback import (
    NO_SHOCK,
    Driver,
    Feedback,
    Noise,
    Shock,
    as_noise,
    as_shock,
    check_driver,
    feedback_code,
    follows_activations,
    resolved_feedback,
)
from aftereffect.model.impacts import Impact, Instant, started
from aftereffect.model.limits import Limits, as_start, check_step
from aftereffect.model.own_world import OwnWorld
from aftereffect.model.responses import Response, as_response, check_rate, scaled
from aftereffect.model.units import check_units
from aftereffect.model.world import IMPACT, SETTINGS, Ints, World

ON_SIMPLEX = 1e-6  # how far from one the shares of an allocation may sum
LEFT_OPEN: Any = None  # settled when the problem is born: split where there are units, else independent
LARGEST_NAME = 2**63  # of whole numbers that name arms: Python refuses to write very long ones


@dataclass(frozen=True, eq=False)
class Problem:
    """One world to act in.

    `responses` are Responses or plain functions of the impact, multiplied by `rate`; `impact` is one Impact for all arms or
    one per arm, and begins at the split `start` where one is given. With `units` a round splits so many whole units over the
    arms. A `shock` moves the means of a round. With `fairness` every round also shows the arms' measures; with `drift`,
    `change` or `season` the responses move. `step` is the largest change of a share from one round to the next,
    `delay` the number of rounds until rewards are seen, the chances of 0, 1, 2, ..., or a `Delay` (kept as its chances).

    >>> from aftereffect.model.impacts import Discounted
    >>> p = Problem([lambda x: 0.9 - 0.5 * x, lambda x: 0.6], impact=Discounted(0.5))
    >>> p.arms, p.memory, round(p.utility([0.5, 0.5]), 3)
    (2, 0.5, 0.625)
    """

    responses: Sequence[Response | Callable[..., npt.ArrayLike]]
    impact: Impact | Sequence[Impact] = field(default_factory=Instant)
    feedback: Feedback = LEFT_OPEN
    noise: Noise | str = "bernoulli"
    driver: Driver = "intended"
    floors: Sequence[float] | float | None = None
    caps: Sequence[float] | float | None = None
    names: Sequence[str] | None = None
    label: str = "own"
    fairness: Fairness | None = None
    drift: Drift | None = None
    change: Change | None = None
    season: Season | None = None
    units: int | None = None
    rate: float = 1.0
    shock: Shock | float | None = None
    start: Sequence[float] | str | None = None
    step: float | None = None
    delay: Delays | None = None

    def __post_init__(self) -> None:
        require(isinstance(self.responses, Sequence), f"responses must be a list, got {shown(self.responses)}")
        require(len(self.responses) >= 1, "a problem needs at least one response")
        responses = tuple(as_response(r) for r in self.responses)
        if isinstance(self.impact, Impact):
            impacts: tuple[Impact, ...] = (self.impact,) * len(responses)
        else:
            impacts = tuple(self.impact) if isinstance(self.impact, Sequence) else ()
            require(
                len(impacts) == len(responses) and all(isinstance(i, Impact) for i in impacts),
                f"impact must be one Impact or one per arm ({len(responses)}), got {shown(self.impact)}",
            )
        check_driver(self.driver)
        set_field = object.__setattr__  # the dataclass is frozen; this is its one moment of birth
        if self.units is not None:
            set_field(self, "units", check_units(self.units))
        set_field(self, "feedback", resolved_feedback(self.feedback, self.units))
        set_field(self, "rate", check_rate(self.rate))
        set_field(self, "responses", responses)
        set_field(self, "impact", impacts)
        set_field(self, "noise", as_noise(self.noise))
        set_field(self, "shock", as_shock(self.shock))
        set_field(self, "step", check_step(self.step))
        set_field(self, "delay", check_delay(self.delay))
        if self.names is not None:
            set_field(self, "names", check_names(self.names, len(responses)))
        if self.start is not None:
            set_field(self, "start", tuple(as_start(self.start, self.limits).tolist()))
        assert self.limits is not None  # what is built from the fields is built now, so that a mistake is said at once
        assert self.impacts is not None
        assert self.scaled is not None
        if self.fairness is not None:
            require(isinstance(self.fairness, Fairness), f"fairness must be a Fairness, got {shown(self.fairness)}")
            count = len(self.fairness.measures)
            require(count == self.arms, f"fairness: one measure for each of {self.arms} arms, got {count}")
        self._check_moving()

    def _check_moving(self) -> None:
        wanted = {"drift": Drift, "change": Change, "season": Season}
        given = {name: getattr(self, name) for name in wanted if getattr(self, name) is not None}
        require(len(given) <= 1, f"give at most one of drift, change and season, got {' and '.join(given)}")
        for name, moving in given.items():
            kind = wanted[name]
            require(isinstance(moving, kind), f"{name} must be a {kind.__name__}, got {shown(moving)}")
            count = len(moving.to)
            require(count == self.arms, f"{name}: one response for each of {self.arms} arms, got {count}")
            scaled(moving.to, self.rate)  # says so if the rate is too much for them
            settled = self.driver == "intended" and not self.transient and all(i.compiled() for i in self.impacts)
            require(
                settled,
                f"{name} needs an impact without a transient or a start, driven by the intended shares (Discounted, Instant)",
            )

    @property
    def moving(self) -> Moving | None:
        """How the responses move, if they do."""
        return self.drift or self.change or self.season

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return len(self.responses)

    @cached_property
    def impacts(self) -> tuple[Impact, ...]:
        """One impact per arm, from the start on where there is one."""
        given: tuple[Impact, ...] = self.impact  # type: ignore[assignment]
        split: Any = self.start
        return given if split is None else tuple(started(i, p) for i, p in zip(given, split, strict=True))

    @cached_property
    def scaled(self) -> tuple[Response, ...]:
        """The responses times the rate: what the arms really do."""
        return scaled(self.responses, self.rate)  # type: ignore[arg-type]

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
    def arm_names(self) -> tuple[str, ...]:
        """The arms' names; without any, their numbers from 0, as in Python."""
        return named_arms(self.names, self.arms)

    @property
    def follows_activations(self) -> bool:
        """Is the impact driven by who was activated?"""
        return follows_activations(self.driver, self.feedback)

    @property
    def transient(self) -> bool:
        """Does holding an allocation from the first round need time to reach its limit?"""
        return any(i.transient for i in self.impacts)

    @property
    def lipschitz(self) -> float:
        """The largest Lipschitz constant of the responses."""
        return max(r.lipschitz for r in self.scaled)

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Responses as functions of the impact before g: what the world reads."""
        return self._before_g(self.scaled)

    @cached_property
    def measures(self) -> tuple[Curve, ...]:
        """Fairness measures as functions of the impact before g; none without fairness."""
        return () if self.fairness is None else self._before_g(self.fairness.measures)

    @cached_property
    def later_curves(self) -> tuple[Curve, ...]:
        """The curves of the responses that these move to; the same where they do not move."""
        moving = self.moving
        return self.curves if moving is None else self._before_g(scaled(moving.to, self.rate))  # type: ignore[arg-type]

    def _before_g(self, curves: Sequence[Any]) -> tuple[Curve, ...]:
        return tuple(i.response_curve(c.curve) for c, i in zip(curves, self.impacts, strict=True))

    def moved(self, weight: float) -> tuple[Curve, ...]:
        """The responses' curves so much of the way to those they move to."""
        return tuple(blend(a, b, weight) for a, b in zip(self.curves, self.later_curves, strict=True))

    def steady(self, arm: int, share: npt.ArrayLike) -> Floats:
        """Expected reward of an arm whose share has stayed where it is: r_k(g(p))."""
        impact = self.impacts[arm]
        if impact.compiled() is None:
            return self.curves[arm](impact.limit(share))
        return self.curves[arm](share)

    def utility(self, allocation: npt.ArrayLike) -> float:
        """Long-run utility (1) of holding an allocation (under intended shares)."""
        shares = np.array(numbers("an allocation", allocation))
        require(shares.shape == (self.arms,), f"an allocation has {self.arms} shares, got {len(shares)}")
        if not np.all((shares >= 0) & (shares <= 1 + ON_SIMPLEX)) or abs(shares.sum() - 1) > ON_SIMPLEX:
            raise AftereffectError(f"an allocation is shares in [0, 1] that sum to 1, got {shown(shares.tolist())}")
        return float(sum(p * self.steady(k, p) for k, p in enumerate(shares)))

    def impact_after_g(self, before: Floats) -> Floats:
        """Impacts as users see them, from impacts before g, arms on the last axis."""
        result = np.array(before)
        for k, impact in enumerate(self.impacts):
            if impact.g is not None:
                result[..., k] = impact.g(result[..., k])
        return result

    def measure(self, impact: npt.ArrayLike) -> Floats:
        """True fairness measures at impacts as users see them (after g), arms on the last axis."""
        require(self.fairness is not None, f"problem {self.label!r} has no fairness measure")
        values = np.asarray(impact, dtype=np.float64)
        curves = self.fairness.measures  # type: ignore[union-attr]
        return np.stack([c(values[..., k]) for k, c in enumerate(curves)], axis=-1)

    @cached_property
    def _packed(self) -> tuple[tuple[Records, Ints], ...]:
        now = pack(self.curves)
        later = now if self.moving is None else pack(self.later_curves)
        return now, later, pack(self.measures)

    def world(self, rng: Words) -> World | OwnWorld:
        """The world at its first round."""
        noise, fair = as_noise(self.noise), self.fairness
        measure_noise = as_noise("bernoulli" if fair is None else fair.noise)
        observed = UNMEASURED if fair is None else fair.observed_code
        shock, moving = as_shock(self.shock), self.moving
        settings = record(
            SETTINGS,
            feedback=feedback_code(self.feedback),
            noise=noise.code,
            spread=noise.spread,
            realised=int(self.follows_activations),
            measured=observed,
            measure_noise=measure_noise.code,
            measure_spread=measure_noise.spread,
            tolerance=1.0 if fair is None else float(fair.tolerance),
            units=self.units or 0,
            shock=NO_SHOCK if shock is None else shock.code,
            deviation=0.0 if shock is None else float(shock.deviation),
            moving=STILL if moving is None else moving.code,
            pace=0.0 if moving is None else float(moving.pace),
            step=self.step or 0.0,
        )
        compiled = [i.compiled() for i in self.impacts]
        fast = [c for c in compiled if c is not None]
        longest = max([c.window for c in fast], default=0)
        (knots, guide), (later, later_guide), (measures, measure_guide) = self._packed
        seeds, measure_rng, shock_rng = rng.copy(), np.zeros(4, dtype=np.uint64), np.zeros(4, dtype=np.uint64)
        for own in (measure_rng, shock_rng):
            reseed(own, np.uint64(next_word(seeds)))
        world = World(
            rng=rng,
            scratch=np.zeros(4, dtype=np.uint64),
            settings=settings,
            knots=knots,
            guide=guide,
            later=later,
            later_guide=later_guide,
            measures=measures,
            measure_guide=measure_guide,
            measure_rng=measure_rng,
            shock_rng=shock_rng,
            units=np.zeros(self.arms),
            impact=np.array([(c.start, c.weight, c.memory) if c else (0.0, 0.0, 0.0) for c in compiled], dtype=IMPACT),
            window=np.array([c.window if c else 0 for c in compiled], dtype=np.int64),
            ring=np.zeros((self.arms, max(longest, 1))),
        )
        return world if len(fast) == self.arms else OwnWorld(self.impacts, world)


def named_arms(names: Sequence[str] | None, arms: int) -> tuple[str, ...]:
    """The arms' names; without any they are called by their numbers, everywhere alike.

    >>> named_arms(None, 2)
    ('arm 0', 'arm 1')
    """
    return tuple(f"arm {k}" for k in range(arms)) if names is None else tuple(names)


def as_name(given: object) -> object:
    """An arm's name: districts may be numbers, and then go by their digits; all else as it is."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and abs(int(given)) <= LARGEST_NAME:
        return str(given)
    return given


def check_names(names: Sequence[str | int], arms: int) -> tuple[str, ...]:
    """Arm names: one each, all different."""
    require(isinstance(names, Iterable), f"names must be a list, got {shown(names)}")
    result = tuple(n if isinstance(n, str) else shown(n) for n in map(as_name, names))
    require(len(result) == arms, f"names: one for each of {arms} arms, got {len(result)}")
    require(len(set(result)) == arms, f"names must differ, got {list(result)}")
    return result
