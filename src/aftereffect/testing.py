"""Conformance: what every policy must do, as checks that a user's own policy can be put through.

    from aftereffect.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy(width=0.3), arms=4, feedback="split")

or, with one test for each property:

    class TestMyPolicy(PolicyConformance):
        policy = MyPolicy(width=0.3)

Every policy of this library passes. A failed check raises `AssertionError` with the policy, the check and what was seen.
"""

from __future__ import annotations

import copy
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aftereffect._random import POLICY, generator, stream
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Fairness
from aftereffect.model.feedback import Feedback
from aftereffect.model.impacts import Discounted
from aftereffect.model.limits import Limits
from aftereffect.model.problem import Problem
from aftereffect.model.responses import LinearDecline, Response, SaturatingRise, Table
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import Policy, Setting, registry
from aftereffect.policies.rules import bind
from aftereffect.policies.state_files import arrays_of
from aftereffect.policies.storage import load_agent
from aftereffect.simulation.simulate import run_once, setting_for, simulate

__all__ = ["CHECKS", "PolicyConformance", "check_policy"]

ON_SIMPLEX = 1e-9  # how far from one the shares may sum

Bools = npt.NDArray[np.bool_]

_NAN = float("nan")


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


Check = Callable[[Case], None]

CHECKS: dict[str, Check] = {}
"""The checks by name, in the order they run."""


def _check(name: str) -> Callable[[Check], Check]:
    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add


class _Broken(AssertionError):
    """A check found something; `check_policy` says which."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise _Broken(message)


def check_policy(
    policy: Policy, arms: int = 3, horizon: int = 120, feedback: Feedback = "independent", seed: int = 0
) -> None:
    """Put a policy through every check of `CHECKS`; the first that fails raises `AssertionError`.

    The policy must be able to start live with these arms, horizon and feedback: what it lacks (a memory, say) it must be
    given; if it cannot start, its own error comes through.

    >>> import aftereffect as ae
    >>> class Drift(ae.PlainPolicy):
    ...     name = "drift"
    ...     def arrays(self, setting):
    ...         return {"share": np.full(setting.arms, 1 / setting.arms)}
    ...     def ask(self, arrays, t, allocation):
    ...         allocation[:] = arrays["share"]
    ...     def tell(self, arrays, t, allocation, seen, reward):
    ...         arrays["share"] += 0.01 * seen * reward
    >>> check_policy(Drift(), arms=2)
    Traceback (most recent call last):
    ...
    AssertionError: drift: check 'simplex': in round 2 the shares sum to 1.01, not to 1: [0.5, 0.51]
    """
    case = Case(policy, arms, horizon, feedback, seed)
    case.start()
    key = policy.key or type(policy).__name__  # as it was: a broken policy may change its own parameters
    for name in CHECKS:
        _run_check(name, case, key)


def _run_check(name: str, case: Case, key: str) -> None:
    try:
        CHECKS[name](case)
    except _Broken as error:
        raise AssertionError(f"{key}: check {name!r}: {error}") from None
    except Exception as error:
        raise AssertionError(f"{key}: check {name!r}: {type(error).__name__}: {error}") from error


class PolicyConformance:
    """Base of a pytest class with a test for each check: subclass it as `Test..` and say which `policy`."""

    policy: ClassVar[Policy]
    arms: ClassVar[int] = 3
    horizon: ClassVar[int] = 120
    feedback: ClassVar[Feedback] = "independent"
    seed: ClassVar[int] = 0


def _as_test(name: str) -> Callable[[PolicyConformance], None]:
    def test(self: PolicyConformance) -> None:
        case = Case(self.policy, self.arms, self.horizon, self.feedback, self.seed)
        _run_check(name, case, self.policy.key or type(self.policy).__name__)

    test.__doc__ = CHECKS[name].__doc__
    return test


# Playing: feedback for an agent, from a generator of its own.


@dataclass
class _Crowd:
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
        return np.where(self.seen(allocation), values, _NAN)


def _looked_at(agent: Agent) -> Floats:
    """The agent's allocation, if it is one."""
    allocation = agent.ask()
    arms, t = agent.setting.arms, agent.rounds + 1
    _require(np.shape(allocation) == (arms,), f"in round {t} there are {np.shape(allocation)} shares for {arms} arms")
    shown = [round(float(p), 9) for p in allocation]
    _require(bool(np.all(np.isfinite(allocation))), f"in round {t} a share is not a finite number: {shown}")
    _require(bool(np.all(allocation >= 0)), f"in round {t} a share is below 0: {shown}")
    total = float(allocation.sum())
    _require(abs(total - 1) <= ON_SIMPLEX, f"in round {t} the shares sum to {total:.9g}, not to 1: {shown}")
    return allocation


