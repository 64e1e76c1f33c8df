"""A PostgreSQL server on a directory of its own: the tests start it, and nobody else can reach it."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]


class Server:
    """A server that listens on a socket in its directory only."""

    def __init__(self, folder: Path, binaries: Path, user: str) -> None:
        self.folder, self.binaries, self.user = folder, binaries, user

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs; initdb and postgres refuse root, so as another user where we are."""
        root = os.getuid() == 0
        identity = {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []} if root else {}
        done = subprocess.run(
            [str(self.binaries / program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **identity,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, done.stderr + done.stdout

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` is what a crash looks like."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def fresh(self) -> str:
        """The URL of an empty database."""
        name = f"store_{secrets.token_hex(4)}"
        with psycopg.connect(host=str(self.folder), user=self.user, dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql+psycopg://{self.user}@/{name}?host={self.folder}"


@contextmanager
def find_server(_folder: Path) -> Iterator[Server]:
    """A running server; without PostgreSQL's programs the test is skipped, except in CI."""
    if not BINARIES:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL's programs are needed in CI")
        pytest.skip("no PostgreSQL below /usr/lib/postgresql")
    user = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short, and its owner's
    if os.getuid() == 0:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    server = Server(folder, BINARIES[0], user)
    try:
        server.run("initdb", "-D", str(folder / "data"), "-U", user, "-A", "trust", "--no-sync")
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
