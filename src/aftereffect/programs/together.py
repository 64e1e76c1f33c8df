"""Writers of one process on SQLite write together: whoever's turn it is writes for all who wait, in one transaction.

A commit waits for the disk, and nobody else can write meanwhile: with a commit each, eight writers would wait for eight. Each
one's work stands on a savepoint of its own, so what one refuses undoes that alone. Nobody has an answer before the commit is
on disk; if it fails, it fails for all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, Generic, TypeVar

from sqlalchemy.engine import Connection

Done = TypeVar("Done")
MOST = 64  # works in one transaction: nobody waits for more than so many others


class Work(Generic[Done]):
    """What one writer wants done, and what became of it."""

    def __init__(self, do: Callable[[Connection], Done]) -> None:
        self.do = do
        self.over = False
        self.done: Done | None = None
        self.error: BaseException | None = None

    def answer(self) -> Done:
        """What it gave, or raised."""
        if self.error is not None:
            raise self.error
        return self.done  # type: ignore[return-value]


class Together:
    """A queue of works; `writing` opens a transaction that ends on disk, `turn` is held by whoever writes."""

    def __init__(
        self, writing: Callable[[], AbstractContextManager[Connection]], turn: AbstractContextManager[Any]
    ) -> None:
        self._writing, self._turn = writing, turn
        self._waiting: deque[Work[Any]] = deque()

    def write(self, do: Callable[[Connection], Done]) -> Done:
        """Have it done, by this thread or by another one that writes for all."""
        work = Work(do)
        self._waiting.append(work)
        try:
            with self._turn:
                while not work.over:
                    self._write_all()
        finally:
            if not work.over:  # interrupted before its turn
                with suppress(ValueError):
                    self._waiting.remove(work)
        return work.answer()

    def _write_all(self) -> None:
        group = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
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
