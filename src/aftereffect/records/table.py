"""Records: a table of past rounds, checked and complete; how it is read from people's own tables is in `reading`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars

from aftereffect.errors import AftereffectError, UnknownName
from aftereffect.model.curves import Floats
from aftereffect.model.limits import Limits
from aftereffect.model.problem import as_name
from aftereffect.model.reward_range import FROM_0_TO_1, RewardRange
from aftereffect.policies.reading import by_arm, by_label

NEAR_ONE = 0.02  # shares were rounded: .3333 x 3, or whole percents of many arms


@dataclass(frozen=True, eq=False)
class Records:
    """Past rounds in order: what each arm got and what came back.

    All arrays are (rounds, arms). `rewards` lie in [0, 1], NaN where an arm was not seen; `trials` is 0 there. Rewards were
    mapped from `reward_range`, and what is shown is mapped back. `notes` say what was done with the table on the way.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]  # of the rounds: numbers or dates, as they were given
    shares: Floats
    rewards: Floats
    trials: Floats
    measures: Floats | None = None
    reward_range: RewardRange = FROM_0_TO_1
    notes: tuple[str, ...] = ()

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.names)

    @property
    def rounds(self) -> int:
        """Number of rounds, gaps included."""
        return len(self.labels)

    @property
    def scale(self) -> float:
        """What a reward of one is in the user's unit."""
        return self.reward_range.scale

    def as_told(self, reward: Any) -> Any:
        """A reward in [0, 1] in the user's unit."""
        return self.reward_range.as_told(reward)

    def arm(self, name: Any) -> int:
        """Which arm is called so."""
        known = as_name(name)
        if known not in self.names:
            raise UnknownName("arm", str(name), self.names)
        return self.names.index(str(known))

    def by_name(self, values: Any) -> dict[str, float]:
        """One number per arm under its name."""
        return {name: float(value) for name, value in zip(self.names, values, strict=True)}

    def split(self, what: str, given: Any) -> Floats:
        """Shares by name (a mapping, a Series, a row; arms left out get none) or in the arms' order; rounded ones are scaled."""
        shares = by_arm(what, given, self.arms, self.names, missing=0.0)
        if not np.all((shares >= 0) & (shares <= 1)) or not abs(shares.sum() - 1) <= NEAR_ONE:
            told = {name: round(share, 6) for name, share in self.by_name(shares).items()}
            raise AftereffectError(
                f"{what} must be shares in [0, 1] that sum to 1, got {told}, which sum to {shares.sum():g}"
            )
        return np.asarray(shares / shares.sum())

    def limits(self, floors: Any = None, caps: Any = None) -> Limits:
        """Floors and caps: one number for all, by name, or in the arms' order."""
        return Limits.of(self.arms, self._limit("floors", floors, 0.0), self._limit("caps", caps, 1.0), self.names)

    def _limit(self, what: str, given: Any, default: float) -> Any:
        given = by_label(what, given, self.names)
        if not isinstance(given, Mapping):
            return given
        limits = [default] * self.arms
        for name, value in given.items():
            limits[self.arm(name)] = value
        return limits

    def frame(self) -> polars.DataFrame:
        """Tidy rows: round, arm, share, reward in the user's unit (null: not seen), trials."""
        seen = self.trials > 0
        rewards = [None if not s else float(r) for s, r in zip(seen.flat, self.as_told(self.rewards).flat, strict=True)]
        return polars.DataFrame(
            {
                "round": np.repeat(np.array(self.labels), self.arms),
                "arm": np.tile(np.array(self.names), self.rounds),
                "share": self.shares.ravel(),
                "reward": polars.Series(rewards, dtype=polars.Float64),
                "trials": self.trials.ravel(),
            }
        )

    def history(self) -> list[dict[str, Any]]:
        """The same rounds as `policy.start(history=...)` takes them: an agent goes on where the records end."""
        rounds = []
        for t in range(self.rounds):
            entry: dict[str, Any] = {"allocation": self.shares[t]}
            if (self.trials[t] > 0).any():
                entry |= {"rewards": self.rewards[t], "trials": self.trials[t]}
            if self.measures is not None and not np.isnan(self.measures[t]).all():
                entry["measures"] = self.measures[t]
            rounds.append(entry)
        return rounds

    def __repr__(self) -> str:
        span = f"{self.labels[0]} to {self.labels[-1]}"
        return f"Records({self.rounds:,} rounds from {span}, arms {', '.join(self.names)})"
