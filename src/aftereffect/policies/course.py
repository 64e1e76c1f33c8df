"""A policy's state as the fold of its rounds: of those told, up to the first that is still open; beyond it on a copy.

What an agent's state is depends on its rounds alone, not on when they were told: rewards may come late, in parts, in any
order, and be corrected, and the state is the one that an agent has that was told at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import time
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect._compile import machine_code
from aftereffect.errors import WrongTell
from aftereffect.model.curves import Floats
from aftereffect.model.feedback import ONE
from aftereffect.policies.round_log import Round, RoundLog
from aftereffect.policies.rules import Rule, bind
from aftereffect.policies.setting import Setting
from aftereffect.policies.state_files import copy_state
from aftereffect.policies.taking import bind_take

if TYPE_CHECKING:
    from aftereffect.policies.base import Policy

KEEP = 1_000  # rounds that can be corrected
STANDS = 16  # states kept beyond the first open round; with more open rounds every second one is dropped


@dataclass
class Stand:
    """How far a fold has come: the state after so many rounds and changes of the setting."""

    state: Any  # None: as the policy starts
    setting: Setting
    round: int = 0
    changes: int = 0
    asked: bool = False  # has the state been asked for the next round?
    out: int = 0  # rounds among those of which nothing is known yet


@dataclass(frozen=True)
class Change:
    """Arms or limits that changed after a round; `asked`: the next one had been asked for by then."""

    after: int
    asked: bool
    setting: Setting
    shares: Floats | None  # the split to go on from


class Course:
    """The rounds of one policy under way, and its state."""

    def __init__(self, policy: Policy, setting: Setting, keep: int = KEEP) -> None:
        self.policy = policy
        self.started = setting
        self.keep = keep
        self.rounds = 0  # that have happened
        self.first = 0  # of those, no longer in the log
        self.kept = RoundLog(setting.arms)
        self.changes: list[Change] = []
        self.base = Stand(None, setting)
        self.settled = Stand(policy.state(setting), setting)
        self.rule: Rule = bind(self.settled.state)
        self._ask: Callable[..., None] = self._ask_first
        self._take: Callable[..., int] = self._take_first
        self._one = setting.feedback_code == ONE
        self._in_parts = setting.feedback == "split" and policy.learns_in_parts()
        self.news = 0  # changes so far that advice may depend on
        self._awaits = policy.awaits
        self._middle: Stand | None = None  # between the base and now: corrections start from the nearer one
        self._ahead: list[Stand] = []  # beyond the first open round: as it was before later open ones, and now
        self.stop = keep  # settled rounds from which on to take a new one

    def __getstate__(self) -> dict[str, Any]:
        """For copies in other processes too: machine code is found there anew."""
        return {**self.__dict__, "_ask": self._ask_first, "_take": self._take_first}

    def begin_at(self, rounds: int) -> None:
        """The state is that after so many rounds, none of which can be corrected."""
        self.rounds = self.first = self.settled.round = rounds
        self.base = Stand(copy_state(self.settled.state), self.settled.setting, rounds, self.settled.changes)
        self.stop = rounds + self.keep

    @property
    def setting(self) -> Setting:
        """What holds now."""
        return self.changes[-1].setting if self.changes else self.started

    @property
    def log(self) -> list[Round]:
        """The rounds that are kept, in full."""
        return list(self.kept)

    def ask(self, allocation: Floats) -> Any:
        """Fill the next round's allocation; gives the state that it came from."""
        stand, rounds = self.settled, self.rounds
        if stand.round != rounds:
            stand = self._look_ahead()
        self._await(stand)
        self._ask(stand.state, rounds + 1, allocation)
        stand.asked = True
        return stand.state

    def _await(self, stand: Stand) -> None:
        """Before a state is asked: how many rounds are out."""
        if self._awaits:
            self.policy.await_rewards(stand.state, stand.out)

    def _ask_first(self, *arguments: Any) -> None:
        """Later asks go straight to the machine code."""
        self.rule.ask(*arguments)
        self._ask = machine_code(self.rule.ask, *arguments)

    def answering(self) -> Any:
        """The state that the next round's advice comes from, asked."""
        stand = self.settled if self.settled.round == self.rounds else self._look_ahead()
        if not stand.asked:
            self._await(stand)
            self.rule.ask(stand.state, self.rounds + 1, np.zeros(stand.setting.arms))
            stand.asked = True
        return stand.state

    def rehearsed(self) -> Course:
        """A copy to be asked, so that this one's states are not."""
        course = copy.copy(self)
        course.settled = _copied(self.settled)
        course._ahead = [*self._ahead[:-1], *map(_copied, self._ahead[-1:])]
        return course

    def add(self, happened: Round) -> None:
        """The next round has happened."""
        self.news += 1
        stand = self.settled
        if happened.closed and stand.round == self.rounds:
            self._fold(stand, happened)
        self.kept.append(happened)
        self.rounds += 1
        if stand.round >= self.stop:
            self.remember()

    def _take_first(self, *arguments: Any) -> int:
        taking = bind_take(self.settled.state)
        code = taking(*arguments)
        self._take = machine_code(taking, *arguments)
        return code

    def take(self, advised: Floats, rewards: Floats, trials: Floats, counted: bool, asked_at: float, stage: str) -> int:
        """The next round has happened as advised and is told at once, where none is open: the short way.

        Gives what is wrong with the rewards, if anything is, and then nothing has happened.
        """
        log, stand, t = self.kept, self.settled, self.rounds + 1
        row = len(log.entries)
        if row >= len(log.table):
            log.make_room()
        code = self._take(
            stand.state, t, advised, rewards, trials, counted, self._one, log.table, row, asked_at, time()
        )
        if code == 0:
            self.news += 1
            log.entries.append(stage)
            stand.asked = False
            stand.round = self.rounds = t
            if t >= self.stop:
                self.remember()
        return code

    def at(self, number: int) -> Round:
        """A round by its number, from 1."""
        if number <= self.first:
            raise WrongTell(
                f"round {number} is no longer kept (the latest {self.keep:,} are); to correct it, start again from your records: "
                "policy.start(..., history=)"
            )
        return self.kept[number - self.first - 1]

    def put(self, number: int, happened: Round) -> None:
        """What is known of a round has changed: fold anew what it bears on."""
        self.news += 1
        self.kept[number - self.first - 1] = happened
        if number <= self.settled.round:
            self._go_back(number)
        self.settle()
        self._ahead = [stand for stand in self._ahead if self.settled.round < stand.round < number]

    @property
    def open_rounds(self) -> list[int]:
        """Rounds of which something is still to be told."""
        return [self.first + 1 + place for place in self.kept.open_from(self.settled.round - self.first)]

    def settle(self) -> None:
        """Take in all rounds up to the first that is open."""
        stand = self.settled
        while stand.round < self.rounds:
            happened = self.kept[stand.round - self.first]
            if not happened.closed:
                break
            self._fold(stand, happened)
            if stand.round >= self.stop:
                self.remember()
        if stand.round == self.rounds:
            self._change(stand)

    def change(self, setting: Setting, shares: Floats | None, asked: bool) -> None:
        """From the next round on another setting holds; refused by policies that cannot go on with it."""
        now = (self.settled if self.settled.round == self.rounds else self._look_ahead()).state
        before = self.setting
        self.news += 1
        self.policy.resized(copy_state(now), before, setting, shares)  # refused before anything is changed
        self.changes.append(Change(self.rounds, asked, setting, shares))
        self.kept.take_arms(setting.arms)
        self._ahead = []
        self.settle()

    def _look_ahead(self) -> Stand:
        """The state with the rounds beyond the first open one taken in as far as they are known.

        States from before later open rounds are kept: a round that is told folds again from there, however old the first is.
        """
        if not self._ahead:
            self._ahead = [_copied(self.settled)]
        stand = self._ahead[-1]
        while stand.round < self.rounds:
            happened = self.kept[stand.round - self.first]
            if not happened.closed and stand.round > self.settled.round:
                self._ahead.insert(-1, _copied(stand))
                if len(self._ahead) > STANDS:
                    del self._ahead[-2:0:-2]
            self._fold(stand, happened)
        self._change(stand)
        return stand

    def _fold(self, stand: Stand, happened: Round) -> None:
        """Take one more round into a state."""
        if stand.changes < len(self.changes):
            self._change(stand)
        state, rule, t, deployed = stand.state, self.rule, stand.round + 1, happened.deployed
        if happened.asked and not stand.asked:
            self._await(stand)
            rule.ask(state, t, np.zeros(stand.setting.arms))
        if happened.drawn is not None:
            self.policy.recall(state, happened.drawn)
        if happened.known and happened.closed:
            rule.tell(state, t, deployed, happened.seen, happened.reward)
        elif happened.known and self._in_parts:  # elsewhere a part would count as "the others were not activated"
            rule.tell(state, t, deployed, np.nan_to_num(happened.seen), happened.reward)
        else:
            rule.skip(state, t, deployed)
        if not (happened.closed or happened.known):
            stand.out += 1
        if happened.measure is not None:
            rule.note(state, t, deployed, happened.measure)
        stand.round = t
        stand.asked = False

    def _change(self, stand: Stand) -> None:
        """Take in the changes of the setting that fall between the stand's last round and its next."""
        while stand.changes < len(self.changes) and self.changes[stand.changes].after == stand.round:
            change = self.changes[stand.changes]
            if change.asked and not stand.asked:
                self._await(stand)
                self.rule.ask(stand.state, stand.round + 1, np.zeros(stand.setting.arms))
            resized = self.policy.resized(stand.state, stand.setting, change.setting, change.shares)
            stand.state = copy_state(resized)  # in one piece each, as the machine code takes arrays to be
            stand.setting, stand.asked = change.setting, False
            stand.changes += 1

    def remember(self) -> None:
        """Keep the state as it is, to start corrections from; forget rounds that are older than need be."""
        now = self.settled
        if self._middle is not None:
            self.base = self._middle
            self.kept.forget(self.base.round - self.first)
            self.first = self.base.round
        self._middle = Stand(copy_state(now.state), now.setting, now.round, now.changes)
        self.stop = now.round + self.keep

    def _go_back(self, number: int) -> None:
        """To a state from before a round."""
        if self._middle is not None and self._middle.round >= number:
            self._middle = None
            self.stop = self.base.round + self.keep
        known = self._middle or self.base
        state = self.policy.state(known.setting) if known.state is None else copy_state(known.state)
        self.settled = Stand(state, known.setting, known.round, known.changes)


def _copied(stand: Stand) -> Stand:
    return replace(stand, state=copy_state(stand.state))