def _play(case: Case, agent: Agent, rounds: int, crowd: _Crowd, kind: str = "mixed") -> Floats:
    """Ask and tell; gives the allocations, one per row."""
    rows = []
    for _ in range(rounds):
        allocation = _looked_at(agent)
        agent.tell(crowd.rewards(allocation, kind))
        rows.append(allocation)
    return np.array(rows).reshape(rounds, case.arms)


def _same(first: Floats, second: Floats, what: str, offset: int = 0) -> None:
    different = np.flatnonzero(np.any(first != second, axis=-1))
    if len(different):
        i = int(different[0])
        raise _Broken(f"{what}: round {offset + i + 1} differs, {first[i].tolist()} and {second[i].tolist()}")


# The checks.


@_check("simplex")
def _simplex(case: Case) -> None:
    """Shares are numbers from 0 that sum to one, for the whole horizon and beyond it."""
    _play(case, case.start(), case.horizon + 10, _Crowd(case))


@_check("limits")
def _limits(case: Case) -> None:
    """Floors and caps are kept in every round, or refused when the agent starts."""
    floors, caps = [0.5 / case.arms] * case.arms, [max(0.8, 1 / case.arms)] * case.arms
    try:
        agent = case.start(floors=floors, caps=caps)
    except AftereffectError:
        return
    limits, allocations = Limits.of(case.arms, floors, caps), _play(case, agent, case.horizon, _Crowd(case))
    for t, allocation in enumerate(allocations, start=1):
        _require(
            limits.allows(allocation),
            f"round {t} leaves the floors {floors} or caps {caps}: {allocation.tolist()} (a policy that cannot keep "
            "them refuses them in state(setting))",
        )


@_check("step")
def _step(case: Case) -> None:
    """No share moves by more than the largest step, from the start on and after an override; or steps are refused."""
    even, largest = np.full(case.arms, 1 / case.arms), 0.1
    try:
        agent = case.start(start=even, step=largest)
    except AftereffectError:
        return
    crowd, before = _Crowd(case), even
    for t in range(1, min(case.horizon, 60) + 1):
        allocation = _looked_at(agent)
        moved = float(np.max(np.abs(allocation - before)))
        _require(moved <= largest + 1e-9, f"in round {t} a share moves by {moved:g}, more than the step of {largest:g}")
        before = even if t % 10 == 0 else allocation
        agent.tell(crowd.rewards(before), allocation=before if t % 10 == 0 else None)


@_check("asking is free")
def _asking(case: Case) -> None:
    """Asking twice gives the same, writing into the answer changes nothing, and explaining neither."""
    plain = _play(case, case.start(), case.horizon, _Crowd(case))
    agent, crowd, rows = case.start(), _Crowd(case), []
    for _ in range(case.horizon):
        first = agent.ask()
        agent.explain()
        again = agent.ask()
        _require(bool(np.all(first == again)), f"asked twice: {first.tolist()}, then {again.tolist()}")
        rows.append(first.copy())
        rewards = crowd.rewards(first)
        first[:] = -1.0
        agent.tell(rewards)
    _same(plain, np.array(rows), "asking twice and explaining changes later choices")


@_check("same seed, same choices")
def _same_seed(case: Case) -> None:
    """Choices follow from the seed and the feedback alone: no other randomness, nothing shared between agents."""
    alone = _play(case, case.start(), case.horizon, _Crowd(case))
    agents, crowds = [case.start(), case.start()], [_Crowd(case), _Crowd(case)]
    together: list[list[Floats]] = [[], []]
    for _ in range(case.horizon):
        for agent, crowd, rows in zip(agents, crowds, together, strict=True):
            rows.append(_play(case, agent, 1, crowd)[0])
    for rows in together:
        _same(alone, np.array(rows), "the same seed and feedback give other choices")


