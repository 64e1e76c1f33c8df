"""Errors a user can cause: one clear line with what was wrong, the value, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AftereffectError(ValueError):
    """Base of every error that a user's input can cause."""


class UnknownName(AftereffectError):
    """A name of a problem, policy or parameter that does not exist."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str]) -> None:
        names = sorted(allowed)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint} (allowed: {', '.join(names) or 'none'})")


class MissingParameter(AftereffectError):
    """Something a policy cannot do without was not given."""


class WrongTell(AftereffectError):
    """Feedback that does not fit what was asked; the agent's state is untouched."""


class CorruptFile(AftereffectError):
    """A saved agent that is truncated, edited or from another version."""
