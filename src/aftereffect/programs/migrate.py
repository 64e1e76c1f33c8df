"""Bring a store's tables to this version's, where that is needed."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from aftereffect.programs.database import Database
from aftereffect.programs.errors import NewerStore, StoreError
from aftereffect.programs.schema import NEWEST, VERSION_TABLE

LOCK = 7_238_911_364  # PostgreSQL's advisory lock: one process at a time makes tables


def prepare(database: Database, create: bool) -> None:
    """Look whether the tables are this version's, and make or migrate them; a newer version's are refused."""
    if database.file is not None and not database.file.exists():
        if not create:
            raise StoreError(f"there is no store {database}; `program create` makes one")
        database.file.parent.mkdir(parents=True, exist_ok=True)
    with database.reading() as connection:
        found = _version(connection)
    if found == NEWEST:
        return
    with database.writing() as connection:
        if not database.sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
        if _version(connection) != NEWEST:  # another process may have been quicker
            _migrate(connection, database)


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _migrate(connection: Connection, database: Database) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    found = _version(connection)
    known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    if found is not None and found not in known:
        raise NewerStore(
            f"the store {database} was written by a newer version of aftereffect (its tables are {found!r}, this version "
            f"knows up to {NEWEST!r}); upgrade this one"
        )
    command.upgrade(config, "head")
