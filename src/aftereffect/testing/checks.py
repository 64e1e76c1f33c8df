"""The checks of the conformance suite, in the order they run."""

from __future__ import annotations

import copy
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._random import POLICY, generator, stream
from aftereffect.errors import AftereffectError, DoubtfulAssumption
from aftereffect.model.curves import Floats
from aftereffect.model.limits import Limits
from aftereffect.policies.agent import Agent
from aftereffect.policies.base import registry
from aftereffect.policies.rules import bind
from aftereffect.policies.setting import Setting
from aftereffect.policies.state_files import arrays_of
from aftereffect.policies.storage import load_agent
from aftereffect.simulation.runs import run_once, setting_for
from aftereffect.simulation.simulate import simulate
from aftereffect.testing.playing import NAN, Broken, Case, Crowd, looked_at, play, require, same

Check = Callable[[Case], None]

CHECKS: dict[str, Check] = {}
"""The checks by name, in the order they run."""


def _check(name: str) -> Callable[[Check], Check]:
    def add(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return add


@_check("simplex")
def _simplex(case: Case) -> None:
    """Shares are numbers from 0 that sum to one, for the whole horizon and beyond it."""
    play(case, case.start(), case.horizon + 10, Crowd(case))


@_check("limits")
def _limits(case: Case) -> None:
    """Floors and caps are kept in every round, or refused when the agent starts."""
    others = [0.0] * (case.arms - 1)
    for floors, cap in (([0.5 / case.arms, *others], 0.8), ([*others, 0.8 / case.arms], 1.25 / case.arms)):
        caps = [max(cap, 1 / case.arms)] * case.arms
        try:
            agent = case.start(floors=floors, caps=caps)
        except AftereffectError:
            continue
        limits, allocations = Limits.of(case.arms, floors, caps), play(case, agent, case.horizon, Crowd(case))
        for t, allocation in enumerate(allocations, start=1):
            require(
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
    crowd, before = Crowd(case), even
    for t in range(1, min(case.horizon, 60) + 1):
        allocation = looked_at(agent)
        moved = float(np.max(np.abs(allocation - before)))
        require(moved <= largest + 1e-9, f"in round {t} a share moves by {moved:g}, more than the step of {largest:g}")
        before = even if t % 10 == 0 else allocation
        agent.tell(crowd.rewards(before), allocation=before if t % 10 == 0 else None)


@_check("asking is free")
def _asking(case: Case) -> None:
    """Asking twice gives the same, writing into the answer changes nothing, and explaining neither."""
    plain = play(case, case.start(), case.horizon, Crowd(case))
    agent, crowd, rows = case.start(), Crowd(case), []
    for _ in range(case.horizon):
        first = agent.ask()
        agent.explain()
        again = agent.ask()
        require(bool(np.all(first == again)), f"asked twice: {first.tolist()}, then {again.tolist()}")
        rows.append(first.copy())
        rewards = crowd.rewards(first)
        first[:] = -1.0
        agent.tell(rewards)
    same(plain, np.array(rows), "asking twice and explaining changes later choices")


@_check("same seed, same choices")
def _same_seed(case: Case) -> None:
    """Choices follow from the seed and the feedback alone: no other randomness, nothing shared between agents."""
    alone = play(case, case.start(), case.horizon, Crowd(case))
    agents, crowds = [case.start(), case.start()], [Crowd(case), Crowd(case)]
    together: list[list[Floats]] = [[], []]
    for _ in range(case.horizon):
        for agent, crowd, rows in zip(agents, crowds, together, strict=True):
            rows.append(play(case, agent, 1, crowd)[0])
    for rows in together:
        same(alone, np.array(rows), "the same seed and feedback give other choices")


@_check("state in arrays")
def _state_in_arrays(case: Case) -> None:
    """Everything an agent knows is in its state's arrays: copied into a fresh state they give the same choices."""
    for stop in _stops(case):
        agent, crowd = case.start(), Crowd(case)
        play(case, agent, stop, crowd)
        twin, twin_crowd = case.start(), copy.deepcopy(crowd)
        for (_, target), (_, source) in zip(arrays_of(twin.state).items(), arrays_of(agent.state).items(), strict=True):
            target[...] = source
        twin._course.begin_at(agent.rounds)
        left = case.horizon - stop
        went_on, resumed = play(case, agent, left, crowd), play(case, twin, left, twin_crowd)
        same(went_on, resumed, f"a copy of the state's arrays after {stop} rounds goes on differently", stop)


@_check("save and load")
def _save_and_load(case: Case) -> None:
    """A saved agent goes on exactly where it was, asked or not (for registered policies)."""
    if registry().get(case.policy.name) is not type(case.policy):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "agent.json"
        for i, stop in enumerate(_stops(case)):
            agent, crowd = case.start(), Crowd(case)
            play(case, agent, stop, crowd)
            if i % 2:
                agent.ask()
            agent.save(file)
            loaded, loaded_crowd = load_agent(file), copy.deepcopy(crowd)
            require(loaded.policy == case.policy, f"saved as {case.policy!r}, loaded as {loaded.policy!r}")
            left = case.horizon - stop
            went_on, resumed = play(case, agent, left, crowd), play(case, loaded, left, loaded_crowd)
            same(went_on, resumed, f"saved after {stop} rounds and loaded it goes on differently", stop)


def _stops(case: Case) -> Iterator[int]:
    yield from sorted({0, 1, case.horizon // 3, case.horizon // 2, max(0, case.horizon - 1)})


@_check("arguments are left alone")
def _arguments(case: Case) -> None:
    """Tell and skip only read the allocation, what was seen and the rewards."""
    state = case.policy.state(Setting(case.arms, case.horizon, case.feedback, rng=generator(case.seed)))
    rule, crowd, allocation = bind(state), Crowd(case), np.zeros(case.arms)
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
            require(bool(np.all(now == then)), f"in round {t} it wrote into {name}, {then.tolist()}: {now.tolist()}")


@_check("agent and simulator agree")
def _agent_and_simulator(case: Case) -> None:
    """Told what the simulator's run saw, an agent makes the very same choices."""
    problem = case.problem()
    run = run_once(problem, case.policy, np.array([case.horizon]), case.seed, trace=True)
    agent = Agent(case.policy, setting_for(problem, case.horizon, stream(case.seed, 0, 0, POLICY)))
    rows = []
    for allocation, _, seen, reward, measured in zip(*run.trace, strict=True):
        rows.append(looked_at(agent))
        agent.tell(np.where(seen > 0, reward, NAN) if np.all(rows[-1] == allocation) else None, measures=measured)
    same(run.trace.allocation, np.array(rows), "simulator and agent choose differently")


@_check("parameters stay")
def _parameters(case: Case) -> None:
    """A policy is a description: running it changes nothing in it."""
    before = {name: copy.deepcopy(value) for name, value in vars(case.policy).items()}
    play(case, case.start(), min(case.horizon, 40), Crowd(case))
    after = vars(case.policy)
    changed = sorted(set(before) ^ set(after)) + [n for n in before if n in after and not _equal(before[n], after[n])]
    require(not changed, f"running it changed {changed} of the policy itself; what changes belongs into the state")


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(np.all(first == second))
    except (TypeError, ValueError):
        return repr(first) == repr(second)


@_check("nothing seen")
def _nothing_seen(case: Case) -> None:
    """Rounds in which no arm was seen, from the first on and later, are survived."""
    agent, crowd = case.start(), Crowd(case)
    nothing = [NAN] * case.arms
    for t in range(case.horizon):
        allocation = looked_at(agent)
        agent.tell(nothing if t < case.horizon // 4 or t % 3 == 0 else crowd.rewards(allocation))


@_check("an arm never seen")
def _never_seen(case: Case) -> None:
    """An arm whose rewards never come back is survived."""
    agent, crowd = case.start(), Crowd(case)
    for _ in range(case.horizon):
        rewards = crowd.rewards(looked_at(agent))
        rewards[0] = NAN
        agent.tell(rewards)


@_check("rewards 0 and 1")
def _extreme_rewards(case: Case) -> None:
    """Nothing but failures, nothing but successes, and a change from one to the other."""
    for kinds in (("zeros", "ones"), ("ones", "zeros")):
        agent, crowd = case.start(), Crowd(case)
        for kind in kinds:
            play(case, agent, case.horizon // 2 + 1, crowd, kind)


@_check("trials")
def _trials(case: Case) -> None:
    """Mean rewards that stand for many observations are taken."""
    agent, crowd = case.start(), Crowd(case)
    for _ in range(case.horizon):
        rewards = crowd.rewards(looked_at(agent))
        means = np.where(np.isnan(rewards), NAN, crowd.random.random(case.arms))
        agent.tell(means, trials=np.where(np.isnan(means), 0, crowd.random.integers(1, 10_000, case.arms)))


@_check("overrides")
def _overrides(case: Case) -> None:
    """People may deploy something else: equal shares, one arm, anything off the grid."""
    agent, crowd = case.start(), Crowd(case)
    for t in range(case.horizon):
        looked_at(agent)
        other = (
            np.full(case.arms, 1 / case.arms),
            np.eye(case.arms)[t % case.arms],
            crowd.random.dirichlet(np.ones(case.arms)),
        )[t % 3]
        agent.tell(crowd.rewards(other), allocation=other)


@_check("skipped rounds")
def _skipped(case: Case) -> None:
    """Rounds about which nothing is known, with or without what was deployed."""
    agent, crowd = case.start(), Crowd(case)
    for t in range(case.horizon):
        allocation = looked_at(agent)
        if t < 5 or t % 4 == 0:
            agent.tell(None)
        elif t % 4 == 1:
            agent.tell(None, allocation=np.eye(case.arms)[t % case.arms])
        else:
            agent.tell(crowd.rewards(allocation))


@_check("past records")
def _history(case: Case) -> None:
    """An agent may start from records of what was deployed and, where known, what came back."""
    crowd, records = Crowd(case), []
    for t in range(20):
        allocation = crowd.random.dirichlet(np.ones(case.arms))
        records.append({"allocation": allocation, **({} if t % 3 == 0 else {"rewards": crowd.rewards(allocation)})})
    agent = case.start(history=records)
    require(agent.rounds == 20, f"20 records count as {agent.rounds} rounds")
    play(case, agent, min(case.horizon, 40), crowd)


@_check("explanation")
def _explanation(case: Case) -> None:
    """An explanation is plain data that JSON can hold."""
    agent, crowd = case.start(), Crowd(case)
    for _ in range(min(case.horizon, 40)):
        reasons = agent.explain()
        require(isinstance(reasons, Mapping), f"explain gives {type(reasons).__name__}, not a dict")
        try:
            json.dumps(reasons, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise Broken(f"explain gives what JSON cannot hold ({error}): {reasons}") from None
        agent.tell(crowd.rewards(agent.ask()))


@_check("threads")
def _threads(case: Case) -> None:
    """`simulate` gives bit by bit the same on one thread and on two."""
    problem, policy = case.problem(), case.policy
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DoubtfulAssumption
        )  # whether the policy suits the problem is not the question here
        one, two = (
            simulate(problem, policy, case.horizon, runs=3, seed=case.seed, checkpoints=3, threads=n) for n in (1, 2)
        )
    for name in ("regret", "realised_regret", "utility", "impact", "allocation"):
        first, second = getattr(one, name), getattr(two, name)
        require(bool(np.all(first == second)), f"{name} differs between one thread and two")
