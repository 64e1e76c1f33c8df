"""The agent: a policy under way, to be asked and told, round after round, saved and resumed."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from time import time
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from aftereffect.errors import WrongTell, require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.feedback import ONE
from aftereffect.model.problem import check_names, named_arms
from aftereffect.model.reward_range import RewardRange
from aftereffect.policies import arms
from aftereffect.policies.answers import check_answer
from aftereffect.policies.course import KEEP, Course
from aftereffect.policies.explanation import Explanation, in_unit, in_words, name_arms
from aftereffect.policies.late import Late, tell_late
from aftereffect.policies.log_frame import log_frame
from aftereffect.policies.pace import before_the_first, keep_pace
from aftereffect.policies.reading import by_arm
from aftereffect.policies.round_check import NO_SHARE, OUTSIDE, TRIALS, check_round
from aftereffect.policies.round_log import Round, open_round
from aftereffect.policies.rules import is_own
from aftereffect.policies.saving import save_agent
from aftereffect.policies.setting import Setting

if TYPE_CHECKING:
    import polars as pl

    from aftereffect.policies.base import Policy

Limit = Sequence[float] | Mapping[Any, float] | float | None
Range = Sequence[float] | None
Rewards = Sequence[float] | Mapping[Any, float] | npt.NDArray[np.float64]


class Agent:
    """A policy under way. `ask()` gives the allocation to deploy, `tell(...)` takes what came of it.

    Where rewards come later, `deploy()` says that a round has happened and `tell(..., round=n)` brings what came of it, in
    parts and in any order.
    """

    def __init__(self, policy: Policy, setting: Setting, names: Sequence[str] | None = None, keep: int = KEEP) -> None:
        self._begin(Course(policy, setting, require_whole("keep", keep)), names)

    @classmethod
    def of(cls, course: Course, names: Sequence[str] | None) -> Agent:
        """The agent of a course that is under way."""
        agent = cls.__new__(cls)
        agent._begin(course, names)
        return agent

    def _begin(self, course: Course, names: Sequence[str] | None) -> None:
        self._course, policy, setting = course, course.policy, course.setting
        self.policy = policy
        self.names = None if names is None else check_names(names, setting.arms)
        self._pending: Floats | None = None
        self._explained = -1  # the course's news when advice was explained that nobody had asked for
        self._answered: Any = None  # the state that the pending advice came from
        self._drawn: Any = None
        self._draws = policy.recalls
        self._asked_at = math.nan
        self._stage = policy.only_stage
        self._has_stages = not policy.only_stage
        self._no_trials = np.zeros(0)
        self._arms = setting.arms
        self._one = setting.feedback_code == ONE
        self._step = setting.step
        self._own = is_own(course.settled.state)
        self._plain = not self._draws and self._step is None  # nothing but the round itself to keep
        self._previous = before_the_first(setting.arms, setting.start)  # deployed last

    @property
    def setting(self) -> Setting:
        """What the policy knows about its world."""
        return self._course.setting

    @property
    def state(self) -> Any:
        """The policy's state: all rounds taken in up to the first that is open."""
        return self._course.settled.state

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The arms' names; without any, their numbers from 0, as in Python."""
        return named_arms(self.names, self._arms)

    @property
    def rounds(self) -> int:
        """Rounds told or deployed so far, past records included."""
        return self._course.rounds

    @property
    def open_rounds(self) -> list[int]:
        """Rounds that were deployed and of which something is still to be told."""
        return self._course.open_rounds

    @property
    def log(self) -> pl.DataFrame:
        """The rounds that can still be corrected, one row for each round and arm: advised, deployed, told, when and why."""
        return log_frame(self._course, self.arm_names)

    def ask(self) -> Floats:
        """The allocation to deploy in the next round; asking again before it is deployed or told gives the same."""
        if self._pending is None:
            allocation = np.zeros(self._arms)
            self._answered = self._course.ask(allocation)
            if self._own:
                check_answer(self.policy.key, self.rounds + 1, allocation, self.setting.limits)
            if self._has_stages:
                self._stage = self.policy.stage(self._answered, self.rounds + 1)
            if self._draws:
                self._drawn = self.policy.drawn(self._answered)
            if self._step is not None:
                keep_pace(self.setting.limits.nearest(self._previous), allocation, self._step)
            self._asked_at = time()
            self._pending = allocation
        return self._pending.copy()

    def deploy(
        self, allocation: Sequence[float] | Mapping[Any, float] | Floats | None = None, *, reason: str = ""
    ) -> int:
        """The round has happened, as advised or with another `allocation`, and its rewards are still to come: its number.

        `reason` goes to the log: why people chose something else.
        """
        self._take_as_explained()
        deployed = self._pending if allocation is None else self._deployed(allocation)
        if deployed is None:
            raise WrongTell("deploy without ask: ask() for the round's allocation first, or say what was deployed")
        self._add(open_round(deployed), time(), reason)
        return self.rounds

    def tell(
        self,
        rewards: Rewards | None,
        *,
        trials: Sequence[float] | Mapping[Any, float] | npt.NDArray[Any] | None = None,
        allocation: Sequence[float] | Mapping[Any, float] | Floats | None = None,
        measures: Rewards | None = None,
        round: int | None = None,
        replace: bool = False,
        reason: str = "",
    ) -> None:
        """What came back in the round asked for, or in an earlier `round`.

        `rewards`: one in [0, 1] per arm, NaN for an arm that was not seen, or by arm name (a mapping, a pandas Series, a
        frame of one row) those that were seen; None when nothing is known about the round. `trials`: how many observations
        each mean reward stands for. `allocation`: what was really deployed, if people overrode the advice. `measures`: the
        arms' fairness measures in [0, 1], NaN for those not known. A wrong tell raises `WrongTell` and changes nothing.

        With `round=n` (as `deploy()` gave it) names speak of their arms alone: the others may follow later, and None says that
        nothing more will come. `replace=True` corrects what was told before.
        """
        as_advised = self._plain and round is None and allocation is None and measures is None
        if as_advised and rewards is not None and not replace and not reason:
            course = self._course
            if self._pending is not None and course.settled.asked and course.settled.round == course.rounds:
                values = by_arm("rewards", rewards, self._arms, self.names)
                counts = self._no_trials if trials is None else by_arm("trials", trials, self._arms, self.names)
                code = course.take(self._pending, values, counts, trials is not None, self._asked_at, self._stage)
                if code:
                    self._refuse(code, values, counts)
                self._pending = None
                return
        if round is not None:
            late = Late(rewards, trials, allocation, measures, replace, reason)
            tell_late(self, require_whole("round", round), late)
            return
        if replace:
            raise WrongTell("replace=True corrects a round that was told: say which with round=")
        self._take_as_explained()
        if self._pending is None:
            waiting = self.open_rounds
            raise WrongTell(
                "tell without ask: ask() for the round's allocation first"
                + (f", or say with round= which of the open rounds {shown(waiting)} this is about" if waiting else "")
            )
        deployed = self._pending if allocation is None else self._deployed(allocation)
        self._add(self._told(deployed, rewards, trials, measures), time(), reason)

    def open_arm(self, name: str | int, share: float | None = None) -> None:
        """A new arm, or one that was closed; `share`: what it gets to begin with, the others as before in what is left.

        The state of the others is kept; the new one starts from what all have in common. Policies that cannot refuse.
        """
        arms.open_arm(self, name, share)

    def close_arm(self, name: str | int) -> None:
        """No share for an arm any more (a cap of zero); `open_arm` opens it again."""
        arms.close_arm(self, name)

    def set_limits(self, floors: Limit = None, caps: Limit = None) -> None:
        """Other floors or caps from the next round on; by name, those of arms that are not named stay."""
        arms.set_limits(self, floors, caps)

    def rename(self, old: str | int, new: str | int) -> None:
        """Another name for an arm."""
        arms.rename(self, old, new)

    def _told(self, deployed: Floats, rewards: Rewards | None, trials: Any, measures: Rewards | None) -> Round:
        """A round that is told at once, checked."""
        happened = Round()
        happened.deployed = deployed
        happened.seen, happened.reward = seen, reward = np.zeros(self._arms), np.zeros(self._arms)
        if measures is not None:
            happened.measure = self._measures(measures)
        if rewards is None:
            if trials is not None:
                raise WrongTell("trials without rewards: give both, or neither for a round nothing is known about")
        else:
            values = self._vector("rewards", rewards)
            counts = self._no_trials if trials is None else self._vector("trials", trials)
            code = check_round(deployed, values, counts, trials is not None, one=self._one, seen=seen, reward=reward)
            if code:
                self._refuse(code, values, counts)
            happened.known = True
        happened.closed = True
        return happened

    def _add(self, happened: Round, now: float, reason: str = "") -> None:
        """One more round, advised as pending."""
        happened.advised = self._pending
        happened.asked_at, happened.deployed_at = self._asked_at, now
        if self._pending is not None:
            happened.stage = self._stage
        if happened.closed:
            happened.told_at = now
        if self._draws and self._pending is not None:
            happened.drawn = self._drawn
        if reason:
            happened.reason = reason
        self._course.add(happened)
        if self._step is not None:
            self._previous[:] = happened.deployed
        self._pending = None

    def _measures(self, measures: Rewards) -> Floats:
        values = self._vector("measures", measures)
        wrong = np.flatnonzero(~np.isnan(values) & ~((values >= 0) & (values <= 1)))
        if len(wrong):
            arm = int(wrong[0])
            raise WrongTell(
                f"measures must lie in [0, 1] (NaN: not seen), got {values[arm]:g} for arm {self._name(arm)}"
            )
        return np.array(values)

    def _name(self, arm: int) -> str:
        return repr(self.names[arm]) if self.names else str(arm)

    def _vector(self, what: str, values: Any) -> Floats:
        """One number per arm, NaN for those that a mapping or a Series leaves out."""
        return by_arm(what, values, self._arms, self.names)

    def _deployed(self, allocation: Any) -> Floats:
        return deployed_split(allocation, self._arms, self.names)

    def _refuse(self, code: int, rewards: Floats, trials: Floats) -> None:
        arm, fault = divmod(code, 10)
        name = self._name(arm)
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

    @property
    def answered(self) -> Any:
        """The state that the advice came from, which explanations and pictures read."""
        if self._pending is None:
            return self._rehearsed()._answered
        if self._answered is None:  # the advice came with the agent from a file
            self._answered = self._course.answering()
        return self._answered

    @overload
    def explain(self, words: Literal[False] = False, *, reward_range: Range = None) -> Explanation: ...
    @overload
    def explain(self, words: Literal[True], *, reward_range: Range = None) -> str: ...
    def explain(self, words: bool = False, *, reward_range: Range = None) -> Explanation | str:
        """In plain data and by name, why this allocation: stage, estimates and how sure they are, the runner-up.

        With `words=True` as text: why this split, what changed since the last round, how sure it is, what would change it.
        `reward_range=(0, 500)`: rewards are shown in the unit in which they lie between these, where agents have [0, 1].
        """
        if self._pending is None:
            self._explained = self._course.news
            return self._rehearsed().explain(words, reward_range=reward_range)  # type: ignore[no-any-return, call-overload]
        allocation = self.ask()
        reasons = self.policy.explain(self.answered, self.setting, self.rounds + 1, allocation)
        stage = self.policy.stage(self.answered, self.rounds + 1)
        names = self.arm_names
        name_arms(reasons, names)
        said: dict[str, Any] = {
            "round": self.rounds + 1,
            "policy": self.policy.key,
            "allocation": dict(zip(names, allocation.tolist(), strict=True)),
            "open_rounds": self.open_rounds,
            **({"stage": stage} if stage else {}),
            **reasons,
        }
        unit = RewardRange.of(reward_range)
        if not unit.usual:
            said = in_unit(said, unit)
        if not words:
            return cast(Explanation, said)
        before = self._course.at(self.rounds).deployed if self._course.kept else None
        return in_words(said, before, *self._news())

    def _take_as_explained(self) -> None:
        """Advice that was explained may be deployed without being asked for, unless something came in between."""
        if self._pending is None and self._explained == self._course.news:
            self.ask()

    def _rehearsed(self) -> Agent:
        """A copy to be asked: explaining advice, or drawing it, must not settle it before it is asked for."""
        agent = copy.copy(self)
        agent._course, agent._previous = self._course.rehearsed(), self._previous.copy()
        agent.ask()
        return agent

    def _news(self) -> tuple[list[int], list[int]]:
        """Rounds told since the last advice before this one was asked for, and those told after this one was."""
        log = self._course.log
        asked = max((r.asked_at for r in log if not math.isnan(r.asked_at)), default=math.nan)
        told = [(self._course.first + i, r.told_at) for i, r in enumerate(log, 1) if r.told_at >= asked]
        return [n for n, at in told if not at > self._asked_at], [n for n, at in told if at > self._asked_at]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file, at once or not at all; `load_agent` goes on from it bit by bit."""
        save_agent(self, path)

    def __repr__(self) -> str:
        state = "asked, waits for tell" if self._pending is not None else "waits for ask"
        waiting = len(self.open_rounds)
        told = f"{self.rounds - waiting:,} rounds told" + (f", {waiting:,} open" if waiting else "")
        return f"Agent({self.policy.key}, {self.setting.arms} arms, {told}, {state})"


def deployed_split(allocation: Any, arms: int, names: Sequence[str] | None) -> Floats:
    """What was deployed, one share per arm; a copy."""
    shares = by_arm("allocation", allocation, arms, names, missing=0.0)
    if not np.all((shares >= 0) & (shares <= 1)) or abs(shares.sum() - 1) > 1e-6:
        raise WrongTell(f"allocation must be shares in [0, 1] that sum to 1, got {shares.tolist()}")
    return np.array(shares)
