"""How a table is read, as `learn` and `program create` are told: `--column OURS=THEIRS`, `--reward-range LOW,HIGH`."""

from __future__ import annotations

from aftereffect.errors import AftereffectError


def read_columns(given: list[str]) -> dict[str, str]:
    """round=week: what the table calls it."""
    found = {}
    for text in given:
        ours, equals, theirs = text.partition("=")
        if not equals or not theirs:
            raise AftereffectError(f"--column must be OURS=THEIRS, for example round=week, got {text!r}")
        found[ours] = theirs
    return found


def read_reward_range(text: str | None) -> tuple[float, ...] | None:
    """0,500: between which values rewards lie."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise AftereffectError(f"--reward-range must be LOW,HIGH, for example 0,500, got {text!r}")
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        raise AftereffectError(f"--reward-range LOW,HIGH must be numbers, got {text!r}") from None
