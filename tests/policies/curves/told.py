"""States of the curve family after some rounds, for tests to look into."""

from __future__ import annotations

import numpy as np

import aftereffect as ae
from aftereffect.policies.curves.look import look
from aftereffect.policies.curves.state import CurvesState

NAN = float("nan")
CURVES = (lambda p: 0.8 - 0.5 * p, lambda p: 0.3 + 0.3 * p, lambda p: 0.5 + 0.0 * p)


def told(
    rounds: int,
    arms: int = 3,
    levels: int = 20,
    seed: int = 1,
    floors: list[float] | float | None = None,
    caps: list[float] | float | None = None,
    units: int = 20,
    caution: float | None = None,
) -> CurvesState:
    """The state after so many rounds of means that are known, shares as it asked for them."""
    policy = ae.CurveThompson(memory=0.3, levels=levels)
    agent = policy.start(arms, seed=seed, floors=floors, caps=caps, caution=caution, feedback="split")
    random = np.random.default_rng(seed)
    for _ in range(rounds):
        p = agent.ask()
        means = np.array([curve(share) for curve, share in zip(CURVES, p, strict=False)])
        trials = np.where(p > 0, np.maximum(1, np.rint(units * p)), 0).astype(int)
        rewards = np.where(p > 0, random.binomial(np.maximum(1, trials), means) / np.maximum(1, trials), NAN)
        agent.tell(rewards, trials=trials)
    state: CurvesState = agent.state
    return state


def wary(state: CurvesState) -> float:
    """The caution by the words of its description: coins of the typical rate that an arm has been seen for."""
    tuning, booked = state.tuning[0], state.banks[state.now[0]["track"]]
    coins = (booked["weight"].sum(axis=1) / state.spread["dispersion"]).mean() * state.belief[0]["scale"] ** 2
    return float(tuning["caution"] * (1 + tuning["scarce"] / (1 + coins / tuning["few"])))


def before_worth(rounds: int = 40) -> tuple[CurvesState, int]:
    """A state that was just looked at, with a target away from home."""
    state, t = told(rounds), rounds + 1
    look(state, t)
    state.target[:] = np.roll(state.home, 1)
    state.target[:] = [20, 0, 0] if state.home[0] < 10 else [0, 20, 0]
    return state, t
