"""Words on the command line as numbers, shares by arm, and names of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from aftereffect.errors import AftereffectError, require, require_whole

MOST = 10**15  # rounds; far beyond what anyone can wait for, and within what the kernels can count


def read_number(option: str, text: str, least: int, most: int | None = None) -> int:
    """A whole number, also written 100_000 or 1e5.

    >>> read_number("--horizon", "1e5", 1)
    100000
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    # Compared before it is made an int: 1e999999999 would take forever.
    fits = number.is_finite() and least <= number <= (10**40 if most is None else most) and number == int(number)
    return require_whole(option, int(number) if fits else text, least, most)


def read_real(option: str, text: str) -> float:
    """A finite number, or the user's mistake."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise AftereffectError(f"{option} must be a number, got {text!r}")
    return number


def whole(option: str, text: str | None, least: int = 1, most: int | None = MOST) -> int | None:
    """A whole number, if one was given."""
    return None if text is None else read_number(option, text, least, most)


def real(option: str, text: str | None) -> float | None:
    """A number, if one was given."""
    return None if text is None else read_real(option, text)


def shares(option: str, words: Sequence[str] | None) -> dict[str, float] | None:
    """Numbers by arm, from ARM=x."""
    if not words:
        return None
    pairs = [read_pair(option, word) for word in words]
    return once(option, ((arm, read_real(f"{option} {arm}", value)) for arm, value in pairs))


def read_pair(option: str, word: str) -> tuple[str, str]:
    """An arm and what is said of it."""
    arm, equals, value = word.rpartition("=")
    require(bool(arm and equals and value), f"{option}: write ARM=number, got {word!r}")
    return arm, value


def once(option: str, pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Numbers by arm; the same arm twice is a mistake."""
    found: dict[str, float] = {}
    for arm, value in pairs:
        require(arm not in found, f"{option} names arm {arm!r} twice")
        found[arm] = value
    return found


def read_columns(given: Sequence[str]) -> dict[str, str]:
    """`--column OURS=THEIRS`: round=week is what the table calls it."""
    found = {}
    for text in given:
        ours, equals, theirs = text.partition("=")
        if not equals or not theirs:
            raise AftereffectError(f"--column must be OURS=THEIRS, for example round=week, got {text!r}")
        found[ours] = theirs
    return found


def read_reward_range(text: str | None) -> tuple[float, ...] | None:
    """LOW,HIGH: between which values rewards lie."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise AftereffectError(f"--reward-range must be LOW,HIGH, for example 0,500, got {text!r}")
    return tuple(read_real("--reward-range LOW,HIGH", part) for part in parts)
