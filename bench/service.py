"""The service over SQLite: rounds with durable writes beside a bare commit loop, reads, and memory over a long life."""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import aftereffect as ae
from bench.programs import ARMS, bare_commits, folder, optuna_trials
from bench.rows import Missing, Row, at_least, at_most

CLIENTS = 8
SECONDS = 10.0  # of load for each figure
WRITES = 3  # of a round: ask, deploy, tell


class LightClient:
    """One connection that is kept: as little of the machine as a client can take."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status < 300, (answer.status, content)
        return json.loads(content)


def writes() -> list[Row]:
    """Rounds of ask, deploy and tell by eight clients: their writes over bare commits in the same run, each on disk."""
    with folder() as place, _served(Path(place) / "store.db") as (port, token, _):
        before = bare_commits(Path(place) / "bare.db")
        rate, times = _under_load(port, token, _round)
        bare = (before + bare_commits(Path(place) / "bare-again.db")) / 2
        optuna = optuna_trials(Path(place) / "optuna.db")
    p99 = 1000 * statistics.quantiles(times, n=100)[98]
    note = (
        f"{rate:.0f} rounds/s of {WRITES} durable writes, {CLIENTS} clients with a program each; {bare:.0f} bare commits/s, "
        f"of which rounds are {rate / bare:.3f}; Optuna, one client in the process itself, {optuna:.0f} trials/s of ask and tell"
    )
    return [
        at_least("service on SQLite: durable writes/s over bare commits/s", WRITES * rate / bare, 0.1, note),
        at_least("service: rounds/s", rate, 150, note, 0),
        at_most("service: a round's three writes, 99th percentile", p99, 250, note, " ms", 0),
    ]


def reads() -> list[Row]:
    """A program as it stands, read by eight clients."""
    with folder() as place, _served(Path(place) / "store.db") as (port, token, _):
        rate, times = _under_load(port, token, _read)
    note = f"`GET /api/programs/NAME`, {CLIENTS} clients, median {1000 * statistics.median(times):.1f} ms"
    return [at_least("service: reads/s", rate, 1000, note, 0)]


def _round(client: LightClient, path: str, i: int) -> None:
    client.send("POST", f"{path}/ask", key=f"ask-{i}")
    number = client.send("POST", f"{path}/deploy", {}, key=f"deploy-{i}")["round"]
    told = {"rewards": dict.fromkeys(ARMS, 0.5), "trials": dict.fromkeys(ARMS, 100), "round": number}
    client.send("POST", f"{path}/tell", told, key=f"tell-{i}")


def _read(client: LightClient, path: str, i: int) -> None:
    client.send("GET", path)


def _under_load(port: int, token: str, once: Callable[[LightClient, str, int], None]) -> tuple[float, list[float]]:
    """How many a second, and how long each took, with all clients at it."""
    times: list[list[float]] = [[] for _ in range(CLIENTS)]
    failed: list[BaseException] = []
    end = time.perf_counter() + SECONDS

    def work(number: int) -> None:
        try:
            client, path, i = LightClient(port, token), f"/api/programs/program-{number}", 0
            while time.perf_counter() < end:
                start = time.perf_counter()
                once(client, path, i)
                times[number].append(time.perf_counter() - start)
                i += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    spent = time.perf_counter() - start
    every = [took for of_one in times for took in of_one]
    return len(every) / spent, every


@contextmanager
def _served(file: Path) -> Iterator[tuple[int, str, int]]:
    """A service in a process of its own, a program for each client in its store: its port, a token, its process."""
    with closing(ae.open_store(f"sqlite:///{file}")) as store:
        try:
            from aftereffect.service.tokens import Tokens
        except ImportError as error:
            raise Missing("the service is not installed") from error
        for number in range(CLIENTS):
            program = store.create(f"program-{number}", ARMS, floors=0.05, seed=number)
            for _ in range(3):  # its kernels are compiled, or found, before anything is timed
                program.ask()
                program.tell(np.full(3, 0.5), trials=[100, 100, 100])
        token = Tokens(store.database).create("operator")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = int(held.getsockname()[1])
    command = [
        sys.executable,
        "-m",
        "aftereffect",
        "serve",
        "--store",
        f"sqlite:///{file}",
        "--port",
        str(port),
        "--quiet",
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        client = _connected(process, port, token)
        for number in range(CLIENTS):
            _round(client, f"/api/programs/program-{number}", -1)
        yield port, token, process.pid
    finally:
        process.terminate()
        process.wait(30)


def _connected(process: subprocess.Popen[bytes], port: int, token: str) -> LightClient:
    deadline = time.monotonic() + 300
    while True:
        with suppress(ConnectionRefusedError):
            return LightClient(port, token)
        if process.poll() is not None or time.monotonic() > deadline:
            raise Missing("the service does not start")
        time.sleep(0.05)
