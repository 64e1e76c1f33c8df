"""A program's state in one process, kept in step with the record that other processes write to as well."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect.errors import AftereffectError
from aftereffect.programs import ledger, snapshots
from aftereffect.programs.database import Database
from aftereffect.programs.errors import Damaged, StoreError
from aftereffect.programs.events import Content, Event, chained, plain
from aftereffect.programs.fold import Fold
from aftereffect.programs.ledger import Entry

SNAPSHOT_EVERY = 1000  # events that opening may have to fold again, in half a second; keeping one takes a tenth


class Following:
    """The fold of a program's events so far, and what its agent says of the next decision."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fold = Fold()
        self.ahead = False  # the agent has taken in what is not written yet
        self._kept = 0  # events in the newest snapshot that this process knows of
        self._said: tuple[str, dict[bool, Any]] = "", {}  # the head it was said at; data, or words

    def catch_up(self, connection: Connection, entry: Entry) -> Fold:
        """The state after all events: those that this process has not seen are folded in."""
        if self.ahead and self.fold.head != entry.head:
            self.forget()  # decided before others wrote
        if self.fold.count == 0:
            self.fold = snapshots.restore(connection, entry)
            self._kept = self.fold.count
        fold = self.fold
        if entry.count > fold.count:
            for row in ledger.rows(connection, entry.id, fold.count, entry.count):
                if row.sequence != fold.count + 1 or chained(fold.head, row.body) != row.hash:
                    self._damaged(row.sequence)
                self._follow(fold, row)
        if (fold.count, fold.head) != (entry.count, entry.head):
            self._damaged(fold.count + 1)
        return fold

    def written(self, count: int, head: str) -> None:
        """What the agent was ahead with is on record."""
        self.fold.count, self.fold.head, self.ahead = count, head, False

    def forget(self) -> None:
        """The record is read again."""
        self.fold, self.ahead = Fold(), False

    def keep_snapshot(self, database: Database, program: int) -> None:
        """Now and then, after a write is done; one that cannot be kept is kept another time."""
        fold = self.fold
        if fold.count - self._kept < SNAPSHOT_EVERY:
            return
        with suppress(StoreError), database.writing() as connection:
            snapshots.keep(connection, program, fold.count, fold.head, fold.text())
        self._kept = fold.count

    def explain(self, words: bool) -> Any:
        """Why the next advice is what it is; said once for each state."""
        said, fold = self._said_now(), self.fold
        if words not in said:
            agent = fold.agent if fold.asked is not None else deepcopy(fold.agent)  # explaining asks: not on record
            told = agent.explain(words=words, reward_range=fold.unit)
            said[words] = told if words else plain(told)
        return said[words]

    def decide(self) -> None:
        """The next advice and its reason, while others may write; if one of them is quicker here, it is decided again."""
        fold = self.fold
        if fold.asked is None and fold.made_with == fold.ours and not fold.archived:
            self.ahead = True
            try:
                self._said = fold.head, {False: plain(fold.agent.explain(reward_range=fold.unit))}
            except BaseException:
                self.forget()
                raise

    def advice(self) -> Content:
        """The waiting advice as it is answered and kept: with its reason, and with what it was computed with."""
        fold = self.fold
        assert fold.asked is not None
        reason = self._said_now().get(False) or plain(fold.agent.explain(reward_range=fold.unit))
        advice = {**fold.asked, "reason": reason, "made_with": fold.ours}
        units = fold.units(fold.asked["allocation"])
        return advice if units is None else {**advice, "units": units}

    def _said_now(self) -> dict[bool, Any]:
        if self._said[0] != self.fold.head:
            self._said = self.fold.head, {}
        return self._said[1]

    def _follow(self, fold: Fold, row: sa.Row[Any]) -> None:
        try:
            fold.apply(Event.read(row.body), row.hash)
        except AftereffectError as error:
            self.forget()
            raise Damaged(
                f"the record of program {self.name!r} cannot be followed at event {row.sequence}: {error}"
            ) from error

    def _damaged(self, sequence: int) -> None:
        self.forget()
        raise Damaged(
            f"the record of program {self.name!r} does not fit together at event {sequence}; nothing is written to it, "
            f"`aftereffect program audit {self.name}` says more"
        )
