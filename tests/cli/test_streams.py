"""Standard streams that are closed, full or gone: one line where somebody can read it, and the right exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a shell and /dev/full")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """A command line in which `aftereffect` stands for this one."""
    ours = f"'{sys.executable}' -m aftereffect"
    return subprocess.run(
        ["bash", "-c", command.replace("aftereffect", ours)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@pytest.mark.parametrize("arguments", ["problems", "problems --json", "policies", "--help", "--version"])
def test_a_full_disk_behind_standard_output(arguments: str) -> None:
    done = shell(f"aftereffect {arguments} >/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr == "aftereffect: cannot write to standard output: No space left on device\n"


def test_a_reader_that_has_seen_enough() -> None:
    done = shell("aftereffect policies --json | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}")
    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "1")


def test_a_closed_standard_error() -> None:
    done = shell("aftereffect simulat 2>&-")
    assert (done.returncode, done.stdout) == (2, "")
    done = shell("aftereffect problems --json 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith("[")


def test_a_full_disk_behind_standard_error() -> None:
    done = shell("aftereffect simulat 2>/dev/full")
    assert (done.returncode, done.stdout) == (2, "")


def test_everything_closed() -> None:
    assert shell("aftereffect simulat <&- >&- 2>&-").returncode == 2
    assert shell("aftereffect problems <&- >&- 2>&-").returncode in (0, 1)


def test_a_name_that_is_no_text() -> None:
    done = shell("aftereffect run $'no\\xffsuch.toml'")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No such file" in done.stderr
