"""Other libraries, each in a process of its own environment that is told to run a job and prints how long it took."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.rows import Missing


class Peer:
    """A peer's script under way: it runs its job once for each line it reads."""

    def __init__(self, python: Path, script: str, rounds: int | None = None) -> None:
        if not python.exists():
            raise Missing(f"{python} is not there: its environment is not installed")
        self.rounds = rounds
        command = [str(python), str(Path(__file__).parent / script), *([] if rounds is None else [str(rounds)])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, job: str = "run") -> dict[str, Any]:
        """Run the job once: its seconds and the library's version, and what came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(job + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Missing("the peer's script stopped")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Peer:
        if self.rounds is not None:
            self.run()  # imports and warms up
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate()
