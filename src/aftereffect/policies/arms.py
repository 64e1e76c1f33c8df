"""Arms and limits that change while an agent is under way: the others' state is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import AftereffectError, require, require_numbers, require_one_of, shown
from aftereffect.model.curves import Floats
from aftereffect.model.limits import Limits
from aftereffect.model.problem import as_name, check_names
from aftereffect.policies.reading import by_label
from aftereffect.policies.setting import Setting

if TYPE_CHECKING:
    from aftereffect.policies.agent import Agent


def changed_setting(setting: Setting, limits: Limits) -> Setting:
    """The setting with other limits and, where they are for more arms, with those at the end."""
    arms, start = len(limits.floors), setting.start
    longer = None if start is None else np.concatenate([start, np.zeros(arms - len(start))])
    return dataclasses.replace(setting, arms=arms, limited=limits, start=longer)


def open_arm(agent: Agent, name: Any, share: float | None) -> None:
    """A new arm at the end, or one that was closed, open again."""
    names, limits, name = _names(agent), agent.setting.limits, as_name(name)
    if share is not None:
        require_numbers("open_arm", share=share)
        require(0 <= share < 1, f"share must lie in [0, 1), got {shown(share)}")
    if name in names:
        arm = names.index(name)
        require(limits.caps[arm] == 0, f"arm {name!r} is open already")
        caps = limits.caps.copy()
        caps[arm] = 1.0
        wider = Limits.of(len(names), limits.floors.tolist(), caps.tolist())
    else:
        names = check_names([*names, name], len(names) + 1)
        arm = len(names) - 1
        wider = Limits.of(len(names), [*limits.floors.tolist(), 0.0], [*limits.caps.tolist(), 1.0])
    _change(agent, names, wider, None if share is None else _with_share(agent, arm, len(names), float(share)))


def close_arm(agent: Agent, name: Any) -> None:
    """No share for an arm any more: its cap is zero."""
    names, limits, name = _names(agent), agent.setting.limits, as_name(name)
    require_one_of("arm", name, names)
    arm = names.index(name)
    require(limits.caps[arm] > 0, f"arm {name!r} is closed already")
    floors, caps = limits.floors.copy(), limits.caps.copy()
    floors[arm] = caps[arm] = 0.0
    held = _held(agent, len(names))
    held[arm] = 0.0
    _change(agent, names, Limits.of(len(names), floors.tolist(), caps.tolist()), _on_simplex(held, caps))


def set_limits(agent: Agent, floors: Any, caps: Any) -> None:
    """Other floors and caps; by name, those that are not named stay."""
    limits, arms = agent.setting.limits, agent.setting.arms
    low, high = _by_name(agent, "floors", floors, limits.floors), _by_name(agent, "caps", caps, limits.caps)
    new = Limits.of(arms, low, high, agent.names)
    _change(agent, agent.names, new, None)


def rename(agent: Agent, old: Any, new: Any) -> None:
    """Another name for an arm."""
    names, old = _names(agent), as_name(old)
    require_one_of("arm", old, names)
    agent.names = check_names([new if name == old else name for name in names], len(names))


def _names(agent: Agent) -> Sequence[str]:
    if agent.names is None:
        raise AftereffectError("this agent's arms have no names; start it with names= to open, close and rename arms")
    return agent.names


def _change(agent: Agent, names: Sequence[str] | None, limits: Limits, shares: Floats | None) -> None:
    """Let the policy go on with other arms or limits; the advice that was not deployed yet is asked for anew."""
    agent._course.change(changed_setting(agent.setting, limits), shares, agent._pending is not None)
    before = agent._previous
    agent._previous = np.concatenate(
        [before, np.where(np.isnan(before[:1]), np.nan, 0.0).repeat(len(limits.floors) - len(before))]
    )
    agent.names = None if names is None else tuple(names)
    agent._arms = len(limits.floors)
    agent._pending = agent._answered = None


def _held(agent: Agent, arms: int) -> Floats:
    """The split to go on from: as changes since the last round left it, else what was deployed last, or would be first."""
    course, setting = agent._course, agent.setting
    last = setting.start if setting.start is not None else setting.limits.even
    if course.log:
        last = course.log[-1].deployed
    for change in course.changes:
        if change.after == course.rounds and change.shares is not None:
            last = change.shares
    return np.concatenate([last, np.zeros(arms - len(last))])


def _with_share(agent: Agent, arm: int, arms: int, share: float) -> Floats:
    held = _held(agent, arms)
    held[arm] = 0.0
    held *= (1 - share) / held.sum()
    held[arm] = share
    return held


def _on_simplex(held: Floats, caps: Floats) -> Floats:
    shares = held if held.sum() > 0 else caps
    return np.asarray(shares / shares.sum())


def _by_name(agent: Agent, what: str, given: Any, now: Floats) -> Any:
    """Limits as they are to be: by name for some, or for all as at the start."""
    if given is None:
        return now.tolist()
    given = by_label(what, given, agent.names)
    if not isinstance(given, Mapping):
        return given
    names, result = _names(agent), now.tolist()
    for name, value in ((as_name(name), value) for name, value in given.items()):
        require_one_of("arm", name, names)
        require_numbers(what, **{str(name): value})
        result[names.index(name)] = float(value)
    return result
