"""What a program is created with: read and checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from aftereffect.errors import AftereffectError, UnknownName, require, require_one_of, require_whole, shown
from aftereffect.model.problem import as_name, check_names
from aftereffect.model.reward_range import RewardRange
from aftereffect.model.units import check_units
from aftereffect.policies.base import Policy, policy_from
from aftereffect.policies.reading import by_label
from aftereffect.policies.recommend import recommended
from aftereffect.programs.environment import environment
from aftereffect.programs.events import Content, Event, named, now, plain
from aftereffect.programs.fold import Fold
from aftereffect.records.reading import read_records
from aftereffect.records.table import Records

PAST = ("allocation", "rewards", "trials", "measures")  # of a past round


def request_to_create(
    *,
    arms: Sequence[str | int],
    policy: Policy | str | None,
    floors: Any,
    caps: Any,
    units: int | None,
    reward_range: Sequence[float] | None,
    records: Any,
    **others: Any,
) -> Content:
    """The first event's request, in plain data."""
    names = read_names(arms)
    unit = RewardRange.of(reward_range)
    if reward_range is None and isinstance(records, Records):
        unit = records.reward_range
    return {
        "arms": list(names),
        "policy": written_policy(policy, len(names), others["horizon"]),
        "floors": limits_in_order("floors", floors, names, 0.0),
        "caps": limits_in_order("caps", caps, names, 1.0),
        "units": None if units is None else check_units(units),
        "history": None if records is None else past_rounds(records, names, unit),
        **{name: plain(value) for name, value in others.items()},
        **({} if unit.usual else {"reward_range": list(unit)}),
    }


def first_event(request: Content, key: str | None, by: str | None) -> Event:
    """A program's first event: it can be started, and the answer says with what it was."""
    if request.get("agent") is None:
        require_whole("seed", request["seed"], 0)
    fold = Fold()
    answer = {**fold.act("create", request), "made_with": environment(fold.agent.policy)}
    return Event(1, "create", request=request, answer=answer, at=now(), round=answer["rounds"], by=by, key=key)


def read_names(arms: Sequence[str | int]) -> tuple[str, ...]:
    """Names of arms: printable, all different; whole numbers go by their digits."""
    if isinstance(arms, (str, bytes)) or not isinstance(arms, Sequence):
        raise AftereffectError(f"arms must be a list of names, got {shown(arms)}")
    for name in map(as_name, arms):
        good = isinstance(name, str) and 1 <= len(name) <= 100 and name.isprintable() and name == name.strip()
        require(good, f"an arm's name is 1 to 100 printable letters, got {shown(name)}")
    return check_names(arms, len(arms))


def written_policy(policy: Policy | str | None, arms: int, horizon: int | None) -> str:
    """The policy as it is recorded, in its short notation; nothing of it may be lost in that."""
    if policy is None:
        return recommended(arms, horizon).key
    chosen = policy_from(policy) if isinstance(policy, str) else policy
    require(policy_from(chosen.key) == chosen, f"policy {chosen.key!r} cannot be written down without a loss")
    return chosen.key


def past_rounds(records: Any, names: Sequence[str], unit: RewardRange) -> list[Content]:
    """Past rounds by arm names: from a table of records (also a file's name or a frame), or as agents take their history.

    Rewards are as they were told, in the user's unit.
    """
    table = isinstance(records, (str, PathLike)) or hasattr(records, "columns")
    if not table and not isinstance(records, Records):
        require(isinstance(records, Sequence), f"records must be a table or a list of rounds, got {shown(records)}")
        rounds: list[Any] = list(records)
        if not rounds or not isinstance(rounds[0], Mapping) or "arm" not in rounds[0]:
            return [past_round(record, names) for record in rounds]
    found = records if isinstance(records, Records) else read_records(records, reward_range=unit)
    for name in found.names:
        require_one_of("arm in the records:", name, names)
    return [_as_told(found, entry, names) for entry in found.history()]


def _as_told(records: Records, entry: Content, names: Sequence[str]) -> Content:
    if "rewards" in entry:
        entry["rewards"] = records.as_told(entry["rewards"])
    return past_round({what: records.by_name(values) for what, values in entry.items()}, names)


def past_round(record: Any, names: Sequence[str]) -> Content:
    """A past round by arm names: a mapping, an (allocation, rewards) pair, or an allocation alone."""
    if isinstance(record, tuple) and len(record) == 2 and not isinstance(record[0], (int, float)):
        record = {"allocation": record[0], "rewards": record[1]}
    elif not isinstance(record, Mapping):
        record = {"allocation": record}
    for name in record:
        if name not in PAST:
            raise UnknownName("part of a record:", str(name), PAST)
    return {name: named(name, record[name], names) for name in PAST if record.get(name) is not None}


def limits_in_order(what: str, limits: Any, names: Sequence[str], missing: float) -> list[float] | float | None:
    """Floors or caps in the arms' order, where they are given by name (a mapping, or a Series by its labels)."""
    limits = by_label(what, limits, names)
    if not isinstance(limits, Mapping):
        result: list[float] | float | None = plain(limits)
        return result
    limits = {as_name(name): value for name, value in limits.items()}
    for name in limits:
        if name not in names:
            raise UnknownName(f"arm in {what}:", str(name), names)
    return [plain(limits.get(name, missing)) for name in names]
