"""Impacts that follow activations: what an arm's impact is, when it is activated, while its share stays at p.

Activations are then a coin with chance p, tossed anew in every round, and the impact is an affine function of them: its law
follows a recursion. On a grid it is kept twice. Once every mass is split between the two nodes around it, which makes the law
wider; once the masses in a cell are put together at their mean, which makes it narrower. Affine steps keep that order, so
the expectation of every convex function lies between the two, and any curve is a difference of convex ones (`Law.mean_of`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Curve, Floats
from aftereffect.model.impacts import Compiled
from aftereffect.model.world import Ints

NOTHING = 1e-18  # masses below this are dropped: less than 1e-9 in all
LONGEST_WINDOW = 20_000  # its law takes the square of that


@dataclass(frozen=True, eq=False)
class Law:
    """The law of an impact, or the sum of several rounds' laws, in two versions on a grid of cells."""

    wide: Floats  # (cells + 1,): masses at the nodes
    narrow: Floats  # (2, cells): masses, and masses times places

    def mean_of(self, curve: Curve) -> tuple[float, float]:
        """The curve's expectation (the sum of those of several rounds), and how much that can be off."""
        convex, concave = _convex_parts(curve)
        nodes = np.linspace(0.0, 1.0, len(self.wide))
        mass, moment = self.narrow
        places = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)
        high = float(self.wide @ convex(nodes) - mass @ concave(places))
        low = float(mass @ convex(places) - self.wide @ concave(nodes))
        return (low + high) / 2, max(high - low, 0.0) / 2


def _convex_parts(curve: Curve) -> tuple[Curve, Curve]:
    """Two convex curves whose difference this one is: its slope's rises in the first, its falls in the second."""
    width = np.diff(curve.x)
    slope = np.diff(curve.y) / width
    jumps = np.diff(slope)
    parts = []
    for first, sign in ((slope[0], 1.0), (0.0, -1.0)):
        slopes = first + np.concatenate([[0.0], np.cumsum(np.maximum(sign * jumps, 0.0))])
        begin = curve.y[0] if sign > 0 else 0.0
        parts.append(Curve(curve.x, begin + np.concatenate([[0.0], np.cumsum(slopes * width)])))
    return parts[0], parts[1]


class Path:
    """The law of an arm's impact when it is activated, round after round from the first one on, at a share that stays."""

    def __init__(self, impact: Compiled, share: float, cells: int) -> None:
        if impact.window > LONGEST_WINDOW:
            raise AftereffectError(
                f"best_fixed: under realised impact a window has at most {LONGEST_WINDOW:,} rounds, got {impact.window:,}"
            )
        self.impact, self.share, self.rounds = impact, share, 0
        self._wide, self._narrow = np.zeros((4, cells + 1)), np.zeros((4, 2, cells))
        self._weight = np.array([impact.weight])
        self._chances, self._likely = np.zeros(impact.window + 1), np.zeros(2, dtype=np.int64)
        _begin(impact.start, self._chances, self._wide[NOW], self._narrow[NOW])

    def settled(self, forgotten: float) -> int:
        """Rounds after which no law is off the next ones by more than moving by this much."""
        if self.impact.window > 0:
            return self.impact.window
        memory = self.impact.memory
        return 1 if memory == 0.0 else math.ceil(math.log(forgotten) / math.log(memory)) + 1

    def go(self, rounds: int) -> None:
        """Let rounds pass until there are so many."""
        first, self.rounds = self.rounds + 1, rounds
        if self.impact.window > 0:
            length, likely = self.impact.window, self._likely
            _window_law(
                self.share,
                length,
                first,
                rounds,
                chances=self._chances,
                likely=likely,
                wide=self._wide,
                narrow=self._narrow,
            )
        else:
            _recursion_law(
                self.share, self.impact.memory, first, rounds, weight=self._weight, wide=self._wide, narrow=self._narrow
            )

    @property
    def latest(self) -> Law:
        """The latest round's law."""
        return Law(self._wide[ACTIVE].copy(), self._narrow[ACTIVE].copy())

    @property
    def summed(self) -> Law:
        """The sum of the laws of all rounds so far."""
        return Law(self._wide[SUM].copy(), self._narrow[SUM].copy())