@_check("state in arrays")
def _state_in_arrays(case: Case) -> None:
    """Everything an agent knows is in its state's arrays: copied into a fresh state they give the same choices."""
    for stop in _stops(case):
        agent, crowd = case.start(), _Crowd(case)
        _play(case, agent, stop, crowd)
        twin, twin_crowd = case.start(), copy.deepcopy(crowd)
        for (_, target), (_, source) in zip(arrays_of(twin.state).items(), arrays_of(agent.state).items(), strict=True):
            target[...] = source
        twin._course.begin_at(agent.rounds)
        left = case.horizon - stop
        went_on, resumed = _play(case, agent, left, crowd), _play(case, twin, left, twin_crowd)
        _same(went_on, resumed, f"a copy of the state's arrays after {stop} rounds goes on differently", stop)


@_check("save and load")
def _save_and_load(case: Case) -> None:
    """A saved agent goes on exactly where it was, asked or not (for registered policies)."""
    if registry().get(case.policy.name) is not type(case.policy):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.json"
        for i, stop in enumerate(_stops(case)):
            agent, crowd = case.start(), _Crowd(case)
            _play(case, agent, stop, crowd)
            if i % 2:
                agent.ask()
            agent.save(file)
            loaded, loaded_crowd = load_agent(file), copy.deepcopy(crowd)
            _require(loaded.policy == case.policy, f"saved as {case.policy!r}, loaded as {loaded.policy!r}")
            left = case.horizon - stop
            went_on, resumed = _play(case, agent, left, crowd), _play(case, loaded, left, loaded_crowd)
            _same(went_on, resumed, f"saved after {stop} rounds and loaded it goes on differently", stop)


