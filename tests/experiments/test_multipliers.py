"""The search for multipliers on validation runs."""

from __future__ import annotations

import pytest

import aftereffect as ae
from aftereffect.experiments.multipliers import tune_multipliers


@pytest.fixture(scope="module")
def tuned():
    """Two linear arms: without multipliers everything goes to the first arm; the fair split is (.65, .35)."""
    fairness = ae.Fairness([lambda x: x] * 2, tolerance=0.3)
    problem = ae.Problem([lambda _x: 0.8, lambda _x: 0.4], fairness=fairness, noise="none")
    policy = ae.ActionUCB(scale=0.05, levels=20, zero=True)
    return problem, tune_multipliers(problem, policy, 4000, trials=15, runs=1, allowed=0.05, seed=3)


def test_every_trial_is_a_balanced_set_of_multipliers(tuned):
    _, found = tuned
    assert len(found.trials) == 15
    assert all(sum(t.multipliers) == pytest.approx(0) for t in found.trials)


def test_the_best_fair_trial_is_chosen(tuned):
    _, found = tuned
    fair = [t for t in found.trials if t.violation <= 0.05]
    assert found.fair == bool(fair)
    assert found.chosen == (
        max(fair, key=lambda t: t.utility) if fair else min(found.trials, key=lambda t: t.violation)
    )
    assert found.policy.multipliers == found.chosen.multipliers


def test_less_violation_than_without_multipliers(tuned):
    _, found = tuned
    untouched = found.trials[0]
    assert untouched.multipliers == (0.0, 0.0)
    assert untouched.violation > 0.3
    assert found.chosen.violation < untouched.violation


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"problem": ae.problem("gaussian")}, "'gaussian' has no fairness measure"),
        ({"policy": ae.DUCB()}, "d-ucb takes no multipliers"),
        ({"policy": "history-ucb"}, "policy must be a Policy, got 'history-ucb'"),
        ({"seed": -1}, "seed must be a whole number from 0, got -1"),
        ({"trials": 0}, "trials must be a whole number from 1, got 0"),
        ({"limit": 0}, "limit must be above 0, got 0"),
        ({"allowed": -1}, "allowed must be a violation from 0, got -1"),
    ],
)
def test_mistakes(options, said):
    with pytest.raises(ae.AftereffectError, match=said):
        tune_multipliers(**{"problem": ae.problem("loan"), "horizon": 100, **options})
