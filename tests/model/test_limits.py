"""Floors and caps: checked, spread over arms, rounded inward to levels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aftereffect as ae
from aftereffect import AftereffectError
from aftereffect.model.limits import Limits, as_start


def test_a_start_with_few_digits_is_scaled_to_sum_to_one() -> None:
    """With a largest step every round's split lies on a line from it: what is off in it would stay off."""
    rough = ae.problem("loan", arms=3, units=100, start=[0.3333333] * 3, step=0.01, seed=1)
    assert np.array(rough.start, dtype=float).sum() == pytest.approx(1.0, abs=1e-15)
    exact = ae.problem("loan", arms=3, units=100, start=[0.55, 0.25, 0.2], seed=1)
    assert np.array(exact.start, dtype=float).tolist() == [0.55, 0.25, 0.2]


def test_a_start_outside_the_limits_says_which_arm_and_what_to_do() -> None:
    with pytest.raises(AftereffectError, match=r"arm 1 has 0\.1, allowed is 0\.2 to 1 \(told as history= instead"):
        as_start([0.8, 0.1, 0.1], Limits.of(3, [0.1, 0.2, 0.1]))


def test_one_number_holds_for_every_arm() -> None:
    limits = Limits.of(3, 0.1, 0.6)
    assert limits.floors.tolist() == [0.1] * 3
    assert limits.caps.tolist() == [0.6] * 3
    assert not limits.trivial
    assert Limits.of(3).trivial
    assert Limits.of(2, 0.0, 1.0).trivial


@pytest.mark.parametrize(("floor", "level"), [(0.1, 1), (0.2, 2), (0.3, 3), (0.7, 7), (0.11, 2), (0.0, 0)])
def test_floors_land_on_their_level_or_the_next(floor: float, level: int) -> None:
    assert Limits.of(2, [floor, 0.0]).levels(10, zero=True)[0][0] == level


@pytest.mark.parametrize(("cap", "level"), [(0.3, 3), (0.6, 6), (0.39, 3), (1.0, 10)])
def test_caps_land_on_their_level_or_the_one_before(cap: float, level: int) -> None:
    assert Limits.of(2, None, [cap, 1.0]).levels(10, zero=True)[1][0] == level


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 9), st.booleans())
def test_levels_are_exactly_those_of_some_allocation(data: st.DataObject, arms: int, count: int, zero: bool) -> None:
    tenths = st.integers(0, 10).map(lambda v: v / 10)
    floors = data.draw(st.lists(tenths, min_size=arms, max_size=arms))
    caps = data.draw(st.lists(tenths, min_size=arms, max_size=arms))
    allowed = [
        levels
        for levels in itertools.product(range(count + 1), repeat=arms)
        if sum(levels) == count
        and all(f - 1e-9 <= v / count <= c + 1e-9 for f, c, v in zip(floors, caps, levels, strict=True))
        and (zero or min(levels) >= 1)
    ]
    try:
        low, high = Limits.of(arms, floors, caps).levels(count, zero)
    except AftereffectError:
        assert not allowed
        return
    cells = np.array(allowed)
    assert low.tolist() == cells.min(axis=0).tolist()
    assert high.tolist() == cells.max(axis=0).tolist()


def test_allows_within_rounding() -> None:
    limits = Limits.of(2, 0.1, 0.9)
    assert limits.allows(np.array([0.1, 0.9]))
    assert limits.allows(np.array([0.1 - 1e-12, 0.9 + 1e-12]))
    assert not limits.allows(np.array([0.05, 0.95]))
