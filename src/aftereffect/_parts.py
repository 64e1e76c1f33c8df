"""Kernels that other kernels call: lowered once, optimised and turned into machine code only as part of their callers.

Numba compiles every function to the end, with a wrapper for the interpreter, also one that only compiled code calls; and it
optimises it again in each caller, in the caller's callers and so on, twice each time. For kernels built from many small
ones that is most of a cold start. A part skips all of it until it stands in the kernel that Python calls.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import codegen, compiler, registry, types

_codegen: Any = codegen  # untyped
_compiler: Any = compiler
_registry: Any = registry
_types: Any = types


class _Library(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised once, where all of it is together: numba would begin with every function by itself."""

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            _promise_about_states(function, self._codegen.target_data)
        super().add_ir_module(module)

    def add_linking_library(self, library: Any) -> None:
        """What a part calls comes with it, once."""
        library._ensure_finalized()
        needed = library._linking_libraries if isinstance(library, _Parts) else ()
        for one in (library, *needed):
            if one not in self._linking_libraries:
                self._linking_libraries.append(one)
                self._reload_init.update(one._reload_init)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout


def _promise_about_states(function: Any, layout: Any) -> None:
    """A state passed by address is all there and does not change: its fields need not be read again and again."""
    for argument in function.args[2:]:  # after the result and the exception
        state = getattr(argument.type, "pointee", None)
        if isinstance(state, ir.LiteralStructType):
            argument.add_attribute("noalias")
            argument.attributes.dereferenceable = state.get_abi_size(layout)


class _Parts(_Library):
    """Code that is linked into other code and never run by itself."""

    def finalize(self) -> None:
        self._finalized = True

    def alone(self) -> Any:
        """The code without what it calls."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """The code with all that it calls, for libraries of numba's own, which look no further."""
        whole = self.alone().clone()
        for library in self._linking_libraries:
            _link(whole, library)
        return whole

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)


def _link(module: Any, library: Any) -> None:
    part = library.alone() if isinstance(library, _Parts) else library._get_module_for_linking()
    module.link_in(part, preserve=True)


class _NoEnvironment:
    """A code generator for a function that has no place in memory to keep its environment at."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _Whole(_Library):
    """Code without reference counts: the first of numba's two rounds of optimising, which prepares pruning them, is left out.

    So is unrolling loops, most of which are recurrences here: it took long and made nothing faster.
    """

    def finalize(self) -> None:
        for library in self._linking_libraries:
            _link(self._final_module, library)
        self._linking_libraries.clear()
        super().finalize()

    def _optimize_final_module(self) -> None:
        choices = llvm.create_pipeline_tuning_options(speed_level=3)
        choices.loop_unrolling, choices.slp_vectorization = False, False
        builder = llvm.create_pass_builder(self._codegen._tm, choices)
        builder.getModulePassManager().run(self._final_module, builder)


class _Settled(_compiler.Flags):  # type: ignore[misc]
    """Flags that do not change any more: numba looks up by them at every operation that it types."""

    __slots__ = ("_hashed",)

    def __hash__(self) -> int:
        if not hasattr(self, "_hashed"):
            self._hashed = super().__hash__()
        return int(self._hashed)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))

    def copy(self) -> _Settled:
        return _SETTLED.setdefault(self, self)


_SETTLED: dict[_Settled, _Settled] = {}


def _settled(arguments: Any, result: Any, flags: Any, *rest: Any) -> tuple[Any, ...]:
    """What a compiler is told of a function, with flags that do not change any more."""
    return (arguments, result, _Settled(flags), *rest)


class _PartCompiler(_compiler.Compiler):  # type: ignore[misc]
    def __init__(self, typing: Any, target: Any, library: Any, *signature: Any) -> None:
        library = library or _Parts(target.codegen(), "part")
        super().__init__(typing, target, library, *_settled(*signature))


class _WholeCompiler(_compiler.Compiler):  # type: ignore[misc]
    def __init__(self, typing: Any, target: Any, library: Any, *signature: Any) -> None:
        if library is None:
            library = _Whole(target.codegen(), "whole")
            library.enable_object_caching()
        super().__init__(typing, target, library, *_settled(*signature))


PART: dict[str, Any] = {"pipeline_class": _PartCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Part(_registry.CPUDispatcher):  # type: ignore[misc]
    """A kernel as others call it: compiled once for numbers of a type, not again for each that is written out in a call."""

    def get_call_template(self, arguments: Any, named: Any) -> Any:
        named = {name: _types.unliteral(kind) for name, kind in named.items()}
        return super().get_call_template(tuple(map(_types.unliteral, arguments)), named)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Compiling makes millions of objects that refer to each other; looking through them for garbage finds next to none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Kernel(_registry.CPUDispatcher):  # type: ignore[misc]
    """A compiled function that other compiled code takes as a part of its own."""

    def __init__(self, function: Any, **options: Any) -> None:
        # Said outright: what is called by something inlined would be so too, and every copy is optimised by itself.
        options = {"nopython": True, "no_cfunc_wrapper": True, "forceinline": False, **options}
        super().__init__(function, targetoptions=options, pipeline_class=_WholeCompiler)

    def compile(self, sig: Any) -> Any:
        with _without_collecting():
            return super().compile(sig)

    @cached_property
    def _part(self) -> Any:
        options = {name: value for name, value in self.targetoptions.items() if name != "boundscheck"}
        return _Part(self.py_func, targetoptions={**options, "no_cpython_wrapper": True}, pipeline_class=_PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        return _types.Dispatcher(self._part)
