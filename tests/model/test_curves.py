"""Curves: tabulation, kinks, and the compiled reading of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aftereffect import AftereffectError
from aftereffect.model.curves import GUIDE, Curve, evaluate, pack, polyline, tabulate

shares = st.floats(0.0, 1.0)


@st.composite
def polylines(draw: st.DrawFn) -> Curve:
    inner = draw(st.lists(st.floats(1e-6, 1 - 1e-6), max_size=12, unique=True))
    x = [0.0, *sorted(inner), 1.0]
    x = [v for i, v in enumerate(x) if i == 0 or v - x[i - 1] > 1e-9]
    x[-1] = 1.0
    y = draw(st.lists(shares, min_size=len(x), max_size=len(x)))
    return polyline(x, y)


def _agree(curves: list[Curve], points: list[float]) -> None:
    knots, guide = pack(curves)
    for k, curve in enumerate(curves):
        edges = np.arange(GUIDE + 1) / GUIDE
        special = [0.0, 1.0, *curve.x.tolist(), *np.nextafter(curve.x, 0).clip(0), *np.nextafter(curve.x, 1)]
        for x in [*points, *special, *edges[:: GUIDE // 16].tolist()]:
            assert evaluate(knots, guide, k, x) == pytest.approx(float(curve(x)), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(polylines(), min_size=1, max_size=3), st.lists(shares, max_size=20))
def test_the_compiled_reading_equals_the_curve(curves: list[Curve], points: list[float]) -> None:
    _agree(curves, points)


@pytest.mark.soak
@settings(max_examples=3_000, deadline=None)
@given(st.lists(polylines(), min_size=1, max_size=4), st.lists(shares, max_size=50))
def test_the_compiled_reading_equals_the_curve_at_scale(curves: list[Curve], points: list[float]) -> None:
    _agree(curves, points)


def test_the_compiled_reading_of_a_smooth_curve_equals_it() -> None:
    curve = tabulate(lambda x: 0.5 + 0.5 * np.sin(9 * x) * np.exp(-x))
    knots, guide = pack([curve, polyline((0, 1), (0, 1))])
    for x in np.random.default_rng(0).random(5_000):
        assert evaluate(knots, guide, 0, x) == pytest.approx(float(curve(x)), abs=1e-12)


def test_knots_and_ends_are_exact_in_the_compiled_reading() -> None:
    curve = polyline((0.0, 0.3, 0.7, 1.0), (0.1, 0.9, 0.2, 0.4))
    knots, guide = pack([curve])
    for x, y in zip(curve.x, curve.y, strict=True):
        assert evaluate(knots, guide, 0, x) == pytest.approx(y, abs=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.exp(-((x - 0.3) ** 2) / 0.02),
        lambda x: x**3,
        lambda x: np.sqrt(x),
        lambda x: np.abs(x - 1 / 3),  # a kink that nobody declared
        lambda x: 0.5 + 0.5 * np.sin(40 * x),
        lambda _: 0.25,  # a constant that ignores arrays
        lambda x: 0.2 if x < 0 else float(x) ** 2,  # takes numbers only
    ],
)
def test_tabulation_is_within_1e_6(function) -> None:
    curve = tabulate(function)
    x = np.random.default_rng(1).random(4_000)
    exact = np.array([float(function(v)) for v in x])
    assert np.max(np.abs(curve(x) - exact)) < 1e-6


def test_declared_kinks_are_knots_and_exact() -> None:
    curve = tabulate(lambda x: np.abs(x - 0.123456), kinks=(0.123456, 5.0))
    assert 0.123456 in curve.x
    assert float(curve(0.123456)) == 0.0
    x = np.random.default_rng(2).random(1_000)
    assert np.allclose(curve(x), np.abs(x - 0.123456), atol=1e-15)


@pytest.mark.parametrize(
    ("function", "shown"),
    [(lambda x: 2 * x, r"it is 1\.0\d+ at 0\.5"), (lambda x: x - 0.5, "-0.5 at 0"), (lambda x: x * np.nan, "nan at 0")],
)
def test_values_outside_the_unit_interval_are_refused(function, shown: str) -> None:
    with pytest.raises(AftereffectError, match=shown):
        tabulate(function)


def test_rounding_just_outside_is_clipped() -> None:
    curve = tabulate(lambda x: x * (1 + 1e-13))
    assert curve.y.max() == 1.0


def test_a_table_is_constant_outside_its_points() -> None:
    curve = polyline((0.2, 0.6), (0.5, 0.9))
    assert curve([0.0, 0.1, 0.2, 0.4, 0.6, 0.9, 1.0]) == pytest.approx([0.5, 0.5, 0.5, 0.7, 0.9, 0.9, 0.9])


@given(polylines())
@settings(max_examples=50, deadline=None)
def test_lipschitz_constant_is_the_steepest_slope(curve: Curve) -> None:
    slopes = [abs((b - a) / (y - x)) for x, y, a, b in zip(curve.x, curve.x[1:], curve.y, curve.y[1:], strict=False)]
    assert curve.lipschitz == pytest.approx(max(slopes))
