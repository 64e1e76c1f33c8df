from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.records.checking import dependence
from tests.records.worlds import World, tiring


def steep(memory: float) -> World:
    """Curves so steep and counts so large that aftereffect shows."""
    return World([tiring(0.9, 0.05, 4)] * 3, memory, 3000, np.full(3, 1 / 3))


def test_a_right_model_foretells_as_it_should_and_better_than_its_rivals():
    check = ae.fit(steep(0.7).rows(80, seed=3)).check()
    assert check.foretold == 3 * 72
    assert 0.9 < check.inside_95 <= 1.0
    assert 0.35 < check.inside_50 < 0.7
    for gain, error in (check.against_no_aftereffect, check.against_no_curves):
        assert gain > 3 * error
    assert not check.drifting
    assert any("foretells better than a model without aftereffect" in line for line in check.words)
    assert str(check) == "\n".join(check.words)


def test_without_aftereffect_nobody_claims_one():
    gain, error = ae.fit(steep(0.0).rows(60, seed=4)).check().against_no_aftereffect
    assert gain < 2 * error + 2.0


@pytest.mark.parametrize("scatter", [0.02, 0.06, 0.15])
def test_where_every_arm_has_one_rate_no_curve_is_praised(scatter):
    """Also of rewards that are no counts and scatter less than coins do."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = [
            {"round": t + 1, "arm": arm, "share": float(p), "reward": float(np.clip(rng.normal(rate, scatter), 0, 1))}
            for t in range(60)
            for arm, rate, p in zip("abc", (0.4, 0.3, 0.5), rng.dirichlet([15, 9, 6]), strict=True)
        ]
        words = str(ae.fit(rows).check())
        assert "foretells about as well as a model without curves" in words


def test_where_responses_have_changed_the_suggestion_begins_with_that():
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = []
    for t in range(120):
        for arm, share in zip("abc", rng.dirichlet([20] * 3), strict=True):
            trials = int(300 * share)
            rate = 0.6 if arm == "a" and t > 60 else 0.3
            rows.append({"round": t, "arm": arm, "trials": trials, "successes": rng.binomial(trials, rate)})
    fit = ae.fit(rows)
    assert fit.check().drifting
    assert "latest rounds alone" in fit.summary()["words"]["suggested"][0]
    still = ae.fit([row for row in rows if row["round"] <= 60])
    assert not any("drift" in line for line in still.summary()["words"]["suggested"])


def test_what_residuals_go_with_is_found():
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([20] * 3, 120)
    chance = rng.normal(size=(120, 3))
    assert dependence(chance, shares) == {}
    trend = chance + np.linspace(-1.5, 1.5, 120)[:, None]
    assert any("trend" in what for what in dependence(trend, shares))
    season = chance + 1.2 * np.sin(2 * np.pi * np.arange(120) / 52 + 1)[:, None]
    assert any("every 52 rounds" in what for what in dependence(season, shares))
    common = chance + 1.5 * rng.normal(size=(120, 1))
    assert any("in common" in what for what in dependence(common, shares))
    own = chance + 12 * (shares - shares.mean(axis=0))
    assert any("share itself" in what for what in dependence(own, shares))


def test_too_few_rounds_are_said():
    rows = steep(0.5).rows(9, seed=1)
    assert "too few" in str(ae.fit(rows).check())


def test_an_experiment_teaches_more_if_it_lasts_and_the_best_one_is_first():
    fit = ae.fit(steep(0.5).rows(40, seed=6), floors=0.1)
    found = fit.next()
    assert found == fit.experiment()
    assert 0.0 < found.learned <= 1.0
    assert found.learned == pytest.approx(found.others["learned"].max())
    assert sum(found.change.values()) == pytest.approx(0.0, abs=1e-9)
    assert sum(found.allocation.values()) == pytest.approx(1.0)
    assert fit.experiment(rounds=40).learned > found.learned
    assert -found.cost == pytest.approx(fit.what_if(found.allocation).gain)
    assert fit.next(experiment=False).allocation == fit.best().allocation
    with pytest.raises(ae.AftereffectError, match=r"size must lie between 0\.005 and 1, got 5"):
        fit.experiment(size=5)
