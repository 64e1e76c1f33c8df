"""Durable programs on SQLite: writes beside bare commits, opening and auditing a long record, and Optuna's ask and tell."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import sqlalchemy as sa

import aftereffect as ae
from aftereffect.programs.program import Program
from aftereffect.programs.store import Store
from bench.rows import Row, at_least, at_most

ROUNDS = 200  # with durable writes
LONG = 10_000  # of a long record
ARMS = ["north", "centre", "south"]


def writes() -> list[Row]:
    """Rounds a second, three durable writes each, over bare commits a second and over Optuna's trials."""
    with folder() as place:
        bare = bare_commits(Path(place) / "bare.db")
        ours = _rate(_program(Path(place) / "ours.db"))
        optuna = optuna_trials(Path(place) / "optuna.db")
    note = f"{ours:.0f} rounds/s of ask, deploy, tell; {bare:.0f} bare commits/s; Optuna {optuna:.0f} trials/s"
    return [at_least("program on SQLite: rounds/s over bare commits/s", ours / bare, 0.1, note)]


def long_record() -> list[Row]:
    """Open and audit a record of 10,000 rounds, in a process that has imports and kernels."""
    with folder() as place:
        url = f"sqlite:///{Path(place) / 'long.db'}"
        with closing(without_the_disk(ae.open_store(url))) as store:
            write_rounds(store.create("loans", ARMS, floors=0.05, seed=1), LONG)
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


MEMORY = """
import json, resource, sys
import aftereffect as ae
from bench.programs import without_the_disk, write_rounds
store = without_the_disk(ae.open_store(sys.argv[1]))
program = store.create("loans", ["north", "centre", "south"], floors=0.05, seed=1)
found = {}
for events in (10_000, 100_000):
    write_rounds(program, (events - program.show()["events"]) // 2)
    found[events] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def memory() -> list[Row]:
    """The most memory that a process takes until 10,000 and until 100,000 events of a program."""
    with folder() as place:
        command = [sys.executable, "-c", MEMORY, f"sqlite:///{Path(place) / 'store.db'}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    short, long = json.loads(done.stdout).values()
    note = f"{short:.0f} MB until 10,000 events, {long:.0f} MB until 100,000"
    return [at_most("peak memory at 100,000 events of a program over that at 10,000", long / short, 1.1, note)]


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


def optuna_trials(file: Path) -> float:
    """Trials a second of Optuna's RDB storage with the same settings of SQLite: ask, a number for each arm, tell."""
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

    return _rate(once)


def without_the_disk(store: Store) -> Store:
    """A store in which nothing waits for the disk: to make a long record."""

    @sa.event.listens_for(store.database.engine, "checkout")
    def hurry(connection: sqlite3.Connection, *_: object) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA synchronous = OFF")

    return store


def write_rounds(program: Program, rounds: int) -> None:
    """So many rounds of ask and tell."""
    chance = np.random.default_rng(1)
    for _ in range(rounds):
        program.ask()
        program.tell(chance.random(3), trials=[100, 100, 100])