NOW, ACTIVE, IDLE, SUM = (
    0,
    1,
    2,
    3,
)  # rows: the law before a round, after one with and one without activation, the sum of ACTIVE's


@helper
def _put(wide: Floats, place: float, mass: float) -> None:
    """Split a mass between the two nodes around its place."""
    cells = wide.shape[0] - 1
    at = place * cells
    i = min(int(at), cells - 1)
    wide[i] += mass * (i + 1 - at)
    wide[i + 1] += mass * (at - i)


@helper
def _gather(narrow: Floats, place: float, mass: float) -> None:
    """Add a mass to its cell."""
    cells = narrow.shape[1]
    i = min(int(place * cells), cells - 1)
    narrow[0, i] += mass
    narrow[1, i] += mass * place


@kernel
def _begin(start: float, chances: Floats, wide: Floats, narrow: Floats) -> None:
    chances[0] = 1.0
    _put(wide, start, 1.0)
    _gather(narrow, start, 1.0)


@helper
def _clear(wide: Floats, narrow: Floats) -> None:
    for i in range(wide.shape[0]):
        wide[i] = 0.0
    for part in range(2):
        for i in range(narrow.shape[1]):
            narrow[part, i] = 0.0


@helper
def _add(wide: Floats, narrow: Floats) -> None:
    for i in range(wide.shape[1]):
        wide[SUM, i] += wide[ACTIVE, i]
    for part in range(2):
        for i in range(narrow.shape[2]):
            narrow[SUM, part, i] += narrow[ACTIVE, part, i]


@kernel
def _recursion_law(
    share: float, memory: float, first: int, last: int, weight: Floats, wide: Floats, narrow: Floats
) -> None:
    cells = narrow.shape[2]
    for _ in range(first, last + 1):
        weight[0] = 1.0 + memory * weight[0]
        step = 1.0 / weight[0]
        _clear(wide[ACTIVE], narrow[ACTIVE])
        _clear(wide[IDLE], narrow[IDLE])
        for i in range(cells + 1):
            mass = wide[NOW, i]
            if mass > NOTHING:
                x = i / cells
                _put(wide[ACTIVE], min(x + (1.0 - x) * step, 1.0), mass)
                _put(wide[IDLE], max(x - x * step, 0.0), mass)
        for i in range(cells):
            mass = narrow[NOW, 0, i]
            if mass > NOTHING:
                x = narrow[NOW, 1, i] / mass
                _gather(narrow[ACTIVE], min(x + (1.0 - x) * step, 1.0), mass)
                _gather(narrow[IDLE], max(x - x * step, 0.0), mass)
        _add(wide, narrow)
        for i in range(cells + 1):
            wide[NOW, i] = share * wide[ACTIVE, i] + (1.0 - share) * wide[IDLE, i]
        for part in range(2):
            for i in range(cells):
                narrow[NOW, part, i] = share * narrow[ACTIVE, part, i] + (1.0 - share) * narrow[IDLE, part, i]


@kernel
def _window_law(
    share: float, length: int, first: int, last: int, chances: Floats, likely: Ints, wide: Floats, narrow: Floats
) -> None:
    """The other rounds in the window hold a binomial number of activations; `likely` are its ends that count."""
    for t in range(first, last + 1):
        low, high = likely[0], likely[1]
        _clear(wide[ACTIVE], narrow[ACTIVE])
        for j in range(low, high + 1):
            _put(wide[ACTIVE], (j + 1) / t, chances[j])
            _gather(narrow[ACTIVE], (j + 1) / t, chances[j])
        _add(wide, narrow)
        high = min(high + 1, length)
        for j in range(high, low - 1, -1):
            before = chances[j - 1] if j > low else 0.0
            chances[j] = (1.0 - share) * chances[j] + share * before
        while low < high and chances[low] < NOTHING:
            chances[low] = 0.0
            low += 1
        while high > low and chances[high] < NOTHING:
            chances[high] = 0.0
            high -= 1
        likely[0], likely[1] = low, high
