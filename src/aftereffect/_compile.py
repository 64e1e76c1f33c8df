"""Compile kernels with numba, with a disk cache that cannot go stale.

Files are named after what a kernel is made of (see `_fingerprint`), in a directory of our own (see `_kernel_cache`); the
user's numba settings are left as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numba
from numba.core import compiler, registry
from numba.core.errors import NumbaError, NumbaRuntimeError, UnsupportedBytecodeError
from numba.extending import overload

from aftereffect._fingerprint import chosen_by
from aftereffect._kernel_cache import KernelCache, find_directory
from aftereffect._kernel_errors import explained
from aftereffect.errors import CannotCompile

try:
    from aftereffect._parts import PART, Kernel
except (ImportError, AttributeError):  # a numba with other insides: slower to compile, nothing else
    PART, Kernel = {}, None  # type: ignore[assignment, misc]

_numba: Any = numba  # untyped
_compiler: Any = compiler
_config: Any = numba.config
_registry: Any = registry

Function = TypeVar("Function", bound=Callable[..., Any])


ROOT = Path(__file__).parent
WITHOUT_NUMBERS = ("cli", "report", "service", "testing")  # rooms that only show or pass on what others computed


@cache
def results_hash() -> str:
    """Hash of all of this package that can change a number in a result."""
    digest = hashlib.sha256()
    for name, source in _sources():
        if Path(name).parts[0] not in WITHOUT_NUMBERS:
            digest.update(f"{name}\0".encode() + source + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[str, bytes]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_bytes()


@cache
def cache_directory() -> tuple[Path | None, str]:
    """Where compiled kernels are kept; or why nowhere."""
    return find_directory("kernels")


# Kernels work in place on arrays that their caller holds, so they need no reference counts; without numba's runtime
# (`_nrt`) the simulation loop is four times faster. Only what creates arrays keeps it.
WITHOUT_RUNTIME: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
WITH_RUNTIME: dict[str, Any] = {"error_model": "numpy"}


def accepted(options: dict[str, Any], fallback: dict[str, Any]) -> dict[str, Any]:
    """The options if this numba knows them (`_nrt` is a private one), else those that are slower and always right."""
    try:
        _registry.cpu_target.options.parse_as_flags(_compiler.Flags(), dict(options))
    except (KeyError, AttributeError, TypeError):
        return fallback
    return options


_BARE = accepted(WITHOUT_RUNTIME, WITH_RUNTIME)


def _compiled(function: Function, **options: Any) -> Function:
    if _config.DISABLE_JIT:
        return function
    compiled: Any
    if Kernel is None or "_nrt" not in options:
        compiled = numba.njit(nogil=True, **options)(function)
    else:
        compiled = Kernel(function, nogil=True, **options)
    compiled._cache = KernelCache(compiled.py_func, compiled.targetoptions, *cache_directory())
    return compiled  # type: ignore[no-any-return]


def kernel(function: Function) -> Function:
    """Compile `function`, which must not create arrays, free of the interpreter lock; keep the machine code on disk."""
    return _compiled(function, **_BARE)


def helper(function: Function) -> Function:
    """The same for a small function that is to be inlined into the kernels that call it."""
    return _compiled(function, forceinline=True, **_BARE)


def allocating_kernel(function: Function) -> Function:
    """The same for a function that creates arrays."""
    return _compiled(function, **WITH_RUNTIME)


def machine_code(call: Any, *arguments: Any) -> Any:
    """What a kernel runs for arguments of these types; what is no kernel as it is.

    It does not look at types, which takes longer than most decisions do: for callers who cannot give it others.
    """
    if not hasattr(call, "get_overload"):
        return call
    return call.get_overload(tuple(_numba.typeof(argument) for argument in arguments))


def own_helper(function: Function) -> Function:
    """Compile a function of a user's own for the kernels that call it: inlined there, and kept with them."""
    compiled: Function = numba.njit(nogil=True, forceinline=True, **_BARE)(function)
    return compiled


def in_python(compiled: Function) -> Function:
    """The same function run by the interpreter: the same numbers, and nothing to compile where it is called once."""
    plain: Function = getattr(compiled, "py_func", compiled)
    return plain


def explaining(compiled: Function) -> Function:
    """A kernel for users' own rules: what cannot be compiled is said in words that help who wrote it."""

    @wraps(compiled)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return compiled(*arguments, **named)
        except (NumbaError, NumbaRuntimeError, UnsupportedBytecodeError) as error:
            raise CannotCompile(explained(error)) from error

    return call  # type: ignore[return-value]


def dispatch(generic: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let kernels call `generic`: the decorated function gives the implementation for the argument types.

    Numba compares signatures with their annotations, so implementations go in `without_annotations`.
    """

    def decorate(choose: Function) -> Function:
        options: Any = {"forceinline": True, **_BARE, **PART}
        overload(generic, jit_options=options)(without_annotations(choose))
        chosen_by(generic, choose)
        return choose

    return decorate


def without_annotations(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a function that numba cannot quarrel with about annotations."""
    bare = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    bare.__module__, bare.__qualname__ = function.__module__, function.__qualname__
    return bare
