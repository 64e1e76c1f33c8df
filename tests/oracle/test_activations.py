"""Expected rewards under realised impact: against every history there is, and against what moments say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.oracle.activations import Path
from aftereffect.oracle.benchmark import fixed_utilities, held_utilities
from aftereffect.oracle.best_fixed import activated_utilities
from aftereffect.oracle.steady import expected_rewards

KINKED = ae.Bump(0.37, 0.3)
IMPACTS = [
    ae.Discounted(0.7),
    ae.Discounted(0.4, ae.Power(2.0)),
    ae.Smoothed(0.8, 0.9),
    ae.Window(4),
    ae.Instant(),
]


def _impact_of(impact: ae.Impact, history: list[int]) -> float:
    """The impact before g of a history of activations, from its definition."""
    if isinstance(impact, ae.Window):
        held = history[-impact.length :]
        return sum(held) / len(held)
    memory = impact.rate
    assert memory is not None
    ages = np.arange(len(history))[::-1]
    weights = np.where(ages == 0, 1.0, memory ** np.maximum(ages, 1))
    if isinstance(impact, ae.Smoothed):
        return float((1 - memory) * weights @ history + memory ** len(history) * impact.start)
    return float(weights @ history / weights.sum())


@pytest.mark.parametrize("impact", IMPACTS, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.15, 0.6, 1.0])
def test_every_history_of_activations(impact: ae.Impact, share: float) -> None:
    problem = ae.Problem([KINKED], impact, driver="realised")
    rounds = np.arange(1, 11)
    total = 0.0
    expected = []
    for t in rounds:
        for past in itertools.product((0, 1), repeat=int(t) - 1):
            chance = np.prod([share if b else 1 - share for b in past])
            total += float(chance) * float(problem.curves[0](_impact_of(impact, [*past, 1])))
        expected.append(total)
    found, error = expected_rewards(problem, 0, share, rounds)
    assert error < 1e-6
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("memory", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_parabola_asks_for_two_moments_only(memory: float, share: float) -> None:
    """In the long run f has mean p and variance p (1 - p) (1 - m)/(1 + m); activated today, it is m f + 1 - m."""
    problem = ae.problem("brier", memory=memory, driver="realised", seed=1)  # r = 1 - (1 - x)^2
    found, error = expected_rewards(problem, 0, share, None)
    spread = share * (1 - share) * (1 - memory) / (1 + memory)
    expected = 1 - memory**2 * ((1 - share) ** 2 + spread)
    assert error < 1e-6
    assert found[0] == pytest.approx(expected, abs=1e-6 + 2e-7)  # the response's own table is good to 1e-7


def test_the_error_is_an_error() -> None:
    """On few cells the truth lies within what is said, and what is said is not much more than needed."""
    problem = ae.Problem([KINKED], ae.Discounted(0.8), driver="realised")
    share = 0.3
    exact, _ = expected_rewards(problem, 0, share, None)
    compiled = problem.impacts[0].compiled()
    assert compiled is not None
    for cells in (16, 64, 256):
        path = Path(compiled, share, cells)
        path.go(120)
        mean, error = path.latest.mean_of(problem.curves[0])
        assert abs(mean - exact[0]) <= error + 1e-6
        assert error < 4.0 / cells**2 + 1e-9


def test_the_benchmark_counts_from_the_first_round() -> None:
    """A discounted average begins at the first activation: early rounds pay otherwise than late ones."""
    problem = ae.Problem([ae.Gaussian(0.5), ae.LinearDecline(0.9, 0.1)], ae.Discounted(0.9), driver="realised")
    best = ae.best_fixed(problem, 400)
    rounds = np.array([1, 5, 400])
    earned = fixed_utilities(problem, best, rounds)
    assert earned[-1] == pytest.approx(400 * best.utility, abs=1e-9)
    first = sum(p * float(c(1.0)) for p, c in zip(best.allocation, problem.curves, strict=True))
    assert earned[0] == pytest.approx(first, abs=1e-6)
    held = ae.simulate(problem, ae.Fixed(best.allocation.tolist()), 400, runs=400, seed=3, checkpoints=rounds.tolist())
    low, high = (bound[1:] for bound in held.interval(0.9999)[1:])
    assert np.all((low < 0) & (high > 0))


def test_all_checkpoints_of_a_long_run_take_no_more_than_its_beginning() -> None:
    problem = ae.Problem([KINKED] * 2, ae.Discounted(0.6), driver="realised")
    even = np.array([0.5, 0.5])
    every = held_utilities(problem, even, np.arange(1, 5_001))
    assert every[[0, 9, 4_999]] == pytest.approx(held_utilities(problem, even, np.array([1, 10, 5_000])), abs=1e-9)
    steady, _ = activated_utilities(problem, even, None)
    assert every[-1] - every[-2] == pytest.approx(steady[0], abs=1e-7)


def test_windows_that_are_too_long_are_refused() -> None:
    problem = ae.Problem([KINKED] * 2, ae.Window(50_000), driver="realised")
    with pytest.raises(ae.AftereffectError, match="at most 20,000 rounds, got 50,000"):
        ae.best_fixed(problem)
