"""Where compiled kernels are kept on disk, and how: nobody else can write there, and damage costs a compilation, nothing more.

What is read back is unpickled and run as machine code. So the directory must be private (ours, no symlink, writable by
nobody else), and each file carries a digest of its content: a file that was torn or edited counts as not there.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import platformdirs
from numba.core import compiler, serialize
from numba.core.caching import _Cache

from aftereffect._fingerprint import Unknown, fingerprint
from aftereffect.errors import AftereffectWarning

_numba: Any = compiler  # untyped
_serialize: Any = serialize

NAME = "aftereffect"
POSIX = hasattr(os, "geteuid")  # elsewhere a user's cache folder is private by its access list
SEAL = hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotPrivate(OSError):
    """A directory that somebody else could have put files into."""


def find_directory(name: str) -> tuple[Path | None, str]:
    """A private directory of that name below the user's cache folder, else below the temporary one; else why there is none."""
    reasons = []
    for base in _bases():
        try:
            return _usable(base, name), ""
        except OSError as error:
            reasons.append(f"{str(base)!r}: {error.strerror or error}")
    return None, "; ".join(reasons) or "there is no cache folder and no temporary one"


def _bases() -> Iterator[Path]:
    with suppress(RuntimeError):  # no HOME, and no entry for this user to take it from
        home = platformdirs.user_cache_path(NAME, appauthor=False)
        if home.is_absolute():
            yield home
    if POSIX:
        with suppress(OSError):
            yield Path(tempfile.gettempdir()) / f"{NAME}-{os.geteuid()}"


def _usable(base: Path, name: str) -> Path:
    base.parent.mkdir(parents=True, exist_ok=True)
    directory = base / name
    for path in (base, directory):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        _require_private(path)
    for parent in base.resolve().parents:
        _require_safe_parent(parent)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PermissionError(f"{str(directory)!r} cannot be written")
    return directory


def _require_private(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotPrivate(f"{str(path)!r} is a symlink or no directory")
    if not POSIX:
        return
    if found.st_uid != os.geteuid():
        raise NotPrivate(f"{str(path)!r} belongs to another user")
    if found.st_mode & _OTHERS_WRITE:
        raise NotPrivate(f"others may write into {str(path)!r}")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)


def _require_safe_parent(path: Path) -> None:
    """Where anybody may rename what lies in a directory, ours could be exchanged; the sticky bit prevents that."""
    mode = path.stat().st_mode
    if POSIX and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise NotPrivate(f"anybody may rename what is in {str(path)!r}")


class KernelCache(_Cache):
    """Numba's cache of one function's compilations, one sealed file for each signature and processor.

    Numba's own keeps an index beside them, which two processes can get out of step and whose damage ends the program.
    """

    def __init__(
        self, function: FunctionType, options: dict[str, Any], directory: Path | None, reason: str = ""
    ) -> None:
        self._function = function
        self._options = options
        self._directory = directory
        self._reason = reason
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """The directory, for numba's statistics."""
        return None if self._directory is None else str(self._directory)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Nothing is held back."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types before, or None."""
        if not self._enabled:
            return None
        if self._directory is None:
            _warn(self._reason)
            announce("every start compiles them again")
            return None
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            announce(f"they are kept in {str(self._directory)!r}")
            return None
        except OSError as error:
            _warn(f"{str(path)!r}: {error.strerror or error}")
            return None
        if hashlib.sha256(content[SEAL:]).digest() != content[:SEAL]:
            _warn(f"{str(path)!r} is damaged", "it is compiled again")
            return None
        try:
            held, parts = pickle.loads(content[SEAL:])
            # Types of two classes with one name have one file; only its own content counts.
            return _numba.CompileResult._rebuild(target_context, *parts) if held == sig else None
        except Exception as error:  # whatever another library's version makes of it: compiling again is always right
            _warn(f"{str(path)!r}: {type(error).__name__}: {error}", "it is compiled again")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compilation; where that fails the program goes on without."""
        if not self._enabled or self._directory is None or data.library.has_dynamic_globals:
            return
        path = self._path(sig, data.library.codegen)
        if path is None:
            return
        body = _serialize.dumps((sig, data._reduce()))
        try:
            _write(path, hashlib.sha256(body).digest() + body)
        except OSError as error:
            _warn(f"{str(path)!r}: {error.strerror or error}")

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """Named after all that the kernel is made of, and the processor; None where something in it cannot be named."""
        try:
            made_of = fingerprint(self._function, sig, self._options)
        except Unknown:
            return None
        machine = hashlib.sha256(repr((codegen.magic_tuple(), sys.implementation.cache_tag)).encode()).hexdigest()
        assert self._directory is not None
        return self._directory / f"{self._function.__name__}-{made_of}-{machine[:8]}.kernel"


def _write(path: Path, content: bytes) -> None:
    """A file of its own, for this user alone, renamed into place."""
    part = path.with_name(f".part-{secrets.token_hex(8)}")
    try:
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb"
        ) as file:
            file.write(content)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink()


_announced = False


def announce(kept: str) -> None:
    """Say once in a process, to who waits at a terminal, what takes so long."""
    global _announced
    if not _announced:
        _announced = True
        with suppress(OSError, ValueError, AttributeError):  # where nobody listens, nothing
            if sys.stderr.isatty():
                print(f"aftereffect: compiling kernels, up to about 20 s; {kept}", file=sys.stderr, flush=True)


_said = False


def _warn(reason: str, effect: str = "every start compiles them again") -> None:
    """Once in a process: where one file is bad there may be hundreds."""
    global _said
    if not _said:
        _said = True
        warnings.warn(
            f"kernels cannot be taken from or kept on disk ({reason}); {effect}", AftereffectWarning, stacklevel=2
        )
