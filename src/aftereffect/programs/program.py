"""A durable program: the agent's methods, each write an event that is on disk before it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect.errors import require_whole, shown
from aftereffect.model.curves import Floats
from aftereffect.model.problem import as_name
from aftereffect.model.reward_range import RewardRange
from aftereffect.policies.base import Policy
from aftereffect.programs import ledger
from aftereffect.programs.creating import PAST, read_names, written_policy
from aftereffect.programs.database import Database
from aftereffect.programs.errors import Conflict, KeyReused
from aftereffect.programs.events import Content, Event, check_word, named, now, plain
from aftereffect.programs.fold import Fold
from aftereffect.programs.following import Following
from aftereffect.programs.rounds import rounds_of
from aftereffect.programs.schema import events

if TYPE_CHECKING:
    from aftereffect.policies.agent import Agent
    from aftereffect.programs.audit import Audit

Seen = TypeVar("Seen")


class Written(NamedTuple):
    """Where a program stands after a write."""

    program: int
    events: int
    head: str


class Program:
    """A named decision process in a store; several processes and threads may hold it at once."""

    def __init__(self, database: Database, name: str) -> None:
        self.name = name
        self._database = database
        self._lock = RLock()
        self._following = Following(name)

    # What changes something.

    def ask(self, *, key: str | None = None, by: str | None = None) -> Floats:
        """The next round's shares in the arms' order, as an agent's; the same until that round is deployed or told."""
        advice = self.advise(key=key, by=by)
        return np.array(list(advice["allocation"].values()))

    def advise(self, *, key: str | None = None, by: str | None = None) -> Content:
        """The same advice with all that is recorded of it: round, allocation by name, reason, and units where there are some."""
        check_word("key", key)
        check_word("by", by)
        with self._lock:
            known = self._advised(key)
            if known is not None:
                return known
            self._following.decide()
            return self._write("ask", lambda _: {}, key, by)

    def deploy(self, allocation: Any = None, *, key: str | None = None, by: str | None = None) -> int:
        """The round has happened, as advised or with another allocation; its rewards come later. Its number."""
        return int(self.note_deployment(allocation, key=key, by=by)["round"])

    def note_deployment(self, allocation: Any = None, *, key: str | None = None, by: str | None = None) -> Content:
        """The same; gives the round with what was deployed in it."""

        def request(fold: Fold) -> Content:
            return {"allocation": named("allocation", allocation, fold.names)}

        return self._write("deploy", request, key, by)

    def tell(
        self,
        rewards: Any,
        *,
        trials: Any = None,
        measures: Any = None,
        allocation: Any = None,
        round: int | None = None,
        replace: bool = False,
        key: str | None = None,
        by: str | None = None,
    ) -> Content:
        """What came back: of the round asked for, or of an earlier one by its number, also in parts; `replace` corrects.

        An arm that is named with NaN and no trials got none: of a round by its number nothing more is waited for from it.
        """
        number = None if round is None else require_whole("round", round, 1)

        def request(fold: Fold) -> Content:
            return _told(fold, rewards, trials, measures=measures, allocation=allocation, round=number, replace=replace)

        return self._write("tell", request, key, by)

    def tell_each(
        self,
        rounds: Mapping[Any, tuple[Any, Any]],
        *,
        replace: bool = False,
        key: str | None = None,
        by: str | None = None,
    ) -> list[Content]:
        """Rewards and trials of several rounds by number (None: the round asked for), all of them or, if one is wrong, none.

        Each is a tell of its own, whose key is this one with the round's number behind it.
        """
        keys = {number: key if key is None or number is None else f"{key}-{number}" for number in rounds}
        with self._lock:
            self._rehearse(rounds, keys, replace)
            return [
                self.tell(rewards, trials=trials, round=number, replace=replace, key=keys[number], by=by)
                for number, (rewards, trials) in rounds.items()
            ]

    def _rehearse(
        self, rounds: Mapping[Any, tuple[Any, Any]], keys: Mapping[int | None, str | None], replace: bool
    ) -> None:
        """Tell a copy first, but for what was told under its key before: what is refused here was not told at all."""
        with self._database.reading() as connection:
            entry = ledger.find(connection, self.name)
            now = self._following.catch_up(connection, entry)
            known = {n for n, key in keys.items() if key is not None and ledger.keyed(connection, entry.id, key)}
        copy = Fold.read(now.text(), now.count, now.head)
        for number, (rewards, trials) in rounds.items():
            if number not in known:
                copy.act("tell", _told(copy, rewards, trials, round=number, replace=replace))

    def set_limits(
        self,
        *,
        floors: Mapping[str, float] | None = None,
        caps: Mapping[str, float] | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Content:
        """Change the floors and caps of some arms from the next round on."""
        request = {"floors": plain(floors), "caps": plain(caps)}
        return self._write("limits", lambda _: request, key, by)

    def open_arm(
        self, arm: str | int, share: float | None = None, *, key: str | None = None, by: str | None = None
    ) -> Content:
        """Take in a new arm, or one that was closed, from the next round on; `share`: what it gets to begin with."""
        (name,) = read_names([arm])
        return self._write("open-arm", lambda _: {"arm": name, "share": plain(share)}, key, by)

    def close_arm(self, arm: str | int, *, key: str | None = None, by: str | None = None) -> Content:
        """Give an arm nothing from the next round on."""
        return self._write("close-arm", lambda _: {"arm": as_name(arm)}, key, by)

    def set_policy(self, policy: Policy | str, *, key: str | None = None, by: str | None = None) -> Content:
        """Go on with another policy, which takes in all rounds so far."""
        return self._write("policy", lambda fold: {"policy": written_policy(policy, len(fold.names), None)}, key, by)

    def archive(self, *, key: str | None = None, by: str | None = None) -> Content:
        """Close the program: it can be read from now on, and nothing more is written."""
        return self._write("archive", lambda _: {}, key, by)

    # What only looks.

    @property
    def rounds(self) -> int:
        """Rounds told or deployed so far, past records included."""
        with self._lock:
            return self._now().rounds

    @property
    def open_rounds(self) -> list[int]:
        """Rounds that were deployed and of which something is still to be told."""
        with self._lock:
            return list(self._now().agent.open_rounds)

    @property
    def limits(self) -> dict[str, dict[str, float]]:
        """Floors and caps by arm."""
        with self._lock:
            return self._now().limits

    @property
    def reward_range(self) -> RewardRange:
        """Between which values rewards lie, as they are told and shown."""
        with self._lock:
            return self._now().unit

    @property
    def log(self) -> list[Content]:
        """Every round: what was advised, deployed and told, when and by whom."""
        return rounds_of(self.events())

    def log_after(self, round: int = 0, limit: int = 100) -> list[Content]:
        """The part of the log after a round: at most so many rounds, read from their own events alone."""
        of_these = (events.c.round > round) & (events.c.round <= round + limit)
        with self._database.reading() as connection:
            entry = ledger.find(connection, self.name)
            query = sa.select(events.c.body).where(events.c.program == entry.id, (events.c.sequence == 1) | of_these)
            bodies = connection.scalars(query.order_by(events.c.sequence)).all()
        found = rounds_of(Event.read(body).document() for body in bodies)
        return [entry for entry in found if round < entry["round"] <= round + limit]

    @property
    def head(self) -> str:
        """The hash of the last event; kept elsewhere, it vouches for the whole record."""
        with self._database.reading() as connection:
            return ledger.find(connection, self.name).head

    @overload
    def explain(self, words: Literal[False] = False) -> Content: ...
    @overload
    def explain(self, words: Literal[True]) -> str: ...
    def explain(self, words: bool = False) -> Content | str:
        """In plain data, why the next advice is what it is; with `words=True` as text for people."""
        with self._lock:
            self._now()
            said: Content | str = self._following.explain(words)
            return said

    @property
    def names(self) -> tuple[str, ...]:
        """The arms' names."""
        with self._lock:
            return self._now().names

    def look(self, reader: Callable[[Agent], Seen]) -> Seen:
        """What a reader makes of the agent as it stands, which it must not change."""
        with self._lock:
            return reader(self._now().agent)

    def show(self) -> Content:
        """What the program is and where it stands, as plain data."""
        with self._lock:
            fold = self._now()
            return {
                "name": self.name,
                "rounds": fold.rounds,
                "arms": list(fold.names),
                "policy": fold.agent.policy.key,
                **fold.limits,
                "units": fold.about.get("units"),
                "reward_range": list(fold.unit),
                "feedback": fold.about.get("feedback"),
                "seed": fold.about.get("seed"),
                "asked": fold.asked,
                "open_rounds": list(fold.agent.open_rounds),
                "archived": fold.archived,
                "events": fold.count,
                "head": fold.head,
            }

    def events(self, *, after: int = 0, limit: int | None = None, kind: str | None = None) -> list[Content]:
        """The events after a sequence number, in order."""
        with self._database.reading() as connection:
            entry = ledger.find(connection, self.name)
            query = sa.select(events.c.body, events.c.hash).where(
                events.c.program == entry.id, events.c.sequence > after
            )
            if kind is not None:
                query = query.where(events.c.kind == kind)
            found = connection.execute(query.order_by(events.c.sequence).limit(limit)).all()
        return [{**Event.read(row.body).document(), "hash": row.hash} for row in found]

    def audit(self, head: str | None = None) -> Audit:
        """Check the whole record and recompute every decision; see `aftereffect.programs.audit`."""
        from aftereffect.programs.audit import audit

        return audit(self._database, self.name, head)

    def export(self, path: str | PathLike[str]) -> None:
        """Write the record to a file: .jsonl holds every event, .csv and .parquet a row for each round and arm."""
        from aftereffect.programs.exporting import export

        export(self.events(), path)

    # How.

    def _write(self, kind: str, request: Callable[[Fold], Content], key: str | None, by: str | None) -> Content:
        check_word("key", key)
        check_word("by", by)
        with self._lock:
            following = self._following
            if following.fold.count == 0:
                self._now()  # what takes long is done before others have to wait

            def work(connection: Connection) -> tuple[Content, Written | None]:
                entry = ledger.find(connection, self.name, lock=True)
                fold = following.catch_up(connection, entry)
                wanted = request(fold)
                first = None if key is None else ledger.keyed(connection, entry.id, key)
                if first is not None:
                    return _same(first, kind, wanted), None
                new = self._happen(fold, kind, wanted, key, by)
                head = ledger.append(connection, entry.id, entry.head, new)
                return _shown(new[-1].answer), Written(entry.id, new[-1].sequence, head)

            try:
                answer, written = self._database.write(work)
            except BaseException:
                if following.ahead:
                    following.forget()
                raise
            if written is not None:
                following.written(written.events, written.head)
                following.keep_snapshot(self._database, written.program)
            return answer

    def _happen(self, fold: Fold, kind: str, request: Content, key: str | None, by: str | None) -> list[Event]:
        """Let it happen to the agent; the events to write, with what must come before."""
        done: list[Event] = []

        def add(kind: str, request: Content, key: str | None = None) -> None:
            given = {"history": self._past(fold)} if kind == "policy" else None
            answer = fold.act(kind, request, given)  # what it refuses leaves it as it was
            self._following.ahead = True
            if kind == "ask":
                answer = self._following.advice()
            done.append(
                Event(
                    fold.count + len(done) + 1,
                    kind,
                    request=request,
                    answer=answer,
                    at=now(),
                    round=answer.get("round"),
                    by=by,
                    key=key,
                )
            )

        if fold.made_with != fold.ours and not fold.archived:
            add("upgrade", {"made_with": fold.ours})
        if kind == "deploy" and request["allocation"] is None and fold.asked is None and not fold.archived:
            add("ask", {})
        add(kind, request, key)
        return done

    def _past(self, fold: Fold) -> list[Content]:
        """All rounds so far, for a new policy to begin with."""
        waiting = list(fold.agent.open_rounds)
        if waiting:
            raise Conflict(f"rounds {shown(waiting)} are open: tell what came of them before the policy changes")
        return [{name: values for name, values in happened.items() if name in PAST and values} for happened in self.log]

    def _advised(self, key: str | None) -> Content | None:
        """What was answered to a key; without one the last advice on record, while it waits."""
        with self._database.reading() as connection:
            entry = ledger.find(connection, self.name)
            waits = self._following.catch_up(connection, entry).asked is not None
            if key is None:
                return ledger.last(connection, entry.id, "ask").answer if waits else None
            first = ledger.keyed(connection, entry.id, key)
            return None if first is None else _same(first, "ask", {})

    def _now(self) -> Fold:
        with self._database.reading() as connection:
            return self._following.catch_up(connection, ledger.find(connection, self.name))

    def __repr__(self) -> str:
        return f"Program({self.name!r} in {self._database})"


def _told(
    fold: Fold,
    rewards: Any,
    trials: Any,
    *,
    measures: Any = None,
    allocation: Any = None,
    round: int | None = None,
    replace: bool = False,
) -> Content:
    """What is told, as an event holds it."""
    told: Content = {
        "rewards": named("rewards", rewards, fold.names),
        "trials": named("trials", trials, fold.names),
        "measures": named("measures", measures, fold.names),
        "allocation": named("allocation", allocation, fold.names),
        "round": round,
        "replace": replace,
    }
    if round is None or not isinstance(rewards, Mapping) or told["trials"] is None:
        return told
    unseen = [arm for arm in map(as_name, rewards) if arm not in told["rewards"] and told["trials"].get(arm) == 0]
    return {**told, "unseen": unseen} if unseen else told


def _same(first: Event, kind: str, request: Mapping[str, Any]) -> Content:
    """The first answer to a key, if it is the same request that comes again."""
    if first.kind != kind or first.request != request:
        raise KeyReused(
            f"the key {first.key!r} was used for another request (event {first.sequence}, {first.kind}); take a new key"
        )
    return _shown(first.answer)


def _shown(answer: Content) -> Content:
    """An answer without the rounds that a new policy began with."""
    return {name: value for name, value in answer.items() if name != "history"}
