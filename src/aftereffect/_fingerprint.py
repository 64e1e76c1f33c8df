"""What a kernel is made of: a hash of its code and of all code and constants that it reaches.

Numba's cache notices a change in the decorated function only, not in what it calls, and a stale kernel gives wrong numbers
silently. A kernel's file is therefore named after this hash: it covers the functions a kernel calls, wherever they live,
the constants they read, and the rules that the types of its arguments pick. An edit elsewhere recompiles nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher

from aftereffect._by_address import ByAddress

Function = Callable[..., Any]
ByType = Callable[[type], Iterable[Function]]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_OUTSIDE = {"numba", "numpy", "math", "builtins", "typing"}  # their versions are part of the hash
_DISPATCHED: dict[Function, Function] = {}  # generic function -> what chooses its implementation
_BY_TYPE: list[ByType] = []  # give the functions that belong to a state class


class Unknown(Exception):
    """Something whose change could not be noticed."""


def chosen_by(generic: Function, choose: Function) -> None:
    """Kernels that call `generic` run what `choose` gives."""
    _DISPATCHED[generic] = choose


def belonging_to_types(functions: ByType) -> ByType:
    """Say which functions the kernels for arguments of a class run."""
    _BY_TYPE.append(functions)
    return functions


def fingerprint(function: Function, signature: Iterable[Any], options: dict[str, Any]) -> str:
    """The hash of a kernel for arguments of some types; `Unknown` where something it reaches cannot be hashed."""
    seen: set[Any] = set()
    digest = hashlib.sha256()
    for part in (numba.__version__, np.__version__, sorted(options.items()), list(map(str, signature))):
        digest.update(repr(part).encode())
    states = list(_states(signature))
    for state in states:
        if (
            state.__module__.partition(".")[0] != "aftereffect"
        ):  # what is kept names the class, which must be found again
            digest.update(state.__module__.encode())
    todo = [function, *(rule for state in states for functions in _BY_TYPE for rule in functions(state))]
    while todo:
        reached = _bare(todo.pop())
        if reached not in seen:
            seen.add(reached)
            for part in _parts(reached, todo):
                digest.update(part)
    return digest.hexdigest()[:32]


def _states(signature: Iterable[Any]) -> Iterator[type]:
    """The classes of states among the types of arguments, and within one another."""
    for kind in signature:
        state = getattr(kind, "instance_class", None)  # a named tuple's, by address or not
        if state is not None:
            yield state
        if isinstance(kind, (types.BaseTuple, ByAddress)):
            yield from _states(getattr(kind, "types", ()))


def _bare(function: Any) -> Any:
    return function.py_func if isinstance(function, Dispatcher) else function


def _parts(function: FunctionType, todo: list[Any]) -> Iterator[bytes]:
    """What a function's code is, and its constants; other functions it reaches go to `todo`."""
    yield function.__qualname__.encode()
    if function in _DISPATCHED:
        todo.append(_DISPATCHED[function])
        return  # the interpreter's version of it is not compiled
    yield from _code(function.__code__, function.__doc__)
    for value in (function.__defaults__, *(cell.cell_contents for cell in function.__closure__ or ())):
        yield _value(value, todo)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:  # else it is built in, or an attribute's
            yield name.encode() + b"=" + _value(function.__globals__[name], todo)


def _names(code: CodeType) -> set[str]:
    nested = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*(_names(c) for c in nested))


def _code(code: CodeType, docstring: str | None = None) -> Iterator[bytes]:
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        elif constant != docstring:
            yield repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant).encode()


def _value(value: Any, todo: list[Any]) -> bytes:
    """A constant as bytes; of functions their names, for they are looked at on their own."""
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r};".encode()
    if isinstance(value, (tuple, list)):
        return b"(" + b"".join(_value(part, todo) for part in value) + b")"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape};".encode() + bytes(value.tobytes())
    if isinstance(value, np.dtype):
        return repr(value).encode()
    if isinstance(value, (Dispatcher, FunctionType)):
        bare = _bare(value)
        if bare.__module__.split(".")[0] not in _OUTSIDE:
            options = getattr(value, "targetoptions", {})
            todo.append(bare)
            return f"{bare.__qualname__} {sorted(options.items())!r};".encode()
        return str(bare.__qualname__).encode()
    if isinstance(value, ModuleType) and value.__name__.split(".")[0] in _OUTSIDE:
        return value.__name__.encode()
    if isinstance(value, (type, BuiltinFunctionType, np.ufunc)):
        return value.__name__.encode()
    if isinstance(value, dict):  # no kernel can read one; what a chooser picks out of it belongs to a type
        return b"dict"
    if type(value).__module__.split(".")[0] in _OUTSIDE - {"builtins"}:  # typing's and numba's own objects
        return repr(value).encode()
    raise Unknown(f"{type(value).__name__} {value!r}")
