"""Rows of the table: what was measured, what was wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class Missing(Exception):
    """Something that a measurement needs is not on this machine."""


@dataclass(frozen=True)
class Row:
    """One line of the table; without a target it is for information."""

    what: str
    measured: str
    target: str = ""
    ok: bool | None = None  # None: not measured, or nothing to meet
    note: str = ""  # the times behind the figure

    @property
    def verdict(self) -> str:
        if self.ok is None:
            return "" if self.target == "" else "not measured"
        return "ok" if self.ok else "not met"


def at_most(what: str, value: float, limit: float, note: str, unit: str = "", digits: int = 2) -> Row:
    """A figure that must not exceed its limit."""
    return Row(what, f"{value:.{digits}f}{unit}", f"at most {limit:g}{unit}", value <= limit, note)


def at_least(what: str, value: float, limit: float, note: str, digits: int = 2) -> Row:
    """A figure that must reach its limit."""
    return Row(what, f"{value:,.{digits}f}", f"at least {limit:,g}", value >= limit, note)


def guarded(what: str, target: str, measure: Callable[[], list[Row]]) -> list[Row]:
    """The rows of a measurement, or one that says what is missing for it."""
    try:
        return measure()
    except Missing as missing:
        return [Row(what, str(missing), target)]
