from __future__ import annotations

import numpy as np
import pytest

from aftereffect.policies.curves.estimates import TREND, gone_on


def test_doubt_grows_in_a_straight_line_beyond_where_an_arm_was_seen():
    count, mean = np.zeros((2, 11)), np.full((2, 11), 0.4)
    count[0, 3:6] = 7.0
    mean[0, 3], mean[0, 5] = 0.2, 0.6
    below, above = gone_on(count, mean)
    assert below[0, 3:] == pytest.approx(0.0)
    assert above[0, :6] == pytest.approx(0.0)
    assert below[0, :3] == pytest.approx(TREND * 0.2 * np.array([0.3, 0.2, 0.1]))
    assert above[0, 6:] == pytest.approx(TREND * 0.6 * np.arange(1, 6) / 10)
    assert not below[1].any()  # never seen: the prior says all there is
    assert not above[1].any()
