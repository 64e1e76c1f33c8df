"""Aftereffect: bandit learning when today's actions change tomorrow's rewards.

Names are imported when they are first used, so that `import aftereffect` and the command line's help are quick. They are
listed in the stub beside this file, where type checkers look too: a new public name is one line there.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"


def _homes() -> dict[str, str]:
    """The module of each public name: the stub's lines are `from MODULE import NAME as NAME`."""
    words = (line.split() for line in Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines())
    return {line[3]: line[1] for line in words if line[:1] == ["from"]}


HOMES = _homes()
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'aftereffect' has no attribute {name!r}")
    value = getattr(import_module(HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
