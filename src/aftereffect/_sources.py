"""What code from outside this package results were computed with: a hash of its sources.

A policy, problem, response or impact of a user's own is known by the file it is defined in and by all that this file
imports, as far as it is the user's own: not this package, Python's library or what else is installed. Sources are read when
something is registered, which is when Python reads them too: an edit of a file that is loaded already changes nothing yet.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_TAKEN: dict[str, str] = {}  # module -> hash of its sources when it was loaded


def is_ours(module: str) -> bool:
    """Is this a module of this package?"""
    return module.partition(".")[0] == "aftereffect"


def take_sources(module: str) -> None:
    """Keep the hash of a module and of all it imports as they are now: called when what it defines is registered."""
    if not is_ours(module):
        _TAKEN[module] = _hash_of_module(module)


def own_hash(*things: Any) -> str:
    """Hash of the sources outside this package that things (policies, classes, functions) come from; empty without any."""
    found = {}
    for definition in {d for thing in things for d in _definitions(thing)}:
        module = definition.__module__
        if is_ours(module):
            continue
        if module not in _TAKEN:
            take_sources(module)
        text = _TAKEN[module] or _written_source(definition)
        found[f"{module}.{definition.__qualname__}"] = text
    return _digest(repr(sorted(found.items()))) if found else ""


def modules_of(*things: Any) -> list[str]:
    """The modules outside this package that define things, which another process can import."""
    found = {d.__module__ for thing in things for d in _definitions(thing)}
    return sorted(module for module in found if not is_ours(module) and module != "__main__")


def _definitions(thing: Any) -> Iterator[Any]:
    """The classes and functions that make a thing what it is: its class with its bases, and what its fields hold."""
    if isinstance(thing, type):
        yield from (cls for cls in thing.__mro__ if not _is_pythons(cls.__module__))
    elif inspect.isroutine(thing):
        if getattr(thing, "__module__", None):
            yield thing
    elif isinstance(thing, (list, tuple)):
        yield from (d for part in thing for d in _definitions(part))
    elif dataclasses.is_dataclass(thing):
        yield from _definitions(type(thing))
        yield from (d for f in dataclasses.fields(thing) for d in _definitions(getattr(thing, f.name, None)))
    elif type(thing).__module__ not in ("builtins", "numpy"):
        yield from _definitions(type(thing))


def _is_pythons(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hash_of_module(module: str) -> str:
    """Of its file and those it imports; empty where it has none, as in a notebook."""
    files: dict[Path, bytes] = {}
    _collect(module, module.partition(".")[0], files)
    return _digest(repr(sorted(files.values()))) if files else ""


def _collect(module: str, root: str, files: dict[Path, bytes]) -> None:
    path = _file_of(module)
    if path is None or path in files or not _is_users(module, root, path):
        return
    try:
        content = path.read_bytes()
        tree = ast.parse(content)
    except (OSError, SyntaxError, ValueError):
        return
    files[path] = content
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for name in _imported(tree, package):
        _collect(name, root, files)


def _is_users(module: str, root: str, path: Path) -> bool:
    """Code that may be edited from one run to the next: not Python's, not ours, and of what is installed only its own package."""
    top = module.partition(".")[0]
    if is_ours(module) or _is_pythons(module):
        return False
    return not _in_site_packages(path) or top == root


def _in_site_packages(path: Path) -> bool:
    return any(path.is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib"))


def _file_of(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    found = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, AttributeError, ValueError):
            return None
        found = None if spec is None else spec.origin
    return Path(found).resolve() if found and str(found).endswith(".py") else None


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Names of what a module imports, anywhere in it; of `from a import b` both `a` and `a.b`, one of which is a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            name = ".".join(part for part in (base, node.module or "") if part)
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _written_source(definition: Any) -> str:
    """The text of a class or function that is in no file, as in a notebook; else what it is compiled to."""
    try:
        return inspect.getsource(definition)
    except (OSError, TypeError):
        codes = [_code(definition), *(_code(member) for member in vars(definition).values())]
        return repr([code for code in codes if code])


def _code(function: Callable[..., Any]) -> tuple[bytes, str] | None:
    code = getattr(function, "__code__", None)
    return None if code is None else (code.co_code, repr([c for c in code.co_consts if not hasattr(c, "co_code")]))
