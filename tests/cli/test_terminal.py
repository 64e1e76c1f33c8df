"""The progress bar on a terminal, its absence elsewhere, and Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from tests.cli.conftest import Run

# A process may have been started with Ctrl-C ignored; this one listens to it.
LISTENING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from aftereffect.cli import main; main()"
)


class Terminal:
    """A process whose standard error is a terminal, and what it has shown there."""

    def __init__(
        self, *arguments: str, out: int | IO[bytes] | None = subprocess.PIPE, code: str = LISTENING, **environ: str
    ) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", **environ}
        command = [sys.executable, "-c", code, *arguments]
        self.process = subprocess.Popen(command, stdout=out, stderr=theirs, env=environment)
        os.close(theirs)
        self.shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                found = os.read(self._ours, 4096)
            except OSError:  # the other end is closed
                break
            if not found:
                break
            self.shown += found
        os.close(self._ours)

    def wait_for(self, words: bytes, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while words not in self.shown:
            assert time.monotonic() < end, self.shown
            assert self.process.poll() is None, self.shown
            time.sleep(0.02)

    def finish(self, seconds: float = 60) -> tuple[int, bytes]:
        out, _ = self.process.communicate(timeout=seconds)
        self._reader.join(seconds)
        return self.process.returncode, out


LONG = ("simulate", "--problem", "gaussian", "--policy", "ucb1", "--runs", "4", "--json")


def test_a_terminal_shows_progress_with_rate_and_time_left():
    terminal = Terminal(*LONG, "--horizon", "5e6")
    code, out = terminal.finish()
    assert code == 0
    for words in (b"simulating", b"rounds/s", b"left", b"%"):
        assert words in terminal.shown
    assert json.loads(out)["horizon"] == 5_000_000  # and nothing of it on standard output


def test_without_a_terminal_there_is_no_bar():
    command = [sys.executable, "-m", "aftereffect", *LONG, "--horizon", "3e6"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_interrupt_stops_it_soon_with_one_line_and_exit_code_130(threads: str):
    terminal = Terminal(*LONG, "--horizon", "1e13", "--threads", threads)
    terminal.wait_for(b"simulating")
    terminal.process.send_signal(signal.SIGINT)
    code, out = terminal.finish(seconds=20)
    assert (code, out) == (130, b"")
    assert terminal.shown.endswith(b"aftereffect: interrupted\r\n")
    assert b"Traceback" not in terminal.shown


def test_an_interrupt_outside_the_simulation(run: Run, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aftereffect.cli.listing.list_policies", interrupt)
    outcome = run("policies")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "aftereffect: interrupted\n")


def test_a_reader_that_leaves_early_gets_no_traceback():
    command = [sys.executable, "-m", "aftereffect", "policies"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err


FIRST = "import aftereffect as ae; print(ae.best_levels([[0.0, 1.0]], zero=True)[0][0])"


def test_a_terminal_is_told_once_what_the_first_wait_is_about(tmp_path: Path):
    for told in (1, 0):  # the second time nothing is compiled
        terminal = Terminal(code=FIRST, XDG_CACHE_HOME=str(tmp_path))
        assert terminal.finish() == (0, b"1\n")
        assert terminal.shown.count(b"compiling kernels") == told
        assert (str(tmp_path).encode() in terminal.shown) == bool(told)


def test_elsewhere_nothing_is_said_about_compiling(tmp_path: Path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("1\n", "")
