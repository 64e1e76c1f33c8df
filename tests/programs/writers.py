"""Processes that write to one program, and are killed: `python -m tests.programs.writers URL KILLS SEED` prints what they did.

One process imports everything and forks the writers, so that a kill costs milliseconds. A writer says what it is about to
write before, and what was acknowledged after, each in one line of a pipe, so both survive it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

from aftereffect.errors import WrongTell
from aftereffect.policies.base import policy
from aftereffect.programs.errors import Busy
from aftereffect.programs.program import Program
from aftereffect.programs.store import open_store

ARMS = ["north", "south"]
THREADS = 4
MOST = 0.15  # seconds until a kill


def rounds(program: Program, name: str, count: int, say: Any) -> None:
    """Ask and tell, so many times, together with others who do the same."""
    done = 0
    while done < count:
        key = f"{name}-{done}"
        say("about", key)
        try:
            program.advise()
            answer = program.tell([(done % 10) / 10, 0.5], trials=[10, 20], key=key, by=name)
        except (WrongTell, Busy):  # another one told this round, or is about to: again, with the same key
            continue
        say("done", key, answer["round"])
        done += 1


def writer(url: str, name: str, count: int, pipe: int) -> None:
    """One process with some threads, all on one program."""

    def say(*words: Any) -> None:
        os.write(pipe, (json.dumps(words) + "\n").encode())

    program = open_store(url).program("loans")
    program.rounds  # noqa: B018 (folds what is there)
    say("ready")
    threads = [Thread(target=rounds, args=(program, f"{name}-{i}", count, say)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fork(url: str, name: str, count: int) -> tuple[int, int]:
    """Start a writer; its process and the pipe it says things through."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            writer(url, name, count, writing)
        finally:
            os._exit(0)
    os.close(writing)
    return process, reading


def said(pipe: int) -> list[list[Any]]:
    """All that a writer said, once it is gone; a line that was cut off is not an acknowledgement."""
    with os.fdopen(pipe, "rb") as file:
        lines = file.read().decode().split("\n")
    return [json.loads(line) for line in lines[:-1]]


def kill_some(url: str, kills: int, seed: int) -> list[list[Any]]:
    """Kill so many writers, one after the other, each at a random moment of its writing."""
    chance, heard = random.Random(seed), []
    for i in range(kills):
        process, pipe = fork(url, f"killed-{i}", 10_000)
        first = os.read(pipe, 1_000)  # ready
        time.sleep(chance.random() * MOST)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        rest = first.decode()
        with os.fdopen(pipe, "rb") as file:
            rest += file.read().decode()
        heard += [json.loads(line) for line in rest.split("\n")[:-1]]
    return heard


def let_all_finish(url: str, processes: int, count: int) -> list[list[Any]]:
    """Several writers at once, none of them killed."""
    started = [fork(url, f"writer-{i}", count) for i in range(processes)]
    for process, _ in started:
        os.waitpid(process, 0)
    return [words for _, pipe in started for words in said(pipe)]


def load_kernels() -> None:
    """Before the forks: each of them would load them again."""
    agent = policy("thompson-split").start(arms=2, names=ARMS, floors=0.1, feedback="split")
    for _ in range(3):
        agent.explain()
        agent.tell([0.5, 0.5], trials=[10, 20])


if __name__ == "__main__":
    load_kernels()
    what, url, count, seed = sys.argv[1:5]
    heard = kill_some(url, int(count), int(seed)) if what == "kill" else let_all_finish(url, 3, int(count))
    Path(sys.argv[5]).write_text(json.dumps(heard))
