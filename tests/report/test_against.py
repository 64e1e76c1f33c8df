"""Regret against a parameter: which runs belong to which point of which line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aftereffect.errors import AftereffectError, UnknownName
from aftereffect.experiments.against import curves_against
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.statistics import mean_of
from aftereffect.report.against import draw_against
from tests.experiments.specs import spec

CHANGES: dict[str, Any] = {
    "horizon": 60,
    "problems": [
        {"family": "gaussian", "arms": [2, 3], "memory": [0.6, 0.2]},
        {"family": "tent", "impact": "smoothed(memory=0.2)"},
    ],
    "policies": [
        {"policy": "d-ucb", "discount": [0.9, 0.7], "xi": [0.5, 1.0]},
        {"policy": "round-robin"},
        {"policy": "sw-ucb", "tune": {"window": [20, 30]}},
    ],
    "tuning": {"instances": 1, "runs": 1},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(run_spec(spec(**CHANGES), tmp_path_factory.mktemp("a") / "out", executor=Threads(1)).directory)


def test_a_parameter_of_the_problem(results: Results) -> None:
    found = curves_against("problem_memory", [results])
    assert list(found) == ["gaussian arms=2", "gaussian arms=3"]  # tent has one memory only
    for arms, curves in zip((2, 3), found.values(), strict=True):
        lines = [f"d-ucb:discount={d},xi={x}" for d in ("0.9", "0.7") for x in ("0.5", "1")]
        assert [c.policy for c in curves] == [*lines, "round-robin", "sw-ucb (tuned)"]
        for curve in curves:
            assert curve.values == [0.2, 0.6]
            for memory, regret in zip(curve.values, curve.regrets, strict=True):
                runs = results.curves(f"gaussian:arms={arms},memory={memory}", curve.policy)[:, -1]
                assert regret == pytest.approx(mean_of(runs, 2))


def test_a_parameter_of_the_policy(results: Results) -> None:
    found = curves_against("policy_discount", [results])
    assert list(found) == [f"gaussian arms={k} memory={m}" for k in (2, 3) for m in (0.6, 0.2)] + [
        "tent arms=2 memory=0.2 impact=smoothed(memory=0.2,start=0)"
    ]
    for curves in found.values():
        assert [c.policy for c in curves] == ["d-ucb:xi=0.5", "d-ucb:xi=1"]
        assert [c.values for c in curves] == [[0.7, 0.9]] * 2
    first = found["gaussian arms=2 memory=0.6"][0].regrets[0].value
    assert first == pytest.approx(
        results.curves("gaussian:arms=2,memory=0.6", "d-ucb:discount=0.7,xi=0.5")[:, -1].mean()
    )


def test_several_horizons_and_the_same_runs_twice(results: Results, tmp_path: Path) -> None:
    longer = Results(run_spec(spec(**{**CHANGES, "horizon": 90}), tmp_path / "b", executor=Threads(1)).directory)
    found = curves_against("horizon", [results, longer, results])
    assert all(c.values == [60, 90] for curves in found.values() for c in curves)
    first = found["gaussian arms=2 memory=0.6"][-1]
    assert [r.value for r in first.regrets] == pytest.approx(
        [np.mean(r.curves("gaussian:arms=2,memory=0.6", first.policy)[:, -1]) for r in (results, longer)]
    )


def test_what_does_not_vary_is_said(results: Results) -> None:
    with pytest.raises(UnknownName, match=r"'memory'; did you mean 'problem_memory'\? \(allowed: policy_discount, "):
        curves_against("memory", [results])
    with pytest.raises(UnknownName, match="unknown parameter with several values 'horizon'"):
        curves_against("horizon", [results])


def test_an_axis_needs_numbers(results: Results) -> None:
    with pytest.raises(
        AftereffectError, match=r"^policy_name: an axis needs numbers, .* several numbers: .*problem_memory"
    ):
        curves_against("policy_name", [results])


def test_it_is_drawn(results: Results, tmp_path: Path) -> None:
    for log in (False, True):
        paths = draw_against("problem_memory", [results], tmp_path, log)
        assert [p.name for p in paths] == [f"regret-against-problem_memory.{kind}" for kind in ("png", "pdf")]
        assert all(p.stat().st_size > 1000 for p in paths)
