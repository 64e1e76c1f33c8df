"""Statements that are put into words once for each kind of database, and run by its driver.

SQLAlchemy writes them and opens and ends the transactions that they run in. Letting it run these too would take many times
as long as SQLite does, at every write. What goes wrong is raised as if it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import Connection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ClauseElement

Rows = Sequence[Any]  # of tuples


class Statement:
    """One statement; values that are text and numbers go in and come out as the driver has them."""

    def __init__(self, clause: ClauseElement) -> None:
        self._clause = clause
        self._written: dict[str, tuple[str, dict[str, Any], list[str] | None]] = {}  # by the database's kind

    def run(self, connection: Connection, **values: Any) -> Rows:
        """Run it in the connection's transaction; the rows that it gives."""
        kind = connection.dialect.name
        written = self._written.get(kind)
        if written is None:
            written = self._written[kind] = self._write(connection)
        text, fixed, order = written
        given = {**fixed, **values}
        return run(connection, text, given if order is None else [given[name] for name in order])

    def _write(self, connection: Connection) -> tuple[str, dict[str, Any], list[str] | None]:
        compiled = self._clause.compile(dialect=connection.dialect)
        assert isinstance(compiled, SQLCompiler)
        return str(compiled), dict(compiled.params), compiled.positiontup


def run(connection: Connection, text: str, values: Any = ()) -> Rows:
    """What a driver makes of a statement in its own words."""
    cursor = connection.connection.cursor()
    try:
        cursor.execute(text, values)
        return cursor.fetchall() if cursor.description else []
    except connection.dialect.loaded_dbapi.Error as error:
        raise _in_its_words(connection, error, text, values) from error
    finally:
        cursor.close()


def _in_its_words(connection: Connection, error: Any, text: str, values: Any) -> BaseException:
    """The driver's error in SQLAlchemy's words; a connection that was lost is not used again."""
    dialect = connection.dialect
    base = dialect.loaded_dbapi.Error
    lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    raised: BaseException = exc.DBAPIError.instance(
        text, values, error, base, connection_invalidated=lost, hide_parameters=True, dialect=dialect
    )
    if lost:
        connection.invalidate(error)
    return raised
