"""The state of a program: its agent after all events so far. The same events always lead to the same state."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from aftereffect._sources import own_hash
from aftereffect.errors import WrongTell
from aftereffect.model.curves import Floats
from aftereffect.model.reward_range import RewardRange
from aftereffect.model.units import whole_units
from aftereffect.policies.base import Policy, policy_from
from aftereffect.policies.saving import agent_text
from aftereffect.policies.storage import read_agent
from aftereffect.programs.environment import Environment, environment
from aftereffect.programs.errors import Archived, Damaged
from aftereffect.programs.events import FIRST, Content, Event, canonical

START = ("horizon", "seed", "feedback", "floors", "caps", "history", "start", "step", "caution")


class Fold:
    """An agent, and what of a program's events it does not hold itself.

    `act` is the only way anything changes. Today it computes the answer; over the record it is given the recorded answer and
    takes what was really advised and deployed from there, so that a later version's fold follows what really happened.
    """

    def __init__(self) -> None:
        self.count = 0
        self.head = FIRST
        self.agent: Any = None
        self.about: Content = {}  # what the program was created with
        self.asked: Content | None = None  # the advice that waits for its round to happen
        self.made_with: Environment = {}  # of the decisions now
        self.archived = False
        self._ours: tuple[Policy, Environment] | None = None
        self.own = ""  # hash of the sources that a snapshot's policy came from, where it is not this package's

    @property
    def names(self) -> tuple[str, ...]:
        """The arms' names."""
        return tuple(self.agent.names)

    @property
    def unit(self) -> RewardRange:
        """Between which values rewards lie, as they are told; what the agent learns from lies in [0, 1]."""
        return RewardRange.of(self.about.get("reward_range"))

    def learned(self, rewards: dict[str, float] | None) -> dict[str, float] | None:
        """Rewards by arm as the agent has them."""
        unit = self.unit
        if rewards is None or unit.usual:
            return rewards
        for arm, reward in rewards.items():
            if not unit.low <= reward <= unit.high:
                raise WrongTell(f"rewards must lie in [{unit.low:g}, {unit.high:g}], got {reward:g} for arm {arm!r}")
        return {arm: unit.learned(reward) for arm, reward in rewards.items()}

    def past(self, history: list[Content]) -> list[Content]:
        """Past rounds as agents take them."""
        return [
            {**entry, "rewards": self.learned(entry["rewards"])} if "rewards" in entry else entry for entry in history
        ]

    @property
    def rounds(self) -> int:
        """Rounds told or deployed so far, past records included."""
        return int(self.agent.rounds)

    @property
    def ours(self) -> Environment:
        """What a decision made here and now is computed with; looked up once for each policy."""
        policy = self.agent.policy
        if self._ours is None or self._ours[0] is not policy:
            self._ours = policy, environment(policy)
        return self._ours[1]

    def apply(self, event: Event, hash: str) -> Content:
        """Take in the next event of the record; what would be answered today."""
        answer = self.act(event.kind, event.request, event.answer)
        self.count, self.head = event.sequence, hash
        return answer

    def act(self, kind: str, request: Content, recorded: Content | None = None) -> Content:
        """Let something happen to the agent; the answer."""
        if self.archived:
            raise Archived("the program is archived: it can be read, and nothing more is written")
        action = ACTIONS.get(kind)
        if action is None:
            raise Damaged(f"unknown kind of event {kind!r}")
        answer = action(self, request, recorded)
        if self.asked is not None and self.rounds >= self.asked["round"]:
            self.asked = None  # that round has happened
        return answer

    def by_name(self, shares: Any) -> dict[str, float]:
        """One number per arm, by name."""
        return dict(zip(self.names, np.asarray(shares).tolist(), strict=True))

    def in_order(self, shares: dict[str, float]) -> Floats:
        """The same back."""
        return np.array([shares.get(name, 0.0) for name in self.names])

    @property
    def limits(self) -> dict[str, dict[str, float]]:
        """Floors and caps by arm."""
        limits = self.agent.setting.limits
        return {"floors": self.by_name(limits.floors), "caps": self.by_name(limits.caps)}

    @property
    def open_arms(self) -> list[str]:
        """Arms that may get something."""
        return [name for name, cap in self.limits["caps"].items() if cap > 0]

    def units(self, allocation: dict[str, float]) -> dict[str, int] | None:
        """Whole units for every arm, where the program splits units."""
        units = self.about.get("units")
        return None if units is None else whole_units(self.by_name(self.in_order(allocation)), units)

    def text(self) -> str:
        """The state as a snapshot holds it."""
        content = {
            "agent": agent_text(self.agent),
            "about": self.about,
            "asked": self.asked,
            "made_with": self.made_with,
            "archived": self.archived,
            "own": own_hash(self.agent.policy),
        }
        return canonical(content)

    @classmethod
    def read(cls, text: str, count: int, head: str) -> Fold:
        """A state from a snapshot."""
        fold, content = cls(), json.loads(text)
        fold.agent = read_agent(content["agent"], "a snapshot")
        fold.about, fold.asked = content["about"], content["asked"]
        fold.made_with, fold.archived, fold.own = content["made_with"], content["archived"], content["own"]
        fold.count, fold.head = count, head
        return fold


