"""The sensitivity table: one constant changes at a time, and the usual value is no change."""

from __future__ import annotations

import numpy as np
import pytest

from aftereffect.experiments.sensitivity import SHARES, Retuned, Sensitivity, Usual, measure_sensitivity, measure_usual
from aftereffect.policies.curves.state import TUNED
from aftereffect.report.sensitivity_page import page


def test_one_constant_is_multiplied_and_no_other():
    usual = Retuned(memory=0.5).start(arms=2).state.tuning[0]
    for name in TUNED:
        changed = Retuned(memory=0.5, constant=name, factor=2.0).start(arms=2).state.tuning[0]
        assert {n for n in TUNED if changed[n] != usual[n]} == {name}
        assert changed[name] == pytest.approx(min(1.0, 2.0 * usual[name]) if name in SHARES else 2.0 * usual[name])


def test_a_constant_that_is_not_used_changes_nothing():
    """`exploring` is for worlds where activations drive the impact; `caution` decides everywhere."""
    usual = measure_usual(1, 1, horizon=150, repeats=1)
    rows = list(measure_sensitivity(usual, 1, 1, horizon=150, constants=["exploring", "caution"]))
    assert [(r.constant, r.factor) for r in rows] == [(c, f) for c in ("exploring", "caution") for f in (0.5, 2.0)]
    assert [(r.gained, r.regret) for r in rows[:2]] == [(0.0, 1.0)] * 2
    assert any(r.gained != 0.0 for r in rows[2:])


def test_the_usual_values_are_measured_again_on_other_random_numbers_and_the_first_time_on_the_rows_own():
    once, often = (measure_usual(2, 1, horizon=150, repeats=n) for n in (1, 3))
    assert (often.shares[0], often.regrets[0]) == (pytest.approx(once.shares[0]), pytest.approx(once.regrets[0]))
    assert len(set(often.shares)) == len(set(often.regrets)) == 3


def test_of_rows_that_do_nothing_one_in_twenty_is_beyond_chance():
    """The stated rate is that of a new measurement beside a mean of as many; 4,000 tables, within four standard errors."""
    random, beyond = np.random.default_rng(5), []
    for _ in range(4000):
        usual = Usual(random.normal(0.7, 0.02, 8), np.exp(random.normal(5.0, 0.1, 8)))
        off, times = usual.chance
        gained, regret = random.normal(0.7, 0.02) - usual.share, random.normal(5.0, 0.1) - np.log(usual.regret)
        beyond.append((abs(gained) > off, abs(regret) > np.log(times)))
    assert np.mean(beyond, axis=0) == pytest.approx(0.05, abs=0.014)


def test_the_page_shows_both_factors_in_a_row():
    rows = [Sensitivity("caution", 1.0, 0.5, 0.031, 1.2), Sensitivity("caution", 1.0, 2.0, -0.05, 0.9)]
    scale = {
        "runs": 6,
        "repeats": 4,
        "seed": 1,
        "weeks": 104,
        "horizon": 1000,
        "usual": (0.71, 84.2),
        "chance": (0.02, 1.25),
    }
    text = page({**scale, "rows": [r.__dict__ for r in rows], "commit": "0123456789"})
    assert text.endswith("\n\nMeasured at commit 0123456.\n")
    assert "| caution | 1 | +3.1 | -5.0 | 1.20 | 0.90 |" in text
    assert "lie within 2.0 points, and between 0.80 and 1.25 times" in text
    assert np.count_nonzero([line.startswith("| ") for line in text.splitlines()]) == 2
