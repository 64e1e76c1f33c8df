"""Events: what happened to a program, in canonical JSON, each hashed together with the hash before it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aftereffect.errors import AftereffectError, shown
from aftereffect.policies.reading import by_arm
from aftereffect.programs.errors import Damaged

FIRST = ""  # the hash before the first event
LONGEST = 200  # letters of a key and of a name of who did it
MEMBERS = ("answer", "at", "by", "key", "kind", "request", "round", "sequence")
Content = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One thing that happened: what was requested, and what was answered."""

    sequence: int
    kind: str
    request: Content
    answer: Content
    at: str
    round: int | None = None
    by: str | None = None
    key: str | None = None

    @property
    def body(self) -> str:
        """The event as it is stored and hashed."""
        return canonical(self.document())

    @classmethod
    def read(cls, body: str) -> Event:
        """An event from its stored form."""
        try:
            return cls(**json.loads(body))
        except (TypeError, ValueError, RecursionError) as error:
            raise Damaged(f"an event cannot be read: {error}") from None

    def document(self) -> Content:
        """The event as plain data."""
        return {name: getattr(self, name) for name in MEMBERS}


def chained(before: str, body: str) -> str:
    """The hash of an event: it vouches for all events before it."""
    return hashlib.sha256((before + body).encode()).hexdigest()


def canonical(content: Any) -> str:
    """How content is written: no spaces, only ASCII, members (arms among them) in their order; numbers read back exactly."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def plain(content: Any) -> Any:
    """Data without what JSON does not know: numpy's numbers and arrays, tuples; what is not finite becomes None."""
    if isinstance(content, Mapping):
        return {str(name): plain(value) for name, value in content.items()}
    if hasattr(content, "tolist"):
        return plain(content.tolist())
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def named(what: str, values: Any, names: Sequence[str]) -> dict[str, float] | None:
    """Numbers by arm name, however they were given; arms that were not seen, or had no share, are left out."""
    if values is None:
        return None
    missing = 0.0 if what == "allocation" else math.nan
    numbers = by_arm(what, values, len(names), names, missing).tolist()
    return {name: value for name, value in zip(names, numbers, strict=True) if value == value}


def now() -> str:
    """The time, for people to read: nothing is decided by it, so a clock that jumps does no harm."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def check_word(what: str, value: str | None) -> str | None:
    """A key, or who did it: some printable letters."""
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST or not value.isprintable():
        raise AftereffectError(f"{what} must be 1 to {LONGEST} printable letters, got {shown(value)}")
    return value
