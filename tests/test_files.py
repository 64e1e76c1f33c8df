"""Files: whole or not at all, through no symlink but the user's own, leftovers of the dead removed, odd kinds refused."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from aftereffect import _files
from aftereffect._files import (
    PART,
    claim_file,
    output_folder,
    read_regular,
    remove_leftovers,
    write_file,
    write_inside,
    write_output,
)
from aftereffect.errors import AftereffectError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_a_file_keeps_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_file(path, b"new")
    assert (path.read_text(), _mode(path)) == ("new", mode)


def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert _mode(tmp_path / "file") == 0o640


def test_nobody_reads_a_private_file_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "file", []
    path.touch(mode=0o600)
    path.chmod(0o600)
    sync = os.fsync

    def look(descriptor: int) -> None:
        seen.append(os.fstat(descriptor).st_mode & 0o077)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_file(path, b"secret")
    assert seen == [0]


def test_a_symlink_that_the_user_named_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(target)
    for content in (b"first", b"second"):  # a target that is not there yet, and one that is
        write_file(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert [p.name for p in tmp_path.rglob(f"{PART}*")] == []


@pytest.mark.parametrize("there", [True, False])
def test_a_symlink_under_a_name_of_ours_is_refused(there: bool, tmp_path: Path) -> None:
    if there:
        (tmp_path / "mine").write_text("mine")
    (tmp_path / "report.html").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symlink"):
        write_inside(tmp_path / "report.html", b"ours")
    with pytest.raises(AftereffectError, match=r"cannot write '.*report.html': it is a symlink"):
        write_output(tmp_path / "report.html", b"ours")
    assert (tmp_path / "report.html").is_symlink()
    assert not there or (tmp_path / "mine").read_text() == "mine"


def test_a_folder_under_a_name_of_ours_is_no_symlink_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AftereffectError, match=r"cannot write '.*figures': it is a symlink"):
        output_folder(tmp_path / "figures")
    (tmp_path / "file").touch()
    with pytest.raises(AftereffectError, match=r"cannot write '.*file': File exists"):
        output_folder(tmp_path / "file")


def test_a_file_is_claimed_once(tmp_path: Path) -> None:
    start, won = threading.Barrier(8), []

    def claim(number: int) -> None:
        start.wait(timeout=60)
        if claim_file(tmp_path / "manifest", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=claim, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int((tmp_path / "manifest").read_text())] == won
    assert [p.name for p in tmp_path.iterdir()] == ["manifest"]


# Leftovers.

KILLED = """
import os, signal, sys
from pathlib import Path
from aftereffect._files import write_file
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_file(Path(sys.argv[1]), b"half")
"""


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "file")], check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    assert left.name.startswith(PART)
    remove_leftovers(tmp_path, tmp_path / "other")  # not this target's
    assert left.exists()
    remove_leftovers(tmp_path, tmp_path / "file")
    assert not left.exists()


def test_a_living_writers_file_and_those_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {
        ".part-mine",
        ".part-0123456789abcdef",
        "part-01234567-0123456789abcdef",
        ".part-01234567-0123456789abcdef.txt",
    }
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".part-01234567-0123456789abcdee").symlink_to(tmp_path / ".part-mine")
    (tmp_path / ".part-01234567-0123456789abcded").mkdir()
    sync, there = os.fsync, []

    def meanwhile(descriptor: int) -> None:
        remove_leftovers(tmp_path)
        there.append(len(list(tmp_path.iterdir())))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_file(tmp_path / "file", b"new")
    assert there == [len(others) + 3]
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_file_that_is_taken_for_a_leftover_too_early_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, left = _files._lock, [2]

    def late(descriptor: int) -> bool:
        if left[0]:
            left[0] -= 1
            for part in tmp_path.glob(f"{PART}*"):
                part.unlink()
        return lock(descriptor)

    monkeypatch.setattr(_files, "_lock", late)
    write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_names_as_long_as_a_file_system_takes_them(tmp_path: Path) -> None:
    write_file(tmp_path / ("x" * 255), b"new")
    with pytest.raises(OSError, match="File name too long"):
        write_file(tmp_path / ("x" * 300), b"new")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("locks", [True, False])
def test_a_disk_that_is_full_leaves_the_old_file(locks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not locks:
        monkeypatch.setattr(_files, "fcntl", None)
    write_file(tmp_path / "file", b"old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, full)
            with pytest.raises(OSError, match="No space"):
                write_file(tmp_path / "file", b"new")
        assert (tmp_path / "file").read_bytes() == b"old"
        assert len(list(tmp_path.iterdir())) == 1
    write_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


# Reading.


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_regular(path, 4)


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="more than 1,000 bytes"):
        read_regular(path, 1000)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(OSError, match="no regular file"):
            read_regular(path, 1000)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 1000)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nowhere", 1000)


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="null"):
        read_regular(tmp_path / "a\0b", 1000)
    with pytest.raises(OSError, match="null"):
        write_inside(Path("a\0b/c"), b"")
