"""Delays by name: their chances are those of the distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import aftereffect as ae
from aftereffect.model.delay import check_delay

KINDS = {"geometric": lambda mean: stats.geom(1 / (1 + mean), loc=-1), "poisson": stats.poisson}


@pytest.mark.parametrize("mean", [0.01, 1, 4.5, 52, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_chances_are_those_of_the_distribution(kind: Any, mean: float) -> None:
    chances = np.array(ae.Delay(kind, mean).chances)
    rounds = np.arange(len(chances))
    assert np.allclose(chances, KINDS[kind](mean).pmf(rounds), rtol=1e-9, atol=1e-17)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert chances @ rounds == pytest.approx(mean, rel=1e-9)
    variance = mean * (1 + mean) if kind == "geometric" else mean
    assert chances @ (rounds - mean) ** 2 == pytest.approx(variance, rel=1e-8)


def test_chances_may_be_an_array() -> None:
    assert check_delay(np.array([0.5, 0.5])) == (0.5, 0.5)
    assert ae.problem("loan", delay=np.array([0.5, 0.25, 0.25])).delay == (0.5, 0.25, 0.25)
    with pytest.raises(ae.AftereffectError, match=r"delay must be a list of numbers"):
        check_delay(np.array([[0.5, 0.5], [0.5, 0.5]]))


def test_a_delay_by_name_is_kept_as_its_chances() -> None:
    delay = ae.Delay("geometric", mean=2)
    assert check_delay(delay) == delay.chances
    assert check_delay(delay.chances) == delay.chances


@pytest.mark.parametrize(
    ("kind", "mean", "shown"),
    [
        ("gaussian", 4, "unknown delay 'gaussian'"),
        ("geometric", 0, r"mean must lie in \(0, 300\] rounds, got 0"),
        ("geometric", 301, "got 301"),
        ("poisson", float("nan"), "got nan"),
        ("poisson", "four", "got 'four'"),
    ],
)
def test_a_wrong_one_is_refused(kind: Any, mean: Any, shown: str) -> None:
    with pytest.raises(ae.AftereffectError, match=shown):
        ae.Delay(kind, mean)
