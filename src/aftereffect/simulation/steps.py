"""Worlds to step through by hand, one or thousands at once: what the simulator does, for those who bring their own loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aftereffect._compile import kernel
from aftereffect._random import WORLD, stream
from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.model.catalog import Family
from aftereffect.model.curves import KNOT, Floats
from aftereffect.model.own_world import OwnWorld
from aftereffect.model.problem import Problem
from aftereffect.model.world import Ints, World, step

ON_SIMPLEX = 1e-6  # how far from one the shares may sum


class Stepped(NamedTuple):
    """What came of a round, world by world: arrays of (count, arms), and of (count,) for the utilities."""

    seen: Floats  # how often each arm was observed
    reward: Floats  # mean of what was observed; NaN where nothing was
    expected: Floats  # the round's expected utility, given the past
    realised: Floats
    impact: Floats


class Worlds:
    """So many worlds of a problem, or of several in turn, stepped together at compiled speed.

    World i draws what run i of `simulate` with the same seed draws (of several problems, run i // problems of instance
    i % problems), so that both can be compared to the last bit. What is deployed is yours to say, and rewards are shown at
    once: a problem's `step` and `delay` are for loops that keep them.

    >>> import aftereffect as ae
    >>> worlds = Worlds(ae.problem("tent", memory=0.4), count=2, seed=1)
    >>> worlds.step([[0.8, 0.2], [0.5, 0.5]]).expected.round(6).tolist()
    [0.9, 0.4875]
    """

    def __init__(self, problem: Problem | Sequence[Problem], count: int | None = None, seed: int = 0) -> None:
        if isinstance(problem, Family):
            raise AftereffectError(
                f"worlds are of a problem, {problem.name!r} is a family of them: give family.draw(seed)"
            )
        self.problems = list(problem) if np.iterable(problem) else [problem]
        if not all(isinstance(p, Problem) for p in self.problems):
            raise AftereffectError(f"worlds are of a problem, or of a list of them, got {shown(problem)}")
        if not self.problems or len({p.arms for p in self.problems}) > 1:
            raise AftereffectError("worlds that are stepped together need problems with the same number of arms")
        self.arms = self.problems[0].arms
        self.count = len(self.problems) if count is None else require_whole("count", count)
        self._which = np.arange(self.count) % len(self.problems)
        self.reset(seed)

    def reset(self, seed: int = 0) -> None:
        """Begin again at the first round, with draws of that seed."""
        size, seed = len(self.problems), require_whole("seed", seed, 0)
        made = [self.problems[i % size].world(stream(seed, i % size, i // size, WORLD)) for i in range(self.count)]
        self.rounds = 0
        self._own = made if any(isinstance(world, OwnWorld) for world in made) else None
        self._worlds = None if self._own else _stacked([w for w in made if isinstance(w, World)], min(size, self.count))

    def step(self, allocations: npt.ArrayLike) -> Stepped:
        """Deploy an allocation in each world, or the same in all, and let a round pass."""
        shares = self._checked(allocations)
        shape = self.count, self.arms
        seen, reward, utility = np.zeros(shape), np.zeros(shape), np.zeros((2, self.count))
        self.rounds += 1
        if self._worlds is not None:
            step_worlds(self._worlds, self._which, self.rounds, shares, seen=seen, reward=reward, utility=utility)
            before_g = self._worlds.impact["value"]
        else:
            before_g = np.zeros(shape)
            for i, world in enumerate(self._own or []):
                utility[:, i] = step(world, self.rounds, shares[i], seen[i], reward[i])
                before_g[i] = world.impact["value"]
        return Stepped(seen, np.where(seen > 0, reward, np.nan), utility[0], utility[1], self._after_g(before_g))

    def _after_g(self, before: Floats) -> Floats:
        result = np.array(before)
        for j, problem in enumerate(self.problems):
            result[self._which == j] = problem.impact_after_g(before[self._which == j])
        return result

    def _checked(self, allocations: npt.ArrayLike) -> Floats:
        try:
            shares = np.broadcast_to(np.asarray(allocations, dtype=np.float64), (self.count, self.arms))
        except (TypeError, ValueError):
            raise AftereffectError(
                f"allocations: {self.count} rows of {self.arms} shares are needed, got {shown(allocations)}"
            ) from None
        wrong = ~((shares >= 0).all(axis=1) & (np.abs(shares.sum(axis=1) - 1) <= ON_SIMPLEX))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise AftereffectError(f"allocations: shares are numbers from 0 that sum to 1, got {shares[i].tolist()}")
        return np.ascontiguousarray(shares)


_OF_PROBLEM = ("settings", "knots", "guide", "later", "later_guide", "measures", "measure_guide", "window")


def _stacked(worlds: list[World], problems: int) -> World:
    """All worlds in one: what belongs to a problem once for each of those, everything else once for each world."""
    return World(**{
        name: _stack([getattr(world, name) for world in (worlds[:problems] if name in _OF_PROBLEM else worlds)])
        for name in World._fields
    })  # fmt: skip


def _stack(arrays: list[Any]) -> Any:
    """Arrays on top of each other; shorter curves get further rows that end every search, as those of one problem do."""
    shape = tuple(max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True))
    result: Any = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    if result.dtype == KNOT:
        result["x"] = np.inf
    for i, array in enumerate(arrays):
        result[(i, *map(slice, array.shape))] = array
    return result


@kernel
def step_worlds(
    worlds: World, which: Ints, t: int, shares: Floats, seen: Floats, reward: Floats, utility: Floats
) -> None:
    """One round of all worlds: fills what is seen, rewards, and the expected and realised utilities."""
    for i in range(shares.shape[0]):
        j = which[i]
        world = World(
            worlds.rng[i],
            worlds.scratch[i],
            settings=worlds.settings[j],
            knots=worlds.knots[j],
            guide=worlds.guide[j],
            later=worlds.later[j],
            later_guide=worlds.later_guide[j],
            measures=worlds.measures[j],
            measure_guide=worlds.measure_guide[j],
            measure_rng=worlds.measure_rng[i],
            shock_rng=worlds.shock_rng[i],
            units=worlds.units[i],
            impact=worlds.impact[i],
            window=worlds.window[j],
            ring=worlds.ring[i],
        )
        utility[0, i], utility[1, i] = step(world, t, shares[i], seen[i], reward[i])
