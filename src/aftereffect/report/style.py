"""One colour and marker per policy throughout, safe for the colour-blind (Okabe and Ito's palette)."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """How a policy is drawn."""

    colour: str
    marker: str
    line: str = "-"


_LOOKS = {
    "history-ucb": Look("#0072B2", "o"),
    "action-ucb": Look("#0072B2", "s"),
    "one-arm-ucb": Look("#56B4E9", "s"),
    "phased": Look("#56B4E9", "o"),
    "d-ucb": Look("#D55E00", "v"),
    "sw-ucb": Look("#E69F00", "^"),
    "exp3": Look("#009E73", "D"),
    "meta-exp3": Look("#CC79A7", "P"),
    "cucb": Look("#000000", "X"),
    "kl-ucb": Look("#117733", "d"),
    "ucb1": Look("#8C6D1F", "<"),
    "thompson": Look("#7A4FA3", ">"),
    "lipschitz-ucb": Look("#5F6B6D", "p"),
    "lipschitz-elimination": Look("#5F6B6D", "h"),
    "curve-thompson": Look("#009E73", "*"),
    "fair-thompson": Look("#CC79A7", "*"),
    "fixed": Look("#999999", "_"),
    "round-robin": Look("#999999", "|"),
}
_OTHERS = ("#332288", "#117733", "#882255", "#44AA99", "#AA4499")
_VARIANTS = ("-", "--", ":", "-.")


def looks(keys: list[str]) -> dict[str, Look]:
    """A look for each policy key; variants of one policy share colour and marker and differ in their line."""
    found: dict[str, Look] = {}
    variants: dict[str, int] = {}
    strangers: list[str] = []
    for key in keys:
        name = key.removesuffix(" (tuned)").partition(":")[0]
        if name not in _LOOKS and name not in strangers:
            strangers.append(name)
        base = _LOOKS.get(name) or Look(_OTHERS[strangers.index(name) % len(_OTHERS)], "*")
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
