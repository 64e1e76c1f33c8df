"""The database behind a store: connections, transactions, and errors in one line. SQLite and PostgreSQL, one code path."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import RLock
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, Engine, make_url

from aftereffect.errors import AftereffectError, require_one_of
from aftereffect.programs.errors import Busy, CannotWrite, Damaged, StoreError, Unavailable
from aftereffect.programs.statements import run
from aftereffect.programs.together import Done, Together

PATIENCE = 10.0  # seconds to wait for another writer
CONNECTIONS = 32  # to SQLite's file that are kept: opening one takes longer than most of what is done with it
KINDS = ("sqlite", "postgresql")


class Database:
    """Transactions on one store: `reading()` sees one moment, `writing()` is alone and durable when it ends."""

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        self.url = read_url(url)
        self.patience = patience
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = self._engine()
        # SQLite has one writer at a time, and polls; within a process a lock is quicker and fairer.
        self._turn: AbstractContextManager[Any] = RLock() if self.sqlite else nullcontext()
        self._together = Together(self._transaction, self._turn) if self.sqlite else None

    @property
    def file(self) -> Path | None:
        """SQLite's file; none where SQLite reads its own kind of URL, `file:PATH?mode=ro&uri=true`."""
        return Path(self.url.database or "") if self.sqlite and "uri" not in self.url.query else None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: all of it is on disk when it ends, or none of it."""
        with self._turn, self._errors(), self._transaction() as connection:
            yield connection

    def write(self, work: Callable[[Connection], Done]) -> Done:
        """Some work in such a transaction, which may hold others' too; its result, once all of it is on disk."""
        if self._together is None:
            with self.writing() as connection:
                return work(connection)
        with self._errors():
            return self._together.write(work)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Give up all connections."""
        self.engine.dispose()

    def _engine(self) -> Engine:
        if self.sqlite:
            engine = sa.create_engine(self.url, pool_size=CONNECTIONS, connect_args={"timeout": self.patience})
            sa.event.listen(engine, "connect", _prepare_sqlite)
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        options = {"options": f"-c lock_timeout={int(1000 * self.patience)}", "connect_timeout": int(self.patience)}
        try:
            return sa.create_engine(
                self.url, pool_pre_ping=True, connect_args=options, isolation_level="READ COMMITTED"
            )
        except ImportError as error:
            raise StoreError(
                f"a store on PostgreSQL needs psycopg: pip install 'aftereffect[postgres]' ({error})"
            ) from None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except exc.TimeoutError as error:
            raise Busy(f"the store {self} has no connection free; try again") from error
        except exc.DBAPIError as error:
            raise self._in_words(error) from error

    def _in_words(self, error: exc.DBAPIError) -> StoreError:
        reason = " ".join(str(error.orig).split())
        low = reason.lower()
        state = getattr(error.orig, "sqlstate", None) or ""
        if "locked" in low or "busy" in low or state in ("55P03", "40P01", "40001", "57014"):
            return Busy(f"others write to the store {self} and did not finish in {self.patience:g} s; try again")
        if "readonly" in low or "read-only" in low or state == "25006":
            return CannotWrite(f"cannot write to the store {self}: it is read-only")
        if "full" in low or "disk i/o error" in low or state.startswith("53"):
            return CannotWrite(f"cannot write to the store {self}: {reason}; nothing of it was written")
        if "not a database" in low or "malformed" in low:
            return Damaged(f"{self} is not a store, or is damaged: {reason}")
        if "unable to open" in low:
            return CannotWrite(f"cannot open the store {self}: {reason}")
        if error.connection_invalidated or isinstance(error, exc.OperationalError):
            return Unavailable(f"the store {self} cannot be reached: {reason}")
        return StoreError(f"the store {self} refused: {reason}")

    def __str__(self) -> str:
        return repr(self.url.database if self.sqlite else self.url.render_as_string(hide_password=True))


def read_url(text: str) -> URL:
    """A store's URL; a path alone is SQLite's file.

    >>> str(read_url("aftereffect.db")), str(read_url("postgresql://host/base"))
    ('sqlite:///aftereffect.db', 'postgresql+psycopg://host/base')
    """
    if not text or "\0" in text:
        raise AftereffectError(f"a store is a file or a URL such as sqlite:///aftereffect.db, got {text!r}")
    try:
        url = make_url(text if "://" in text else f"sqlite:///{text}")
    except (exc.ArgumentError, ValueError):
        raise AftereffectError(f"a store is a file or a URL such as sqlite:///aftereffect.db, got {text!r}") from None
    kind = url.get_backend_name()
    require_one_of("kind of store", kind, KINDS)
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise AftereffectError(
            f"a store in memory would not last; give a file, such as sqlite:///aftereffect.db, not {text!r}"
        )
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Settings hold for a connection, so every connection gets them."""
    connection.isolation_level = None  # transactions begin where we say
    cursor = connection.cursor()
    try:
        if cursor.execute("PRAGMA journal_mode").fetchone()[0].lower() != "wal":
            _to_wal(cursor)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
    finally:
        cursor.close()


def _to_wal(cursor: Any, tries: int = 50) -> None:
    """Once in a file's life; SQLite does not wait for others here, so we do."""
    for attempt in range(tries):
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except Exception as error:
            if "readonly" in str(error):  # it is read as it is
                return
            if "locked" not in str(error) or attempt == tries - 1:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    """Writers take the lock at once: one that reads first and writes then could only fail when another was quicker."""
    writes = connection.get_execution_options().get("writes", False)
    run(connection, "BEGIN IMMEDIATE" if writes else "BEGIN")