def _create(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.about = {name: value for name, value in request.items() if name not in ("history", "agent")}
    if request.get("agent") is not None:  # one that was saved, and goes on here
        fold.agent = read_agent(request["agent"], "the imported agent")
        fold.agent.names = tuple(request["arms"])
    else:
        options = {name: request[name] for name in START if request.get(name) is not None}
        if "history" in options:
            options["history"] = fold.past(options["history"])
        fold.agent = policy_from(request["policy"]).start(arms=len(request["arms"]), names=request["arms"], **options)
    if recorded is not None:
        fold.made_with = recorded["made_with"]
    return {"rounds": fold.rounds}


def _upgrade(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.made_with = request["made_with"]
    return {}


def _ask(fold: Fold, request: Content, recorded: Content | None) -> Content:
    allocation = fold.by_name(fold.agent.ask())
    answer = {"round": fold.rounds + 1, "allocation": allocation}
    if fold.asked is None:
        fold.asked = {name: (recorded or answer)[name] for name in answer}
    return answer


def _deploy(fold: Fold, request: Content, recorded: Content | None) -> Content:
    allocation = _deployed(fold, request, recorded)
    number = fold.agent.deploy(None if allocation is None else fold.in_order(allocation))
    return {"round": int(number), "allocation": allocation}


def _tell(fold: Fold, request: Content, recorded: Content | None) -> Content:
    told = {name: request[name] for name in ("trials", "measures") if request.get(name) is not None}
    number, replace = request.get("round"), bool(request.get("replace"))
    allocation = request.get("allocation")
    if number is None or number == fold.rounds + 1:  # the round asked for: as advised, if nothing else is said
        allocation = _deployed(fold, request, recorded)
    if allocation is not None:
        told["allocation"] = fold.in_order(allocation)
    if number is not None or replace:
        told |= {"round": number, "replace": replace}
    rewards, unit = fold.learned(request["rewards"]), fold.unit
    if rewards is not None and request.get("unseen"):
        rewards = {**rewards, **dict.fromkeys(request["unseen"], math.nan)}
    try:
        fold.agent.tell(rewards, **told)
    except WrongTell as error:
        if unit.usual:
            raise
        raise WrongTell(f"{error} (rewards as the agent has them: {unit.low:g} is 0, {unit.high:g} is 1)") from None
    answer = {"round": fold.rounds if number is None else number}
    return answer if allocation is None else {**answer, "allocation": allocation}


def _deployed(fold: Fold, request: Content, recorded: Content | None) -> dict[str, float] | None:
    """What was deployed: as recorded, else as given, else as advised; None where nothing was asked, which agents refuse."""
    source = recorded or (request if request.get("allocation") is not None else fold.asked) or {}
    shares: dict[str, float] | None = source.get("allocation")
    return shares


def _limits(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.agent.set_limits(**{name: value for name, value in request.items() if value is not None})
    fold.asked = None
    return dict(fold.limits)


def _open_arm(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.agent.open_arm(request["arm"], request.get("share"))
    fold.asked = None
    return {"arms": fold.open_arms}


def _close_arm(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.agent.close_arm(request["arm"])
    fold.asked = None
    return {"arms": fold.open_arms}


def _policy(fold: Fold, request: Content, recorded: Content | None) -> Content:
    """Another policy under the limits of now, with all rounds so far as its past."""
    assert recorded is not None
    setting, about = fold.agent.setting, fold.about
    options = {name: about[name] for name in ("seed", "feedback", "step", "caution") if about.get(name) is not None}
    to_come = None if setting.horizon is None else max(1, setting.horizon - fold.rounds)
    fold.agent = policy_from(request["policy"]).start(
        arms=len(fold.names),
        names=fold.names,
        horizon=to_come,
        floors=setting.limits.floors,
        caps=setting.limits.caps,
        history=fold.past(recorded["history"]),
        **options,
    )
    fold.asked = None
    return {"policy": fold.agent.policy.key, "history": recorded["history"]}


def _archive(fold: Fold, request: Content, recorded: Content | None) -> Content:
    fold.archived = True
    return {}


ACTIONS = {
    "create": _create,
    "upgrade": _upgrade,
    "ask": _ask,
    "deploy": _deploy,
    "tell": _tell,
    "limits": _limits,
    "open-arm": _open_arm,
    "close-arm": _close_arm,
    "policy": _policy,
    "archive": _archive,
}
