"""Rewards that are seen rounds later: the policy as an agent would run it, with open rounds and late tells.

The loop is the simulator's own, in the interpreter; to it this is a policy in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.policies.base import Policy
from aftereffect.policies.course import Course
from aftereffect.policies.round_log import Round, open_round
from aftereffect.policies.rules import PlainState
from aftereffect.policies.setting import Setting


class Delayed:
    """A policy that is told each round's rewards so many rounds later."""

    version, migrations = 1, {}  # type: ignore[var-annotated]

    def __init__(
        self, policy: Policy, setting: Setting, delay: int | tuple[float, ...], random: np.random.Generator
    ) -> None:
        self.course = Course(policy, setting)
        self.random = random
        self.delay = delay
        self.chances = None if isinstance(delay, int) else np.cumsum(delay)
        self.due: dict[int, list[tuple[int, Round]]] = {}  # by the round that knows of it
        self.latest: Round | None = None
        self.drawn: Any = None

    def ask(self, arrays: Any, t: int, allocation: Floats) -> None:
        """Take in what has come by now, then ask."""
        self._add()
        for number, happened in self.due.pop(t, ()):
            self.course.put(number, happened)
        self.drawn = self.course.policy.drawn(self.course.ask(allocation))

    def tell(self, arrays: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
        """The round has happened; nobody knows yet what came of it."""
        happened = Round()
        happened.deployed, happened.seen, happened.reward = allocation.copy(), seen.copy(), reward.copy()
        happened.known = happened.closed = True
        happened.drawn = self.drawn
        self.latest = happened

    def note(self, arrays: Any, t: int, allocation: Floats, measured: Floats) -> None:
        """Measures come with the rewards."""
        if self.latest is not None:
            self.latest.measure = measured.copy()

    def _add(self) -> None:
        """The round before, open unless its rewards are seen at once."""
        happened = self.latest
        if happened is None:
            return
        waits = self._draw()
        if waits == 0:
            self.course.add(happened)
        else:
            still_open = open_round(happened.deployed)
            still_open.drawn = happened.drawn
            self.course.add(still_open)
            number = self.course.rounds
            self.due.setdefault(number + waits + 1, []).append((number, happened))
        self.latest = None

    def _draw(self) -> int:
        if self.chances is None:
            return self.delay  # type: ignore[return-value]
        return min(int(np.searchsorted(self.chances, self.random.random(), side="right")), len(self.chances) - 1)


def delayed_state(policy: Policy, setting: Setting, delay: int | tuple[float, ...], key: tuple[int, ...]) -> PlainState:
    """The state of a policy that learns of its rewards late; `key` (seed, instance, run) decides how late."""
    random = np.random.default_rng(np.random.SeedSequence(key[0], spawn_key=(*key[1:], DELAY)))
    return PlainState(Delayed(policy, setting, delay, random), {})


DELAY = 2  # the stream of one run that delays are drawn from; 0 is the world's, 1 the policy's
