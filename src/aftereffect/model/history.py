"""What past rounds' splits say of today: the split that is held lately, whims and lasting changes told apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aftereffect.model.curves import Floats

RECENT = 8  # rounds whose mean split counts as today's at most: one week's may be a whim
USUAL = 24  # rounds whose changes say how much splits wobble
FAR = 4.5  # times what three in four of these changes stay below: five deviations of a normal distribution
LEAST = 0.01  # of a share: a smaller change is nobody's decision
LASTING = 2  # rounds: one alone may be a whim
BEFORE = 3  # rounds before a change that it is held against: one odd week among them is no change back


def usual_change(shares: Floats) -> Floats:
    """The most by which each arm's share changes between rounds where nobody decided something new; (rounds, arms)."""
    steps = np.abs(np.diff(shares[-USUAL - 1 :], axis=0))
    if not len(steps):
        return np.full(shares.shape[1], np.inf)
    return np.asarray(np.maximum(LEAST, FAR * np.quantile(steps, 0.75, axis=0, method="lower")))


def held_lately(shares: Floats) -> Floats:
    """Today's split from those of past rounds, (rounds, arms): their mean since the last lasting change, over 8 rounds at most.

    A change is lasting if an arm's share leaps by more than splits usually wobble, for two rounds at least, and most of the
    leap stays. An arm that has had nothing for two rounds, longer than any pause before, has nothing.

    >>> held_lately(np.array(20 * [[0.5, 0.3, 0.2]] + 3 * [[0.6, 0.4, 0.0]])).round(2).tolist()
    [0.6, 0.4, 0.0]
    """
    mean = shares[-_rounds_held(shares) :].mean(axis=0)
    mean = np.where(_closed(shares), 0.0, mean)
    return np.asarray(mean / mean.sum())


def _rounds_held(shares: Floats) -> int:
    usual = usual_change(shares)
    for held in range(LASTING, min(RECENT, len(shares))):
        leap = shares[-held] - shares[-held - 1]
        stayed = shares[-held:].mean(axis=0) - shares[-held - BEFORE : -held].mean(axis=0)
        if np.any((np.abs(leap) > usual) & (stayed * np.sign(leap) > np.abs(leap) / 2)):
            return held
    return RECENT


def _closed(shares: Floats) -> npt.NDArray[np.bool_]:
    """Arms that have had nothing for longer than ever lately: others get something every few rounds."""
    closed = np.zeros(shares.shape[1], dtype=np.bool_)
    for k, held in enumerate((shares[-USUAL:] > 0).T):
        given = np.flatnonzero(held)
        if len(given):
            pauses = np.diff(given) - 1
            closed[k] = len(held) - 1 - given[-1] >= max(LASTING, 1 + pauses.max(initial=0))
    return closed
