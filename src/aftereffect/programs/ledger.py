"""Reading and adding events: rows in, rows out, and the chain between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect.programs.errors import NotFound
from aftereffect.programs.events import Event, chained
from aftereffect.programs.schema import events, programs
from aftereffect.programs.statements import Statement

BATCH = 1000  # rows read at once: a long record does not fill the memory
COLUMNS = ("sequence", "kind", "round", "at", "by", "key")  # that repeat what an event's body says

_FOUND = sa.select(programs).where(programs.c.name == sa.bindparam("name"))
FIND, FIND_TO_WRITE = Statement(_FOUND), Statement(_FOUND.with_for_update())
ROWS = (
    sa.select(events)
    .where(events.c.program == sa.bindparam("program"), events.c.sequence > sa.bindparam("after"))
    .order_by(events.c.sequence)
    .limit(BATCH)
)
KEYED = Statement(
    sa.select(events.c.body).where(events.c.program == sa.bindparam("program"), events.c.key == sa.bindparam("key"))
)
LAST = Statement(
    sa.select(events.c.body)
    .where(events.c.program == sa.bindparam("program"), events.c.kind == sa.bindparam("kind"))
    .order_by(events.c.sequence.desc())
    .limit(1)
)
ADD = Statement(sa.insert(events))
MOVE = Statement(
    sa.update(programs)
    .where(programs.c.id == sa.bindparam("program"))
    .values(count=sa.bindparam("new_count"), head=sa.bindparam("new_head"))
)


@dataclass(frozen=True)
class Entry:
    """A program's row."""

    id: int
    name: str
    count: int
    head: str


def find(connection: Connection, name: str, lock: bool = False) -> Entry:
    """A program's row; locked for writing until the transaction ends."""
    found = (FIND_TO_WRITE if lock else FIND).run(connection, name=name)
    if not found:
        raise NotFound("program", name, connection.scalars(sa.select(programs.c.name).limit(20)))
    return Entry(*found[0])


def entries(connection: Connection) -> list[Entry]:
    """Every program's row."""
    return [Entry(*row) for row in connection.execute(sa.select(programs).order_by(programs.c.name))]


def rows(connection: Connection, program: int, after: int, until: int) -> Iterator[sa.Row[Any]]:
    """The rows of events after one and up to another, in order."""
    while after < until:
        found = connection.execute(ROWS, {"program": program, "after": after}).all()
        if not found:
            return
        yield from (row for row in found if row.sequence <= until)
        after = found[-1].sequence


def keyed(connection: Connection, program: int, key: str) -> Event | None:
    """The event that was written with a key."""
    found = KEYED.run(connection, program=program, key=key)
    return Event.read(found[0][0]) if found else None


def last(connection: Connection, program: int, kind: str) -> Event:
    """The last event of a kind, of which there is one."""
    return Event.read(LAST.run(connection, program=program, kind=kind)[0][0])


def append(connection: Connection, program: int, before: str, new: list[Event]) -> str:
    """Add events and move the program's count and head along; the new head."""
    head = before
    for event in new:
        body = event.body
        head = chained(head, body)
        columns = {name: getattr(event, name) for name in COLUMNS}
        ADD.run(connection, program=program, **columns, body=body, hash=head)
    MOVE.run(connection, program=program, new_count=new[-1].sequence, new_head=head)
    return head
