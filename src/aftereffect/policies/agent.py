"""The agent: a policy under way, to be asked and told, round after round, saved and resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from aftereffect._random import generator
from aftereffect.errors import AftereffectError, WrongTell, require_one_of, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Observed
from aftereffect.model.feedback import ONE, Feedback
from aftereffect.model.limits import Limits, as_split
from aftereffect.model.problem import check_names
from aftereffect.policies.base import Policy, Setting
from aftereffect.policies.pace import before_the_first, keep_pace
from aftereffect.policies.reading import by_arm
from aftereffect.policies.round_check import NO_SHARE, OUTSIDE, TRIALS, check_round
from aftereffect.policies.rules import bind

Rewards = Sequence[float] | Mapping[str, float] | npt.NDArray[np.float64]


class Agent:
    """A policy under way. `ask()` gives the allocation to deploy, `tell(...)` takes what came of it."""

    def __init__(self, policy: Policy, setting: Setting, names: Sequence[str] | None = None) -> None:
        self.policy = policy
        self.setting = setting
        self.names = None if names is None else check_names(names, setting.arms)
        self.state = policy.state(setting)
        self.rounds = 0  # rounds told so far, past records included
        self._rule = bind(self.state)
        self._pending: Floats | None = None
        self._seen, self._reward = np.zeros(setting.arms), np.zeros(setting.arms)
        self._no_trials = np.zeros(0)
        self._arms = setting.arms
        self._one = setting.feedback_code == ONE
        self._step = setting.step
        self._previous = before_the_first(setting.arms, setting.start)  # deployed last; kept where steps are limited

    def ask(self) -> Floats:
        """The allocation to deploy in this round; asking again before telling gives the same."""
        if self._pending is None:
            allocation = np.zeros(self._arms)
            self._rule.ask(self.state, self.rounds + 1, allocation)
            if self._step is not None:
                keep_pace(self._previous, allocation, self._step)
            self._pending = allocation
        return self._pending.copy()

    def tell(
        self,
        rewards: Rewards | None,
        *,
        trials: Sequence[float] | Mapping[str, float] | npt.NDArray[Any] | None = None,
        allocation: Sequence[float] | Mapping[str, float] | Floats | None = None,
        measures: Rewards | None = None,
    ) -> None:
        """What came back in the round asked for.

        `rewards`: one in [0, 1] per arm, NaN for an arm that was not seen, or by arm name (a mapping, a pandas Series, a
        frame of one row) those that were seen; None when nothing is known about the round. `trials`: how many observations
        each mean reward stands for. `allocation`: what was really deployed, if people overrode the advice. `measures`: the
        arms' fairness measures in [0, 1], NaN for those not known. A wrong tell raises `WrongTell` and changes nothing.
        """
        if self._pending is None:
            raise WrongTell("tell without ask: ask() for the round's allocation first")
        deployed = self._pending if allocation is None else self._deployed(allocation)
        self._take(deployed, rewards, trials, measures)
        self._pending = None

    def _take(self, deployed: Floats, rewards: Rewards | None, trials: Any, measures: Rewards | None = None) -> None:
        measured = None if measures is None else self._measures(measures)
        if rewards is None:
            if trials is not None:
                raise WrongTell("trials without rewards: give both, or neither for a round nothing is known about")
            self._rule.skip(self.state, self.rounds + 1, deployed)
        else:
            values = self._vector("rewards", rewards)
            counts = self._no_trials if trials is None else self._vector("trials", trials)
            code = check_round(deployed, values, counts, trials is not None, self._one, self._seen, self._reward)
            if code:
                self._refuse(code, values, counts)
            self._rule.tell(self.state, self.rounds + 1, deployed, self._seen, self._reward)
        if measured is not None:
            self._rule.note(self.state, self.rounds + 1, deployed, measured)
        if self._step is not None:
            self._previous[:] = deployed
        self.rounds += 1

    def _measures(self, measures: Rewards) -> Floats:
        values = self._vector("measures", measures)
        wrong = np.flatnonzero(~np.isnan(values) & ~((values >= 0) & (values <= 1)))
        if len(wrong):
            arm = int(wrong[0])
            name = repr(self.names[arm]) if self.names else str(arm)
            raise WrongTell(f"measures must lie in [0, 1] (NaN: not seen), got {values[arm]:g} for arm {name}")
        return np.ascontiguousarray(values)

    def _vector(self, what: str, values: Any) -> Floats:
        """One number per arm, NaN for those that a mapping or a Series leaves out."""
        return by_arm(what, values, self._arms, self.names)

    def _deployed(self, allocation: Any) -> Floats:
        shares = by_arm("allocation", allocation, self._arms, self.names, missing=0.0)
        if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > 1e-6:
            raise WrongTell(f"allocation must be shares in [0, 1] that sum to 1, got {shares.tolist()}")
        return np.ascontiguousarray(shares)

    def _refuse(self, code: int, rewards: Floats, trials: Floats) -> None:
        arm, fault = divmod(code, 10)
        name = repr(self.names[arm]) if self.names else str(arm)
        if fault == NO_SHARE:
            raise WrongTell(
                f"arm {name} had no share this round, so it has no reward; got {rewards[arm]:g} (NaN: not seen)"
            )
        if fault == OUTSIDE:
            raise WrongTell(f"rewards must lie in [0, 1] (NaN: not seen), got {rewards[arm]:g} for arm {name}")
        if fault == TRIALS:
            raise WrongTell(
                f"trials must be at least 1 for an arm that was seen, 0 for one that was not; arm {name} has "
                f"{trials[arm]:g}"
            )
        raise WrongTell(f"under feedback 'one' a single arm is seen a round, got rewards {rewards.tolist()}")

    def _absorb(self, history: Sequence[Any]) -> None:
        """Past records: what was deployed before today, and what came back where that is known."""
        for i, record in enumerate(history):
            try:
                entry = _record(record)
                deployed = self._deployed(entry["allocation"])
                self._take(deployed, entry.get("rewards"), entry.get("trials"), entry.get("measures"))
            except AftereffectError as error:
                raise AftereffectError(f"history, record {i}: {error}") from None

    def explain(self) -> dict[str, Any]:
        """In plain data, why this allocation: phase and stage, each arm's estimate and radius, the runner-up."""
        allocation = self.ask()
        reasons = self.policy.explain(self.state, self.setting, self.rounds + 1, allocation)
        names = self.names or tuple(f"arm {k}" for k in range(self.setting.arms))
        _name_arms(reasons, names)
        return {
            "round": self.rounds + 1,
            "policy": self.policy.key,
            "allocation": dict(zip(names, allocation.tolist(), strict=True)),
            **reasons,
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file, at once or not at all; `load_agent` goes on from it bit by bit."""
        from aftereffect.policies.storage import save_agent

        save_agent(self, path)

    def __repr__(self) -> str:
        state = "asked, waits for tell" if self._pending is not None else "waits for ask"
        return f"Agent({self.policy.key}, {self.setting.arms} arms, {self.rounds:,} rounds told, {state})"


def _record(record: Any) -> Mapping[str, Any]:
    """One record of the past: a mapping, an (allocation, rewards) pair, or an allocation alone."""
    if isinstance(record, Mapping):
        unknown = set(record) - {"allocation", "rewards", "trials", "measures"}
        if unknown or "allocation" not in record:
            raise AftereffectError(
                f"a record has allocation, rewards, trials and measures, got {sorted(map(str, record))}"
            )
        return record
    pair = isinstance(record, tuple) and len(record) == 2 and not np.isscalar(record[0])
    return {"allocation": record[0], "rewards": record[1]} if pair else {"allocation": record}


def _name_arms(reasons: Any, names: Sequence[str]) -> None:
    """Put the arms' names into every list of arms and in place of every arm number."""
    if not isinstance(reasons, dict):
        return
    for key, value in reasons.items():
        if key == "arms":
            for name, arm in zip(names, value, strict=True):
                arm["arm"] = name
        elif key in ("chosen_arm", "runner_up") and isinstance(value, int):
            reasons[key] = names[value]
        else:
            _name_arms(value, names)


def start_agent(
    policy: Policy,
    arms: int,
    horizon: int | None,
    seed: int,
    feedback: Feedback,
    floors: Sequence[float] | float | None,
    caps: Sequence[float] | float | None,
    names: Sequence[str] | None,
    history: Sequence[Any] | None,
    observed: Observed,
    *,
    start: Any = None,
    step: float | None = None,
    caution: float | None = None,
) -> Agent:
    """A fresh agent, with past records taken in; the horizon counts rounds from now on."""
    require_whole("seed", seed, 0)
    if history is not None and not isinstance(history, Sequence):
        raise AftereffectError(f"history must be a list of records, got {shown(history)}")
    past = [] if history is None else list(history)
    first = Setting(arms, horizon, feedback)  # checks before anything is computed from them
    total = None if first.horizon is None else int(first.horizon) + len(past)
    limits = Limits.of(int(arms), floors, caps)
    split = None if start is None else as_split("start", _by_name(start, names), limits)
    setting = Setting(
        int(arms),
        total,
        feedback,
        limits,
        None,
        generator(int(seed)),
        None,
        observed,
        start=split,
        step=step,
        caution=caution,
    )
    agent = Agent(policy, setting, names)
    agent._absorb(past)
    return agent


def _by_name(start: Any, names: Sequence[str] | None) -> Any:
    """Shares in the arms' order, where they are given by name; arms that are not named have none."""
    if not isinstance(start, Mapping):
        return start
    if names is None:
        raise AftereffectError(f"start by name needs names=, got {shown(dict(start))}")
    for name in start:
        require_one_of("arm", name, names)
    return [start.get(name, 0.0) for name in names]
