"""A world in which impacts of users' own are under way."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from aftereffect.errors import AftereffectError
from aftereffect.model.impacts import Impact, OwnImpact
from aftereffect.model.world import World, advance


class OwnWorld:
    """The slow path: a world in which at least one arm's impact is the user's own Python.

    Its rounds run through the same code as a compiled world's, in the interpreter, so it draws exactly the same.
    """

    def __init__(self, impacts: Sequence[Impact], world: World) -> None:
        self.impacts = impacts
        self.compiled = world
        self.states: list[Any] = [copy.deepcopy(i.start) if isinstance(i, OwnImpact) else None for i in impacts]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)

    def advance(self, k: int, t: int, share: float) -> float:
        """Let arm k's impact take in a share; gives what the impact would be had the share been one."""
        impact = self.impacts[k]
        if not isinstance(impact, OwnImpact):
            return advance(self.compiled, k, t, share)
        _, if_active = impact.stepped(copy.deepcopy(self.states[k]), 1.0)  # a trial: the state must not notice
        self.states[k], value = impact.stepped(self.states[k], share)
        if not 0.0 <= float(value) <= 1.0:
            raise AftereffectError(f"own impact of arm {k}: must lie in [0, 1], got {value} in round {t}")
        self.compiled.impact["value"][k] = value
        return float(if_active)
