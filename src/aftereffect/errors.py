"""Errors a user can cause: one clear line with what was wrong, the value, and what is allowed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable
from numbers import Integral
from typing import Any


class AftereffectError(ValueError):
    """Base of every error that a user's input can cause."""


class UnknownName(AftereffectError):
    """A name of a problem, policy or parameter that does not exist."""

    def __init__(self, kind: str, name: object, allowed: Iterable[str]) -> None:
        names = sorted(allowed)
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5) if isinstance(name, str) else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {shown(name)}{hint} (allowed: {', '.join(names) or 'none'})")


def require(condition: bool, message: str) -> None:
    """Raise the user's mistake when the condition does not hold."""
    if not condition:
        raise AftereffectError(message)


def require_one_of(kind: str, name: object, allowed: Collection[str]) -> None:
    """Refuse what is not one of the names."""
    if not isinstance(name, str) or name not in allowed:
        raise UnknownName(kind, name, allowed)


LONGEST = 200  # letters of a value that a message repeats
MOST = 2**128  # of a whole number for which nothing else is said: beyond it no count, seed or horizon makes sense


def shown(value: object) -> str:
    """A value as a message shows it: in one line, and whole if that can be read.

    >>> shown(0.5), shown(10**5000)
    ('0.5', 'a number of more than 4300 digits')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no numbers of more digits than that
        return "a number of more than 4300 digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}.."


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # 10**400 is finite, and no float
        return False


def require_numbers(owner: str, **values: object) -> None:
    """Refuse what is not a finite number."""
    for name, value in values.items():
        number = isinstance(value, (int, float)) or type(value).__module__ == "numpy"
        if isinstance(value, bool) or not number or not _is_finite(value):
            raise AftereffectError(f"{owner}: {name} must be a finite number, got {shown(value)}")


def require_whole(what: str, value: object, least: int = 1, most: int | None = None) -> int:
    """A whole number within bounds, or the user's mistake."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) <= (MOST if most is None else most):  # type: ignore[call-overload]
        allowed = f"a whole number from {least}" + ("" if most is None else f" to {most:,}")
        raise AftereffectError(f"{what} must be {allowed}, got {shown(value)}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def numbers(what: str, values: object) -> tuple[float, ...]:
    """A list of numbers, or the user's mistake."""
    try:
        return tuple(float(v) for v in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        raise AftereffectError(f"{what} must be a list of numbers, got {shown(values)}") from None


class MissingParameter(AftereffectError):
    """Something a policy cannot do without was not given."""


class WrongTell(AftereffectError):
    """Feedback that does not fit what was asked; the agent's state is untouched."""


class CorruptFile(AftereffectError):
    """A saved agent that is truncated, edited or from another version."""


class CannotCompile(AftereffectError):
    """A policy's rule that numba cannot compile."""


class AftereffectWarning(UserWarning):
    """Something was done differently from what was asked, for a reason that is said."""


class DoubtfulAssumption(AftereffectWarning):
    """A policy takes for granted what does not hold in the problem it runs on."""
