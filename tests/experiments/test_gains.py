"""Gain shares by hand, what counts as flat, and the means over scenarios."""

from __future__ import annotations

import numpy as np
import polars
import pytest

from aftereffect.experiments.arena import Scale
from aftereffect.experiments.gains import Gains, gain_share, score_weekly
from aftereffect.experiments.weekly import EVEN, Weekly, set_up_weekly, weekly_scenarios
from aftereffect.policies.base import policy_from

LOAN, LENDING = "loan-k3-m0.6", "lending-k4-m0.8-start"
Row = tuple[str, str, list[float]]


def arena(runs: int) -> Weekly:
    scenarios = [c for c in weekly_scenarios() if c.name in (LOAN, LENDING)]
    return set_up_weekly([policy_from("quadratic")], scale=Scale(26, runs), scenarios=scenarios)


def board(even: dict[str, list[float]], best: dict[str, list[float]], achieved: dict[str, list[float]]) -> Gains:
    """From utilities at T = 26 that were never measured, one a run."""
    runs = len(next(iter(even.values())))
    rows = [
        {
            "scenario": scenario,
            "policy": policy,
            "run": i,
            "T": 26,
            "achieved": got[i],
            "even": even[scenario][i],
            "best": best[scenario][i],
        }
        for scenario in even
        for policy, got in (
            (EVEN, even[scenario]),
            *([("quadratic", achieved[scenario])] if scenario in achieved else []),
        )
        for i in range(runs)
    ]
    return score_weekly(arena(runs), polars.DataFrame(rows))


def test_the_gain_share_by_hand() -> None:
    """Sums over runs, not a mean of ratios: (1 + 0) / (2 + 8)."""
    assert gain_share(np.array([11.0, 20.0]), np.array([10.0, 20.0]), np.array([12.0, 28.0])) == pytest.approx(0.1)


def test_even_is_nothing_and_the_mean_is_over_scenarios() -> None:
    found = board(
        {LOAN: [10.0, 10.0], LENDING: [20.0, 20.0]},
        {LOAN: [12.0, 12.0], LENDING: [25.0, 25.0]},
        {LOAN: [11.0, 9.0], LENDING: [25.0, 24.0]},
    )
    assert {t.share for t in found.totals[EVEN].values()} == {0.0}
    assert found.scenarios[LOAN]["quadratic"][26].share == pytest.approx(0.0)
    assert found.scenarios[LENDING]["quadratic"][26].share == pytest.approx(0.9)
    total = found.totals["quadratic"][26]
    assert total.share == pytest.approx(0.45)
    assert total.smallest == pytest.approx(0.0)
    assert total.where == LOAN
    assert total.below == pytest.approx(0.25)  # one run of four is 10 percent below even
    assert total.worst == pytest.approx(-0.1)
    assert list(found.totals) == ["quadratic", EVEN]
    assert total.interval is not None
    # Resamples take the first run twice, both, or the second twice: the same runs in every scenario.
    assert list(total.interval) == pytest.approx([(-0.5 + 0.8) / 2, (0.5 + 1.0) / 2])


def test_a_scenario_without_a_gain_is_scored_by_its_loss() -> None:
    found = board(
        {LOAN: [10.0, 10.0], LENDING: [20.0, 20.0]},
        {LOAN: [10.1, 10.2], LENDING: [25.0, 25.0]},
        {LOAN: [9.0, 9.8], LENDING: [22.5, 22.5]},
    )
    assert found.flat == [LOAN]
    total = found.totals["quadratic"][26]
    assert total.share == pytest.approx(0.5)  # of the other scenario alone
    assert total.loss == pytest.approx(0.06)
    assert found.totals[EVEN][26].loss == 0.0


def test_a_policy_that_missed_a_scenario_has_a_mean_over_the_others() -> None:
    found = board(
        {LOAN: [10.0, 10.0], LENDING: [20.0, 20.0]},
        {LOAN: [12.0, 12.0], LENDING: [25.0, 25.0]},
        {LENDING: [22.5, 22.5]},
    )
    assert found.totals["quadratic"][26].share == pytest.approx(0.5)
    assert found.frame().height == 3
