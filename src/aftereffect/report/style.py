"""One colour and marker per policy and arm throughout, safe for the colour-blind (Okabe and Ito's palette)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, count
from typing import NamedTuple

from aftereffect.policies.base import registry


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    marker: str
    line: str = "-"


_DARK = (0x15, 0x18, 0x1C)  # the dark page's background
_ARMS = (
    Look("#332288", "o", "-"),
    Look("#117733", "s", "--"),
    Look("#AA4499", "^", ":"),
    Look("#997700", "D", "-."),
    Look("#882255", "v", "-"),
    Look("#44AA99", "P", "--"),
)
_OTHERS = ("#332288", "#117733", "#882255", "#44AA99", "#AA4499")
_VARIANTS = ("-", "--", ":", "-.")


def looks(keys: list[str]) -> dict[str, Look]:
    """A look for each policy key; variants of one policy share colour and marker and differ in their line."""
    found: dict[str, Look] = {}
    variants: dict[str, int] = {}
    strangers: list[str] = []
    known = registry()
    for key in keys:
        name = key.removesuffix(" (tuned)").partition(":")[0]
        own = known[name].look if name in known else None
        if own is None and name not in strangers:
            strangers.append(name)
        base = Look(*own) if own else Look(_OTHERS[strangers.index(name) % len(_OTHERS)], "*")
        nth = variants.get(name, 0)
        variants[name] = nth + 1
        found[key] = base._replace(
            line=_VARIANTS[nth % len(_VARIANTS)], colour=_paler(base.colour, nth // len(_VARIANTS))
        )
    return found


def _paler(colour: str, steps: int) -> str:
    """A colour mixed with white, for variants beyond the number of line styles."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * 0.6**steps):02X}" for part in parts)


def arm_looks() -> list[dict[str, str]]:
    """How the arms of any problem are drawn on a page, in their order: beyond the colours the lines differ."""
    turns = range(len(_VARIANTS))
    lines = [_VARIANTS.index(look.line) for look in _ARMS]
    return [
        drawn(look._replace(line=_VARIANTS[(line + turn) % len(_VARIANTS)]))
        for turn in turns
        for look, line in zip(_ARMS, lines, strict=True)
    ]


def drawn(look: Look) -> dict[str, str]:
    """A look as a page's script takes it, with a colour for the dark page."""
    return look._asdict() | {"dark": on_dark(look.colour)}


def on_dark(colour: str) -> str:
    """A policy's colour for the dark page: as light as 4.5 to 1 against it takes, black turned to white.

    >>> on_dark("#000000"), on_dark("#E69F00")
    ('#FFFFFF', '#E69F00')
    """
    rgb = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
    if max(rgb) < 0x20:
        return "#FFFFFF"
    for twentieths in range(21):
        mixed = tuple(round(c + (255 - c) * twentieths / 20) for c in rgb)
        if contrast(mixed, _DARK) >= 4.5:
            break
    return "#{:02X}{:02X}{:02X}".format(*mixed)


def contrast(first: Sequence[int], second: Sequence[int]) -> float:
    """Contrast of two colours as WCAG counts it, from 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(rgb: Sequence[int]) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, numbered where another has it.

    >>> free_name("mine", ["mine", "mine-2"])
    'mine-3'
    """
    return next(n for n in chain([name], (f"{name}-{i}" for i in count(2))) if n not in taken)


def plural(number: int, word: str) -> str:
    """So many of them."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def plain(text: str) -> str:
    """Text for a figure that is drawn as it stands: what looks like mathematics is none.

    >>> print(plain("costs $5 to $7"))
    costs \\$5 to \\$7
    """
    return text.replace("$", r"\$")
