"""Statements run by the driver: the same rows and the same errors as by SQLAlchemy."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from aftereffect.programs.schema import programs
from aftereffect.programs.statements import Statement, run
from aftereffect.programs.store import Store

ADD = Statement(sa.insert(programs))
NAMED = sa.select(programs.c.name, programs.c.count).where(programs.c.name > sa.bindparam("after")).limit(2)


def test_rows_and_values_are_those_of_sqlalchemy(store: Store) -> None:
    names = ["a", "it's 50 %(name)s ?", "ünïcode", "z"]
    with store.database.writing() as connection:
        for i, name in enumerate(names):
            assert ADD.run(connection, id=i + 1, name=name, count=2**40 + i, head="") == []
        for _ in range(2):  # written once, then known
            found = Statement(NAMED.order_by(programs.c.id)).run(connection, after="a")
            theirs = connection.execute(NAMED.order_by(programs.c.id), {"after": "a"}).all()
            assert [tuple(row) for row in found] == [tuple(row) for row in theirs]
            assert len(found) == 2


def test_errors_are_those_of_sqlalchemy(store: Store) -> None:
    with store.database.writing() as connection:
        ADD.run(connection, id=1, name="a", count=0, head="")
    with pytest.raises(exc.IntegrityError) as raised, store.database.engine.begin() as connection:
        ADD.run(connection, id=1, name="secret", count=0, head="")
    assert not raised.value.connection_invalidated
    assert "secret" not in str(raised.value).split("[SQL", 1)[1]  # what was given is not for logs
    with pytest.raises(exc.DBAPIError), store.database.engine.begin() as connection:
        run(connection, "SELECT nothing FROM nowhere")
    store.check()
