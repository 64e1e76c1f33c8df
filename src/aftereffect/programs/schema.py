"""The tables. Events are only ever added; a program's row holds how many there are and the last one's hash."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

VERSION_TABLE = "aftereffect_schema"  # alembic's, under a name that nobody else uses in a shared database
NEWEST = "0002"  # the last of the migrations

tables = MetaData()

programs = Table(
    "aftereffect_programs",
    tables,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("count", BigInteger, nullable=False),
    Column("head", String(64), nullable=False),
)

# `body` is the event, in canonical JSON, and what the hash is over; the columns beside it repeat parts of it to search by.
events = Table(
    "aftereffect_events",
    tables,
    Column("program", Integer, ForeignKey("aftereffect_programs.id"), primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("round", BigInteger),
    Column("at", String(32), nullable=False),
    Column("by", String(200)),
    Column("key", String(200)),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False),
    Index("aftereffect_key", "program", "key", unique=True),
    Index("aftereffect_round", "program", "round"),
)

# Folded states: they make opening fast, and nothing is lost when they are deleted.
snapshots = Table(
    "aftereffect_snapshots",
    tables,
    Column("program", Integer, ForeignKey("aftereffect_programs.id"), primary_key=True),
    Column("made_with", String(64), primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
)
