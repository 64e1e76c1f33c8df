"""Worlds that records come from: known curves, a known memory, shares that wander around a split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Curve = Callable[[Any], Any]
LONGEST = 60  # rounds before the first that are written down: the past that made the impact


@dataclass(frozen=True)
class World:
    curves: Sequence[Curve]
    memory: float
    units: int
    base: Any

    def shares(self, rounds: int, rng: np.random.Generator) -> Any:
        """Shares that wander by a third of their value, each round's log like that of the one before."""
        noise = rng.normal(size=len(self.base))
        found = []
        for _ in range(rounds):
            noise = 0.7 * noise + np.sqrt(1 - 0.49) * rng.normal(size=len(self.base))
            found.append(self.base * np.exp(noise / 3))
        table = np.array(found)
        return table / table.sum(axis=1, keepdims=True)

    def rows(self, rounds: int, seed: int) -> list[dict[str, Any]]:
        """Tidy rows as an analyst has them: round, arm, amount, successes, trials."""
        rng = np.random.default_rng(seed)
        shares = self.shares(rounds, rng)
        impact, rows = np.array(self.base), []
        for t, split in enumerate(shares):
            impact = self.memory * impact + (1 - self.memory) * split
            given = np.maximum(1, np.round(split * self.units)).astype(int)
            for k, curve in enumerate(self.curves):
                rows.append(
                    {
                        "round": t + 1,
                        "arm": f"arm {k}",
                        "share": split[k],
                        "trials": given[k],
                        "successes": int(rng.binomial(given[k], curve(impact[k]))),
                    }
                )
        return rows

    def utility(self, split: Any) -> float:
        return float(sum(p * curve(p) for p, curve in zip(split, self.curves, strict=True)))


def tiring(high: float, low: float, speed: float) -> Curve:
    return lambda x: low + (high - low) * np.exp(-speed * x)


def saturating(low: float, high: float, speed: float) -> Curve:
    return lambda x: low + (high - low) * (1 - np.exp(-speed * x))


def usual(memory: float = 0.6) -> World:
    """Four regions whose response wears off at different speeds."""
    curves = [tiring(0.8, 0.2, 2), tiring(0.5, 0.3, 3), saturating(0.2, 0.7, 6), tiring(0.4, 0.3, 1)]
    return World(curves, memory, 400, np.array([0.4, 0.2, 0.2, 0.2]))
