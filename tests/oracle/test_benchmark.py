"""What regret is measured against at every checkpoint: the fixed allocation on its own history, from the definition."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.oracle.benchmark import fixed_utilities

RESPONSES = [ae.LinearDecline(0.9, 0.1), ae.SaturatingRise(0.2, 0.7, 3.0)]


def _tired(state: float, share: float) -> tuple[float, float]:
    now = 0.8 * state + 0.2 * share
    return now, now


OWN = ae.OwnImpact(_tired, start=1.0, limit_at=lambda p: p)


@pytest.mark.parametrize("impact", [ae.Smoothed(0.8, 1.0), ae.Smoothed(0.8, 0.0), OWN], ids=["from 1", "from 0", "own"])
def test_a_transient_counts_at_every_checkpoint(impact: ae.Impact) -> None:
    """The rounds of a transient pay otherwise than the mean round: a share of the total at T would be wrong before T."""
    problem = ae.Problem(RESPONSES, impact, feedback="split")
    best = ae.best_fixed(problem, 60)
    start = 0.0 if isinstance(impact, ae.Smoothed) and impact.start == 0.0 else 1.0
    state, earned, path = np.full(2, start), 0.0, []
    for _ in range(60):
        state = 0.8 * state + 0.2 * best.allocation
        earned += sum(p * float(r(f)) for p, r, f in zip(best.allocation, RESPONSES, state, strict=True))
        path.append(earned)
    rounds = np.array([1, 3, 10, 60])
    found = fixed_utilities(problem, best, rounds)
    assert found == pytest.approx(np.array(path)[rounds - 1], rel=1e-6)
    assert abs(found[1] - 3 * best.utility) > 0.01  # or the test could not tell


def test_an_own_impact_goes_on_as_it_has_settled() -> None:
    problem = ae.Problem(RESPONSES, OWN, feedback="split")
    best = ae.best_fixed(problem)
    settle = ae.OwnImpact.SETTLE
    found = fixed_utilities(problem, best, np.array([settle - 1, settle, settle + 50, 10 * settle]))
    each = problem.utility(best.allocation)
    assert np.diff(found) == pytest.approx([each, 50 * each, (9 * settle - 50) * each], rel=1e-9)