def _stops(case: Case) -> Iterator[int]:
    yield from sorted({0, 1, case.horizon // 3, case.horizon // 2, max(0, case.horizon - 1)})


@_check("arguments are left alone")
def _arguments(case: Case) -> None:
    """Tell and skip only read the allocation, what was seen and the rewards."""
    state = case.policy.state(_setting(case))
    rule, crowd, allocation = bind(state), _Crowd(case), np.zeros(case.arms)
    for t in range(1, min(case.horizon, 40) + 1):
        rule.ask(state, t, allocation)
        rewards = crowd.rewards(allocation)
        seen, reward = (~np.isnan(rewards)).astype(np.float64), np.nan_to_num(rewards)
        before = allocation.copy(), seen.copy(), reward.copy()
        if t % 5:
            rule.tell(state, t, allocation, seen, reward)
        else:
            rule.skip(state, t, allocation)
        for name, now, then in zip(("allocation", "seen", "reward"), (allocation, seen, reward), before, strict=True):
            _require(bool(np.all(now == then)), f"in round {t} it wrote into {name}, {then.tolist()}: {now.tolist()}")


def _setting(case: Case) -> Setting:
    return Setting(case.arms, case.horizon, case.feedback, None, None, generator(case.seed))


@_check("agent and simulator agree")
def _agent_and_simulator(case: Case) -> None:
    """Told what the simulator's run saw, an agent makes the very same choices."""
    problem = case.problem()
    run = run_once(problem, case.policy, np.array([case.horizon]), case.seed, trace=True)
    agent = Agent(case.policy, setting_for(problem, case.horizon, stream(case.seed, 0, 0, POLICY)))
    rows = []
    for allocation, _, seen, reward, measured in run.trace:
        rows.append(_looked_at(agent))
        agent.tell(np.where(seen > 0, reward, _NAN) if np.all(rows[-1] == allocation) else None, measures=measured)
    _same(run.trace[:, 0], np.array(rows), "simulator and agent choose differently")


@_check("parameters stay")
def _parameters(case: Case) -> None:
    """A policy is a description: running it changes nothing in it."""
    before = {name: copy.deepcopy(value) for name, value in vars(case.policy).items()}
    _play(case, case.start(), min(case.horizon, 40), _Crowd(case))
    after = vars(case.policy)
    changed = sorted(set(before) ^ set(after)) + [n for n in before if n in after and not _equal(before[n], after[n])]
    _require(not changed, f"running it changed {changed} of the policy itself; what changes belongs into the state")


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(np.all(first == second))
    except (TypeError, ValueError):
        return repr(first) == repr(second)


@_check("nothing seen")
def _nothing_seen(case: Case) -> None:
    """Rounds in which no arm was seen, from the first on and later, are survived."""
    agent, crowd = case.start(), _Crowd(case)
    nothing = [_NAN] * case.arms
    for t in range(case.horizon):
        allocation = _looked_at(agent)
        agent.tell(nothing if t < case.horizon // 4 or t % 3 == 0 else crowd.rewards(allocation))


@_check("an arm never seen")
def _never_seen(case: Case) -> None:
    """An arm whose rewards never come back is survived."""
    agent, crowd = case.start(), _Crowd(case)
    for _ in range(case.horizon):
        rewards = crowd.rewards(_looked_at(agent))
        rewards[0] = _NAN
        agent.tell(rewards)


@_check("rewards 0 and 1")
def _extreme_rewards(case: Case) -> None:
    """Nothing but failures, nothing but successes, and a change from one to the other."""
    for kinds in (("zeros", "ones"), ("ones", "zeros")):
        agent, crowd = case.start(), _Crowd(case)
        for kind in kinds:
            _play(case, agent, case.horizon // 2 + 1, crowd, kind)


@_check("trials")
def _trials(case: Case) -> None:
    """Mean rewards that stand for many observations are taken."""
    agent, crowd = case.start(), _Crowd(case)
    for _ in range(case.horizon):
        rewards = crowd.rewards(_looked_at(agent))
        means = np.where(np.isnan(rewards), _NAN, crowd.random.random(case.arms))
        agent.tell(means, trials=np.where(np.isnan(means), 0, crowd.random.integers(1, 10_000, case.arms)))


@_check("overrides")
def _overrides(case: Case) -> None:
    """People may deploy something else: equal shares, one arm, anything off the grid."""
    agent, crowd = case.start(), _Crowd(case)
    for t in range(case.horizon):
        _looked_at(agent)
        other = (
            np.full(case.arms, 1 / case.arms),
            np.eye(case.arms)[t % case.arms],
            crowd.random.dirichlet(np.ones(case.arms)),
        )[t % 3]
        agent.tell(crowd.rewards(other), allocation=other)


@_check("skipped rounds")
def _skipped(case: Case) -> None:
    """Rounds about which nothing is known, with or without what was deployed."""
    agent, crowd = case.start(), _Crowd(case)
    for t in range(case.horizon):
        allocation = _looked_at(agent)
        if t < 5 or t % 4 == 0:
            agent.tell(None)
        elif t % 4 == 1:
            agent.tell(None, allocation=np.eye(case.arms)[t % case.arms])
        else:
            agent.tell(crowd.rewards(allocation))


@_check("past records")
def _history(case: Case) -> None:
    """An agent may start from records of what was deployed and, where known, what came back."""
    crowd, records = _Crowd(case), []
    for t in range(20):
        allocation = crowd.random.dirichlet(np.ones(case.arms))
        records.append({"allocation": allocation, **({} if t % 3 == 0 else {"rewards": crowd.rewards(allocation)})})
    agent = case.start(history=records)
    _require(agent.rounds == 20, f"20 records count as {agent.rounds} rounds")
    _play(case, agent, min(case.horizon, 40), crowd)


@_check("explanation")
def _explanation(case: Case) -> None:
    """An explanation is plain data that JSON can hold."""
    agent, crowd = case.start(), _Crowd(case)
    for _ in range(min(case.horizon, 40)):
        reasons = agent.explain()
        _require(isinstance(reasons, Mapping), f"explain gives {type(reasons).__name__}, not a dict")
        try:
            json.dumps(reasons, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise _Broken(f"explain gives what JSON cannot hold ({error}): {reasons}") from None
        agent.tell(crowd.rewards(agent.ask()))


@_check("threads")
def _threads(case: Case) -> None:
    """`simulate` gives bit by bit the same on one thread and on two."""
    problem, policy = case.problem(), case.policy
    one, two = (
        simulate(problem, policy, case.horizon, runs=3, seed=case.seed, checkpoints=3, threads=n) for n in (1, 2)
    )
    for name in ("regret", "realised_regret", "utility", "impact", "allocation"):
        first, second = getattr(one, name), getattr(two, name)
        _require(bool(np.all(first == second)), f"{name} differs between one thread and two")


for _name in CHECKS:
    setattr(PolicyConformance, "test_" + re.sub(r"\W+", "_", _name), _as_test(_name))
