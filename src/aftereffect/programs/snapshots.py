"""Folded states kept beside the events, so that opening a long program is quick. Only this environment's are looked at."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect._sources import own_hash
from aftereffect.errors import AftereffectError
from aftereffect.programs.environment import digest, environment
from aftereffect.programs.events import FIRST
from aftereffect.programs.fold import Fold
from aftereffect.programs.ledger import Entry
from aftereffect.programs.schema import events, snapshots


def restore(connection: Connection, entry: Entry) -> Fold:
    """The newest state that was kept, if it stands on the events that are there; else a fresh one."""
    row = connection.execute(sa.select(snapshots).where(*_ours(entry.id))).one_or_none()
    if row is None or row.sequence > entry.count:
        return Fold()
    stands_on = sa.select(events.c.hash).where(events.c.program == entry.id, events.c.sequence == row.sequence)
    if (connection.scalar(stands_on) or FIRST) != row.hash:
        return Fold()
    try:
        fold = Fold.read(row.body, row.sequence, row.hash)
        return fold if own_hash(fold.agent.policy) == fold.own else Fold()
    except (AftereffectError, KeyError, TypeError, ValueError):  # folding again is always right
        return Fold()


def keep(connection: Connection, program: int, sequence: int, head: str, body: str) -> None:
    """Put a state in the place of this environment's older one."""
    connection.execute(sa.delete(snapshots).where(*_ours(program)))
    row = {
        "program": program,
        "made_with": digest(environment()),
        "sequence": sequence,
        "hash": head,
        "body": body,
    }
    connection.execute(sa.insert(snapshots).values(row))


def _ours(program: int) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return snapshots.c.program == program, snapshots.c.made_with == digest(environment())
