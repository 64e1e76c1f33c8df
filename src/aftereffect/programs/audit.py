"""The audit: the chain from the first event, every decision recomputed bit by bit, and the first event that does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from aftereffect.errors import AftereffectError, shown
from aftereffect.programs import ledger
from aftereffect.programs.database import Database
from aftereffect.programs.environment import Environment, environment
from aftereffect.programs.errors import Damaged
from aftereffect.programs.events import FIRST, Content, Event, chained
from aftereffect.programs.fold import Fold
from aftereffect.programs.schema import events

HASH = re.compile("[0-9a-f]{64}")


@dataclass
class Audit:
    """What an audit found. `fits` is the verdict; `misfit` the first event that does not fit, and `reason` why."""

    program: str
    fits: bool = True
    events: int = 0
    head: str = FIRST
    decisions: int = 0
    recomputed: int = 0
    not_recomputed: int = 0
    misfit: int | None = None
    reason: str | None = None
    remarks: list[str] = field(default_factory=list)

    def document(self) -> Content:
        """As plain data."""
        return asdict(self)


class _Misfit(Exception):
    pass


def audit(database: Database, name: str, head: str | None = None) -> Audit:
    """Check a program's whole record as it stands in the store; snapshots are not looked at."""
    if head is not None and HASH.fullmatch(head) is None:
        raise AftereffectError(f"a head is the hash of an event, 64 hexadecimal digits, got {shown(head)}")
    found = Audit(name)
    with database.reading() as connection:
        entry = ledger.find(connection, name)
        beyond = connection.scalar(sa.select(sa.func.max(events.c.sequence)).where(events.c.program == entry.id))
    walk = _Walk(found, head)
    try:
        for row in _rows(database, entry):
            walk.step(row)
        _check_end(found, entry, beyond or 0)
        if head is not None and not walk.met:
            raise _Misfit(f"no event has the hash {head!r} that was kept elsewhere: the record was rewritten or cut")
    except _Misfit as error:
        found.fits, found.reason = False, str(error)
    return found


def _rows(database: Database, entry: ledger.Entry) -> Iterator[sa.Row[Any]]:
    """All rows, some at a time: a long audit must not hold a transaction open."""
    after = 0
    while after < entry.count:
        with database.reading() as connection:
            batch = list(ledger.rows(connection, entry.id, after, min(entry.count, after + ledger.BATCH)))
        if not batch:
            return
        yield from batch
        after = batch[-1].sequence


def _check_end(found: Audit, entry: ledger.Entry, last: int) -> None:
    found.misfit = found.events + 1
    if found.events < entry.count:
        raise _Misfit(f"event {found.events + 1} is missing: the program's row counts {entry.count}")
    if last > entry.count:
        raise _Misfit(f"event {entry.count + 1} is one too many: the program's row counts {entry.count}")
    found.misfit = found.events
    if found.head != entry.head:
        raise _Misfit(f"the hash of the last event, {found.events}, is not the head in the program's row")
    found.misfit = None


class _Walk:
    """The fold of an audit, event by event."""

    def __init__(self, found: Audit, head: str | None) -> None:
        self.found = found
        self.head = head
        self.met = False  # the hash that was kept elsewhere
        self.fold: Fold | None = Fold()  # None once another environment's record cannot be followed
        self.made_with: dict[str, str] = {}
        self.before = ""

    def step(self, row: sa.Row[Any]) -> None:
        found = self.found
        expected = found.events + 1
        found.misfit = expected
        event = self._linked(row, expected)
        self._recompute(event, row.hash)
        if event.at < self.before:
            found.remarks.append(f"event {event.sequence} is dated before the one before it: a clock was set back")
        self.before, self.met = event.at, self.met or row.hash == self.head
        found.events, found.head, found.misfit = event.sequence, row.hash, None

    def _linked(self, row: sa.Row[Any], expected: int) -> Event:
        """The event, if it is the next one and its hash and columns are right."""
        if row.sequence != expected:
            raise _Misfit(f"event {expected} is missing")
        if chained(self.found.head, row.body) != row.hash:
            raise _Misfit(f"event {expected} does not fit the chain: it, or its place, was changed")
        try:
            event = Event.read(row.body)
        except Damaged as error:
            raise _Misfit(f"event {expected}: {error}") from None
        for name in ledger.COLUMNS:
            if getattr(event, name) != getattr(row, name):
                raise _Misfit(f"event {expected}: the column {name!r} is not what its body says")
        return event

    def _recompute(self, event: Event, hash: str) -> None:
        found = self.found
        if event.kind in ("create", "upgrade"):
            self.made_with = (event.answer if event.kind == "create" else event.request).get("made_with", {})
        computed: Content | None = None
        if self.fold is not None:
            try:
                computed = self.fold.apply(event, hash)
            except (AftereffectError, ArithmeticError, AttributeError, KeyError, IndexError, TypeError) as error:
                if self.made_with == self._ours():
                    raise _Misfit(f"event {event.sequence} ({event.kind}) cannot have happened: {error}") from None
                self.fold = None
        if event.kind != "ask":
            return
        found.decisions += 1
        if computed is None or event.answer.get("made_with") != self._ours():
            found.not_recomputed += 1
            return
        for part in ("round", "allocation"):
            if computed[part] != event.answer.get(part):
                raise _Misfit(
                    f"event {event.sequence}: the {part} advised was {event.answer.get(part)}, recomputed it is {computed[part]}"
                )
        found.recomputed += 1

    def _ours(self) -> Environment:
        return environment() if self.fold is None or self.fold.agent is None else self.fold.ours
