"""How much of the past to trust: banks of observations that forget at different speeds, judged by what they foretold.

Responses may drift. A bank that forgets gives an observation of round s the weight (s/t)^power in round t, so it rests on the
latest 1/(power + 1) of the past, on whatever time scale things change. Each bank says in advance what a round's mean rewards
will be, and how sure it is of that; it gains the log likelihood it gave to what came, as tosses of a coin that count for as much
as the rewards' noise and the uncertainty of the estimate leave of them, less that of the bank that forgets nothing. If the
latter foretells rightly and surely, exp(gains from some round on) of another has a mean of at most one at all times, and so has
its mean over the STARTS rounds at which drift may have begun, which is the bank's score, so that a long quiet past need not be
made up for. It ever exceeds 1/a with a chance of at most a (Ville's inequality); what is foretold is estimated, so the alarm
takes gains to a power below one, and its error is measured.

A bank that has led loses its lead to what foretells better *now*: none is ever further than RELUCTANCE behind the first. When a
faster bank takes over, responses have changed, and what the slower ones hold beyond it is from before: they take over what it
holds, and then forget it more slowly. So after an abrupt change the past begins anew, as in a restart.

`scores` and `leads` have one entry per bank, the first forgets nothing; `foretold` is (banks, arms, N + 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aftereffect._compile import helper, kernel
from aftereffect.model.curves import Floats
from aftereffect.policies.curves.fit import book, node_of

FORETOLD = np.dtype([("mean", "f8"), ("variance", "f8")])
ALARM = 20.0  # evidence ratio at which responses count as drifting
STARTS = 20  # rounds at which drift may have begun, each as likely: the first, and from FIRST on always twice as late
FIRST = 16
TEMPERED = 0.9  # power to which evidence is taken before anybody is told: what is foretold is estimated
UNKNOWN = 0.8  # the same where the memory is estimated too
SUREST = 1e-3  # no reward is foretold with more certainty: one surprise must not decide
POWERS = (0.0, 3.0, 15.0, 63.0)  # all of the past, its latest quarter, sixteenth, 64th
RELUCTANCE = 12.0  # log odds against each bank that forgets, before any reward: most worlds stand still
MOST = 1.0  # log odds that a round says at most: the way to a place not seen before surprises for some rounds, and is no change
CLEARLY = 3.0  # log odds by which another bank must lead to be trusted instead


def fresh_scores() -> Floats:
    """What speaks for each bank before any reward: of the rounds at which drift may have begun, the first."""
    return np.array([0.0, *(-math.log(STARTS) for _ in POWERS[1:])])


def fresh_leads() -> Floats:
    """How the banks stand before any reward."""
    return np.array([0.0, *(-RELUCTANCE for _ in POWERS[1:])])


@kernel
def may_begin(scores: Floats, t: int) -> None:
    """Drift may begin in round t, if that is one of the STARTS."""
    if t < FIRST or t & (t - 1) != 0 or t >= FIRST << (STARTS - 1):
        return
    for j in range(1, scores.shape[0]):
        top = max(scores[j], 0.0)
        scores[j] = top + math.log(math.exp(scores[j] - top) + math.exp(-top) / STARTS)


@helper
def trusted(powers: Floats, age: int) -> float:
    """Which part of the past, from now back, a bank rests on."""
    return 1.0 / (1.0 + float(powers[age]))


@helper
def leading(leads: Floats, age: int) -> int:
    """The bank to trust: the one in use, unless another leads it clearly."""
    best = age
    for j in range(leads.shape[0]):
        if leads[j] > leads[best] and leads[j] > leads[age] + CLEARLY:
            best = j
    return best


@kernel
def hand_down(banks: Any, leads: Floats, age: int) -> None:
    """Let the slower banks take over what a faster one holds, and how it stands; `banks` are those that forget."""
    source = banks[age - 1]
    for j in range(1, age):
        leads[j] = leads[age]
        for k in range(source.shape[0]):
            for i in range(source.shape[1]):
                banks[j - 1, k, i] = source[k, i]


@kernel
def forget(banks: Any, powers: Floats, before: int, now: int) -> None:
    """Let the past fade from one round to another, in the banks of all ages but the first."""
    for j in range(1, powers.shape[0]):
        kept, bank = (before / now) ** powers[j], banks[j - 1]
        for k in range(bank.shape[0]):
            for i in range(bank.shape[1]):
                here = bank[k, i]
                here.rounds *= kept
                here.count *= kept
                here.precision *= kept
                here.pulled *= kept
                here.square *= kept
                here.weight *= kept
                here.pull *= kept


@helper
def _surprise(told: float, reward: float) -> float:
    mean = min(1.0 - SUREST, max(SUREST, told))
    return -(reward * math.log(mean) + (1.0 - reward) * math.log(1.0 - mean))


@kernel
def judge_and_book(
    scores: Floats,
    leads: Floats,
    banks: Any,
    foretold: Any,
    noise: Floats,
    spread: Any,
    impact: Floats,
    seen: Floats,
    reward: Floats,
    tempered: float,
) -> None:
    """Judge every bank by what it foretold for these rewards, then book them in those that forget.

    Scores say whether responses have drifted at all, leads which bank to trust now: none is ever further than RELUCTANCE
    behind the first, so that a long quiet past does not have to be made up for once things change. A round counts for as
    many tosses of a coin as its mean's variance makes it, that of the estimate included, and for MOST at most. A shock may be
    common to all arms: then all arms together say of it what one does.
    """
    together = 0
    for k in range(seen.shape[0]):
        together += 1 if seen[k] > 0.0 else 0
    for j in range(1, scores.shape[0]):
        gain = 0.0
        for k in range(seen.shape[0]):
            if seen[k] > 0.0:
                node = node_of(impact[k], foretold.shape[2] - 1)
                mean = min(1.0 - SUREST, max(SUREST, foretold[0, k, node].mean))
                shock = together * spread[k].shock
                blur = spread[k].dispersion * noise[k, node] / seen[k] + shock + foretold[0, k, node].variance
                tosses = mean * (1.0 - mean) / blur
                gain += tosses * (_surprise(mean, reward[k]) - _surprise(foretold[j, k, node].mean, reward[k]))
                book(banks[j - 1], k, impact[k], seen[k], reward=reward[k], noise=noise[k, node], shock=spread[k].shock)
        gain = max(-MOST, min(MOST, gain))
        scores[j] += tempered * gain
        leads[j] += gain
    top = leads[0]
    for j in range(1, leads.shape[0]):
        top = max(top, leads[j])
    for j in range(leads.shape[0]):
        leads[j] = max(leads[j], top - RELUCTANCE)


@kernel
def evidence_of_drift(scores: Floats) -> float:
    """Log of the mean evidence ratio of the banks that forget to the one that does not."""
    others = scores.shape[0] - 1
    top, total = -math.inf, 0.0
    for j in range(1, others + 1):
        top = max(top, scores[j])
    for j in range(1, others + 1):
        total += math.exp(scores[j] - top)
    return float(math.log(total / others) + top)


def from_the_first_round(scores: Sequence[float]) -> list[float]:
    """Scores as they were once kept: gains from the first round on, with the odds against each bank."""
    return [0.0, *(TEMPERED * (score + RELUCTANCE) - math.log(STARTS) for score in scores[1:])]


def drift_seen(strongest: float, powers: Floats, age: int) -> dict[str, Any]:
    """Do the responses drift, and which part of the past is trusted? `strongest` is the most evidence for it so far."""
    return {
        "drifting": strongest > math.log(ALARM),
        "log10_evidence": strongest / math.log(10.0),
        "trusts_latest": trusted(powers, age),
    }
