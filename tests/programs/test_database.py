"""Stores that cannot be used: one clear line each, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

import aftereffect as ae
from aftereffect.programs.database import Database, read_url
from aftereffect.programs.errors import Busy, CannotWrite, Damaged, NewerStore, StoreError
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store, open_store

ARMS = ["north", "south"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with a program of one round."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    program = store.create("loans", ARMS, policy="thompson-split", floors=0.1)
    program.advise()
    program.tell([0.5, 0.5])
    store.close()
    return tmp_path / "store.db"


def test_every_connection_has_its_settings(file: Path):
    database = Database(str(file))
    with database.reading() as one, database.writing() as two:
        for connection in (one, two):
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def test_a_full_disk(file: Path):
    store = open_store(str(file))
    program = store.program("loans")
    rounds, head = program.rounds, program.head

    @sa.event.listens_for(store.database.engine, "begin")
    def no_more_pages(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    store.database.engine.dispose()
    with pytest.raises(CannotWrite, match="full; nothing of it was written"):
        _write_much(program)
    sa.event.remove(store.database.engine, "begin", no_more_pages)
    store.database.engine.dispose()
    again = open_store(str(file)).program("loans")
    assert again.rounds == rounds
    assert again.audit(head=head).fits
    assert program.advise() == again.advise()


def _write_much(program: Program) -> None:
    for i in range(100):
        program.advise(key=f"again-{i}")


def test_a_read_only_store_can_be_read(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    store = open_store(f"sqlite:///file:{file}?mode=ro&uri=true")
    program = store.program("loans")
    assert program.rounds == 1
    assert program.audit().fits
    with pytest.raises(CannotWrite, match="it is read-only"):
        program.advise()
    assert program.rounds == 1
    assert not list(here.iterdir())


def test_a_store_of_a_newer_version(file: Path):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE aftereffect_schema SET version_num = '9999'")
    with pytest.raises(NewerStore, match=r"written by a newer version of aftereffect \(its tables are '9999'"):
        open_store(str(file))


def test_what_is_no_store(tmp_path: Path):
    (tmp_path / "text.db").write_text("no database, but long enough to look at" * 100)
    with pytest.raises(Damaged, match="is not a store, or is damaged"):
        open_store(str(tmp_path / "text.db"))
    with pytest.raises(StoreError, match="there is no store"):
        open_store(str(tmp_path / "none.db"), create=False)
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(StoreError, match="cannot open the store"):
        open_store(str(tmp_path))


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "", "mysql://host/base", "://"])
def test_urls_that_are_no_store(url: str):
    with pytest.raises(ae.AftereffectError):
        read_url(url)


def test_a_writer_that_does_not_finish_is_said_to_be_busy(url: str):
    store = open_store(url, patience=0.2)
    program = store.create("loans", ARMS, policy="thompson-split", floors=0.1)
    with open_store(url).database.writing() as other:
        other.execute(sa.text("SELECT * FROM aftereffect_programs" + ("" if "sqlite" in url else " FOR UPDATE")))
        with pytest.raises(Busy, match=r"did not finish in 0\.2 s; try again") as caught:
            program.advise()
        assert caught.value.retryable
    assert program.advise()["round"] == 1


def test_a_backup_is_a_store(file: Path, tmp_path: Path):
    """As the docs say: SQLite's own VACUUM INTO while others write; restored by putting the file in place."""
    store = open_store(str(file))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM INTO ?", (str(tmp_path / "backup.db"),))
    program = store.program("loans")
    kept = program.head
    program.advise()
    store.close()
    shutil.move(tmp_path / "backup.db", file)
    for rest in ("-wal", "-shm"):
        file.with_name(file.name + rest).unlink(missing_ok=True)
    restored = open_store(str(file)).program("loans")
    assert restored.head == kept
    assert restored.audit(head=kept).fits
    assert restored.advise()["round"] == 2


def test_postgres_that_was_restarted_is_found_again(postgres, monkeypatch: pytest.MonkeyPatch):
    store: Store = open_store(postgres.fresh())
    program = store.create("loans", ARMS, policy="thompson-split", floors=0.1)
    advice = program.advise()
    postgres.stop("immediate")
    with pytest.raises(StoreError) as caught:
        program.tell([0.5, 0.5], key="week-1")
    assert caught.value.retryable
    postgres.start()
    assert program.advise() == advice
    program.tell([0.5, 0.5], key="week-1")
    assert program.rounds == 1
    assert program.audit().fits
