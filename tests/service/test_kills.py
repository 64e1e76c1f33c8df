"""The server killed at random under eight writers: every answered write is there once, none half, the chain verifies."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.programs.errors import StoreError
from aftereffect.programs.store import Store
from aftereffect.service.run import Binding, serve
from aftereffect.service.tokens import Tokens
from tests.forked import FORKS
from tests.programs.postgres import Server

WRITERS = 8
ARMS = ["north", "centre", "south"]


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _serve(url: str, port: int) -> None:
    serve(url, Binding(port=port), quiet=True)


@contextmanager
def _served(url: str, port: int) -> Iterator[BaseProcess]:
    """A server in a process of its own, answering."""
    process = FORKS.Process(target=_serve, args=(url, port), daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + 120
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.join()


class _Writer(threading.Thread):
    """Tells rounds of a program of its own, and remembers what was answered."""

    def __init__(self, port: int, token: str, name: str) -> None:
        super().__init__(daemon=True)
        self.token = token
        self.client = ae.Client(f"http://127.0.0.1:{port}", token, timeout=20, tries=400)
        self.program = self.client.program(name)
        self.answered: list[tuple[int, float]] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        random = np.random.default_rng(abs(hash(self.program.name)) % 2**32)
        while not self.stopping.is_set():
            number = self.program.deploy()
            reward = round(float(random.random()), 6)
            self.program.tell(dict.fromkeys(ARMS, reward), round=number)
            self.answered.append((number, reward))


def _writers(store: Store, port: int) -> list[_Writer]:
    names = [f"writer {i}" for i in range(WRITERS)]
    for name in names:
        store.create(name, ARMS, policy="thompson-split", seed=3)
    token = Tokens(store.database).create("admin")
    return [_Writer(port, token, name) for name in names]


def _end(writers: list[_Writer]) -> None:
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join(120)
        assert not writer.is_alive()


def _survives(url: str, kills: int) -> None:
    store, port = ae.open_store(url), _free_port()
    random, writers = np.random.default_rng(5), _writers(store, port)
    for i in range(kills + 1):
        with _served(url, port) as process:
            if i == 0:
                for writer in writers:
                    writer.start()
            time.sleep(float(random.uniform(0.05, 0.8)))
            if i < kills:
                process.kill()
                continue
            _end(writers)
    _check(store, writers)
    store.close()


def _check(store: Store, writers: list[_Writer]) -> None:
    """Every answered write is there once, nothing else is, and the next decision is an undisturbed twin's."""
    for writer in writers:
        program = store.program(writer.program.name)
        found = program.audit()
        assert found.fits, found.reason
        assert found.recomputed == found.decisions > 0
        told = [(e["round"], e["request"]["rewards"]["north"]) for e in program.events() if e["kind"] == "tell"]
        assert told == writer.answered  # each once, in order, and nothing else
        twin = ae.policy("thompson-split").start(arms=3, names=ARMS, seed=3, feedback="split")
        for number, reward in writer.answered:
            twin.ask()
            assert twin.deploy() == number
            twin.tell(dict.fromkeys(ARMS, reward), round=number)
        assert program.look(lambda agent: agent.ask()).tolist() == twin.ask().tolist()


def _database_dies(postgres: Server, times: int) -> None:
    """PostgreSQL crashes under eight writers: the service says so, and goes on when it is back, without a restart."""
    url, port = postgres.fresh(), _free_port()
    store = ae.open_store(url)
    writers = _writers(store, port)
    with _served(url, port) as process:
        for writer in writers:
            writer.start()
        for _ in range(times):
            time.sleep(0.5)
            postgres.stop("immediate")
            try:
                with (
                    ae.Client(f"http://127.0.0.1:{port}", writers[0].token, tries=1) as client,
                    pytest.raises(StoreError, match="cannot be reached"),
                ):
                    client.program("writer 0").show()
            finally:
                postgres.start()
            before = [len(writer.answered) for writer in writers]
            deadline = time.monotonic() + 120
            while any(len(writer.answered) <= n for writer, n in zip(writers, before, strict=True)):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        _end(writers)
        assert process.is_alive()
    _check(store, writers)
    store.close()


def test_postgresql_that_dies_is_found_again(postgres: Server) -> None:
    _database_dies(postgres, 2)


@pytest.mark.soak
def test_postgresql_that_dies_often_is_found_again(postgres: Server) -> None:
    _database_dies(postgres, 30)


def test_sqlite_survives_kills(tmp_path: Path) -> None:
    _survives(f"sqlite:///{tmp_path / 'store.db'}", 15)


def test_postgresql_survives_kills(postgres: Server) -> None:
    _survives(postgres.fresh(), 15)


@pytest.mark.soak
def test_sqlite_survives_many_kills(tmp_path: Path) -> None:
    _survives(f"sqlite:///{tmp_path / 'store.db'}", 300)


@pytest.mark.soak
def test_postgresql_survives_many_kills(postgres: Server) -> None:
    _survives(postgres.fresh(), 300)


def test_a_client_says_what_is_wrong(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'store.db'}", _free_port()
    with (
        ae.Client(f"http://127.0.0.1:{port}", "ae_x_y", tries=2) as nobody,
        pytest.raises(StoreError, match="no answer"),
    ):
        nobody.programs()
    store = ae.open_store(url)
    store.create("loans", ARMS, policy="thompson-split")
    token = Tokens(store.database).create("operator", "loans")
    store.close()
    with pytest.raises(ae.AftereffectError, match="begins with http:// or https://, got"):
        ae.Client("127.0.0.1", token)
    with _served(url, port), ae.Client(f"http://127.0.0.1:{port}", token) as client:
        program = client.program("loans")
        shares = program.ask()
        assert shares.shape == (3,)
        assert program.deploy() == 1
        program.tell([0.5, 0.4, float("nan")], trials=[100, 100, 0], round=1)
        assert program.open_rounds == [1]
        program.tell({"south": 0.3}, trials={"south": 50}, round=1)
        assert (program.rounds, program.open_rounds) == (1, [])
        assert program.audit()["fits"]
        assert program.explain(words=True).startswith(f"Round {program.explain()['round']}:")
        with pytest.raises(ValueError, match="one number for each of north, centre, south is needed, got 2"):
            program.tell([0.5, 0.4], round=1)
        with pytest.raises(ValueError, match="nowhere"):
            program.tell({"nowhere": 0.5}, round=1)
        with pytest.raises(ValueError, match="not yours"):
            client.program("calls").show()
        with pytest.raises(ValueError, match="role admin"):
            program.archive()
