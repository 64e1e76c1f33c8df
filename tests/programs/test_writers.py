"""Several writers, some of them killed: what was acknowledged is there once, nothing is half there, decisions go on alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import aftereffect as ae
from aftereffect.programs.program import Program
from tests.programs.writers import ARMS, THREADS

ROOT = Path(__file__).parents[2]


def writers(what: str, url: str, count: int, seed: int, out: Path) -> list[list[Any]]:
    command = [sys.executable, "-m", "tests.programs.writers", what, url, str(count), str(seed), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result: list[list[Any]] = json.loads(out.read_text())
    return result


def check_record(program: Program, heard: list[list[Any]]) -> None:
    """The record against what the writers said, and against an agent that was fed the same rounds undisturbed."""
    events = program.events()
    keys = Counter(event["key"] for event in events if event["key"])
    told = {event["key"]: event["answer"]["round"] for event in events if event["kind"] == "tell"}
    acknowledged = {words[1]: words[2] for words in heard if words[0] == "done"}
    attempted = {words[1] for words in heard if words[0] == "about"}
    assert acknowledged.items() <= told.items()
    assert set(keys.values()) <= {1}
    assert set(told) <= attempted
    assert sorted(told.values()) == list(range(1, len(told) + 1))
    twin = ae.policy("thompson-split").start(arms=2, names=ARMS, floors=0.1, seed=4, feedback="split")
    for event in events:
        if event["kind"] == "ask":
            assert list(event["answer"]["allocation"].values()) == twin.ask().tolist()
        elif event["kind"] == "tell":
            twin.tell(event["request"]["rewards"], trials=event["request"]["trials"])
    assert list(program.advise()["allocation"].values()) == twin.ask().tolist()
    found = program.audit()
    assert found.fits, found.reason
    assert found.not_recomputed == 0


def created(url: str) -> Program:
    return ae.open_store(url).create("loans", ARMS, policy="thompson-split", floors=0.1, seed=4)


def test_writers_at_once_lose_nothing(url: str, tmp_path: Path):
    program = created(url)
    heard = writers("finish", url, 5, 0, tmp_path / "heard.json")
    assert program.rounds == 3 * THREADS * 5 == sum(words[0] == "done" for words in heard)
    check_record(program, heard)


@pytest.mark.parametrize("kills", [15, pytest.param(300, marks=pytest.mark.soak)])
def test_killed_writers_lose_nothing_that_was_acknowledged(url: str, tmp_path: Path, kills: int):
    program = created(url)
    heard = writers("kill", url, kills, kills, tmp_path / "heard.json")
    assert sum(words[0] == "ready" for words in heard) == kills
    assert sum(words[0] == "done" for words in heard) >= kills // 3  # else nothing was tried
    check_record(program, heard)
