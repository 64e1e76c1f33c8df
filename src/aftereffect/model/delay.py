"""How many rounds pass until a round's rewards are seen: a number, or the chances of 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Sequence

from aftereffect.errors import AftereffectError, numbers, require, require_whole, shown

MOST = 10_000  # rounds; each ask goes through those that are still open

Delay = int | Sequence[float]


def check_delay(delay: object) -> int | tuple[float, ...] | None:
    """A delay as it is kept: None where rewards are seen at once."""
    if delay is None:
        return None
    if isinstance(delay, Sequence) and not isinstance(delay, str):
        chances = numbers("delay", delay)
        require(0 < len(chances) <= MOST, f"delay: 1 to {MOST:,} chances of 0, 1, 2, ... rounds, got {len(chances):,}")
        if not all(chance >= 0 for chance in chances) or abs(sum(chances) - 1) > 1e-6:
            raise AftereffectError(
                f"delay: the chances of 0, 1, 2, ... rounds must sum to 1, got {shown(list(chances))}"
            )
        return tuple(chances)
    return require_whole("delay", delay, 0, MOST) or None
