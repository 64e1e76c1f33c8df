"""Writers of one process on SQLite write together: whoever's turn it is writes for all who wait, in one transaction.

A commit waits for the disk, and nobody else can write meanwhile: with a commit each, eight writers would wait for eight. Each
one's work stands on a savepoint of its own, so what one refuses undoes that alone. Nobody has an answer before the commit is
on disk; if it fails, it fails for all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Lock
from typing import Any, Generic, TypeVar

from sqlalchemy.engine import Connection

from aftereffect.programs.errors import Busy

Done = TypeVar("Done")
MOST = 64  # works in one transaction: nobody waits for more than so many others


class Work(Generic[Done]):
    """What one writer wants done, and what became of it."""

    def __init__(self, do: Callable[[Connection], Done]) -> None:
        self.do = do
        self.over = False
        self.done: Done | None = None
        self.error: BaseException | None = None
        self.called = Lock()  # free once it is over, or once its writer is the one who writes for all
        self.called.acquire()

    def answer(self) -> Done:
        """What it gave, or raised."""
        if self.error is not None:
            raise self.error
        if not self.over:
            raise Busy("whoever wrote for all was interrupted, and nothing of this was written; try again")
        return self.done  # type: ignore[return-value]


class Together:
    """A queue of works; `writing` opens a transaction that ends on disk, `turn` is held by whoever writes."""

    def __init__(
        self, writing: Callable[[], AbstractContextManager[Connection]], turn: AbstractContextManager[Any]
    ) -> None:
        self._writing, self._turn = writing, turn
        self._lock = Lock()
        self._waiting: deque[Work[Any]] = deque()
        self._writer: Work[Any] | None = None  # whose thread writes for all, now or next

    def write(self, do: Callable[[Connection], Done]) -> Done:
        """Have it done, by this thread or by another one that writes for all."""
        work = Work(do)
        with self._lock:
            self._waiting.append(work)
            if self._writer is None:
                self._writer = work
                work.called.release()
        group: list[Work[Any]] = []
        try:
            work.called.acquire()
            if self._writer is work:
                with self._turn:
                    group = self._take()
                    self._write_all(group)
        finally:
            self._leave(work)
            for other in group:
                if other is not work:
                    other.called.release()
        return work.answer()

    def _take(self) -> list[Work[Any]]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]

    def _leave(self, work: Work[Any]) -> None:
        """The next one writes for all, before those who are done are told so: nobody writes meanwhile."""
        with self._lock:
            if not work.over:  # interrupted before its turn
                with suppress(ValueError):
                    self._waiting.remove(work)
            if self._writer is work:
                self._writer = self._waiting[0] if self._waiting else None
                if self._writer is not None:
                    self._writer.called.release()

    def _write_all(self, group: list[Work[Any]]) -> None:
        try:
            with self._writing() as connection:
                for work in group:
                    _do(work, connection, alone=len(group) == 1)
        except BaseException as error:  # nothing is written; each one raises it where it waits
            for work in group:
                work.error = work.error or error
        finally:
            for work in group:
                work.over = True


def _do(work: Work[Any], connection: Connection, alone: bool) -> None:
    if alone:  # the transaction is undone as a whole
        work.done = work.do(connection)
        return
    driver: Any = connection.connection.dbapi_connection  # a savepoint costs less than a statement of SQLAlchemy's
    driver.execute("SAVEPOINT work")
    try:
        work.done = work.do(connection)
    except Exception as error:
        work.error = error
        if not driver.in_transaction:  # SQLite gave up all of it, as it does when the disk is full
            raise
        driver.execute("ROLLBACK TO work")
    driver.execute("RELEASE work")
