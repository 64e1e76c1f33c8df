"""How agents begin: what they are told at the start, checked, and past records taken in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect._random import generator
from aftereffect.errors import AftereffectError, require_one_of, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Observed
from aftereffect.model.feedback import Feedback
from aftereffect.model.history import held_lately
from aftereffect.model.limits import Limits, as_start
from aftereffect.model.problem import as_name, check_names
from aftereffect.policies.agent import Agent, deployed_split
from aftereffect.policies.reading import by_label
from aftereffect.policies.setting import Setting

if TYPE_CHECKING:
    from aftereffect.policies.base import Policy


def start_agent(
    policy: Policy,
    arms: int,
    horizon: int | None,
    seed: int,
    *,
    feedback: Feedback,
    floors: Sequence[float] | Mapping[Any, float] | float | None,
    caps: Sequence[float] | Mapping[Any, float] | float | None,
    names: Sequence[str | int] | None,
    history: Sequence[Any] | None,
    observed: Observed,
    start: Any,
    step: float | None,
    caution: float | None,
    keep: int,
) -> Agent:
    """A fresh agent, with past records taken in; the horizon counts rounds from now on."""
    require_whole("seed", seed, 0)
    if history is not None and not isinstance(history, Sequence):
        raise AftereffectError(f"history must be a list of records, got {shown(history)}")
    first = Setting(arms, horizon, feedback)  # checks before anything is computed from them
    names = None if names is None else check_names(names, first.arms)
    past = [_record(i, record, int(arms), names) for i, record in enumerate(history or [])]
    total = None if first.horizon is None else int(first.horizon) + len(past)
    low, high = (_in_order(*side, names) for side in (("floors", floors, 0.0), ("caps", caps, 1.0)))
    limits = Limits.of(int(arms), low, high, names)
    held = _held_before(past, limits) if start is None else _in_order("start", start, 0.0, names)
    split = None if held is None else as_start(held, limits)
    setting = Setting(
        int(arms),
        total,
        feedback,
        limits,
        rng=generator(int(seed)),
        observed=observed,
        start=split,
        step=step,
        caution=caution,
    )
    agent = Agent(policy, setting, names, keep)
    _absorb(agent, past)
    if past and policy.holds:  # today's split is where records end, not what was held before them
        today = held_lately(np.array([record["allocation"] for record in past]))
        agent._course.change(setting, limits.nearest(today), asked=False)
    return agent


def _held_before(past: Sequence[Mapping[str, Any]], limits: Limits) -> Floats | None:
    """The split that past records, if there are any, suggest was held before them: their mean, as `fit` takes it."""
    if not past:
        return None
    total = np.sum([record["allocation"] for record in past], axis=0)
    return limits.nearest(total / total.sum())


def _absorb(agent: Agent, past: Sequence[Mapping[str, Any]]) -> None:
    """Take in what was deployed before today, and what came back where that is known."""
    for i, record in enumerate(past):
        with _naming(i):
            told = (record.get(what) for what in ("rewards", "trials", "measures"))
            happened = agent._told(record["allocation"], *told)
            happened.asked = False
            agent._add(happened, math.nan)


def _record(i: int, record: Any, arms: int, names: Sequence[str] | None) -> Mapping[str, Any]:
    """One record of the past: a mapping, an (allocation, rewards) pair, or an allocation alone; its allocation is checked."""
    with _naming(i):
        entry = record if isinstance(record, Mapping) else _as_mapping(record)
        if set(entry) - {"allocation", "rewards", "trials", "measures"} or "allocation" not in entry:
            raise AftereffectError(
                f"a record has allocation, rewards, trials and measures, got {sorted(map(str, entry))}"
            )
        return {**entry, "allocation": deployed_split(entry["allocation"], arms, names)}


def _as_mapping(record: Any) -> Mapping[str, Any]:
    pair = isinstance(record, tuple) and len(record) == 2 and not np.isscalar(record[0])
    return {"allocation": record[0], "rewards": record[1]} if pair else {"allocation": record}


@contextmanager
def _naming(i: int) -> Iterator[None]:
    """Say of a mistake in which record it is."""
    try:
        yield
    except AftereffectError as error:
        raise AftereffectError(f"history, record {i}: {error}") from None


def _in_order(what: str, given: Any, missing: float, names: Sequence[str] | None) -> Any:
    """Shares or limits in the arms' order, where they are given by name; all else as it is."""
    given = by_label(what, given, names)
    if not isinstance(given, Mapping):
        return given
    if names is None:
        raise AftereffectError(f"{what} by name needs names=, got {shown(dict(given))}")
    known = {as_name(name): value for name, value in given.items()}
    for name in known:
        require_one_of("arm", name, names)
    return [known.get(name, missing) for name in names]
