"""A policy in a world of the conformance suite: what is played, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Fairness
from aftereffect.model.feedback import Feedback
from aftereffect.model.impacts import Discounted
from aftereffect.model.limits import Limits
from aftereffect.model.problem import Problem
from aftereffect.model.responses import LinearDecline, Response, SaturatingRise, Table
from aftereffect.policies.agent import Agent
from aftereffect.policies.answers import NoAllocation, check_answer
from aftereffect.policies.base import Policy

NAN = float("nan")

Bools = npt.NDArray[np.bool_]


class Broken(AssertionError):
    """A check found something; `check_policy` says which."""


def require(condition: bool, message: str) -> None:
    """A check goes on only if this holds."""
    if not condition:
        raise Broken(message)


@dataclass(frozen=True)
class Case:
    """A policy with the world it is put into."""

    policy: Policy
    arms: int
    horizon: int
    feedback: Feedback
    seed: int

    def start(self, **options: Any) -> Agent:
        """A fresh agent."""
        return self.policy.start(self.arms, self.horizon, self.seed, feedback=self.feedback, **options)

    def problem(self) -> Problem:
        """A problem with memory whose arms differ: declining and rising responses in turn."""
        responses: list[Response] = [
            LinearDecline(0.9 - 0.3 * k / self.arms, 0.2) if k % 2 == 0 else SaturatingRise(0.3, 0.8, 2.0 + k)
            for k in range(self.arms)
        ]
        fairness = Fairness([Table((0, 1), (0.1, 0.9 - 0.3 * k / self.arms)) for k in range(self.arms)])
        impact = Discounted(0.4)
        return Problem(responses, impact=impact, feedback=self.feedback, label="conformance", fairness=fairness)


@dataclass
class Crowd:
    """What comes back in a conformance run: activations and rewards, from the seed alone."""

    case: Case
    number: int = 0
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng([self.case.seed, self.number])

    def seen(self, allocation: Floats) -> Bools:
        """Which arms are seen under this allocation."""
        arms, marks = self.case.arms, self.random.random(self.case.arms)
        if self.case.feedback == "split":
            return allocation > 0
        if self.case.feedback == "independent":
            return marks < allocation
        drawn = min(int(np.searchsorted(np.cumsum(allocation), marks[0], side="right")), arms - 1)
        chosen: Bools = (np.arange(arms) == drawn) & (allocation > 0)
        return chosen

    def rewards(self, allocation: Floats, kind: str = "mixed") -> Floats:
        """One reward per arm, NaN for those not seen."""
        means = 0.2 + 0.6 * np.arange(self.case.arms) / self.case.arms
        draws = (self.random.random(self.case.arms) < means).astype(np.float64)
        values = {"mixed": draws, "zeros": np.zeros_like(draws), "ones": np.ones_like(draws)}[kind]
        return np.where(self.seen(allocation), values, NAN)


def looked_at(agent: Agent) -> Floats:
    """The agent's allocation, if it is one."""
    try:
        allocation = agent.ask()
        check_answer(agent.policy.key, agent.rounds + 1, allocation, Limits.of(len(allocation)))
    except NoAllocation as error:
        raise Broken(error.fault) from None
    return allocation


def play(case: Case, agent: Agent, rounds: int, crowd: Crowd, kind: str = "mixed") -> Floats:
    """Ask and tell; gives the allocations, one per row."""
    rows = []
    for _ in range(rounds):
        allocation = looked_at(agent)
        agent.tell(crowd.rewards(allocation, kind))
        rows.append(allocation)
    return np.array(rows).reshape(rounds, case.arms)


def same(first: Floats, second: Floats, what: str, offset: int = 0) -> None:
    """The same allocations in all rounds."""
    different = np.flatnonzero(np.any(first != second, axis=-1))
    if len(different):
        i = int(different[0])
        raise Broken(f"{what}: round {offset + i + 1} differs, {first[i].tolist()} and {second[i].tolist()}")
