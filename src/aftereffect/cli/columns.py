"""`--column OURS=THEIRS`, as `learn` and `program create` take it."""

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
