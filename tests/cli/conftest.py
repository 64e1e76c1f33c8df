"""Run the command line inside the test's own process: the real `main`, its output and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from aftereffect.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["aftereffect", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit:
            main()
        printed = capsys.readouterr()
        return Outcome(int(exit.value.code or 0), printed.out, printed.err)

    return run
