"""The oracle's other kernels: the best total through each cell, and near a budget."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aftereffect.oracle.search import best_near_budget, through_cells


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_the_best_total_through_each_cell(arms: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    value = random.random((arms, count + 1))
    low = random.integers(0, 2, arms)
    high = random.integers(low, count + 1)
    expected = np.full((arms, count + 1), -np.inf)
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        if sum(levels) == count:
            total = sum(value[k, v] for k, v in enumerate(levels))
            for k, v in enumerate(levels):
                expected[k, v] = max(expected[k, v], total)
    assert through_cells(value, low, high) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_the_best_total_near_a_budget(arms: int, count: int, slack: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    value = random.random((arms, count + 1))
    low = random.integers(0, 2, arms)
    high = random.integers(low, count + 1)
    sums = [
        sum(value[k, v] for k, v in enumerate(levels))
        for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True)))
        if count - slack <= sum(levels) <= count
    ]
    found = best_near_budget(value, low, high, slack)
    assert found == (pytest.approx(max(sums), abs=1e-12) if sums else -np.inf)
