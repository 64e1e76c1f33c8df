from __future__ import annotations

import itertools

import numpy as np
import pytest

import aftereffect as ae
from tests.records.worlds import World, saturating, tiring

NAMES = ["arm 0", "arm 1", "arm 2"]


@pytest.fixture(scope="module")
def fit():
    """Standing grows with the share at different speeds, so that the best split leaves the groups apart."""
    world = World([saturating(0.2, 0.9, 3), tiring(0.5, 0.2, 3), tiring(0.4, 0.3, 2)], 0.3, 600, np.full(3, 1 / 3))
    rng = np.random.default_rng(2)
    rows = world.rows(60, seed=2)
    speed = {"arm 0": 1.0, "arm 1": 0.6, "arm 2": 0.8}
    for row in rows:
        row["measure"] = float(np.clip(speed[row["arm"]] * row["share"] + 0.02 * rng.normal(), 0, 1))
    return ae.fit(rows)


def test_the_measures_are_kept_together_and_that_costs(fit):
    free, fair = fit.best(caution=0.0), fit.best(caution=0.0, tolerance=0.1)
    assert free.gap > 0.1
    assert fair.gap <= 0.1 + 1e-9
    assert fair.gap == pytest.approx(max(fair.measures.values()) - min(fair.measures.values()))
    assert fair.expected < free.expected


def test_no_split_within_the_tolerance_is_better(fit):
    fair = fit.best(caution=0.0, tolerance=0.1)
    mean, _ = fit.gains.by_cell()
    measure, stride = fit.measures.mean, fit.measures.stride
    best = -np.inf
    for a, b in itertools.product(range(0, fit.steps + 1, stride), repeat=2):
        c = fit.steps - a - b
        if c >= 0 and np.ptp([measure[0, a], measure[1, b], measure[2, c]]) <= 0.1:
            best = max(best, mean[0, a] + mean[1, b] + mean[2, c])
    assert fair.gain == pytest.approx(best, abs=1e-9)


def test_the_frontier_falls_from_the_best_to_the_tightest(fit):
    frontier = fit.frontier()
    assert frontier["tolerance"].is_sorted()
    assert frontier["expected"].is_sorted()
    assert frontier["price"][-1] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(frontier.select(NAMES).sum_horizontal(), 1.0)
    row = frontier.row(len(frontier) // 2, named=True)
    assert fit.what_if({name: row[name] for name in NAMES}).expected == pytest.approx(row["expected"], abs=1e-6)


def test_mistakes(fit):
    with pytest.raises(ae.AftereffectError, match=r"tolerance must lie in \[0, 1\]"):
        fit.best(tolerance=2)
    with pytest.raises(ae.Unattainable, match="the smallest tolerance"):
        fit.best(tolerance=0.0, caps={"arm 0": 0.05})
    rows = [{"round": t, "arm": a, "share": 0.5, "reward": 0.5} for t in range(5) for a in "ab"]
    with pytest.raises(ae.AftereffectError, match="no column measure"):
        ae.fit(rows).best(tolerance=0.1)
