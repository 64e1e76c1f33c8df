"""What bands are judged by."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from aftereffect.experiments.robustness import mean_reward
from aftereffect.model.feedback import Shock


@pytest.mark.parametrize("response", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_a_shock_cut_off_at_zero_and_one_moves_the_mean(response: float) -> None:
    """Against the mean over a hundred thousand quantiles of the shock."""
    moved = response + norm.ppf((np.arange(100_000) + 0.5) / 100_000) * 0.05
    assert mean_reward(response, Shock(0.05)) == pytest.approx(moved.clip(0.0, 1.0).mean(), abs=1e-6)
    assert mean_reward(response, None) == response
