"""Compile kernels with numba, with a disk cache that cannot go stale.

Numba's cache notices a change in the decorated function only, not in what it calls, and a stale kernel gives wrong
numbers silently. The cache directory is therefore named after a hash of the package's sources: any edit starts a new
one. It is our own (see `_kernel_cache`); the user's numba settings are left as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba.extending import overload

from aftereffect._kernel_cache import KernelCache, find_directory

Function = TypeVar("Function", bound=Callable[..., Any])


WITHOUT_KERNELS = ("cli", "report", "experiments", "testing.py")  # an edit there cannot make a kernel stale


@cache
def source_hash() -> str:
    """Hash of every source file that may hold a kernel and of numba's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in WITHOUT_KERNELS:
            digest.update(str(name).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_directory() -> tuple[Path | None, str]:
    """Where compiled kernels are kept, named after the sources; or why nowhere."""
    return find_directory(source_hash())


# Kernels work in place on arrays that their caller holds, so they need no reference counts; without numba's runtime
# (`_nrt`) the simulation loop is four times faster. Only what creates arrays keeps it.
_BARE: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def _compiled(function: Function, **options: Any) -> Function:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    if hasattr(compiled, "_cache"):  # not where NUMBA_DISABLE_JIT leaves functions as they are
        compiled._cache = KernelCache(compiled.py_func, *cache_directory())
    return compiled  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """Compile `function`, which must not create arrays, free of the interpreter lock; keep the machine code on disk."""
    return _compiled(function, **_BARE)


def helper(function: Function) -> Function:
    """The same for a small function that is to be inlined into the kernels that call it."""
    return _compiled(function, forceinline=True, **_BARE)


def allocating_kernel(function: Function) -> Function:
    """The same for a function that creates arrays."""
    return _compiled(function, error_model="numpy")


def uncached_kernel(function: Function) -> Function:
    """A kernel whose callees live outside this package: a change in them could not be noticed, so it is not kept."""
    compiled: Function = numba.njit(nogil=True, **_BARE)(function)
    return compiled


def dispatch(generic: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let kernels call `generic`: the decorated function gives the implementation for the argument types.

    Numba compares signatures with their annotations, so implementations go in `without_annotations`.
    """

    def decorate(choose: Function) -> Function:
        options: Any = {"forceinline": True, **_BARE}
        overload(generic, jit_options=options)(without_annotations(choose))
        return choose

    return decorate


def without_annotations(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function that numba cannot quarrel with about annotations."""
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__module__, bare.__qualname__ = function.__module__, function.__qualname__
    return bare
