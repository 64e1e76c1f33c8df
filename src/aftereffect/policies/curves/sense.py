"""Does a state of the curve family that was read from a file make sense? Kernels trust theirs.

Sums that do not fit together are the treacherous ones: every number of them is finite, and what is fitted to them is not. Then no
levels are the best, and what is deployed is whatever the workspace held.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect.model.curves import Floats, Records
from aftereffect.policies.curves.fit import LEAST_RATE, MOST_RATE
from aftereffect.policies.curves.state import STAGES, CurvesState
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import MOST_ROUNDS

ROUNDING = 1e-9
FADED = 1e-290  # what has faded for long has no digits left
MOST_SEEN = 1e33  # observations: in as many rounds as there can be as many as a round takes
LEAST_VARIANCE = 1e-9
MOST_VARIANCE = 0.25  # a coin's
MOST_SHOCK = 1e40
FARTHEST = 100.0  # deviations of a normal variable
MOST_EVIDENCE = 1e100  # in logarithms
SOON = 10  # rounds that a decision is held for even at first


def require_within(name: str, found: Any, least: Any, most: Any) -> None:
    """Refuse numbers outside of their bounds, and NaN; names the first few."""
    wrong = ~((found >= least) & (found <= most))
    if wrong.any():
        require_sense(name, False, found[wrong][:3])


def check_curves(state: CurvesState, fresh: CurvesState) -> None:
    """Refuse a saved state whose places lie outside their arrays or whose numbers no rounds lead to."""
    _check_now(state, fresh)
    _check_levels(state, fresh)
    _check_tracks(state, fresh)
    check_belief(state.belief)
    check_scatter(state.noise, state.spread)
    check_booked("banks", state.banks)
    for name in ("evidence", "field_evidence", "track_evidence", "scores", "leads"):
        check_evidence(name, getattr(state, name))
    require_within("foretold", state.foretold["mean"], 0.0, 1.0)
    require_within("foretold", state.foretold["variance"], -ROUNDING, MOST_SHOCK)
    require_within("white", state.white, -FARTHEST, FARTHEST)
    require_within("credit", state.credit, -len(state.credit), len(state.credit))


def _check_now(state: CurvesState, fresh: CurvesState) -> None:
    now, given = state.now, fresh.now
    places = {"field": len(state.fields), "track": len(state.tracks), "age": len(state.powers), "stage": len(STAGES)}
    for name, count in (places | {"takes_turns": 2, "measured": 2}).items():
        require_within(name, now[name], 0, count - 1)
    for name in ("learns_memory", "may_take_turns"):
        require_within(name, now[name], given[name], given[name])
    require_within("takes_turns", now["takes_turns"], 0, now["may_take_turns"])
    for name in ("seen", "shares"):
        require_within(name, now[name], 0.0, MOST_SEEN)
    require_within("faded_at", now["faded_at"], 0, MOST_ROUNDS)
    for name in ("hold_until", "review_at"):  # decisions are held for a part of the past
        require_within(name, now[name], 0, 2 * now["faded_at"] + SOON)
    require_within("moved", now["moved"], -MOST_EVIDENCE, MOST_EVIDENCE)
    require_within("against", now["against"], -np.inf, MOST_EVIDENCE)


def _check_levels(state: CurvesState, fresh: CurvesState) -> None:
    for name, levels in (("home", state.home), ("levels", state.levels)):
        if name == "home" or state.now["hold_until"][0] > 0:  # before the first decision there are none
            require_within(name, levels, fresh.low, fresh.high)
            require_sense(name, bool(levels.sum() == fresh.home.sum()), levels)


def _check_tracks(state: CurvesState, fresh: CurvesState) -> None:
    for name in ("memory", "realised"):
        require_within(f"tracks.{name}", state.tracks[name], fresh.tracks[name], fresh.tracks[name])
    memory, weight = state.tracks["memory"], state.tracks["weight"]
    require_within("tracks.weight", weight, 0.0, (1 + ROUNDING) / (1 - memory))
    require_within("impact", state.impact, 0.0, 1 + ROUNDING)


def check_belief(belief: Records) -> None:
    """A typical rate, and how far curves lie from it: what some such rate says."""
    require_within("belief.rate", belief["rate"], LEAST_RATE, MOST_RATE)
    require_within("belief.scale", belief["scale"], LEAST_RATE, 0.5)


def check_scatter(noise: Floats, spread: Records) -> None:
    """How much rewards or measures scatter."""
    require_within("noise", noise, LEAST_VARIANCE, MOST_VARIANCE + ROUNDING)
    require_within("spread", spread["dispersion"], LEAST_VARIANCE, 1.0 + ROUNDING)
    require_within("spread", spread["shock"], 0.0, MOST_SHOCK)


def check_evidence(name: str, evidence: Floats) -> None:
    """Logarithms that are compared with each other."""
    require_within(name, evidence, -MOST_EVIDENCE, MOST_EVIDENCE)


def check_booked(name: str, booked: Records) -> None:
    """Sums over the same observations of something in [0, 1] (see `fit`); those that fade do so together."""
    count, precision, weight = booked["count"], booked["precision"], booked["weight"]
    bounds = (
        (booked["rounds"], MOST_SEEN),
        (count, MOST_SEEN),
        (count, precision),  # an observation counts as one over its variance; these four are so without rounding
        (booked["pulled"], precision),
        (booked["square"], booked["pulled"]),
        (booked["pull"], weight),
        (precision * LEAST_VARIANCE, count + FADED),
        (weight * (1 - ROUNDING), precision + FADED),
    )
    for found, most in bounds:
        require_within(name, found, 0.0, most)
