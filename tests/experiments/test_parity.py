"""Measured parity and the pages that show it: the numbers are those of the runs."""

from __future__ import annotations

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments import parity
from aftereffect.experiments.parity import measure_gaps, measure_parity, measure_weekly_parity
from aftereffect.experiments.robustness import (
    Drifts,
    explanations,
    measure_alarms,
    measure_drifts,
    measure_estimates,
    measure_unknown_memory,
)
from aftereffect.policies.curve_thompson import UNKNOWN_BOUND
from aftereffect.report.fairness_page import BEGIN, END, measured_section, replace_measured
from aftereffect.report.robustness_page import alarms_section, drifts_section, estimates_section
from aftereffect.theory.fair_dual import fair_dual


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity, "SCENARIOS", (("patrol", 2),))
        return list(measure_parity(600, 2, 5, trials=3))


def test_each_policy_has_its_row(rows):
    assert [r.policy.split(" ")[0].rstrip(",") for r in rows] == ["curve-thompson", "history-ucb", "fair-thompson"]


def test_a_row_is_what_simulate_gives(rows):
    family = ae.family("patrol", arms=2, memory=0.5)
    found = ae.simulate(family, ae.FairThompson(), 600, 1, 2, 5, [60, 300, 600]).parity
    assert found is not None
    assert rows[-1].violation == pytest.approx(tuple(found.mean_violation.mean(axis=0)))
    assert rows[-1].lost == pytest.approx(float(found.fair_regret[:, -1].mean()) / 600)


def test_weekly_rows_are_what_simulate_gives_in_all_runs_and_where_the_even_split_is_fair(monkeypatch):
    monkeypatch.setattr(parity, "SCENARIOS", (("patrol", 2), ("lending", 2)))
    monkeypatch.setattr(parity, "WEEKS", (20, 40))
    (_, row, *others) = measure_weekly_parity(6, 5)
    family = ae.family("patrol", arms=2, memory=0.5, units=parity.UNITS)
    policies = ae.FairThompson(), ae.FairThompson(memory_bound=UNKNOWN_BOUND), ae.policy("fixed")
    fair, unknown, even = (ae.simulate(family, p, 40, 1, 6, 5) for p in policies)
    assert fair.parity is not None
    assert even.parity is not None
    there = even.parity.mean_violation[:, -1] == 0
    assert 0 < there.sum() == row.runs_even_is_fair < 6
    assert row.horizon == 40
    assert row.even.violated == pytest.approx(1 - there.mean())
    assert row.fair.utility == pytest.approx(fair.utility[:, -1].mean() / 40)
    assert row.unknown.utility == pytest.approx(unknown.utility[:, -1].mean() / 40)
    assert row.fair_there is not None
    assert row.fair_there.utility == pytest.approx(fair.utility[there, -1].mean() / 40)
    assert row.fair_there.violation == pytest.approx(fair.parity.mean_violation[there, -1].mean())
    assert row.optimum == pytest.approx(np.mean([o.utility for o in fair.parity.optimum if o is not None]))
    assert [(r.runs_even_is_fair, r.fair_there) for r in others] == [
        (0, None)
    ] * 2  # the even split is never fair there


def test_gaps_are_those_of_the_relaxation():
    (row,) = [r for r in measure_gaps(1, 3) if (r.problem, r.arms) == ("lending", 2)]
    dual = fair_dual(ae.problem("lending", arms=2, memory=0.5))
    assert (row.duality_gap, row.price) == pytest.approx((dual.duality_gap, dual.fair.price))


def test_the_page_keeps_what_is_around_the_measured_part(rows):
    text = measured_section(rows, [], 600, 2, 5)
    assert text.count("patrol, K 2") == 3
    page = replace_measured(f"before\n{BEGIN}\nold\n{END}\nafter", text)
    assert page.startswith("before\n")
    assert page.endswith("\nafter")
    assert "old" not in page
    assert replace_measured(page, text) == page


def test_what_a_policy_says_at_the_end_of_its_runs():
    said = explanations("patrol", ae.CurveThompson(memory=0.5), 300, 2, 1)
    assert len(said) == 2
    assert all(s["memory"] == {"given": 0.5} for s in said)


def test_alarms_and_estimates_are_shares():
    alarms = list(measure_alarms(200, 2, 1, (0.5,)))
    estimates = list(measure_estimates(200, 2, 1, 0.8))
    assert len(alarms) == len(estimates) == 5
    assert all(0 <= a.contradicted <= 1 for a in alarms)
    assert all(0 <= e.covered <= 1 and 0 <= e.width <= 0.8 + 1e-12 for e in estimates)
    assert alarms_section(alarms).count("| single | 200 | 0.5 |") == 5
    assert estimates_section(estimates, 200, 2).count("| 0.8 |") == 5
    assert np.isfinite([e.error for e in estimates]).all()


def test_drift_is_measured_with_and_without():
    found = list(measure_drifts(300, 2, 1))
    assert [f.family for f in found] == ["gaussian", "patrol", "loan", "bump", "lipschitz"]
    assert all(0 <= f.still <= 1 and 0 <= f.drifting <= 1 for f in found)
    assert "| loan | 1.5% | 80.0% | 200 |" in drifts_section([Drifts("loan", 0.015, 0.8, 200)], 300)


def test_a_short_horizon_is_the_same_told_or_not():
    rows = list(measure_unknown_memory(300, 1, 1, (0.8,)))
    assert [r.scenario for r in rows][:3] == ["gaussian, K 2", "gaussian, K 4", "patrol, K 2"]
    assert all(r.known == r.untold > 0 and len(r.bounded) == 1 for r in rows)
