"""One colour and marker per policy throughout, safe for the colour-blind (Okabe and Ito's palette)."""

from __future__ import annotations

from typing import NamedTuple

from aftereffect.policies.base import registry


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    marker: str
    line: str = "-"


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


def plain(text: str) -> str:
    """Text for a figure that is drawn as it stands: what looks like mathematics is none.

    >>> print(plain("costs $5 to $7"))
    costs \\$5 to \\$7
    """
    return text.replace("$", r"\$")
