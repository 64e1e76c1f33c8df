"""Intervals against closed forms and against numbers that numpy draws in another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from aftereffect.experiments.statistics import BOOTSTRAPS, LEVEL, bootstrap, mean_of, percentiles, resampling


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    low, high = stats.t.interval(LEVEL, len(values) - 1, values.mean(), stats.sem(values))
    assert mean_of(values) == pytest.approx((values.mean(), low, high))
    assert mean_of(values).interval == pytest.approx((low, high))


def test_one_value_has_no_interval() -> None:
    assert mean_of(np.array([2.0])).interval is None


def test_runs_on_one_instance_count_as_one() -> None:
    values = np.array([1.0, 3.0, 10.0, 12.0])
    assert mean_of(values, instances=2) == pytest.approx(mean_of(np.array([2.0, 11.0])))


def test_every_resample_has_as_many_runs() -> None:
    weights = resampling(7, 3)
    assert weights.shape == (BOOTSTRAPS, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_paired_units_stay_together() -> None:
    random = np.random.default_rng(1)
    noise = random.normal(size=40)
    samples = [noise, noise + 1.0]
    paired = bootstrap(samples, lambda s: float(s[1].mean() - s[0].mean()), seed=2)
    apart = bootstrap(samples, lambda s: float(s[1].mean() - s[0].mean()), seed=2, paired=False)
    assert paired == pytest.approx((1.0, 1.0, 1.0))
    assert apart.high - apart.low == pytest.approx(2 * 1.96 * np.sqrt(2) * noise.std() / np.sqrt(40), rel=0.15)


def test_a_bootstrap_of_a_mean_agrees_with_weights() -> None:
    values = np.random.default_rng(5).exponential(size=50)
    drawn = percentiles(resampling(50, 1) @ values / 50)
    found = bootstrap([values], lambda s: float(s[0].mean()), seed=1)
    assert found.value == values.mean()
    assert (found.low, found.high) == pytest.approx(drawn, rel=0.05)
