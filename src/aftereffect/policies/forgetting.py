"""How much of the past to trust: banks of observations that forget at different speeds, judged by what they foretold.

Responses may drift. A bank that forgets gives an observation of round s the weight (s/t)^power in round t, so it rests on the
latest 1/(power + 1) of the past, on whatever time scale things change. Each bank says in advance what the next rewards will be;
its score is the sum of y log m + (1 - y) log(1 - m) over the rewards y and the means m it foretold, less that of the bank that
forgets nothing. If the latter foretells rightly, exp(score) of another has a mean of at most one at all times (it is convex
in y), so it ever exceeds 1/a with a chance of at most a (Ville's inequality).

`ages` is (banks, 2): power and score; the first bank forgets nothing. `foretold` is (banks, arms, N + 1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.model.curves import Floats
from aftereffect.policies.curve_fit import book, node_of
from aftereffect.policies.impact_tracks import ALARM

POWERS = (0.0, 3.0, 15.0)  # all of the past, its latest quarter, its latest sixteenth
RELUCTANCE = 5.0  # log odds against each bank that forgets, before any reward: most worlds stand still
SUREST = 1e-3  # no reward is foretold with more certainty: one surprise must not decide
POWER, SCORE = 0, 1  # columns of `ages`


def ages_tried() -> Floats:
    """The banks before any reward."""
    ages = np.zeros((len(POWERS), 2))
    ages[:, POWER] = POWERS
    ages[1:, SCORE] = -RELUCTANCE
    return ages


@helper
def trusted(ages: Floats, age: int) -> float:
    """Which part of the past, from now back, a bank rests on."""
    return 1.0 / (1.0 + float(ages[age, POWER]))


@kernel
def forget(banks: Floats, ages: Floats, before: int, now: int) -> None:
    """Let the past fade from one round to another, in the banks of all ages but the first."""
    for j in range(1, ages.shape[0]):
        kept, bank = (before / now) ** ages[j, POWER], banks[j - 1]
        for row in range(bank.shape[0]):
            for k in range(bank.shape[1]):
                for i in range(bank.shape[2]):
                    bank[row, k, i] *= kept


@helper
def _surprise(told: float, reward: float) -> float:
    mean = min(1.0 - SUREST, max(SUREST, told))
    return -(reward * math.log(mean) + (1.0 - reward) * math.log(1.0 - mean))


@helper
def judge_and_book(ages: Floats, banks: Floats, foretold: Floats, impact: Floats, seen: Floats, reward: Floats) -> None:
    """Judge every bank by what it foretold for these rewards, then book them in those that forget."""
    for k in range(seen.shape[0]):
        if seen[k] > 0.0:
            node = node_of(impact[k], foretold.shape[2] - 1)
            plain = _surprise(foretold[0, k, node], reward[k])
            for j in range(1, ages.shape[0]):
                ages[j, SCORE] += seen[k] * (plain - _surprise(foretold[j, k, node], reward[k]))
                book(banks[j - 1], k, impact[k], seen[k], reward[k])


def drift_seen(ages: Floats, age: int) -> dict[str, Any]:
    """Do the responses drift, and which part of the past is trusted?"""
    scores = ages[1:, SCORE] + RELUCTANCE
    evidence = float(np.logaddexp.reduce(scores)) - math.log(len(scores))
    return {
        "drifting": evidence > math.log(ALARM),
        "log10_evidence": evidence / math.log(10.0),
        "trusts_latest": trusted(ages, age),
    }
