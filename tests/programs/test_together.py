"""Writers that share a transaction: durable for all before any is answered, and each one's mistakes its own."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect.programs.database import Database
from aftereffect.programs.errors import CannotWrite

WRITERS = 6


@pytest.fixture
def database(tmp_path: Path) -> Database:
    opened = Database(str(tmp_path / "store.db"))
    with opened.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE rows (number INTEGER PRIMARY KEY, body TEXT)")
    return opened


def _rows(database: Database) -> list[int]:
    """As another process sees them."""
    with closing(sqlite3.connect(str(database.file))) as connection:
        return [number for (number,) in connection.execute("SELECT number FROM rows ORDER BY number")]


def _add(number: int, body: str = "") -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.exec_driver_sql("INSERT INTO rows VALUES (?, ?)", (number, body))
        return number

    return work


def _at_once(database: Database, works: list[Callable[[Connection], int]]) -> list[Any]:
    """All of them while somebody else has the turn, so that they wait together; their results or errors, and what was on disk."""
    found: list[Any] = [None] * len(works)

    def write(i: int) -> None:
        try:
            found[i] = database.write(works[i]), _rows(database)
        except Exception as error:
            found[i] = error

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(works))]
    assert database._together is not None
    with database._turn:
        for thread in threads:
            thread.start()
        while len(database._together._waiting) < len(works):
            pass
    for thread in threads:
        thread.join()
    return found


def test_those_who_wait_share_one_commit_and_are_answered_after_it(database: Database) -> None:
    commits = []
    sa.event.listen(database.engine, "commit", lambda _: commits.append(1))
    found = _at_once(database, [_add(i) for i in range(WRITERS)])
    assert [number for number, _ in found] == list(range(WRITERS))
    assert all(number in rows for number, rows in found)
    assert len(commits) == 1


def test_what_one_refuses_undoes_that_alone(database: Database) -> None:
    def refuses(connection: Connection) -> int:
        _add(7)(connection)
        raise ValueError("no")

    found = _at_once(database, [_add(1), refuses, _add(2), _add(1), _add(3)])
    assert _rows(database) == [1, 2, 3]
    assert isinstance(found[1], ValueError)
    assert [isinstance(one, Exception) for one in found].count(True) == 2  # 1 was there already


def test_a_commit_that_fails_fails_for_all(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(connection: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(database.engine.dialect, "do_commit", full)
        found = _at_once(database, [_add(i) for i in range(WRITERS)])
    assert all(isinstance(one, CannotWrite) for one in found)
    assert _rows(database) == []
    assert database.write(_add(9)) == 9
    assert _rows(database) == [9]


def test_those_for_whom_nobody_wrote_are_told_so(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(group: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(database._together, "_write_all", interrupted)
        patched.setattr(threading, "excepthook", lambda _: None)
        found = _at_once(database, [_add(i) for i in range(WRITERS)])
    assert sorted(type(one).__name__ for one in found) == ["Busy"] * (WRITERS - 1) + [
        "NoneType"
    ]  # the one in whose thread
    assert _rows(database) == []
    assert database.write(_add(9)) == 9


def test_a_disk_that_fills_up_in_between_undoes_what_was_not_committed(database: Database) -> None:
    def fills_up(connection: Connection) -> int:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        try:
            return _add(5, "x" * 100_000)(connection)
        finally:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")

    found = _at_once(database, [_add(1), fills_up, _add(2)])
    there = _rows(database)
    assert isinstance(found[1], CannotWrite)
    for i, number in ((0, 1), (2, 2)):
        assert (number in there) == (not isinstance(found[i], Exception))
    assert 5 not in there
