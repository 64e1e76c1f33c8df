"""What the long run is judged by."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments.long_run import drawn_from, judge_runs, regrets, two_peaks
from aftereffect.simulation.runs import Instance, run_once


def test_a_run_is_stuck_beyond_ten_medians_or_half_a_percent_a_round() -> None:
    near = judge_runs("x", np.array([10.0, 20.0, 30.0, 499.0, 501.0]), 100_000)
    assert (near.runs, near.median, near.largest, near.limit, near.stuck) == (5, 30.0, 501.0, 500.0, 1)
    far = judge_runs("x", np.array([100.0, 200.0, 1_999.0, 2_001.0, 150.0]), 100_000)
    assert (far.limit, far.stuck) == (2_000.0, 1)


def test_regrets_are_those_of_simulate() -> None:
    found = regrets(drawn_from("loan", 2, 7), ae.UCB1(), 300, 3, seed=7)
    same = ae.simulate(ae.family("loan", arms=2, memory=0.5), ae.UCB1(), 300, instances=3, runs=1, seed=7)
    assert found.tolist() == same.regret[:, -1].tolist()


def test_peaks_rise_above_a_plain_and_a_problem_is_its_number() -> None:
    draw, x = two_peaks(2, seed=3), np.linspace(0.0, 1.0, 2_001)
    for number in range(5):
        for one, again in zip(draw(number).curves, draw(number).curves, strict=True):
            y = np.asarray(one(x))
            assert y.tolist() == np.asarray(again(x)).tolist()
            assert 0.2 <= y.min() <= y.max() - 0.05 <= 0.95
            assert 0.05 <= x[y.argmax()] <= 0.95  # where peaks are
    assert ae.best_fixed(draw(0)).utility != pytest.approx(ae.best_fixed(draw(1)).utility)


def test_a_few_unlucky_rewards_at_a_peak_do_not_decide_a_hundred_thousand_rounds() -> None:
    """Of 150 problems with seed 9801 those in which curves taken for smooth had kept it from looking: 6,000 to 9,000 each."""
    draw, rounds, found = two_peaks(2, 9801), np.array([100_000]), []
    for number in (148, 26, 60, 133):
        problem = draw(number)
        best = Instance.of(problem, rounds).benchmark[0]
        found.append(best - run_once(problem, ae.CurveThompson(), rounds, 9801, number).utility[0])
    assert np.mean(found) < 4_000.0
