"""A store of programs: a file or a database that several processes and people share."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from aftereffect.errors import AftereffectError, shown
from aftereffect.policies.base import Policy
from aftereffect.programs import ledger
from aftereffect.programs.database import PATIENCE, Database
from aftereffect.programs.errors import AlreadyExists
from aftereffect.programs.events import FIRST, Content, Event, check_word
from aftereffect.programs.migrate import prepare
from aftereffect.programs.program import Program
from aftereffect.programs.schema import events, programs

DEFAULT = "sqlite:///aftereffect.db"
VARIABLE = "AFTEREFFECT_STORE"
CHANGES = ("open-arm", "close-arm", "limits", "policy")  # after which a program is not what it was created as
NAME = re.compile(r"\w[\w .-]{0,99}")


def open_store(url: str | None = None, *, create: bool = True, patience: float = PATIENCE) -> Store:
    """Open a store: `sqlite:///FILE`, `postgresql+psycopg://..`; else `$AFTEREFFECT_STORE`, else `aftereffect.db` here.

    Its tables are made, or brought to this version's, where that is needed (not made unless `create`). `patience`: seconds
    to wait for other writers before `Busy`.
    """
    database = Database(url or os.environ.get(VARIABLE) or DEFAULT, patience)
    prepare(database, create)
    return Store(database)


class Store:
    """Programs by name."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._held: dict[str, Program] = {}
        self._lock = RLock()

    def create(
        self,
        name: str,
        arms: Sequence[str | int],
        *,
        policy: Policy | str | None = None,
        floors: Mapping[str, float] | Sequence[float] | float | None = None,
        caps: Mapping[str, float] | Sequence[float] | float | None = None,
        units: int | None = None,
        reward_range: Sequence[float] | None = None,
        seed: int = 0,
        horizon: int | None = None,
        feedback: str = "split",
        start: Any = None,
        step: float | None = None,
        caution: float | None = None,
        records: Any = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Program:
        """A new program. Without a policy it takes the one we would use; `records` are past rounds, as `history=` of agents.

        `reward_range=(0, 500)` says between which values rewards lie where that is not 0 and 1; they are told and shown so.
        """
        from aftereffect.programs.creating import first_event, request_to_create

        check_word("key", key)
        check_word("by", by)
        request = request_to_create(
            arms=arms,
            policy=policy,
            floors=floors,
            caps=caps,
            units=units,
            reward_range=reward_range,
            seed=seed,
            horizon=horizon,
            feedback=feedback,
            start=start,
            step=step,
            caution=caution,
            records=records,
        )
        return self.add(name, [first_event(request, key, by)])

    def add(self, name: str, record: list[Event]) -> Program:
        """A new program with its events as they are: the first one, or all of a record from elsewhere."""
        check_name(name)
        if not record:
            raise AftereffectError("a record has at least one event")
        try:
            with self.database.writing() as connection:
                number = connection.scalar(
                    sa.insert(programs).values(name=name, count=0, head=FIRST).returning(programs.c.id)
                )
                assert number is not None
                ledger.append(connection, number, FIRST, record)
        except AftereffectError as error:
            if not isinstance(error.__cause__, exc.IntegrityError):
                raise
            self._same(name, record[0])
        return self.program(name)

    def program(self, name: str) -> Program:
        """The program of that name; one object in a process, which keeps what it has folded."""
        with self._lock:
            held = self._held.get(name)
        if held is not None:  # programs are never removed
            return held
        with self.database.reading() as connection:
            ledger.find(connection, check_name(name))
        with self._lock:
            return self._held.setdefault(name, Program(self.database, name))

    def programs(self) -> list[Content]:
        """Every program in short: name, rounds, arms, policy, when and by whom it was made, whether it is archived."""
        with self.database.reading() as connection:
            return [_in_short(connection, entry) for entry in ledger.entries(connection)]

    def check(self) -> None:
        """Whether the store answers; raises what is wrong if not."""
        with self.database.reading() as connection:
            connection.execute(sa.select(programs.c.id).limit(1))

    def close(self) -> None:
        """Give up all connections."""
        self.database.close()

    def _same(self, name: str, event: Event) -> None:
        """Fine if the very same was created with the same key before; else the name is taken."""
        with self.database.reading() as connection:
            entry = ledger.find(connection, name)
            first = Event.read(next(ledger.rows(connection, entry.id, 0, 1)).body)
        if event.key is None or first.key != event.key or first.request != event.request:
            raise AlreadyExists(f"there is a program {name!r} already; take another name") from None

    def __repr__(self) -> str:
        return f"Store({self.database})"


def check_name(name: str) -> str:
    """A program's name: it stands in URLs and on command lines."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise AftereffectError(
            f"a program's name is 1 to 100 letters, digits, spaces, dots, hyphens and underscores, got {shown(name)}"
        )
    return name


def _in_short(connection: Any, entry: ledger.Entry) -> Content:
    of = events.c.program == entry.id
    body = connection.scalar(sa.select(events.c.body).where(of, events.c.sequence == 1))
    first = Event.read(body or "")
    of_no_round = sa.select(events.c.body).where(of, events.c.round.is_(None), events.c.kind.in_(CHANGES))
    changes = [Event.read(body) for body in connection.scalars(of_no_round.order_by(events.c.sequence))]
    archived = connection.scalar(sa.select(events.c.kind).where(of, events.c.sequence == entry.count)) == "archive"
    happened = sa.select(sa.func.max(events.c.round)).where(of, events.c.kind.in_(("create", "deploy", "tell")))
    return {
        "name": entry.name,
        "rounds": connection.scalar(happened) or 0,
        **_present(first, changes),
        "created": first.at,
        "by": first.by,
        "archived": archived,
        "events": entry.count,
        "head": entry.head,
    }


def _present(first: Event, changes: list[Event]) -> Content:
    """The arms that may get something, and the policy, after all changes."""
    names, caps = first.request["arms"], first.request.get("caps")
    arms = [name for name, cap in zip(names, caps, strict=True) if cap > 0] if isinstance(caps, list) else names
    policy = first.request["policy"]
    for change in changes:
        if change.kind == "policy":
            policy = change.answer["policy"]
        elif change.kind == "limits":
            arms = [name for name, cap in change.answer["caps"].items() if cap > 0]
        else:
            arms = change.answer["arms"]
    return {"arms": arms, "policy": policy}
