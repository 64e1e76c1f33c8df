"""What the data say at a decision: mixtures over fields."""

from __future__ import annotations

import numpy as np

from aftereffect.policies.curves import look as looking
from aftereffect.policies.curves.look import look, review
from tests.policies.curves.told import told


def test_mixed_curves_are_the_mixture_of_all_fields_with_weight() -> None:
    """Means, variances and covariances with home, by the law of total variance over the fields kept."""
    state, t = told(40), 41
    review(state, 10**6)
    look(state, t)
    mixed = state.mixed.copy()
    evidence, home, use = state.field_evidence, state.home, int(state.now[0]["field"])
    weight = np.exp(evidence - evidence.max())
    weight[[j for j in range(len(weight)) if weight[j] <= looking.NEGLIGIBLE and j != use]] = 0.0
    weight /= weight.sum()
    assert (weight > 0).sum() > 1
    means, covariances = [], []
    for j in range(len(weight)):
        looking.fit_bank(state, int(state.now[0]["age"]), j)
        means.append(state.posterior.mean.copy())
        covariances.append(np.stack([state.posterior.variance, state.column]))
    centre = np.tensordot(weight, np.array(means), 1)
    off = np.array(means) - centre
    within = np.tensordot(weight, np.array(covariances), 1)
    at_home = off[:, np.arange(3), home][:, :, None]
    assert np.allclose(mixed["mean"], centre, atol=1e-9)
    assert np.allclose(mixed["variance"], within[0] + np.tensordot(weight, off**2, 1), atol=1e-9)
    assert np.allclose(mixed["with_home"], within[1] + np.tensordot(weight, off * at_home, 1), atol=1e-9)
