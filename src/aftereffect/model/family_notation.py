"""Families of problems from their short notation: `aftereffect.notation` reads it, here its names get their meaning."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from aftereffect.errors import AftereffectError, require_one_of, require_whole
from aftereffect.model.catalog import Family, family
from aftereffect.model.delay import Delay
from aftereffect.model.feedback import Noise, Shock
from aftereffect.model.impacts import Discounted, Instant, Logistic, MonotoneTable, Power, Smoothed, Window
from aftereffect.notation import Named, parse

_IMPACTS = {"instant": Instant, "discounted": Discounted, "smoothed": Smoothed, "window": Window}
_MONOTONE = {"power": Power, "logistic": Logistic, "table": MonotoneTable}
_KINDED = {"noise": Noise, "shock": Shock, "delay": Delay}  # a name in brackets is their kind


def family_from(notation: str) -> tuple[Family, int | None]:
    """A family from its short notation, and the seed if one stands in it.

    >>> family_from("patrol:arms=3,impact=smoothed(memory=0.5,start=1)")[0].impact
    Smoothed(memory=0.5, start=1, g=None)
    """
    named = parse(notation)
    parameters = {key: _thing(key, value) for key, value in named.parameters.items()}
    seed = parameters.pop("seed", None)
    if seed is not None:
        require_whole("seed", seed, 0)
    return family(named.name, **parameters), seed


def _thing(key: str, value: Any) -> Any:
    """Impacts, g, noise, shocks and delays by name; everything else as it is."""
    if isinstance(value, list):
        return [_thing(key, v) for v in value]
    if key == "noise" and value is None:
        return "none"  # the notation reads the word as None
    kinds: Mapping[str, Callable[..., Any]] | None = {"impact": _IMPACTS, "g": _MONOTONE}.get(key)
    if kinds is None:
        if not isinstance(value, Named):
            return value
        if key not in _KINDED:
            raise AftereffectError(f"{key} takes no parameters in brackets, got {value.name}(..)")
        kinds = {value.name: partial(_KINDED[key], kind=value.name)}
    wanted = value if isinstance(value, Named) else Named(str(value))
    require_one_of(key, wanted.name, kinds)
    inner = {k: _thing(k, v) for k, v in wanted.parameters.items()}
    made, takes = kinds[wanted.name], _parameters_of(kinds[wanted.name])
    if not {name for name, needed in takes.items() if needed} <= inner.keys() <= takes.keys():
        listed = ", ".join(f"{name} (needed)" if needed else name for name, needed in takes.items()) or "nothing"
        raise AftereffectError(f"{key} {wanted.name!r} takes {listed}, got {', '.join(inner) or 'nothing'}")
    return made(**inner)


def _parameters_of(made: Callable[..., Any]) -> dict[str, bool]:
    """What stands in the brackets behind a name, and whether it must."""
    parameters = inspect.signature(made).parameters.values()
    return {p.name: p.default is p.empty for p in parameters if p.name != "kind"}
