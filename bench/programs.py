"""Durable programs on SQLite: writes beside bare commits, opening and auditing a long record, and Optuna's ask and tell."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import sqlalchemy as sa

import aftereffect as ae
from bench.rows import Row, at_least, at_most

ROUNDS = 200  # with durable writes
LONG = 10_000  # of a long record
ARMS = ["north", "centre", "south"]


def writes() -> list[Row]:
    """Rounds a second, three durable writes each, over bare commits a second and over Optuna's trials."""
    with folder() as place:
        bare = bare_commits(Path(place) / "bare.db")
        ours = _rate(_program(Path(place) / "ours.db"))
        optuna = _rate(_optuna(Path(place) / "optuna.db"))
    note = f"{ours:.0f} rounds/s of ask, deploy, tell; {bare:.0f} bare commits/s; Optuna {optuna:.0f} trials/s"
    return [at_least("program on SQLite: rounds/s over bare commits/s", ours / bare, 0.1, note)]


def long_record() -> list[Row]:
    """Open and audit a record of 10,000 rounds, in a process that has imports and kernels."""
    with folder() as place:
        url = f"sqlite:///{Path(place) / 'long.db'}"
        _write_long(url)
        start = time.perf_counter()
        program = ae.open_store(url).program("loans")
        assert program.rounds == LONG
        opened = time.perf_counter() - start
        found = program.audit()
        assert found.fits
        assert found.recomputed == LONG
        audited = time.perf_counter() - start - opened
    note = f"{LONG:,} rounds, {found.events:,} events, curve-thompson, 3 arms"
    return [
        at_most("opening a program of 10,000 rounds", opened, 1.0, note, " s"),
        at_most("auditing it", audited, 60.0, note, " s", 0),
    ]


def folder() -> tempfile.TemporaryDirectory[str]:
    """On a disk, which /tmp need not be."""
    Path("out").mkdir(exist_ok=True)
    return tempfile.TemporaryDirectory(dir="out")


def _rate(once: Callable[[int], None]) -> float:
    once(-1)  # warm
    start = time.perf_counter()
    for i in range(ROUNDS):
        once(i)
    return ROUNDS / (time.perf_counter() - start)


def bare_commits(file: Path) -> float:
    """Transactions a second of one row each, as durable as ours."""
    connection = sqlite3.connect(file, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT)")

    def once(i: int) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO events (body) VALUES (?)", ("x" * 500,))
        connection.execute("COMMIT")

    with closing(connection):
        return _rate(once)


def _program(file: Path) -> Callable[[int], None]:
    program = ae.open_store(f"sqlite:///{file}").create("loans", ARMS, floors=0.05)
    chance = np.random.default_rng(1)

    def once(i: int) -> None:
        program.ask(key=f"ask-{i}")
        number = program.deploy(key=f"deploy-{i}")
        program.tell(chance.random(3), trials=[100, 100, 100], round=number, key=f"tell-{i}")

    return once


def _optuna(file: Path) -> Callable[[int], None]:
    """The same settings of SQLite; a trial is two durable steps, with a number for each arm."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")

    @sa.event.listens_for(storage.engine, "connect")
    def settings(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    storage.engine.dispose()
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))

    def once(i: int) -> None:
        trial = study.ask()
        study.tell(trial, sum(trial.suggest_float(arm, 0, 1) for arm in ARMS))

    return once


def _write_long(url: str) -> None:
    """A long record; nothing waits for the disk while it is made."""
    store = ae.open_store(url)

    @sa.event.listens_for(store.database.engine, "checkout")
    def hurry(connection: sqlite3.Connection, *_: object) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA synchronous = OFF")

    program = store.create("loans", ARMS, floors=0.05, seed=1)
    chance = np.random.default_rng(1)
    for _ in range(LONG):
        program.ask()
        program.tell(chance.random(3), trials=[100, 100, 100])
    store.close()
