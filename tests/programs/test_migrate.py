"""Stores of earlier versions: the first schema, with a program in it, is opened, migrated and goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from aftereffect.programs import migrate
from aftereffect.programs.database import Database
from aftereffect.programs.schema import NEWEST, VERSION_TABLE, tables
from aftereffect.programs.store import open_store

FIRST = Path(__file__).parent / "first-schema.sql"  # `.dump` of a store of schema 0001: two programs, twelve events


@pytest.fixture
def old(tmp_path: Path) -> Path:
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(FIRST.read_text())
    return file


def test_the_first_schema_is_opened_with_its_data(old: Path):
    store = open_store(str(old), create=False)
    assert {one["name"]: one["rounds"] for one in store.programs()} == {"loans": 3, "patrols": 1}
    program = store.program("loans")
    found = program.audit()
    assert found.fits
    assert found.decisions == found.recomputed + found.not_recomputed == 3
    assert program.advise()["round"] == 4
    program.tell([0.5, 0.5])
    assert program.rounds == 4
    assert program.audit().fits
    with store.database.reading() as connection:
        assert connection.scalar(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")) == NEWEST


def test_migrations_lead_to_the_tables_that_are_used(url: str):
    """What the steps make is what `schema` says, on both databases."""
    database = Database(url)
    migrate.prepare(database, create=True)
    migrate.prepare(database, create=True)  # nothing to do
    with database.reading() as connection:
        found = sa.inspect(connection)
        for table in tables.sorted_tables:
            columns = {c["name"]: (str(c["type"]), c["nullable"]) for c in found.get_columns(table.name)}
            dialect = connection.dialect
            assert columns == {c.name: (c.type.compile(dialect), bool(c.nullable)) for c in table.columns}
            assert found.get_pk_constraint(table.name)["constrained_columns"] == [c.name for c in table.primary_key]
            assert {i["name"] for i in found.get_indexes(table.name)} >= {i.name for i in table.indexes}


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from alembic import command
    from alembic.config import Config

    upgrade = command.upgrade

    def interrupted(config: Config, revision: str) -> None:
        upgrade(config, revision)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "upgrade", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_store(str(tmp_path / "new.db"))
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    monkeypatch.undo()
    assert open_store(str(tmp_path / "new.db")).programs() == []
