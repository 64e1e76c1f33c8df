"""Code from outside this package that registers policies and problems: installed plugins, and modules that a user names.

An installed package plugs in by an entry point of the group `aftereffect.plugins` whose value is a module to import:

    [project.entry-points."aftereffect.plugins"]
    mine = "mypackage.policies"
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points

from aftereffect.errors import AftereffectError, AftereffectWarning

GROUP = "aftereffect.plugins"


@cache
def load_installed() -> tuple[str, ...]:
    """Import what installed packages plug in, once; gives the modules. A broken one is said and left out."""
    loaded = []
    for plugin in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            plugin.load()
        except Exception as error:  # somebody else's code: whatever is wrong with it, ours must go on
            warnings.warn(f"plugin {plugin.name!r} ({plugin.value}): {said(error)}", AftereffectWarning, stacklevel=2)
        else:
            loaded.append(plugin.module)
    return tuple(loaded)


def import_modules(names: Iterable[str]) -> None:
    """Import modules by name, also from the folder one is in; whatever goes wrong is the mistake of who named them."""
    for name in names:
        if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
            raise AftereffectError(f"cannot import {name!r}: a module's name is wanted, for example mypolicies")
        here = os.getcwd()
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)  # behind everything else: a file here must hide no installed package
        try:
            importlib.import_module(name)
        except AftereffectError as error:
            raise AftereffectError(f"cannot import {name!r}: {error}") from error
        except Exception as error:
            raise AftereffectError(f"cannot import {name!r}: {said(error)}") from error


def summary(thing: object) -> str:
    """First line of what somebody wrote on a class or a function; empty if nothing."""
    return (thing.__doc__ or "").strip().partition("\n")[0]


def said(error: Exception) -> str:
    """An error in somebody's module in one line, with the place."""
    if isinstance(error, ModuleNotFoundError):
        return f"there is no module {error.name!r} (looked for among what is installed and in the folder one is in)"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}: " if frames else ""
    if isinstance(error, SyntaxError):
        place = f"{os.path.basename(error.filename or '')}, line {error.lineno}: "
    reason = (str(error.msg if isinstance(error, SyntaxError) else error) or "no reason given").splitlines()[0]
    return f"{place}{type(error).__name__}: {reason}"
