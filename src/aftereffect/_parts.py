"""Kernels that other kernels call: lowered once, optimised and turned into machine code only as part of their callers.

Numba compiles every function to the end, with a wrapper for the interpreter, also one that only compiled code calls; and it
optimises it again in each caller, in the caller's callers and so on, twice each time. For kernels built from many small
ones that is most of a cold start. A part skips all of it until it stands in the kernel that Python calls.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numba
from numba.core import codegen, compiler, registry, types

_codegen: Any = codegen  # untyped
_compiler: Any = compiler
_registry: Any = registry


class _Parts(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into other code and never run by itself."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)


class _NoEnvironment:
    """A code generator for a function that has no place in memory to keep its environment at."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _Whole(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Code without reference counts: the first of numba's two rounds of optimising, which prepares pruning them, is left out."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _PartCompiler(_compiler.Compiler):  # type: ignore[misc]
    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        library = library or _Parts(target_context.codegen(), "part")
        super().__init__(typing_context, target_context, library, *rest)


class _WholeCompiler(_compiler.Compiler):  # type: ignore[misc]
    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _Whole(target_context.codegen(), "whole")
            library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)


PART: dict[str, Any] = {"pipeline_class": _PartCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Kernel(_registry.CPUDispatcher):  # type: ignore[misc]
    """A compiled function that other compiled code takes as a part of its own."""

    def __init__(self, function: Any, **options: Any) -> None:
        super().__init__(function, targetoptions={"nopython": True, **options}, pipeline_class=_WholeCompiler)

    @cached_property
    def _part(self) -> Any:
        options = {name: value for name, value in self.targetoptions.items() if name not in ("nopython", "boundscheck")}
        return numba.njit(**options, **PART)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._part)
