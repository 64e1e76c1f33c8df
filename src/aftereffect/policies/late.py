"""Tells that come late: for a round that has happened before, in parts, in any order, and as corrections."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aftereffect.errors import WrongTell
from aftereffect.model.curves import Floats
from aftereffect.policies.reading import arms_named
from aftereffect.policies.round_check import check_round
from aftereffect.policies.round_log import Round, open_round

if TYPE_CHECKING:
    from aftereffect.policies.agent import Agent

Which = npt.NDArray[np.bool_]


class Late(NamedTuple):
    """What is told of a round after the fact."""

    rewards: Any
    trials: Any
    allocation: Any
    measures: Any
    replace: bool
    reason: str


def tell_late(agent: Agent, number: int, late: Late) -> None:
    """Put into a round what came of it, once all of it is known to be right."""
    course = agent._course
    asked_for = None if number != course.rounds + 1 else agent._pending
    if number > course.rounds and asked_for is None:
        raise WrongTell(f"round {number} has not happened yet: {course.rounds} rounds were told or deployed so far")
    before = course.at(number) if asked_for is None else open_round(asked_for)
    after = _told(agent, number, before, late)
    after.told_at = time()
    if asked_for is not None:
        after.deployed_at = after.told_at
        agent._add(after, after.told_at, late.reason)
        return
    if late.reason:
        after.reason = late.reason
    course.put(number, after)
    if number == course.rounds and not np.array_equal(after.deployed, before.deployed):
        agent._previous[: len(after.deployed)] = after.deployed
        if agent._step is not None:
            agent._pending = None  # it went on from what was not deployed after all


def _told(agent: Agent, number: int, before: Round, late: Late) -> Round:
    """The round with what is told now, a copy of it as it was."""
    after = Round()
    after.__dict__.update(before.__dict__)
    arms = len(before.deployed)
    if late.allocation is not None:
        shares = agent._deployed(late.allocation)
        _check_new_arms(agent, np.where(shares > 0, shares, np.nan), arms)
        after.deployed = shares[:arms].copy()
        told_otherwise = not np.array_equal(after.deployed, before.deployed)
        if told_otherwise and not late.replace and before.deployed_at == before.deployed_at:
            raise WrongTell(f"round {number} was deployed as {before.deployed.tolist()}; replace=True corrects it")
    if late.rewards is None:
        _close(number, after, late)
    else:
        _merge(agent, number, after, late)
    if late.measures is not None:
        _merge_measures(agent, number, after, late)
    if late.allocation is not None:
        _check_shares(agent, after)
    return after


def _close(number: int, after: Round, late: Late) -> None:
    """Nothing more will come; of a round that was closed, nothing is known after all."""
    if late.trials is not None:
        raise WrongTell("trials without rewards: give both, or neither to close a round")
    if after.closed:
        if late.measures is not None or late.allocation is not None:
            return  # it is about those
        if not late.replace:
            raise WrongTell(f"round {number} was told or closed already; replace=True takes back what was told")
    if late.replace:
        after.seen, after.reward, after.known = np.zeros(len(after.seen)), np.zeros(len(after.seen)), False
    after.seen = np.nan_to_num(after.seen)
    after.closed = True


def _merge(agent: Agent, number: int, after: Round, late: Late) -> None:
    """Add the rewards of the arms spoken of, or put them in place of earlier ones."""
    arms = len(after.deployed)
    named = arms_named(late.rewards, agent._arms, agent.names)[:arms]
    values = agent._vector("rewards", late.rewards)
    counts = agent._no_trials if late.trials is None else agent._vector("trials", late.trials)
    _check_new_arms(agent, values, arms)
    values, counts = values[:arms].copy(), counts[:arms].copy()
    already = named & ~np.isnan(after.seen) & (after.deployed > 0)
    if not late.replace and (after.closed or already.any()):
        _refuse_twice(agent, number, after, already)
    seen, reward = np.zeros(arms), np.zeros(arms)
    code = check_round(after.deployed, values, counts, late.trials is not None, one=False, seen=seen, reward=reward)
    if code:
        agent._refuse(code, values, counts)
    if late.trials is None:  # a corrected reward stands for as many observations as before
        seen = np.where((seen > 0) & (np.nan_to_num(after.seen) > 0), after.seen, seen)
    after.seen, after.reward = np.where(named, seen, after.seen), np.where(named, reward, after.reward)
    if agent._one and late.trials is None and (np.nan_to_num(after.seen) == 1).sum() > 1:
        raise WrongTell(
            f"under feedback 'one' a single arm is seen a round, got rewards for {int((after.seen > 0).sum())} in round {number}"
        )
    after.known = after.known or bool(named.any())
    after.closed = after.closed or not np.isnan(after.seen[after.deployed > 0]).any()
    if after.closed:
        after.seen = np.nan_to_num(after.seen)


def _check_new_arms(agent: Agent, values: Floats, arms: int) -> None:
    """Arms that opened after the round have nothing in it."""
    later = np.flatnonzero(~np.isnan(values[arms:]))
    if len(later):
        raise WrongTell(f"arm {agent._name(arms + int(later[0]))} was not there yet in that round")


def _refuse_twice(agent: Agent, number: int, after: Round, already: Which) -> None:
    arm = int(np.argmax(already))
    if already.any() and after.seen[arm] > 0:
        raise WrongTell(
            f"round {number}: the reward of arm {agent._name(arm)} was told already ({after.reward[arm]:g}); "
            "replace=True corrects it"
        )
    raise WrongTell(f"round {number} was told or closed already; replace=True corrects it")


def _merge_measures(agent: Agent, number: int, after: Round, late: Late) -> None:
    """Add measures that were not known, or put them in place of earlier ones."""
    arms = len(after.deployed)
    named = arms_named(late.measures, agent._arms, agent.names)[:arms]
    measured = agent._measures(late.measures)
    _check_new_arms(agent, measured, arms)
    before = np.full(arms, np.nan) if after.measure is None else after.measure
    if not late.replace and (named & ~np.isnan(before)).any():
        raise WrongTell(f"round {number}: measures of it were told already; replace=True corrects them")
    after.measure = np.where(named, measured[:arms], before)


def _check_shares(agent: Agent, after: Round) -> None:
    """No rewards of arms that had no share after all."""
    wrong = np.flatnonzero((np.nan_to_num(after.seen) > 0) & (after.deployed <= 0))
    if len(wrong):
        arm = int(wrong[0])
        raise WrongTell(
            f"arm {agent._name(arm)} had no share in that round, but a reward of {after.reward[arm]:g} was told"
        )
