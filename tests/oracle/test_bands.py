"""The best allocation within a band, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from aftereffect._random import generator
from aftereffect.oracle.bands import best_in_band, smallest_tolerance


def _allocations(arms: int, count: int, low, high):
    ranges = [range(low[k], high[k] + 1) for k in range(arms)]
    return [np.array(levels) for levels in itertools.product(*ranges) if sum(levels) == count]


@pytest.mark.parametrize("seed", range(120))
def test_bands_against_enumeration(seed):
    random = np.random.default_rng(seed)
    arms, count = int(random.integers(1, 5)), int(random.integers(4, 10))
    value, measure = (
        random.random((arms, count + 1)),
        random.random((arms, count + 1)).round(int(random.integers(1, 4))),
    )
    low, high = np.zeros(arms, dtype=np.int64), np.full(arms, count)
    if seed % 3 == 0:
        low[0], high[-1] = 1, max(1, count - 1)
        if arms == 1:
            low[0], high[0] = 0, count
    tolerance = float(random.choice([0.0, 0.1, 0.3, 0.6, 1.0]))
    rows = np.arange(arms)
    everything = _allocations(arms, count, low, high)
    highest = measure + (0.0 if seed % 2 else random.random(measure.shape).round(1))
    gaps = [np.ptp(measure[rows, levels]) for levels in everything]
    widest = [highest[rows, levels].max() - measure[rows, levels].min() for levels in everything]
    fair = [
        value[rows, levels].sum() for levels, gap in zip(everything, widest, strict=True) if gap <= tolerance + 1e-12
    ]
    work, levels = np.zeros((3, *value.shape)), np.zeros(arms, dtype=np.int64)
    trial = np.zeros_like(levels)
    found = best_in_band(
        value, measure, highest, tolerance, low, high, work[0], work[1], work[2], trial, levels, generator(seed)
    )
    assert found == pytest.approx(max(fair)) if fair else found == -np.inf
    if fair:
        assert levels.sum() == count
        assert value[rows, levels].sum() == pytest.approx(found)
        assert highest[rows, levels].max() - measure[rows, levels].min() <= tolerance + 1e-12
    assert smallest_tolerance(measure, low, high) == pytest.approx(min(gaps), abs=1e-12)
