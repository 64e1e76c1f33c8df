"""Compiled kernels on disk: only in a directory that is ours alone, and never in the way when damaged or not to be had."""

from __future__ import annotations

import errno
import hashlib
import os
import pickle
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aftereffect import _compile, _kernel_cache
from aftereffect._kernel_cache import find_directory
from aftereffect.errors import AftereffectWarning

NAME = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _warn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel_cache, "_said", False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder; the temporary one beside it cannot be used."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    return tmp_path / "cache"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ours below the temporary folder, not yet there; the user's cache folder cannot be used."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path / f"aftereffect-{os.geteuid()}"


# Where.


def test_the_users_cache_folder_comes_first_and_nobody_else_can_enter(home: Path) -> None:
    assert find_directory(NAME) == (home / "aftereffect" / NAME, "")
    assert {p.stat().st_mode & 0o777 for p in (home / "aftereffect", home / "aftereffect" / NAME)} == {0o700}


def test_without_a_usable_home_the_temporary_folder_serves(temporary: Path) -> None:
    assert find_directory(NAME) == (temporary / NAME, "")
    assert temporary.stat().st_mode & 0o777 == 0o700
    assert find_directory(NAME) == (temporary / NAME, "")  # and again when it is there


def test_an_open_mask_does_not_open_the_directory(temporary: Path) -> None:
    before = os.umask(0)
    try:
        assert find_directory(NAME)[0] is not None
    finally:
        os.umask(before)
    assert {p.stat().st_mode & 0o777 for p in (temporary, temporary / NAME)} == {0o700}


def _writable_for_the_group(path: Path) -> None:
    path.mkdir()
    path.chmod(0o770)


def _writable_for_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _a_symlink(path: Path) -> None:
    path.with_name("elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.with_name("elsewhere"))


def _a_file(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize("prepare", [_writable_for_the_group, _writable_for_all, _a_symlink, _a_file])
@pytest.mark.parametrize("inner", [False, True])
def test_what_others_could_have_prepared_is_not_used(
    prepare: Callable[[Path], None], inner: bool, temporary: Path
) -> None:
    if inner:
        temporary.mkdir(mode=0o700)
    prepare(temporary / NAME if inner else temporary)
    directory, reason = find_directory(NAME)
    assert directory is None
    assert "symlink" in reason or "others may write" in reason


def test_another_users_directory_is_not_used(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary.mkdir(mode=0o700)
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    temporary.rename(temporary.with_name(f"aftereffect-{real + 1}"))
    directory, reason = find_directory(NAME)
    assert directory is None
    assert "belongs to another user" in reason


def test_a_parent_in_which_anybody_may_rename_is_not_used(temporary: Path) -> None:
    temporary.parent.chmod(0o777)
    assert find_directory(NAME)[0] is None
    temporary.parent.chmod(0o1777)  # as /tmp is
    assert find_directory(NAME)[0] == temporary / NAME


@pytest.mark.parametrize("home", ["", "relative", None])
def test_without_a_home_there_is_no_traceback(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pwd

    def nobody(uid: int) -> Any:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME") if home is None else monkeypatch.setenv("HOME", home)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "nowhere" / "file"))
    (tmp_path / "nowhere").touch()
    directory, _ = find_directory(NAME)
    assert directory is None or directory.is_absolute()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nowhere"]


SOMEBODY = """
import os, shutil
from aftereffect._kernel_cache import find_directory
os.setuid(54321)
found, _ = find_directory("x")
assert found is None or found.stat().st_uid == 54321
if found is not None:
    shutil.rmtree(found.parent)
print("fine")
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
def test_a_user_without_an_entry_and_without_a_home(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOMEBODY], env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_where_there_are_no_users_no_uid_is_asked_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setattr(_kernel_cache, "POSIX", False)
    assert find_directory(NAME)[0] == home / "aftereffect" / NAME


# What is in it.


def triple(x: float) -> float:
    return 3.0 * x


def _compiled(directory: Path | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(_compile, "cache_directory", lambda: (directory, "" if directory else "for a test"))
    return _compile.kernel(triple)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a kernel."""
    assert _compiled(tmp_path, monkeypatch)(2.0) == 6.0
    (path,) = tmp_path.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    return path


def _from_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Is the kernel taken from disk? It gives the right number either way."""
    again = _compiled(path.parent, monkeypatch)
    assert again(2.0) == 6.0
    return bool(sum(again.stats.cache_hits.values()) == 1)


def test_a_kernel_is_compiled_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _from_disk(kept, monkeypatch)


def _check_recovers(path: Path, damaged: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(damaged)
    monkeypatch.setattr(_kernel_cache, "_said", False)
    with pytest.warns(
        AftereffectWarning, match=r"kernels cannot be taken .* is damaged\); it is compiled again"
    ) as caught:
        assert not _from_disk(path, monkeypatch)
    assert len(caught) == 1
    assert "\n" not in str(caught[0].message)


def _mutants(whole: bytes, count: int) -> list[bytes]:
    chance = random.Random(7)
    found = [b"", b"\x80", whole[:40], whole[:-1], whole + b"x", b"x" * len(whole)]
    for _ in range(count):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        found.append(bytes(damaged))
    return found


def _damage_everywhere(path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = path.read_bytes()
    for damaged in _mutants(whole, count):
        _check_recovers(path, damaged, monkeypatch)
    assert _from_disk(path, monkeypatch)  # what was compiled again was kept again


def test_a_damaged_file_costs_a_compilation(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _damage_everywhere(kept, 20, monkeypatch)


@pytest.mark.soak
def test_a_damaged_file_costs_a_compilation_wherever_it_is_hit(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _damage_everywhere(kept, 1000, monkeypatch)


class _Planted:
    def __reduce__(self) -> Any:
        return os.mkdir, ("planted",)


def test_what_does_not_bear_its_digest_is_not_unpickled(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    _check_recovers(kept, pickle.dumps(_Planted()), monkeypatch)
    assert not Path("planted").exists()


def test_a_fitting_digest_around_nonsense_is_no_traceback(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for nonsense in (b"", pickle.dumps(1), pickle.dumps((1, 2)), pickle.dumps(None)[:-1]):
        kept.write_bytes(hashlib.sha256(nonsense).digest() + nonsense)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AftereffectWarning)
            assert not _from_disk(kept, monkeypatch)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EFBIG, errno.EDQUOT])
@pytest.mark.parametrize("call", ["open", "replace"])
def test_a_disk_that_takes_nothing(call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    compiled = _compiled(tmp_path, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.warns(AftereffectWarning, match=os.strerror(code)):
            assert compiled(2.0) == 6.0
    assert not list(tmp_path.iterdir())


def test_a_folder_where_the_file_should_be(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.unlink()
    kept.mkdir()
    with pytest.warns(AftereffectWarning, match="directory"):
        assert not _from_disk(kept, monkeypatch)


def test_without_a_directory_it_is_said_once_and_kernels_run(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = _compiled(None, monkeypatch)
    with pytest.warns(AftereffectWarning, match=r"for a test\); every start compiles them again") as caught:
        assert (compiled(2.0), compiled(2)) == (6.0, 6.0)
    assert len(caught) == 1
