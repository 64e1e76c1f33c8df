"""An agent's course in a file: its state, the rounds that can be corrected, and the state that corrections start from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import CorruptFile, require_whole, shown
from aftereffect.model.limits import Limits
from aftereffect.policies.arms import changed_setting
from aftereffect.policies.course import KEEP, Change, Course, Stand
from aftereffect.policies.round_log import Round
from aftereffect.policies.rules import is_own
from aftereffect.policies.sense import check_arrays, check_shares, require_sense
from aftereffect.policies.setting import MOST_ROUNDS, Setting
from aftereffect.policies.state_files import arrays_of, read_numbers, read_state, write_numbers, write_state

if TYPE_CHECKING:
    from aftereffect.policies.base import Policy

VECTORS = ("advised", "deployed", "seen", "reward", "measure")
MOMENTS = ("asked_at", "deployed_at", "told_at")
MARKS = ("asked", "known", "closed")
WORDS = ("stage", "reason")


def write_limits(setting: Setting) -> dict[str, Any]:
    """The arms with their floors and caps."""
    limits = setting.limits
    return {"arms": setting.arms, "floors": limits.floors.tolist(), "caps": limits.caps.tolist()}


def read_limits(content: dict[str, Any]) -> Limits:
    """Floors and caps, checked."""
    return Limits.of(content["arms"], content["floors"], content["caps"])


def write_course(course: Course) -> dict[str, Any]:
    """Everything of a course but its policy and what it started with."""
    settled, base = course.settled, course.base
    return {
        "rounds": course.rounds,
        "keep": course.keep,
        "settled": settled.round,
        "settled_changes": settled.changes,
        "settled_asked": settled.asked,
        **_write_state(settled.state),
        "base": {
            "round": base.round,
            "changes": base.changes,
            **(_write_state(base.state) if base.state is not None else {}),
        },
        "changes": [_write_change(change) for change in course.changes],
        "log": [_write_round(happened) for happened in course.log],
    }


def _write_state(state: Any) -> dict[str, Any]:
    versions, numbers = write_state(state)
    return {"versions": versions, "state": numbers}


def _write_change(change: Change) -> dict[str, Any]:
    shares = None if change.shares is None else change.shares.tolist()
    return {"after": change.after, "asked": change.asked, **write_limits(change.setting), "shares": shares}


def _write_round(happened: Round) -> dict[str, Any]:
    """What of a round differs from nothing."""
    written: dict[str, Any] = {}
    for name in VECTORS:
        value = getattr(happened, name)
        if value is not None:
            written[name] = write_numbers(value)
    for name in MOMENTS:
        value = getattr(happened, name)
        if not math.isnan(value):
            written[name] = value
    for name in MARKS:
        written[name] = getattr(happened, name)
    if happened.drawn is not None:
        written["drawn"] = happened.drawn
    for name in WORDS:
        if getattr(happened, name):
            written[name] = getattr(happened, name)
    return written


def read_course(content: dict[str, Any], policy: Policy, setting: Setting) -> Course:
    """A course that goes on where it was; up to schema 5 files held no log, and corrections begin with what comes now."""
    course = Course(policy, setting, require_whole("keep", content.get("keep", KEEP)))
    rounds = require_whole("rounds", content["rounds"], 0, MOST_ROUNDS)
    settled = require_whole("settled", content.get("settled", rounds), 0, rounds)
    course.rounds, course.changes = rounds, [_read_change(entry, setting) for entry in content.get("changes", [])]
    settings = [setting, *(change.setting for change in course.changes)]
    course.settled = _read_stand(content, policy, settings, settled, content.get("settled_changes", 0))
    course.settled.asked = _mark("settled_asked", content.get("settled_asked", content["asked"] is not None))
    if "log" not in content:
        course.begin_at(rounds)
        return course
    base = content["base"]
    first = require_whole("base", base["round"], 0, settled)
    course.base = _read_stand(base, policy, settings, first, base["changes"])
    course.first = course.base.round
    course.kept.take_arms(settings[-1].arms)
    for number, entry in enumerate(content["log"], course.first + 1):
        changed = sum(change.after < number for change in course.changes)
        course.kept.append(_read_round(entry, settings[changed].arms))
    require_sense("log", len(course.kept) == rounds - course.first, np.array([len(course.kept)]))
    return course


def _read_stand(content: dict[str, Any], policy: Policy, settings: list[Setting], number: int, changes: int) -> Stand:
    """A state with its place in the course."""
    setting = settings[require_whole("changes", changes, 0, len(settings) - 1)]
    if "state" not in content:
        require_sense("base", number == 0, np.array([number]))
        return Stand(None, setting)
    state, fresh = policy.state(setting), policy.state(setting)
    values, arrays = read_state(state, content.get("versions", {}), content["state"], policy.name), arrays_of(state)
    if not is_own(state):  # what others' states may hold is theirs to know
        check_arrays(values, arrays)
    for name, array in arrays.items():  # only now: arrays that are settled at the start may be shared between agents
        array[...] = values[name]
    policy.check_state(state, fresh)
    return Stand(state, setting, number, changes)


def _read_change(entry: dict[str, Any], setting: Setting) -> Change:
    after = require_whole("after", entry["after"], 0, MOST_ROUNDS)
    changed, shares = changed_setting(setting, read_limits(entry)), entry["shares"]
    held = None if shares is None else read_numbers("shares", shares, np.zeros(changed.arms))
    return Change(after, _mark("asked", entry["asked"]), changed, held)


def _read_round(entry: dict[str, Any], arms: int) -> Round:
    """One round of the log, with nothing in it that no agent would have taken."""
    happened = Round()
    for name in VECTORS:
        if name in entry:
            setattr(happened, name, read_numbers(f"log.{name}", entry[name], np.zeros(arms)))
    for name in MARKS:
        setattr(happened, name, _mark(f"log.{name}", entry[name]))
    for name in MOMENTS:
        if name in entry:
            setattr(happened, name, float(entry[name]))
    happened.drawn = None if "drawn" not in entry else tuple(entry["drawn"])
    for name in WORDS:
        setattr(happened, name, str(entry.get(name, "")))
    _check_round(happened)
    return happened


def _check_round(happened: Round) -> None:
    check_shares("log.deployed", happened.deployed)
    if happened.advised is not None:
        check_shares("log.advised", happened.advised)
    seen, reward, measure = happened.seen, happened.reward, happened.measure
    told = seen[~np.isnan(seen)]
    require_sense(
        "log.seen", bool(np.all((told >= 0) & (told < 1e15)) and not (happened.closed and len(told) < len(seen))), seen
    )
    require_sense("log.reward", bool(np.all((reward >= 0) & (reward <= 1))), reward)
    if measure is not None:
        known = measure[~np.isnan(measure)]
        require_sense("log.measure", bool(np.all((known >= 0) & (known <= 1))), measure)


def _mark(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise CorruptFile(f"{name} must be true or false, got {shown(value)}")
    return value
