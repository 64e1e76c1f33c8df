"""The sensitivity table: one constant changes at a time, and the usual value is no change."""

from __future__ import annotations

import numpy as np
import pytest

from aftereffect.experiments.sensitivity import SHARES, Retuned, Sensitivity, measure_sensitivity
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
    rows = list(measure_sensitivity(1, 1, horizon=150, constants=["exploring", "caution"]))
    assert [(r.constant, r.factor) for r in rows] == [(c, f) for c in ("exploring", "caution") for f in (0.5, 2.0)]
    assert [(r.gained, r.regret) for r in rows[:2]] == [(0.0, 1.0)] * 2
    assert any(r.gained != 0.0 for r in rows[2:])


def test_the_page_shows_both_factors_in_a_row():
    rows = [Sensitivity("caution", 1.0, 0.5, 0.031, 1.2), Sensitivity("caution", 1.0, 2.0, -0.05, 0.9)]
    scale = {"runs": 6, "seed": 1, "weeks": 104, "horizon": 1000}
    text = page({**scale, "rows": [r.__dict__ for r in rows], "commit": "0123456789"})
    assert text.endswith("\n\nMeasured at commit 0123456.\n")
    assert "| caution | 1 | +3.1 | -5.0 | 1.20 | 0.90 |" in text
    assert np.count_nonzero([line.startswith("| ") for line in text.splitlines()]) == 2
