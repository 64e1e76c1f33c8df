"""Strict properness: Brier's score for two arms is proper, nothing bounded and smooth is for three."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.theory.proper import Properness, check_proper


def confirmed(problem: ae.Problem, found: Properness) -> bool:
    """Is the counterexample one, computed from the curves themselves?"""
    example = found.counterexample
    assert example is not None
    at = [sum(p * float(c(x)) for p, c, x in zip(example.p, problem.curves, where, strict=True))
          for where in (example.p, example.q)]  # fmt: skip
    assert at == pytest.approx([example.at_p, example.at_q])
    assert example.p.sum() == pytest.approx(1)
    assert example.q.sum() == pytest.approx(1)
    return bool(at[1] >= at[0] - 1e-9 and not np.allclose(example.p, example.q))


def test_brier_is_strictly_proper_for_two_arms() -> None:
    found = check_proper(ae.problem("brier", arms=2))
    assert found.proper
    assert found
    assert found.checked == 201
    # sum p r(p) - sum p r(q) = (p_1 - q_1)^2, smallest between neighbours of the grid
    assert found.margin == pytest.approx(1 / 200**2, rel=0.05)


@pytest.mark.parametrize("arms", [3, 4])
def test_brier_is_not_proper_for_three_arms_and_more(arms: int) -> None:
    problem = ae.problem("brier", arms=arms)
    found = check_proper(problem)
    assert not found.proper
    assert found.margin < -0.01
    assert confirmed(problem, found)


@pytest.mark.parametrize("name", ["gaussian", "patrol", "loan", "bump", "lipschitz"])
@pytest.mark.parametrize("arms", [2, 3])
def test_the_catalog_is_not_proper(name: str, arms: int) -> None:
    problem = ae.problem(name, arms=arms, seed=1)
    assert confirmed(problem, check_proper(problem))


def test_a_tie_is_a_counterexample() -> None:
    found = check_proper([lambda x: 0.5 + 0 * x, lambda x: 0.5 + 0 * x])
    assert not found
    assert found.margin == pytest.approx(0)


def test_the_worst_pair_of_the_grid_is_found() -> None:
    problem = ae.problem("loan", arms=3, seed=2)
    found = check_proper(problem, levels=6)
    grid = [np.array(p) / 6 for p in itertools.product(range(7), repeat=3) if sum(p) == 6]
    curves = problem.curves

    def pays(p: np.ndarray, x: np.ndarray) -> float:
        return float(sum(p[k] * curves[k](x[k]) for k in range(3)))

    worst = min(pays(p, p) - pays(p, q) for p in grid for q in grid if not np.array_equal(p, q))
    assert found.checked == len(grid) == 28
    assert found.margin == pytest.approx(worst)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ae.AftereffectError, match="at least 2 arms"):
        check_proper([lambda x: x])
    with pytest.raises(ae.AftereffectError, match="levels"):
        check_proper(ae.problem("brier"), levels=0)
