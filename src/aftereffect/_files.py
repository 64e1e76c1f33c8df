"""Files: written at once or not at all, never through somebody else's symlink, read only if they are files of a sane size."""

from __future__ import annotations

import errno
import hashlib
import importlib
import io
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aftereffect.errors import AftereffectError

fcntl: Any = None
with suppress(ImportError):  # Windows has none: there an open file cannot be removed, and no leftover is looked for
    fcntl = importlib.import_module("fcntl")

PART = ".part-"  # how names of unfinished files begin
_LEFTOVER = re.compile(rf"{re.escape(PART)}([0-9a-f]{{8}})-[0-9a-f]{{16}}")


def write_file(path: Path, content: bytes) -> None:
    """Write a file that the user named, whole or not at all; a symlink stays one and the file keeps its mode."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mode = None
    _write(target, content, os.replace, mode)


def write_named(path: Path, content: bytes) -> None:
    """The same; what is in the way is the user's to mend."""
    with _users_to_mend(path):
        write_file(path, content)


def table_bytes(frame: Any, kind: str) -> bytes:
    """A polars frame as the content of a `.csv` or `.parquet` file."""
    file = io.BytesIO()
    (frame.write_csv if kind == ".csv" else frame.write_parquet)(file)
    return file.getvalue()


def write_inside(path: Path, content: bytes) -> None:
    """Write a file under a name of our own in a directory, whole or not at all; a symlink there is refused."""
    refuse_symlink(path)
    _write(path, content, os.replace)


def write_output(path: Path, content: bytes) -> Path:
    """The same, in a directory that the user named, for what is shown to people."""
    with _users_to_mend(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_inside(path, content)
    return path


def sink_output(path: Path, sink: Callable[[Path], object]) -> Path:
    """The same for what is too large to be held in memory: `sink` writes it to the path that it is given."""
    part = path.with_name(f"{PART}{_tag(path)}-{secrets.token_hex(8)}")
    with _users_to_mend(path):
        refuse_symlink(path)
        try:
            sink(part)
            os.replace(part, path)
        finally:
            with suppress(OSError):
                part.unlink()
    return path


def output_folder(path: Path) -> Path:
    """A folder under a name of our own for such files."""
    with _users_to_mend(path):
        return make_folder(path)


@contextmanager
def _users_to_mend(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AftereffectError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def claim_file(path: Path, content: bytes) -> bool:
    """Write a file, whole, unless there is one: of several processes exactly one is told that it was the one."""
    try:
        _write(path, content, _link)
    except FileExistsError:
        return False
    return True


def refuse_symlink(path: Path) -> None:
    """Refuse to write or look behind a symlink under a name of our own."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symlink, and what it points to may be somebody else's", str(path))


def make_folder(path: Path) -> Path:
    """A folder under a name of our own; a symlink is refused."""
    refuse_symlink(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _link(part: str | Path, path: Path) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: exclusive all the same, if not written at once
        content = Path(part).read_bytes()
        with path.open("xb") as file:
            file.write(content)


def _write(path: Path, content: bytes, place: Callable[[Path, Path], Any], mode: int | None = None) -> None:
    """A temporary file beside the target, flushed to disk, then put in its place."""
    part = path.with_name(f"{PART}{_tag(path)}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(_open(part, flags, 0o666 if mode is None else 0o600), "wb") as file:
            lives = _lock(file.fileno())  # tells `remove_leftovers` that the writer lives
            taken = not os.fstat(file.fileno()).st_nlink  # it came before the lock did
            if not taken:
                if mode is not None:
                    part.chmod(mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if lives and not taken:
                place(part, path)
        if not lives and not taken:
            place(part, path)
    finally:
        with suppress(OSError, ValueError):
            part.unlink()
    if taken:
        _write(path, content, place, mode)


def _open(path: Path, flags: int, mode: int = 0o666) -> int:
    try:
        return os.open(path, flags, mode)
    except ValueError as error:  # a name with a null character
        raise OSError(errno.EINVAL, str(error), str(path)) from error


def _tag(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.name)).hexdigest()[:8]


def remove_leftovers(directory: Path, target: Path | None = None) -> None:
    """Remove what killed writers left in a directory (of one target's, if given); those of living ones stay."""
    wanted = None if target is None else _tag(target)
    with suppress(OSError):
        for entry in list(os.scandir(directory)):
            found = _LEFTOVER.fullmatch(entry.name)
            if found and wanted in (None, found[1]) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_dead(Path(entry.path))


def _remove_dead(part: Path) -> None:
    descriptor = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if _lock(descriptor):
            part.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock an open file for as long as it is open, without waiting; False where it is locked or there are no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class InUse(OSError):
    """Another process works in a directory that was wanted alone."""


@contextmanager
def shared_directory(directory: Path, alone_at_first: bool = False) -> Iterator[Callable[[], None]]:
    """Hold a directory together with others; `alone_at_first` until what is yielded is called.

    Where the file system has no locks, nothing is held.
    """
    if fcntl is None:
        yield lambda: None
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        _hold(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if alone_at_first else fcntl.LOCK_SH)
        yield lambda: _hold(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _hold(descriptor: int, how: int) -> None:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        raise InUse(errno.EWOULDBLOCK, "another process works in it") from None
    except OSError:
        pass


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes.

    A pipe, a device or a larger file is refused before anything is read or waited for.
    """
    descriptor = _open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        content = b""
        if found.st_size <= most:
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(most + 1)
        if max(found.st_size, len(content)) > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        return content
    finally:
        os.close(descriptor)
