"""Responses: values against their formulas, Lipschitz constants against a dense numerical maximum."""

from __future__ import annotations

import math

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.responses import as_response

X = np.random.default_rng(3).random(2_000)

FORMULAS = [
    (ae.Gaussian(0.47), lambda x: math.exp(-((x - 0.47) ** 2))),
    (ae.Gaussian(1.3, 0.1), lambda x: math.exp(-((x - 1.3) ** 2) / 0.2)),
    (ae.Gaussian(0.5, 0.001), lambda x: math.exp(-((x - 0.5) ** 2) / 0.002)),
    (ae.LinearDecline(0.9, 0.2), lambda x: 0.9 - x * 0.7),
    (ae.SaturatingRise(0.3, 0.8, 5.0), lambda x: 0.3 + 0.5 * (1 - math.exp(-5.0 * x))),
    (ae.Tent(0.8), lambda x: x / 0.8 if x <= 0.8 else 1 - (x - 0.8)),
    (ae.Tent(0.2, 0.5, 0.5), lambda x: 0.5 * x / 0.2 if x <= 0.2 else 0.5 - 0.5 * (x - 0.2)),
    (ae.Bump(0.3), lambda x: 0.5 + max(0.0, 0.15 - abs(x - 0.3))),
    (ae.Bump(0.05, 0.2, 0.1), lambda x: 0.1 + max(0.0, 0.2 - abs(x - 0.05))),
    (ae.Bump(1.0), lambda x: 0.5 + max(0.0, 0.15 - abs(x - 1.0))),
    (ae.Table([0.0, 0.5, 1.0], [0.2, 1.0, 0.0]), lambda x: 0.2 + 1.6 * x if x < 0.5 else 2 - 2 * x),
    (ae.Tabulated(lambda x: 1 - (1 - x) ** 2), lambda x: 1 - (1 - x) ** 2),
]
IDS = [f"{type(r).__name__}-{i}" for i, (r, _) in enumerate(FORMULAS)]


@pytest.mark.parametrize(("response", "formula"), FORMULAS, ids=IDS)
def test_values_follow_the_formula_to_1e_6(response: ae.Response, formula) -> None:
    exact = np.array([formula(x) for x in X])
    assert np.max(np.abs(response(X) - exact)) < 1e-6
    assert float(response(0.0)) == pytest.approx(formula(0.0), abs=1e-12)
    assert float(response(1.0)) == pytest.approx(formula(1.0), abs=1e-12)


@pytest.mark.parametrize(("response", "formula"), FORMULAS, ids=IDS)
def test_lipschitz_constant_against_a_dense_maximum(response: ae.Response, formula) -> None:
    grid = np.linspace(0.0, 1.0, 200_001)
    values = np.array([formula(x) for x in grid])
    steepest = np.max(np.abs(np.diff(values)) / np.diff(grid))
    assert response.lipschitz == pytest.approx(steepest, rel=2e-3)
    if not isinstance(response, ae.Tabulated):  # a function's constant is that of its table, chords and all
        assert response.lipschitz >= steepest * (1 - 1e-4)


@pytest.mark.parametrize(
    ("response", "at", "value"),
    [
        (ae.Tent(0.8), 0.8, 1.0),
        (ae.Tent(0.2, 0.5, 0.5), 0.2, 0.5),
        (ae.Bump(0.3), 0.3, 0.65),
        (ae.Bump(0.3), 0.15, 0.5),
        (ae.Bump(0.3), 0.45, 0.5),
        (ae.Table([0.1, 0.7], [0.9, 0.3]), 0.7, 0.3),
        (ae.Gaussian(0.4321), 0.4321, 1.0),
    ],
)
def test_kinks_and_peaks_are_exact(response: ae.Response, at: float, value: float) -> None:
    assert float(response(at)) == pytest.approx(value, abs=1e-15)


def test_any_function_is_a_response() -> None:
    response = as_response(lambda x: 0.3 + 0.2 * x)
    assert isinstance(response, ae.Tabulated)
    assert float(response(0.5)) == pytest.approx(0.4)
    assert as_response(response) is response


def test_a_declared_kink_of_a_function_is_exact() -> None:
    response = ae.Tabulated(lambda x: np.minimum(x, 0.37), kinks=[0.37])
    assert float(response(0.37)) == 0.37
    assert response.lipschitz == pytest.approx(1.0)


def test_a_response_outside_the_unit_interval_is_refused_where_it_is_written() -> None:
    with pytest.raises(ae.AftereffectError, match=r"1\.5 at 0$"):
        ae.Tabulated(lambda x: 1.5 - x)
    with pytest.raises(ae.AftereffectError, match=r"1\.2"):
        ae.Table([0, 1], [0.1, 1.2])


def test_responses_are_values() -> None:
    assert ae.Bump(0.3) == ae.Bump(0.3)
    assert ae.Table([0, 1], [0.5, 0.2]) == ae.Table((0.0, 1.0), (0.5, 0.2))
    with pytest.raises(AttributeError):
        ae.Bump(0.3).center = 0.4  # type: ignore[misc]
